//! Fused operations: backward passes as operations of their own where they are hot, else by their definition.

use smallvec::smallvec;

use super::build::*;
use super::composed::composed;
use super::{Batched, Call, Parts, Push};
use crate::array::{Array, Dtype};
use crate::error::Result;
use crate::op::{AttentionSpec, Float, NormKind, Op, RopeSpec};
use crate::ops::slice_axis;
use crate::transform::flat::Derivatives;

/// The cotangent of one input, through the definition.
///
/// # Errors
/// What makes a derivative of the definition impossible.
#[track_caller]
pub(super) fn pulled(call: &Call, of: usize, g: &Array) -> Result<Option<Array>> {
    let derivatives = Derivatives::begin(std::slice::from_ref(&call.inputs[of]));
    let mut inputs = call.inputs.to_vec();
    inputs[of] = derivatives.variables()[0].clone();
    let Some(result) = composed(call.op, &inputs) else { return Err(call.no_rule("vjp")) };
    let result = reshape(&result, g.shape());
    Ok(Some(derivatives.pull_back(&[(result, g.clone())])?.remove(0)))
}

/// The tangent of the result, through the definition.
///
/// # Errors
/// As [`pulled`].
#[track_caller]
pub(super) fn pushed(call: &Call, tangents: &[Option<Array>]) -> Result<Push> {
    let moving: Vec<usize> = (0..call.inputs.len()).filter(|&i| tangents[i].is_some()).collect();
    let primals: Vec<Array> = moving.iter().map(|&i| call.inputs[i].clone()).collect();
    let given: Vec<Array> = moving.iter().filter_map(|&i| tangents[i].clone()).collect();
    let derivatives = Derivatives::begin(&primals);
    let mut inputs = call.inputs.to_vec();
    for (&i, variable) in moving.iter().zip(derivatives.variables()) {
        inputs[i] = variable.clone();
    }
    let Some(result) = composed(call.op, &inputs) else { return Err(call.no_rule("jvp")) };
    let result = reshape(&result, call.outputs[0].shape());
    let tangent = derivatives.push_forward(&given, &[result])?.remove(0);
    let parts: Parts = smallvec![Some(cast(&tangent, call.outputs[0].dtype()))];
    Ok(Push::Tangents(parts))
}

/// Sums over all axes but the last.
#[track_caller]
fn summed_rows(x: &Array, dtype: Dtype) -> Array {
    let axes: Vec<usize> = (0..x.ndim() - 1).collect();
    let wide = if x.dtype().size() == 2 { cast(x, Dtype::Float32) } else { x.clone() };
    cast(&sum(&wide, &axes, false), dtype)
}

#[track_caller]
pub(super) fn norm_vjp(kind: NormKind, weight: bool, eps: Float, call: &Call, of: usize, g: &Array) -> Array {
    let x = &call.inputs[0];
    if of == 0 {
        let op = Op::NormBackward { kind, weight, eps };
        return match weight {
            true => apply(op, &[x, &call.inputs[1], g]),
            false => apply(op, &[x, g]),
        };
    }
    if of == 1 && weight {
        let rows = apply(Op::Norm { kind, weight: false, bias: false, eps }, &[x]);
        return summed_rows(&mul(g, &rows), x.dtype());
    }
    summed_rows(g, x.dtype())
}

/// The rows of a batch are rows like others; a weight or a bias of each lane needs the definition.
#[track_caller]
pub(super) fn rows_vmap(call: &Call, inputs: &[Batched], rows: &[usize], size: usize) -> Result<Array> {
    let others = (0..inputs.len()).any(|i| !rows.contains(&i) && inputs[i].mapped);
    if others {
        let rank = call.inputs[0].ndim();
        let aligned: Vec<Array> = inputs.iter().map(|x| x.aligned(rank)).collect();
        return composed(call.op, &aligned).ok_or_else(|| call.no_rule("vmap"));
    }
    let spread: Vec<Array> = inputs
        .iter()
        .enumerate()
        .map(|(i, x)| if rows.contains(&i) { x.spread(size) } else { x.array.clone() })
        .collect();
    Ok(apply(call.op.clone(), &spread.iter().collect::<Vec<_>>()))
}

#[track_caller]
pub(super) fn rope_vjp(spec: &RopeSpec, call: &Call, of: usize, g: &Array) -> Result<Option<Array>> {
    match of {
        0 => {
            let op = Op::Rope(RopeSpec { inverse: !spec.inverse, ..*spec });
            let inputs: Vec<&Array> = std::iter::once(g).chain(&call.inputs[1..]).collect();
            Ok(Some(apply(op, &inputs)))
        }
        1 => Ok(None),
        _ => pulled(call, of, g),
    }
}

#[track_caller]
pub(super) fn rope_vmap(call: &Call, inputs: &[Batched], size: usize) -> Result<Array> {
    if inputs.get(2).is_some_and(|freqs| freqs.mapped) {
        return Err(call.no_rule("vmap"));
    }
    let x = inputs[0].spread(size);
    let rows = call.inputs[0].shape()[0];
    let folded: Vec<usize> = std::iter::once(size * rows).chain(x.shape()[2..].iter().copied()).collect();
    let offset = match (inputs[1].mapped, call.inputs[1].size()) {
        (false, 1) => inputs[1].array.clone(),
        (_, count) => {
            // One for each row of the batch, of each lane.
            let each = reshape(&inputs[1].spread(size), &[size, count]);
            reshape(&broadcast(&each, &[size, rows]), &[size * rows])
        }
    };
    let mut all = vec![reshape(&x, &folded), offset];
    all.extend(inputs[2..].iter().map(|x| x.array.clone()));
    let turned = apply(call.op.clone(), &all.iter().collect::<Vec<_>>());
    Ok(reshape(&turned, x.shape()))
}

/// Elements from `start` on of a flat array.
#[track_caller]
fn part(flat: &Array, start: usize, shape: &[usize]) -> Array {
    let size = shape.iter().product();
    reshape(&slice_axis(flat, 0, start, size, 1), shape)
}

/// The gradients of all inputs of attention, computed together.
#[track_caller]
pub(super) fn attention_vjp(spec: &AttentionSpec, call: &Call, g: &Array, wanted: &[bool]) -> Parts {
    let (q, k, v) = (&call.inputs[0], &call.inputs[1], &call.inputs[2]);
    let shape = [q.shape()[0], q.shape()[1], q.shape()[2], v.shape()[3]];
    let additive = spec.mask && call.inputs[3].dtype() != Dtype::Bool;
    let mask_gradient = additive && wanted[3];
    let g = part(g, 0, &shape);
    let inputs: Vec<&Array> = call.inputs.iter().chain([&call.outputs[0], &g]).collect();
    let flat = apply(Op::AttentionBackward { spec: *spec, mask_gradient }, &inputs);
    let mut parts: Parts = smallvec![None; call.inputs.len()];
    let mut start = 0;
    for (i, x) in [q, k, v].into_iter().enumerate() {
        parts[i] = Some(cast(&part(&flat, start, x.shape()), x.dtype()));
        start += x.size();
    }
    if mask_gradient {
        let mask = &call.inputs[3];
        parts[3] = Some(cast(&part(&flat, start, mask.shape()), mask.dtype()));
        start += mask.size();
    }
    if spec.sinks {
        let at = call.inputs.len() - 1;
        let sinks = &call.inputs[at];
        parts[at] = Some(cast(&part(&flat, start, sinks.shape()), sinks.dtype()));
    }
    parts
}

/// Lanes are batches like others.
#[track_caller]
pub(super) fn attention_vmap(
    spec: &AttentionSpec,
    call: &Call,
    inputs: &[Batched],
    size: usize,
) -> Result<Array> {
    let arrays = 3 + usize::from(spec.mask);
    if inputs[arrays..].iter().any(|x| x.mapped) {
        return Err(call.no_rule("vmap"));
    }
    let (q, v) = (call.inputs[0].shape(), call.inputs[2].shape());
    let fold = |x: &Batched| {
        let x = x.spread(size);
        let folded: Vec<usize> =
            std::iter::once(size * x.shape()[1]).chain(x.shape()[2..].iter().copied()).collect();
        reshape(&x, &folded)
    };
    let mut all: Vec<Array> = inputs[..arrays].iter().map(fold).collect();
    all.extend(inputs[arrays..].iter().map(|x| x.array.clone()));
    let flat = apply(call.op.clone(), &all.iter().collect::<Vec<_>>());
    let rows = q[..3].iter().product::<usize>();
    let result = part(&flat, 0, &[size, rows * v[3]]);
    let sums = part(&flat, size * rows * v[3], &[size, rows]);
    Ok(apply(Op::Concatenate { axis: 1 }, &[&result, &sums]))
}
