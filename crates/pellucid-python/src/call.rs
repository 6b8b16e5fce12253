//! How a Python call becomes an operation: on the stream it names, from the line it stands on.

use std::cell::Cell;

use pellucid::{Array, with_call_site, with_interrupts, with_stream};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::PyArray;
use crate::array::foreign::check_sizes;
use crate::device::StreamArg;
use crate::error::OrRaise;
use crate::site;

/// Builds operations on the given stream, attributed to the calling line of Python. What cannot work raises here.
pub fn build<T: ToPython>(
    py: Python<'_>,
    stream: Option<StreamArg>,
    f: impl FnOnce() -> T,
) -> PyResult<T::Python> {
    // An exception at the line of the call is what strict mode is for.
    pellucid::strict(false);
    let stream = stream.map(StreamArg::resolve).transpose().or_raise()?;
    let on_stream = || match stream {
        Some(stream) => with_stream(stream, f),
        None => f(),
    };
    let result = match site::here(py) {
        Some(site) => with_call_site(site, on_stream),
        None => on_stream(),
    };
    result.to_python()
}

/// Waits for something without the interpreter's lock. The interpreter's signals are looked after meanwhile, so that
/// Ctrl-C ends the wait; the work goes on in the background.
pub fn wait<T: Send>(py: Python<'_>, f: impl FnOnce() -> pellucid::Result<T> + Send) -> PyResult<T> {
    let (outcome, raised) = py.detach(|| {
        let raised = Cell::new(None);
        let poll = || {
            let signals = Python::attach(|py| py.check_signals());
            signals.map_err(|error| raised.set(Some(error))).is_err()
        };
        (with_interrupts(&poll, f), raised.into_inner())
    });
    match raised {
        Some(error) => Err(error),
        None => outcome.or_raise(),
    }
}

/// What operations return, as Python sees it.
pub trait ToPython {
    type Python;

    /// # Errors
    /// What makes the arrays impossible; an axis longer than those of MLX can be.
    fn to_python(self) -> PyResult<Self::Python>;
}

impl ToPython for Array {
    type Python = PyArray;
    fn to_python(self) -> PyResult<PyArray> {
        self.check().or_raise()?;
        check_sizes(self.shape())?;
        Ok(PyArray::new(self))
    }
}

impl ToPython for () {
    type Python = ();
    fn to_python(self) -> PyResult<()> {
        Ok(())
    }
}

impl<T: ToPython> ToPython for pellucid::Result<T> {
    type Python = T::Python;
    fn to_python(self) -> PyResult<T::Python> {
        self.or_raise()?.to_python()
    }
}

impl ToPython for (Array, Array) {
    type Python = (PyArray, PyArray);
    fn to_python(self) -> PyResult<(PyArray, PyArray)> {
        Ok((self.0.to_python()?, self.1.to_python()?))
    }
}

impl ToPython for Vec<Array> {
    type Python = Vec<PyArray>;
    fn to_python(self) -> PyResult<Vec<PyArray>> {
        self.into_iter().map(Array::to_python).collect()
    }
}

/// Several arrays as a tuple.
pub struct Tuple(pub Vec<Array>);

impl ToPython for Tuple {
    type Python = PyTupleOf;
    fn to_python(self) -> PyResult<PyTupleOf> {
        Ok(PyTupleOf(self.0.to_python()?))
    }
}

pub struct PyTupleOf(Vec<PyArray>);

impl<'py> IntoPyObject<'py> for PyTupleOf {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0)
    }
}

/// One array as itself, several as a list.
pub struct Few(pub Vec<Array>);

impl ToPython for Few {
    type Python = PyFew;
    fn to_python(self) -> PyResult<PyFew> {
        Ok(PyFew(self.0.to_python()?))
    }
}

pub struct PyFew(Vec<PyArray>);

impl<'py> IntoPyObject<'py> for PyFew {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.pop() {
            Some(only) if self.0.is_empty() => Ok(Bound::new(py, only)?.into_any()),
            last => {
                self.0.extend(last);
                self.0.into_pyobject(py)
            }
        }
    }
}
