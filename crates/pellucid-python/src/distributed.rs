//! `pellucid.core.distributed`: groups of processes that work together.
//!
//! Pellucid computes in one process, so every group has this process alone: what adds or gathers over the group returns
//! its argument, and what needs a second process says that there is none.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::args::{Input, IntList};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;
use crate::dtype::PyDtype;

const BACKENDS: &[&str] = &["any", "mpi", "nccl", "jaccl", "ring"];

/// The processes that work together: this one. Made by init().
#[pyclass(name = "Group", module = "pellucid.core.distributed", frozen)]
pub struct Group;

#[pymethods]
impl Group {
    /// rank(self) -> int
    ///
    /// The number of this process in the group: 0.
    fn rank(&self) -> usize {
        0
    }

    /// size(self) -> int
    ///
    /// How many processes the group has: 1.
    fn size(&self) -> usize {
        1
    }

    /// split(self, color: int, key: int = -1) -> Group
    ///
    /// Refused with a RuntimeError: a group of one process has no parts.
    #[pyo3(signature = (color, key = -1))]
    fn split(&self, color: i64, key: i64) -> PyResult<Group> {
        Err(PyRuntimeError::new_err(format!(
            "[split] a group of one process cannot be split (color {color}, key {key})"
        )))
    }
}

/// init(strict: bool = False, backend: str = 'any', *, all_gather_factory: Callable[[int, int], Callable[[bytes, int], bytes]] | None = None) -> Group
///
/// The group of this process alone. With strict a RuntimeError, since no backend connects processes.
#[pyfunction]
#[pyo3(signature = (strict = false, backend = "any", *, all_gather_factory = None))]
fn init(strict: bool, backend: &str, all_gather_factory: Option<Py<PyAny>>) -> PyResult<Group> {
    // What a backend would exchange addresses with.
    drop(all_gather_factory);
    if !BACKENDS.contains(&backend) {
        return Err(PyValueError::new_err(format!(
            "[init] there is no backend {backend:?}; known are {}",
            BACKENDS.join(", ")
        )));
    }
    if strict {
        return Err(PyRuntimeError::new_err(format!(
            "[init] the backend {backend:?} cannot be started: Pellucid computes in one process; without strict, the \
             group has this process alone"
        )));
    }
    Ok(Group)
}

/// is_available(backend: str = 'any') -> bool
///
/// Whether a backend connects several processes: False.
#[pyfunction]
#[pyo3(signature = (backend = "any"))]
fn is_available(backend: &str) -> bool {
    let _ = backend;
    false
}

/// Functions over the group that return their argument.
macro_rules! identities {
    ($($name:ident $doc:literal)*) => {$(
        #[doc = concat!(stringify!($name), "(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array\n\n", $doc)]
        #[pyfunction]
        #[pyo3(signature = (x, *, group = None, stream = None))]
        fn $name(
            py: Python<'_>,
            x: Input,
            group: Option<&Bound<'_, Group>>,
            stream: Option<StreamArg>,
        ) -> PyResult<PyArray> {
            let _ = group;
            build(py, stream, || x.single())
        }
    )*};
}

identities! {
    all_sum "The sum over the processes: x."
    all_max "The largest over the processes: x."
    all_min "The smallest over the processes: x."
    all_gather "The arrays of all processes behind one another along the first axis: x."
    sum_scatter "This process's part of the sum over the processes: x."
}

fn alone(name: &str, what: &str, other: i64) -> PyErr {
    PyValueError::new_err(format!(
        "[{name}] the group has this process alone; there is no process {other} to {what}"
    ))
}

/// send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array
///
/// Refused with a ValueError: there is no other process.
#[pyfunction]
#[pyo3(signature = (x, dst, *, group = None, stream = None))]
fn send(
    x: Input,
    dst: i64,
    group: Option<&Bound<'_, Group>>,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    let _ = (x, group, stream);
    Err(alone("send", "send to", dst))
}

/// recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array
///
/// Refused with a ValueError: there is no other process.
#[pyfunction]
#[pyo3(signature = (shape, dtype, src, *, group = None, stream = None))]
fn recv(
    shape: IntList,
    dtype: PyDtype,
    src: i64,
    group: Option<&Bound<'_, Group>>,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    let _ = (shape, dtype, group, stream);
    Err(alone("recv", "receive from", src))
}

/// recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array
///
/// Refused with a ValueError: there is no other process.
#[pyfunction]
#[pyo3(signature = (x, src, *, group = None, stream = None))]
fn recv_like(
    x: Input,
    src: i64,
    group: Option<&Bound<'_, Group>>,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    let _ = (x, group, stream);
    Err(alone("recv_like", "receive from", src))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Group>()?;
    crate::add_functions!(m: init, is_available, all_sum, all_max, all_min, all_gather, sum_scatter, send, recv, recv_like);
    Ok(())
}
