//! Sizes that an operation names, and where they came from: a function that was recorded for arrays of any size is made
//! again with those of its new arguments.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::array::{Array, Shape};
use crate::op::{Op, SliceSpec};

/// Where one size of a new shape comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dim {
    /// A number that the program wrote.
    Is(usize),
    /// The size of an axis of the input.
    Of(usize),
    /// The sizes of neighbouring axes of the input, multiplied.
    Joined(Range<usize>),
    /// What is left of the input's elements.
    Rest,
    /// What is left of one axis of the input, of which this much is named.
    Part(usize, usize),
}

/// Where the shape that an operation names comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refit<T> {
    /// From the shape of its input.
    Dims(SmallVec<[Dim; 4]>),
    /// It is that of another array.
    Like(T),
}

thread_local! {
    /// Set while a function is recorded for arrays of any size.
    static SHAPELESS: Cell<bool> = const { Cell::new(false) };
    /// Where the shape of the operation that is about to be made comes from.
    static NEXT: RefCell<Option<Refit<Array>>> = const { RefCell::new(None) };
}

/// True if this thread records a function for arrays of any size.
#[inline]
pub(crate) fn is_shapeless() -> bool {
    SHAPELESS.get()
}

pub(super) fn set_shapeless(on: bool) -> bool {
    SHAPELESS.replace(on)
}

/// What was said about the operation that is being recorded. It is meant for the one that names a shape, not for what
/// prepares its input.
pub(super) fn take(op: &Op) -> Option<Refit<Array>> {
    match op {
        Op::Full { shape, .. } if shape.is_empty() => None,
        Op::Full { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => NEXT.take(),
        _ => None,
    }
}

/// Makes an operation that names a shape, and notes where that comes from.
pub(crate) fn noted(refit: Refit<Array>, make: impl FnOnce() -> Array) -> Array {
    NEXT.set(Some(refit));
    let made = make();
    NEXT.set(None);
    made
}

/// The shape for an input of this shape; `None` if it cannot have one.
pub(super) fn shape_from(dims: &[Dim], input: &[usize]) -> Option<Shape> {
    // Checked, because a file may have named the sizes.
    let product = |sizes: &[usize]| sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    let elements = product(input)?;
    let mut sizes: SmallVec<[usize; 4]> = SmallVec::new();
    for dim in dims {
        sizes.push(match dim {
            Dim::Is(size) => *size,
            Dim::Of(axis) => *input.get(*axis)?,
            Dim::Joined(axes) => product(input.get(axes.clone())?)?,
            Dim::Rest => 1,
            Dim::Part(axis, named) => {
                let size = *input.get(*axis)?;
                if *named == 0 || !size.is_multiple_of(*named) {
                    return None;
                }
                size / named
            }
        });
    }
    if let Some(rest) = dims.iter().position(|dim| *dim == Dim::Rest) {
        let known = product(&sizes)?;
        if known == 0 || !elements.is_multiple_of(known) {
            return None;
        }
        sizes[rest] = elements / known;
    }
    Some(sizes.into_iter().collect())
}

/// The operation with another shape.
pub(super) fn reshaped(op: &Op, shape: Shape) -> Op {
    match op {
        Op::Reshape { .. } => Op::Reshape { shape },
        Op::Broadcast { .. } => Op::Broadcast { shape },
        Op::Full { dtype, value, .. } => Op::Full { shape, dtype: *dtype, value: *value },
        other => other.clone(),
    }
}

/// Positions that were named in an array of another shape. A whole axis stays whole; positions that do not reach the end
/// stay where they are. Those that do may have been counted from it, so that there is no telling.
pub(super) fn moved(spec: &SliceSpec, was: &[usize], is: &[usize]) -> Option<SliceSpec> {
    let mut moved = spec.clone();
    if was.len() != is.len() || spec.size.len() != is.len() {
        return None;
    }
    for (axis, (&was, &is)) in was.iter().zip(is).enumerate().filter(|(_, (was, is))| was != is) {
        let (start, size, step) = (spec.start[axis], spec.size[axis], spec.step[axis]);
        if (start, size, step) == (0, was, 1) {
            moved.size[axis] = is;
        } else if size == 0 || step <= 0 || start + (size - 1) * step as usize + 1 >= was.min(is + 1) {
            return None;
        }
    }
    Some(moved)
}

/// Whether an operation names positions or sizes that only fit the input it was made for.
pub(super) fn is_fixed(op: &Op) -> bool {
    matches!(op, Op::Slice(_) | Op::SliceUpdate(_) | Op::AsStrided(_))
}
