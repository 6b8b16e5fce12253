//! Factorisations, inverses and solutions of one dense matrix.
//!
//! Results have LAPACK's conventions where there is a choice: singular values descend, eigenvalues of symmetric matrices
//! ascend, eigenvectors have length one. A NaN in a matrix that is only divided and multiplied comes out as NaN; where
//! it would keep an iteration from ending it is an error.

mod eigen;
mod factor;
mod solve;
mod svd;
#[cfg(test)]
mod tests;

use faer::traits::ComplexField;
use faer::traits::ext::ComplexFieldExt;
use faer::{Mat, MatRef};
use num_complex::Complex32;

/// Why a matrix has no such factorisation, inverse or solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The pivot of this row is zero.
    Singular(usize),
    /// The leading block up to and with this row is not positive definite.
    NotPositiveDefinite(usize),
    /// The iteration did not end.
    NoConvergence,
    /// There is a NaN or an infinity where a number is needed.
    NotFinite,
}

/// Which triangle of a matrix is read; the other one counts as zero, or as its mirror image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// Below and on the diagonal.
    Lower,
    /// Above and on the diagonal.
    Upper,
}

/// The size of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

impl Size {
    /// As many rows as columns.
    pub fn square(n: usize) -> Size {
        Size { rows: n, cols: n }
    }

    /// The smaller of both.
    pub fn least(self) -> usize {
        self.rows.min(self.cols)
    }
}

/// Where the results of a singular value decomposition go.
#[derive(Debug)]
pub struct SvdOut<'a, T: Field> {
    /// The singular values, descending.
    pub values: &'a mut [T::Real],
    /// Left vectors as columns, and right ones as conjugated rows; both thin or both full, by their lengths.
    pub vectors: Option<(&'a mut [T], &'a mut [T])>,
}

/// Where the results of an LU decomposition go.
#[derive(Debug)]
pub struct LuOut<'a, T> {
    /// The strict lower part of L and the upper part of U in one matrix.
    pub packed: &'a mut [T],
    /// The row that each row in turn was swapped with.
    pub pivots: &'a mut [u32],
    /// Where each row of the matrix is in the product of L and U.
    pub rows: &'a mut [u32],
}

/// What every element type has: decompositions that end in an iteration.
pub trait Field: Copy + 'static {
    /// The type of an absolute value.
    type Real: Copy + 'static;

    /// Singular values and, if wanted, vectors: `a = u · diag(values) · v`.
    ///
    /// # Errors
    /// [`Failure::NotFinite`], [`Failure::NoConvergence`].
    fn svd(a: &[Self], size: Size, out: SvdOut<Self>) -> Result<(), Failure>
    where
        Self: Sized;

    /// Eigenvalues, ascending, and if wanted vectors (as columns) of the symmetric or Hermitian matrix whose triangle
    /// is given.
    ///
    /// # Errors
    /// [`Failure::NoConvergence`].
    fn eigh(
        a: &[Self],
        n: usize,
        triangle: Triangle,
        values: &mut [Self::Real],
        vectors: Option<&mut [Self]>,
    ) -> Result<(), Failure>;

    /// Eigenvalues and if wanted vectors (as columns, of length one, their largest element real).
    ///
    /// # Errors
    /// [`Failure::NotFinite`], [`Failure::NoConvergence`].
    fn eig(
        a: &[Self],
        n: usize,
        values: &mut [Complex32],
        vectors: Option<&mut [Complex32]>,
    ) -> Result<(), Failure>;
}

/// What real element types have besides: decompositions in a fixed number of steps.
pub trait Real: Field<Real = Self> {
    /// The lower triangular `l` with `a = l · lᵀ`, from the lower triangle of `a`; zero above the diagonal.
    ///
    /// # Errors
    /// [`Failure::NotPositiveDefinite`].
    fn cholesky(a: &[Self], n: usize, l: &mut [Self]) -> Result<(), Failure>;

    /// Rows permuted, then a product of triangular matrices. A singular matrix has zeros on the diagonal of U.
    fn lu(a: &[Self], size: Size, out: LuOut<Self>);

    /// `a = q · r` with orthonormal columns in `q` (rows × least) and an upper triangular `r` (least × columns).
    fn qr(a: &[Self], size: Size, q: &mut [Self], r: &mut [Self]);

    /// The inverse of a square matrix.
    ///
    /// # Errors
    /// [`Failure::Singular`].
    fn inverse(a: &[Self], n: usize, out: &mut [Self]) -> Result<(), Failure>;

    /// The inverse of a triangular matrix; the other triangle is not read, and zero in the result.
    ///
    /// # Errors
    /// [`Failure::Singular`].
    fn triangular_inverse(a: &[Self], n: usize, triangle: Triangle, out: &mut [Self]) -> Result<(), Failure>;

    /// `x` with `a · x = b` for the `columns` columns of `b`.
    ///
    /// # Errors
    /// [`Failure::Singular`].
    fn solve(a: &[Self], n: usize, b: &[Self], columns: usize, x: &mut [Self]) -> Result<(), Failure>;

    /// As [`solve`](Real::solve) for a triangular matrix, of which the other triangle is not read.
    ///
    /// # Errors
    /// [`Failure::Singular`].
    fn triangular_solve(
        a: &[Self],
        n: usize,
        triangle: Triangle,
        b: &[Self],
        columns: usize,
        x: &mut [Self],
    ) -> Result<(), Failure>;
}

macro_rules! fields {
    ($($ty:ty, $real:ty, $eig:path;)*) => {
        $(impl Field for $ty {
            type Real = $real;

            fn svd(a: &[$ty], size: Size, out: SvdOut<$ty>) -> Result<(), Failure> {
                svd::svd(a, size, out)
            }

            fn eigh(
                a: &[$ty],
                n: usize,
                triangle: Triangle,
                values: &mut [$real],
                vectors: Option<&mut [$ty]>,
            ) -> Result<(), Failure> {
                eigen::symmetric(a, n, triangle, values, vectors)
            }

            fn eig(
                a: &[$ty],
                n: usize,
                values: &mut [Complex32],
                vectors: Option<&mut [Complex32]>,
            ) -> Result<(), Failure> {
                $eig(a, n, values, vectors)
            }
        })*
    };
}
fields! {
    f32, f32, eigen::real;
    f64, f64, eigen::real;
    Complex32, f32, eigen::complex;
}

macro_rules! reals {
    ($($ty:ty),*) => {
        $(impl Real for $ty {
            fn cholesky(a: &[$ty], n: usize, l: &mut [$ty]) -> Result<(), Failure> {
                factor::cholesky(a, n, l)
            }

            fn lu(a: &[$ty], size: Size, out: LuOut<$ty>) {
                factor::lu(a, size, out);
            }

            fn qr(a: &[$ty], size: Size, q: &mut [$ty], r: &mut [$ty]) {
                factor::qr(a, size, q, r);
            }

            fn inverse(a: &[$ty], n: usize, out: &mut [$ty]) -> Result<(), Failure> {
                solve::inverse(a, n, out)
            }

            fn triangular_inverse(
                a: &[$ty],
                n: usize,
                triangle: Triangle,
                out: &mut [$ty],
            ) -> Result<(), Failure> {
                solve::triangular_inverse(a, n, triangle, out)
            }

            fn solve(a: &[$ty], n: usize, b: &[$ty], columns: usize, x: &mut [$ty]) -> Result<(), Failure> {
                solve::general(a, n, b, columns, x)
            }

            fn triangular_solve(
                a: &[$ty],
                n: usize,
                triangle: Triangle,
                b: &[$ty],
                columns: usize,
                x: &mut [$ty],
            ) -> Result<(), Failure> {
                solve::triangular(a, n, triangle, b, columns, x)
            }
        })*
    };
}
reals!(f32, f64);

/// A column-major copy, which is what `faer` is fast with.
fn columns<T: ComplexField>(a: &[T], size: Size) -> Mat<T> {
    MatRef::from_row_major_slice(a, size.rows, size.cols).to_owned()
}

/// Writes a matrix row by row.
fn write<T: ComplexField + Copy>(from: MatRef<T>, to: &mut [T]) {
    let (rows, cols) = from.shape();
    faer::MatMut::from_row_major_slice_mut(to, rows, cols).copy_from(from);
}

/// True if no element is NaN or infinite.
fn finite<'a, T: ComplexField + 'a>(values: impl IntoIterator<Item = &'a T>) -> bool {
    values.into_iter().all(|v| v.is_finite())
}
