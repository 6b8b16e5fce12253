//! Functions in files: `export_function`, `exporter`, `import_function`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pellucid::op::{Op, Spec};
use pellucid::transform::{self, Exporter, Graph, Imported, Signature};
use pellucid::{Array, Error};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::primitives::{number, primitive};
use super::{attributed, raised};
use crate::array::PyArray;
use crate::call::wait;
use crate::dtype::PyDtype;
use crate::error::OrRaise;
use crate::type_name;

/// The arrays of a call: by position, and by keyword in the order of the keywords.
struct Given {
    positional: Vec<Array>,
    named: Vec<(String, Array)>,
}

impl Given {
    /// Arrays by position and keyword, or one tuple or list, one dictionary, or one of each.
    fn read(tag: &str, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Given> {
        let wrong = || {
            PyValueError::new_err(format!(
                "[{tag}] Inputs can either be a variable number of positional and keyword arrays or a single tuple \
                 and/or dictionary of arrays."
            ))
        };
        let array = |object: &Bound<'_, PyAny>| object.cast::<PyArray>().map(|a| a.get().array()).ok();
        let sequence = |object: &Bound<'_, PyAny>| -> PyResult<Option<Vec<Array>>> {
            match object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
                true => object
                    .try_iter()?
                    .map(|item| array(&item?).ok_or_else(wrong))
                    .collect::<PyResult<_>>()
                    .map(Some),
                false => Ok(None),
            }
        };
        let dictionary = |dict: &Bound<'_, PyDict>| -> PyResult<Vec<(String, Array)>> {
            let item = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, Array)> {
                let key = key.cast::<PyString>().map_err(|_| wrong())?.to_string();
                Ok((key, array(&item).ok_or_else(wrong)?))
            };
            dict.iter().map(item).collect()
        };
        let keywords = kwargs.filter(|kwargs| !kwargs.is_empty());
        let mut given = Given { positional: Vec::new(), named: Vec::new() };
        let items: Vec<Bound<'_, PyAny>> = args.iter().collect();
        match (&items[..], keywords) {
            ([only], None) if !only.is_instance_of::<PyArray>() => {
                match (sequence(only)?, only.cast::<PyDict>()) {
                    (Some(arrays), _) => given.positional = arrays,
                    (None, Ok(dict)) => given.named = dictionary(dict)?,
                    (None, Err(_)) => return Err(wrong()),
                }
            }
            ([first, second], None) if second.is_instance_of::<PyDict>() => {
                given.positional = sequence(first)?.ok_or_else(wrong)?;
                given.named = dictionary(second.cast::<PyDict>()?)?;
            }
            (items, keywords) => {
                given.positional =
                    items.iter().map(|item| array(item).ok_or_else(wrong)).collect::<PyResult<_>>()?;
                given.named = keywords.map(dictionary).transpose()?.unwrap_or_default();
            }
        }
        given.named.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(given)
    }

    fn keywords(&self) -> Vec<String> {
        self.named.iter().map(|(keyword, _)| keyword.clone()).collect()
    }

    fn arrays(&self) -> Vec<Array> {
        self.positional.iter().chain(self.named.iter().map(|(_, array)| array)).cloned().collect()
    }
}

/// What a function that is exported returned.
fn outputs(result: &Bound<'_, PyAny>) -> PyResult<Vec<Array>> {
    let wrong = || {
        PyValueError::new_err(
            "[export_function] Outputs can be either a single array, a tuple, or a list of arrays.",
        )
    };
    if let Ok(array) = result.cast::<PyArray>() {
        return Ok(vec![array.get().array()]);
    }
    if !result.is_instance_of::<PyTuple>() && !result.is_instance_of::<PyList>() {
        return Err(wrong());
    }
    let one = |item: PyResult<Bound<'_, PyAny>>| -> PyResult<Array> {
        Ok(item?.cast::<PyArray>().map_err(|_| wrong())?.get().array())
    };
    result.try_iter()?.map(one).collect()
}

/// Records what a function does with arrays like these.
fn record(py: Python<'_>, exporter: &Exporter, fun: &Bound<'_, PyAny>, given: &Given) -> PyResult<Graph> {
    let arrays = given.arrays();
    let trace = exporter.begin();
    let placeholder = |a: &Array| trace.placeholder(a.shape_ref().clone(), a.dtype());
    let variables =
        attributed(py, || arrays.iter().map(placeholder).collect::<pellucid::Result<Vec<_>>>()).or_raise()?;
    let (positional, named) = variables.split_at(given.positional.len());
    let args = PyTuple::new(py, positional.iter().cloned().map(PyArray::new))?;
    let kwargs = PyDict::new(py);
    for ((keyword, _), variable) in given.named.iter().zip(named) {
        kwargs.set_item(keyword, Bound::new(py, PyArray::new(variable.clone()))?)?;
    }
    let made = outputs(&fun.call(args, Some(&kwargs))?)?;
    raised(Graph::from_trace(trace, &variables, &made))
}

/// Records a function and adds it to what is exported.
fn add(
    py: Python<'_>,
    exporter: &mut Exporter,
    fun: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let given = Given::read("export_function", args, kwargs)?;
    if exporter.has(&given.keywords(), &given.arrays()) {
        return Err(PyRuntimeError::new_err(
            "[export_function] Attempting to export a function twice with the same signature is not allowed.",
        ));
    }
    let graph = record(py, exporter, fun, &given)?;
    exporter.add(&given.keywords(), graph).or_raise()
}

/// The exception for a file that cannot be opened, as MLX words it.
fn opened<T>(tag: &str, result: pellucid::Result<T>) -> PyResult<T> {
    match result {
        Err(Error::Io { path, source, .. }) => {
            Err(PyRuntimeError::new_err(format!("[{tag}] Failed to open {}: {source}", path.display())))
        }
        other => other.or_raise(),
    }
}

fn save(py: Python<'_>, exporter: &Exporter, path: &Path) -> PyResult<()> {
    let mut outcome = Ok(());
    wait(py, || {
        outcome = exporter.save(path);
        Ok(())
    })?;
    opened("export_function", outcome)
}

fn path_of(function: &str, file: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    file.extract().map_err(|_| {
        PyTypeError::new_err(format!("{function}(): the file is a path, not {}", type_name(file)))
    })
}

fn check_callable(function: &str, fun: &Bound<'_, PyAny>) -> PyResult<()> {
    match fun.is_callable() {
        true => Ok(()),
        false => {
            Err(PyTypeError::new_err(format!("{function}(): expected a callable, not {}", type_name(fun))))
        }
    }
}

/// export_function(file_or_callback: str | Callable, fun: Callable, *args, shapeless: bool = False, metadata: str | None = None, **kwargs) -> None
///
/// Writes what `fun` does with arrays like these to a file, or tells it to a callback, one dictionary at a time.
#[pyfunction]
#[pyo3(signature = (file_or_callback, fun, *args, shapeless = false, metadata = None, **kwargs))]
pub fn export_function<'py>(
    py: Python<'py>,
    file_or_callback: &Bound<'py, PyAny>,
    fun: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    shapeless: bool,
    metadata: Option<String>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<()> {
    check_callable("export_function", fun)?;
    let callback = file_or_callback.is_callable();
    if callback && metadata.is_some() {
        return Err(PyValueError::new_err(
            "[export_function] The metadata argument is only supported when exporting to a file, not when using a \
             callback.",
        ));
    }
    let mut exporter = Exporter::new().shapeless(shapeless).metadata(metadata.unwrap_or_default());
    if callback {
        add(py, &mut exporter, fun, args, kwargs)?;
        return exporter
            .functions()
            .try_for_each(|(signature, graph)| told(py, file_or_callback, signature, graph));
    }
    let path = path_of("export_function", file_or_callback)?;
    add(py, &mut exporter, fun, args, kwargs)?;
    save(py, &exporter, &path)
}

/// Names for values, in the order in which they are asked for: A, B, …, Z, AA, AB, ….
#[derive(Default)]
struct Names {
    known: HashMap<u32, String>,
    count: usize,
}

impl Names {
    fn next(&mut self) -> String {
        let (mut left, mut letters) = (self.count, Vec::new());
        self.count += 1;
        loop {
            letters.push(b'A' + (left % 26) as u8);
            left /= 26;
            if left == 0 {
                break;
            }
            left -= 1;
        }
        letters.iter().rev().map(|&letter| char::from(letter)).collect()
    }

    fn of(&mut self, value: u32) -> String {
        if let Some(name) = self.known.get(&value) {
            return name.clone();
        }
        let name = self.next();
        self.known.insert(value, name.clone());
        name
    }
}

/// Name, shape and type of a value.
fn described<'py>(py: Python<'py>, name: String, spec: &Spec) -> PyResult<Bound<'py, PyAny>> {
    let shape = PyTuple::new(py, spec.shape.iter())?;
    Ok((name, shape, PyDtype(spec.dtype)).into_pyobject(py)?.into_any())
}

/// Tells a recorded function to a callback. Numbers that operations carry are constants there, as in MLX.
fn told<'py>(
    py: Python<'py>,
    callback: &Bound<'py, PyAny>,
    signature: &Signature,
    graph: &Graph,
) -> PyResult<()> {
    let mut names = Names::default();
    let mut specs: HashMap<u32, Spec> =
        graph.inputs().iter().cloned().zip(0..).map(|(s, n)| (n, s)).collect();
    for (value, array) in graph.numbered_constants() {
        specs.insert(value, Spec { shape: array.shape_ref().clone(), dtype: array.dtype() });
    }
    for call in graph.calls() {
        specs.extend((call.first..).zip(call.results.iter().cloned()));
    }
    let tell = |kind: &str, items: &[(&str, Bound<'py, PyAny>)]| -> PyResult<()> {
        let event = PyDict::new(py);
        event.set_item("type", kind)?;
        items.iter().try_for_each(|(key, item)| event.set_item(*key, item))?;
        callback.call1((event,)).map(drop)
    };
    let entries = |names: &mut Names, values: &[u32]| -> PyResult<Bound<'py, PyAny>> {
        let entry = |&value: &u32| described(py, names.of(value), &specs[&value]);
        Ok(PyList::new(py, values.iter().map(entry).collect::<PyResult<Vec<_>>>()?)?.into_any())
    };
    let inputs: Vec<u32> = (0..graph.inputs().len() as u32).collect();
    tell("inputs", &[("inputs", entries(&mut names, &inputs)?)])?;
    let by_name = signature.keywords.iter().zip(&inputs[signature.positional()..]);
    let keywords: Vec<(String, String)> =
        by_name.map(|(keyword, &value)| (keyword.clone(), names.of(value))).collect();
    tell("keyword_inputs", &[("keywords", PyList::new(py, keywords)?.into_any())])?;
    tell("outputs", &[("outputs", entries(&mut names, graph.outputs())?)])?;
    let mut constants: Vec<(String, PyArray)> = graph
        .numbered_constants()
        .map(|(value, array)| (names.of(value), PyArray::new(array.clone())))
        .collect();
    // The number that fills an array of any shape; the array is made from it by a broadcast.
    let mut numbers: HashMap<u32, (String, Spec)> = HashMap::new();
    for call in graph.calls() {
        if let Op::Full { shape, dtype, value } = call.op {
            let one = number(*value, *dtype).or_raise()?;
            let spec = Spec { shape: one.shape_ref().clone(), dtype: *dtype };
            let name = if shape.is_empty() { names.of(call.first) } else { names.next() };
            constants.push((name.clone(), PyArray::new(one)));
            numbers.insert(call.first, (name, spec));
        }
    }
    tell("constants", &[("constants", PyList::new(py, constants)?.into_any())])?;
    for call in graph.calls() {
        let results: Vec<u32> = (call.first..).take(call.results.len()).collect();
        let (given, name, arguments) = match (call.op, numbers.get(&call.first)) {
            (Op::Full { shape, .. }, _) if shape.is_empty() => continue,
            (Op::Full { shape, .. }, Some((name, spec))) => {
                let given = PyList::new(py, [described(py, name.clone(), spec)?])?.into_any();
                let (name, arguments) = primitive(&Op::Broadcast { shape: shape.clone() }, &[spec]);
                (given, name, arguments)
            }
            (op, _) => {
                let known: Vec<&Spec> = call.inputs.iter().map(|value| &specs[value]).collect();
                let (name, arguments) = primitive(op, &known);
                (entries(&mut names, call.inputs)?, name, arguments)
            }
        };
        let arguments = arguments.iter().map(|argument| argument.object(py)).collect::<PyResult<Vec<_>>>()?;
        let items = [
            ("name", PyString::new(py, &name).into_any()),
            ("inputs", given),
            ("outputs", entries(&mut names, &results)?),
            ("arguments", PyList::new(py, arguments)?.into_any()),
        ];
        tell("primitive", &items)?;
    }
    Ok(())
}

/// A function that is written to a file for several kinds of arguments. Made by `exporter`.
#[pyclass(module = "pellucid.core")]
pub struct FunctionExporter {
    path: PathBuf,
    fun: Option<Py<PyAny>>,
    /// `None` once it is closed.
    open: Option<Exporter>,
    /// Something was recorded that is not in the file.
    unsaved: bool,
}

/// exporter(file: str, fun: Callable, *, shapeless: bool = False, metadata: str | None = None) -> FunctionExporter
///
/// A callable that records `fun` for the arrays it is called with. The file is complete when it is closed, or when the
/// `with` statement that it manages ends.
#[pyfunction]
#[pyo3(signature = (file, fun, *, shapeless = false, metadata = None))]
pub fn exporter(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    fun: &Bound<'_, PyAny>,
    shapeless: bool,
    metadata: Option<String>,
) -> PyResult<FunctionExporter> {
    check_callable("exporter", fun)?;
    let path = path_of("exporter", file)?;
    let exporter = Exporter::new().shapeless(shapeless).metadata(metadata.unwrap_or_default());
    // A place that cannot be written to is known at once.
    save(py, &exporter, &path)?;
    Ok(FunctionExporter { path, fun: Some(fun.clone().unbind()), open: Some(exporter), unsaved: false })
}

#[pymethods]
impl FunctionExporter {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let closed =
            || PyRuntimeError::new_err("[export_function] Attempting to write after exporting is closed.");
        // Not borrowed while the function runs, which may do anything with this object.
        let (mut exporter, fun) = {
            let mut this = slf.borrow_mut();
            let Some(fun) = this.fun.as_ref().map(|fun| fun.bind(py).clone()) else { return Err(closed()) };
            (this.open.take().ok_or_else(closed)?, fun)
        };
        let outcome = add(py, &mut exporter, &fun, args, kwargs);
        let mut this = slf.borrow_mut();
        this.open = Some(exporter);
        this.unsaved |= outcome.is_ok();
        outcome
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (exc_type = None, exc_value = None, traceback = None))]
    fn __exit__(
        &mut self,
        py: Python<'_>,
        exc_type: Option<&Bound<'_, PyAny>>,
        exc_value: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (exc_type, exc_value, traceback);
        self.close(py)
    }

    /// close(self) -> None
    ///
    /// Completes the file.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(exporter) = self.open.take() else { return Ok(()) };
        match std::mem::take(&mut self.unsaved) {
            true => save(py, &exporter, &self.path),
            false => Ok(()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.fun.as_ref().map_or(Ok(()), |fun| visit.call(fun))
    }

    fn __clear__(&mut self) {
        self.fun = None;
    }
}

impl Drop for FunctionExporter {
    /// What was recorded is not lost if nobody closes it.
    fn drop(&mut self) {
        if let (Some(exporter), true) = (&self.open, self.unsaved)
            && let Err(error) = exporter.save(&self.path)
        {
            Python::try_attach(|py| crate::error::to_py(error).write_unraisable(py, None));
        }
    }
}

/// A function that was read from a file.
#[pyclass(name = "_imported_function", module = "pellucid.core", frozen)]
pub struct ImportedFunction {
    path: PathBuf,
    imported: Imported,
}

#[pymethods]
impl ImportedFunction {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let given = Given::read("import_function::call", args, kwargs)?;
        let named: Vec<(&str, Array)> =
            given.named.iter().map(|(keyword, array)| (keyword.as_str(), array.clone())).collect();
        let made = self.imported.call_named(&given.positional, &named).or_raise()?;
        PyTuple::new(py, made.into_iter().map(PyArray::new))
    }

    fn __repr__(&self) -> String {
        format!("<imported function {}>", self.path.display())
    }
}

/// import_function(file: str, return_metadata: bool = False) -> Callable | tuple[Callable, str]
///
/// The function that `export_function` wrote to a file, which returns a tuple of arrays; and the text beside it if that is
/// asked for.
#[pyfunction]
#[pyo3(signature = (file, return_metadata = false))]
pub fn import_function<'py>(
    py: Python<'py>,
    file: &Bound<'py, PyAny>,
    return_metadata: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let path = path_of("import_function", file)?;
    let mut outcome = None;
    wait(py, || {
        outcome = Some(transform::import(&path));
        Ok(())
    })?;
    let imported = match outcome {
        Some(outcome) => opened("import_function", outcome)?,
        None => return Err(PyRuntimeError::new_err("[import_function] nothing was read")),
    };
    let metadata = imported.metadata().to_owned();
    let function = Bound::new(py, ImportedFunction { path, imported })?.into_any();
    match return_metadata {
        true => Ok((function, metadata).into_pyobject(py)?.into_any()),
        false => Ok(function),
    }
}
