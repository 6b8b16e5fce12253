//! The one place where errors of the library become Python's exceptions, of the types MLX raises.

use pellucid::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static RANGE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `RangeError`: an axis or a position outside of an array. MLX's versions raise `ValueError` or `IndexError` for it,
/// so it is both.
pub fn range_error_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    RANGE_ERROR
        .get_or_try_init(py, || {
            let bases = (
                py.get_type::<PyValueError>(),
                py.get_type::<pyo3::exceptions::PyIndexError>(),
            );
            let members = pyo3::types::PyDict::new(py);
            members.set_item("__module__", "pellucid.core")?;
            members.set_item("__doc__", "An axis or a position outside of an array.")?;
            let made = py.get_type::<PyType>().call1(("RangeError", bases, members))?;
            Ok(made.cast_into::<PyType>()?.unbind())
        })
        .map(|made| made.bind(py))
}

fn range_error(message: String) -> PyErr {
    Python::attach(|py| match range_error_type(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    })
}

/// The exception for an error. A failed launch has the type of its cause.
pub fn to_py(error: Error) -> PyErr {
    let message = error.to_string();
    match error.root() {
        Error::Axis { .. } | Error::Index { .. } => range_error(message),
        Error::Device { device, .. } if device.index() > 0 => range_error(message),
        Error::Shape { .. } | Error::Dtype { .. } | Error::Argument { .. } | Error::Device { .. } => {
            PyValueError::new_err(message)
        }
        _ => PyRuntimeError::new_err(message),
    }
}

/// `?` on results of the library.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for pellucid::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(to_py)
    }
}
