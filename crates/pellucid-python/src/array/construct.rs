//! Arrays from Python's numbers, lists and foreign memory.

use half::{bf16, f16};
use num_complex::Complex32;
use pellucid::memory::Scratch;
use pellucid::op::Scalar;
use pellucid::{Array, Dtype, ops};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::foreign::{self, Copying, needs_copy};
use super::{PyArray, dlpack};
use crate::args::{Input, SizeList, number};
use crate::call::build;
use crate::dtype::PyDtype;
use crate::error::OrRaise;
use crate::type_name;

/// An array of whatever `array()` takes.
pub fn array(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    copying: Copying,
) -> PyResult<PyArray> {
    let new = is_list(value) || number(value)?.is_some();
    if new && copying == Copying::Never {
        return Err(needs_copy("an array of Python's numbers has its own memory"));
    }
    let made =
        if is_list(value) { from_list(py, value, dtype)? } else { from_object(py, value, dtype, copying)? };
    match dtype {
        Some(dtype) if made.dtype() != dtype => {
            if copying == Copying::Never {
                return Err(needs_copy(&format!("the elements are {}, not {dtype}", made.dtype())));
            }
            let cast = build(py, None, || ops::astype(&made, dtype))?;
            if copying != Copying::Always {
                // Of what the elements are now: the memory may be somebody else's, who goes on writing to it.
                let own = cast.array();
                py.detach(|| own.eval()).or_raise()?;
            }
            Ok(cast)
        }
        _ => Ok(PyArray::new(made)),
    }
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

fn from_object(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    copying: Copying,
) -> PyResult<Array> {
    // Foreign memory keeps 64 bits only if that is asked for.
    let wide = dtype == Some(Dtype::Float64);
    let own = value.is_instance_of::<PyArray>() || number(value)?.is_some();
    if !own
        && (wide || copying != Copying::Always)
        && let Some(array) = from_foreign(value, wide, copying)?
    {
        return Ok(array);
    }
    match Input::read(value)? {
        Some(Input::Array(a) | Input::Foreign(a)) => Ok(a),
        Some(Input::Number(v)) => from_numbers(py, &[v], vec![], dtype.unwrap_or(v.dtype())),
        None => Err(PyValueError::new_err(format!("an array cannot be made of {}", type_name(value)))),
    }
}

/// Memory of another library, by the buffer protocol, DLPack or `__array__`; `None` if it offers none of them.
pub fn from_foreign(value: &Bound<'_, PyAny>, wide: bool, copying: Copying) -> PyResult<Option<Array>> {
    if let Some(array) = foreign::array(value, wide, copying)? {
        return Ok(Some(array));
    }
    if value.hasattr("__dlpack__")? {
        return dlpack::import(value, wide, copying).map(Some);
    }
    if value.hasattr("__array__")? {
        return foreign::array(&value.call_method0("__array__")?, wide, copying);
    }
    Ok(None)
}

/// What a nested list holds: the sizes of its axes and its numbers in order.
struct Contents {
    shape: Vec<usize>,
    numbers: Scratch<Scalar>,
    /// An array stands among them, so that the list is put together from arrays.
    has_arrays: bool,
}

impl Contents {
    fn read(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        foreign::check_axes(depth)?;
        if !is_list(value) {
            return self.leaf(value, depth);
        }
        let length = value.len()?;
        match self.shape.get(depth) {
            // Deeper than the first number stood.
            None if !self.numbers.is_empty() => return Err(uneven()),
            None => self.shape.push(length),
            Some(&expected) if expected != length => return Err(uneven()),
            Some(_) => {}
        }
        for item in value.try_iter()? {
            self.read(&item?, depth + 1)?;
            if self.has_arrays {
                return Ok(());
            }
        }
        Ok(())
    }

    fn leaf(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if let Some(number) = number(value)? {
            if depth != self.shape.len() {
                return Err(uneven());
            }
            self.numbers.push(number).or_raise()?;
            return Ok(());
        }
        let an_array = value.is_instance_of::<PyArray>() || value.hasattr("__mlx_array__")?;
        // NumPy's arrays and its scalars, which are arrays without axes.
        if an_array || (!value.is_instance_of::<PyString>() && value.hasattr("__array_interface__")?) {
            self.has_arrays = true;
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "an array cannot be made of a list with {} in it",
            type_name(value)
        )))
    }
}

/// The error for lists that are no array, in the words that MLX's users look for.
fn uneven() -> PyErr {
    PyValueError::new_err("Initialization encountered non-uniform length.")
}

fn from_list(py: Python<'_>, value: &Bound<'_, PyAny>, dtype: Option<Dtype>) -> PyResult<Array> {
    let mut contents = Contents { shape: Vec::new(), numbers: Scratch::new("array"), has_arrays: false };
    contents.read(value, 0)?;
    if contents.has_arrays {
        let mut parts = Vec::with_capacity(value.len()?);
        for item in value.try_iter()? {
            parts.push(array(py, &item?, dtype, Copying::Always)?.array());
        }
        if parts.iter().any(|part| part.shape() != parts[0].shape()) {
            return Err(uneven());
        }
        let refs: Vec<&Array> = parts.iter().collect();
        return build(py, None, || ops::stack(&refs, 0)).map(|stacked: PyArray| stacked.array());
    }
    let dtype = dtype.unwrap_or_else(|| common(&contents.numbers));
    from_numbers(py, &contents.numbers, contents.shape, dtype)
}

/// The type a list of numbers has: the widest kind in it, `float32` if it is empty.
fn common(numbers: &[Scalar]) -> Dtype {
    if numbers.is_empty() {
        return Dtype::Float32;
    }
    let wider = |dtype: Dtype, number: &Scalar| match (dtype, number.dtype()) {
        // Integers beyond 32 bits beside real numbers are real numbers.
        (a, b) if a.is_inexact() || b.is_inexact() => a.promote(b),
        (Dtype::Uint64, _) | (_, Dtype::Uint64) => Dtype::Uint64,
        (a, b) => a.promote(b),
    };
    numbers.iter().fold(Dtype::Bool, wider)
}

fn from_numbers(py: Python<'_>, numbers: &[Scalar], shape: Vec<usize>, dtype: Dtype) -> PyResult<Array> {
    let mut bytes = Scratch::with_room("array", numbers.len().saturating_mul(dtype.size())).or_raise()?;
    for &number in numbers {
        check_size(number, dtype)?;
        store(number, dtype, &mut bytes).or_raise()?;
    }
    build(py, None, || Array::from_raw(&bytes, shape, dtype)).map(|made: PyArray| made.array())
}

/// Integers wrap in small types, as in MLX, but those of more than 32 bits do not become small ones in silence.
fn check_size(number: Scalar, dtype: Dtype) -> PyResult<()> {
    let wide = match number {
        Scalar::Int(v) => v < i64::from(i32::MIN) || v > i64::from(u32::MAX),
        Scalar::Uint(v) => v > u64::from(u32::MAX),
        _ => false,
    };
    if wide && !dtype.is_inexact() && dtype.size() < 8 {
        let message = format!("the number {} does not fit {dtype}", number.to_i64());
        return Err(PyOverflowError::new_err(message));
    }
    Ok(())
}

/// A number as it lies in memory, by the rules of `astype`: integers wrap; real numbers lose their fraction, saturate,
/// and NaN is zero.
fn store(number: Scalar, dtype: Dtype, out: &mut Scratch<u8>) -> pellucid::Result<()> {
    macro_rules! integer {
        ($T:ty) => {
            out.extend_from_slice(
                &match number {
                    Scalar::Bool(v) => <$T>::from(v),
                    Scalar::Int(v) => v as $T,
                    Scalar::Uint(v) => v as $T,
                    Scalar::Float(v) | Scalar::Complex(v, _) => v as $T,
                }
                .to_ne_bytes(),
            )
        };
    }
    let real = number.to_f64();
    match dtype {
        Dtype::Bool => {
            let set = match number {
                Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
                _ => real != 0.0,
            };
            out.push(u8::from(set))
        }
        Dtype::Uint8 => integer!(u8),
        Dtype::Uint16 => integer!(u16),
        Dtype::Uint32 => integer!(u32),
        Dtype::Uint64 => integer!(u64),
        Dtype::Int8 => integer!(i8),
        Dtype::Int16 => integer!(i16),
        Dtype::Int32 => integer!(i32),
        Dtype::Int64 => integer!(i64),
        Dtype::Float16 => out.extend_from_slice(&f16::from_f32(real as f32).to_ne_bytes()),
        Dtype::Bfloat16 => out.extend_from_slice(&bf16::from_f32(real as f32).to_ne_bytes()),
        Dtype::Float32 => out.extend_from_slice(&(real as f32).to_ne_bytes()),
        Dtype::Float64 => out.extend_from_slice(&real.to_ne_bytes()),
        Dtype::Complex64 => {
            let Complex32 { re, im } = number.to_complex();
            out.extend_from_slice(&re.to_ne_bytes())?;
            out.extend_from_slice(&im.to_ne_bytes())
        }
    }
}

/// asarray(a: scalar | array | Sequence | DLPackCompatible, dtype: Dtype | None = None, *, copy: bool | None = None) -> array
///
/// The object as an array. An array is returned as it is unless a copy or another dtype is asked for. Elements of other
/// libraries stay where they are if they can; copy=True copies them, copy=False raises a ValueError where a copy is
/// needed.
#[pyfunction]
#[pyo3(signature = (a, dtype = None, *, copy = None))]
fn asarray<'py>(
    a: &Bound<'py, PyAny>,
    dtype: Option<PyDtype>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    if let Ok(own) = a.cast::<PyArray>() {
        if copy == Some(false) {
            // As in MLX: an array that is one already is taken as it is by leaving `copy` out.
            return Err(needs_copy(
                "an array of an array has its own memory; leave copy out to have the array itself",
            ));
        }
        let current = own.get().array().dtype();
        if dtype.is_none_or(|dtype| dtype.0 == current) && copy.is_none() {
            return Ok(a.clone());
        }
    }
    if a.is_none() {
        return Err(PyTypeError::new_err("[asarray] an array cannot be made of None"));
    }
    let made = array(py, a, dtype.map(|dtype| dtype.0), Copying::from_argument(copy))?;
    Ok(Bound::new(py, made)?.into_any())
}

/// _restore(data: bytes, shape: tuple[int, ...], dtype: Dtype) -> array
///
/// An array from its bytes, for pickle.
#[pyfunction]
fn _restore(data: &[u8], shape: SizeList, dtype: PyDtype) -> PyResult<PyArray> {
    Array::from_raw(data, shape.0, dtype.0).or_raise().map(PyArray::new)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: asarray, _restore);
    Ok(())
}
