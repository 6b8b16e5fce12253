//! The different elements of an array, and where values belong in a sorted one.

use std::sync::Arc;

use super::assemble::concatenate;
use super::elementwise::{less, minimum, not_equal, subtract, where_};
use super::index::{put_along_axis, take};
use super::operand::Operand;
use super::scan::cumsum;
use super::shape::broadcast_to;
use super::sort::argsort;
use super::{apply2, cast, constant, counting, flat, ones, shaped, slice_axis, zeros};
use crate::array::{Array, Dtype, Fails, Shape, fail, ok};
use crate::error::Error;
use crate::eval::Failure;
use crate::op::{Op, Scalar};

/// Whether equal elements count as before a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// They do not: the number of smaller elements.
    #[default]
    Left,
    /// They do: the number of smaller and equal elements.
    Right,
}

/// For each value the position at which a sorted sequence stays sorted when it is put there, as `uint32`. NaN belongs
/// behind all numbers.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let sorted = Array::from([1, 2, 2, 4]);
/// let values = Array::from([0, 2, 5]);
/// assert_eq!(ops::searchsorted(&sorted, &values, ops::Side::Left).to_vec::<u32>()?, [0, 1, 4]);
/// assert_eq!(ops::searchsorted(&sorted, &values, ops::Side::Right).to_vec::<u32>()?, [0, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the sequence does not have one axis.
#[track_caller]
pub fn searchsorted(sequence: &Array, values: &Array, side: Side) -> Array {
    ok!(sequence, values);
    let dtype = sequence.dtype().promote(values.dtype());
    apply2(Op::SearchSorted { right: side == Side::Right }, cast(sequence, dtype), cast(values, dtype))
}

/// What [`unique`] finds, for each of the different elements.
#[derive(Clone, Debug)]
pub struct Unique {
    /// The elements, ascending.
    pub values: Array,
    /// Where each stands first in the flat array, as `uint32`.
    pub index: Array,
    /// For each element of the array, which of the values it is, as `uint32`.
    pub inverse: Array,
    /// How often each occurs, as `int32`.
    pub counts: Array,
}

impl Fails for Unique {
    #[track_caller]
    fn carrying(failure: Arc<Failure>) -> Unique {
        let array: Array = Fails::carrying(failure);
        Unique { values: array.clone(), index: array.clone(), inverse: array.clone(), counts: array }
    }
}

/// The first `size` different elements of the flat array in ascending order. If there are fewer, the rest is
/// `fill_value` (or the smallest element), with a count of zero. A NaN equals no other one.
///
/// ```
/// use pellucid::prelude::*;
/// let found = ops::unique(&array![3, 1, 3], 2, None);
/// assert_eq!(found.values.to_vec::<i32>().unwrap(), [1, 3]);
/// assert_eq!(found.counts.to_vec::<i32>().unwrap(), [1, 2]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if the array has no elements, `size` is not zero and there is no fill value.
#[track_caller]
pub fn unique<'a>(a: &Array, size: usize, fill_value: impl Into<Option<Operand<'a>>>) -> Unique {
    ok!(a);
    let n = a.size();
    let fill = fill_value.into().map(|value| cast(&value.to_array("unique", value.dtype()), a.dtype()));
    if n == 0 && size != 0 && fill.is_none() {
        let message =
            format!("shape {} has no elements, but {size} are asked for; give a fill value", a.shape_ref());
        return fail(Error::argument("unique", message));
    }
    if n == 0 || size == 0 {
        return Unique {
            values: match &fill {
                Some(fill) => broadcast_to(fill, [size]),
                None => zeros([size], a.dtype()),
            },
            index: zeros([size], Dtype::Uint32),
            inverse: zeros(a.shape_ref().clone(), Dtype::Uint32),
            counts: zeros([size], Dtype::Int32),
        };
    }
    let x = flat(a);
    let order = argsort(&x, 0);
    let sorted = take(&x, &order, 0);
    // The number of the group that each sorted element belongs to.
    let (before, after) = (slice_axis(&sorted, 0, 0, n - 1, 1), slice_axis(&sorted, 0, 1, n - 1, 1));
    let begins = concatenate(&[&ones([1], Dtype::Bool), &not_equal(&before, &after)], 0);
    let group = subtract(&cumsum(&cast(&begins, Dtype::Int32), 0, false, true), 1);
    let wanted = counting(size);
    let start = searchsorted(&group, &wanted, Side::Left);
    let end = searchsorted(&group, &wanted, Side::Right);
    let counts = cast(&subtract(&cast(&end, Dtype::Int64), &cast(&start, Dtype::Int64)), Dtype::Int32);
    let exists = less(&start, n);
    let place = where_(&exists, &start, 0);
    let found = take(&sorted, &place, 0);
    let fill = fill.unwrap_or_else(|| shaped(&slice_axis(&sorted, 0, 0, 1, 1), Shape::default()));
    let last = constant("unique", Scalar::Int(size as i64 - 1), group.dtype());
    let clamped = cast(&minimum(&group, &last), Dtype::Uint32);
    let inverse = put_along_axis(&zeros([n], Dtype::Uint32), &order, &clamped, 0);
    Unique {
        values: where_(&exists, &found, &fill),
        index: take(&order, &place, 0),
        inverse: shaped(&inverse, a.shape_ref().clone()),
        counts,
    }
}
