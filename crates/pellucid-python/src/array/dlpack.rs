//! DLPack: elements handed to and taken from other array libraries.

use std::ffi::{CStr, c_void};

use pellucid::array::HostMemory;
use pellucid::{Array, Dtype};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::PyArray;
use super::foreign::{Block, Copying, Keeper, Source, check_axes};
use crate::call::wait;

/// The tables of the DLPack standard, as C lays them out.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

const CPU: i32 = 1;
/// Host memory that a GPU can reach too.
const HOST_DEVICES: [i32; 3] = [CPU, 3, 11];
const READ_ONLY: u64 = 1;
const NAME: &CStr = c"dltensor";
const VERSIONED_NAME: &CStr = c"dltensor_versioned";

/// The kinds of numbers: signed, unsigned, floating, bfloat, complex, bool.
fn kind_of(dtype: Dtype) -> (u8, u8) {
    let bits = (dtype.size() * 8) as u8;
    match dtype {
        Dtype::Bool => (6, 8),
        Dtype::Bfloat16 => (4, bits),
        Dtype::Complex64 => (5, bits),
        d if d.is_signed_integer() => (0, bits),
        d if d.is_unsigned_integer() => (1, bits),
        _ => (2, bits),
    }
}

fn source_of(code: u8, bits: u8) -> Option<Source> {
    match (code, bits) {
        (2, 64) => return Some(Source::Double),
        (5, 128) => return Some(Source::DoubleComplex),
        _ => {}
    }
    Dtype::ALL.into_iter().find(|&dtype| kind_of(dtype) == (code, bits)).map(Source::Same)
}

/// What a tensor handed out refers to.
struct Export {
    memory: HostMemory,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Export {
    fn new(memory: HostMemory) -> Box<Export> {
        let shape = memory.shape().iter().map(|&n| n as i64).collect();
        let strides = memory.strides().iter().map(|&s| s as i64).collect();
        Box::new(Export { memory, shape, strides })
    }

    fn tensor(&self) -> Tensor {
        let (code, bits) = kind_of(self.memory.dtype());
        Tensor {
            data: self.memory.ptr().cast_mut().cast(),
            device_type: CPU,
            device_id: 0,
            ndim: self.shape.len() as i32,
            code,
            bits,
            lanes: 1,
            shape: self.shape.as_ptr().cast_mut(),
            strides: self.strides.as_ptr().cast_mut(),
            byte_offset: 0,
        }
    }
}

/// # Safety
/// `managed` must come from `export` and not be used again.
unsafe extern "C" fn free(managed: *mut Managed) {
    // SAFETY: both were boxed by `export`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Export>()));
    }
}

/// # Safety
/// As `free`.
unsafe extern "C" fn free_versioned(managed: *mut Versioned) {
    // SAFETY: both were boxed by `export`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Export>()));
    }
}

/// Frees a tensor that nobody took out of its capsule.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule made by `export`; a consumer renames it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            free(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED_NAME.as_ptr()) == 1 {
            free_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED_NAME.as_ptr()).cast());
        }
    }
}

fn export(py: Python<'_>, memory: HostMemory, versioned: bool) -> PyResult<Bound<'_, PyAny>> {
    let flags = if memory.is_writable() { 0 } else { READ_ONLY };
    let export = Export::new(memory);
    let tensor = export.tensor();
    let context = Box::into_raw(export).cast();
    // SAFETY: the capsule owns the tensor until a consumer takes it; either one frees it once.
    unsafe {
        let capsule = if versioned {
            let deleter: Option<unsafe extern "C" fn(*mut Versioned)> = Some(free_versioned);
            let managed = Box::new(Versioned { major: 1, minor: 0, context, deleter, flags, tensor });
            ffi::PyCapsule_New(Box::into_raw(managed).cast(), VERSIONED_NAME.as_ptr(), Some(drop_capsule))
        } else {
            let managed = Box::new(Managed { tensor, context, deleter: Some(free) });
            ffi::PyCapsule_New(Box::into_raw(managed).cast(), NAME.as_ptr(), Some(drop_capsule))
        };
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

#[pymethods]
impl PyArray {
    /// __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> capsule
    ///
    /// The elements for another library. They are shared; where they cannot be written to they are marked as read-only,
    /// and a library that does not understand the mark (max_version below 1.0) gets a copy.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        if dl_device.is_some_and(|(kind, _)| kind != CPU) {
            return Err(PyBufferError::new_err(
                "arrays are only handed out in host memory, which is device (1, 0)",
            ));
        }
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let array = self.array();
        let memory = wait(py, || {
            let shared = array.host_memory()?;
            let copied = copy == Some(true) || (!versioned && copy.is_none() && !shared.is_writable());
            if copied { fresh(&array)?.host_memory() } else { Ok(shared) }
        })?;
        export(py, memory, versioned)
    }

    /// __dlpack_device__(self) -> tuple[int, int]
    ///
    /// Host memory: (1, 0).
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }
}

/// The same elements in memory that nobody else has.
fn fresh(array: &Array) -> pellucid::Result<Array> {
    let array = Array::from_raw(&array.to_bytes()?, array.shape_ref().clone(), array.dtype());
    array.check().map(|()| array)
}

/// The tensor in a capsule, which stays its owner, and whether it can be written to.
fn in_capsule<'a>(capsule: &'a Bound<'_, PyAny>) -> PyResult<(&'a Tensor, bool)> {
    let raw = capsule.as_ptr();
    // SAFETY: the checks of the capsule API. A tensor lives as long as the capsule that nobody took it out of.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, NAME.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(raw, NAME.as_ptr()).cast::<Managed>();
            return Ok((&(*managed).tensor, true));
        }
        if ffi::PyCapsule_IsValid(raw, VERSIONED_NAME.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(raw, VERSIONED_NAME.as_ptr()).cast::<Versioned>();
            return Ok((&(*managed).tensor, (*managed).flags & READ_ONLY == 0));
        }
    }
    Err(PyTypeError::new_err("__dlpack__ must return a capsule with a tensor"))
}

/// The array of an object that has `__dlpack__`.
pub fn import(value: &Bound<'_, PyAny>, wide: bool, copying: Copying) -> PyResult<Array> {
    let py = value.py();
    let options = pyo3::types::PyDict::new(py);
    options.set_item("max_version", (1, 0))?;
    // Older libraries do not know the argument.
    let capsule = match value.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => value.call_method0("__dlpack__")?,
        other => other?,
    };
    let (tensor, writable) = in_capsule(&capsule)?;
    if !HOST_DEVICES.contains(&tensor.device_type) {
        let message = format!(
            "[from_dlpack] the elements are on device type {}, not in host memory",
            tensor.device_type
        );
        return Err(PyValueError::new_err(message));
    }
    let source = source_of(tensor.code, tensor.bits).filter(|_| tensor.lanes == 1).ok_or_else(|| {
        PyValueError::new_err(format!(
            "[from_dlpack] no dtype has code {} and {} bits",
            tensor.code, tensor.bits
        ))
    })?;
    let source = if wide && source == Source::Double { Source::Same(Dtype::Float64) } else { source };
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    check_axes(ndim)?;
    let list = |pointer: *mut i64| -> Vec<i64> {
        // SAFETY: the standard gives both lists `ndim` entries; without axes they may be null.
        if ndim == 0 { Vec::new() } else { unsafe { std::slice::from_raw_parts(pointer, ndim) }.to_vec() }
    };
    let shape: Vec<usize> = list(tensor.shape).iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let size = source.size() as isize;
    let strides: Vec<isize> = if tensor.strides.is_null() {
        let mut step = size;
        let mut strides: Vec<isize> = shape
            .iter()
            .rev()
            .map(|&n| {
                let stride = step;
                step = step.saturating_mul(n as isize);
                stride
            })
            .collect();
        strides.reverse();
        strides
    } else {
        list(tensor.strides).iter().map(|&s| (s as isize).saturating_mul(size)).collect()
    };
    let keeper = || Ok(Keeper { object: capsule.clone().unbind(), writable });
    // SAFETY: the tensor describes readable memory, which lives as long as the capsule.
    unsafe {
        let start = tensor.data.cast_const().cast::<u8>().add(tensor.byte_offset as usize);
        Block { start, shape: &shape, strides: &strides, source }.array(copying, keeper)
    }
}

/// from_dlpack(x: DLPackCompatible, /, *, copy: bool | None = None) -> array
///
/// An array of another library's elements: where they are if they can stay there, else a copy. copy=True always copies,
/// copy=False raises a ValueError where a copy is needed. Nothing is ever written to elements that are shared; what their
/// owner writes is seen by whatever is computed from them afterwards.
#[pyfunction]
#[pyo3(signature = (x, /, *, copy = None))]
fn from_dlpack(py: Python<'_>, x: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<PyArray> {
    if let Ok(own) = x.cast::<PyArray>() {
        let array = own.get().array();
        return match copy {
            Some(true) => wait(py, || fresh(&array)).map(PyArray::new),
            _ => Ok(PyArray::new(array)),
        };
    }
    import(x, false, Copying::from_argument(copy)).map(PyArray::new)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: from_dlpack);
    Ok(())
}
