//! The `array` class. Elements never change; what Python changes is which elements an `array` object holds.

mod at;
pub mod construct;
mod convert;
mod dlpack;
pub mod foreign;
mod index;
mod interop;
mod operators;

use parking_lot::Mutex;
use pellucid::{Array, ops};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use self::foreign::Copying;
use crate::call::build;
use crate::dtype::PyDtype;

/// array(val: scalar | list | tuple | array | ndarray, dtype: Dtype | None = None, *, copy: bool | None = None)
///
/// An array: elements of one dtype in any number of dimensions, computed when they are needed. They are copied, unless
/// copy=False asks for elements of another library where they are, which raises a ValueError if they cannot stay there.
#[pyclass(name = "array", module = "pellucid.core", frozen, subclass, weakref)]
pub struct PyArray {
    inner: Mutex<Array>,
}

impl PyArray {
    pub fn new(array: Array) -> PyArray {
        PyArray { inner: Mutex::new(array) }
    }

    /// The array it holds now.
    pub fn array(&self) -> Array {
        self.inner.lock().clone()
    }

    /// Holds another array from now on.
    pub fn replace(&self, array: Array) {
        // The old one is dropped outside the lock: it may free much.
        let old = std::mem::replace(&mut *self.inner.lock(), array);
        drop(old);
    }
}

#[pymethods]
impl PyArray {
    #[new]
    #[pyo3(signature = (val, dtype = None, *, copy = None))]
    fn create(
        py: Python<'_>,
        val: &Bound<'_, PyAny>,
        dtype: Option<PyDtype>,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        if val.is_none() {
            return Err(PyTypeError::new_err("array() needs numbers, not None"));
        }
        let copying = if copy == Some(false) { Copying::Never } else { Copying::Always };
        construct::array(py, val, dtype.map(|dtype| dtype.0), copying)
    }

    /// Sizes of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array().shape())
    }

    /// Type of the elements.
    #[getter]
    fn dtype(&self) -> PyDtype {
        PyDtype(self.inner.lock().dtype())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.lock().ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.inner.lock().size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.inner.lock().itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.lock().nbytes()
    }

    /// The axes reversed.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::transpose(&self.array(), None))
    }

    /// The last two axes swapped.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::matrix_transpose(&self.array()))
    }

    /// Real part.
    #[getter]
    fn real(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::real(&self.array()))
    }

    /// Imaginary part.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<PyArray> {
        build(py, None, || ops::imag(&self.array()))
    }

    /// Updates that add up where an index names a place twice: a.at[i].add(v).
    #[getter]
    fn at(slf: Bound<'_, PyArray>) -> at::ArrayAt {
        at::ArrayAt::new(slf.unbind())
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.inner.lock().shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of a 0-dimensional array"))
    }

    fn __iter__(&self) -> PyResult<ArrayIterator> {
        let array = self.array();
        if array.ndim() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-dimensional array"));
        }
        Ok(ArrayIterator { array, next: Mutex::new(0) })
    }

    fn __hash__(slf: Bound<'_, PyArray>) -> isize {
        // By identity: an array cannot be hashed by elements that have not been computed.
        (slf.as_ptr() as isize) >> 4
    }

    fn __copy__(&self) -> PyArray {
        PyArray::new(self.array())
    }

    #[pyo3(signature = (_memo))]
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyArray {
        PyArray::new(self.array())
    }
}

/// The arrays along the first axis.
#[pyclass(module = "pellucid.core", frozen)]
pub struct ArrayIterator {
    array: Array,
    next: Mutex<usize>,
}

#[pymethods]
impl ArrayIterator {
    fn __iter__(slf: Py<ArrayIterator>) -> Py<ArrayIterator> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyArray>> {
        let at = {
            let mut next = self.next.lock();
            *next += 1;
            *next - 1
        };
        if at >= self.array.shape()[0] {
            return Ok(None);
        }
        build(py, None, || ops::index(&self.array, &[ops::Index::Int(at as i64)])).map(Some)
    }
}

/// ArrayLike(obj: object, /)
///
/// An object that offers an array through `__mlx_array__`.
#[pyclass(module = "pellucid.core", frozen)]
pub struct ArrayLike(Py<PyAny>);

#[pymethods]
impl ArrayLike {
    #[new]
    #[pyo3(signature = (obj, /))]
    fn new(obj: Py<PyAny>) -> ArrayLike {
        ArrayLike(obj)
    }

    fn __mlx_array__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.0.call_method0(py, "__mlx_array__")
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyArray>()?;
    m.add_class::<ArrayIterator>()?;
    m.add_class::<ArrayLike>()?;
    m.add_class::<at::ArrayAt>()?;
    m.add_function(pyo3::wrap_pyfunction!(convert::__array_namespace_info__, m)?)?;
    construct::register(m)?;
    dlpack::register(m)
}
