//! New arrays from numbers.

use pellucid::op::Scalar;
use pellucid::{Array, Dtype, Error, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::args::{Arr, Arrays, Count, Input, Int, Sizes, alone, number};
use crate::call::build;
use crate::device::StreamArg;
use crate::dtype::PyDtype;

fn or(dtype: Option<PyDtype>, default: Dtype) -> Dtype {
    dtype.map_or(default, |dtype| dtype.0)
}

/// A value of another shape. As in MLX, an array keeps its type, and a number takes the one asked for if it can: a real
/// number becomes neither an integer nor complex.
fn filled(shape: Vec<usize>, vals: &Input, dtype: Option<Dtype>) -> Array {
    match vals {
        Input::Array(a) => ops::full(shape, a, a.dtype()),
        Input::Foreign(a) => ops::full(shape, a, dtype),
        Input::Number(Scalar::Float(real)) => {
            ops::full(shape, *real, dtype.filter(|dtype| dtype.is_floating()).unwrap_or(Dtype::Float32))
        }
        Input::Number(number) => ops::full(shape, *number, dtype.map(|dtype| number.dtype_beside(dtype))),
    }
}

crate::ops::functions! {
    zeros(shape, dtype = None, *, stream = None) [shape: Sizes, dtype: Option<PyDtype>]
        "(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None)" "array"
        "An array of zeros."
        => ops::zeros(shape.0, or(dtype, Dtype::Float32));
    ones(shape, dtype = None, *, stream = None) [shape: Sizes, dtype: Option<PyDtype>]
        "(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None)" "array"
        "An array of ones."
        => ops::ones(shape.0, or(dtype, Dtype::Float32));
    empty(shape, dtype = None, *, stream = None) [shape: Sizes, dtype: Option<PyDtype>]
        "(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None)" "array"
        "An array of zeros, by another name."
        => ops::empty(shape.0, or(dtype, Dtype::Float32));
    full(shape, vals, dtype = None, *, stream = None) [shape: Sizes, vals: Input, dtype: Option<PyDtype>]
        "(shape: int | Sequence[int], vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "A value everywhere."
        => filled(shape.0, &vals, dtype.map(|dtype| dtype.0));
    zeros_like(a, /, dtype = None, *, stream = None) [a: Arr, dtype: Option<PyDtype>]
        "(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "Zeros with the shape of an array."
        => ops::full_like(&a, 0, or(dtype, a.dtype()));
    ones_like(a, /, dtype = None, *, stream = None) [a: Arr, dtype: Option<PyDtype>]
        "(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "Ones with the shape of an array."
        => ops::full_like(&a, 1, or(dtype, a.dtype()));
    empty_like(a, /, dtype = None, *, stream = None) [a: Arr, dtype: Option<PyDtype>]
        "(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "Zeros with the shape of an array, by another name."
        => ops::full_like(&a, 0, or(dtype, a.dtype()));
    full_like(a, vals, dtype = None, *, stream = None) [a: Arr, vals: Input, dtype: Option<PyDtype>]
        "(a: array, vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "A value with the shape of an array."
        => ops::full_like(&a, alone(&vals), or(dtype, a.dtype()));
    eye(n, m = None, k = 0, dtype = None, *, stream = None)
        [n: Count, m: Option<Count>, k: i64, dtype: Option<PyDtype>]
        "(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None)" "array"
        "Ones on a diagonal, zeros elsewhere."
        => ops::eye(n.0, m.map(|m| m.0), k, or(dtype, Dtype::Float32));
    identity(n, dtype = None, *, stream = None) [n: Count, dtype: Option<PyDtype>]
        "(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None)" "array"
        "The square array with ones on the diagonal."
        => ops::identity(n.0, or(dtype, Dtype::Float32));
    tri(n, m = None, k = 0, dtype = None, *, stream = None)
        [n: Int, m: Option<Int>, k: i64, dtype: Option<PyDtype>]
        "(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "Ones on and below a diagonal, zeros above."
        => ops::tri(n.0.max(0) as usize, m.map(|m| m.0.max(0) as usize), k, or(dtype, Dtype::Float32));
    tril(x, k = 0, *, stream = None) [x: Arr, k: i64]
        "(x: array, k: int = 0, *, stream: StreamOrDevice = None)" "array"
        "The elements on and below a diagonal, zeros above."
        => ops::tril(&x, k);
    triu(x, k = 0, *, stream = None) [x: Arr, k: i64]
        "(x: array, k: int = 0, *, stream: StreamOrDevice = None)" "array"
        "The elements on and above a diagonal, zeros below."
        => ops::triu(&x, k);
    linspace(start, stop, num = Some(50), endpoint = true, dtype = None, stream = None) as "(start, stop, num=50, endpoint=True, dtype=None, stream=None)"
        [start: f64, stop: f64, num: Option<i64>, endpoint: bool, dtype: Option<PyDtype>]
        "(start: scalar, stop: scalar, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, stream: StreamOrDevice = None)" "array"
        "Evenly spaced numbers."
        => {
            let num = num.unwrap_or(50);
            let negative = |_| Error::Argument {
                function: "linspace",
                message: format!("the number of samples must not be negative, but is {num}"),
            };
            let num = usize::try_from(num).map_err(negative)?;
            Ok(ops::linspace(start, stop, num, endpoint, or(dtype, Dtype::Float32)))
        };
    meshgrid(*arrays, sparse = Some(false), indexing = None, stream = None) as "(*arrays, sparse=False, indexing=None, stream=None)"
        [arrays: Arrays, sparse: Option<bool>, indexing: Option<String>]
        "(*arrays: array, sparse: bool | None = False, indexing: str | None = 'xy', stream: StreamOrDevice = None)" "tuple[array, ...]"
        "Coordinate arrays from one-dimensional ones."
        => {
            let indexing = match indexing.as_deref() {
                None | Some("xy") => ops::Indexing::Xy,
                Some("ij") => ops::Indexing::Ij,
                Some(other) => return Err(Error::Argument {
                    function: "meshgrid",
                    message: format!("indexing is xy or ij, not {other:?}"),
                }),
            };
            Ok(crate::call::Tuple(ops::meshgrid(&arrays.refs(), sparse.unwrap_or(false), indexing)))
        };
}

/// arange(start: int | float, stop: None | int | float, step: None | int | float, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array
///
/// Numbers from start up to but not including stop. With one number, it is stop.
#[pyfunction]
#[pyo3(signature = (start = None, stop = None, step = None, dtype = None, *, stream = None))]
fn arange(
    py: Python<'_>,
    start: Option<Number>,
    stop: Option<Number>,
    step: Option<Number>,
    dtype: Option<PyDtype>,
    stream: Option<StreamArg>,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let zero = Scalar::Int(0);
    let (start, stop) = match (start, stop) {
        (Some(start), Some(stop)) => (start.0, stop.0),
        (Some(only), None) | (None, Some(only)) => (zero, only.0),
        (None, None) => return Err(PyTypeError::new_err("arange needs a number to stop at")),
    };
    let step = step.map_or(Scalar::Int(1), |step| step.0);
    let count = (stop.to_f64() - start.to_f64()) / step.to_f64();
    if count.is_finite() && count.ceil() > f64::from(i32::MAX) {
        let message =
            format!("[arange] {} numbers are asked for, and {} are possible", count.ceil(), i32::MAX);
        return Err(PyValueError::new_err(message));
    }
    build(py, stream, || ops::arange(start, stop, step, dtype.map(|dtype| dtype.0)))
}

/// A real number.
struct Number(Scalar);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Number> {
        match number(&obj)? {
            Some(value) if !matches!(value, Scalar::Complex(..)) => Ok(Number(value)),
            _ => Err(PyTypeError::new_err(format!("expected a real number, not {}", crate::type_name(&obj)))),
        }
    }
}

pub fn register_all(m: &Bound<'_, PyModule>) -> PyResult<()> {
    register(m)?;
    crate::add_functions!(m: arange);
    Ok(())
}
