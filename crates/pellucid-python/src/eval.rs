//! Evaluation and graphs.

use pellucid::Array;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::args::Arr;
use crate::array::PyArray;
use crate::call::{build, wait};
use crate::error::OrRaise;

/// Trees deeper than this are not trees of arrays.
const DEEPEST: usize = 256;

/// The arrays inside lists, tuples and dictionaries; anything else is left out.
pub fn collect(value: &Bound<'_, PyAny>, arrays: &mut Vec<Array>) -> PyResult<()> {
    collect_below(value, arrays, 0)
}

fn collect_below(value: &Bound<'_, PyAny>, arrays: &mut Vec<Array>, depth: usize) -> PyResult<()> {
    if let Ok(array) = value.cast::<PyArray>() {
        arrays.push(array.get().array());
        return Ok(());
    }
    if depth > DEEPEST {
        return Err(PyValueError::new_err("the arguments are nested too deeply"));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        for (_, item) in dict {
            collect_below(&item, arrays, depth + 1)?;
        }
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        for item in value.try_iter()? {
            collect_below(&item?, arrays, depth + 1)?;
        }
    }
    Ok(())
}

/// eval(*args) -> None
///
/// Computes arrays and waits for them. They may be inside lists, tuples and dictionaries.
#[pyfunction]
#[pyo3(signature = (*args))]
fn eval(args: &Bound<'_, PyTuple>) -> PyResult<()> {
    let mut arrays = Vec::new();
    collect(args.as_any(), &mut arrays)?;
    wait(args.py(), || pellucid::eval(&arrays))
}

/// async_eval(*args) -> None
///
/// Starts the computation of arrays and returns at once.
#[pyfunction]
#[pyo3(signature = (*args))]
fn async_eval(args: &Bound<'_, PyTuple>) -> PyResult<()> {
    let mut arrays = Vec::new();
    collect(args.as_any(), &mut arrays)?;
    pellucid::transform::check_async(&arrays).or_raise()?;
    args.py().detach(|| pellucid::async_eval(&arrays));
    Ok(())
}

/// depends(inputs: array | Sequence[array], dependencies: array | Sequence[array]) -> array | list[array]
///
/// The inputs, ready only when the dependencies are, without using their elements.
#[pyfunction]
fn depends<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    dependencies: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let read = |value: &Bound<'py, PyAny>| -> PyResult<Vec<Array>> {
        if let Ok(array) = value.cast::<PyArray>() {
            return Ok(vec![array.get().array()]);
        }
        value.try_iter()?.map(|item| Ok(item?.extract::<Arr>()?.0)).collect()
    };
    let (before, others) = (read(inputs)?, read(dependencies)?);
    let (before, others): (Vec<&Array>, Vec<&Array>) = (before.iter().collect(), others.iter().collect());
    let mut results: Vec<PyArray> = build(py, None, || pellucid::depends(&before, &others))?;
    match results.pop() {
        Some(only) if inputs.is_instance_of::<PyArray>() => Ok(Bound::new(py, only)?.into_any()),
        last => {
            results.extend(last);
            results.into_pyobject(py)
        }
    }
}

/// export_to_dot(file: object, *args, **kwargs) -> None
///
/// Writes the graph behind arrays in the language of Graphviz, to a path or a file. Keywords name arrays.
#[pyfunction]
#[pyo3(signature = (file, *args, **kwargs))]
fn export_to_dot(
    file: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let mut arrays = Vec::new();
    collect(args.as_any(), &mut arrays)?;
    for (name, value) in kwargs.into_iter().flatten() {
        let array = value.extract::<Arr>()?.0;
        array.label(name.extract::<String>()?);
        arrays.push(array);
    }
    let text = pellucid::export_to_dot(&arrays.iter().collect::<Vec<_>>());
    if file.is_instance_of::<PyString>() || file.hasattr("__fspath__")? {
        let path: std::path::PathBuf = file.extract()?;
        return std::fs::write(path, text).map_err(PyErr::from);
    }
    if !file.hasattr("write")? {
        let message = "[export_to_dot] takes a path or a file that text can be written to";
        return Err(PyValueError::new_err(message));
    }
    file.call_method1("write", (text,)).map(drop)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: eval, async_eval, depends, export_to_dot);
    Ok(())
}
