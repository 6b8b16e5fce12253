//! Parts chosen by arrays of positions.

use pellucid::ops::Index;
use pellucid::{Array, ops};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::shape::argument;
use crate::args::{Arr, Input, Int, IntList, SizeList, alone};

/// One position or an array of them.
pub enum Positions {
    One(i64),
    Many(Array),
}

impl<'py> FromPyObject<'_, 'py> for Positions {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Positions> {
        if obj.is_instance_of::<PyInt>() {
            return Ok(Positions::One(obj.extract()?));
        }
        match obj.extract::<Arr>() {
            Ok(array) => Ok(Positions::Many(array.0)),
            Err(_) => Err(PyTypeError::new_err(format!(
                "indices are an integer or an array, not {}",
                crate::type_name(&obj)
            ))),
        }
    }
}

fn taken(a: &Array, indices: Positions, axis: Option<i64>) -> pellucid::Result<Array> {
    let position = match indices {
        Positions::Many(indices) => return ops::take(a, &indices, axis),
        Positions::One(position) => position,
    };
    let Some(axis) = axis else {
        return ops::index(&ops::reshape(a, [-1])?, &[Index::Int(position)]);
    };
    let moved = ops::moveaxis(a, axis, 0)?;
    ops::index(&moved, &[Index::Int(position)])
}

/// The rectangular part that starts at positions known only when they are computed. As MLX, a part that would leave the
/// array is moved back inside it.
fn places(
    function: &'static str,
    a: &Array,
    start: &Array,
    axes: &[i64],
    size: &dyn Fn(usize) -> usize,
) -> pellucid::Result<Vec<Index>> {
    if start.ndim() != 1 || start.size() != axes.len() {
        let message = format!(
            "needs one start for each of {} axes, but the starts have shape {}",
            axes.len(),
            start.shape_ref()
        );
        return Err(argument(function, message));
    }
    let ndim = a.ndim() as i64;
    let mut indices: Vec<Index> = vec![Index::step(None, None, 1); a.ndim()];
    for (i, &axis) in axes.iter().enumerate() {
        let place = if axis < 0 { axis + ndim } else { axis };
        if !(0..ndim).contains(&place) {
            return Err(pellucid::Error::Axis { function, axis, ndim: a.ndim() });
        }
        let at = place as usize;
        let (length, room) = (size(at), a.shape()[at]);
        if length > room {
            let message = format!("a part of {length} does not fit axis {axis} of size {room}");
            return Err(argument(function, message));
        }
        let first = ops::index(start, &[Index::Int(i as i64)])?;
        let first = ops::clip(&ops::astype(&first, pellucid::Dtype::Int64)?, 0, (room - length) as i64)?;
        // One axis per index array, so that together they select a rectangle.
        let count = ops::arange(0, length as i64, 1, pellucid::Dtype::Int64)?;
        let mut shape = vec![1; axes.len()];
        shape[i] = length as i64;
        indices[at] = Index::Array(ops::reshape(&ops::add(&count, &first)?, shape)?);
    }
    Ok(indices)
}

/// The order of `axes` in which the index arrays' axes come out.
fn in_order(a: &Array, axes: &[i64]) -> Vec<usize> {
    let ndim = a.ndim() as i64;
    let mut order: Vec<usize> = axes.iter().map(|&x| (if x < 0 { x + ndim } else { x }) as usize).collect();
    order.dedup();
    order
}

fn sliced(a: &Array, start: &Array, axes: &[i64], size: &[usize]) -> pellucid::Result<Array> {
    if size.len() != a.ndim() {
        let message = format!("needs a size for each of the {} axes, but got {}", a.ndim(), size.len());
        return Err(argument("slice", message));
    }
    let trimmed: Vec<Index> = (0..a.ndim())
        .map(|x| {
            let moves = in_order(a, axes).contains(&x);
            Index::step(None, if moves { None } else { Some(size[x] as i64) }, 1)
        })
        .collect();
    let part = ops::index(a, &trimmed)?;
    one_by_one("slice", &part, start, axes, &|axis| size[axis])
}

/// Each axis on its own keeps the axes where they are.
fn one_by_one(
    function: &'static str,
    a: &Array,
    start: &Array,
    axes: &[i64],
    size: &dyn Fn(usize) -> usize,
) -> pellucid::Result<Array> {
    let mut part = a.clone();
    for (axis, index) in places(function, a, start, axes, size)?.into_iter().enumerate() {
        if let Index::Array(at) = index {
            part = ops::take(&part, &ops::reshape(&at, [-1])?, axis as i64)?;
        }
    }
    Ok(part)
}

fn updated(a: &Array, update: &Array, start: &Array, axes: &[i64]) -> pellucid::Result<Array> {
    if update.ndim() != a.ndim() {
        let message = format!("the update of shape {} needs {} axes", update.shape_ref(), a.ndim());
        return Err(argument("slice_update", message));
    }
    // The rectangle's places as numbers of the flat array.
    let numbers = ops::reshape(&ops::arange(0, a.size() as i64, 1, pellucid::Dtype::Int64)?, sizes(a))?;
    let sides: Vec<Index> = update.shape().iter().map(|&n| Index::step(None, n as i64, 1)).collect();
    let fixed: Vec<Index> = (0..a.ndim())
        .map(|x| if in_order(a, axes).contains(&x) { Index::step(None, None, 1) } else { sides[x].clone() })
        .collect();
    let numbers = ops::index(&numbers, &fixed)?;
    let numbers = one_by_one("slice_update", &numbers, start, axes, &|axis| update.shape()[axis])?;
    let flat = ops::reshape(a, [-1])?;
    let (at, new) = (ops::reshape(&numbers, [-1])?, ops::reshape(update, [-1])?);
    ops::reshape(&ops::slice_update(&flat, &new, &[Index::Array(at)])?, sizes(a))
}

fn sizes(a: &Array) -> Vec<i64> {
    a.shape().iter().map(|&size| size as i64).collect()
}

crate::ops::functions! {
    take(a, /, indices, axis = None, *, stream = None) [a: Arr, indices: Positions, axis: Option<Int>]
        "(a: array, /, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None)" "array"
        "Elements at positions along an axis, or of the flat array."
        => taken(&a, indices, axis.map(|axis| axis.0));
    take_along_axis(a, /, indices, axis = Some(Int(-1)), *, stream = None) as "(a, /, indices, axis=-1, *, stream=None)" [a: Arr, indices: Arr, axis: Option<Int>]
        "(a: array, /, indices: array, axis: int | None = -1, *, stream: StreamOrDevice = None)" "array"
        "For each position of the indices, the element there, with the position along the axis replaced."
        => ops::take_along_axis(&a, &indices, axis.map(|axis| axis.0));
    put_along_axis(a, /, indices, values, axis = None, *, stream = None)
        [a: Arr, indices: Arr, values: Input, axis: Option<Int>]
        "(a: array, /, indices: array, values: scalar | array, axis: int | None = None, *, stream: StreamOrDevice = None)" "array"
        "A copy with the elements that take_along_axis would give replaced."
        => ops::put_along_axis(&a, &indices, alone(&values), axis.map(|axis| axis.0));
    slice(a, start_indices, axes, slice_size, *, stream = None)
        [a: Arr, start_indices: Arr, axes: IntList, slice_size: SizeList]
        "(a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None)" "array"
        "A part of fixed size that starts where an array says."
        => sliced(&a, &start_indices, &axes.0, &slice_size.0);
    slice_update(a, update, start_indices, axes, *, stream = None)
        [a: Arr, update: Arr, start_indices: Arr, axes: IntList]
        "(a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None)" "array"
        "A copy with a part replaced that starts where an array says."
        => updated(&a, &update, &start_indices, &axes.0);
}
