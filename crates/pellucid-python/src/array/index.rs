//! What stands between brackets.

use pellucid::ops::Index;
use pellucid::{Array, Dtype, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyList, PySlice, PyTuple};

use super::foreign::Copying;
use super::{PyArray, construct};
use crate::args::{Input, alone};
use crate::call::build;
use crate::type_name;

/// What an index selects: places, or the elements where a mask holds.
pub enum Selected {
    Places(Vec<Index>),
    Mask(Array),
}

/// Reads an index; a tuple has one entry per axis.
pub fn selected(key: &Bound<'_, PyAny>) -> PyResult<Selected> {
    if let Ok(array) = key.cast::<PyArray>() {
        let array = array.get().array();
        if array.dtype() == Dtype::Bool {
            return Ok(Selected::Mask(array));
        }
        return Ok(Selected::Places(vec![Index::Array(array)]));
    }
    if let Ok(all) = key.cast::<PyBool>() {
        return Ok(Selected::Mask(Array::from(all.is_true())));
    }
    let Ok(entries) = key.cast::<PyTuple>() else {
        return match listed(key)? {
            Some(mask) if mask.dtype() == Dtype::Bool => Ok(Selected::Mask(mask)),
            Some(array) => Ok(Selected::Places(vec![Index::Array(array)])),
            None => Ok(Selected::Places(vec![entry(key)?])),
        };
    };
    entries.iter().map(|key| entry(&key)).collect::<PyResult<_>>().map(Selected::Places)
}

/// The array of a list, or of another library's array; its scalars are integers.
fn listed(key: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    if key.is_instance_of::<PyList>() {
        return construct::array(key.py(), key, None, Copying::Always).map(|made| Some(made.array()));
    }
    let has_axes = || -> PyResult<bool> { Ok(key.getattr("ndim")?.extract::<usize>()? > 0) };
    if key.hasattr("__array_interface__")? && has_axes().unwrap_or(false) {
        return construct::from_foreign(key, false, Copying::Always);
    }
    Ok(None)
}

fn entry(key: &Bound<'_, PyAny>) -> PyResult<Index> {
    if key.is_none() {
        return Ok(Index::NewAxis);
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        return bounds(slice);
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(array) = key.cast::<PyArray>() {
        return positions(array.get().array());
    }
    if let Some(array) = listed(key)? {
        return positions(array);
    }
    let number = !key.is_instance_of::<PyBool>() && !key.is_instance_of::<PyFloat>();
    match key.extract::<i64>() {
        Ok(at) if number => within_32_bits(at).map(Index::Int),
        _ => Err(PyValueError::new_err(format!(
            "arrays are indexed by integers, slices, None, Ellipsis and integer arrays, not by {}",
            type_name(key)
        ))),
    }
}

fn positions(array: Array) -> PyResult<Index> {
    if array.dtype() == Dtype::Bool {
        return Err(PyValueError::new_err(
            "a mask does not select elements: their number would not be known",
        ));
    }
    Ok(Index::Array(array))
}

/// Positions have 32 bits, as sizes have.
fn within_32_bits(position: i64) -> PyResult<i64> {
    if i32::try_from(position).is_ok() {
        return Ok(position);
    }
    Err(PyValueError::new_err(format!("Slice indices must be 32-bit integers, which {position} is not.")))
}

fn bounds(slice: &Bound<'_, PySlice>) -> PyResult<Index> {
    let bound = |name: &str| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let bound = value.extract::<i64>().map_err(|_| {
            let kind = type_name(&value);
            PyValueError::new_err(format!(
                "the bounds of a slice are 32-bit integers, not {value} of type {kind}"
            ))
        })?;
        within_32_bits(bound).map(Some)
    };
    Ok(Index::step(bound("start")?, bound("stop")?, bound("step")?.unwrap_or(1)))
}

/// A copy of `a` with new values where the mask holds: one for all, or one for each place in order.
fn masked(a: &Array, mask: &Array, values: &Input) -> pellucid::Result<Array> {
    let wrong = |message: String| pellucid::Error::Shape { function: "setitem", message };
    if mask.ndim() > a.ndim() || mask.shape() != &a.shape()[..mask.ndim()] {
        let message = format!("a mask of shape {} does not fit shape {}", mask.shape_ref(), a.shape_ref());
        return Err(wrong(message));
    }
    let rest = &a.shape()[mask.ndim()..];
    let mut wide: Vec<i64> = mask.shape().iter().map(|&n| n as i64).collect();
    wide.resize(a.ndim(), 1);
    let everywhere = ops::reshape(mask, wide);
    let values = match values {
        Input::Number(number) => ops::full((), *number, a.dtype()),
        Input::Array(v) | Input::Foreign(v) => ops::astype(v, a.dtype()),
    };
    values.check()?;
    if values.ndim() <= rest.len() {
        return Ok(ops::where_(&everywhere, &ops::broadcast_to(&values, a.shape_ref()), a));
    }
    if values.ndim() == rest.len() + 1 && values.shape()[0] == 0 && mask.size() == 0 {
        return Ok(a.clone());
    }
    if values.ndim() > rest.len() + 1 || values.shape()[0] == 0 {
        let message = format!("values of shape {} do not fit the places of the mask", values.shape_ref());
        return Err(wrong(message));
    }
    // The n-th place of the mask takes the n-th value; if there are too few, taking one fails.
    let held = ops::reshape(mask, [-1]);
    let place = ops::cumsum(&ops::astype(&held, Dtype::Int32), 0, false, true);
    let place = ops::where_(&held, ops::subtract(place, 1), 0);
    let mut rows = vec![values.shape()[0]];
    rows.extend(rest);
    let chosen = ops::take(&ops::broadcast_to(&values, rows), &place, 0);
    let shape: Vec<i64> = a.shape().iter().map(|&n| n as i64).collect();
    Ok(ops::where_(&everywhere, &ops::reshape(&chosen, shape), a))
}

#[pymethods]
impl PyArray {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        match selected(key)? {
            Selected::Places(indices) => build(py, None, || ops::index(&self.array(), &indices)),
            Selected::Mask(mask) => positions(mask).map(|_| PyArray::new(self.array())),
        }
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Input) -> PyResult<()> {
        let changed: PyArray = match selected(key)? {
            Selected::Places(indices) => {
                build(py, None, || ops::slice_update(&self.array(), alone(&value), &indices))?
            }
            Selected::Mask(mask) => build(py, None, || masked(&self.array(), &mask, &value))?,
        };
        self.replace(changed.array());
        Ok(())
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = key;
        Err(PyTypeError::new_err("elements of an array cannot be deleted"))
    }
}
