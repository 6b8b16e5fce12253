//! Positions given as arrays, along one axis.

use smallvec::smallvec;

use super::value;
use crate::array::{Array, Axis, Dtype, Inputs, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::ops::operand::Operand;
use crate::ops::shape::broadcast_to;
use crate::ops::{along, apply2, astype, flat, shaped};

/// Elements at positions along an axis, or of the flat array; the axis is replaced by those of `indices`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::take(&array![5, 6, 7], &array![2, 0], 0).to_vec::<i32>().unwrap(), [7, 5]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Dtype`] if the indices are not integers; [`Error::Index`] if
/// one is out of range, when the result is computed.
#[track_caller]
pub fn take(a: &Array, indices: &Array, axis: impl Into<Axis>) -> Array {
    ok!(a, indices);
    let (a, axis) = ok!(along("take", a, axis.into().0));
    apply2(Op::Take { axis }, a, indices.clone())
}

/// For each position of `indices`, the element of `a` there, with the position along the axis replaced. Other axes are
/// broadcast. Without an axis, both are flat.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::take_along_axis(&array![[5, 6], [7, 8]], &array![[1], [0]], 1).to_vec::<i32>().unwrap(), [6, 7]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if the
/// indices are not integers; [`Error::Index`] if one is out of range, when the result is computed.
#[track_caller]
pub fn take_along_axis(a: &Array, indices: &Array, axis: impl Into<Axis>) -> Array {
    ok!(a, indices);
    let (a, indices, axis) = ok!(aligned("take_along_axis", a, indices, axis.into().0));
    apply2(Op::TakeAlongAxis { axis }, a, indices)
}

/// A copy of `a` with the elements that [`take_along_axis`] would give replaced by `values`, which are broadcast to the
/// indices and converted to the type of `a`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::put_along_axis(&array![[5, 6], [7, 8]], &array![[1], [0]], 0, 1).to_vec::<i32>().unwrap(), [5, 0, 0, 8]);
/// ```
///
/// # Errors
/// As for [`take_along_axis`], and [`Error::Shape`] if the values do not broadcast to the indices.
#[track_caller]
pub fn put_along_axis<'v>(
    a: &Array,
    indices: &Array,
    values: impl Into<Operand<'v>>,
    axis: impl Into<Axis>,
) -> Array {
    let values = values.into();
    ok!(a, indices, &values);
    let shape = a.shape_ref().clone();
    let axis = axis.into().0;
    let given = indices.shape_ref().clone();
    let values = value(values, a.dtype());
    let (a, indices, at) = ok!(aligned("put_along_axis", a, indices, axis));
    if a.size() != shape.elements() {
        let message = format!("indices of shape {given} do not fit into shape {shape}");
        return fail(Error::shape("put_along_axis", message));
    }
    let values = match axis {
        Some(_) => broadcast_to(&values, indices.shape_ref()),
        None => flat(&broadcast_to(&values, given)),
    };
    let inputs: Inputs = smallvec![a, indices, values];
    shaped(&Array::from_op(Op::PutAlongAxis { axis: at }, inputs), shape)
}

/// Array and indices with the same sizes outside the axis; both flat without one.
#[track_caller]
fn aligned(
    function: &'static str,
    a: &Array,
    indices: &Array,
    axis: Option<i64>,
) -> Result<(Array, Array, usize)> {
    // A list without numbers has the type of real ones.
    let none = indices.size() == 0 && !indices.dtype().is_integer();
    let indices = &if none { astype(indices, Dtype::Int32) } else { indices.clone() };
    let Some(axis) = axis else { return Ok((flat(a), flat(indices), 0)) };
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
    Ok((broadcast_to(a, here), broadcast_to(indices, there), axis))
}
