//! Shapes, axes and element types.

use pellucid::{Array, Axes, Error, ops};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::args::{Arr, Arrays, Count, Input, Int, IntList, Ints, NewSizes, Parts, SizeList, axes};
use crate::array::PyArray;
use crate::call::{Few, Tuple, build};
use crate::device::StreamArg;
use crate::dtype::PyDtype;

fn order(axes: Option<IntList>) -> Axes {
    axes.map_or(Axes::All, |axes| Axes::from(axes.0))
}

mod table {
    use super::*;

    crate::ops::functions! {
        reshape(a, /, shape, *, stream = None) [a: Arr, shape: NewSizes]
            "(a: array, /, shape: Sequence[int], *, stream: StreamOrDevice = None)" "array"
            "The elements in another shape; one size may be -1."
            => ops::reshape(&a, shape.0);
        flatten(a, /, start_axis = 0, end_axis = -1, *, stream = None) [a: Arr, start_axis: i64, end_axis: i64]
            "(a: array, /, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None)" "array"
            "The axes from one to another joined."
            => ops::flatten(&a, start_axis, end_axis);
        unflatten(a, /, axis, shape, *, stream = None) [a: Arr, axis: Int, shape: IntList]
            "(a: array, /, axis: int, shape: Sequence[int], *, stream: StreamOrDevice = None)" "array"
            "One axis divided into several."
            => ops::unflatten(&a, axis.0, shape.0);
        transpose(a, /, axes = None, *, stream = None) [a: Arr, axes: Option<IntList>]
            "(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None)" "array"
            "The axes in another order; reversed if none is given."
            => ops::transpose(&a, order(axes));
        permute_dims(a, /, axes = None, *, stream = None) [a: Arr, axes: Option<IntList>]
            "(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None)" "array"
            "The axes in another order; reversed if none is given."
            => ops::permute_dims(&a, order(axes));
        matrix_transpose(a, /, *, stream = None) [a: Arr]
            "(a: array, /, *, stream: StreamOrDevice = None)" "array"
            "The last two axes swapped."
            => ops::matrix_transpose(&a);
        swapaxes(a, /, axis1, axis2, *, stream = None) [a: Arr, axis1: Int, axis2: Int]
            "(a: array, /, axis1: int, axis2: int, *, stream: StreamOrDevice = None)" "array"
            "Two axes swapped."
            => ops::swapaxes(&a, axis1.0, axis2.0);
        moveaxis(a, /, source, destination, *, stream = None) [a: Arr, source: Int, destination: Int]
            "(a: array, /, source: int, destination: int, *, stream: StreamOrDevice = None)" "array"
            "One axis moved to another place."
            => ops::moveaxis(&a, source.0, destination.0);
        squeeze(a, /, axis = None, *, stream = None) [a: Arr, axis: Option<Ints>]
            "(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None)" "array"
            "Without axes of size one."
            => ops::squeeze(&a, axes(axis));
        expand_dims(a, /, axis, *, stream = None) [a: Arr, axis: Ints]
            "(a: array, /, axis: int | Sequence[int], *, stream: StreamOrDevice = None)" "array"
            "New axes of size one, at these places of the result."
            => ops::expand_dims(&a, axes(Some(axis)));
        broadcast_to(a, /, shape, *, stream = None) [a: Input, shape: SizeList]
            "(a: scalar | array, /, shape: Sequence[int], *, stream: StreamOrDevice = None)" "array"
            "The array repeated up to a shape, without copying."
            => ops::broadcast_to(&a.single(), shape.0);
        broadcast_arrays(*arrays, stream = None) [arrays: Arrays]
            "(*arrays: array, stream: StreamOrDevice = None)" "tuple[array, ...]"
            "The arrays, all with the shape they broadcast to."
            => ops::broadcast_arrays(&arrays.refs());
        atleast_1d(*arys, stream = None) [arys: Arrays]
            "(*arys: array, stream: StreamOrDevice = None)" "array | list[array]"
            "Each array with at least one axis."
            => each(&arys, ops::atleast_1d);
        atleast_2d(*arys, stream = None) [arys: Arrays]
            "(*arys: array, stream: StreamOrDevice = None)" "array | list[array]"
            "Each array with at least two axes."
            => each(&arys, ops::atleast_2d);
        atleast_3d(*arys, stream = None) [arys: Arrays]
            "(*arys: array, stream: StreamOrDevice = None)" "array | list[array]"
            "Each array with at least three axes."
            => each(&arys, ops::atleast_3d);
        flip(a, /, axis = None, *, stream = None) [a: Arr, axis: Option<Ints>]
            "(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None)" "array"
            "The order of elements along axes reversed."
            => ops::flip(&a, axes(axis));
        astype(a, dtype, /, *, stream = None) [a: Arr, dtype: PyDtype]
            "(a: array, dtype: Dtype, /, *, stream: StreamOrDevice = None)" "array"
            "The elements converted to another dtype."
            => ops::astype(&a, dtype.0);
        view(a, dtype, stream = None) [a: Input, dtype: PyDtype]
            "(a: scalar | array, dtype: Dtype, stream: StreamOrDevice = None)" "array"
            "The same bytes read as another dtype."
            => ops::view(&a.single(), dtype.0);
        contiguous(a, /, allow_col_major = false, *, stream = None) [a: Arr, allow_col_major: bool]
            "(a: array, /, allow_col_major: bool = False, *, stream: StreamOrDevice = None)" "array"
            "The array row-major in memory; column-major is never kept here."
            => {
                let _ = allow_col_major;
                ops::contiguous(&a)
            };
        as_strided(a, /, shape = None, strides = None, offset = Count(0), *, stream = None) as "(a, /, shape=None, strides=None, offset=0, *, stream=None)"
            [a: Arr, shape: Option<SizeList>, strides: Option<IntList>, offset: Count]
            "(a: array, /, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None, offset: int = 0, *, stream: StreamOrDevice = None)" "array"
            "Any shape and strides over the row-major elements."
            => {
                let shape = shape.map_or_else(|| a.shape().to_vec(), |shape| shape.0);
                let strides: Option<Vec<isize>> = strides.map(|s| s.0.into_iter().map(|s| s as isize).collect());
                ops::as_strided(&a, shape, strides.as_deref(), offset.0)
            };
        diag(a, /, k = 0, *, stream = None) [a: Arr, k: i64]
            "(a: array, /, k: int = 0, *, stream: StreamOrDevice = None)" "array"
            "A diagonal of a matrix, or a matrix with the elements on a diagonal."
            => ops::diag(&a, k);
        diagonal(a, offset = 0, axis1 = 0, axis2 = 1, stream = None) [a: Arr, offset: i64, axis1: i64, axis2: i64]
            "(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None)" "array"
            "A diagonal of two axes, along a new last axis."
            => ops::diagonal(&a, offset, axis1, axis2);
        unstack(x, /, *, axis = 0, stream = None) [x: Arr, axis: i64]
            "(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None)" "tuple[array, ...]"
            "The arrays along an axis, which disappears."
            => Tuple(ops::unstack(&x, axis));
        stop_gradient(a, /, *, stream = None) [a: Arr]
            "(a: array, /, *, stream: StreamOrDevice = None)" "array"
            "The same elements, through which no derivative passes."
            => pellucid::transform::stop_gradient(&a);
    }
}

/// A function of each array: one result for one array, else a list.
fn each(arrays: &Arrays, function: fn(&Array) -> Array) -> Few {
    Few(arrays.0.iter().map(function).collect())
}

/// broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]
///
/// The shape that all of these broadcast to.
#[pyfunction]
#[pyo3(signature = (*shapes))]
fn broadcast_shapes<'py>(py: Python<'py>, shapes: Vec<SizeList>) -> PyResult<Bound<'py, PyTuple>> {
    use crate::error::OrRaise;
    let shapes: Vec<Vec<usize>> = shapes.into_iter().map(|shape| shape.0).collect();
    PyTuple::new(py, ops::broadcast_shapes(&shapes).or_raise()?.iter())
}

/// The integers of `*shape`: several, or one sequence.
fn spread(args: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    if args.len() == 1 {
        return Ok(args.get_item(0)?.extract::<Ints>()?.list);
    }
    Ok(args.extract::<Ints>()?.list)
}

/// The methods of arrays with signatures of their own.
macro_rules! methods {
    ($($name:ident $signature:tt [$($arg:ident: $ty:ty),*] $text:literal $returns:literal $doc:literal
        => |$a:ident| $body:expr;)*) => {
        #[pymethods]
        impl PyArray {
            $(#[doc = concat!(stringify!($name), $text, " -> ", $returns, "\n\n", $doc)]
            #[pyo3(signature = $signature)]
            fn $name(
                &self,
                py: Python<'_>,
                $($arg: $ty,)*
                stream: Option<StreamArg>,
            ) -> PyResult<impl for<'py> IntoPyObject<'py>> {
                let $a = &self.array();
                build(py, stream, || $body)
            })*
        }
    };
}

methods! {
    flatten(start_axis = 0, end_axis = -1, *, stream = None) [start_axis: i64, end_axis: i64]
        "(self, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None)" "array"
        "The axes from one to another joined."
        => |a| ops::flatten(a, start_axis, end_axis);
    swapaxes(axis1, axis2, *, stream = None) [axis1: Int, axis2: Int]
        "(self, axis1: int, axis2: int, *, stream: StreamOrDevice = None)" "array"
        "Two axes swapped."
        => |a| ops::swapaxes(a, axis1.0, axis2.0);
    moveaxis(source, destination, *, stream = None) [source: Int, destination: Int]
        "(self, source: int, destination: int, *, stream: StreamOrDevice = None)" "array"
        "One axis moved to another place."
        => |a| ops::moveaxis(a, source.0, destination.0);
    squeeze(axis = None, *, stream = None) [axis: Option<Ints>]
        "(self, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None)" "array"
        "Without axes of size one."
        => |a| ops::squeeze(a, axes(axis));
    astype(dtype, stream = None) [dtype: PyDtype]
        "(self, dtype: Dtype, stream: StreamOrDevice = None)" "array"
        "The elements converted to another dtype."
        => |a| ops::astype(a, dtype.0);
    view(dtype, *, stream = None) [dtype: PyDtype]
        "(self, dtype: Dtype, *, stream: StreamOrDevice = None)" "array"
        "The same bytes read as another dtype."
        => |a| ops::view(a, dtype.0);
    diag(k = 0, *, stream = None) [k: i64]
        "(self, k: int = 0, *, stream: StreamOrDevice = None)" "array"
        "A diagonal of a matrix, or a matrix with the elements on a diagonal."
        => |a| ops::diag(a, k);
    diagonal(offset = 0, axis1 = 0, axis2 = 1, stream = None) [offset: i64, axis1: i64, axis2: i64]
        "(self, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None)" "array"
        "A diagonal of two axes, along a new last axis."
        => |a| ops::diagonal(a, offset, axis1, axis2);
    round(decimals = 0, *, stream = None) [decimals: i32]
        "(self, decimals: int = 0, *, stream: StreamOrDevice = None)" "array"
        "The nearest number with so many decimal places."
        => |a| ops::round(a, decimals);
    split(indices_or_sections, axis = 0, *, stream = None) [indices_or_sections: Parts, axis: i64]
        "(self, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None)" "list[array]"
        "Equal parts along an axis, or those between positions."
        => |a| super::assemble::divided(a, indices_or_sections, axis);
}

#[pymethods]
impl PyArray {
    /// reshape(self, *shape: int | Sequence[int], stream: StreamOrDevice = None) -> array
    ///
    /// The elements in another shape; one size may be -1.
    #[pyo3(signature = (*shape, stream = None))]
    fn reshape(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyTuple>,
        stream: Option<StreamArg>,
    ) -> PyResult<PyArray> {
        let shape = spread(shape)?;
        build(py, stream, || ops::reshape(&self.array(), shape))
    }

    /// transpose(self, *axes: int | Sequence[int], stream: StreamOrDevice = None) -> array
    ///
    /// The axes in another order; reversed if none is given.
    #[pyo3(signature = (*axes, stream = None))]
    fn transpose(
        &self,
        py: Python<'_>,
        axes: &Bound<'_, PyTuple>,
        stream: Option<StreamArg>,
    ) -> PyResult<PyArray> {
        let axes = if axes.is_empty() { Axes::All } else { Axes::from(spread(axes)?) };
        build(py, stream, || ops::transpose(&self.array(), axes))
    }
}

/// A message about an argument, from this side of the library.
pub fn argument(function: &'static str, message: String) -> Error {
    Error::Argument { function, message }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    table::register(m)?;
    crate::add_functions!(m: broadcast_shapes);
    Ok(())
}
