//! `pellucid.core`: the names of `mlx.core` on top of Pellucid.
//!
//! Most operations are entries of tables in `ops/`, one line each; what their arguments mean is in `args.rs`, and how a
//! call becomes an operation in `call.rs`. Errors become exceptions in `error.rs`.

mod args;
mod array;
mod call;
mod capture;
mod cuda;
mod device;
mod distributed;
mod dtype;
mod error;
mod eval;
mod fft;
mod files;
mod linalg;
mod memory;
mod missing;
mod ops;
mod printing;
mod random;
mod site;
mod transform;

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Adds functions to a module.
macro_rules! add_functions {
    ($module:expr => $($name:ident),* $(,)?) => {
        $($module.add_function(pyo3::wrap_pyfunction!($name, $module)?)?;)*
    };
    ($module:ident: $($name:ident),* $(,)?) => {
        $crate::add_functions!($module => $($name),*)
    };
    (&$module:ident: $($name:ident),* $(,)?) => {
        $crate::add_functions!(&$module => $($name),*)
    };
}
pub(crate) use add_functions;

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The name of an object's type, for messages.
fn type_name(obj: &Bound<'_, PyAny>) -> String {
    obj.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// A module inside another one, importable by its full name.
fn submodule<'py>(parent: &Bound<'py, PyModule>, name: &str, doc: &str) -> PyResult<Bound<'py, PyModule>> {
    let py = parent.py();
    let full = format!("pellucid.core.{name}");
    let module = PyModule::new(py, &full)?;
    module.setattr("__doc__", doc)?;
    parent.add(name, &module)?;
    py.import("sys")?.getattr("modules")?.set_item(full, &module)?;
    Ok(module)
}

/// Arrays with MLX's API on any GPU and the CPU.
#[pymodule]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(m)?;
    for (name, value) in [
        ("e", std::f64::consts::E),
        ("pi", std::f64::consts::PI),
        ("euler_gamma", 0.577_215_664_901_532_9),
        ("inf", f64::INFINITY),
        ("nan", f64::NAN),
    ] {
        m.add(name, value)?;
    }
    m.add("newaxis", py.None())?;
    dtype::register(m)?;
    device::register(m)?;
    memory::register(m)?;
    array::register(m)?;
    eval::register(m)?;
    printing::register(m)?;
    ops::register(m)?;
    random::register(m)?;
    fft::register(&submodule(m, "fft", "Fourier transforms.")?)?;
    linalg::register(&submodule(m, "linalg", "Linear algebra.")?)?;
    cuda::register(m)?;
    distributed::register(&submodule(
        m,
        "distributed",
        "Groups of processes that work together: here, this one.",
    )?)?;
    files::register(m)?;
    capture::register(m)?;
    transform::register(m)?;
    missing::register(m)
}
