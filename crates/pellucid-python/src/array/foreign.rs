//! Memory of other libraries: sharing it, copying it, and how the buffer protocol describes it.

use std::ffi::CStr;

use half::bf16;
use pellucid::array::Foreign;
use pellucid::memory::Scratch;
use pellucid::{Array, Dtype, Shape};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::error::OrRaise;

/// Elements of other types than arrays have are narrowed to these.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Same(Dtype),
    /// `float64`, which becomes `float32` unless asked for.
    Double,
    /// Two `float64`, which become `complex64`.
    DoubleComplex,
}

impl Source {
    pub fn size(self) -> usize {
        match self {
            Source::Same(dtype) => dtype.size(),
            Source::Double => 8,
            Source::DoubleComplex => 16,
        }
    }
}

/// Whether elements of another library are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    Always,
    /// Only where they cannot stay where they are.
    IfNeeded,
    Never,
}

impl Copying {
    /// What the argument `copy` of functions means that share if they can.
    pub fn from_argument(copy: Option<bool>) -> Copying {
        match copy {
            Some(true) => Copying::Always,
            Some(false) => Copying::Never,
            None => Copying::IfNeeded,
        }
    }
}

/// The error for a copy that was not wanted.
pub fn needs_copy(why: &str) -> PyErr {
    PyValueError::new_err(format!("[array] copy=False, but {why}"))
}

/// Who keeps a block of foreign memory, and whether it can be written to.
pub struct Keeper {
    pub object: Py<PyAny>,
    pub writable: bool,
}

/// A strided block of foreign memory. Strides are in bytes.
pub struct Block<'a> {
    pub start: *const u8,
    pub shape: &'a [usize],
    pub strides: &'a [isize],
    pub source: Source,
}

impl Block<'_> {
    /// The array of the block: its elements where they are, if that is wanted and possible, else a copy.
    ///
    /// # Safety
    /// Every element of the block must be readable, and stay so as long as the keeper's object lives.
    pub unsafe fn array(
        &self,
        copying: Copying,
        keeper: impl FnOnce() -> PyResult<Keeper>,
    ) -> PyResult<Array> {
        check_axes(self.shape.len())?;
        check_sizes(self.shape)?;
        if copying != Copying::Always
            && let Some(strides) = self.element_strides()
            && let Source::Same(dtype) = self.source
        {
            let Keeper { object, writable } = keeper()?;
            let (start, shape, owner) = (self.start, Shape::from(self.shape), Box::new(object));
            let foreign = Foreign { start, shape, strides, dtype, writable, owner };
            if foreign.fits() {
                // SAFETY: the caller's word.
                return unsafe { Array::from_foreign(foreign) }.or_raise();
            }
        }
        if copying == Copying::Never {
            return Err(needs_copy(
                "these elements cannot be shared: their type, their alignment or their strides do not allow it",
            ));
        }
        // SAFETY: the caller's word.
        unsafe { self.copy() }
    }

    /// Strides in elements, if they are whole.
    fn element_strides(&self) -> Option<Vec<isize>> {
        let size = self.source.size() as isize;
        self.strides.iter().map(|&stride| (stride % size == 0).then_some(stride / size)).collect()
    }

    /// The elements in row-major order, narrowed where arrays have no such type.
    ///
    /// # Safety
    /// Every element of the block must be readable.
    unsafe fn copy(&self) -> PyResult<Array> {
        let (size, count) = (self.source.size(), Shape::from(self.shape).elements());
        let wanted = count.saturating_mul(size);
        if wanted == 0 {
            return self.narrowed(&[]);
        }
        if row_major(self.shape, self.strides, size) {
            // SAFETY: the block is in one piece, and readable by the caller's word.
            return self.narrowed(unsafe { std::slice::from_raw_parts(self.start, wanted) });
        }
        let mut bytes = Scratch::with_room("array", wanted).or_raise()?;
        {
            let mut index = vec![0; self.shape.len()];
            for _ in 0..count {
                let moved: isize = index.iter().zip(self.strides).map(|(&i, &s)| i as isize * s).sum();
                // SAFETY: an element of the block.
                let element = unsafe { std::slice::from_raw_parts(self.start.offset(moved), size) };
                bytes.extend_from_slice(element).or_raise()?;
                for (i, &n) in index.iter_mut().zip(self.shape).rev() {
                    *i += 1;
                    if *i < n {
                        break;
                    }
                    *i = 0;
                }
            }
        }
        self.narrowed(&bytes)
    }

    fn narrowed(&self, bytes: &[u8]) -> PyResult<Array> {
        let narrow = || -> pellucid::Result<Scratch<u8>> {
            let mut narrow = Scratch::with_room("array", bytes.len() / 2)?;
            for chunk in bytes.as_chunks::<8>().0 {
                narrow.extend_from_slice(&(f64::from_ne_bytes(*chunk) as f32).to_ne_bytes())?;
            }
            Ok(narrow)
        };
        match self.source {
            Source::Same(dtype) => Array::from_raw(bytes, self.shape.to_vec(), dtype),
            Source::Double => Array::from_raw(&narrow().or_raise()?, self.shape.to_vec(), Dtype::Float32),
            Source::DoubleComplex => {
                Array::from_raw(&narrow().or_raise()?, self.shape.to_vec(), Dtype::Complex64)
            }
        }
        .or_raise()
    }
}

/// Fails for more axes than arrays have.
pub fn check_axes(axes: usize) -> PyResult<()> {
    if axes <= Shape::MAX_AXES {
        return Ok(());
    }
    let most = Shape::MAX_AXES;
    Err(PyValueError::new_err(format!("[array] {axes} axes are given, and an array has {most} at most")))
}

/// Fails for sizes that MLX has no number for.
pub fn check_sizes(shape: &[usize]) -> PyResult<()> {
    match shape.iter().find(|&&size| i32::try_from(size).is_err()) {
        None => Ok(()),
        Some(size) => Err(too_large(size)),
    }
}

/// The error for a size beyond 32 bits, in the words that MLX's users look for.
pub fn too_large(size: impl std::fmt::Display) -> PyErr {
    PyOverflowError::new_err(format!(
        "Shape dimension {size} is outside the supported range [{}, {}]. MLX currently uses 32-bit integers for shape \
         dimensions.",
        i32::MIN,
        i32::MAX
    ))
}

fn row_major(shape: &[usize], strides: &[isize], size: usize) -> bool {
    let mut expected = size as isize;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(&n, &stride)| {
            let fits = n == 1 || stride == expected;
            expected = expected.saturating_mul(n as isize);
            fits
        })
}

/// A buffer held while it is read. PyO3's own does not take those without axes that leave out their shape. It lies in a
/// box, because the lists of a buffer may be parts of it.
struct Held(Box<ffi::Py_buffer>);

impl Held {
    fn new(obj: &Bound<'_, PyAny>) -> Option<Held> {
        // SAFETY: only objects that offer a buffer are asked; the table is filled by the call.
        unsafe {
            if ffi::PyObject_CheckBuffer(obj.as_ptr()) == 0 {
                return None;
            }
            let mut table: Box<ffi::Py_buffer> = Box::new(std::mem::zeroed());
            if ffi::PyObject_GetBuffer(obj.as_ptr(), &mut *table, ffi::PyBUF_RECORDS_RO) == -1 {
                // An object whose elements have no buffer may offer them in another way.
                drop(PyErr::take(obj.py()));
                return None;
            }
            Some(Held(table))
        }
    }

    fn format(&self) -> String {
        if self.0.format.is_null() {
            return "B".to_owned();
        }
        // SAFETY: a text that lives as long as the buffer.
        unsafe { CStr::from_ptr(self.0.format) }.to_string_lossy().into_owned()
    }

    fn list(&self, pointer: *mut ffi::Py_ssize_t) -> &[ffi::Py_ssize_t] {
        let axes = if pointer.is_null() { 0 } else { self.0.ndim as usize };
        // SAFETY: the lists of a buffer have one entry per axis.
        if axes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, axes) } }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: filled by the interpreter, and released once.
        unsafe { ffi::PyBuffer_Release(&mut *self.0) };
    }
}

/// The array of an object with a buffer; `None` if it has none. `wide` keeps `float64`.
pub fn array(obj: &Bound<'_, PyAny>, wide: bool, copying: Copying) -> PyResult<Option<Array>> {
    let Some(buffer) = Held::new(obj) else { return half_floats(obj, copying) };
    let (format, size) = (buffer.format(), buffer.0.itemsize as usize);
    let Some(source) = source_of(&format, size) else {
        return Err(PyValueError::new_err(format!(
            "elements of format {format:?} and {size} bytes have no dtype"
        )));
    };
    let source = if wide && source == Source::Double { Source::Same(Dtype::Float64) } else { source };
    let shape: Vec<usize> = buffer.list(buffer.0.shape).iter().map(|&n| n as usize).collect();
    let strides = buffer.list(buffer.0.strides);
    let block = Block { start: buffer.0.buf.cast_const().cast(), shape: &shape, strides, source };
    let keeper = || {
        // A view holds the buffer, and lets it go under the interpreter's lock, whichever thread drops the array.
        let object = PyMemoryView::from(obj)?.into_any().unbind();
        Ok(Keeper { object, writable: buffer.0.readonly == 0 })
    };
    // SAFETY: the buffer describes readable memory, which is held while it is copied, and by the view afterwards.
    unsafe { block.array(copying, keeper) }.map(Some)
}

/// NumPy's arrays of `bfloat16` have no buffer: their bytes are read as integers.
fn half_floats(obj: &Bound<'_, PyAny>, copying: Copying) -> PyResult<Option<Array>> {
    let is_bfloat16 = || -> PyResult<bool> {
        let name: String = obj.getattr("dtype")?.getattr("name")?.extract()?;
        Ok(name == "bfloat16" && obj.hasattr("__array_interface__")?)
    };
    if !is_bfloat16().unwrap_or(false) {
        return Ok(None);
    }
    let words = obj.call_method1("view", ("uint16",))?;
    match array(&words, false, copying)? {
        Some(words) => pellucid::ops::view(&words, Dtype::Bfloat16).or_raise().map(Some),
        None => Ok(None),
    }
}

/// What a buffer's format and size say of its elements.
fn source_of(format: &str, size: usize) -> Option<Source> {
    if format == "bfloat16" && size == size_of::<bf16>() {
        return Some(Source::Same(Dtype::Bfloat16));
    }
    let own = if cfg!(target_endian = "little") { '<' } else { '>' };
    let code = format.trim_start_matches(['@', '=', own]);
    let dtype = match (code, size) {
        ("?", 1) => Dtype::Bool,
        ("B" | "c", 1) => Dtype::Uint8,
        ("b", 1) => Dtype::Int8,
        ("H", 2) => Dtype::Uint16,
        ("h", 2) => Dtype::Int16,
        ("I" | "L", 4) => Dtype::Uint32,
        ("i" | "l", 4) => Dtype::Int32,
        ("L" | "Q" | "N", 8) => Dtype::Uint64,
        ("l" | "q" | "n", 8) => Dtype::Int64,
        ("e", 2) => Dtype::Float16,
        ("f", 4) => Dtype::Float32,
        ("d", 8) => return Some(Source::Double),
        ("Zf", 8) => Dtype::Complex64,
        ("Zd", 16) => return Some(Source::DoubleComplex),
        _ => return None,
    };
    Some(Source::Same(dtype))
}
