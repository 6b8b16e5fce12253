//! Operations that change how elements are reached. They are linear: forwards they do to tangents what they do to
//! elements, backwards they undo it.

use smallvec::SmallVec;

use super::build::*;
use super::index::scatter_add_flat;
use super::{Batched, Call};
use crate::array::{Array, Shape};
use crate::op::{Dims, Op, SliceSpec, StridedSpec};

#[track_caller]
pub(super) fn transpose_vjp(axes: &Dims, g: &Array) -> Array {
    let mut inverse: Dims = SmallVec::from_elem(0, axes.len());
    for (to, &from) in axes.iter().enumerate() {
        inverse[from] = to;
    }
    transpose(g, &inverse)
}

/// Zeros with the cotangent at the places that were read. A place that was read again and again (step 0) gets the sum.
#[track_caller]
pub(super) fn slice_vjp(spec: &SliceSpec, call: &Call, g: &Array) -> Array {
    let repeated: Vec<usize> =
        (0..spec.step.len()).filter(|&axis| spec.step[axis] == 0 && spec.size[axis] > 1).collect();
    let mut spec = spec.clone();
    for &axis in &repeated {
        (spec.size[axis], spec.step[axis]) = (1, 1);
    }
    slice_update(&zeros_like(&call.inputs[0]), &sum(g, &repeated, true), spec)
}

/// Each element of the result comes from one place of the input, and places may be read several times.
#[track_caller]
pub(super) fn as_strided_vjp(spec: &StridedSpec, call: &Call, g: &Array) -> Array {
    let x = &call.inputs[0];
    let places = apply(Op::AsStrided(Box::new(spec.clone())), &[&counting(x.size())]);
    reshape(&scatter_add_flat(x.size(), &places, g), x.shape())
}

fn with_batch(size: usize, shape: &Shape) -> Shape {
    std::iter::once(size).chain(shape.iter().copied()).collect()
}

/// The selection that takes all lanes, and of each what `spec` takes.
pub(super) fn batched_slice(spec: &SliceSpec, size: usize) -> SliceSpec {
    let mut spec = spec.clone();
    spec.start.insert(0, 0);
    spec.size.insert(0, size);
    spec.step.insert(0, 1);
    spec
}

/// Axes of a lane as axes of the batch.
pub(super) fn shifted(axes: &[usize]) -> Dims {
    axes.iter().map(|&axis| axis + 1).collect()
}

#[track_caller]
pub(super) fn vmap(call: &Call, x: &Batched, size: usize) -> Array {
    let op = match call.op {
        Op::Reshape { shape } => Op::Reshape { shape: with_batch(size, shape) },
        Op::Transpose { axes } => Op::Transpose { axes: std::iter::once(0).chain(shifted(axes)).collect() },
        Op::Broadcast { shape } => {
            return broadcast(&x.aligned(shape.len()), &with_batch(size, shape));
        }
        Op::Slice(spec) => Op::Slice(Box::new(batched_slice(spec, size))),
        Op::AsStrided(spec) => {
            let lane = call.inputs[0].size() as isize;
            Op::AsStrided(Box::new(StridedSpec {
                shape: with_batch(size, &spec.shape),
                strides: std::iter::once(lane).chain(spec.strides.iter().copied()).collect(),
                offset: spec.offset,
            }))
        }
        other => other.clone(),
    };
    apply(op, &[&x.array])
}
