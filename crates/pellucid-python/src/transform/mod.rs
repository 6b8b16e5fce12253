//! Transforms of functions, with MLX's names: what stands on `pellucid::transform` and knows Python's trees.

mod check;
mod compiled;
mod custom;
mod exported;
mod function;
mod gradient;
mod lanes;
mod primitives;
mod tree;

use pellucid::with_call_site;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::site;

/// Runs `f` with what it builds attributed to the calling line of Python.
fn attributed<R>(py: Python<'_>, f: impl FnOnce() -> R) -> R {
    match site::here(py) {
        Some(site) => with_call_site(site, f),
        None => f(),
    }
}

/// The value, or an exception: the one that a rule written in Python raised, if there was one.
fn raised<T>(result: pellucid::Result<T>) -> PyResult<T> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => match custom::take_raised() {
            Some(raised) => Err(raised),
            None => Err(error).or_raise(),
        },
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    use check::check_grad;
    use compiled::{compile, disable_compile, enable_compile};
    use custom::checkpoint;
    use exported::{export_function, exporter, import_function};
    use gradient::{grad, jvp, value_and_grad, vjp};
    use lanes::vmap;
    crate::add_functions!(m: grad, value_and_grad, vjp, jvp, vmap, checkpoint, compile, enable_compile, disable_compile);
    crate::add_functions!(m: export_function, exporter, import_function, check_grad);
    m.add_class::<exported::FunctionExporter>()?;
    m.add_class::<custom::CustomFunction>()?;
    m.add("_gc_func", m.py().get_type::<function::GcFunc>())?;
    Ok(())
}
