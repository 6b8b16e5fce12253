//! Arrays as Python's numbers, lists and text.

use pellucid::array::HostMemory;
use pellucid::op::Scalar;
use pellucid::{Array, Shape, ops};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyInt, PyList, PyTuple};

use super::PyArray;
use crate::args::SizeList;
use crate::call::wait;
use crate::dtype::PyDtype;
use crate::error::OrRaise;

impl PyArray {
    /// The only element, computed without the interpreter's lock.
    fn scalar(&self, py: Python<'_>) -> PyResult<Scalar> {
        let array = self.array();
        if array.size() != 1 {
            let message = format!(
                "only arrays with one element become Python numbers, but shape {} has {}",
                array.shape_ref(),
                array.size()
            );
            return Err(PyValueError::new_err(message));
        }
        wait(py, || array.to_scalar())
    }
}

/// __array_namespace_info__() -> NamespaceInfo
///
/// What there is, as the array API standard asks for it.
#[pyfunction]
pub fn __array_namespace_info__(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("pellucid._array_api")?.getattr("NamespaceInfo")?.call1((Shape::MAX_AXES,))
}

fn number(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Scalar::Bool(v) => v.into_bound_py_any(py),
        Scalar::Int(v) => v.into_bound_py_any(py),
        Scalar::Uint(v) => v.into_bound_py_any(py),
        Scalar::Float(v) => v.into_bound_py_any(py),
        Scalar::Complex(re, im) => Ok(PyComplex::from_doubles(py, re, im).into_any()),
    }
}

/// Nested lists of the elements at `from` on, along the axes from `axis` on.
fn nested<'py>(py: Python<'py>, view: &HostMemory, axis: usize, from: isize) -> PyResult<Bound<'py, PyAny>> {
    let Some(&length) = view.shape().get(axis) else {
        return number(py, view.element(from));
    };
    let (list, stride) = (PyList::empty(py), view.strides()[axis]);
    for i in 0..length {
        list.append(nested(py, view, axis + 1, from + i as isize * stride)?)?;
    }
    Ok(list.into_any())
}

/// Fails for more elements than there is memory for as Python's objects: a repeated array can have any number.
fn check_list(array: &Array) -> PyResult<()> {
    let (needed, limit) = (array.size().saturating_mul(8) as u64, pellucid::memory::get_memory_limit());
    if needed <= limit {
        return Ok(());
    }
    let (count, shape) = (array.size(), array.shape_ref());
    Err(PyMemoryError::new_err(format!(
        "[tolist] the {count} elements of shape {shape} need {needed} bytes and more as a list, and the limit is \
         {limit}; read a part of the array, or raise it with set_memory_limit"
    )))
}

/// What a number of an array becomes for `int()`: without its fraction, of any size.
fn whole<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((number(py, value)?,))
}

#[pymethods]
impl PyArray {
    /// item(self) -> scalar
    ///
    /// The only element as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        number(py, self.scalar(py)?)
    }

    /// tolist(self) -> list | scalar
    ///
    /// The elements as nested lists; a number if there are no axes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array();
        check_list(&array)?;
        let view = wait(py, || array.host_memory())?;
        nested(py, &view, 0, 0)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(match self.scalar(py)? {
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
            other => other.to_f64() != 0.0,
        })
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        whole(py, self.scalar(py)?)
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array();
        if !array.dtype().is_integer() || array.ndim() > 0 {
            let message = format!(
                "only integer arrays without axes are positions, not {} of shape {}",
                array.dtype(),
                array.shape_ref()
            );
            return Err(PyTypeError::new_err(message));
        }
        whole(py, self.scalar(py)?)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match self.scalar(py)? {
            Scalar::Complex(..) => {
                Err(PyTypeError::new_err("a complex number does not become a float; use real"))
            }
            other => Ok(other.to_f64()),
        }
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        Ok(match self.scalar(py)? {
            Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im),
            other => PyComplex::from_doubles(py, other.to_f64(), 0.0),
        })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let array = self.array();
        let bytes = wait(py, || array.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let array = self.array();
        wait(py, || array.eval().map(|()| array.to_string()))
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array();
        match (array.ndim(), spec) {
            (0, spec) => self.item(py)?.call_method1("__format__", (spec,)),
            (_, "") => self.__repr__(py)?.into_bound_py_any(py),
            _ => Err(PyTypeError::new_err(format!(
                "only arrays without axes are formatted as numbers, not those of shape {}",
                array.shape_ref()
            ))),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("pellucid.core")?.getattr("_restore")?;
        Ok((restore, self.__getstate__(py)?))
    }

    /// The bytes, the shape and the dtype.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (array, data) = (self.array(), self.__bytes__(py)?);
        (data, PyTuple::new(py, array.shape())?, PyDtype(array.dtype())).into_pyobject(py)
    }

    fn __setstate__(&self, state: (Bound<'_, PyBytes>, SizeList, PyDtype)) -> PyResult<()> {
        self.replace(Array::from_raw(state.0.as_bytes(), state.1.0, state.2.0).or_raise()?);
        Ok(())
    }

    #[pyo3(signature = (api_version = None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<String>,
    ) -> PyResult<Bound<'py, PyModule>> {
        let _ = api_version;
        py.import("pellucid.core")
    }

    fn __contains__(&self, py: Python<'_>, value: crate::args::Input) -> PyResult<bool> {
        let array = self.array();
        let found = crate::call::build(py, None, || {
            let (a, b) = crate::args::pair(&crate::args::Input::Array(array), &value);
            ops::any(&ops::equal(a, b), pellucid::Axes::All, false)
        })?;
        let found: PyArray = found;
        found.__bool__(py)
    }
}
