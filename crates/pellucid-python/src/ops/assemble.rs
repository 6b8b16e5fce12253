//! Arrays joined, divided, repeated, padded and compared.

use pellucid::ops::{Contraction, Cuts, Limit, PadMode, PadWidth};
use pellucid::{Array, Axes, Shape, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::shape::argument;
use crate::args::{Arr, Arrays, Count, Input, Int, Ints, Parts, Sizes, alone, items, pair, sizes};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;
use crate::type_name;

/// Equal parts, or those between positions.
pub fn divided(a: &Array, Parts(cuts): Parts, axis: i64) -> pellucid::Result<Vec<Array>> {
    let cuts = match (cuts.single, cuts.list.as_slice()) {
        (true, &[sections]) => Cuts::Sections(usize::try_from(sections).map_err(|_| {
            argument("split", format!("the number of parts must be positive, but is {sections}"))
        })?),
        (_, positions) => Cuts::from(positions),
    };
    Ok(ops::split(a, cuts, axis))
}

/// How much to pad: a number, a pair, or a pair for each axis.
struct Width(PadWidth);

impl<'py> FromPyObject<'_, 'py> for Width {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Width> {
        if let Ok(same) = obj.extract::<Ints>() {
            return match sizes(&same.list)?.as_slice() {
                &[both] => Ok(Width(PadWidth::from(both))),
                &[before, after] => Ok(Width(PadWidth::from((before, after)))),
                other => Err(PyValueError::new_err(format!(
                    "[pad] expected one or two numbers, or a pair for each axis, but got {} numbers",
                    other.len()
                ))),
            };
        }
        if obj.try_iter().is_err() {
            return Err(PyTypeError::new_err("[pad] the widths are integers or pairs"));
        }
        let each = items(&obj, Shape::MAX_AXES, |item| match *item.extract::<Sizes>()?.0 {
            [before, after] => Ok((before, after)),
            [both] => Ok((both, both)),
            _ => Err(PyValueError::new_err("[pad] the widths of an axis are one or two numbers")),
        })?;
        Ok(Width(PadWidth::from(each)))
    }
}

fn mode(name: &str) -> pellucid::Result<PadMode> {
    Ok(match name {
        "constant" => PadMode::Constant,
        "edge" => PadMode::Edge,
        "reflect" => PadMode::Reflect,
        "symmetric" => PadMode::Symmetric,
        other => {
            return Err(argument(
                "pad",
                format!("mode is constant, edge, reflect or symmetric, not {other:?}"),
            ));
        }
    })
}

/// A limit of `clip` in the type of the array it meets.
fn limit(a: &Array, given: &Option<Input>) -> Limit<'static> {
    let input = Input::Array(a.clone());
    match given {
        Some(given) => Some(pair(given, &input).0).into(),
        None => None.into(),
    }
}

/// The axes that `tensordot` sums over: how many, or which of both.
struct Contracted(Contraction);

impl<'py> FromPyObject<'_, 'py> for Contracted {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Contracted> {
        if obj.extract::<Int>().is_ok() {
            return Ok(Contracted(Contraction::Count(obj.extract::<Count>()?.0)));
        }
        if obj.try_iter().is_err() {
            let message = format!("[tensordot] axes is a number or two lists, not {}", type_name(&obj));
            return Err(PyTypeError::new_err(message));
        }
        match items(&obj, 2, |item| item.extract::<Ints>())?.as_slice() {
            [a, b] => Ok(Contracted(Contraction::Axes(a.list.clone(), b.list.clone()))),
            other => Err(PyValueError::new_err(format!(
                "[tensordot] axes is a number or a list for each of the two arrays, not {} lists",
                other.len()
            ))),
        }
    }
}

crate::ops::functions! {
    concatenate(arrays, axis = Some(Int(0)), *, stream = None) as "(arrays, axis=0, *, stream=None)" [arrays: Arrays, axis: Option<Int>]
        "(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None)" "array"
        "Arrays joined along an axis; flat ones if it is None."
        => ops::concatenate(&arrays.refs(), axis.map(|axis| axis.0));
    concat(arrays, axis = Some(Int(0)), *, stream = None) as "(arrays, axis=0, *, stream=None)" [arrays: Arrays, axis: Option<Int>]
        "(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None)" "array"
        "Arrays joined along an axis; flat ones if it is None."
        => ops::concat(&arrays.refs(), axis.map(|axis| axis.0));
    stack(arrays, axis = Some(Int(0)), *, stream = None) as "(arrays, axis=0, *, stream=None)" [arrays: Arrays, axis: Option<Int>]
        "(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None)" "array"
        "Arrays of one shape joined along a new axis."
        => ops::stack(&arrays.refs(), axis.map_or(0, |axis| axis.0));
    split(a, /, indices_or_sections, axis = 0, *, stream = None) [a: Arr, indices_or_sections: Parts, axis: i64]
        "(a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None)" "list[array]"
        "Equal parts along an axis, or those between positions."
        => divided(&a, indices_or_sections, axis);
    tile(a, reps, /, *, stream = None) [a: Arr, reps: Sizes]
        "(a: array, reps: int | Sequence[int], /, *, stream: StreamOrDevice = None)" "array"
        "The array repeated as a whole."
        => ops::tile(&a, reps.0);
    repeat(array, repeats, axis = None, *, stream = None) [array: Arr, repeats: Count, axis: Option<Int>]
        "(array: array, repeats: int, axis: int | None = None, *, stream: StreamOrDevice = None)" "array"
        "Each element repeated."
        => ops::repeat(&array, repeats.0, axis.map(|axis| axis.0));
    roll(a, /, shift, axis = None, *, stream = None) [a: Arr, shift: Ints, axis: Option<Ints>]
        "(a: array, shift: int | Sequence[int], axis: None | int | Sequence[int] = None, /, *, stream: StreamOrDevice = None)" "array"
        "Elements moved along axes; what leaves at one end comes in at the other."
        => ops::roll(&a, &shift.list, axis.map_or(Axes::All, |axis| Axes::from(axis.list)));
    pad(a, pad_width, mode = None, constant_values = None, *, stream = None)
        [a: Arr, pad_width: Width, mode: Option<String>, constant_values: Option<Input>]
        "(a: array, pad_width: int | Sequence[int] | Sequence[tuple[int, int]], mode: str = 'constant', constant_values: scalar | array = 0, *, stream: StreamOrDevice = None)" "array"
        "Elements added at the ends of axes."
        => {
            let value = constant_values.unwrap_or(Input::Number(0i64.into()));
            let mode = self::mode(mode.as_deref().unwrap_or("constant"))?;
            Ok(ops::pad(&a, pad_width.0, mode, alone(&value)))
        };
    clip(a, /, a_min, a_max, *, stream = None) [a: Arr, a_min: Option<Input>, a_max: Option<Input>]
        "(a: array, /, a_min: scalar | array | None, a_max: scalar | array | None, *, stream: StreamOrDevice = None)" "array"
        "Elements held between two limits, one of which may be None."
        => {
            ops::clip(&a, limit(&a, &a_min), limit(&a, &a_max))
        };
    round(a, /, decimals = 0, stream = None) [a: Input, decimals: i32]
        "(a: array, /, decimals: int = 0, stream: StreamOrDevice = None)" "array"
        "The nearest number with so many decimal places."
        => ops::round(&a.single(), decimals);
    nan_to_num(a, nan = 0.0, posinf = None, neginf = None, *, stream = None)
        [a: Input, nan: f64, posinf: Option<f64>, neginf: Option<f64>]
        "(a: scalar | array, nan: float = 0, posinf: float | None = None, neginf: float | None = None, *, stream: StreamOrDevice = None)" "array"
        "NaN and infinities replaced by numbers."
        => ops::nan_to_num(&a.single(), nan, posinf, neginf);
    isclose(a, b, /, rtol = 1e-05, atol = 1e-08, *, equal_nan = false, stream = None)
        [a: Arr, b: Arr, rtol: f64, atol: f64, equal_nan: bool]
        "(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None)" "array"
        "True where |a - b| <= atol + rtol * |b|."
        => ops::isclose(&*a, &*b, rtol, atol, equal_nan);
    allclose(a, b, /, rtol = 1e-05, atol = 1e-08, *, equal_nan = false, stream = None)
        [a: Arr, b: Arr, rtol: f64, atol: f64, equal_nan: bool]
        "(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None)" "array"
        "True if isclose holds everywhere."
        => ops::allclose(&*a, &*b, rtol, atol, equal_nan);
    array_equal(a, b, equal_nan = false, stream = None) [a: Input, b: Input, equal_nan: bool]
        "(a: scalar | array, b: scalar | array, equal_nan: bool = False, stream: StreamOrDevice = None)" "array"
        "True if shapes and all elements are equal."
        => {
            let (a, b) = pair(&a, &b);
            ops::array_equal(a, b, equal_nan)
        };
    tensordot(a, b, /, axes = None, *, stream = None) [a: Arr, b: Arr, axes: Option<Contracted>]
        "(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, stream: StreamOrDevice = None)" "array"
        "Products summed over axes of both."
        => ops::tensordot(&a, &b, axes.map_or(Contraction::Count(2), |axes| axes.0));
}

/// where(condition: scalar | array, x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array
///
/// x where the condition holds, else y.
// Beside the table, because its name is a word of Rust's.
#[pyfunction(name = "where")]
#[pyo3(signature = (condition, x, y, /, *, stream = None))]
fn select(
    py: Python<'_>,
    condition: Input,
    x: Input,
    y: Input,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    build(py, stream, || {
        let (x, y) = pair(&x, &y);
        ops::where_(&condition.single(), x, y)
    })
}

pub fn register_all(m: &Bound<'_, PyModule>) -> PyResult<()> {
    register(m)?;
    crate::add_functions!(m: select);
    Ok(())
}
