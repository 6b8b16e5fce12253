//! Reductions and softmax.

use super::build::*;
use super::layout::shifted;
use super::{Batched, Call};
use crate::array::{Array, Dtype};
use crate::op::{BinaryOp, Dims, Op, ReduceOp, ScanOp, UnaryOp};

#[track_caller]
pub(super) fn reduce_vjp(op: ReduceOp, axes: &Dims, call: &Call, g: &Array) -> Option<Array> {
    let x = &call.inputs[0];
    let y = with_reduced(&call.outputs[0], x.shape(), axes);
    let g = with_reduced(g, x.shape(), axes);
    match op {
        // Truth values are counted, and so is what flows back to them.
        ReduceOp::Sum if x.dtype() == Dtype::Bool => Some(broadcast_like(&g, x)),
        ReduceOp::Sum => Some(broadcast_like(&cast(&g, x.dtype()), x)),
        ReduceOp::Prod => Some(mul(&cast(&g, x.dtype()), &conj(&product_of_others(x, axes)))),
        ReduceOp::Max | ReduceOp::Min => Some(shared(&g, x, &y, axes)),
        ReduceOp::Logsumexp => Some(mul(&g, &conj(&weights(x, &y)))),
        ReduceOp::All | ReduceOp::Any => None,
    }
}

/// For each element the product of all others: the products before and behind it, so that zeros need no division.
#[track_caller]
fn product_of_others(x: &Array, axes: &Dims) -> Array {
    let (rows, order) = last_flattened(x, axes);
    let last = rows.ndim() - 1;
    let before = scan(ScanOp::Cumprod, &rows, last, false, false);
    let behind = scan(ScanOp::Cumprod, &rows, last, true, false);
    let moved: Vec<usize> = order.iter().map(|&axis| x.shape()[axis]).collect();
    let products = reshape(&mul(&before, &behind), &moved);
    let mut inverse: Dims = order.clone();
    for (to, &from) in order.iter().enumerate() {
        inverse[from] = to;
    }
    transpose(&products, &inverse)
}

/// The array with these axes flattened into one behind the others, and the order of axes before they were.
#[track_caller]
fn last_flattened(x: &Array, axes: &Dims) -> (Array, Dims) {
    let kept = (0..x.ndim()).filter(|axis| !axes.contains(axis));
    let order: Dims = kept.clone().chain(axes.iter().copied()).collect();
    let flat: usize = axes.iter().map(|&axis| x.shape()[axis]).product();
    let shape: Vec<usize> = kept.map(|axis| x.shape()[axis]).chain([flat]).collect();
    (reshape(&transpose(x, &order), &shape), order)
}

/// Where the elements are that are the extreme, and how many there are. A NaN that won is one.
#[track_caller]
fn extremes(x: &Array, y: &Array, axes: &Dims) -> (Array, Array) {
    let mut same = equal(x, y);
    if x.dtype().is_inexact() {
        let both = binary_and(&unary(UnaryOp::Isnan, x), &unary(UnaryOp::Isnan, y));
        same = apply(Op::Binary(BinaryOp::LogicalOr), &[&same, &both]);
    }
    // Counted in a type that counts: 16-bit types stop at 2,048 or 256.
    let wide = if x.dtype().is_inexact() { Dtype::Float32 } else { Dtype::Int32 };
    let count = reduce(ReduceOp::Sum, &cast(&same, wide), axes, true);
    (same, count)
}

/// A whole divided by a count, in the whole's own type.
#[track_caller]
fn divided(whole: &Array, count: &Array) -> Array {
    let wide = whole.dtype().promote(count.dtype());
    let (a, b) = (cast(whole, wide), cast(count, wide));
    cast(&if wide.is_inexact() { div(&a, &b) } else { binary_floor(&a, &b) }, whole.dtype())
}

/// The cotangent in equal shares at all elements that are the extreme.
#[track_caller]
fn shared(g: &Array, x: &Array, y: &Array, axes: &Dims) -> Array {
    let (same, count) = extremes(x, y, axes);
    masked(&same, &divided(g, &count))
}

/// The mean of the tangents of all elements that are the extreme.
#[track_caller]
pub(super) fn extreme_jvp(axes: &Dims, call: &Call, t: &Array) -> Array {
    let (x, y) = (&call.inputs[0], &call.outputs[0]);
    let (same, count) = extremes(x, &with_reduced(y, x.shape(), axes), axes);
    let mean = divided(&sum(&masked(&same, t), axes, true), &count);
    reshape_like(&mean, y)
}

#[track_caller]
fn binary_and(a: &Array, b: &Array) -> Array {
    binary(BinaryOp::LogicalAnd, a, b)
}

#[track_caller]
fn binary_floor(a: &Array, b: &Array) -> Array {
    binary(BinaryOp::FloorDivide, a, b)
}

/// exp(x − y), the weights of a sum of exponentials: nothing where the sum itself is nothing, and an infinite sum is
/// the matter of its infinite elements alone.
#[track_caller]
fn weights(x: &Array, y: &Array) -> Array {
    let plain = exp(&sub(x, y));
    if x.dtype().is_complex() {
        return plain;
    }
    let infinite = unary(UnaryOp::Isinf, y);
    let largest = binary_and(&equal(x, y), &unary(UnaryOp::Isposinf, y));
    select(&infinite, &cast(&largest, x.dtype()), &plain)
}

#[track_caller]
pub(super) fn reduce_vmap(op: ReduceOp, axes: &Dims, keepdims: bool, x: &Batched) -> Array {
    apply(Op::Reduce { op, axes: shifted(axes), keepdims }, &[&x.array])
}

/// `s · (v − Σ s·v)`: symmetric, so that both directions are the same.
#[track_caller]
pub(super) fn softmax_both(axes: &Dims, call: &Call, v: &Array) -> Array {
    let s = &call.outputs[0];
    let products = mul(s, v);
    mul(s, &sub(v, &sum(&products, axes, true)))
}

#[track_caller]
pub(super) fn softmax_vmap(axes: &Dims, precise: bool, x: &Batched) -> Array {
    apply(Op::Softmax { axes: shifted(axes), precise }, &[&x.array])
}
