//! The functions people call, one file per family.
//!
//! A function checks its arguments, brings its inputs to one element type by MLX's rules, and returns a lazy array;
//! nothing is computed here. Names are MLX's; `where` is a Rust keyword, so it is [`where_`]. Functions with two
//! inputs take arrays and plain numbers on either side (see [`Operand`]).
//!
//! ```
//! use pellucid::{Array, Axes, ops};
//! # fn main() -> pellucid::Result<()> {
//! let x = Array::from([1.0f32, 2.0, 3.0]);
//! let centred = ops::subtract(&x, ops::mean(&x, Axes::All, false));
//! assert_eq!(centred.to_vec::<f32>()?, [-1.0, 0.0, 1.0]);
//! # Ok(())
//! # }
//! ```

mod assemble;
mod blocks;
mod brackets;
mod conv;
mod creation;
mod einsum;
mod elementwise;
pub(crate) mod fast;
pub mod fft;
mod fp8;
mod hadamard;
mod index;
pub mod linalg;
mod matmul;
mod methods;
mod operand;
mod pad;
mod quantized;
mod reduce;
mod scan;
mod shape;
mod sort;
#[cfg(test)]
mod tests;
mod triangle;
mod unique;
mod windows;

pub use assemble::*;
pub use blocks::*;
pub use brackets::{At, Ellipsis, Indices, NewAxis, Step};
pub use conv::*;
pub use creation::*;
pub use einsum::*;
pub use elementwise::*;
pub use fp8::*;
pub use hadamard::*;
pub use index::*;
pub use matmul::*;
pub use operand::{Limit, Operand};
pub use pad::*;
pub use quantized::*;
pub use reduce::*;
pub use scan::*;
pub use shape::*;
pub use sort::*;
pub use triangle::*;
pub use unique::*;
pub use windows::*;

use std::cell::RefCell;

use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Dtype, Inputs, Shape, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::op::{Op, Scalar, SliceSpec};
use crate::transform::{Dim, Refit, is_shapeless, noted};

/// An operation on one array.
#[track_caller]
fn apply(op: Op, a: &Array) -> Array {
    let inputs: Inputs = smallvec![a.clone()];
    Array::from_op(op, inputs)
}

/// An operation on two arrays.
#[track_caller]
fn apply2(op: Op, a: Array, b: Array) -> Array {
    Array::from_two(op, a, b)
}

/// The array in another element type; itself if it has it already.
#[track_caller]
pub(crate) fn cast(a: &Array, dtype: Dtype) -> Array {
    if a.dtype() == dtype { a.clone() } else { apply(Op::Cast { dtype }, a) }
}

/// The array in another shape of the same size; itself if it has it already.
#[track_caller]
fn shaped(a: &Array, shape: Shape) -> Array {
    if *a.shape_ref() == shape { a.clone() } else { apply(Op::Reshape { shape }, a) }
}

/// As [`shaped`], where the sizes come from those of the array: a function that is recorded for arrays of any size finds
/// them again.
#[track_caller]
fn shaped_by(a: &Array, shape: Shape, dims: impl FnOnce() -> SmallVec<[Dim; 4]>) -> Array {
    if !is_shapeless() {
        return shaped(a, shape);
    }
    noted(Refit::Dims(dims()), || apply(Op::Reshape { shape }, a))
}

/// All elements along one axis.
#[track_caller]
fn flat(a: &Array) -> Array {
    shaped_by(a, Shape::from(a.size()), || smallvec![Dim::Rest])
}

/// The array and a position of one of its axes: a flat array for `None`, which is how MLX reads a missing axis.
#[track_caller]
fn along(function: &'static str, a: &Array, axis: Option<i64>) -> Result<(Array, usize)> {
    match axis {
        None => Ok((flat(a), 0)),
        Some(axis) => Ok((a.clone(), resolve_axis(function, axis, a.ndim())?)),
    }
}

/// `size` positions along one axis, from `start` in steps of `step`; everything along the others.
#[track_caller]
pub(crate) fn slice_axis(a: &Array, axis: usize, start: usize, size: usize, step: isize) -> Array {
    ok!(a);
    let mut spec = whole(a);
    spec.start[axis] = start;
    spec.size[axis] = size;
    spec.step[axis] = step;
    slice(a, spec)
}

/// The slice that selects everything.
fn whole(a: &Array) -> SliceSpec {
    let n = a.ndim();
    SliceSpec {
        start: SmallVec::from_elem(0, n),
        size: a.shape().iter().copied().collect(),
        step: SmallVec::from_elem(1, n),
    }
}

#[track_caller]
fn slice(a: &Array, spec: SliceSpec) -> Array {
    if spec == whole(a) { a.clone() } else { apply(Op::Slice(Box::new(spec)), a) }
}

/// A single element with a value. A program that computes with the same few numbers again and again gets the same few
/// arrays: one that has not been computed is as good as new.
#[track_caller]
pub(crate) fn constant(function: &'static str, value: Scalar, dtype: Dtype) -> Array {
    thread_local! {
        static RECENT: RefCell<SmallVec<[(Scalar, Array); 8]>> = RefCell::new(SmallVec::new());
    }
    let stream = ok!(crate::stream::current_stream());
    let same = |(known, array): &&(Scalar, Array)| {
        known.bits() == value.bits() && array.dtype() == dtype && array.stream() == stream && array.is_lazy()
    };
    // Nothing to borrow while the thread ends: then every constant is made anew.
    let found =
        RECENT.try_with(|r| r.borrow().iter().find(same).map(|(_, array)| array.clone())).unwrap_or(None);
    if let Some(array) = found {
        return array;
    }
    let array = filled(function, Shape::default(), value, dtype);
    let _ = RECENT.try_with(|recent| {
        let mut recent = recent.borrow_mut();
        if recent.len() == recent.inline_size() {
            recent.remove(0);
        }
        recent.push((value, array.clone()));
    });
    array
}

/// One value everywhere, if it fits the type.
#[track_caller]
fn filled(function: &'static str, shape: Shape, value: Scalar, dtype: Dtype) -> Array {
    let value = ok!(operand::fit(function, value, dtype));
    ok!(shape.check(function, dtype.size()));
    Array::from_op(Op::Full { shape, dtype, value }, Inputs::new())
}

/// `0, 1, …` up to `len`, in the smallest integer type that indexes it on every device.
#[track_caller]
pub(crate) fn counting(len: usize) -> Array {
    let dtype = if i32::try_from(len).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    let op = Op::Arange { start: Scalar::Int(0), step: Scalar::Int(1), len, dtype };
    Array::from_op(op, Inputs::new())
}

/// A size as a signed number; sizes of arrays always fit.
fn signed(function: &'static str, size: usize) -> Result<i64> {
    i64::try_from(size)
        .map_err(|_| Error::argument(function, format!("a size of {size} does not fit 63 bits")))
}
