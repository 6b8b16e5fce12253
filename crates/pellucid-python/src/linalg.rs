//! Linear algebra: `pellucid.core.linalg`.
#![expect(non_snake_case, reason = "an argument is called UPLO in MLX")]

use pellucid::linalg::{self, Order, Triangle};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::args::{Arr, Ints, axes};
use crate::array::PyArray;
use crate::call::{PyTupleOf, ToPython, Tuple};

/// The order of a norm: a number, or a name.
pub struct Ord(pub Order);

impl<'py> FromPyObject<'_, 'py> for Ord {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Ord> {
        if let Ok(name) = obj.cast::<PyString>() {
            let order = name.to_str()?.parse();
            return order.map(Ord).map_err(|error: pellucid::Error| PyValueError::new_err(error.to_string()));
        }
        let number: PyResult<f64> = obj.extract();
        number
            .map(|p| Ord(Order::P(p)))
            .map_err(|_| PyTypeError::new_err("[norm] the order is a number or a name"))
    }
}

fn triangle(upper: bool) -> Triangle {
    if upper { Triangle::Upper } else { Triangle::Lower }
}

/// How LAPACK names the triangles.
fn named(name: &str) -> pellucid::Result<Triangle> {
    match name {
        "L" | "l" => Ok(Triangle::Lower),
        "U" | "u" => Ok(Triangle::Upper),
        other => Err(crate::ops::argument("eigh", format!("UPLO is L or U, not {other:?}"))),
    }
}

/// The singular values alone, or with the vectors of both sides.
fn singular(a: &Arr, vectors: bool) -> Decomposed {
    if !vectors {
        return Decomposed::Values(linalg::singular_values(a));
    }
    let (u, s, v) = linalg::svd(a);
    Decomposed::All(Tuple(vec![u, s, v]))
}

enum Decomposed {
    Values(pellucid::Array),
    All(Tuple),
}

impl ToPython for Decomposed {
    type Python = PyDecomposed;

    fn to_python(self) -> PyResult<PyDecomposed> {
        Ok(match self {
            Decomposed::Values(values) => PyDecomposed::Values(values.to_python()?),
            Decomposed::All(all) => PyDecomposed::All(all.to_python()?),
        })
    }
}

#[derive(IntoPyObject)]
enum PyDecomposed {
    Values(PyArray),
    All(PyTupleOf),
}

crate::ops::functions! {
    norm(a, /, ord = None, axis = None, keepdims = false, *, stream = None) [a: Arr, ord: Option<Ord>, axis: Option<Ints>, keepdims: bool]
        "(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None)" "array"
        "The norm of vectors or matrices."
        => linalg::norm(&a, ord.map(|ord| ord.0), axes(axis), keepdims);
    cholesky(a, upper = false, *, stream = None) [a: Arr, upper: bool]
        "(a: array, upper: bool = False, *, stream: StreamOrDevice = None)" "array"
        "The triangular factor of positive definite matrices."
        => linalg::cholesky(&a, triangle(upper));
    cholesky_inv(a, upper = false, *, stream = None) [a: Arr, upper: bool]
        "(a: array, upper: bool = False, *, stream: StreamOrDevice = None)" "array"
        "The inverse of the matrices of which these are the Cholesky factors."
        => linalg::cholesky_inv(&a, triangle(upper));
    cross(a, b, axis = -1, *, stream = None) [a: Arr, b: Arr, axis: i64]
        "(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None)" "array"
        "The cross product along an axis."
        => linalg::cross(&a, &b, axis);
    det(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "array"
        "The determinant of square matrices."
        => linalg::det(&a);
    eig(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "tuple[array, array]"
        "Eigenvalues and eigenvectors of square matrices."
        => linalg::eig(&a);
    eigvals(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "array"
        "Eigenvalues of square matrices."
        => linalg::eigvals(&a);
    eigh(a, UPLO = "L", *, stream = None) [a: Arr, UPLO: &str]
        "(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None)" "tuple[array, array]"
        "Eigenvalues and eigenvectors of symmetric or Hermitian matrices."
        => named(UPLO).map(|triangle| linalg::eigh(&a, triangle));
    eigvalsh(a, UPLO = "L", *, stream = None) [a: Arr, UPLO: &str]
        "(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None)" "array"
        "Eigenvalues of symmetric or Hermitian matrices."
        => named(UPLO).map(|triangle| linalg::eigvalsh(&a, triangle));
    inv(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "array"
        "The inverse of square matrices."
        => linalg::inv(&a);
    lu(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "tuple[array, array, array]"
        "Rows, and a lower and an upper triangular matrix, whose product is the matrix."
        => {
            let (rows, l, u) = linalg::lu(&a);
            Tuple(vec![rows, l, u])
        };
    lu_factor(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "tuple[array, array]"
        "The matrices of lu in one, and the rows that were swapped."
        => linalg::lu_factor(&a);
    pinv(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "array"
        "The Moore-Penrose inverse."
        => linalg::pinv(&a);
    qr(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "tuple[array, array]"
        "Orthonormal columns and an upper triangular matrix, whose product is the matrix."
        => linalg::qr(&a);
    slogdet(a, *, stream = None) [a: Arr]
        "(a: array, *, stream: StreamOrDevice = None)" "tuple[array, array]"
        "The sign and the logarithm of the absolute value of the determinant."
        => linalg::slogdet(&a);
    solve(a, b, *, stream = None) [a: Arr, b: Arr]
        "(a: array, b: array, *, stream: StreamOrDevice = None)" "array"
        "x with a @ x = b."
        => linalg::solve(&a, &b);
    solve_triangular(a, b, *, upper = false, stream = None) [a: Arr, b: Arr, upper: bool]
        "(a: array, b: array, *, upper: bool = False, stream: StreamOrDevice = None)" "array"
        "x with a @ x = b for triangular matrices."
        => linalg::solve_triangular(&a, &b, triangle(upper));
    svd(a, compute_uv = true, *, stream = None) [a: Arr, compute_uv: bool]
        "(a: array, compute_uv: bool = True, *, stream: StreamOrDevice = None)" "tuple[array, array, array]"
        "Left vectors, singular values and right vectors."
        => singular(&a, compute_uv);
    tri_inv(a, upper = false, *, stream = None) [a: Arr, upper: bool]
        "(a: array, upper: bool = False, *, stream: StreamOrDevice = None)" "array"
        "The inverse of triangular matrices."
        => linalg::tri_inv(&a, triangle(upper));
}
