//! Arrays as Python's numbers, lists and text.

use half::{bf16, f16};
use pellucid::op::Scalar;
use pellucid::{Array, Dtype, ops};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyInt, PyList, PyTuple};

use super::PyArray;
use crate::args::SizeList;
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
        py.detach(|| array.to_scalar()).or_raise()
    }
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

/// One element of row-major bytes.
fn element(bytes: &[u8], dtype: Dtype) -> Scalar {
    macro_rules! read {
        ($ty:ty) => {{
            let mut raw = [0; size_of::<$ty>()];
            raw.copy_from_slice(bytes);
            Scalar::from(<$ty>::from_ne_bytes(raw))
        }};
    }
    match dtype {
        Dtype::Bool => Scalar::Bool(bytes[0] != 0),
        Dtype::Uint8 => read!(u8),
        Dtype::Uint16 => read!(u16),
        Dtype::Uint32 => read!(u32),
        Dtype::Uint64 => read!(u64),
        Dtype::Int8 => read!(i8),
        Dtype::Int16 => read!(i16),
        Dtype::Int32 => read!(i32),
        Dtype::Int64 => read!(i64),
        Dtype::Float16 => read!(f16),
        Dtype::Bfloat16 => read!(bf16),
        Dtype::Float32 => read!(f32),
        Dtype::Float64 => read!(f64),
        Dtype::Complex64 => {
            let part = |at: usize| match element(&bytes[at..at + 4], Dtype::Float32) {
                Scalar::Float(v) => v,
                other => other.to_f64(),
            };
            Scalar::Complex(part(0), part(4))
        }
    }
}

/// Nested lists of row-major bytes.
fn nested<'py>(py: Python<'py>, bytes: &[u8], shape: &[usize], dtype: Dtype) -> PyResult<Bound<'py, PyAny>> {
    let Some((&length, rest)) = shape.split_first() else {
        return number(py, element(bytes, dtype));
    };
    let step = bytes.len().checked_div(length).unwrap_or(0);
    let list = PyList::empty(py);
    for i in 0..length {
        list.append(nested(py, &bytes[i * step..(i + 1) * step], rest, dtype)?)?;
    }
    Ok(list.into_any())
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
        let bytes = py.detach(|| array.to_bytes()).or_raise()?;
        nested(py, &bytes, array.shape(), array.dtype())
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
        let bytes = py.detach(|| array.to_bytes()).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let array = self.array();
        py.detach(|| array.eval().map(|()| array.to_string())).or_raise()
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
