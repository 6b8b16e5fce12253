//! Gradients checked against differences: `check_grad`.

use pellucid::transform::check_flat;
use pellucid::{Array, Error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::tree;
use super::{attributed, raised};

/// What a function raised, or what was wrong with its arrays.
enum Ended {
    Raised(PyErr),
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Failed(error)
    }
}

/// check_grad(fun: Callable, *args) -> int
///
/// Compares the derivatives of `fun` at these arguments with differences, of each operation alone and of the whole, in
/// float64 on the CPU. Returns how many were compared; raises a `ValueError` that names what is wrong, with its line.
#[pyfunction]
#[pyo3(signature = (fun, *args))]
pub fn check_grad<'py>(
    py: Python<'py>,
    fun: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
) -> PyResult<usize> {
    let primals = tree::arrays(args.as_any(), false)?;
    let call = |arrays: &[Array]| -> PyResult<Vec<Array>> {
        let given = tree::with_arrays(args.as_any(), &mut arrays.iter().cloned())?;
        tree::arrays(&fun.call1(given.cast_into::<PyTuple>()?)?, false)
    };
    let outcome = attributed(py, || check_flat(&primals, |arrays| call(arrays).map_err(Ended::Raised)));
    let check = match outcome {
        Ok(check) => check,
        Err(Ended::Raised(error)) => return Err(error),
        Err(Ended::Failed(error)) => return raised(Err(error)),
    };
    match check.is_right() {
        true => Ok(check.compared),
        false => Err(PyValueError::new_err(format!("[check_grad] {check}"))),
    }
}
