//! Elements chosen and replaced by arrays of positions. What is read several times gets the sum of its cotangents;
//! positions themselves have no gradient.

use super::build::*;
use super::{Batched, Call};
use crate::array::{Array, Dtype, Shape};
use crate::error::{Error, Result};
use crate::op::{Dims, Op, ScatterOp};
use crate::ops;

/// The error for a gradient by positions, in the words that programs written for MLX look for.
pub(super) fn no_index_gradient(function: &'static str, call: &Call) -> Error {
    let message = format!(
        "Cannot calculate VJP with respect to indices. Use stop_gradient on indices before {} (called at {})",
        call.op.name(),
        call.outputs[0].call_site()
    );
    Error::argument(function, message)
}

/// Positions counted from the start.
#[track_caller]
fn normalised(indices: &Array, size: usize) -> Array {
    let indices = cast(indices, Dtype::Int64);
    let negative = less(&indices, &zero(Dtype::Int64));
    select(&negative, &add(&indices, &number(size as i64, Dtype::Int64)), &indices)
}

/// `n` elements in a row, each the sum of the elements of `g` whose places name it.
#[track_caller]
pub(super) fn scatter_add_flat(n: usize, places: &Array, g: &Array) -> Array {
    let flat = |a: &Array| reshape(a, &[a.size()]);
    let wide = accumulator(g.dtype());
    let into = full(0i64, &Shape::from(n), wide);
    let summed = ops::slice_accumulate(
        &into,
        &cast(&flat(g), wide),
        &[ops::Index::Array(flat(places))],
        ops::Accumulate::Add,
    );
    cast(&summed, g.dtype())
}

/// 16-bit types add up in `float32`: 4,096 ones in `float16` would be 2,048.
fn accumulator(dtype: Dtype) -> Dtype {
    if matches!(dtype, Dtype::Float16 | Dtype::Bfloat16) { Dtype::Float32 } else { dtype }
}

/// Zeros like `x`, plus `g` at the positions along an axis that `indices` name.
#[track_caller]
pub(super) fn scatter_add_along(x: &Array, axis: usize, indices: &Array, g: &Array) -> Array {
    let strides = row_major(x.shape());
    let mut places = mul(&normalised(indices, x.shape()[axis]), &number(strides[axis] as i64, Dtype::Int64));
    for (other, &stride) in strides.iter().enumerate().filter(|&(other, _)| other != axis) {
        let mut shape = vec![1; x.ndim()];
        shape[other] = indices.shape()[other];
        let steps =
            mul(&cast(&counting(indices.shape()[other]), Dtype::Int64), &number(stride as i64, Dtype::Int64));
        places = add(&places, &reshape(&steps, &shape));
    }
    reshape(&scatter_add_flat(x.size(), &places, g), x.shape())
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    strides
}

/// The cotangent of `take` added up at the places it was taken from.
#[track_caller]
pub(super) fn take_vjp(axis: usize, call: &Call, of: usize, g: &Array) -> Result<Array> {
    if of == 1 {
        return Err(no_index_gradient("gather", call));
    }
    let (x, indices) = (&call.inputs[0], &call.inputs[1]);
    let (outer, inner): (usize, usize) =
        (x.shape()[..axis].iter().product(), x.shape()[axis + 1..].iter().product());
    let rows = transpose(&reshape(g, &[outer, indices.size(), inner]), &[1, 0, 2]);
    let wide = accumulator(g.dtype());
    let into = full(0i64, &Shape::from(&[x.shape()[axis], outer, inner][..]), wide);
    let places = ops::Index::Array(reshape(indices, &[indices.size()]));
    let summed = ops::slice_accumulate(&into, &cast(&rows, wide), &[places], ops::Accumulate::Add);
    Ok(reshape(&transpose(&cast(&summed, g.dtype()), &[1, 0, 2]), x.shape()))
}

#[track_caller]
pub(super) fn take_vmap(axis: usize, call: &Call, inputs: &[Batched], size: usize) -> Array {
    let (x, indices) = (&inputs[0], &inputs[1]);
    match (x.mapped, indices.mapped) {
        (true, false) => apply(Op::Take { axis: axis + 1 }, &[&x.array, &indices.array]),
        (false, true) => {
            // The axes of the positions stand where the axis was, the batch first among them.
            let taken = apply(Op::Take { axis }, &[&x.array, &indices.array]);
            move_axis(&taken, axis, 0)
        }
        _ => take_each(axis, call, &x.spread(size), &indices.spread(size), size),
    }
}

/// Each lane has its own array and its own positions.
#[track_caller]
fn take_each(axis: usize, call: &Call, x: &Array, indices: &Array, size: usize) -> Array {
    let lane = call.inputs[0].shape();
    let count: usize = call.inputs[1].size();
    let (outer, inner): (usize, usize) = (lane[..axis].iter().product(), lane[axis + 1..].iter().product());
    let x = reshape(x, &[size, outer, lane[axis], inner]);
    let wanted = broadcast(&reshape(indices, &[size, 1, count, 1]), &[size, outer, count, inner]);
    let taken = apply(Op::TakeAlongAxis { axis: 2 }, &[&x, &wanted]);
    let shape: Vec<usize> = std::iter::once(size).chain(call.outputs[0].shape().iter().copied()).collect();
    reshape(&taken, &shape)
}

#[track_caller]
pub(super) fn take_along_vjp(axis: usize, call: &Call, of: usize, g: &Array) -> Result<Array> {
    match of {
        0 => Ok(scatter_add_along(&call.inputs[0], axis, &call.inputs[1], g)),
        _ => Err(no_index_gradient("gather_axis", call)),
    }
}

#[track_caller]
pub(super) fn put_along_vjp(axis: usize, call: &Call, of: usize, g: &Array) -> Result<Array> {
    let indices = &call.inputs[1];
    match of {
        0 => {
            let nothing = full(0i64, indices.shape_ref(), g.dtype());
            Ok(apply(call.op.clone(), &[g, indices, &nothing]))
        }
        1 => Err(no_index_gradient("scatter_axis", call)),
        _ => Ok(apply(Op::TakeAlongAxis { axis }, &[g, indices])),
    }
}

#[track_caller]
pub(super) fn put_along_jvp(call: &Call, tangents: &[Option<Array>]) -> Array {
    let like = tangents.iter().flatten().next().map_or(Dtype::Float32, Array::dtype);
    let or_zero =
        |of: usize| tangents[of].clone().unwrap_or_else(|| full(0i64, call.inputs[of].shape_ref(), like));
    apply(call.op.clone(), &[&or_zero(0), &call.inputs[1], &or_zero(2)])
}

/// The same operation on other inputs than the positions: `x` and, for a scatter, its updates.
#[track_caller]
fn placed(op: Op, x: &Array, call: &Call, updates: Option<&Array>) -> Array {
    let count = op.indexed_axes().len();
    let positions = call.inputs[1..=count].iter();
    apply(op, &std::iter::once(x).chain(positions).chain(updates).collect::<Vec<_>>())
}

/// The cotangent of a gather added up at the places it was taken from.
#[track_caller]
pub(super) fn gather_vjp(axes: &Dims, call: &Call, of: usize, g: &Array) -> Result<Array> {
    if of > 0 {
        return Err(no_index_gradient("gather", call));
    }
    let into = full(0i64, call.inputs[0].shape_ref(), g.dtype());
    let op = Op::Scatter { axes: axes.clone(), how: ScatterOp::Sum };
    Ok(placed(op, &into, call, Some(g)))
}

/// Where a place takes the largest or smallest, whatever is equal to the result gets the cotangent.
#[track_caller]
pub(super) fn scatter_vjp(
    axes: &Dims,
    how: ScatterOp,
    call: &Call,
    of: usize,
    g: &Array,
) -> Result<Option<Array>> {
    let last = call.inputs.len() - 1;
    if of > 0 && of < last {
        return Err(no_index_gradient("scatter", call));
    }
    let (x, updates, y) = (&call.inputs[0], &call.inputs[last], &call.outputs[0]);
    let gathered = |a: &Array| placed(Op::Gather { axes: axes.clone() }, a, call, None);
    let none = zero(g.dtype());
    Ok(Some(match (how, of) {
        (ScatterOp::Sum, 0) => g.clone(),
        (ScatterOp::Replace, 0) => placed(call.op.clone(), g, call, Some(&zeros_like(updates))),
        (ScatterOp::Sum | ScatterOp::Replace, _) => gathered(g),
        (ScatterOp::Max | ScatterOp::Min, 0) => select(&equal(x, y), g, &none),
        (ScatterOp::Max | ScatterOp::Min, _) => select(&equal(updates, &gathered(y)), &gathered(g), &none),
        (ScatterOp::Prod, _) => {
            // The product of the other factors, without dividing by zero: it is zero unless all of them are not.
            let is_zero = |a: &Array| equal(a, &zero(a.dtype()));
            let sound = |a: &Array| select(&is_zero(a), &number(1i64, a.dtype()), a);
            let count = |a: &Array| cast(&is_zero(a), Dtype::Int32);
            let product = placed(call.op.clone(), &sound(x), call, Some(&sound(updates)));
            let sum = Op::Scatter { axes: axes.clone(), how: ScatterOp::Sum };
            let zeros = placed(sum, &count(x), call, Some(&count(updates)));
            let slope = mul(g, &conj(&product));
            match of {
                0 => select(&equal(&zeros, &count(x)), &div(&slope, &conj(&sound(x))), &none),
                _ => {
                    let others = equal(&gathered(&zeros), &count(updates));
                    select(&others, &div(&gathered(&slope), &conj(&sound(updates))), &none)
                }
            }
        }
    }))
}

/// Tangents where they are combined as the elements are; `None` where that depends on the elements.
#[track_caller]
pub(super) fn scatter_jvp(how: ScatterOp, call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    if !matches!(how, ScatterOp::Sum | ScatterOp::Replace) {
        return None;
    }
    let like = tangents.iter().flatten().next().map_or(Dtype::Float32, Array::dtype);
    let last = call.inputs.len() - 1;
    let or_zero =
        |of: usize| tangents[of].clone().unwrap_or_else(|| full(0i64, call.inputs[of].shape_ref(), like));
    Some(placed(call.op.clone(), &or_zero(0), call, Some(&or_zero(last))))
}

/// A gather or scatter of lanes: the lane is one more position.
#[track_caller]
pub(super) fn gather_vmap(op: &Op, call: &Call, inputs: &[Batched], size: usize) -> Array {
    let at: Vec<usize> = std::iter::once(size).chain(call.inputs[1].shape().iter().copied()).collect();
    let mut lanes = vec![1; at.len()];
    lanes[0] = size;
    let lane = broadcast(&reshape(&counting(size), &lanes), &at);
    let mut all: Vec<Array> = inputs.iter().map(|x| x.spread(size)).collect();
    all.insert(1, lane);
    let outer: Dims = std::iter::once(0).chain(op.indexed_axes().iter().map(|axis| axis + 1)).collect();
    let op = match op {
        Op::Scatter { how, .. } => Op::Scatter { axes: outer, how: *how },
        _ => Op::Gather { axes: outer },
    };
    apply(op, &all.iter().collect::<Vec<_>>())
}

/// Operations along an axis whose inputs all have a batch axis.
#[track_caller]
pub(super) fn along_vmap(op: Op, inputs: &[Batched], size: usize) -> Array {
    let spread: Vec<Array> = inputs.iter().map(|x| x.spread(size)).collect();
    apply(op, &spread.iter().collect::<Vec<_>>())
}

/// The positions that sort `x` along an axis.
#[track_caller]
fn order(x: &Array, axis: usize) -> Array {
    apply(Op::Argsort { axis }, &[&stopped(x)])
}

#[track_caller]
pub(super) fn sort_vjp(axis: usize, call: &Call, g: &Array) -> Array {
    let x = &call.inputs[0];
    apply(Op::PutAlongAxis { axis }, &[&zeros_like(g), &order(x, axis), g])
}

#[track_caller]
pub(super) fn sort_jvp(axis: usize, call: &Call, t: &Array) -> Array {
    apply(Op::TakeAlongAxis { axis }, &[t, &order(&call.inputs[0], axis)])
}
