//! The one place where errors of the library become Python's exceptions, of the types MLX raises.

use pellucid::{Array, Error};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// An exception class of our own with two of Python's as bases.
struct Class {
    name: &'static str,
    doc: &'static str,
    made: PyOnceLock<Py<PyType>>,
}

/// An axis or a position outside of an array. MLX's versions raise `ValueError` or `IndexError` for it.
static RANGE_ERROR: Class =
    Class { name: "RangeError", doc: "An axis or a position outside of an array.", made: PyOnceLock::new() };

/// An element type an operation does not take. MLX's operations raise `ValueError` or `RuntimeError` for it.
static DTYPE_ERROR: Class =
    Class { name: "DtypeError", doc: "A dtype that an operation does not take.", made: PyOnceLock::new() };

/// A value that turns out to be impossible when it is computed. MLX's operations raise `ValueError` or `RuntimeError`
/// for it.
static EVALUATION_ERROR: Class = Class {
    name: "EvaluationError",
    doc: "Elements that an operation cannot compute with.",
    made: PyOnceLock::new(),
};

impl Class {
    fn get<'py>(&self, py: Python<'py>, second: Bound<'py, PyType>) -> PyResult<&Bound<'py, PyType>> {
        let make = || {
            let members = PyDict::new(py);
            members.set_item("__module__", "pellucid.core")?;
            members.set_item("__doc__", self.doc)?;
            let bases = (py.get_type::<PyValueError>(), second);
            let made = py.get_type::<PyType>().call1((self.name, bases, members))?;
            Ok(made.cast_into::<PyType>()?.unbind())
        };
        self.made.get_or_try_init(py, make).map(|made| made.bind(py))
    }
}

fn range_error_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    RANGE_ERROR.get(py, py.get_type::<PyIndexError>())
}

fn dtype_error_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    DTYPE_ERROR.get(py, py.get_type::<PyRuntimeError>())
}

fn evaluation_error_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    EVALUATION_ERROR.get(py, py.get_type::<PyRuntimeError>())
}

fn raise(class: fn(Python<'_>) -> PyResult<&Bound<'_, PyType>>, message: String) -> PyErr {
    Python::attach(|py| match class(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    })
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add(RANGE_ERROR.name, range_error_type(m.py())?)?;
    m.add(DTYPE_ERROR.name, dtype_error_type(m.py())?)?;
    m.add(EVALUATION_ERROR.name, evaluation_error_type(m.py())?)
}

/// The exception for an error. A failed launch has the type of its cause; a wrong call raises where it is made, so that
/// its line need not be told.
pub fn to_py(error: Error) -> PyErr {
    let message = match &error {
        Error::Call { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    match error.root() {
        Error::Axis { .. } | Error::Index { .. } | Error::Range { .. } => raise(range_error_type, message),
        Error::Device { device, .. } if device.index() > 0 => raise(range_error_type, message),
        Error::Dtype { .. } => raise(dtype_error_type, message),
        Error::Shape { .. } | Error::Argument { .. } if matches!(error, Error::Launch { .. }) => {
            raise(evaluation_error_type, message)
        }
        Error::Shape { .. } | Error::Argument { .. } | Error::Device { .. } => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// `?` on results of the library.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl OrRaise<Array> for Array {
    fn or_raise(self) -> PyResult<Array> {
        self.check().or_raise().map(|()| self)
    }
}

impl<T> OrRaise<T> for pellucid::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(to_py)
    }
}
