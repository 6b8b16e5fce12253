//! Products of many arrays, of chosen matrices and of blocks.

use pellucid::linalg;
use pellucid::ops::{self, BlockMasks};
use pyo3::prelude::*;

use crate::args::{Arr, Count, Ints, axes};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;
use crate::error::OrRaise;
use crate::linalg::Ord;

mod table {
    use super::*;

    crate::ops::functions! {
        block_masked_mm(a, b, /, block_size = Count(64), mask_out = None, mask_lhs = None, mask_rhs = None, *, stream = None)
            as "(a, b, /, block_size=64, mask_out=None, mask_lhs=None, mask_rhs=None, *, stream=None)"
            [a: Arr, b: Arr, block_size: Count, mask_out: Option<Arr>, mask_lhs: Option<Arr>, mask_rhs: Option<Arr>]
            "(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, mask_lhs: array | None = None, mask_rhs: array | None = None, *, stream: StreamOrDevice = None)" "array"
            "Matrix product with masked blocks."
            => {
                let masks = BlockMasks { out: mask_out.as_deref(), lhs: mask_lhs.as_deref(), rhs: mask_rhs.as_deref() };
                ops::block_masked_mm(&a, &b, block_size.0, masks)
            };
        gather_mm(a, b, /, lhs_indices = None, rhs_indices = None, *, sorted_indices = false, stream = None)
            [a: Arr, b: Arr, lhs_indices: Option<Arr>, rhs_indices: Option<Arr>, sorted_indices: bool]
            "(a: array, b: array, /, lhs_indices: array | None = None, rhs_indices: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None)" "array"
            "Products of chosen matrices."
            => {
                // A hint that the result does not depend on.
                let _ = sorted_indices;
                ops::gather_mm(&a, &b, lhs_indices.as_deref(), rhs_indices.as_deref())
            };
        segmented_mm(a, b, /, segments, *, stream = None) [a: Arr, b: Arr, segments: Arr]
            "(a: array, b: array, /, segments: array, *, stream: StreamOrDevice = None)" "array"
            "A matrix product for each segment of the inner axis."
            => ops::segmented_mm(&a, &b, &segments);
        matrix_norm(a, /, ord = None, axis = None, keepdims = false, *, stream = None)
            [a: Arr, ord: Option<Ord>, axis: Option<Ints>, keepdims: bool]
            "(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None)" "array"
            "The norm of vectors or matrices."
            => linalg::norm(&a, ord.map(|ord| ord.0), axes(axis), keepdims);
        hadamard_transform(a, scale = None, stream = None) [a: Arr, scale: Option<f64>]
            "(a: array, scale: float | None = None, stream: StreamOrDevice = None)" "array"
            "The last axis multiplied with a Hadamard matrix."
            => ops::hadamard_transform(&a, scale);
    }
}

/// einsum(subscripts: str, *operands, stream: StreamOrDevice = None) -> array
///
/// The Einstein sum that the subscripts describe.
#[pyfunction]
#[pyo3(signature = (subscripts, *operands, stream = None))]
fn einsum(
    py: Python<'_>,
    subscripts: &str,
    operands: Vec<Arr>,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    build(py, stream, || {
        let operands: Vec<_> = operands.iter().map(|operand| &**operand).collect();
        ops::einsum(subscripts, &operands)
    })
}

/// einsum_path(subscripts: str, *operands) -> tuple[list[tuple[int, ...]], str]
///
/// The order in which einsum multiplies, and what it costs.
#[pyfunction]
#[pyo3(signature = (subscripts, *operands))]
fn einsum_path<'py>(
    py: Python<'py>,
    subscripts: &str,
    operands: Vec<Arr>,
) -> PyResult<(Vec<Bound<'py, pyo3::types::PyTuple>>, String)> {
    let operands: Vec<_> = operands.iter().map(|operand| &**operand).collect();
    let (steps, text) = ops::einsum_path(subscripts, &operands).or_raise()?;
    let steps: PyResult<_> = steps.into_iter().map(|step| pyo3::types::PyTuple::new(py, step)).collect();
    Ok((steps?, text))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    table::register(m)?;
    crate::add_functions!(m: einsum, einsum_path);
    Ok(())
}
