//! Arrays joined, divided and repeated.

use super::shape::{broadcast_to, expand_dims};
use super::{cast, flat, shaped, slice_axis};
use crate::array::{
    Array, ArrayList, Axes, Axis, Dtype, Inputs, Integer, Shape, Sizes, as_many, check_axis_count, fail, ok,
    resolve_axis,
};
use crate::error::{Error, Result};
use crate::op::Op;

/// Each part is an array of its own; more than this is a mistake.
const MOST_PARTS: usize = 1 << 24;

fn check_parts(function: &'static str, parts: usize) -> Result<()> {
    if parts <= MOST_PARTS {
        return Ok(());
    }
    Err(Error::argument(function, format!("{parts} parts are more than {MOST_PARTS}; use slices")))
}

fn common_dtype(arrays: &[Array]) -> Dtype {
    arrays.iter().fold(Dtype::Bool, |dtype, a| dtype.promote(a.dtype()))
}

/// Arrays joined along an axis; flat ones for `None`.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let (a, b) = (Array::from([[1, 2]]), Array::from([[3, 4]]));
/// assert_eq!(ops::concatenate(&[&a, &b], 0).shape(), &[2, 2]);
/// assert_eq!(ops::stack(&[&a, &b], -1).shape(), &[1, 2, 2]);
/// let halves = ops::split(&a, 2, 1);
/// assert_eq!(halves[1].to_vec::<i32>()?, [2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if there are no arrays, [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the
/// shapes differ elsewhere.
#[track_caller]
pub fn concatenate(arrays: impl ArrayList, axis: impl Into<Axis>) -> Array {
    let arrays = &*arrays.arrays();
    ok!(arrays);
    let Some(first) = arrays.first() else {
        return fail(Error::argument("concatenate", "needs at least one array"));
    };
    let axis = axis.into().0;
    let dtype = common_dtype(arrays);
    let at = match axis {
        Some(axis) => ok!(resolve_axis("concatenate", axis, first.ndim())),
        None => 0,
    };
    let mut inputs = Inputs::new();
    for a in arrays {
        inputs.push(cast(&if axis.is_none() { flat(a) } else { a.clone() }, dtype));
    }
    match inputs.pop() {
        Some(only) if inputs.is_empty() => only,
        Some(last) => {
            inputs.push(last);
            Array::from_op(Op::Concatenate { axis: at }, inputs)
        }
        None => fail(Error::argument("concatenate", "needs at least one array")),
    }
}

/// Arrays joined along an axis; the same as [`concatenate`].
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::concat([&array![1, 2], &array![3]], 0).to_vec::<i32>().unwrap(), [1, 2, 3]);
/// ```
///
/// # Errors
/// As for [`concatenate`].
#[track_caller]
pub fn concat(arrays: impl ArrayList, axis: impl Into<Axis>) -> Array {
    concatenate(arrays, axis)
}

/// Arrays of one shape joined along a new axis.
///
/// ```
/// use pellucid::prelude::*;
/// let rows = ops::stack([&array![1, 2], &array![3, 4]], 0);
/// assert_eq!(rows.to_vec2::<i32>().unwrap(), [[1, 2], [3, 4]]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if there are no arrays, [`Error::Axis`] if the place of the new axis is outside the result,
/// [`Error::Shape`] if the shapes differ.
#[track_caller]
pub fn stack(arrays: impl ArrayList, axis: impl Integer) -> Array {
    let arrays = &*arrays.arrays();
    ok!(arrays);
    let Some(first) = arrays.first() else {
        return fail(Error::argument("stack", "needs at least one array"));
    };
    let axis = ok!(resolve_axis("stack", axis.to_i64(), first.ndim() + 1)) as i64;
    if let Some(other) = arrays.iter().find(|a| a.shape() != first.shape()) {
        let message = format!("shapes {} and {} differ", first.shape_ref(), other.shape_ref());
        return fail(Error::shape("stack", message));
    }
    let mut layers = Vec::with_capacity(arrays.len());
    for a in arrays {
        layers.push(expand_dims(a, axis));
    }
    concatenate(layers, axis)
}

/// The arrays along an axis, which disappears.
///
/// ```
/// use pellucid::prelude::*;
/// let rows = ops::unstack(&array![[1, 2], [3, 4]], 0);
/// assert_eq!(rows[1].to_vec::<i32>().unwrap(), [3, 4]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist.
#[track_caller]
pub fn unstack(a: &Array, axis: impl Integer) -> Vec<Array> {
    ok!(a);
    let axis = ok!(resolve_axis("unstack", axis.to_i64(), a.ndim()));
    let mut shape = a.shape_ref().clone();
    let size = shape.remove(axis);
    ok!(check_parts("unstack", size));
    let mut layers = Vec::new();
    for i in 0..size {
        layers.push(shaped(&slice_axis(a, axis, i, 1, 1), shape.clone()));
    }
    layers
}

/// Where [`split`] cuts: into a number of equal parts, or at positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// This many parts of the same size.
    Sections(usize),
    /// Before each of these positions; negative ones count from the end.
    At(Vec<i64>),
}

impl<T: Integer> From<T> for Cuts {
    /// A negative number of parts is as impossible as none.
    fn from(sections: T) -> Cuts {
        Cuts::Sections(usize::try_from(sections.to_i64()).unwrap_or(0))
    }
}

impl<T: Integer> From<&[T]> for Cuts {
    fn from(positions: &[T]) -> Cuts {
        Cuts::At(positions.iter().map(|p| p.to_i64()).collect())
    }
}

impl<T: Integer, const N: usize> From<[T; N]> for Cuts {
    fn from(positions: [T; N]) -> Cuts {
        Cuts::from(&positions[..])
    }
}

impl<T: Integer> From<Vec<T>> for Cuts {
    fn from(positions: Vec<T>) -> Cuts {
        Cuts::from(&positions[..])
    }
}

/// The parts of an array along an axis: a number of equal ones, or those between positions.
///
/// ```
/// use pellucid::prelude::*;
/// let parts = ops::split(&array![1, 2, 3, 4], 2, 0);
/// assert_eq!(parts[1].to_vec::<i32>().unwrap(), [3, 4]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Argument`] if it cannot be divided into that many parts.
#[track_caller]
pub fn split(a: &Array, cuts: impl Into<Cuts>, axis: impl Integer) -> Vec<Array> {
    let cuts = cuts.into();
    let count = match &cuts {
        Cuts::Sections(n) => *n,
        Cuts::At(positions) => positions.len().saturating_add(1),
    };
    let count = if check_parts("split", count).is_ok() { count } else { 1 };
    as_many(parts(a, cuts, axis.to_i64()), count)
}

#[track_caller]
fn parts(a: &Array, cuts: Cuts, axis: i64) -> Vec<Array> {
    ok!(a);
    let axis = ok!(resolve_axis("split", axis, a.ndim()));
    let size = a.shape()[axis];
    let mut parts = Vec::new();
    match cuts {
        Cuts::Sections(n) => {
            if n == 0 || !size.is_multiple_of(n) {
                let message = format!("axis {axis} of size {size} cannot be divided into {n} equal parts");
                return fail(Error::argument("split", message));
            }
            ok!(check_parts("split", n));
            for i in 0..n {
                let start = if size == 0 { 0 } else { i * (size / n) };
                parts.push(slice_axis(a, axis, start, size / n, 1));
            }
        }
        Cuts::At(positions) => {
            ok!(check_parts("split", positions.len().saturating_add(1)));
            let place = |p: i64| match usize::try_from(p) {
                Ok(p) => p.min(size),
                Err(_) => size.saturating_sub(usize::try_from(p.unsigned_abs()).unwrap_or(usize::MAX)),
            };
            let mut start = 0;
            for end in positions.iter().map(|&p| place(p)).chain([size]) {
                let len = end.saturating_sub(start);
                parts.push(slice_axis(a, axis, if len == 0 { 0 } else { start }, len, 1));
                start = end;
            }
        }
    }
    parts
}

/// The array repeated as a whole, this many times along each of the last axes; new axes come first.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::tile(&array![1, 2], 2).to_vec::<i32>().unwrap(), [1, 2, 1, 2]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the result does not fit 64-bit addresses.
#[track_caller]
pub fn tile(a: &Array, reps: impl Into<Sizes>) -> Array {
    ok!(a);
    let reps = ok!(reps.into().shape("tile"));
    ok!(check_axis_count("tile", reps.len()));
    let ndim = reps.len().max(a.ndim());
    let rep = |axis: usize| (axis + reps.len()).checked_sub(ndim).map_or(1, |i| reps[i]);
    let size = |axis: usize| (axis + a.ndim()).checked_sub(ndim).map_or(1, |i| a.shape()[i]);
    let result: Shape = (0..ndim).map(|axis| rep(axis).saturating_mul(size(axis))).collect();
    ok!(result.check("tile", a.itemsize()));
    // Each axis becomes (repetitions, size), the first of which is broadcast. What is one of both is left out, so that
    // the axes stay few.
    let pairs = || (0..ndim).flat_map(|axis| [(rep(axis), 1), (size(axis), size(axis))]);
    let ones = shaped(a, pairs().filter(|&(wide, _)| wide != 1).map(|(_, size)| size).collect());
    let wide: Shape = pairs().map(|(wide, _)| wide).filter(|&wide| wide != 1).collect();
    shaped(&broadcast_to(&ones, wide), result)
}

/// Each element repeated, along an axis or in the flat array.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::repeat(&array![1, 2], 2, 0).to_vec::<i32>().unwrap(), [1, 1, 2, 2]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the result does not fit 64-bit addresses.
#[track_caller]
pub fn repeat(a: &Array, repeats: usize, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(super::along("repeat", a, axis.into().0));
    let mut result = a.shape_ref().clone();
    result.as_mut_slice()[axis] = a.shape()[axis].saturating_mul(repeats);
    ok!(result.check("repeat", a.itemsize()));
    // The axis becomes (size, repetitions). Others of size one are left out, so that the axes stay few.
    let wide = |repeats: usize| -> Shape {
        let sizes = a.shape().iter().enumerate().filter(|&(i, &size)| i == axis || size != 1);
        sizes.flat_map(|(i, &size)| [Some(size), (i == axis).then_some(repeats)]).flatten().collect()
    };
    shaped(&broadcast_to(&shaped(&a, wide(1)), wide(repeats)), result)
}

/// Elements moved along axes by `shift` places; what leaves at one end comes in at the other. For `Axes::All`, through
/// the flat array. One shift serves all axes, or there is one for each.
///
/// ```
/// use pellucid::{Array, Axes, ops};
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::roll(&Array::from([1, 2, 3]), &[1], Axes::All).to_vec::<i32>()?, [3, 1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if the numbers of shifts and axes do not fit.
#[track_caller]
pub fn roll(a: &Array, shift: impl Into<Sizes>, axes: impl Into<Axes>) -> Array {
    let shift = &*shift.into().numbers();
    ok!(a);
    let Axes::List(axes) = axes.into() else {
        let total = shift.iter().fold(0i64, |sum, &s| sum.wrapping_add(s));
        return shaped(&roll_axis(&flat(a), total, 0), a.shape_ref().clone());
    };
    let mut result = a.clone();
    let pairs = match (shift, &*axes) {
        (shift, axes) if shift.len() == axes.len() => shift.len(),
        ([_], axes) => axes.len(),
        (shift, [_]) => shift.len(),
        _ => {
            let message = format!("{} shifts cannot serve {} axes", shift.len(), axes.len());
            return fail(Error::argument("roll", message));
        }
    };
    ok!(check_axis_count("roll", pairs));
    for i in 0..pairs {
        let (by, axis) = (shift[i.min(shift.len() - 1)], axes[i.min(axes.len() - 1)]);
        result = roll_axis(&result, by, ok!(resolve_axis("roll", axis, a.ndim())));
    }
    result
}

#[track_caller]
fn roll_axis(a: &Array, shift: i64, axis: usize) -> Array {
    ok!(a);
    let size = a.shape()[axis];
    let by = if size == 0 { 0 } else { i128::from(shift).rem_euclid(size as i128) as usize };
    if by == 0 {
        return a.clone();
    }
    let head = slice_axis(a, axis, 0, size - by, 1);
    let tail = slice_axis(a, axis, size - by, by, 1);
    concatenate(&[&tail, &head], axis as i64)
}
