//! Products with packed weights: gradients for what is not packed.

use super::build::*;
use super::{Batched, Call};
use crate::array::{Array, Dtype};
use crate::error::Result;
use crate::op::{Op, QuantMode, QuantSpec};
use crate::ops;

/// The codes as numbers: what scales multiply.
#[track_caller]
fn codes(spec: &QuantSpec, words: &Array, scales: &Array) -> Array {
    let op = Op::Dequantize { spec: *spec, dtype: scales.dtype() };
    apply(op, &[words, &full(1i64, scales.shape_ref(), scales.dtype()), &zeros_like(scales)])
}

/// Sums over the groups of the last axis.
#[track_caller]
fn grouped(spec: &QuantSpec, x: &Array) -> Array {
    let n = x.ndim();
    let mut shape = x.shape()[..n - 1].to_vec();
    shape.extend([x.shape()[n - 1] / spec.group, spec.group]);
    sum(&reshape(x, &shape), &[n], false)
}

/// Inputs: words, scales, biases, a global scale.
///
/// # Errors
/// If the gradient of packed numbers is wanted, or of scales in a mode that packs them too.
#[track_caller]
pub(super) fn dequantize_vjp(spec: &QuantSpec, call: &Call, of: usize, g: &Array) -> Result<Option<Array>> {
    if spec.mode != QuantMode::Affine || of == 0 {
        return Err(call.no_rule("vjp"));
    }
    let scales = &call.inputs[1];
    let g = cast(g, scales.dtype());
    Ok(Some(match of {
        1 => grouped(spec, &mul(&g, &codes(spec, &call.inputs[0], scales))),
        _ => grouped(spec, &g),
    }))
}

/// Inputs: x, words, scales, biases.
///
/// # Errors
/// As [`dequantize_vjp`].
#[track_caller]
pub(super) fn matmul_vjp(
    spec: &QuantSpec,
    transpose: bool,
    call: &Call,
    of: usize,
    g: &Array,
) -> Result<Option<Array>> {
    let x = &call.inputs[0];
    if of == 0 {
        let op = Op::QuantizedMatmul { spec: *spec, transpose: !transpose, gather: false };
        let inputs: Vec<&Array> = std::iter::once(g).chain(&call.inputs[1..]).collect();
        return Ok(Some(unbroadcast(&apply(op, &inputs), x)));
    }
    if spec.mode != QuantMode::Affine || of == 1 {
        return Err(call.no_rule("vjp"));
    }
    let (words, scales) = (&call.inputs[1], &call.inputs[2]);
    let dense = if transpose { matmul(&matrix_transpose(g), x) } else { matmul(&matrix_transpose(x), g) };
    let mut shape = words.shape().to_vec();
    let last = shape.len() - 1;
    shape[last] = spec.numbers(shape[last]);
    let dense = unbroadcast_to(&dense, &shape);
    Ok(Some(match of {
        2 => grouped(spec, &mul(&dense, &codes(spec, words, scales))),
        _ => grouped(spec, &dense),
    }))
}

/// Inputs: x, words, scales, biases, and the numbers of the matrices of x and of w that are multiplied.
///
/// # Errors
/// As [`dequantize_vjp`].
#[track_caller]
pub(super) fn gather_vjp(
    spec: &QuantSpec,
    transpose: bool,
    call: &Call,
    of: usize,
    g: &Array,
) -> Result<Option<Array>> {
    let (x, indices) = (&call.inputs[0], call.inputs.len() - 2);
    if of >= indices {
        return Ok(None);
    }
    let (left, right) = (&call.inputs[indices], &call.inputs[indices + 1]);
    if of == 0 {
        // A product for each pair; what several pairs read gets the sum of theirs.
        let each = reshape(&counting(left.size()), left.shape());
        let op = Op::QuantizedMatmul { spec: *spec, transpose: !transpose, gather: true };
        let inputs: Vec<&Array> =
            std::iter::once(g).chain(&call.inputs[1..indices]).chain([&each, right]).collect();
        return Ok(Some(reshape_like(&summed(&matrices(x), left, &matrices(&apply(op, &inputs))), x)));
    }
    if spec.mode != QuantMode::Affine || of == 1 {
        return Err(call.no_rule("vjp"));
    }
    let (words, scales) = (&call.inputs[1], &call.inputs[2]);
    let chosen = ops::take(&matrices(x), &reshape(left, &[left.size()]), 0);
    let g = matrices(g);
    let dense = if transpose {
        matmul(&matrix_transpose(&g), &chosen)
    } else {
        matmul(&matrix_transpose(&chosen), &g)
    };
    let codes = codes(spec, words, scales);
    let dense = reshape_like(&summed(&matrices(&codes), right, &dense), &codes);
    Ok(Some(match of {
        2 => grouped(spec, &mul(&dense, &codes)),
        _ => grouped(spec, &dense),
    }))
}

/// All leading axes as one.
#[track_caller]
fn matrices(x: &Array) -> Array {
    let n = x.ndim();
    let (lead, tail) = x.shape().split_at(n - 2);
    reshape(x, &[lead.iter().product(), tail[0], tail[1]])
}

/// Zeros like `x`, with the matrices of `g` added to those that their indices name.
#[track_caller]
fn summed(x: &Array, indices: &Array, g: &Array) -> Array {
    let places = [ops::Index::Array(reshape(indices, &[indices.size()]))];
    let wide = if matches!(g.dtype(), Dtype::Float16 | Dtype::Bfloat16) { Dtype::Float32 } else { g.dtype() };
    let into = full(0i64, x.shape_ref(), wide);
    cast(&ops::slice_accumulate(&into, &cast(g, wide), &places, ops::Accumulate::Add), g.dtype())
}

/// Lanes are leading axes, which broadcast.
#[track_caller]
pub(super) fn matmul_vmap(call: &Call, inputs: &[Batched]) -> Array {
    let rank = call.outputs[0].ndim();
    let aligned: Vec<Array> = match inputs[1..].iter().any(|x| x.mapped) {
        // One matrix for all lanes stays one.
        false => inputs.iter().map(|x| x.array.clone()).collect(),
        true => inputs
            .iter()
            .enumerate()
            .map(|(i, x)| match i {
                0 => x.aligned(rank),
                // Parts of one matrix must have the same leading axes.
                _ => Batched { array: x.spread(lanes(inputs)), mapped: true }.aligned(rank),
            })
            .collect(),
    };
    apply(call.op.clone(), &aligned.iter().collect::<Vec<_>>())
}

fn lanes(inputs: &[Batched]) -> usize {
    inputs.iter().find(|x| x.mapped).map_or(1, |x| x.array.shape()[0])
}

/// Rows of lanes are rows like others: every input has them in front, but a global scale, which is one for all.
///
/// # Errors
/// If lanes have global scales of their own.
#[track_caller]
pub(super) fn rows_vmap(call: &Call, inputs: &[Batched], size: usize) -> Result<Array> {
    let global = |i: usize| call.inputs[i].ndim() == 0;
    if (0..inputs.len()).any(|i| global(i) && inputs[i].mapped) {
        return Err(call.no_rule("vmap"));
    }
    let spread = |(i, x): (usize, &Batched)| if global(i) { x.array.clone() } else { x.spread(size) };
    let all: Vec<Array> = inputs.iter().enumerate().map(spread).collect();
    Ok(apply(call.op.clone(), &all.iter().collect::<Vec<_>>()))
}
