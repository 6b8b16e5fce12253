//! Arrays put together from others: joined, padded, with a part replaced.

use super::build::*;
use super::layout::batched_slice;
use super::{Batched, Call};
use crate::array::{Array, Dtype};
use crate::op::{Dims, Op, SliceSpec};

/// The part of the cotangent that came from input `of`.
#[track_caller]
pub(super) fn concatenate_vjp(axis: usize, call: &Call, of: usize, g: &Array) -> Array {
    let start = call.inputs[..of].iter().map(|x| x.shape()[axis]).sum();
    part(g, axis, start, call.inputs[of].shape()[axis])
}

#[track_caller]
pub(super) fn concatenate_jvp(call: &Call, tangents: &[Option<Array>]) -> Array {
    let like = tangents.iter().flatten().next().map_or(Dtype::Float32, Array::dtype);
    let parts: Vec<Array> = call
        .inputs
        .iter()
        .zip(tangents)
        .map(|(x, t)| t.clone().unwrap_or_else(|| full(0i64, x.shape_ref(), like)))
        .collect();
    apply(call.op.clone(), &parts.iter().collect::<Vec<_>>())
}

#[track_caller]
pub(super) fn concatenate_vmap(axis: usize, inputs: &[Batched], size: usize) -> Array {
    let parts: Vec<Array> = inputs.iter().map(|x| x.spread(size)).collect();
    concatenate(&parts, axis + 1)
}

/// Where the padded array lies inside the result.
fn inside(low: &Dims, x: &Array) -> SliceSpec {
    SliceSpec { start: low.clone(), ..whole(x.shape()) }
}

#[track_caller]
pub(super) fn pad_vjp(low: &Dims, high: &Dims, call: &Call, of: usize, g: &Array) -> Array {
    let x = &call.inputs[0];
    if of == 0 {
        return slice(g, inside(low, x));
    }
    // The sum outside; a difference of two sums would cancel.
    let outside = padding_mask(low, high, x.shape());
    let axes: Vec<usize> = (0..g.ndim()).collect();
    reshape(&sum(&masked(&outside, g), &axes, false), &[])
}

/// True where the padding is.
#[track_caller]
fn padding_mask(low: &Dims, high: &Dims, shape: &[usize]) -> Array {
    let kept = full(false, &shape.into(), Dtype::Bool);
    apply(Op::Pad { low: low.clone(), high: high.clone() }, &[&kept, &number(true, Dtype::Bool)])
}

#[track_caller]
pub(super) fn pad_jvp(call: &Call, tangents: &[Option<Array>]) -> Array {
    let like = tangents.iter().flatten().next().map_or(Dtype::Float32, Array::dtype);
    let or_zero =
        |of: usize| tangents[of].clone().unwrap_or_else(|| full(0i64, call.inputs[of].shape_ref(), like));
    apply(call.op.clone(), &[&or_zero(0), &or_zero(1)])
}

#[track_caller]
pub(super) fn pad_vmap(low: &Dims, high: &Dims, call: &Call, inputs: &[Batched], size: usize) -> Array {
    let front = |widths: &Dims| std::iter::once(0).chain(widths.iter().copied()).collect::<Dims>();
    let op = Op::Pad { low: front(low), high: front(high) };
    let x = inputs[0].spread(size);
    if !inputs[1].mapped {
        return apply(op, &[&x, &inputs[1].array]);
    }
    // A value for each lane: pad with anything, then choose.
    let padded = apply(op, &[&x, &zero(x.dtype())]);
    let value = inputs[1].aligned(call.outputs[0].ndim());
    select(&padding_mask(low, high, call.inputs[0].shape()), &value, &padded)
}

#[track_caller]
pub(super) fn slice_update_vjp(spec: &SliceSpec, call: &Call, of: usize, g: &Array) -> Array {
    if of == 0 {
        let nothing = full(0i64, call.inputs[1].shape_ref(), g.dtype());
        return slice_update(g, &nothing, spec.clone());
    }
    slice(g, spec.clone())
}

#[track_caller]
pub(super) fn slice_update_jvp(call: &Call, tangents: &[Option<Array>]) -> Array {
    pad_jvp(call, tangents)
}

#[track_caller]
pub(super) fn slice_update_vmap(spec: &SliceSpec, inputs: &[Batched], size: usize) -> Array {
    slice_update(&inputs[0].spread(size), &inputs[1].spread(size), batched_slice(spec, size))
}
