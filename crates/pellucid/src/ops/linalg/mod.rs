//! Linear algebra on the last two axes; leading axes are a batch.
//!
//! Decompositions take `float32` and `float64`, some also `complex64`; they run on the CPU. A matrix without the inverse,
//! factor or convergence that is asked for makes the result a failed array, told when it is computed.
//!
//! ```
//! use pellucid::{Array, linalg, ops};
//! # fn main() -> pellucid::Result<()> {
//! let a = Array::from([[4.0f32, 1.0], [1.0, 3.0]]);
//! let x = linalg::solve(&a, &Array::from([1.0f32, 2.0]));
//! let back = ops::matmul(&a, &x).to_vec::<f32>()?;
//! assert!((back[0] - 1.0).abs() < 1e-6 && (back[1] - 2.0).abs() < 1e-6);
//! let error = linalg::inv(&Array::from([[1.0f32, 2.0], [2.0, 4.0]])).eval().unwrap_err();
//! assert!(error.to_string().contains("[inv] the matrix is singular"));
//! # Ok(())
//! # }
//! ```

mod decompose;
mod determinant;
mod norm;
mod products;
mod solve;

pub use decompose::{cholesky, eig, eigh, eigvals, eigvalsh, lu, lu_factor, qr, singular_values, svd};
pub use determinant::{det, slogdet};
pub use norm::{Order, norm};
pub use products::cross;
pub use solve::{cholesky_inv, inv, pinv, solve, solve_triangular, tri_inv};

use super::apply;
use crate::array::{Array, Inputs, Results};
use crate::op::{LinalgOp, Op};

/// An operation with one result.
#[track_caller]
fn one(op: LinalgOp, a: &Array) -> Array {
    apply(Op::Linalg(op), a)
}

/// An operation with several results.
#[track_caller]
fn many(op: LinalgOp, a: &Array) -> Results {
    let inputs: Inputs = [a.clone()].into_iter().collect();
    Array::from_op_many(Op::Linalg(op), inputs)
}

/// Which triangle of a matrix is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Triangle {
    /// Below and on the diagonal.
    #[default]
    Lower,
    /// Above and on the diagonal.
    Upper,
}

impl Triangle {
    fn is_upper(self) -> bool {
        self == Triangle::Upper
    }
}
