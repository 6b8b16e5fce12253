//! Inverses and systems of linear equations.

use smallvec::smallvec;

use super::decompose::thin_svd;
use super::{Triangle, one};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::{LinalgOp, Op};
use crate::ops::elementwise::{divide, greater, multiply, where_};
use crate::ops::matmul::matmul;
use crate::ops::reduce::max;
use crate::ops::shape::{broadcast_to, expand_dims, swapaxes};
use crate::ops::{cast, shaped};

/// The inverse of square matrices.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert_eq!(linalg::inv(&a).to_vec::<f32>().unwrap(), [0.5, 0.0, 0.0, 0.25]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the matrices are not square, [`Error::Dtype`] if they are neither `float32` nor `float64`; when
/// it is computed [`Error::Argument`] if one is singular.
#[track_caller]
pub fn inv(a: &Array) -> Array {
    one(LinalgOp::Inverse, a)
}

/// The inverse of triangular matrices; the other triangle is not read.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [2.0, 4.0]];
/// assert!(ops::allclose(&linalg::tri_inv(&a, linalg::Triangle::Lower).matmul(&a), &Array::eye(2), 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`inv`].
#[track_caller]
pub fn tri_inv(a: &Array, triangle: Triangle) -> Array {
    one(LinalgOp::TriangularInverse { upper: triangle.is_upper() }, a)
}

/// The inverse of the matrix of which this is the Cholesky factor.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let factor = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::cholesky_inv(&factor, linalg::Triangle::Lower), &array![[0.25, 0.0], [0.0, 0.0625]], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`inv`].
#[track_caller]
pub fn cholesky_inv(a: &Array, triangle: Triangle) -> Array {
    let inverse = tri_inv(a, triangle);
    ok!(&inverse);
    let transposed = swapaxes(&inverse, -1, -2);
    match triangle {
        Triangle::Lower => matmul(&transposed, &inverse),
        Triangle::Upper => matmul(&inverse, &transposed),
    }
}

/// The Moore–Penrose inverse, for matrices of any shape. Singular values below ten times the rounding error of the
/// largest count as zero.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
/// assert!(ops::allclose(&linalg::pinv(&a).matmul(&a), &Array::eye(2), 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two axes, [`Error::Dtype`] if the type is neither `float32` nor `float64`;
/// when it is computed [`Error::Argument`] if a matrix is not finite.
#[track_caller]
pub fn pinv(a: &Array) -> Array {
    ok!(a);
    ok!(check("pinv", a));
    let (m, n) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    if a.size() == 0 {
        return crate::ops::zeros(swapped_shape(a), a.dtype());
    }
    let (u, s, v) = thin_svd(a);
    let epsilon = if a.dtype() == Dtype::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let least = multiply(&max(&s, -1, true), 10.0 * m.max(n) as f64 * epsilon);
    let counts = greater(&s, &least);
    let inverse = where_(&counts, divide(1.0, &where_(&counts, &s, 1.0)), 0.0);
    let scaled = multiply(&swapaxes(&v, -1, -2), &expand_dims(&inverse, -2));
    matmul(&scaled, &swapaxes(&u, -1, -2))
}

fn swapped_shape(a: &Array) -> Shape {
    let mut shape = a.shape_ref().clone();
    let n = shape.len();
    shape.as_mut_slice().swap(n - 1, n - 2);
    shape
}

/// That an array holds matrices of real numbers.
fn check(name: &'static str, a: &Array) -> Result<()> {
    if !matches!(a.dtype(), Dtype::Float32 | Dtype::Float64) {
        let message = format!("needs float32 or float64, not {}; convert with astype", a.dtype());
        return Err(Error::dtype(name, message));
    }
    if a.ndim() < 2 {
        let message = format!("needs two or more axes, but shape {} has {}", a.shape_ref(), a.ndim());
        return Err(Error::shape(name, message));
    }
    Ok(())
}

/// `x` with `a · x = b`. `b` is a vector if it has one axis, else columns; leading axes are broadcast.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::solve(&a, &array![2.0, 8.0]), &array![1.0, 2.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`] if the matrices are not square or `b` does not fit, [`Error::Dtype`] if the types do not meet in
/// `float32` or `float64`; when it is computed [`Error::Argument`] if a matrix is singular.
#[track_caller]
pub fn solve(a: &Array, b: &Array) -> Array {
    system(LinalgOp::Solve, a, b)
}

/// As [`solve`] for triangular matrices, of which the other triangle is not read.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [2.0, 4.0]];
/// assert!(ops::allclose(&linalg::solve_triangular(&a, &array![2.0, 10.0], linalg::Triangle::Lower), &array![1.0, 2.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`solve`].
#[track_caller]
pub fn solve_triangular(a: &Array, b: &Array, triangle: Triangle) -> Array {
    system(LinalgOp::TriangularSolve { upper: triangle.is_upper() }, a, b)
}

#[track_caller]
fn system(op: LinalgOp, a: &Array, b: &Array) -> Array {
    let name = op.name();
    ok!(a, b);
    let dtype = a.dtype().promote(b.dtype());
    let (a, b) = (cast(a, dtype), cast(b, dtype));
    ok!(check(name, &a));
    let n = a.shape()[a.ndim() - 1];
    let vector = b.ndim() == 1;
    let rows = if vector { b.shape().first() } else { b.shape().iter().rev().nth(1) };
    if rows != Some(&n) {
        let message = format!(
            "b needs as many rows as a has columns, which are {n} (shapes {} and {})",
            a.shape_ref(),
            b.shape_ref()
        );
        return fail(Error::shape(name, message));
    }
    let b = if vector { shaped(&b, Shape::from([n, 1])) } else { b };
    let lead = |x: &Array| Shape::from(&x.shape()[..x.ndim() - 2]);
    let batch = ok!(lead(&a).broadcast_for(name, &lead(&b)));
    let wide = |x: &Array| {
        let shape: Shape = batch.iter().chain(&x.shape()[x.ndim() - 2..]).copied().collect();
        if *x.shape_ref() == shape { x.clone() } else { broadcast_to(x, shape) }
    };
    let inputs: Inputs = smallvec![wide(&a), wide(&b)];
    let x = Array::from_op(Op::Linalg(op), inputs);
    ok!(&x);
    if vector { shaped(&x, x.shape()[..x.ndim() - 1].iter().copied().collect()) } else { x }
}
