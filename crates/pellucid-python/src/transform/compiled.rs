//! Functions that are recorded once and called again without running their Python code: `compile`.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pellucid::transform::{self, Graph, Trace};
use pellucid::{Array, Device, Dtype, random};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::function::{Body, GcFunc};
use super::tree::{self, Filled, Kind};
use super::{attributed, raised};
use crate::array::PyArray;
use crate::error::OrRaise;
use crate::random::RandomState;
use crate::type_name;

/// A function is kept for this many kinds of arguments; the one that was called longest ago goes first.
const MOST_KEPT: usize = 512;

/// After this many recordings in a row a function says why.
const MANY: usize = 16;

/// A part of what must be the same for a recorded function to be used again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    List(usize),
    Tuple(usize),
    Dict(usize),
    Key(String),
    Shaped(Dtype, Vec<usize>),
    Ranked(Dtype, usize),
    Random,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(String),
    None,
}

impl Part {
    /// The part as a message shows it.
    fn shown(&self) -> String {
        match self {
            Part::List(n) => format!("a list of {n}"),
            Part::Tuple(n) => format!("a tuple of {n}"),
            Part::Dict(n) => format!("a dictionary of {n}"),
            Part::Key(key) => format!("the key {key}"),
            Part::Shaped(dtype, shape) => format!("{dtype} of shape {shape:?}"),
            Part::Ranked(dtype, rank) => format!("{dtype} with {rank} axes"),
            Part::Random => "the random state".to_owned(),
            Part::Bool(v) => v.to_string(),
            Part::Int(v) => v.to_string(),
            Part::Float(bits) => f64::from_bits(*bits).to_string(),
            Part::Text(text) => format!("{text:?}"),
            Part::None => "None".to_owned(),
        }
    }
}

type Key = (Vec<Part>, Device, usize);

/// A recorded function.
struct Kept {
    graph: Arc<Graph>,
    /// What it returned, with placeholders for arrays.
    result: Py<PyAny>,
    /// How many of the graph's results are the function's own; the others are state.
    own: usize,
    used: u64,
}

#[derive(Default)]
struct Cache {
    kept: HashMap<Key, Kept>,
    calls: u64,
    /// Recordings since the last call that needed none.
    misses: usize,
    warned: bool,
}

struct Compiled {
    shapeless: bool,
    cache: Mutex<Cache>,
}

/// compile(fun: Callable, inputs: object | None = None, outputs: object | None = None, shapeless: bool = False) -> Callable
///
/// A function that records what `fun` does for each kind of arguments and makes only its operations from then on. Arrays in
/// `inputs` are arguments that are not passed, those in `outputs` results that are not returned.
#[pyfunction]
#[pyo3(signature = (fun, inputs = None, outputs = None, shapeless = false))]
pub fn compile<'py>(
    py: Python<'py>,
    fun: &Bound<'py, PyAny>,
    inputs: Option<&Bound<'py, PyAny>>,
    outputs: Option<&Bound<'py, PyAny>>,
    shapeless: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let none = py.None().into_bound(py);
    let more = [inputs.unwrap_or(&none).clone(), outputs.unwrap_or(&none).clone()];
    GcFunc::make(fun, &more, Compiled { shapeless, cache: Mutex::default() })
}

/// enable_compile() -> None
///
/// Lets compiled functions be recorded and kept.
#[pyfunction]
pub fn enable_compile() {
    transform::set_compile_enabled(true);
}

/// disable_compile() -> None
///
/// Lets compiled functions just run.
#[pyfunction]
pub fn disable_compile() {
    transform::set_compile_enabled(false);
}

/// Reads a tree: the parts of its key, and its arrays.
fn read(
    object: &Bound<'_, PyAny>,
    shapeless: bool,
    state: bool,
    parts: &mut Vec<Part>,
    arrays: &mut Vec<Array>,
) -> PyResult<()> {
    if parts.len() > 1 << 24 {
        return Err(PyValueError::new_err("[compile] the arguments are too many, or contain themselves"));
    }
    match tree::kind(object) {
        Kind::Array(array) => {
            let array = array.get().array();
            parts.push(match shapeless {
                true => Part::Ranked(array.dtype(), array.ndim()),
                false => Part::Shaped(array.dtype(), array.shape().to_vec()),
            });
            arrays.push(array);
            Ok(())
        }
        Kind::List(list) => {
            parts.push(Part::List(list.len()));
            list.iter().try_for_each(|item| read(&item, shapeless, state, parts, arrays))
        }
        Kind::Tuple(tuple) => {
            parts.push(Part::Tuple(tuple.len()));
            tuple.iter().try_for_each(|item| read(&item, shapeless, state, parts, arrays))
        }
        Kind::Dict(dict) => {
            parts.push(Part::Dict(dict.len()));
            for (key, item) in dict.iter() {
                parts.push(Part::Key(key.str()?.to_string()));
                read(&item, shapeless, state, parts, arrays)?;
            }
            Ok(())
        }
        Kind::Other if object.is_instance_of::<RandomState>() => {
            parts.push(Part::Random);
            arrays.push(random::state());
            Ok(())
        }
        // State may hold anything; what is not an array is not state.
        Kind::Other if state => Ok(()),
        Kind::Other => {
            parts.push(constant(object)?);
            Ok(())
        }
    }
}

fn constant(object: &Bound<'_, PyAny>) -> PyResult<Part> {
    if object.is_none() {
        Ok(Part::None)
    } else if object.is_instance_of::<PyBool>() {
        Ok(Part::Bool(object.extract()?))
    } else if object.is_instance_of::<PyInt>() {
        let value = object.extract().map_err(|_| {
            PyRuntimeError::new_err("[compile] integers among the arguments must fit 64 bits")
        })?;
        Ok(Part::Int(value))
    } else if object.is_instance_of::<PyFloat>() {
        Ok(Part::Float(object.extract::<f64>()?.to_bits()))
    } else if object.is_instance_of::<PyString>() {
        Ok(Part::Text(object.extract()?))
    } else {
        let message = format!(
            "[compile] Function arguments must be trees of arrays or constants (floats, ints, strings, or None), but \
             received type {}",
            type_name(object)
        );
        Err(PyValueError::new_err(message))
    }
}

/// Puts arrays where the arrays and the random state of a tree are.
fn write<'py>(object: &Bound<'py, PyAny>, arrays: &mut impl Iterator<Item = Array>) -> PyResult<()> {
    let one = |item: &Bound<'py, PyAny>,
               arrays: &mut dyn Iterator<Item = Array>|
     -> PyResult<Option<Bound<'py, PyAny>>> {
        if item.is_instance_of::<PyArray>() {
            let made = arrays.next().map(|array| Bound::new(item.py(), PyArray::new(array))).transpose()?;
            return Ok(made.map(Bound::into_any));
        }
        Ok(None)
    };
    match tree::kind(object) {
        Kind::List(list) => {
            for place in 0..list.len() {
                let item = list.get_item(place)?;
                match one(&item, arrays)? {
                    Some(made) => list.set_item(place, made)?,
                    None => write(&item, arrays)?,
                }
            }
        }
        Kind::Tuple(tuple) => {
            for item in tuple.iter() {
                // A tuple cannot hold another array, but an array object can hold other elements.
                match item.cast::<PyArray>() {
                    Ok(array) => arrays.next().into_iter().for_each(|made| array.get().replace(made)),
                    Err(_) => write(&item, arrays)?,
                }
            }
        }
        Kind::Dict(dict) => {
            for (key, item) in dict.iter().collect::<Vec<_>>() {
                match one(&item, arrays)? {
                    Some(made) => tree::set_dict_item(dict, &key, &made)?,
                    None => write(&item, arrays)?,
                }
            }
        }
        Kind::Array(array) => arrays.next().into_iter().for_each(|made| array.get().replace(made)),
        Kind::Other if object.is_instance_of::<RandomState>() => {
            if let Some(key) = arrays.next() {
                random::set_state(&key).or_raise()?;
            }
        }
        Kind::Other => {}
    }
    Ok(())
}

/// The arrays of state, the random state among them.
fn state_arrays(object: &Bound<'_, PyAny>) -> PyResult<Vec<Array>> {
    let (mut parts, mut arrays) = (Vec::new(), Vec::new());
    read(object, false, true, &mut parts, &mut arrays)?;
    Ok(arrays)
}

impl Compiled {
    /// Records the function, and keeps it.
    #[expect(clippy::too_many_arguments, reason = "one call site; they are the parts of one call")]
    fn record<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        arrays: &[Array],
        from_arguments: usize,
        key: Key,
    ) -> PyResult<(Arc<Graph>, Bound<'py, PyAny>, usize)> {
        let trace = if self.shapeless { Trace::of_any_size() } else { Trace::of_whole() };
        let variables = attributed(py, || {
            arrays
                .iter()
                .map(|a| trace.placeholder(a.shape_ref().clone(), a.dtype()))
                .collect::<pellucid::Result<Vec<_>>>()
        })
        .or_raise()?;
        let (own, state) = variables.split_at(from_arguments);
        let mut filled = Filled::default();
        let mut own = own.iter().cloned();
        let mut filled_state = Filled::of_state();
        filled_state.fill(&objects[1], &mut state.iter().cloned())?;
        let call = filled.fill(args.as_any(), &mut own).and_then(|args| {
            let kwargs = filled.fill(kwargs.as_any(), &mut own)?;
            objects[0].call(args.cast_into::<PyTuple>()?, Some(&kwargs.cast_into::<PyDict>()?))
        });
        let outcome = call.and_then(|result| {
            let mut outputs = tree::arrays(&result, false)?;
            let own = outputs.len();
            outputs.extend(state_arrays(&objects[2])?);
            Ok((result, outputs, own))
        });
        filled.restore()?;
        let restored = filled_state.restore();
        let (result, outputs, own) = outcome?;
        restored?;
        let graph = raised(Graph::from_trace(trace, &variables, &outputs))?;
        refuse_captured_arguments(&graph, &arrays[..from_arguments])?;
        let graph = Arc::new(graph);
        // Only the structure is kept: the arrays in it are placeholders.
        let result = tree::map(&result, &mut |leaf| Ok(leaf.clone()))?;
        self.keep(py, key, Kept { graph: graph.clone(), result: result.clone().unbind(), own, used: 0 })?;
        Ok((graph, result, own))
    }

    fn keep(&self, py: Python<'_>, key: Key, mut kept: Kept) -> PyResult<()> {
        let (dropped, why) = {
            let mut cache = self.cache.lock();
            kept.used = cache.calls;
            cache.misses += 1;
            let why = (cache.misses >= MANY && !cache.warned).then(|| {
                cache.warned = true;
                reason(&cache.kept, &key)
            });
            let oldest = (cache.kept.len() >= MOST_KEPT)
                .then(|| cache.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone()))
                .flatten();
            let dropped = oldest.and_then(|oldest| cache.kept.remove(&oldest));
            let replaced = cache.kept.insert(key, kept);
            ((dropped, replaced), why)
        };
        // Outside of the lock: freeing objects may run Python code.
        drop(dropped);
        if let Some(why) = why {
            let text = std::ffi::CString::new(format!(
                "[compile] the function was recorded {MANY} times in a row; the last time because {why}. Pass what \
                 changes as an array, or use shapeless=True"
            ))?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
        }
        Ok(())
    }
}

/// How a key differs from the one most like it.
fn reason(kept: &HashMap<Key, Kept>, key: &Key) -> String {
    let differences = |other: &Key| {
        let length = other.0.len().abs_diff(key.0.len());
        length * 1000 + other.0.iter().zip(&key.0).filter(|(a, b)| a != b).count()
    };
    let Some(nearest) = kept.keys().min_by_key(|other| differences(other)) else {
        return "it was new".to_owned();
    };
    if nearest.0.len() != key.0.len() {
        return "the structure of its arguments changed".to_owned();
    }
    let changed = nearest.0.iter().zip(&key.0).enumerate().find(|(_, (a, b))| a != b);
    match changed {
        Some((place, (was, is))) => {
            format!("part {place} of its arguments was {} and is {}", was.shown(), is.shown())
        }
        None => "it runs on another stream".to_owned(),
    }
}

/// A captured array that is also an argument would not be replaced by it.
fn refuse_captured_arguments(graph: &Graph, arguments: &[Array]) -> PyResult<()> {
    match graph.captures(arguments) {
        false => Ok(()),
        true => Err(PyValueError::new_err(
            "[compile] Attempting to compile a function with uncaptured inputs is not allowed: an array that is \
             passed as an argument is used by the function as a constant too, or one that is to be computed from it",
        )),
    }
}

impl Body for Compiled {
    fn call<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyAny>],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !transform::compile_enabled() {
            return objects[0].call(args, kwargs);
        }
        let empty = PyDict::new(py);
        let kwargs = kwargs.unwrap_or(&empty);
        let (mut parts, mut arrays) = (Vec::new(), Vec::new());
        read(args.as_any(), self.shapeless, false, &mut parts, &mut arrays)?;
        read(kwargs.as_any(), self.shapeless, false, &mut parts, &mut arrays)?;
        let from_arguments = arrays.len();
        read(&objects[1], self.shapeless, true, &mut parts, &mut arrays)?;
        // A transform around it sees the function itself.
        if arrays.iter().any(transform::is_traced) {
            return objects[0].call(args, Some(kwargs));
        }
        let stream = pellucid::default_stream(pellucid::default_device()).or_raise()?;
        let key = (parts, stream.device(), stream.index());
        let found = {
            let mut cache = self.cache.lock();
            cache.calls += 1;
            let calls = cache.calls;
            let found = cache.kept.get_mut(&key).map(|kept| {
                kept.used = calls;
                (kept.graph.clone(), kept.result.bind(py).clone(), kept.own)
            });
            if found.is_some() {
                cache.misses = 0;
            }
            found
        };
        let (graph, result, own) = match found {
            Some(found) => found,
            None => self.record(py, objects, args, kwargs, &arrays, from_arguments, key)?,
        };
        let mut made = match self.shapeless {
            true => graph.call_shapeless(&arrays).or_raise()?,
            false => graph.call(&arrays),
        };
        let state = made.split_off(own);
        if !objects[2].is_none() {
            write(&objects[2], &mut state.into_iter())?;
        }
        tree::with_arrays(&result, &mut made.into_iter())
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // While a call holds the lock nothing is unreachable.
        let Some(cache) = self.cache.try_lock() else { return Ok(()) };
        cache.kept.values().try_for_each(|kept| visit.call(&kept.result))
    }

    fn clear(&self) {
        let kept = std::mem::take(&mut self.cache.lock().kept);
        drop(kept);
    }
}
