//! Parts chosen by arrays of positions.

use pellucid::ops::Index;
use pellucid::{Array, Dtype, ops};
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

fn taken(a: &Array, indices: Positions, axis: Option<i64>) -> Array {
    let position = match indices {
        Positions::Many(indices) => return ops::take(a, &indices, axis),
        Positions::One(position) => position,
    };
    let Some(axis) = axis else {
        return ops::index(&ops::reshape(a, [-1]), &[Index::Int(position)]);
    };
    let moved = ops::moveaxis(a, axis, 0);
    ops::index(&moved, &[Index::Int(position)])
}

/// For each axis that is named, the positions of a part that begins where `start` says, which is known only when it is
/// computed. As in MLX, a part that would leave the array is moved back inside it.
fn positions(
    function: &'static str,
    a: &Array,
    start: &Array,
    axes: &[i64],
    size: &[usize],
) -> pellucid::Result<Vec<(usize, Array)>> {
    if start.ndim() != 1 || start.size() != axes.len() {
        let (count, shape) = (axes.len(), start.shape_ref());
        return Err(argument(
            function,
            format!("needs a start for each of {count} axes, but got shape {shape}"),
        ));
    }
    if size.len() != a.ndim() {
        return Err(argument(
            function,
            format!("needs {} sizes, one for each axis, not {}", a.ndim(), size.len()),
        ));
    }
    let mut found: Vec<(usize, Array)> = Vec::new();
    for (i, &axis) in axes.iter().enumerate() {
        let place = if axis < 0 { axis.saturating_add(a.ndim() as i64) } else { axis };
        let at = usize::try_from(place).ok().filter(|&at| at < a.ndim());
        let at = at.ok_or(pellucid::Error::Axis { function, axis, ndim: a.ndim() })?;
        if found.iter().any(|&(before, _)| before == at) {
            return Err(argument(function, format!("axis {axis} is given twice")));
        }
        let (length, room) = (size[at], a.shape()[at]);
        if length > room {
            let message = format!("a part of {length} does not fit axis {axis} of size {room}");
            return Err(argument(function, message));
        }
        let first = ops::astype(&ops::index(start, &[Index::Int(i as i64)]), Dtype::Int64);
        let first = ops::clip(&first, 0, (room - length) as i64);
        found.push((at, ops::add(ops::arange(0, length as i64, 1, Dtype::Int64), &first)));
    }
    Ok(found)
}

/// A part of fixed size that begins where `start` says along some axes, and at the front of the others.
fn part(
    function: &'static str,
    a: &Array,
    start: &Array,
    axes: &[i64],
    size: &[usize],
) -> pellucid::Result<Array> {
    let moving = positions(function, a, start, axes, size)?;
    let front = |axis: usize| match moving.iter().any(|&(at, _)| at == axis) {
        true => Index::step(None, None, 1),
        false => Index::step(None, size[axis] as i64, 1),
    };
    let mut part = ops::index(a, &(0..a.ndim()).map(front).collect::<Vec<_>>());
    for (axis, at) in moving {
        part = ops::take(&part, &at, axis as i64);
    }
    Ok(part)
}

fn updated(a: &Array, update: &Array, start: &Array, axes: &[i64]) -> pellucid::Result<Array> {
    // The places of the part as numbers of the flat array.
    let numbers = ops::reshape(&ops::arange(0, a.size() as i64, 1, Dtype::Int64), sizes(a));
    let at = ops::reshape(&part("slice_update", &numbers, start, axes, update.shape())?, [-1]);
    let (old, new) = (ops::reshape(a, [-1]), ops::reshape(update, [-1]));
    Ok(ops::reshape(&ops::slice_update(&old, &new, &[Index::Array(at)]), sizes(a)))
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
        => part("slice", &a, &start_indices, &axes.0, &slice_size.0);
    slice_update(a, update, start_indices, axes, *, stream = None)
        [a: Arr, update: Arr, start_indices: Arr, axes: IntList]
        "(a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None)" "array"
        "A copy with a part replaced that starts where an array says."
        => updated(&a, &update, &start_indices, &axes.0);
}
