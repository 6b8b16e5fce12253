//! Matrices as products of simpler ones.

use super::{Triangle, many, one};
use crate::array::{Array, ok};
use crate::op::{LinalgOp, SvdVectors};
use crate::ops::elementwise::add;
use crate::ops::shape::swapaxes;
use crate::ops::slice_axis;
use crate::ops::triangle::{tril, triu};

/// The lower triangular `l` with `a = l · lᵀ`, or the upper triangular `u` with `a = uᵀ · u`, of a positive definite
/// matrix. Only one triangle of `a` is read.
///
/// ```
/// use pellucid::linalg::{self, Triangle};
/// use pellucid::Array;
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[4.0f32, 2.0], [2.0, 5.0]]);
/// assert_eq!(linalg::cholesky(&a, Triangle::Lower).to_vec::<f32>()?, [2.0, 0.0, 1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the matrices are not square, [`Error::Dtype`](crate::Error::Dtype) if they
/// are neither `float32` nor `float64`; when it is computed [`Error::Argument`](crate::Error::Argument) if one is not
/// positive definite.
#[track_caller]
pub fn cholesky(a: &Array, triangle: Triangle) -> Array {
    match triangle {
        Triangle::Lower => one(LinalgOp::Cholesky, a),
        Triangle::Upper => swapaxes(&one(LinalgOp::Cholesky, &swapped(a)), -1, -2),
    }
}

/// The transposed matrices; what has no two axes is left for the operation to refuse.
#[track_caller]
fn swapped(a: &Array) -> Array {
    ok!(a);
    if a.ndim() < 2 { a.clone() } else { swapaxes(a, -1, -2) }
}

/// Orthonormal columns `q` and an upper triangular `r` with `a = q · r`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[3.0, 1.0], [4.0, 2.0]];
/// let (q, r) = linalg::qr(&a);
/// assert!(ops::allclose(&q.matmul(&r), &a, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if there are fewer than two axes, [`Error::Dtype`](crate::Error::Dtype) if the
/// type is neither `float32` nor `float64`.
#[track_caller]
pub fn qr(a: &Array) -> (Array, Array) {
    pair(many(LinalgOp::Qr, a))
}

/// `u`, the singular values `s` in descending order, and `vt` with `a = u[…, :k] · diag(s) · vt[…, :k, :]`. Both sides
/// are whole bases.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[3.0, 1.0], [4.0, 2.0]];
/// let (u, s, vt) = linalg::svd(&a);
/// assert!(ops::allclose(&u.mul(&s).matmul(&vt), &a, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`qr`], which also takes `complex64` here; when it is computed
/// [`Error::Argument`](crate::Error::Argument) if a matrix is not finite.
#[track_caller]
pub fn svd(a: &Array) -> (Array, Array, Array) {
    triple(many(LinalgOp::Svd { vectors: SvdVectors::Full }, a))
}

/// [`svd`] with as many vectors as there are values.
#[track_caller]
pub(super) fn thin_svd(a: &Array) -> (Array, Array, Array) {
    triple(many(LinalgOp::Svd { vectors: SvdVectors::Thin }, a))
}

/// The singular values in descending order.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::singular_values(&a), &array![4.0, 2.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`svd`].
#[track_caller]
pub fn singular_values(a: &Array) -> Array {
    one(LinalgOp::Svd { vectors: SvdVectors::None }, a)
}

/// Eigenvalues, ascending, and eigenvectors, as columns, of symmetric or Hermitian matrices, of which one triangle is
/// read.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// let (values, vectors) = linalg::eigh(&a, linalg::Triangle::Lower);
/// assert!(ops::allclose(&a.matmul(&vectors), &(&vectors * &values), 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the matrices are not square, [`Error::Dtype`](crate::Error::Dtype) if they
/// are not `float32`, `float64` or `complex64`.
#[track_caller]
pub fn eigh(a: &Array, triangle: Triangle) -> (Array, Array) {
    pair(many(LinalgOp::Eigh { upper: triangle.is_upper(), vectors: true }, a))
}

/// The eigenvalues of [`eigh`] alone.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::eigvalsh(&a, linalg::Triangle::Lower), &array![2.0, 4.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`eigh`].
#[track_caller]
pub fn eigvalsh(a: &Array, triangle: Triangle) -> Array {
    one(LinalgOp::Eigh { upper: triangle.is_upper(), vectors: false }, a)
}

/// Eigenvalues and eigenvectors, as columns of length one, of square matrices, as `complex64`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// let (values, vectors) = linalg::eig(&a);
/// assert_eq!((values.shape(), vectors.shape()), (&[2][..], &[2, 2][..]));
/// ```
///
/// # Errors
/// As for [`eigh`]; when it is computed [`Error::Argument`](crate::Error::Argument) if a matrix is not finite.
#[track_caller]
pub fn eig(a: &Array) -> (Array, Array) {
    pair(many(LinalgOp::Eig { vectors: true }, a))
}

/// The eigenvalues of [`eig`] alone.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// assert!(ops::allclose(&linalg::eigvals(&a).abs().sum(..), 6.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`eig`].
#[track_caller]
pub fn eigvals(a: &Array) -> Array {
    one(LinalgOp::Eig { vectors: false }, a)
}

/// Rows `p` (`uint32`), a lower triangular `l` with ones on the diagonal and an upper triangular `u`, so that `a` is the
/// rows `p` of `l`, times `u`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let (rows, l, u) = linalg::lu(&a);
/// assert!(ops::allclose(&l.i((&rows, ..)).matmul(&u), &a, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// As for [`qr`].
#[track_caller]
pub fn lu(a: &Array) -> (Array, Array, Array) {
    let (packed, _, rows) = triple(many(LinalgOp::Lu, a));
    ok!(&packed);
    let (m, n) = (packed.shape()[packed.ndim() - 2], packed.shape()[packed.ndim() - 1]);
    let k = m.min(n);
    let left = slice_axis(&packed, packed.ndim() - 1, 0, k, 1);
    let ones = crate::ops::eye(m, k, 0, packed.dtype());
    let right = slice_axis(&packed, packed.ndim() - 2, 0, k, 1);
    (rows, add(&tril(&left, -1), &ones), triu(&right, 0))
}

/// L and U of [`lu`] in one matrix, and the row that each row in turn was swapped with (`uint32`).
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::linalg;
/// let a = array![[2.0, 0.0], [0.0, 4.0]];
/// let (factors, pivots) = linalg::lu_factor(&a);
/// assert_eq!((factors.shape(), pivots.shape()), (&[2, 2][..], &[2][..]));
/// ```
///
/// # Errors
/// As for [`qr`].
#[track_caller]
pub fn lu_factor(a: &Array) -> (Array, Array) {
    let (packed, pivots, _) = triple(many(LinalgOp::Lu, a));
    (packed, pivots)
}

/// Two results; if there are fewer, all are the failed one.
fn pair(results: impl IntoIterator<Item = Array> + Clone) -> (Array, Array) {
    let (first, second, _) = triple(results);
    (first, second)
}

fn triple(results: impl IntoIterator<Item = Array>) -> (Array, Array, Array) {
    let mut results = results.into_iter();
    let mut next = || results.next();
    let first = next().unwrap_or_else(|| crate::array::fail(missing()));
    let second = next().unwrap_or_else(|| first.clone());
    let third = next().unwrap_or_else(|| first.clone());
    (first, second, third)
}

fn missing() -> crate::Error {
    crate::Error::internal("linalg", "an operation without results")
}
