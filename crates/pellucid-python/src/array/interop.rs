//! Elements shared with other libraries: the buffer protocol and NumPy.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use pellucid::array::HostMemory;
use pellucid::{Dtype, ops};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyArray;
use crate::call::wait;
use crate::error::OrRaise;

/// What a buffer handed out refers to.
struct Export {
    _memory: HostMemory,
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// The letter of a type in the buffer protocol; `bfloat16` has none.
fn format_of(dtype: Dtype) -> Option<&'static CStr> {
    Some(match dtype {
        Dtype::Bool => c"?",
        Dtype::Uint8 => c"B",
        Dtype::Uint16 => c"H",
        Dtype::Uint32 => c"I",
        Dtype::Uint64 => c"Q",
        Dtype::Int8 => c"b",
        Dtype::Int16 => c"h",
        Dtype::Int32 => c"i",
        Dtype::Int64 => c"q",
        Dtype::Float16 => c"e",
        Dtype::Bfloat16 => return None,
        Dtype::Float32 => c"f",
        Dtype::Float64 => c"d",
        Dtype::Complex64 => c"Zf",
    })
}

#[pymethods]
impl PyArray {
    /// Hands out the elements without copying them. Writing to them changes the array; elements that stand for several,
    /// that a GPU has, or that another library does not let write, can only be read.
    ///
    /// # Safety
    /// `view` must point to a buffer to be filled, as the interpreter passes it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        let array = slf.get().array();
        let Some(format) = format_of(array.dtype()) else {
            return Err(PyBufferError::new_err(
                "bfloat16 has no buffer; use astype(float32) or numpy.asarray",
            ));
        };
        let strided = flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES;
        let (memory, writable) = wait(py, || {
            let memory = array.host_memory()?;
            // Readers that do not understand strides need the elements in one piece.
            if strided || memory.contiguous().is_some() {
                let writable = memory.is_writable();
                return Ok((memory, writable));
            }
            Ok((ops::contiguous(&array).host_memory()?, false))
        })?;
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && !writable {
            return Err(PyBufferError::new_err(
                "the elements of this array can only be read; copy them first",
            ));
        }
        let item = array.itemsize() as ffi::Py_ssize_t;
        let export = Box::new(Export {
            shape: memory.shape().iter().map(|&n| n as ffi::Py_ssize_t).collect(),
            strides: memory.strides().iter().map(|&s| s as ffi::Py_ssize_t * item).collect(),
            _memory: memory,
        });
        // SAFETY: `view` is to be filled; what it points to lives until `__releasebuffer__` takes it back.
        unsafe {
            (*view).buf = export._memory.ptr().cast_mut().cast();
            (*view).len = array.nbytes() as ffi::Py_ssize_t;
            (*view).readonly = c_int::from(!writable);
            (*view).itemsize = item;
            (*view).format = match flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                true => format.as_ptr().cast_mut(),
                false => ptr::null_mut(),
            };
            (*view).ndim = array.ndim() as c_int;
            (*view).shape = match flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
                true => export.shape.as_ptr().cast_mut(),
                false => ptr::null_mut(),
            };
            (*view).strides = if strided { export.strides.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = Box::into_raw(export).cast::<c_void>();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Takes back what `__getbuffer__` handed out.
    ///
    /// # Safety
    /// `view` must be a buffer that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: put there by `__getbuffer__`, and taken back once.
        drop(unsafe { Box::from_raw((*view).internal.cast::<Export>()) });
    }

    /// __array__(self, dtype: object = None, copy: bool | None = None) -> numpy.ndarray
    ///
    /// The elements as a NumPy array: without a copy if none is asked for. bfloat16 becomes that of ml_dtypes if it is
    /// installed, else float32.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let numpy = py.import("numpy")?;
        let made = if slf.get().array().dtype() == Dtype::Bfloat16 {
            half_floats(&slf, &numpy)?
        } else {
            let view = py.import("builtins")?.getattr("memoryview")?.call1((&slf,))?;
            numpy.getattr("asarray")?.call1((view,))?
        };
        let options = PyDict::new(py);
        if let Some(dtype) = dtype {
            options.set_item("dtype", dtype)?;
        }
        if copy == Some(true) {
            return numpy.getattr("array")?.call((made,), Some(&options));
        }
        numpy.getattr("asarray")?.call((made,), Some(&options))
    }
}

fn half_floats<'py>(slf: &Bound<'py, PyArray>, numpy: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
    let (py, array) = (slf.py(), slf.get().array());
    let as_memory = |dtype: Dtype, reinterpret: bool| -> PyResult<Bound<'py, PyAny>> {
        let other = if reinterpret { ops::view(&array, dtype) } else { ops::astype(&array, dtype) };
        let other = Bound::new(py, PyArray::new(other.or_raise()?))?;
        let view = py.import("builtins")?.getattr("memoryview")?.call1((other,))?;
        numpy.getattr("asarray")?.call1((view,))
    };
    match py.import("ml_dtypes") {
        Ok(types) => {
            let words = as_memory(Dtype::Uint16, true)?;
            words.call_method1("view", (types.getattr("bfloat16")?,))
        }
        Err(_) => as_memory(Dtype::Float32, false),
    }
}
