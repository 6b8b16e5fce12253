//! Selecting parts of arrays, and replacing them.
//!
//! [`Index`] says what to select along an axis; a list of them is read as NumPy reads what stands between brackets.
//! Positions known now are checked now, those in arrays when they are used.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use smallvec::{SmallVec, smallvec};

use super::elementwise::{add, multiply};
use super::operand::Operand;
use super::shape::{broadcast_to, permuted};
use super::{along, apply2, cast, counting, flat, shaped, slice};
use crate::array::{Array, Dtype, Inputs, Shape, resolve_axis};
use crate::error::{Error, Result};
use crate::op::{Op, SliceSpec};

/// What to select along one axis.
///
/// Integers, ranges and arrays of integers convert into it; the macro [`idx!`](crate::idx) makes a list.
///
/// ```
/// use pellucid::{Dtype, idx, ops, ops::Index};
/// # fn main() -> pellucid::Result<()> {
/// let a = ops::zeros([4, 5, 6], Dtype::Float32)?;
/// assert_eq!(a.index(idx![0])?.shape(), &[5, 6]);
/// assert_eq!(a.index(idx![1..3, .., -1])?.shape(), &[2, 5]);
/// assert_eq!(a.index(idx![Index::Ellipsis, Index::step(None, None, -2)])?.shape(), &[4, 5, 3]);
/// assert_eq!(a.index(idx![Index::NewAxis, 2..])?.shape(), &[1, 2, 5, 6]);
/// assert!(a.index(idx![4]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Index {
    /// One position; the axis disappears. Negative ones count from the end.
    Int(i64),
    /// Positions from `start` to before `stop` in steps of `step`, as Python reads them: negative ones count from the
    /// end, and what is outside is left out.
    Slice {
        /// First position; the end the steps come from if not given.
        start: Option<i64>,
        /// The first position left out; the end the steps go to if not given.
        stop: Option<i64>,
        /// Distance between positions; negative runs backwards.
        step: i64,
    },
    /// A new axis of size one.
    NewAxis,
    /// All axes that no other index names.
    Ellipsis,
    /// The positions in an array of integers. Several are broadcast with each other.
    Array(Array),
}

impl Index {
    /// Positions from `start` to before `stop` in steps of `step`.
    pub fn step(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> Index {
        Index::Slice { start: start.into(), stop: stop.into(), step }
    }
}

/// A list of [`Index`]es, each written as an integer, a range, an array or an `Index`.
///
/// ```
/// use pellucid::{Array, idx};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(a.index(idx![.., 1])?.to_vec::<i32>()?, [2, 5]);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! idx {
    ($($index:expr),* $(,)?) => {
        [$($crate::ops::Index::from($index)),*]
    };
}

impl From<&Array> for Index {
    fn from(a: &Array) -> Index {
        Index::Array(a.clone())
    }
}

impl From<Array> for Index {
    fn from(a: Array) -> Index {
        Index::Array(a)
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::step(None, None, 1)
    }
}

/// Positions too large for 63 bits are outside of every array, as the largest one is.
trait Position: Copy {
    fn position(self) -> i64;
    fn after(self) -> Option<i64>;
}

macro_rules! positions {
    ($($ty:ty),*) => {
        $(impl Position for $ty {
            fn position(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }

            /// The position behind it; −1 is the last one, so nothing is behind it.
            fn after(self) -> Option<i64> {
                self.position().checked_add(1).filter(|&p| p != 0)
            }
        }
        impl From<$ty> for Index {
            fn from(at: $ty) -> Index {
                Index::Int(at.position())
            }
        }
        impl From<Range<$ty>> for Index {
            fn from(r: Range<$ty>) -> Index {
                Index::step(r.start.position(), r.end.position(), 1)
            }
        }
        impl From<RangeFrom<$ty>> for Index {
            fn from(r: RangeFrom<$ty>) -> Index {
                Index::step(r.start.position(), None, 1)
            }
        }
        impl From<RangeTo<$ty>> for Index {
            fn from(r: RangeTo<$ty>) -> Index {
                Index::step(None, r.end.position(), 1)
            }
        }
        impl From<RangeInclusive<$ty>> for Index {
            fn from(r: RangeInclusive<$ty>) -> Index {
                Index::step(r.start().position(), r.end().after(), 1)
            }
        }
        impl From<RangeToInclusive<$ty>> for Index {
            fn from(r: RangeToInclusive<$ty>) -> Index {
                Index::step(None, r.end.after(), 1)
            }
        })*
    };
}
positions!(i32, i64, usize);

/// First position, number of positions and step of a slice of an axis, as Python computes them.
fn resolve_slice(
    function: &'static str,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
    size: usize,
) -> Result<(usize, usize, isize)> {
    if step == 0 {
        return Err(Error::argument(function, "the step of a slice must not be zero"));
    }
    let (size, wide) = (size as i128, i128::from(step));
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let place = |p: i64| {
        let p = i128::from(p);
        (if p < 0 { p + size } else { p }).clamp(lowest, highest)
    };
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (start, stop) = (start.map_or(first, place), stop.map_or(last, place));
    let span = if step > 0 { stop - start } else { start - stop };
    let count = if span <= 0 { 0 } else { (span - 1) / wide.abs() + 1 };
    // A step beyond the axis is never taken.
    let step = if count <= 1 { 1 } else { step as isize };
    Ok((if count == 0 { 0 } else { start as usize }, count as usize, step))
}

/// A list of indices applied to a shape: the rectangular part, and what is left to do afterwards.
struct Selection {
    spec: SliceSpec,
    /// Index arrays and the axes they are for.
    arrays: Vec<(usize, Array)>,
    /// The axes of the result in order.
    layout: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// An axis of the input, as the slice left it.
    Axis(usize),
    /// A new axis.
    New,
    /// The axes of the index arrays.
    Arrays,
}

impl Selection {
    fn new(function: &'static str, a: &Array, indices: &[Index]) -> Result<Selection> {
        let ndim = a.ndim();
        let used = indices.iter().filter(|i| !matches!(i, Index::NewAxis | Index::Ellipsis)).count();
        if used > ndim {
            let message = format!("{used} indices for the {ndim} axes of shape {}", a.shape_ref());
            return Err(Error::argument(function, message));
        }
        if indices.iter().filter(|i| matches!(i, Index::Ellipsis)).count() > 1 {
            return Err(Error::argument(function, "takes one ellipsis at most"));
        }
        let mut result = Selection { spec: super::whole(a), arrays: Vec::new(), layout: Vec::new() };
        // NumPy puts the axes of index arrays where the first stands, or first if something stands between them.
        let chooses = |i: &Index| matches!(i, Index::Int(_) | Index::Array(_));
        let with_arrays = indices.iter().any(|i| matches!(i, Index::Array(_)));
        let first = indices.iter().position(chooses).filter(|_| with_arrays);
        let last = indices.iter().rposition(chooses);
        let apart = match (first, last) {
            (Some(first), Some(last)) => !indices[first..=last].iter().all(chooses),
            _ => false,
        };
        if apart {
            result.layout.push(Piece::Arrays);
        }
        let mut axis = 0;
        for (i, index) in indices.iter().enumerate() {
            if first == Some(i) && !apart {
                result.layout.push(Piece::Arrays);
            }
            match index {
                Index::NewAxis => result.layout.push(Piece::New),
                Index::Ellipsis => {
                    let rest = ndim - used;
                    result.layout.extend((axis..axis + rest).map(Piece::Axis));
                    axis += rest;
                    continue;
                }
                _ => {
                    result.select(function, a, index, axis)?;
                    axis += 1;
                }
            }
        }
        result.layout.extend((axis..ndim).map(Piece::Axis));
        Ok(result)
    }

    fn select(&mut self, function: &'static str, a: &Array, index: &Index, axis: usize) -> Result<()> {
        let size = a.shape()[axis];
        match index {
            Index::Int(at) => {
                let place = if *at < 0 { i128::from(*at) + size as i128 } else { i128::from(*at) };
                if !(0..size as i128).contains(&place) {
                    return Err(Error::Index { function, index: *at, axis, size });
                }
                self.spec.start[axis] = place as usize;
                self.spec.size[axis] = 1;
            }
            Index::Slice { start, stop, step } => {
                let (start, count, step) = resolve_slice(function, *start, *stop, *step, size)?;
                self.spec.start[axis] = start;
                self.spec.size[axis] = count;
                self.spec.step[axis] = step;
                self.layout.push(Piece::Axis(axis));
            }
            Index::Array(at) => {
                if !at.dtype().is_integer() {
                    let message = format!("indices must be integers, not {} (axis {axis})", at.dtype());
                    return Err(Error::dtype(function, message));
                }
                self.arrays.push((axis, at.clone()));
            }
            Index::NewAxis | Index::Ellipsis => {}
        }
        Ok(())
    }

    /// The sizes of the result; `chosen` are those of the index arrays.
    fn shape(&self, chosen: &[usize]) -> Shape {
        let mut shape = Shape::default();
        for piece in &self.layout {
            match piece {
                Piece::Axis(axis) => shape.push(self.spec.size[*axis]),
                Piece::New => shape.push(1),
                Piece::Arrays => chosen.iter().for_each(|&d| shape.push(d)),
            }
        }
        shape
    }
}

/// The part of an array that a list of indices selects, as NumPy reads it.
///
/// # Errors
/// [`Error::Index`] if a position is outside its axis (for those in arrays, when the result is computed),
/// [`Error::Argument`] if there are more indices than axes or a step is zero, [`Error::Dtype`] if an array is not of
/// integers.
#[track_caller]
pub fn index(a: &Array, indices: &[Index]) -> Result<Array> {
    let selection = Selection::new("index", a, indices)?;
    let part = slice(a, selection.spec.clone())?;
    if selection.arrays.is_empty() {
        return shaped(&part, selection.shape(&[]));
    }
    let mut chosen = Shape::default();
    for (_, at) in &selection.arrays {
        chosen = chosen.broadcast_for("index", at.shape_ref())?;
    }
    // The axes of arrays come first, joined into one; single positions and slices keep their order behind it.
    let axes: SmallVec<[usize; 4]> = selection.arrays.iter().map(|&(axis, _)| axis).collect();
    let picked = if let [(axis, at)] = &*selection.arrays {
        let taken = apply2(Op::Take { axis: *axis }, part, at.clone())?;
        let block: SmallVec<[usize; 4]> = (*axis..*axis + at.ndim()).collect();
        let rest = (0..taken.ndim()).filter(|x| !block.contains(x));
        permuted(&taken, block.iter().copied().chain(rest).collect())?
    } else {
        let rest = (0..a.ndim()).filter(|x| !axes.contains(x));
        let order = axes.iter().copied().chain(rest).collect();
        let moved = permuted(&part, order)?;
        let joined: usize = axes.iter().map(|&x| a.shape()[x]).product();
        let dims = [joined].into_iter().chain(moved.shape()[axes.len()..].iter().copied());
        let table = shaped(&moved, dims.collect())?;
        apply2(Op::Take { axis: 0 }, table, joint_position(a.shape(), &selection.arrays)?)?
    };
    // Now: the arrays' axes, then all others of the input in order, single positions with size one.
    let kept: SmallVec<[usize; 4]> = (0..a.ndim()).filter(|x| !axes.contains(x)).collect();
    let mut order: SmallVec<[usize; 4]> = SmallVec::new();
    for piece in &selection.layout {
        match piece {
            Piece::Axis(axis) => order.extend(kept.iter().position(|x| x == axis).map(|p| p + chosen.len())),
            Piece::Arrays => order.extend(0..chosen.len()),
            Piece::New => {}
        }
    }
    let single = (0..picked.ndim()).filter(|x| !order.contains(x)).collect::<SmallVec<[usize; 4]>>();
    order.extend(single);
    shaped(&permuted(&picked, order)?, selection.shape(&chosen))
}

/// Positions along several axes as positions along those axes joined. Each is checked against its own axis.
#[track_caller]
fn joint_position(shape: &[usize], arrays: &[(usize, Array)]) -> Result<Array> {
    let mut joint: Option<Array> = None;
    let total: usize = arrays.iter().map(|&(axis, _)| shape[axis]).product();
    let dtype = if i32::try_from(total).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    for (axis, at) in arrays {
        // Taking from 0, 1, … checks the positions and makes them positive; leading axes of size one keep the name of
        // the axis for the error.
        let mut dims: Shape = std::iter::repeat_n(1, *axis).collect();
        dims.push(shape[*axis]);
        let table = shaped(&cast(&counting(shape[*axis])?, dtype)?, dims)?;
        let place = shaped(&apply2(Op::Take { axis: *axis }, table, at.clone())?, at.shape_ref().clone())?;
        joint = Some(match joint {
            None => place,
            Some(before) => add(multiply(&before, shape[*axis])?, place)?,
        });
    }
    joint.ok_or_else(|| Error::internal("index", "no index arrays"))
}

/// A copy of `a` in which the selected part is replaced by `update`, which is broadcast to it and converted to the
/// type of `a`. With index arrays that name a place twice, one of the values stays.
///
/// ```
/// use pellucid::{Array, idx, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([1, 2, 3]);
/// assert_eq!(ops::slice_update(&a, 0, &idx![1..])?.to_vec::<i32>()?, [1, 0, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`index`], and [`Error::Shape`] if the update does not broadcast to the part.
#[track_caller]
pub fn slice_update<'u>(a: &Array, update: impl Into<Operand<'u>>, indices: &[Index]) -> Result<Array> {
    let selection = Selection::new("slice_update", a, indices)?;
    let update = value(update.into(), a.dtype())?;
    if selection.arrays.is_empty() {
        let part = fitted(&update, selection.shape(&[]))?;
        let sizes: Shape = selection.spec.size.iter().copied().collect();
        return apply2(Op::SliceUpdate(Box::new(selection.spec)), a.clone(), shaped(&part, sizes)?);
    }
    let places = index(&shaped(&counting(a.size())?, a.shape_ref().clone())?, indices)?;
    let part = fitted(&update, places.shape_ref().clone())?;
    let inputs: Inputs = smallvec![flat(a)?, flat(&places)?, flat(&part)?];
    shaped(&Array::from_op(Op::PutAlongAxis { axis: 0 }, inputs)?, a.shape_ref().clone())
}

/// New values in the type of the array they go to; a real number loses its fraction in an integer array.
#[track_caller]
fn value(update: Operand, dtype: Dtype) -> Result<Array> {
    match update.number() {
        Some(_) => super::full([], update, dtype),
        None => update.to_array("slice_update", dtype),
    }
}

#[track_caller]
fn fitted(update: &Array, part: Shape) -> Result<Array> {
    // Leading axes of size one are as good as none, as in an assignment.
    let extra = update.ndim().saturating_sub(part.len());
    let fits = update.shape()[..extra].iter().all(|&d| d == 1);
    let update = if fits { shaped(update, Shape::from(&update.shape()[extra..]))? } else { update.clone() };
    match update.shape_ref().broadcast_for("slice_update", &part) {
        Ok(shape) if shape == part => broadcast_to(&update, part),
        _ => {
            let message = format!("the part to replace has shape {part}, the update {}", update.shape_ref());
            Err(Error::shape("slice_update", message))
        }
    }
}

/// Elements at positions along an axis, or of the flat array; the axis is replaced by those of `indices`.
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Dtype`] if the indices are not integers; [`Error::Index`] if
/// one is out of range, when the result is computed.
#[track_caller]
pub fn take(a: &Array, indices: &Array, axis: impl Into<Option<i64>>) -> Result<Array> {
    let (a, axis) = along("take", a, axis.into())?;
    apply2(Op::Take { axis }, a, indices.clone())
}

/// For each position of `indices`, the element of `a` there, with the position along the axis replaced. Other axes are
/// broadcast. Without an axis, both are flat.
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if the
/// indices are not integers; [`Error::Index`] if one is out of range, when the result is computed.
#[track_caller]
pub fn take_along_axis(a: &Array, indices: &Array, axis: impl Into<Option<i64>>) -> Result<Array> {
    let (a, indices, axis) = aligned("take_along_axis", a, indices, axis.into())?;
    apply2(Op::TakeAlongAxis { axis }, a, indices)
}

/// A copy of `a` with the elements that [`take_along_axis`] would give replaced by `values`, which are broadcast to the
/// indices and converted to the type of `a`.
///
/// # Errors
/// As for [`take_along_axis`], and [`Error::Shape`] if the values do not broadcast to the indices.
#[track_caller]
pub fn put_along_axis<'v>(
    a: &Array,
    indices: &Array,
    values: impl Into<Operand<'v>>,
    axis: impl Into<Option<i64>>,
) -> Result<Array> {
    let shape = a.shape_ref().clone();
    let axis = axis.into();
    let given = indices.shape_ref().clone();
    let values = value(values.into(), a.dtype())?;
    let (a, indices, at) = aligned("put_along_axis", a, indices, axis)?;
    if a.size() != shape.elements() {
        let message = format!("indices of shape {given} do not fit into shape {shape}");
        return Err(Error::shape("put_along_axis", message));
    }
    let values = match axis {
        Some(_) => broadcast_to(&values, indices.shape_ref())?,
        None => flat(&broadcast_to(&values, given)?)?,
    };
    let inputs: Inputs = smallvec![a, indices, values];
    shaped(&Array::from_op(Op::PutAlongAxis { axis: at }, inputs)?, shape)
}

/// Array and indices with the same sizes outside the axis; both flat without one.
#[track_caller]
fn aligned(
    function: &'static str,
    a: &Array,
    indices: &Array,
    axis: Option<i64>,
) -> Result<(Array, Array, usize)> {
    let Some(axis) = axis else { return Ok((flat(a)?, flat(indices)?, 0)) };
    let axis = resolve_axis(function, axis, a.ndim())?;
    if indices.ndim() != a.ndim() {
        let message = format!(
            "indices of shape {} must have as many axes as shape {}",
            indices.shape_ref(),
            a.shape_ref()
        );
        return Err(Error::shape(function, message));
    }
    let outside = |x: &Array| {
        let mut shape = x.shape_ref().clone();
        shape.as_mut_slice()[axis] = 1;
        shape
    };
    let common = outside(a).broadcast_for(function, &outside(indices))?;
    let with = |size: usize| {
        let mut shape = common.clone();
        shape.as_mut_slice()[axis] = size;
        shape
    };
    let (here, there) = (with(a.shape()[axis]), with(indices.shape()[axis]));
    Ok((broadcast_to(a, here)?, broadcast_to(indices, there)?, axis))
}
