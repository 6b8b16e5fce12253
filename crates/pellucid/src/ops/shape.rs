//! Shapes and layouts: views where the memory allows, copies where it does not.

use smallvec::SmallVec;

use super::{apply, cast, shaped, shaped_by, slice, whole};
use crate::array::{
    Array, ArrayList, Axes, Dtype, Integer, Shape, Sizes, check_axis_count, fail, ok, resolve_axis,
};
use crate::error::{Error, Result};
use crate::op::{Op, StridedSpec};
use crate::transform::Dim;

/// Sizes in which one may be −1 and is found from the number of elements.
fn inferred(function: &'static str, sizes: &[i64], elements: usize) -> Result<Shape> {
    check_axis_count(function, sizes.len())?;
    let wrong = |message: String| Err(Error::shape(function, message));
    let mut shape: SmallVec<[usize; 4]> = SmallVec::with_capacity(sizes.len());
    let (mut unknown, mut known) = (None, Some(1usize));
    for (i, &size) in sizes.iter().enumerate() {
        match usize::try_from(size) {
            Ok(size) => {
                known = known.and_then(|n| n.checked_mul(size));
                shape.push(size);
            }
            Err(_) if size == -1 && unknown.is_none() => {
                unknown = Some(i);
                shape.push(0);
            }
            Err(_) if size == -1 => return wrong(format!("only one size of {sizes:?} can be -1")),
            Err(_) => return wrong(format!("sizes must not be negative, except one -1, in {sizes:?}")),
        }
    }
    if let Some(at) = unknown {
        match known {
            Some(0) => return wrong(format!("-1 in {sizes:?} is not determined, because another size is 0")),
            Some(known) if elements.is_multiple_of(known) => shape[at] = elements / known,
            _ => return wrong(format!("{elements} elements cannot be divided into {sizes:?}")),
        }
    }
    Ok(Shape::from(&*shape))
}

/// The same elements in row-major order with another shape. One size may be −1 and is found from the others.
///
/// ```
/// use pellucid::{Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = ops::zeros([2, 6], Dtype::Float32);
/// assert_eq!(ops::reshape(&a, [3, -1]).shape(), &[3, 4]);
/// assert_eq!(ops::transpose(&a, None).shape(), &[6, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the number of elements differs, or a size is negative or not determined.
#[track_caller]
pub fn reshape(a: &Array, shape: impl Into<Sizes>) -> Array {
    ok!(a);
    let sizes = shape.into().numbers();
    let dim = |&size: &i64| usize::try_from(size).map_or(Dim::Rest, Dim::Is);
    shaped_by(a, ok!(inferred("reshape", &sizes, a.size())), || sizes.iter().map(dim).collect())
}

/// Neighbouring axes joined into one, from `start_axis` to `end_axis`. Axes beyond the array are brought to its ends,
/// and a single element gets one axis.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::flatten(&a, 0, 1).shape(), [6, 4]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if the first axis is behind the last.
#[track_caller]
pub fn flatten(a: &Array, start_axis: impl Integer, end_axis: impl Integer) -> Array {
    let (start_axis, end_axis) = (start_axis.to_i64(), end_axis.to_i64());
    ok!(a);
    if a.ndim() == 0 {
        return shaped(a, Shape::from(1));
    }
    let n = a.ndim() as i64;
    let place = |axis: i64| if axis < 0 { axis.saturating_add(n) } else { axis };
    let (start, end) = (place(start_axis).max(0), place(end_axis).min(n - 1));
    if start > end {
        let message = format!("axis {start_axis} is behind axis {end_axis} (shape {})", a.shape_ref());
        return fail(Error::argument("flatten", message));
    }
    let (start, end) = (start as usize, end as usize);
    let joined = Shape::from(&a.shape()[start..=end]).elements();
    let dims = a.shape()[..start].iter().copied().chain([joined]).chain(a.shape()[end + 1..].iter().copied());
    shaped_by(a, dims.collect(), || {
        let before = (0..start).map(Dim::Of);
        before.chain([Dim::Joined(start..end + 1)]).chain((end + 1..a.ndim()).map(Dim::Of)).collect()
    })
}

/// An axis divided into several. One size may be −1 and is found from the others.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::unflatten(&a, 2, (2, -1)).shape(), [2, 3, 2, 2]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the sizes do not fit it.
#[track_caller]
pub fn unflatten(a: &Array, axis: impl Integer, shape: impl Into<Sizes>) -> Array {
    ok!(a);
    let axis = ok!(resolve_axis("unflatten", axis.to_i64(), a.ndim()));
    let size = a.shape()[axis];
    let shape = shape.into().numbers();
    let parts = ok!(inferred("unflatten", &shape, size));
    if parts.is_empty() || parts.elements() != size {
        let message = format!("axis {axis} of size {size} cannot be divided into {parts}");
        return fail(Error::shape("unflatten", message));
    }
    let dims = a.shape()[..axis].iter().chain(parts.iter()).chain(&a.shape()[axis + 1..]);
    shaped_by(a, dims.copied().collect(), || {
        let named = shape.iter().filter_map(|&size| usize::try_from(size).ok()).product();
        let part = |&size: &i64| usize::try_from(size).map_or(Dim::Part(axis, named), Dim::Is);
        let before = (0..axis).map(Dim::Of);
        before.chain(shape.iter().map(part)).chain((axis + 1..a.ndim()).map(Dim::Of)).collect()
    })
}

/// Axes in this order; the array itself if it is the order they have.
#[track_caller]
pub(super) fn permuted(a: &Array, axes: SmallVec<[usize; 4]>) -> Array {
    if axes.iter().copied().eq(0..a.ndim()) { a.clone() } else { apply(Op::Transpose { axes }, a) }
}

/// Axes in another order; reversed unless told.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::transpose(&a, ..).shape(), [4, 3, 2]);
/// assert_eq!(ops::transpose(&a, (0, 2, 1)).shape(), [2, 4, 3]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if they are not each named once.
#[track_caller]
pub fn transpose(a: &Array, axes: impl Into<Axes>) -> Array {
    ok!(a);
    let order = match axes.into() {
        Axes::All => (0..a.ndim()).rev().collect(),
        Axes::List(list) => {
            ok!(check_axis_count("transpose", list.len()));
            let mut order = SmallVec::new();
            for &axis in &list {
                order.push(ok!(resolve_axis("transpose", axis, a.ndim())));
            }
            order
        }
    };
    permuted(a, order)
}

/// Axes in another order; the same as [`transpose`].
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::permute_dims(&a, (2, 0, 1)).shape(), [4, 2, 3]);
/// ```
///
/// # Errors
/// As for [`transpose`].
#[track_caller]
pub fn permute_dims(a: &Array, axes: impl Into<Axes>) -> Array {
    transpose(a, axes)
}

/// The last two axes exchanged.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::matrix_transpose(&a).shape(), [2, 4, 3]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two axes.
#[track_caller]
pub fn matrix_transpose(a: &Array) -> Array {
    ok!(a);
    if a.ndim() < 2 {
        let message = format!("needs two or more axes (shape {})", a.shape_ref());
        return fail(Error::shape("matrix_transpose", message));
    }
    swapaxes(a, -1, -2)
}

/// Two axes exchanged.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::swapaxes(&a, 0, -1).shape(), [4, 3, 2]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist.
#[track_caller]
pub fn swapaxes(a: &Array, axis1: impl Integer, axis2: impl Integer) -> Array {
    ok!(a);
    let (first, second) = (
        ok!(resolve_axis("swapaxes", axis1.to_i64(), a.ndim())),
        ok!(resolve_axis("swapaxes", axis2.to_i64(), a.ndim())),
    );
    let mut order: SmallVec<[usize; 4]> = (0..a.ndim()).collect();
    order.swap(first, second);
    permuted(a, order)
}

/// One axis moved to another place; the others keep their order.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::zeros((2, 3, 4));
/// assert_eq!(ops::moveaxis(&a, 0, -1).shape(), [3, 4, 2]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist.
#[track_caller]
pub fn moveaxis(a: &Array, source: impl Integer, destination: impl Integer) -> Array {
    ok!(a);
    let from = ok!(resolve_axis("moveaxis", source.to_i64(), a.ndim()));
    let to = ok!(resolve_axis("moveaxis", destination.to_i64(), a.ndim()));
    let mut order: SmallVec<[usize; 4]> = (0..a.ndim()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    permuted(a, order)
}

/// Axes of size one removed: these, or all of them.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::squeeze(&Array::zeros((1, 3, 1)), ..).shape(), [3]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Shape`] if its size is not one.
#[track_caller]
pub fn squeeze(a: &Array, axes: impl Into<Axes>) -> Array {
    ok!(a);
    let axes = axes.into();
    let all = axes == Axes::All;
    let axes = ok!(axes.resolve("squeeze", a.ndim()));
    if let Some(&axis) = axes.iter().find(|&&axis| !all && a.shape()[axis] != 1) {
        let message = format!("axis {axis} of shape {} has size {}, not 1", a.shape_ref(), a.shape()[axis]);
        return fail(Error::shape("squeeze", message));
    }
    let kept: SmallVec<[usize; 4]> =
        (0..a.ndim()).filter(|axis| a.shape()[*axis] != 1 || !axes.contains(axis)).collect();
    let shape = kept.iter().map(|&axis| a.shape()[axis]).collect();
    shaped_by(a, shape, || kept.iter().map(|&axis| Dim::Of(axis)).collect())
}

/// New axes of size one, at these places of the result.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::expand_dims(&array![1, 2], 0).shape(), [1, 2]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if a place is outside the result, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn expand_dims(a: &Array, axes: impl Into<Axes>) -> Array {
    ok!(a);
    let axes = match axes.into() {
        Axes::All => return fail(Error::argument("expand_dims", "needs the places of the new axes")),
        list => list,
    };
    let Axes::List(list) = &axes else { return a.clone() };
    ok!(check_axis_count("expand_dims", a.ndim().saturating_add(list.len())));
    let places = ok!(axes.resolve("expand_dims", a.ndim() + list.len()));
    let mut shape = a.shape_ref().clone();
    let mut dims: SmallVec<[Dim; 4]> = (0..a.ndim()).map(Dim::Of).collect();
    for place in places {
        shape.insert(place, 1);
        dims.insert(place, Dim::Is(1));
    }
    shaped_by(a, shape, || dims)
}

/// The array repeated along new and size-one axes up to a shape, without copying.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::broadcast_to(&array![1, 2], (2, 2)).to_vec::<i32>().unwrap(), [1, 2, 1, 2]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if it does not broadcast to that shape.
#[track_caller]
pub fn broadcast_to(a: &Array, shape: impl Into<Sizes>) -> Array {
    ok!(a);
    let shape = ok!(shape.into().shape("broadcast_to"));
    if *a.shape_ref() == shape { a.clone() } else { apply(Op::Broadcast { shape }, a) }
}

/// The shape that all of these broadcast to.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(&*ops::broadcast_shapes(&[[2, 1], [1, 3]]).unwrap(), [2, 3]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if there are none, [`Error::Shape`] if two do not fit.
pub fn broadcast_shapes<S: AsRef<[usize]>>(shapes: &[S]) -> Result<Shape> {
    let Some((first, others)) = shapes.split_first() else {
        return Err(Error::argument("broadcast_shapes", "needs at least one shape"));
    };
    for shape in shapes {
        check_axis_count("broadcast_shapes", shape.as_ref().len())?;
    }
    others.iter().try_fold(Shape::from(first.as_ref()), |shape, other| {
        shape.broadcast_for("broadcast_shapes", &Shape::from(other.as_ref()))
    })
}

/// The arrays, all with the shape they broadcast to.
///
/// ```
/// use pellucid::prelude::*;
/// let both = ops::broadcast_arrays([&array![1, 2], &array![3]]);
/// assert_eq!(both[1].to_vec::<i32>().unwrap(), [3, 3]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if two do not fit.
#[track_caller]
pub fn broadcast_arrays(arrays: impl ArrayList) -> Vec<Array> {
    let arrays = &*arrays.arrays();
    ok!(arrays);
    let mut shape = Shape::default();
    for a in arrays {
        shape = ok!(shape.broadcast_for("broadcast_arrays", a.shape_ref()));
    }
    let mut results = Vec::with_capacity(arrays.len());
    for a in arrays {
        results.push(broadcast_to(a, &shape));
    }
    results
}

/// The array with one axis if it has none.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::atleast_1d(&Array::from(1)).shape(), [1]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn atleast_1d(a: &Array) -> Array {
    ok!(a);
    if a.ndim() == 0 { shaped(a, Shape::from(1)) } else { a.clone() }
}

/// The array with at least two axes; new ones come first.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::atleast_2d(&array![1, 2]).shape(), [1, 2]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn atleast_2d(a: &Array) -> Array {
    ok!(a);
    match *a.shape() {
        [] => shaped(a, Shape::from([1, 1])),
        [n] => shaped(a, Shape::from([1, n])),
        _ => a.clone(),
    }
}

/// The array with at least three axes; one axis becomes the middle one, two the first ones.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::atleast_3d(&array![1, 2]).shape(), [1, 2, 1]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn atleast_3d(a: &Array) -> Array {
    ok!(a);
    match *a.shape() {
        [] => shaped(a, Shape::from([1, 1, 1])),
        [n] => shaped(a, Shape::from([1, n, 1])),
        [n, m] => shaped(a, Shape::from([n, m, 1])),
        _ => a.clone(),
    }
}

/// The order of elements along axes reversed.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::flip(&array![1, 2, 3], 0).to_vec::<i32>().unwrap(), [3, 2, 1]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn flip(a: &Array, axes: impl Into<Axes>) -> Array {
    ok!(a);
    let mut spec = whole(a);
    for axis in ok!(axes.into().resolve("flip", a.ndim())) {
        if let Some(last) = a.shape()[axis].checked_sub(1) {
            spec.start[axis] = last;
            spec.step[axis] = -1;
        }
    }
    slice(a, spec)
}

/// The elements converted to another type, by value.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::astype(&array![1.7, -1.7], Dtype::Int32).to_vec::<i32>().unwrap(), [1, -1]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn astype(a: &Array, dtype: Dtype) -> Array {
    cast(a, dtype)
}

/// The same bytes read as another type. The last axis grows or shrinks with the sizes of the types.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::view(&array![1.0], Dtype::Uint32).to_vec::<u32>().unwrap(), [0x3f80_0000]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the last axis does not hold whole elements of the new type.
#[track_caller]
pub fn view(a: &Array, dtype: Dtype) -> Array {
    if a.dtype() == dtype { a.clone() } else { apply(Op::View { dtype }, a) }
}

/// The array row-major in memory; itself if it is already.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::contiguous(&array![[1, 2], [3, 4]].t()).to_vec::<i32>().unwrap(), [1, 3, 2, 4]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn contiguous(a: &Array) -> Array {
    apply(Op::Contiguous, a)
}

/// Any shape and strides over the row-major elements of the array, in elements. Without strides, row-major ones.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::as_strided(&array![1, 2, 3, 4], (2, 3), Some(&[1, 1]), 0).to_vec::<i32>().unwrap(), [1, 2, 3, 2, 3, 4]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if shape and strides differ in length, or an element outside the array would be read.
#[track_caller]
pub fn as_strided(a: &Array, shape: impl Into<Sizes>, strides: Option<&[isize]>, offset: usize) -> Array {
    let shape = ok!(shape.into().shape("as_strided"));
    let strides = strides.map_or_else(|| shape.row_major(), SmallVec::from_slice);
    apply(Op::AsStrided(Box::new(StridedSpec { shape, strides, offset })), a)
}
