//! Running reductions along an axis.

use super::elementwise::{not_equal, subtract};
use super::{along, apply, cast, slice_axis};
use crate::array::{Array, Axis, Dtype, Integer, fail, ok, resolve_axis};
use crate::error::Error;
use crate::op::{Op, ScanOp};

#[track_caller]
fn scan(op: ScanOp, a: &Array, axis: Option<i64>, reverse: bool, inclusive: bool) -> Array {
    ok!(a);
    let op = |axis| Op::Scan { op, axis, reverse, inclusive };
    let (a, axis) = ok!(along(op(0).name(), a, axis));
    apply(op(axis), &a)
}

macro_rules! scans {
    ($($name:ident $op:ident $prepare:ident $doc:literal $ty:ident $x:literal $y:literal;)*) => {
        $(#[doc = $doc]
        ///
        /// ```
        /// use pellucid::prelude::*;
        #[doc = concat!("let sums = ops::", stringify!($name), "(&array!", $x, ", 0, false, true);")]
        #[doc = concat!("assert_eq!(sums.to_vec::<", stringify!($ty), ">().unwrap(), ", $y, ");")]
        /// ```
        ///
        /// Along an axis, or through the flat array for `None`; from the end with `reverse`; without the element at
        /// its own position unless `inclusive`.
        ///
        /// # Errors
        /// [`Error::Axis`] if the axis does not exist.
        #[track_caller]
        pub fn $name(a: &Array, axis: impl Into<Axis>, reverse: bool, inclusive: bool) -> Array {
            scan(ScanOp::$op, &$prepare(a), axis.into().0, reverse, inclusive)
        })*

        impl Array {
            $(#[doc = $doc]
            ///
            #[doc = concat!("From the front, with each element. See [`ops::", stringify!($name), "`](crate::ops::", stringify!($name), ").")]
            #[track_caller]
            pub fn $name(&self, axis: impl Into<Axis>) -> Array {
                scan(ScanOp::$op, &$prepare(self), axis.into().0, false, true)
            })*
        }
    };
}

scans! {
    cumsum Cumsum countable "Running sum; bool is counted as `int32`." i32 "[2, 3, 1]" "[2, 5, 6]";
    cumprod Cumprod unchanged "Running product." i32 "[2, 3, 1]" "[2, 6, 6]";
    cummax Cummax unchanged "Running maximum; NaN wins." i32 "[2, 3, 1]" "[2, 3, 3]";
    cummin Cummin unchanged "Running minimum; NaN wins." i32 "[2, 3, 1]" "[2, 2, 1]";
    logcumsumexp Logcumsumexp inexact "Running logarithm of the sum of exponentials; integers give `float32`." f32 "[1.0]" "[1.0]";
    cumulative_sum Cumsum countable "Running sum; the same as [`cumsum`]." i32 "[2, 3, 1]" "[2, 5, 6]";
    cumulative_prod Cumprod unchanged "Running product; the same as [`cumprod`]." i32 "[2, 3, 1]" "[2, 6, 6]";
}

#[track_caller]
fn countable(a: &Array) -> Array {
    ok!(a);
    if a.dtype() == Dtype::Bool { cast(a, Dtype::Int32) } else { a.clone() }
}

fn unchanged(a: &Array) -> Array {
    a.clone()
}

#[track_caller]
fn inexact(a: &Array) -> Array {
    ok!(a);
    cast(a, a.dtype().to_inexact())
}

/// Each time is an operation of its own; more than this is a mistake.
const MOST_DIFFERENCES: usize = 1 << 20;

/// Differences between neighbours along an axis, taken `n` times. For bool, whether they differ.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::diff(&Array::from([1, 4, 9]), 1, -1).to_vec::<i32>()?, [3, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Argument`] if `n` is more than a million.
#[track_caller]
pub fn diff(a: &Array, n: usize, axis: impl Integer) -> Array {
    ok!(a);
    let axis = ok!(resolve_axis("diff", axis.to_i64(), a.ndim()));
    let n = n.min(a.shape()[axis]);
    if n > MOST_DIFFERENCES {
        let message = format!("n is {n}; differences can be taken {MOST_DIFFERENCES} times at most");
        return fail(Error::argument("diff", message));
    }
    let mut result = a.clone();
    for _ in 0..n {
        let len = ok!(&result).shape()[axis];
        let later = slice_axis(&result, axis, usize::from(len > 1), len - 1, 1);
        let earlier = slice_axis(&result, axis, 0, len - 1, 1);
        let bool = result.dtype() == Dtype::Bool;
        result = if bool { not_equal(later, earlier) } else { subtract(later, earlier) };
    }
    result
}
