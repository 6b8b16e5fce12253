//! Determinants: by their formula up to three rows, by LU beyond.

use super::decompose::lu_factor;
use crate::array::{Array, Dtype, Shape, ok};
use crate::error::{Error, Result};
use crate::ops::elementwise::{abs, add, log, multiply, not_equal, remainder, sign, subtract};
use crate::ops::reduce::{prod, sum};
use crate::ops::triangle::diagonal;
use crate::ops::{cast, counting, ones, shaped, slice_axis, zeros};

fn check(name: &'static str, a: &Array) -> Result<usize> {
    if a.dtype().is_complex() {
        return Err(Error::dtype(name, format!("does not take {}", a.dtype())));
    }
    match a.shape() {
        [.., m, n] if m == n => Ok(*n),
        [.., m, n] => {
            let message =
                format!("needs square matrices, but those of shape {} are {m} by {n}", a.shape_ref());
            Err(Error::shape(name, message))
        }
        _ => {
            let message = format!("needs two or more axes, but shape {} has {}", a.shape_ref(), a.ndim());
            Err(Error::shape(name, message))
        }
    }
}

/// The element of every matrix in one place.
#[track_caller]
fn cell(a: &Array, row: usize, column: usize) -> Array {
    let n = a.ndim();
    let cell = slice_axis(&slice_axis(a, n - 2, row, 1, 1), n - 1, column, 1, 1);
    shaped(&cell, Shape::from(&a.shape()[..n - 2]))
}

/// The formula for up to three rows, which also holds, with its derivative, for singular matrices.
#[track_caller]
fn small(a: &Array, n: usize) -> Array {
    let at = |i: usize, j: usize| cell(a, i, j);
    let minor = |i: usize, j: usize, k: usize, l: usize| {
        subtract(&multiply(&at(i, j), &at(k, l)), &multiply(&at(i, l), &at(k, j)))
    };
    match n {
        0 => ones(Shape::from(&a.shape()[..a.ndim() - 2]), a.dtype()),
        1 => at(0, 0),
        2 => minor(0, 0, 1, 1),
        _ => {
            let first = multiply(&at(0, 0), &minor(1, 1, 2, 2));
            let second = multiply(&at(0, 1), &minor(1, 0, 2, 2));
            let third = multiply(&at(0, 2), &minor(1, 0, 2, 1));
            add(&subtract(&first, &second), &third)
        }
    }
}

/// The diagonal of U, and the sign of the permutation.
#[track_caller]
fn pivots(a: &Array, n: usize) -> (Array, Array) {
    let (packed, swaps) = lu_factor(a);
    let moved = cast(&not_equal(&cast(&swaps, Dtype::Int64), &counting(n)), Dtype::Int32);
    let odd = remainder(&sum(&moved, -1, false), 2);
    let parity = subtract(1, multiply(&odd, 2));
    (diagonal(&packed, 0, -2, -1), cast(&parity, a.dtype()))
}

/// The type in which the work is done; 16-bit types in `float32`.
fn compute(dtype: Dtype) -> Dtype {
    if dtype.size() == 2 { Dtype::Float32 } else { dtype }
}

/// The determinant of square matrices; integers give `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::det(&a), 8.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`] if the matrices are not square, [`Error::Dtype`] if they are complex.
#[track_caller]
pub fn det(a: &Array) -> Array {
    ok!(a);
    let n = ok!(check("det", a));
    let dtype = a.dtype().to_inexact();
    let a = cast(a, compute(dtype));
    let found = if n <= 3 {
        small(&a, n)
    } else {
        let (diagonal, parity) = pivots(&a, n);
        multiply(&prod(&diagonal, -1, false), &parity)
    };
    cast(&found, dtype)
}

/// The sign of the determinant, and the logarithm of its absolute value, which does not overflow; 0 and −∞ if it is
/// zero.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// let (sign, log) = linalg::slogdet(&a);
/// assert_eq!(sign.item::<f32>().unwrap(), 1.0);
/// assert!(ops::allclose(&log.exp(), 8.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`det`].
#[track_caller]
pub fn slogdet(a: &Array) -> (Array, Array) {
    ok!(a);
    let n = ok!(check("slogdet", a));
    let dtype = a.dtype().to_inexact();
    let a = cast(a, compute(dtype));
    let (sign, size) = if n == 0 {
        let shape = Shape::from(&a.shape()[..a.ndim() - 2]);
        (ones(shape.clone(), a.dtype()), zeros(shape, a.dtype()))
    } else if n <= 3 {
        let found = small(&a, n);
        (sign(&found), log(&abs(&found)))
    } else {
        let (diagonal, parity) = pivots(&a, n);
        (multiply(&prod(&sign(&diagonal), -1, false), &parity), sum(&log(&abs(&diagonal)), -1, false))
    };
    (cast(&sign, dtype), cast(&size, dtype))
}
