//! The names of `mlx.core` that are not there: asking for one says so.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// Names of MLX without an implementation here.
const MISSING: &[&str] = &["__array_namespace_info__"];

/// _missing_names() -> list[str]
///
/// The names of mlx.core that are not implemented.
#[pyfunction]
fn _missing_names() -> Vec<&'static str> {
    MISSING.to_vec()
}

fn missing(module: &str, name: &str, known: &[&str]) -> PyErr {
    PyAttributeError::new_err(match known.contains(&name) {
        true => format!("mlx.{module}.{name} is not implemented in Pellucid"),
        false => format!("module 'pellucid.{module}' has no attribute '{name}'"),
    })
}

/// Called for names the module does not have.
#[pyfunction(name = "__getattr__")]
fn core_name(name: &str) -> PyResult<Py<PyAny>> {
    Err(missing("core", name, MISSING))
}

/// Called for names the module does not have.
#[pyfunction(name = "__getattr__")]
fn random_name(name: &str) -> PyResult<Py<PyAny>> {
    Err(missing("core.random", name, &[]))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: _missing_names, core_name);
    let random = m.getattr("random")?.cast_into::<PyModule>()?;
    crate::add_functions!(&random: random_name);
    Ok(())
}
