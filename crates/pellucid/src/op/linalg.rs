//! Decompositions, inverses and solutions of matrices as data. All work on the last two axes; leading axes are a batch.

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use super::infer::{Input, Spec, Specs, same_dtype};
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// Which singular vectors are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SvdVectors {
    /// None: the values alone.
    None,
    /// As many as there are values.
    Thin,
    /// A whole orthonormal basis on either side.
    Full,
}

/// What is computed of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinalgOp {
    /// The lower triangular factor of a positive definite matrix, from its lower triangle. Inputs: a. Results: l.
    Cholesky,
    /// The inverse. Inputs: a. Results: a⁻¹.
    Inverse,
    /// The inverse of a triangular matrix. Inputs: a. Results: a⁻¹.
    TriangularInverse {
        /// Which triangle is read.
        upper: bool,
    },
    /// x with a · x = b. Inputs: a, b (`[…, n, columns]`, the same leading axes). Results: x.
    Solve,
    /// As `Solve` for a triangular matrix. Inputs: a, b. Results: x.
    TriangularSolve {
        /// Which triangle is read.
        upper: bool,
    },
    /// L and U with permuted rows. Inputs: a. Results: L and U in one matrix, the row each row was swapped with
    /// (`uint32`), where each row of `a` is in L · U (`uint32`).
    Lu,
    /// Orthonormal columns times an upper triangular matrix. Inputs: a. Results: q, r.
    Qr,
    /// Singular values. Inputs: a. Results: the values; or u, the values, vᴴ.
    Svd {
        /// Which vectors are computed besides.
        vectors: SvdVectors,
    },
    /// Eigenvalues of a symmetric or Hermitian matrix, ascending. Inputs: a. Results: values, and vectors if wanted.
    Eigh {
        /// Which triangle is read.
        upper: bool,
        /// Whether vectors are computed besides.
        vectors: bool,
    },
    /// Eigenvalues of any square matrix as `complex64`. Inputs: a. Results: values, and vectors if wanted.
    Eig {
        /// Whether vectors are computed besides.
        vectors: bool,
    },
}

impl LinalgOp {
    /// The operation's name, as graphs, labels and traces show it.
    pub fn name(self) -> &'static str {
        match self {
            LinalgOp::Cholesky => "cholesky",
            LinalgOp::Inverse => "inv",
            LinalgOp::TriangularInverse { .. } => "tri_inv",
            LinalgOp::Solve => "solve",
            LinalgOp::TriangularSolve { .. } => "solve_triangular",
            LinalgOp::Lu => "lu_factor",
            LinalgOp::Qr => "qr",
            LinalgOp::Svd { .. } => "svd",
            LinalgOp::Eigh { .. } => "eigh",
            LinalgOp::Eig { .. } => "eig",
        }
    }

    /// The shapes and types of its results.
    pub(super) fn rule(self, inputs: &[Input]) -> Result<Specs> {
        let name = self.name();
        let (shape, dtype) = inputs[0];
        let (m, n) = self.check(shape, dtype)?;
        let k = m.min(n);
        let with = |axes: &[usize], dtype: Dtype| {
            let shape = shape[..shape.len() - 2].iter().chain(axes).copied().collect();
            Spec { shape, dtype }
        };
        let real = if dtype == Dtype::Complex64 { Dtype::Float32 } else { dtype };
        Ok(match self {
            LinalgOp::Cholesky | LinalgOp::Inverse | LinalgOp::TriangularInverse { .. } => {
                smallvec![with(&[n, n], dtype)]
            }
            LinalgOp::Solve | LinalgOp::TriangularSolve { .. } => {
                let (b, other) = inputs[1];
                same_dtype(name, dtype, other)?;
                if b.len() != shape.len() || b[..b.len() - 1] != shape[..shape.len() - 1] {
                    let message =
                        format!("b of shape {b} needs the leading axes and rows of a of shape {shape}");
                    return Err(Error::shape(name, message));
                }
                smallvec![Spec { shape: b.clone(), dtype }]
            }
            LinalgOp::Lu => {
                smallvec![with(&[m, n], dtype), with(&[k], Dtype::Uint32), with(&[m], Dtype::Uint32)]
            }
            LinalgOp::Qr => smallvec![with(&[m, k], dtype), with(&[k, n], dtype)],
            LinalgOp::Svd { vectors: SvdVectors::None } => smallvec![with(&[k], real)],
            LinalgOp::Svd { vectors: SvdVectors::Thin } => {
                smallvec![with(&[m, k], dtype), with(&[k], real), with(&[k, n], dtype)]
            }
            LinalgOp::Svd { vectors: SvdVectors::Full } => {
                smallvec![with(&[m, m], dtype), with(&[k], real), with(&[n, n], dtype)]
            }
            LinalgOp::Eigh { vectors: false, .. } => smallvec![with(&[n], real)],
            LinalgOp::Eigh { vectors: true, .. } => smallvec![with(&[n], real), with(&[n, n], dtype)],
            LinalgOp::Eig { vectors: false } => smallvec![with(&[n], Dtype::Complex64)],
            LinalgOp::Eig { vectors: true } => {
                smallvec![with(&[n], Dtype::Complex64), with(&[n, n], Dtype::Complex64)]
            }
        })
    }

    /// The numbers of rows and columns, if it takes such matrices.
    fn check(self, shape: &Shape, dtype: Dtype) -> Result<(usize, usize)> {
        let name = self.name();
        let complex = matches!(self, LinalgOp::Svd { .. } | LinalgOp::Eigh { .. } | LinalgOp::Eig { .. });
        match dtype {
            Dtype::Float32 | Dtype::Float64 => {}
            Dtype::Complex64 if complex => {}
            other => {
                let more = if complex { ", float64 or complex64" } else { " or float64" };
                return Err(Error::dtype(
                    name,
                    format!("needs float32{more}, not {other}; convert with astype"),
                ));
            }
        }
        let &[.., m, n] = &shape[..] else {
            let message = format!("needs two or more axes, but shape {shape} has {}", shape.len());
            return Err(Error::shape(name, message));
        };
        let any_shape = matches!(self, LinalgOp::Lu | LinalgOp::Qr | LinalgOp::Svd { .. });
        if m != n && !any_shape {
            return Err(Error::shape(
                name,
                format!("needs square matrices, but those of shape {shape} are {m} by {n}"),
            ));
        }
        if u32::try_from(m.max(n)).is_err() {
            return Err(Error::shape(
                name,
                format!("a matrix of {m} by {n} has more rows than 32 bits can count"),
            ));
        }
        Ok((m, n))
    }

    /// Arithmetic operations for these inputs: the usual counts of the algorithms, a multiply-add as two.
    pub(super) fn flops(self, inputs: &[&Shape]) -> u64 {
        let shape = inputs[0];
        let &[.., m, n] = &shape[..] else { return 0 };
        let batch: u64 = shape[..shape.len() - 2].iter().map(|&d| d as u64).product();
        let (m, n) = (m as f64, n as f64);
        let (k, long) = (m.min(n), m.max(n));
        let columns = inputs.get(1).and_then(|b| b.last()).map_or(0.0, |&c| c as f64);
        let one = match self {
            LinalgOp::Cholesky | LinalgOp::TriangularInverse { .. } => n * n * n / 3.0,
            LinalgOp::Inverse => 2.0 * n * n * n,
            LinalgOp::Solve => n * n * n * 2.0 / 3.0 + 2.0 * n * n * columns,
            LinalgOp::TriangularSolve { .. } => n * n * columns,
            LinalgOp::Lu => k * k * (long - k / 3.0),
            LinalgOp::Qr => 4.0 * k * k * (long - k / 3.0),
            LinalgOp::Svd { vectors: SvdVectors::None } => 4.0 * k * k * (long - k / 3.0),
            LinalgOp::Svd { .. } => 4.0 * m * n * long + 9.0 * k * k * k,
            LinalgOp::Eigh { vectors: false, .. } => n * n * n * 4.0 / 3.0,
            LinalgOp::Eigh { vectors: true, .. } => 9.0 * n * n * n,
            LinalgOp::Eig { vectors: false } => 10.0 * n * n * n,
            LinalgOp::Eig { vectors: true } => 25.0 * n * n * n,
        };
        batch.saturating_mul(one as u64)
    }
}
