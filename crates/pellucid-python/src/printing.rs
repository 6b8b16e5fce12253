//! How arrays are printed.

use parking_lot::Mutex;
use pellucid::array::{PrintOptions, print_options, set_print_options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How arrays are printed: places after the point, or -1 for six significant digits.
#[pyclass(name = "PrintOptions", module = "pellucid.core", frozen, from_py_object)]
#[derive(Clone, Copy)]
struct PyPrintOptions {
    #[pyo3(get)]
    precision: i32,
}

impl PyPrintOptions {
    fn options(self) -> PyResult<PrintOptions> {
        if self.precision < 0 {
            return Ok(PrintOptions::default());
        }
        match u8::try_from(self.precision) {
            Ok(precision) => Ok(PrintOptions::default().with_precision(precision)),
            Err(_) => {
                Err(PyValueError::new_err(format!("a precision of {} is more than 255", self.precision)))
            }
        }
    }
}

impl From<PrintOptions> for PyPrintOptions {
    fn from(options: PrintOptions) -> PyPrintOptions {
        PyPrintOptions { precision: options.precision.map_or(-1, i32::from) }
    }
}

#[pymethods]
impl PyPrintOptions {
    #[new]
    #[pyo3(signature = (precision = -1))]
    fn new(precision: i32) -> PyPrintOptions {
        PyPrintOptions { precision }
    }
}

/// Options that hold inside a block.
#[pyclass(name = "_PrintOptionsContext", module = "pellucid.core", frozen)]
struct PrintOptionsContext {
    options: PyPrintOptions,
    before: Mutex<Vec<PrintOptions>>,
}

#[pymethods]
impl PrintOptionsContext {
    #[new]
    #[pyo3(signature = (options, /))]
    fn new(options: PyPrintOptions) -> PrintOptionsContext {
        PrintOptionsContext { options, before: Mutex::new(Vec::new()) }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        let before = set_print_options(this.options.options()?);
        this.before.lock().push(before);
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        if let Some(before) = self.before.lock().pop() {
            set_print_options(before);
        }
    }
}

/// set_printoptions(precision: int = -1) -> None
///
/// Sets how many places after the point are printed; -1 prints six significant digits.
#[pyfunction]
#[pyo3(signature = (precision = -1))]
fn set_printoptions(precision: i32) -> PyResult<()> {
    set_print_options(PyPrintOptions { precision }.options()?);
    Ok(())
}

/// get_printoptions() -> PrintOptions
///
/// How arrays are printed now.
#[pyfunction]
fn get_printoptions() -> PyPrintOptions {
    print_options().into()
}

/// printoptions(precision: int = -1) -> _PrintOptionsContext
///
/// A context manager that sets how arrays are printed inside its block.
#[pyfunction]
#[pyo3(signature = (precision = -1))]
fn printoptions(precision: i32) -> PrintOptionsContext {
    PrintOptionsContext::new(PyPrintOptions { precision })
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyPrintOptions>()?;
    m.add_class::<PrintOptionsContext>()?;
    crate::add_functions!(m: set_printoptions, get_printoptions, printoptions);
    Ok(())
}
