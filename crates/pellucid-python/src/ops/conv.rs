//! Convolutions.

use pellucid::ops::{self, Conv, ConvolveMode, PerAxis};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::shape::argument;
use crate::args::{Arr, Ints};

/// One integer for all axes, or one for each.
struct Each(PerAxis);

impl<'py> FromPyObject<'_, 'py> for Each {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Each> {
        Ok(Each(PerAxis::from(obj.extract::<Ints>()?.list.as_slice())))
    }
}

impl Each {
    fn of(value: i64) -> Each {
        Each(PerAxis::from(value))
    }
}

/// Padding on both sides of each axis: a number, one for each axis, or a pair of such lists.
struct Padding {
    low: PerAxis,
    high: PerAxis,
}

impl<'py> FromPyObject<'_, 'py> for Padding {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Padding> {
        if let Ok(both) = obj.extract::<Each>() {
            return Ok(Padding { low: both.0.clone(), high: both.0 });
        }
        match obj.extract::<Vec<Each>>()?.as_slice() {
            [low, high] => Ok(Padding { low: low.0.clone(), high: high.0.clone() }),
            other => Err(PyValueError::new_err(format!(
                "[conv_general] padding is a number, a list, or a pair of lists, not {} lists",
                other.len()
            ))),
        }
    }
}

fn simple(stride: Each, padding: Each, dilation: Each, groups: i64) -> pellucid::Result<Conv> {
    Ok(Conv::new().stride(stride.0).padding(padding.0).dilation(dilation.0).groups(grouped(groups)?))
}

fn grouped(groups: i64) -> pellucid::Result<usize> {
    match usize::try_from(groups) {
        Ok(groups) if groups > 0 => Ok(groups),
        _ => Err(argument("conv", format!("groups must be positive, not {groups}"))),
    }
}

/// MLX's convolutions along one axis take more axes as well, with one stride, padding and dilation for all of them.
fn along<T>(input: &Arr, [one, two, three]: [T; 3]) -> T {
    match input.0.ndim() {
        4 => two,
        5 => three,
        _ => one,
    }
}

fn mode(name: &str) -> pellucid::Result<ConvolveMode> {
    Ok(match name {
        "full" => ConvolveMode::Full,
        "same" => ConvolveMode::Same,
        "valid" => ConvolveMode::Valid,
        other => return Err(argument("convolve", format!("mode is full, same or valid, not {other:?}"))),
    })
}

crate::ops::functions! {
    conv1d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, groups: i64]
        "(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "A convolution along one axis; channels last."
        => simple(stride, padding, dilation, groups).map(|conv| along(&input, [ops::conv1d, ops::conv2d, ops::conv3d])(&input, &weight, &conv));
    conv2d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, groups: i64]
        "(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "A convolution along two axes; channels last."
        => simple(stride, padding, dilation, groups).map(|conv| ops::conv2d(&input, &weight, &conv));
    conv3d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, groups: i64]
        "(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "A convolution along three axes; channels last."
        => simple(stride, padding, dilation, groups).map(|conv| ops::conv3d(&input, &weight, &conv));
    conv_general(input, weight, /, stride = Each::of(1), padding = Padding { low: 0.into(), high: 0.into() }, kernel_dilation = Each::of(1), input_dilation = Each::of(1), groups = 1, flip = false, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, kernel_dilation=1, input_dilation=1, groups=1, flip=False, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Padding, kernel_dilation: Each, input_dilation: Each, groups: i64, flip: bool]
        "(input: array, weight: array, /, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | tuple[Sequence[int], Sequence[int]] = 0, kernel_dilation: int | Sequence[int] = 1, input_dilation: int | Sequence[int] = 1, groups: int = 1, flip: bool = False, *, stream: StreamOrDevice = None)" "array"
        "A convolution along one to three axes; channels last."
        => grouped(groups).map(|groups| {
            let conv = Conv::new().stride(stride.0).padding_pair(padding.low, padding.high);
            let conv = conv.dilation(kernel_dilation.0).input_dilation(input_dilation.0);
            ops::conv_general(&input, &weight, &conv.groups(groups).flip(flip))
        });
    conv_transpose1d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), output_padding = Each::of(0), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, output_padding=0, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, output_padding: Each, groups: i64]
        "(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, output_padding: int = 0, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "The transposed convolution along one axis."
        => simple(stride, padding, dilation, groups).map(|conv| {
            let all = [ops::conv_transpose1d, ops::conv_transpose2d, ops::conv_transpose3d];
            along(&input, all)(&input, &weight, &conv.output_padding(output_padding.0))
        });
    conv_transpose2d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), output_padding = Each::of(0), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, output_padding=0, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, output_padding: Each, groups: i64]
        "(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, output_padding: int | tuple[int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "The transposed convolution along two axes."
        => simple(stride, padding, dilation, groups).map(|conv| ops::conv_transpose2d(&input, &weight, &conv.output_padding(output_padding.0)));
    conv_transpose3d(input, weight, /, stride = Each::of(1), padding = Each::of(0), dilation = Each::of(1), output_padding = Each::of(0), groups = 1, *, stream = None)
        as "(input, weight, /, stride=1, padding=0, dilation=1, output_padding=0, groups=1, *, stream=None)"
        [input: Arr, weight: Arr, stride: Each, padding: Each, dilation: Each, output_padding: Each, groups: i64]
        "(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, output_padding: int | tuple[int, int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None)" "array"
        "The transposed convolution along three axes."
        => simple(stride, padding, dilation, groups).map(|conv| ops::conv_transpose3d(&input, &weight, &conv.output_padding(output_padding.0)));
    convolve(a, v, /, mode = "full", *, stream = None) [a: Arr, v: Arr, mode: &str]
        "(a: array, v: array, /, mode: str = \"full\", *, stream: StreamOrDevice = None)" "array"
        "The discrete convolution of two arrays with one axis each."
        => self::mode(mode).map(|mode| ops::convolve(&a, &v, mode));
}
