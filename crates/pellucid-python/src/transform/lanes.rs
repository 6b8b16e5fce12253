//! Batches: `vmap`.

use pellucid::Array;
use pellucid::transform::Mapping;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyTuple};

use super::function::{Body, GcFunc};
use super::tree::{self, Filled, Kind};
use super::{attributed, raised};

struct Mapped;

/// vmap(fun: Callable, in_axes: object = 0, out_axes: object = 0) -> Callable
///
/// A function that calls `fun` for all lanes of its arguments at once. The axes are an integer, `None` for what is the
/// same for all lanes, or trees of them like the arguments and the results.
#[pyfunction]
#[pyo3(signature = (fun, in_axes = Axes::First, out_axes = Axes::First))]
pub fn vmap<'py>(
    py: Python<'py>,
    fun: &Bound<'py, PyAny>,
    in_axes: Axes<'py>,
    out_axes: Axes<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    GcFunc::make(fun, &[in_axes.object(py)?, out_axes.object(py)?], Mapped)
}

/// Axes as they were given. Nothing at all is not among them: it would map nothing.
pub enum Axes<'py> {
    First,
    Given(Bound<'py, PyAny>),
}

impl<'py> Axes<'py> {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Axes::First => Ok(0i64.into_pyobject(py)?.into_any()),
            Axes::Given(object) => Ok(object),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Axes<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Axes<'py>> {
        if object.is_none() {
            return Err(PyTypeError::new_err("[vmap] axes are an integer or a tree of them, not None"));
        }
        Ok(Axes::Given(object.to_owned()))
    }
}

/// The axis of each array of a tree; `axes` is a prefix of it.
fn axes_of(object: &Bound<'_, PyAny>, axes: &Bound<'_, PyAny>, found: &mut Vec<Option<i64>>) -> PyResult<()> {
    let differ = || {
        PyValueError::new_err(
            "[vmap] in_axes and out_axes must be a prefix of the tree of arrays they stand for",
        )
    };
    if axes.is_none() || axes.is_instance_of::<PyInt>() {
        if axes.is_instance_of::<PyBool>() {
            return Err(PyValueError::new_err("[vmap] axis must be int or None."));
        }
        let axis: Option<i64> = axes.extract()?;
        return tree::visit(object, &mut |_| {
            found.push(axis);
            Ok(())
        });
    }
    match (tree::kind(object), tree::kind(axes)) {
        (Kind::List(items), Kind::List(axes)) if items.len() == axes.len() => {
            items.iter().zip(axes.iter()).try_for_each(|(item, axis)| axes_of(&item, &axis, found))
        }
        (Kind::Tuple(items), Kind::Tuple(axes)) if items.len() == axes.len() => {
            items.iter().zip(axes.iter()).try_for_each(|(item, axis)| axes_of(&item, &axis, found))
        }
        (Kind::Dict(items), Kind::Dict(axes)) if items.len() == axes.len() => {
            for (key, item) in items.iter() {
                let axis = axes.get_item(&key)?.ok_or_else(differ)?;
                axes_of(&item, &axis, found)?;
            }
            Ok(())
        }
        // One array may stand alone beside a tuple of one axis.
        (Kind::Array(_), Kind::Tuple(axes)) if axes.len() == 1 => axes_of(object, &axes.get_item(0)?, found),
        (_, Kind::Other) => Err(PyValueError::new_err("[vmap] axis must be int or None.")),
        _ => Err(differ()),
    }
}

/// The axis of each array of the arguments. Those of a single argument may be given without the tuple around them.
fn argument_axes(args: &Bound<'_, PyTuple>, axes: &Bound<'_, PyAny>) -> PyResult<Vec<Option<i64>>> {
    let mut found = Vec::new();
    if args.len() == 1 && axes_of(&args.get_item(0)?, axes, &mut found).is_ok() {
        return Ok(found);
    }
    found.clear();
    axes_of(args.as_any(), axes, &mut found)?;
    Ok(found)
}

impl Body for Mapped {
    fn call<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if kwargs.is_some_and(|kwargs| !kwargs.is_empty()) {
            return Err(PyTypeError::new_err("[vmap] the function takes positional arguments only"));
        }
        let arrays = tree::arrays(args.as_any(), true)?;
        let axes = argument_axes(args, &objects[1])?;
        let mapping = raised(attributed(py, || Mapping::begin(&arrays, &axes)))?;
        let mut filled = Filled::default();
        let mut variables = mapping.variables().to_vec().into_iter();
        let outcome = filled.fill(args.as_any(), &mut variables).and_then(|args| {
            let args = args.cast_into::<PyTuple>()?;
            objects[0].call1(args)
        });
        filled.restore()?;
        let lane = outcome?;
        let results: Vec<Array> = tree::arrays(&lane, true)?;
        let mut axes = Vec::with_capacity(results.len());
        axes_of(&lane, &objects[2], &mut axes)?;
        let made = raised(attributed(py, || mapping.finish(&results, &axes)))?;
        tree::with_arrays(&lane, &mut made.into_iter())
    }
}
