//! Order along an axis.

use super::{along, apply, slice_axis};
use crate::array::{Array, Axis, fail, ok};
use crate::error::{Error, Result};
use crate::op::Op;

/// Elements in ascending order along an axis (the flat array for `None`); NaN last.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([3, 1, 2]);
/// assert_eq!(ops::sort(&a, -1).to_vec::<i32>()?, [1, 2, 3]);
/// assert_eq!(ops::argsort(&a, -1).to_vec::<u32>()?, [1, 2, 0]);
/// assert_eq!(ops::topk(&a, 2, -1).to_vec::<i32>()?, [2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist.
#[track_caller]
pub fn sort(a: &Array, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(along("sort", a, axis.into().0));
    apply(Op::Sort { axis }, &a)
}

/// Positions that sort along an axis (the flat array for `None`), as `uint32`; equal elements keep their order.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::argsort(&array![3, 1, 2], 0).to_vec::<u32>().unwrap(), [1, 2, 0]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist.
#[track_caller]
pub fn argsort(a: &Array, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(along("argsort", a, axis.into().0));
    apply(Op::Argsort { axis }, &a)
}

/// The position a partition turns around must be inside the axis; negative ones count from the end.
fn check_kth(function: &'static str, a: &Array, axis: usize, kth: i64) -> Result<()> {
    let size = a.shape()[axis];
    let place = if kth < 0 { i128::from(kth) + size as i128 } else { i128::from(kth) };
    if (0..size as i128).contains(&place) {
        Ok(())
    } else {
        Err(Error::Index { function, index: kth, axis, size })
    }
}

/// Smaller elements before, larger ones behind the element that sorting puts at position `kth`. Both sides are in
/// ascending order here, which MLX leaves open.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::partition(&array![3, 1, 2], 1, 0).i(1).item::<i32>().unwrap(), 2);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Index`] if `kth` is outside it.
#[track_caller]
pub fn partition(a: &Array, kth: i64, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(along("partition", a, axis.into().0));
    ok!(check_kth("partition", &a, axis, kth));
    apply(Op::Sort { axis }, &a)
}

/// Positions that [`partition`] along an axis, as `uint32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::argpartition(&array![3, 1, 2], 1, 0).i(1).item::<u32>().unwrap(), 2);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Index`] if `kth` is outside it.
#[track_caller]
pub fn argpartition(a: &Array, kth: i64, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(along("argpartition", a, axis.into().0));
    ok!(check_kth("argpartition", &a, axis, kth));
    apply(Op::Argsort { axis }, &a)
}

/// The `k` largest elements along an axis (of the flat array for `None`), in ascending order.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::topk(&array![3, 1, 2], 2, 0).sort(0).to_vec::<i32>().unwrap(), [2, 3]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Argument`] if it has fewer than `k` elements.
#[track_caller]
pub fn topk(a: &Array, k: usize, axis: impl Into<Axis>) -> Array {
    ok!(a);
    let (a, axis) = ok!(along("topk", a, axis.into().0));
    let size = a.shape()[axis];
    if k > size {
        let message = format!("k is {k}, but axis {axis} of shape {} has {size} elements", a.shape_ref());
        return fail(Error::argument("topk", message));
    }
    let sorted = apply(Op::Sort { axis }, &a);
    slice_axis(&sorted, axis, if k == 0 { 0 } else { size - k }, k, 1)
}
