//! Functions with rules of their own: `custom_function` and `checkpoint`.

use std::cell::RefCell;
use std::rc::Rc;

use pellucid::transform::{self, Contributions, Cotangents, Lanes, Rule};
use pellucid::{Array, Error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::attributed;
use super::function::{Body, GcFunc};
use super::tree;
use crate::array::PyArray;

thread_local! {
    /// The exception that a rule written in Python has raised while a transform ran it.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The exception behind an error that passed through the library.
pub fn take_raised() -> Option<PyErr> {
    RAISED.with_borrow_mut(Option::take)
}

fn keep(error: PyErr) -> Error {
    RAISED.set(Some(error));
    Error::Argument { function: "custom_function", message: "a rule has raised an exception".to_owned() }
}

/// A function whose derivatives the user writes.
#[pyclass(name = "custom_function", module = "pellucid.core", dict, weakref)]
pub struct CustomFunction {
    fun: Option<Py<PyAny>>,
    vjp: Option<Py<PyAny>>,
    jvp: Option<Py<PyAny>>,
    vmap: Option<Py<PyAny>>,
}

/// One call of it.
struct CustomRule {
    /// Positional and keyword arguments; their arrays are the inputs of the rule.
    args: Py<PyTuple>,
    kwargs: Py<PyDict>,
    result: RefCell<Option<Py<PyAny>>>,
    vjp: Option<Py<PyAny>>,
    jvp: Option<Py<PyAny>>,
    vmap: Option<Py<PyAny>>,
}

/// The only argument as itself, several as a tuple.
fn only_or_all<'py>(args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    if args.len() == 1 { args.get_item(0) } else { Ok(args.clone().into_any()) }
}

impl CustomRule {
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &*self.result.borrow() {
            Some(result) => Ok(result.bind(py).clone()),
            None => Err(PyValueError::new_err("[custom_function] the function has not returned")),
        }
    }

    /// The arguments with other leaves for their arrays, `None` where there is none.
    fn with_leaves<'py>(
        &self,
        py: Python<'py>,
        leaves: impl IntoIterator<Item = Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut leaves = leaves.into_iter();
        let made = tree::map(self.args.bind(py).as_any(), &mut |leaf| match leaf.cast::<PyArray>() {
            Ok(_) => Ok(leaves.next().flatten().unwrap_or_else(|| py.None().into_bound(py))),
            Err(_) => Ok(leaf.clone()),
        })?;
        only_or_all(&made.cast_into::<PyTuple>()?)
    }

    fn pulled(&self, py: Python<'_>, given: &Cotangents) -> PyResult<Contributions> {
        let Some(rule) = &self.vjp else { return Ok(Vec::new()) };
        let result = self.result(py)?;
        let cotangents = tree::with_arrays(&result, &mut given.filled().into_iter())?;
        let outputs = tree::with_arrays(&result, &mut given.outputs.iter().cloned())?;
        let primals = only_or_all(self.args.bind(py))?;
        let made = rule.bind(py).call((primals, cotangents, outputs), Some(self.kwargs.bind(py)))?;
        let parts = tree::arrays(&made, false)?;
        let own = tree::arrays(self.args.bind(py).as_any(), false)?;
        if parts.len() > own.len() + tree::arrays(self.kwargs.bind(py).as_any(), false)?.len()
            || parts.len() < own.len()
        {
            let message = format!(
                "[custom_function] the vjp returned {} arrays for {} arrays of the arguments",
                parts.len(),
                own.len()
            );
            return Err(PyValueError::new_err(message));
        }
        for (place, (x, part)) in own.iter().zip(&parts).enumerate() {
            if x.shape() != part.shape() {
                let message = format!(
                    "[custom_function] the vjp returned shape {} for array {place} of the arguments, which has {}",
                    part.shape_ref(),
                    x.shape_ref()
                );
                return Err(PyValueError::new_err(message));
            }
        }
        Ok(given.inputs.iter().cloned().zip(parts).collect())
    }

    fn pushed(&self, py: Python<'_>, tangents: &[Option<Array>]) -> PyResult<Vec<Array>> {
        let Some(rule) = &self.jvp else { return Ok(Vec::new()) };
        if !self.kwargs.bind(py).is_empty() {
            let message = "[custom jvp] Function should only accept positional arguments";
            return Err(PyValueError::new_err(message));
        }
        let wrap = |t: &Option<Array>| -> PyResult<Option<Bound<'_, PyAny>>> {
            t.as_ref().map(|t| Ok(Bound::new(py, PyArray::new(t.clone()))?.into_any())).transpose()
        };
        let leaves: Vec<_> = tangents.iter().map(wrap).collect::<PyResult<_>>()?;
        let primals = only_or_all(self.args.bind(py))?;
        let made = rule.bind(py).call1((primals, self.with_leaves(py, leaves)?))?;
        tree::arrays(&made, true)
    }

    fn mapped(&self, py: Python<'_>, inputs: &[Array], axes: &[Option<usize>]) -> PyResult<Lanes> {
        let Some(rule) = &self.vmap else { return Ok(Vec::new()) };
        let wrap = |x: &Array| -> PyResult<Option<Bound<'_, PyAny>>> {
            Ok(Some(Bound::new(py, PyArray::new(x.clone()))?.into_any()))
        };
        let given: Vec<_> = inputs.iter().map(wrap).collect::<PyResult<_>>()?;
        let axis = |axis: &Option<usize>| -> PyResult<Option<Bound<'_, PyAny>>> {
            axis.map(|axis| Ok(axis.into_pyobject(py)?.into_any())).transpose()
        };
        let axes: Vec<_> = axes.iter().map(axis).collect::<PyResult<_>>()?;
        let made = rule.bind(py).call1((self.with_leaves(py, given)?, self.with_leaves(py, axes)?))?;
        let pair = made.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(|| {
            PyValueError::new_err("[custom vmap] Vmap function should return a tuple with 2 items.")
        })?;
        let outputs = tree::arrays(&pair.get_item(0)?, true)?;
        let mut axes = Vec::new();
        tree::visit(&pair.get_item(1)?, &mut |leaf| {
            axes.push(leaf.extract::<Option<usize>>()?);
            Ok(())
        })?;
        if axes.len() == 1 {
            axes.resize(outputs.len(), axes[0]);
        }
        if axes.len() != outputs.len() {
            let message = format!("[custom vmap] {} outputs, but {} axes", outputs.len(), axes.len());
            return Err(PyValueError::new_err(message));
        }
        Ok(outputs.into_iter().zip(axes).collect())
    }
}

impl Rule for CustomRule {
    fn has_vjp(&self) -> bool {
        self.vjp.is_some()
    }

    fn has_jvp(&self) -> bool {
        self.jvp.is_some()
    }

    fn has_vmap(&self) -> bool {
        self.vmap.is_some()
    }

    fn vjp(&self, given: &Cotangents) -> pellucid::Result<Contributions> {
        Python::attach(|py| self.pulled(py, given)).map_err(keep)
    }

    fn jvp(&self, _: &[Array], tangents: &[Option<Array>]) -> pellucid::Result<Vec<Array>> {
        Python::attach(|py| self.pushed(py, tangents)).map_err(keep)
    }

    fn vmap(&self, inputs: &[Array], axes: &[Option<usize>]) -> pellucid::Result<Lanes> {
        Python::attach(|py| self.mapped(py, inputs, axes)).map_err(keep)
    }
}

#[pymethods]
impl CustomFunction {
    #[new]
    fn new(f: &Bound<'_, PyAny>) -> PyResult<CustomFunction> {
        if !f.is_callable() {
            return Err(pyo3::exceptions::PyTypeError::new_err("custom_function takes a callable"));
        }
        Ok(CustomFunction { fun: Some(f.clone().unbind()), vjp: None, jvp: None, vmap: None })
    }

    /// vjp(self, f: Callable) -> custom_function
    ///
    /// Sets the rule for gradients: f(primals, cotangents, outputs).
    fn vjp<'py>(slf: Bound<'py, Self>, f: Py<PyAny>) -> Bound<'py, Self> {
        slf.borrow_mut().vjp = Some(f);
        slf
    }

    /// jvp(self, f: Callable) -> custom_function
    ///
    /// Sets the rule for tangents: f(primals, tangents).
    fn jvp<'py>(slf: Bound<'py, Self>, f: Py<PyAny>) -> Bound<'py, Self> {
        slf.borrow_mut().jvp = Some(f);
        slf
    }

    /// vmap(self, f: Callable) -> custom_function
    ///
    /// Sets the rule for batches: f(inputs, axes), which returns outputs and axes.
    fn vmap<'py>(slf: Bound<'py, Self>, f: Py<PyAny>) -> Bound<'py, Self> {
        slf.borrow_mut().vmap = Some(f);
        slf
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let (fun, rule) = {
            let this = slf.borrow();
            let Some(fun) = &this.fun else {
                return Err(PyValueError::new_err(
                    "[custom_function] it was cleared by the garbage collector",
                ));
            };
            let copy = |rule: &Option<Py<PyAny>>| rule.as_ref().map(|rule| rule.clone_ref(py));
            let rule = CustomRule {
                args: args.clone().unbind(),
                kwargs: match kwargs {
                    Some(kwargs) => kwargs.copy()?.unbind(),
                    None => PyDict::new(py).unbind(),
                },
                result: RefCell::new(None),
                vjp: copy(&this.vjp),
                jvp: copy(&this.jvp),
                vmap: copy(&this.vmap),
            };
            (fun.bind(py).clone(), rule)
        };
        if rule.vjp.is_none() && rule.jvp.is_none() && rule.vmap.is_none() {
            return fun.call(args, kwargs);
        }
        let mut inputs = tree::arrays(args.as_any(), false)?;
        inputs.extend(tree::arrays(rule.kwargs.bind(py).as_any(), false)?);
        let rule = Rc::new(rule);
        let outputs = attributed(py, || {
            transform::call_with_rule(rule.clone(), &inputs, || {
                let result = fun.call(args, kwargs)?;
                let outputs = tree::arrays(&result, true)?;
                *rule.result.borrow_mut() = Some(result.unbind());
                Ok::<_, PyErr>(outputs)
            })
        })?;
        tree::with_arrays(&rule.result(py)?, &mut outputs.into_iter())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for object in [&self.fun, &self.vjp, &self.jvp, &self.vmap].into_iter().flatten() {
            visit.call(object)?;
        }
        Ok(())
    }

    fn __clear__(&mut self) {
        (self.fun, self.vjp, self.jvp, self.vmap) = (None, None, None, None);
    }
}

struct Checkpointed;

/// checkpoint(fun: Callable) -> Callable
///
/// A function like `fun` of which nothing but its arguments is kept for the way back: there it is computed again.
#[pyfunction]
pub fn checkpoint<'py>(fun: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    GcFunc::make(fun, &[], Checkpointed)
}

impl Body for Checkpointed {
    fn call<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut inputs = tree::arrays(args.as_any(), false)?;
        if let Some(kwargs) = kwargs {
            inputs.extend(tree::arrays(kwargs.as_any(), false)?);
        }
        let mut returned = None;
        let outputs = attributed(py, || {
            transform::checkpointed(&inputs, || {
                let result = objects[0].call(args, kwargs)?;
                let outputs = tree::arrays(&result, false)?;
                returned = Some(result);
                Ok::<_, PyErr>(outputs)
            })
        })?;
        match returned {
            Some(result) => tree::with_arrays(&result, &mut outputs.into_iter()),
            None => Ok(PyList::empty(py).into_any()),
        }
    }
}
