//! Products of matrices and vectors.

use pellucid::ops;
use pyo3::prelude::*;

use crate::args::Arr;

crate::ops::functions! {
    matmul(a, b, /, *, stream = None) [a: Arr, b: Arr]
        "(a: array, b: array, /, *, stream: StreamOrDevice = None)" "array"
        "Matrix product of the last two axes."
        => ops::matmul(&a, &b);
    addmm(c, a, b, /, alpha = 1.0, beta = 1.0, *, stream = None) [c: Arr, a: Arr, b: Arr, alpha: f64, beta: f64]
        "(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None)" "array"
        "alpha * (a @ b) + beta * c."
        => ops::addmm(&c, &a, &b, alpha, beta);
    inner(a, b, /, *, stream = None) [a: Arr, b: Arr]
        "(a: array, b: array, /, *, stream: StreamOrDevice = None)" "array"
        "Products summed over the last axis of both."
        => ops::inner(&a, &b);
    outer(a, b, /, *, stream = None) [a: Arr, b: Arr]
        "(a: array, b: array, /, *, stream: StreamOrDevice = None)" "array"
        "Every product of an element of a with one of b."
        => ops::outer(&a, &b);
    vecdot(a, b, /, *, axis = -1, stream = None) [a: Arr, b: Arr, axis: i64]
        "(a: array, b: array, /, *, axis: int = -1, stream: StreamOrDevice = None)" "array"
        "Products summed over one axis, with broadcasting over the others."
        => ops::vecdot(&a, &b, axis);
    kron(a, b, *, stream = None) [a: Arr, b: Arr]
        "(a: array, b: array, *, stream: StreamOrDevice = None)" "array"
        "Kronecker product."
        => ops::kron(&a, &b);
}
