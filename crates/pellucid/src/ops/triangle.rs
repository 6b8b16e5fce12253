//! Diagonals, triangles and grids.

use super::creation::{grid, zeros};
use super::elementwise::{greater_equal, where_};
use super::reduce::sum;
use super::shape::{broadcast_to, moveaxis};
use super::{apply2, cast, flat, shaped, slice_axis};
use crate::array::{Array, ArrayList, Dtype, Integer, Shape, check_axis_count, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::op::{Op, SliceSpec};

/// Ones on and below the diagonal `k`, zeros above; `n` rows and `m` columns (`n` if not given).
///
/// ```
/// use pellucid::{Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::tri(2, 3, 0, Dtype::Int32).to_vec::<i32>()?, [1, 0, 0, 1, 1, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn tri(n: usize, m: impl Into<Option<usize>>, k: i64, dtype: Dtype) -> Array {
    let (rows, columns) = grid("tri", n, m.into().unwrap_or(n), k);
    cast(&greater_equal(rows, columns), dtype)
}

/// The last two axes of a shape; an error if there are fewer.
fn matrix(function: &'static str, a: &Array) -> Result<[usize; 2]> {
    match a.shape() {
        [.., n, m] => Ok([*n, *m]),
        _ => Err(Error::shape(function, format!("needs two or more axes (shape {})", a.shape_ref()))),
    }
}

/// The elements on and below the diagonal `k` of the last two axes; zeros above.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::tril(&Array::ones((2, 2)), 0).to_vec::<f32>().unwrap(), [1.0, 0.0, 1.0, 1.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two axes.
#[track_caller]
pub fn tril(a: &Array, k: i64) -> Array {
    ok!(a);
    let [n, m] = ok!(matrix("tril", a));
    where_(&tri(n, m, k, Dtype::Bool), a, &zeros(Shape::default(), a.dtype()))
}

/// The elements on and above the diagonal `k` of the last two axes; zeros below.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::triu(&Array::ones((2, 2)), 0).to_vec::<f32>().unwrap(), [1.0, 1.0, 0.0, 1.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two axes.
#[track_caller]
pub fn triu(a: &Array, k: i64) -> Array {
    ok!(a);
    let [n, m] = ok!(matrix("triu", a));
    where_(&tri(n, m, k.saturating_sub(1), Dtype::Bool), &zeros(Shape::default(), a.dtype()), a)
}

/// Of one axis, the square array with the elements on the diagonal `k`; of two, the elements on that diagonal.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::diag(&array![1, 2], 0).to_vec::<i32>().unwrap(), [1, 0, 0, 2]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are more or fewer axes, or the result does not fit 64-bit addresses.
#[track_caller]
pub fn diag(a: &Array, k: i64) -> Array {
    ok!(a);
    match *a.shape() {
        [_, _] => diagonal(a, k, 0, 1),
        [len] => {
            let away = usize::try_from(k.unsigned_abs()).unwrap_or(usize::MAX);
            let n = len.saturating_add(away);
            let square = Shape::from([n, n]);
            ok!(square.check("diag", a.itemsize()));
            if len == 0 {
                return zeros(square, a.dtype());
            }
            let start = if k >= 0 { away } else { away * n };
            let spec = SliceSpec {
                start: smallvec::smallvec![start],
                size: smallvec::smallvec![len],
                step: smallvec::smallvec![n as isize + 1],
            };
            let target = zeros(n * n, a.dtype());
            shaped(&apply2(Op::SliceUpdate(Box::new(spec)), target, a.clone()), square)
        }
        _ => fail(Error::shape("diag", format!("needs one or two axes (shape {})", a.shape_ref()))),
    }
}

/// The elements whose positions along two axes differ by `offset`, along a new last axis.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::diagonal(&array![[1, 2], [3, 4]], 0, 0, 1).to_vec::<i32>().unwrap(), [1, 4]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if both are the same.
#[track_caller]
pub fn diagonal(a: &Array, offset: i64, axis1: impl Integer, axis2: impl Integer) -> Array {
    let (axis1, axis2) = (axis1.to_i64(), axis2.to_i64());
    ok!(a);
    let name = "diagonal";
    let (first, second) =
        (ok!(resolve_axis(name, axis1, a.ndim())), ok!(resolve_axis(name, axis2, a.ndim())));
    if first == second {
        return fail(Error::argument(name, format!("axes {axis1} and {axis2} are the same")));
    }
    let (n, m) = (a.shape()[first], a.shape()[second]);
    // `first` moves to the end, which shifts the axes behind it.
    let moved = moveaxis(a, first as i64, -1);
    let moved = moveaxis(&moved, (second - usize::from(second > first)) as i64, -1);
    ok!(&moved);
    let away = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let (start, len) = if offset >= 0 {
        (away, n.min(m.saturating_sub(away)))
    } else {
        (away.saturating_mul(m), n.saturating_sub(away).min(m))
    };
    let mut shape = Shape::from(&moved.shape()[..moved.ndim() - 2]);
    shape.push(n * m);
    let last = shape.len() - 1;
    let joined = shaped(&moved, shape);
    slice_axis(&joined, last, if len == 0 { 0 } else { start }, len, m as isize + 1)
}

/// The sum of a diagonal.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::trace(&array![[1, 2], [3, 4]], 0, 0, 1, None).item::<i32>().unwrap(), 5);
/// ```
///
/// # Errors
/// As for [`diagonal`].
#[track_caller]
pub fn trace(
    a: &Array,
    offset: i64,
    axis1: impl Integer,
    axis2: impl Integer,
    dtype: impl Into<Option<Dtype>>,
) -> Array {
    let total = sum(&diagonal(a, offset, axis1, axis2), -1, false);
    match dtype.into() {
        Some(dtype) => cast(&total, dtype),
        None => total,
    }
}

/// How [`meshgrid`] orders its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// As on a plot: the first input runs along the second axis.
    Xy,
    /// As in a matrix: each input runs along its own axis.
    Ij,
}

/// Coordinate arrays from one-dimensional ones. With `sparse`, axes along which nothing changes stay at size one.
///
/// ```
/// use pellucid::prelude::*;
/// let grids = ops::meshgrid([&array![1, 2], &array![3, 4, 5]], false, ops::Indexing::Xy);
/// assert_eq!(grids[0].shape(), [3, 2]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the result does not fit 64-bit addresses.
#[track_caller]
pub fn meshgrid(arrays: impl ArrayList, sparse: bool, indexing: Indexing) -> Vec<Array> {
    let arrays = &*arrays.arrays();
    ok!(arrays);
    ok!(check_axis_count("meshgrid", arrays.len()));
    let mut whole: Shape = arrays.iter().map(|a| a.size()).collect();
    let axis_of = |i: usize| match i {
        0 | 1 if indexing == Indexing::Xy && arrays.len() > 1 => 1 - i,
        i => i,
    };
    for (i, a) in arrays.iter().enumerate() {
        whole.as_mut_slice()[axis_of(i)] = a.size();
    }
    let mut results = Vec::with_capacity(arrays.len());
    for (i, a) in arrays.iter().enumerate() {
        let mut shape: Shape = std::iter::repeat_n(1, arrays.len()).collect();
        shape.as_mut_slice()[axis_of(i)] = a.size();
        let line = shaped(&flat(a), shape);
        results.push(if sparse { line } else { broadcast_to(&line, &whole) });
    }
    results
}
