//! Gradients and derivatives: `grad`, `value_and_grad`, `vjp`, `jvp`.

use pellucid::Array;
use pellucid::transform::Derivatives;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use super::function::{Body, GcFunc};
use super::tree::{self, Filled};
use super::{attributed, raised};
use crate::array::PyArray;
use crate::type_name;

/// Which arguments a gradient is taken by.
struct Wanted {
    positions: Vec<usize>,
    /// `None` if none were asked for by name.
    names: Option<Vec<String>>,
}

/// Trees and the keywords they were passed by.
type Named<'py> = Vec<(String, Bound<'py, PyAny>)>;

struct Gradient {
    tag: &'static str,
    wanted: Wanted,
    with_value: bool,
}

fn invalid(tag: &str, message: impl AsRef<str>) -> PyErr {
    PyValueError::new_err(format!("[{tag}] {}", message.as_ref()))
}

/// An integer or several, or nothing.
fn positions(tag: &str, argnums: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let one = |item: &Bound<'_, PyAny>| -> PyResult<usize> {
        if !item.is_instance_of::<PyInt>() || item.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!(
                "[{tag}] argnums are integers, not {}",
                type_name(item)
            )));
        }
        let position: i64 = item.extract()?;
        usize::try_from(position).map_err(|_| {
            invalid(tag, format!("Can't compute the gradient of negative argument index {position}"))
        })
    };
    if argnums.is_none() {
        return Ok(Vec::new());
    }
    let mut positions = match argnums.cast::<PyInt>() {
        Ok(_) => vec![one(argnums)?],
        Err(_) => {
            let items = argnums.try_iter().map_err(|_| {
                PyTypeError::new_err(format!("[{tag}] argnums are integers, not {}", type_name(argnums)))
            })?;
            items.map(|item| one(&item?)).collect::<PyResult<Vec<_>>>()?
        }
    };
    positions.sort_unstable();
    if let Some(twice) = positions.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(invalid(tag, format!("Duplicate argument index {} is not allowed.", twice[0])));
    }
    Ok(positions)
}

fn names(argnames: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if argnames.is_none() {
        return Ok(None);
    }
    if let Ok(name) = argnames.cast::<PyString>() {
        return Ok(Some(vec![name.to_string()]));
    }
    let mut names = Vec::new();
    for item in argnames.try_iter()? {
        let name: String = item?.extract()?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(Some(names).filter(|names| !names.is_empty()))
}

fn gradient<'py>(
    tag: &'static str,
    fun: &Bound<'py, PyAny>,
    argnums: &Bound<'py, PyAny>,
    argnames: &Bound<'py, PyAny>,
    with_value: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let names = names(argnames)?;
    let positions = match argnums.is_none() && names.is_none() && argnames.is_none() {
        true => vec![0],
        false => positions(tag, argnums)?,
    };
    if positions.is_empty() && names.is_none() {
        return Err(invalid(tag, "Gradient wrt no argument requested"));
    }
    GcFunc::make(fun, &[], Gradient { tag, wanted: Wanted { positions, names }, with_value })
}

/// grad(fun: Callable, argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable
///
/// A function that returns the gradient of `fun` by some of its arguments, which may be trees of arrays.
#[pyfunction]
#[pyo3(signature = (fun, argnums = None, argnames = None))]
pub fn grad<'py>(
    fun: &Bound<'py, PyAny>,
    argnums: Option<&Bound<'py, PyAny>>,
    argnames: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let none = fun.py().None().into_bound(fun.py());
    gradient("grad", fun, argnums.unwrap_or(&none), argnames.unwrap_or(&none), false)
}

/// value_and_grad(fun: Callable, argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable
///
/// A function that returns what `fun` returns, and its gradient by some of its arguments.
#[pyfunction]
#[pyo3(signature = (fun, argnums = None, argnames = None))]
pub fn value_and_grad<'py>(
    fun: &Bound<'py, PyAny>,
    argnums: Option<&Bound<'py, PyAny>>,
    argnames: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let none = fun.py().None().into_bound(fun.py());
    gradient("value_and_grad", fun, argnums.unwrap_or(&none), argnames.unwrap_or(&none), true)
}

impl Gradient {
    /// The trees that the gradient is taken by: positions first, then names in the order of the call.
    fn chosen<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Named<'py>)> {
        let mut trees = Vec::new();
        for &position in &self.wanted.positions {
            if position >= args.len() {
                let message = format!(
                    "Can't compute the gradient of argument index {position} because the function is called with \
                     only {} positional arguments.",
                    args.len()
                );
                return Err(invalid(self.tag, message));
            }
            trees.push(args.get_item(position)?);
        }
        let mut named = Vec::new();
        if let Some(names) = &self.wanted.names {
            let given: Vec<(String, Bound<'py, PyAny>)> = match kwargs {
                Some(kwargs) => {
                    kwargs.iter().map(|(key, item)| Ok((key.extract()?, item))).collect::<PyResult<_>>()?
                }
                None => Vec::new(),
            };
            for name in names {
                if !given.iter().any(|(key, _)| key == name) {
                    let keys: Vec<&str> = given.iter().map(|(key, _)| key.as_str()).collect();
                    let message = format!(
                        "Can't compute the gradient of keyword argument '{name}' because the function is called \
                         with the following keyword arguments {{{}}}",
                        keys.join(", ")
                    );
                    return Err(invalid(self.tag, message));
                }
            }
            named.extend(given.into_iter().filter(|(key, _)| names.contains(key)));
        }
        Ok((trees, named))
    }

    /// The number that the function returned, alone or first in a tuple.
    fn loss(&self, result: &Bound<'_, PyAny>) -> PyResult<Array> {
        let kind = type_name(result);
        let should = "The return value of the function whose gradient we want to compute should be";
        let value = match result.cast::<PyArray>() {
            Ok(array) => array.get().array(),
            Err(_) => match result.cast::<PyTuple>() {
                Ok(_) if !self.with_value => {
                    return Err(invalid(
                        self.tag,
                        format!("{should} a scalar array; but {kind} was returned."),
                    ));
                }
                Ok(tuple) if tuple.is_empty() => {
                    let message = format!(
                        "{should} either a scalar array or a tuple with the first value being a scalar array (Union[array, tuple[array, Any, ...]]); but an empty tuple was returned."
                    );
                    return Err(invalid(self.tag, message));
                }
                Ok(tuple) => match tuple.get_item(0)?.cast::<PyArray>() {
                    Ok(array) => array.get().array(),
                    Err(_) => {
                        let first = type_name(&tuple.get_item(0)?);
                        let message = format!(
                            "{should} either a scalar array or a tuple with the first value being a scalar array (Union[array, tuple[array, Any, ...]]); but it was a tuple with the first value being of type {first} ."
                        );
                        return Err(invalid(self.tag, message));
                    }
                },
                Err(_) if !self.with_value => {
                    return Err(invalid(
                        self.tag,
                        format!("{should} a scalar array; but {kind} was returned."),
                    ));
                }
                Err(_) => {
                    let message = format!(
                        "{should} either a scalar array or a tuple with the first value being a scalar array (Union[array, tuple[array, Any, ...]]); but {kind} was returned."
                    );
                    return Err(invalid(self.tag, message));
                }
            },
        };
        if value.ndim() != 0 {
            let message = format!(
                "Grad requires a scalar output, of shape (), not {}; take its sum or mean first.",
                value.shape_ref()
            );
            return Err(invalid(self.tag, message));
        }
        Ok(value)
    }
}

impl Body for Gradient {
    fn call<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (trees, named) = self.chosen(args, kwargs)?;
        let mut primals = Vec::new();
        for object in trees.iter().chain(named.iter().map(|(_, object)| object)) {
            primals.extend(tree::arrays(object, true)?);
        }
        let derivatives = attributed(py, || Derivatives::begin(&primals));
        let mut variables = derivatives.variables().to_vec().into_iter();
        let mut filled = Filled::default();
        let mut given: Vec<Bound<'py, PyAny>> = args.iter().collect();
        let mut call = || -> PyResult<Bound<'py, PyAny>> {
            for &position in &self.wanted.positions {
                given[position] = filled.fill(&given[position], &mut variables)?;
            }
            let keywords = match kwargs {
                Some(kwargs) => kwargs.copy()?,
                None => PyDict::new(py),
            };
            for (name, object) in &named {
                keywords.set_item(name, filled.fill(object, &mut variables)?)?;
            }
            objects[0].call(PyTuple::new(py, &given)?, Some(&keywords))
        };
        let outcome = call();
        filled.restore()?;
        let result = outcome?;
        let loss = self.loss(&result)?;
        let gradients = attributed(py, || {
            let seed = pellucid::ops::ones_like(&loss);
            derivatives.pull_back(&[(loss, seed)])
        });
        let mut gradients = raised(gradients)?.into_iter();
        let by_position: Vec<_> =
            trees.iter().map(|object| tree::with_arrays(object, &mut gradients)).collect::<PyResult<_>>()?;
        let by_position = match by_position.len() {
            0 => py.None().into_bound(py),
            1 => by_position[0].clone(),
            _ => PyTuple::new(py, by_position)?.into_any(),
        };
        let gradient = match &self.wanted.names {
            None => by_position,
            Some(_) => {
                let by_name = PyDict::new(py);
                for (name, object) in &named {
                    by_name.set_item(name, tree::with_arrays(object, &mut gradients)?)?;
                }
                PyTuple::new(py, [by_position, by_name.into_any()])?.into_any()
            }
        };
        match self.with_value {
            true => Ok(PyTuple::new(py, [result, gradient])?.into_any()),
            false => Ok(gradient),
        }
    }
}

/// A list or a tuple of arrays.
fn array_list(tag: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Array>> {
    let wrong = |found: &Bound<'_, PyAny>| {
        PyTypeError::new_err(format!("[{tag}] {what} are a list of arrays, not {}", type_name(found)))
    };
    if !object.is_instance_of::<PyList>() && !object.is_instance_of::<PyTuple>() {
        return Err(wrong(object));
    }
    let one = |item: PyResult<Bound<'_, PyAny>>| -> PyResult<Array> {
        let item = item?;
        let array = item.cast::<PyArray>().map_err(|_| wrong(&item))?;
        Ok(array.get().array())
    };
    object.try_iter()?.map(one).collect()
}

/// What a function of `vjp` or `jvp` returned: an array, or a list or tuple of them.
fn results(tag: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Array>> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Ok(vec![array.get().array()]);
    }
    let listed = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    match listed {
        true => array_list(tag, "results", object),
        false => Err(invalid(tag, format!("the function must return arrays, not {}", type_name(object)))),
    }
}

fn called<'py>(fun: &Bound<'py, PyAny>, variables: &[Array]) -> PyResult<Bound<'py, PyAny>> {
    let args: Vec<PyArray> = variables.iter().cloned().map(PyArray::new).collect();
    fun.call1(PyTuple::new(fun.py(), args)?)
}

fn lists(py: Python<'_>, first: Vec<Array>, second: Vec<Array>) -> PyResult<Bound<'_, PyTuple>> {
    let list = |arrays: Vec<Array>| PyList::new(py, arrays.into_iter().map(PyArray::new));
    PyTuple::new(py, [list(first)?, list(second)?])
}

/// vjp(fun: Callable, primals: list[array], cotangents: list[array]) -> tuple[list[array], list[array]]
///
/// What `fun` returns, and the product of the cotangents with its Jacobian.
#[pyfunction]
pub fn vjp<'py>(
    py: Python<'py>,
    fun: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyAny>,
    cotangents: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let primals = array_list("vjp", "primals", primals)?;
    let cotangents = array_list("vjp", "cotangents", cotangents)?;
    let derivatives = attributed(py, || Derivatives::begin(&primals));
    let outputs = results("vjp", &called(fun, derivatives.variables())?)?;
    // What was stopped on purpose needs no cotangent.
    let open: Vec<&Array> = outputs.iter().filter(|y| !pellucid::transform::is_stopped(y)).collect();
    if open.len() > cotangents.len() {
        let message = format!(
            "Number of outputs to compute gradients for ({}) does not match number of cotangents ({}).",
            open.len(),
            cotangents.len()
        );
        return Err(invalid("vjp", message));
    }
    let mut pairs = Vec::new();
    for (&y, g) in open.iter().zip(&cotangents) {
        if y.shape() != g.shape() {
            let mut message = format!(
                "Output shape {} does not match cotangent shape {}.",
                shown(y.shape()),
                shown(g.shape())
            );
            if y.size() == 1 {
                message += " If you are using grad your function must return a scalar.";
            }
            return Err(invalid("vjp", message));
        }
        pairs.push((y.clone(), g.clone()));
    }
    let gradients = raised(attributed(py, || derivatives.pull_back(&pairs)))?;
    lists(py, outputs, gradients)
}

/// A shape as MLX's messages show it.
fn shown(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", sizes.join(","))
}

/// jvp(fun: Callable, primals: list[array], tangents: list[array]) -> tuple[list[array], list[array]]
///
/// What `fun` returns, and the product of its Jacobian with the tangents.
#[pyfunction]
pub fn jvp<'py>(
    py: Python<'py>,
    fun: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let primals = array_list("jvp", "primals", primals)?;
    let tangents = array_list("jvp", "tangents", tangents)?;
    if primals.len() != tangents.len() {
        return Err(invalid("jvp", "Number of inputs does not match number of tangents."));
    }
    let derivatives = attributed(py, || Derivatives::begin(&primals));
    let outputs = results("jvp", &called(fun, derivatives.variables())?)?;
    let made = raised(attributed(py, || derivatives.push_forward(&tangents, &outputs)))?;
    lists(py, outputs, made)
}
