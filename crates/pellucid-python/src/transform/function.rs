//! What transforms return: a callable with the name, the documentation and the signature of the function it came from,
//! whose references the garbage collector can see.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

/// What a call of a transformed function does.
pub trait Body: Send + Sync {
    /// Calls it. `objects` are those that the callable holds, the function first.
    fn call<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>>;

    /// The Python objects that it holds besides those.
    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let _ = visit;
        Ok(())
    }

    /// Lets go of them.
    fn clear(&self) {}
}

/// A function made from another one.
#[pyclass(name = "_gc_func", module = "pellucid.core", dict, weakref)]
pub struct GcFunc {
    /// `None` while the object is being made: its dictionary comes first, and making that can start the garbage collector,
    /// which then sees nothing but zeros here.
    made: Option<Box<Made>>,
}

/// What such a function consists of.
struct Made {
    objects: Vec<Py<PyAny>>,
    body: Box<dyn Body>,
}

const COPIED: [&str; 6] =
    ["__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__type_params__"];

impl GcFunc {
    /// A callable for `function`; `more` are further objects that the body works with.
    pub fn make<'py>(
        function: &Bound<'py, PyAny>,
        more: &[Bound<'py, PyAny>],
        body: impl Body + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        if !function.is_callable() {
            let message = format!("expected a callable, not {}", crate::type_name(function));
            return Err(PyTypeError::new_err(message));
        }
        let objects = std::iter::once(function).chain(more).map(|object| object.clone().unbind()).collect();
        let made = Bound::new(py, GcFunc { made: Some(Box::new(Made { objects, body: Box::new(body) })) })?
            .into_any();
        for name in COPIED {
            if let Some(value) = function.getattr_opt(name)? {
                made.setattr(name, value)?;
            }
        }
        made.setattr("__wrapped__", function)?;
        Ok(made)
    }
}

#[pymethods]
impl GcFunc {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let cleared = || PyTypeError::new_err("the function has been cleared by the garbage collector");
        let made = this.made.as_deref().ok_or_else(cleared)?;
        let objects: Vec<Bound<'py, PyAny>> = made.objects.iter().map(|o| o.bind(py).clone()).collect();
        if objects.is_empty() {
            return Err(cleared());
        }
        made.body.call(py, &objects, args, kwargs)
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        // As a function of a class it is a method.
        slf.py().import("types")?.getattr("MethodType")?.call1((slf, instance))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = match slf.getattr_opt("__name__")? {
            Some(name) => name.to_string(),
            None => "function".to_owned(),
        };
        Ok(format!("<_gc_func {name}>"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(made) = &self.made else { return Ok(()) };
        for object in &made.objects {
            visit.call(object)?;
        }
        made.body.visit(&visit)
    }

    fn __clear__(&mut self) {
        if let Some(made) = &mut self.made {
            made.objects.clear();
            made.body.clear();
        }
    }
}
