//! Matrix products.

use super::build::*;
use super::{Batched, Call};
use crate::array::Array;
use crate::op::Op;

/// The cotangent of `a @ b` for one of the two, `g` being that of the product.
#[track_caller]
fn pull(a: &Array, b: &Array, first: bool, g: &Array) -> Array {
    let (own, other) = if first { (a, b) } else { (b, a) };
    if !first && b.ndim() == 2 && a.ndim() > 2 {
        // One matrix for the whole batch: one product with all rows instead of many and their sum.
        let rows =
            |x: &Array| reshape(x, &[x.size() / x.shape()[x.ndim() - 1].max(1), x.shape()[x.ndim() - 1]]);
        if a.size() > 0 && g.size() > 0 {
            return matmul(&matrix_transpose(&conj(&rows(a))), &rows(g));
        }
    }
    let other = matrix_transpose(&conj(other));
    let whole = if first { matmul(g, &other) } else { matmul(&other, g) };
    unbroadcast(&whole, own)
}

#[track_caller]
pub(super) fn matmul_vjp(call: &Call, of: usize, g: &Array) -> Array {
    pull(&call.inputs[0], &call.inputs[1], of == 0, g)
}

#[track_caller]
fn scaled(a: &Array, factor: f64) -> Array {
    if factor == 1.0 { a.clone() } else { mul(a, &number(factor, a.dtype())) }
}

/// `alpha · (a @ b) + beta · c`, inputs c, a, b.
#[track_caller]
pub(super) fn addmm_vjp(alpha: f64, beta: f64, call: &Call, of: usize, g: &Array) -> Array {
    match of {
        0 => unbroadcast(&scaled(g, beta), &call.inputs[0]),
        _ => pull(&call.inputs[1], &call.inputs[2], of == 1, &scaled(g, alpha)),
    }
}

#[track_caller]
fn product_jvp(a: &Array, b: &Array, tangents: &[Option<Array>]) -> Option<Array> {
    let by_a = tangents[0].as_ref().map(|t| matmul(t, b));
    let by_b = tangents[1].as_ref().map(|t| matmul(a, t));
    match (by_a, by_b) {
        (Some(a), Some(b)) => Some(add(&a, &b)),
        (one, other) => one.or(other),
    }
}

#[track_caller]
pub(super) fn matmul_jvp(call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    product_jvp(&call.inputs[0], &call.inputs[1], tangents)
}

#[track_caller]
pub(super) fn addmm_jvp(alpha: f64, beta: f64, call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    let product = product_jvp(&call.inputs[1], &call.inputs[2], &tangents[1..]).map(|p| scaled(&p, alpha));
    let added = tangents[0].as_ref().map(|t| broadcast_like(&scaled(t, beta), &call.outputs[0]));
    match (product, added) {
        (Some(p), Some(c)) => Some(add(&p, &c)),
        (one, other) => one.or(other),
    }
}

/// The batch axis in front of all others, ranks aligned.
#[track_caller]
pub(super) fn vmap(call: &Call, inputs: &[Batched]) -> Array {
    let rank = call.outputs[0].ndim();
    if let (Op::Matmul, [a, b]) = (call.op, inputs)
        && a.mapped
        && !b.mapped
        && b.array.ndim() == 2
    {
        return matmul(&a.array, &b.array);
    }
    let mut aligned: Vec<Array> = inputs.iter().map(|x| x.aligned(rank)).collect();
    if let (Op::Addmm { .. }, [c, a, b]) = (call.op, inputs)
        && c.mapped
        && !a.mapped
        && !b.mapped
    {
        // What is added broadcasts to the product, which must have the batch then.
        aligned[1] = Batched { array: a.spread(c.array.shape()[0]), mapped: true }.aligned(rank);
    }
    apply(call.op.clone(), &aligned.iter().collect::<Vec<_>>())
}
