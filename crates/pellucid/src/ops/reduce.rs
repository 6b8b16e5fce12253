//! Reductions: one or more axes become a single element.

use smallvec::SmallVec;

use super::creation::full_like;
use super::elementwise::{
    abs, add, divide, exp, isnan, maximum, multiply, not_equal, sqrt, square, subtract, where_,
};
use super::shape::permuted;
use super::sort::sort;
use super::{apply, cast, flat, shaped, slice_axis};
use crate::array::{Array, Axes, Axis, Dtype, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::{ArgReduceOp, Op, ReduceOp};
use crate::transform::is_shapeless;

#[track_caller]
fn reduce(op: ReduceOp, a: &Array, axes: &Axes, keepdims: bool) -> Array {
    ok!(a);
    let op = |axes| Op::Reduce { op, axes, keepdims };
    let axes = ok!(axes.resolve(op(SmallVec::new()).name(), a.ndim()));
    if axes.is_empty() {
        // Nothing to combine; only the element type may change.
        let same = ok!(op(SmallVec::new()).infer_one(&[(a.shape_ref(), a.dtype())]));
        return cast(a, same.dtype);
    }
    apply(op(axes), a)
}

macro_rules! reductions {
    ($($name:ident $keeping:ident $op:ident $doc:literal $ty:ident $y:literal;)*) => {
        $(#[doc = $doc]
        ///
        /// ```
        /// use pellucid::prelude::*;
        /// let a = array![[1, 2], [3, 4]];
        #[doc = concat!("assert_eq!(ops::", stringify!($name), "(&a, 0, false).to_vec::<", stringify!($ty), ">().unwrap(), ", $y, ");")]
        /// ```
        ///
        /// The axes are an integer, several, or [`Axes::All`]; with `keepdims` they stay with size one.
        ///
        /// # Errors
        /// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice, [`Error::Shape`] if
        /// there is nothing to choose from.
        #[track_caller]
        pub fn $name(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> Array {
            reduce(ReduceOp::$op, a, &axes.into(), keepdims)
        })*

        impl Array {
            $(#[doc = $doc]
            ///
            #[doc = concat!("See [`ops::", stringify!($name), "`](crate::ops::", stringify!($name), ").")]
            #[track_caller]
            pub fn $name(&self, axes: impl Into<Axes>) -> Array {
                reduce(ReduceOp::$op, self, &axes.into(), false)
            }

            #[doc = concat!("As [`Array::", stringify!($name), "`]; the axes stay with size one.")]
            #[track_caller]
            pub fn $keeping(&self, axes: impl Into<Axes>) -> Array {
                reduce(ReduceOp::$op, self, &axes.into(), true)
            })*
        }
    };
}

reductions! {
    sum sum_keepdims Sum "Sum; bool and small integers are summed as 32-bit integers." i32 "[4, 6]";
    prod prod_keepdims Prod "Product; bool and small integers are multiplied as 32-bit integers." i32 "[3, 8]";
    max max_keepdims Max "Largest element; NaN wins." i32 "[3, 4]";
    min min_keepdims Min "Smallest element; NaN wins." i32 "[1, 2]";
    all all_keepdims All "True if no element is zero." bool "[true, true]";
    any any_keepdims Any "True if one element is not zero." bool "[true, true]";
}

/// Smallest and largest element; NaN wins.
///
/// ```
/// use pellucid::prelude::*;
/// let (low, high) = ops::minmax(&array![3, 1, 2], .., false);
/// assert_eq!((low.item::<i32>().unwrap(), high.item::<i32>().unwrap()), (1, 3));
/// ```
///
/// # Errors
/// As for [`min`] and [`max`].
#[track_caller]
pub fn minmax(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> (Array, Array) {
    let axes = axes.into();
    (reduce(ReduceOp::Min, a, &axes, keepdims), reduce(ReduceOp::Max, a, &axes, keepdims))
}

/// The number of elements that are not zero, as `int32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::count_nonzero(&array![0, 5, 6], .., false).item::<i32>().unwrap(), 2);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn count_nonzero(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> Array {
    sum(&not_equal(a, false), axes, keepdims)
}

/// How many elements are combined into one.
fn count(function: &'static str, a: &Array, axes: &Axes) -> Result<usize> {
    Ok(axes.resolve(function, a.ndim())?.iter().map(|&axis| a.shape()[axis]).product())
}

/// Mean; integers give `float32`, and no elements NaN.
///
/// ```
/// use pellucid::{Array, Axes, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1, 2], [3, 6]]);
/// assert_eq!(ops::mean(&a, Axes::All, false).item::<f32>()?, 3.0);
/// assert_eq!(ops::mean(&a, 0, true).shape(), &[1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn mean(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> Array {
    ok!(a);
    let axes = axes.into();
    let n = ok!(count("mean", a, &axes));
    // 32-bit sums of 32-bit integers would overflow soon, those of 64-bit ones could.
    let wide = match a.dtype() {
        Dtype::Int32 | Dtype::Uint32 => cast(a, Dtype::Int64),
        Dtype::Int64 | Dtype::Uint64 => cast(a, Dtype::Float32),
        _ => a.clone(),
    };
    let total = cast(&reduce(ReduceOp::Sum, &wide, &axes, keepdims), a.dtype().to_inexact());
    if is_shapeless() {
        return divide(&total, counted(a, &axes, keepdims, 0, total.dtype()));
    }
    multiply(&total, 1.0 / n as f64)
}

/// How many elements are combined into one, less some: counted when it runs, for functions that are recorded for arrays
/// of any size.
#[track_caller]
fn counted(a: &Array, axes: &Axes, keepdims: bool, less: usize, dtype: Dtype) -> Array {
    let ones = full_like(a, 1, Dtype::Float32);
    let count = subtract(reduce(ReduceOp::Sum, &ones, axes, keepdims), less as f64);
    cast(&maximum(&count, 0), dtype)
}

/// Variance: the mean of squared distances from the mean, divided by `n − ddof` instead of `n`. Integers and complex
/// numbers give `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::var(&array![1.0, 3.0], 0, true, 0).to_vec::<f32>().unwrap(), [1.0]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn var(a: &Array, axes: impl Into<Axes>, keepdims: bool, ddof: usize) -> Array {
    ok!(a);
    let axes = axes.into();
    let n = ok!(count("var", a, &axes));
    let distance = subtract(a, mean(a, axes.clone(), true));
    let squares = square(&if distance.dtype().is_complex() { abs(&distance) } else { distance });
    if ddof == 0 {
        return mean(&squares, axes, keepdims);
    }
    let total = reduce(ReduceOp::Sum, &squares, &axes, keepdims);
    if is_shapeless() {
        let count = counted(a, &axes, keepdims, ddof, total.dtype());
        return divide(total, count);
    }
    divide(total, n.saturating_sub(ddof) as f64)
}

/// Standard deviation: the square root of [`var`].
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::std(&array![1.0, 3.0], 0, true, 0).to_vec::<f32>().unwrap(), [1.0]);
/// ```
///
/// # Errors
/// As for [`var`].
#[track_caller]
pub fn std(a: &Array, axes: impl Into<Axes>, keepdims: bool, ddof: usize) -> Array {
    sqrt(&var(a, axes, keepdims, ddof))
}

/// The middle element in order, or the mean of the two middle ones; NaN wins, and integers give `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::median(&array![3.0, 1.0, 2.0], 0, true).to_vec::<f32>().unwrap(), [2.0]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice, [`Error::Shape`] if there are
/// no elements to choose from.
#[track_caller]
pub fn median(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> Array {
    ok!(a);
    let axes = ok!(axes.into().resolve("median", a.ndim()));
    let n: usize = axes.iter().map(|&axis| a.shape()[axis]).product();
    if n == 0 {
        let message = format!("shape {} has no elements along axes {axes:?}", a.shape_ref());
        return fail(Error::shape("median", message));
    }
    let kept: SmallVec<[usize; 4]> = (0..a.ndim()).filter(|axis| !axes.contains(axis)).collect();
    let order = kept.iter().chain(&axes).copied().collect();
    let mut joined: Shape = kept.iter().map(|&axis| a.shape()[axis]).collect();
    let result: Shape = match keepdims {
        true => (0..a.ndim()).map(|axis| if axes.contains(&axis) { 1 } else { a.shape()[axis] }).collect(),
        false => joined.clone(),
    };
    joined.push(n);
    let last = joined.len() - 1;
    let lines = shaped(&permuted(a, order), joined);
    let sorted = sort(&cast(&lines, a.dtype().to_inexact()), -1);
    let upper = slice_axis(&sorted, last, n / 2, 1, 1);
    let middle = if n % 2 == 1 {
        upper
    } else {
        multiply(add(slice_axis(&sorted, last, n / 2 - 1, 1, 1), upper), 0.5)
    };
    // NaN is sorted to the end.
    let worst = slice_axis(&sorted, last, n - 1, 1, 1);
    shaped(&where_(&isnan(&worst), &worst, &middle), result)
}

#[track_caller]
fn arg_reduce(op: ArgReduceOp, a: &Array, axis: Option<i64>, keepdims: bool) -> Array {
    ok!(a);
    let name = Op::ArgReduce { op, axis: 0, keepdims }.name();
    if let Some(axis) = axis {
        let axis = ok!(crate::array::resolve_axis(name, axis, a.ndim()));
        return apply(Op::ArgReduce { op, axis, keepdims }, a);
    }
    if a.size() == 0 {
        return fail(Error::shape(name, format!("shape {} has no elements", a.shape_ref())));
    }
    let found = apply(Op::ArgReduce { op, axis: 0, keepdims: false }, &flat(a));
    let shape = if keepdims { a.shape().iter().map(|_| 1).collect() } else { Shape::default() };
    shaped(&found, shape)
}

/// Position of the first largest element along an axis, or in the flat array, as `uint32`.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1, 5], [7, 2]]);
/// assert_eq!(ops::argmax(&a, None, false).item::<u32>()?, 2);
/// assert_eq!(ops::argmax(&a, 1, false).to_vec::<u32>()?, [1, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if it has no elements.
#[track_caller]
pub fn argmax(a: &Array, axis: impl Into<Axis>, keepdims: bool) -> Array {
    arg_reduce(ArgReduceOp::Argmax, a, axis.into().0, keepdims)
}

/// Position of the first smallest element along an axis, or in the flat array, as `uint32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::argmin(&array![3, 1, 2], 0, false).item::<u32>().unwrap(), 1);
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if it has no elements.
#[track_caller]
pub fn argmin(a: &Array, axis: impl Into<Axis>, keepdims: bool) -> Array {
    arg_reduce(ArgReduceOp::Argmin, a, axis.into().0, keepdims)
}

/// Logarithm of the sum of exponentials, without overflow; integers give `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(ops::allclose(&ops::logsumexp(&array![0.0, 0.0], .., false), 2f32.ln(), 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice, [`Error::Shape`] if the array
/// is empty.
#[track_caller]
pub fn logsumexp(a: &Array, axes: impl Into<Axes>, keepdims: bool) -> Array {
    ok!(a);
    if a.size() == 0 {
        return fail(Error::shape("logsumexp", format!("shape {} has no elements", a.shape_ref())));
    }
    reduce(ReduceOp::Logsumexp, &cast(a, a.dtype().to_inexact()), &axes.into(), keepdims)
}

/// Exponentials divided by their sum, without overflow; integers give `float32`. With `precise`, 16-bit types are
/// accumulated in `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::softmax(&array![[5.0, 5.0]], -1, false).to_vec::<f32>().unwrap(), [0.5, 0.5]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice.
#[track_caller]
pub fn softmax(a: &Array, axes: impl Into<Axes>, precise: bool) -> Array {
    ok!(a);
    let axes = axes.into();
    let resolved = ok!(axes.resolve("softmax", a.ndim()));
    let a = cast(a, a.dtype().to_inexact());
    if resolved.is_empty() {
        return exp(&subtract(&a, &a));
    }
    if a.dtype().is_complex() && a.size() != 0 {
        let powers = exp(&subtract(&a, max(&a, axes.clone(), true)));
        return divide(&powers, sum(&powers, axes, true));
    }
    if a.size() == 0 {
        return a;
    }
    apply(Op::Softmax { axes: resolved, precise }, &a)
}
