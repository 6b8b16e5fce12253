//! Element types, their families and what is known about them.

use pellucid::{Dtype, DtypeCategory};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::PyArray;
use crate::error::OrRaise;

/// The type of an array's elements.
#[pyclass(name = "Dtype", module = "pellucid.core", frozen, eq, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PyDtype(pub Dtype);

#[pymethods]
impl PyDtype {
    /// Bytes of one element.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    fn __repr__(&self) -> String {
        // MLX's name: programs compare and parse it.
        format!("mlx.core.{}", self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0 as u64
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&'static str,))> {
        Ok((py.import("pellucid.core")?.getattr("_dtype")?, (self.0.name(),)))
    }
}

/// _dtype(name: str) -> Dtype
///
/// The dtype of this name, for pickle.
#[pyfunction]
fn _dtype(name: &str) -> PyResult<PyDtype> {
    name.parse().or_raise().map(PyDtype)
}

/// The families of element types.
#[pyclass(name = "DtypeCategory", module = "pellucid.core", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "the names Python sees")]
pub enum PyDtypeCategory {
    complexfloating,
    floating,
    inexact,
    signedinteger,
    unsignedinteger,
    integer,
    number,
    generic,
}

impl PyDtypeCategory {
    fn category(self) -> DtypeCategory {
        match self {
            PyDtypeCategory::complexfloating => DtypeCategory::ComplexFloating,
            PyDtypeCategory::floating => DtypeCategory::Floating,
            PyDtypeCategory::inexact => DtypeCategory::Inexact,
            PyDtypeCategory::signedinteger => DtypeCategory::SignedInteger,
            PyDtypeCategory::unsignedinteger => DtypeCategory::UnsignedInteger,
            PyDtypeCategory::integer => DtypeCategory::Integer,
            PyDtypeCategory::number => DtypeCategory::Number,
            PyDtypeCategory::generic => DtypeCategory::Generic,
        }
    }
}

/// `bool` is a name of Python's own.
fn constant_name(dtype: Dtype) -> &'static str {
    if dtype == Dtype::Bool { "bool_" } else { dtype.name() }
}

/// An argument that is an element type or a family of them.
enum Kind {
    Dtype(Dtype),
    Category(PyDtypeCategory),
}

impl Kind {
    /// True if every type of this one belongs to the other.
    fn is_within(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Dtype(a), Kind::Dtype(b)) => a == b,
            (Kind::Dtype(a), Kind::Category(b)) => a.is(b.category()),
            (Kind::Category(a), Kind::Category(b)) => {
                Dtype::ALL.iter().all(|d| !d.is(a.category()) || d.is(b.category()))
            }
            (Kind::Category(_), Kind::Dtype(_)) => false,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Kind {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Kind> {
        if let Ok(dtype) = obj.cast::<PyDtype>() {
            return Ok(Kind::Dtype(dtype.get().0));
        }
        match obj.cast::<PyDtypeCategory>() {
            Ok(category) => Ok(Kind::Category(*category.get())),
            Err(_) => {
                let message =
                    format!("expected a dtype or a category of dtypes, not {}", crate::type_name(&obj));
                Err(if obj.is_none() {
                    PyTypeError::new_err(message)
                } else {
                    PyValueError::new_err(message)
                })
            }
        }
    }
}

/// issubdtype(arg1: Dtype | DtypeCategory, arg2: Dtype | DtypeCategory) -> bool
///
/// True if the first is the second or belongs to it.
#[pyfunction]
fn issubdtype(arg1: Kind, arg2: Kind) -> bool {
    arg1.is_within(&arg2)
}

/// isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool
///
/// True if a type is of a kind: a type, one of the names of the array API standard, or a tuple of these.
#[pyfunction]
fn isdtype(dtype: PyDtype, kind: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(kinds) = kind.cast::<PyTuple>() {
        let mut found = false;
        for kind in kinds {
            found |= isdtype(dtype, &kind)?;
        }
        return Ok(found);
    }
    if let Ok(other) = kind.cast::<PyDtype>() {
        return Ok(other.get().0 == dtype.0);
    }
    let Ok(name) = kind.extract::<String>() else {
        let message = "[isdtype] kind must be a dtype, a string, or a tuple of dtypes and strings";
        return Err(PyValueError::new_err(message));
    };
    let d = dtype.0;
    Ok(match name.as_str() {
        "bool" => d == Dtype::Bool,
        "signed integer" => d.is_signed_integer(),
        "unsigned integer" => d.is_unsigned_integer(),
        "integral" => d.is_integer(),
        "real floating" => d.is_floating(),
        "complex floating" => d.is_complex(),
        "numeric" => d != Dtype::Bool,
        _ => {
            let message = format!(
                "[isdtype] {name:?} is not a kind; use bool, signed integer, unsigned integer, integral, real \
                 floating, complex floating or numeric"
            );
            return Err(PyValueError::new_err(message));
        }
    })
}

fn dtype_of(function: &str, value: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    if let Ok(dtype) = value.cast::<PyDtype>() {
        return Ok(dtype.get().0);
    }
    match value.cast::<PyArray>() {
        Ok(array) => Ok(array.get().array().dtype()),
        Err(_) => {
            let message = format!("[{function}] takes arrays and dtypes, not {}", crate::type_name(value));
            Err(if value.is_none() && function == "can_cast" {
                PyTypeError::new_err(message)
            } else {
                PyValueError::new_err(message)
            })
        }
    }
}

/// result_type(*arrays_and_dtypes: array | Dtype) -> Dtype
///
/// The type that the inputs are promoted to.
#[pyfunction]
#[pyo3(signature = (*arrays_and_dtypes))]
fn result_type(arrays_and_dtypes: &Bound<'_, PyTuple>) -> PyResult<PyDtype> {
    let mut result: Option<Dtype> = None;
    for value in arrays_and_dtypes {
        let dtype = dtype_of("result_type", &value)?;
        result = Some(result.map_or(dtype, |before| before.promote(dtype)));
    }
    let nothing = || PyValueError::new_err("[result_type] needs at least one array or dtype");
    result.map(PyDtype).ok_or_else(nothing)
}

/// can_cast(from_: array | Dtype, to: Dtype) -> bool
///
/// True if promotion turns the first type into the second.
#[pyfunction]
fn can_cast(from_: &Bound<'_, PyAny>, to: PyDtype) -> PyResult<bool> {
    Ok(dtype_of("can_cast", from_)?.promote(to.0) == to.0)
}

/// Limits of a floating type.
#[pyclass(name = "finfo", module = "pellucid.core", frozen)]
struct Finfo {
    #[pyo3(get)]
    min: f64,
    #[pyo3(get)]
    max: f64,
    #[pyo3(get)]
    eps: f64,
    #[pyo3(get)]
    smallest_normal: f64,
    #[pyo3(get)]
    bits: usize,
    #[pyo3(get)]
    dtype: PyDtype,
}

#[pymethods]
impl Finfo {
    #[new]
    #[pyo3(signature = (dtype, /))]
    fn new(dtype: PyDtype) -> PyResult<Finfo> {
        // A complex number consists of two of these.
        let real = if dtype.0.is_complex() { Dtype::Float32 } else { dtype.0 };
        let (max, eps, smallest_normal) = match real {
            Dtype::Float16 => {
                (half::f16::MAX.to_f64(), half::f16::EPSILON.to_f64(), half::f16::MIN_POSITIVE.to_f64())
            }
            Dtype::Bfloat16 => {
                (half::bf16::MAX.to_f64(), half::bf16::EPSILON.to_f64(), half::bf16::MIN_POSITIVE.to_f64())
            }
            Dtype::Float32 => (f32::MAX.into(), f32::EPSILON.into(), f32::MIN_POSITIVE.into()),
            Dtype::Float64 => (f64::MAX, f64::EPSILON, f64::MIN_POSITIVE),
            other => return Err(PyValueError::new_err(format!("[finfo] {other} is not inexact; use iinfo"))),
        };
        Ok(Finfo { min: -max, max, eps, smallest_normal, bits: real.size() * 8, dtype: PyDtype(real) })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let short = |value: f64| pyo3::types::PyFloat::new(py, value).call_method1("__format__", ("g",));
        Ok(format!("finfo(min={}, max={}, dtype={})", short(self.min)?, short(self.max)?, self.dtype.0))
    }
}

/// Limits of an integer type.
#[pyclass(name = "iinfo", module = "pellucid.core", frozen)]
struct Iinfo {
    #[pyo3(get)]
    min: i128,
    #[pyo3(get)]
    max: i128,
    #[pyo3(get)]
    bits: usize,
    #[pyo3(get)]
    dtype: PyDtype,
}

#[pymethods]
impl Iinfo {
    #[new]
    #[pyo3(signature = (dtype, /))]
    fn new(dtype: PyDtype) -> PyResult<Iinfo> {
        let bits = dtype.0.size() * 8;
        let (min, max) = if dtype.0.is_unsigned_integer() {
            (0, (1i128 << bits) - 1)
        } else if dtype.0.is_signed_integer() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            let message = format!("[iinfo] {} is not an integer type", dtype.0);
            return Err(PyValueError::new_err(message));
        };
        Ok(Iinfo { min, max, bits, dtype })
    }

    fn __repr__(&self) -> String {
        format!("iinfo(min={}, max={}, dtype={})", self.min, self.max, self.dtype.0)
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyDtype>()?;
    m.add_class::<PyDtypeCategory>()?;
    m.add_class::<Finfo>()?;
    m.add_class::<Iinfo>()?;
    for dtype in Dtype::ALL {
        m.add(constant_name(dtype), PyDtype(dtype))?;
    }
    let categories = m.getattr("DtypeCategory")?;
    for name in [
        "complexfloating",
        "floating",
        "inexact",
        "signedinteger",
        "unsignedinteger",
        "integer",
        "number",
        "generic",
    ] {
        m.add(name, categories.getattr(name)?)?;
    }
    crate::add_functions!(m: _dtype, issubdtype, isdtype, result_type, can_cast);
    Ok(())
}
