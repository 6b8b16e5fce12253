//! Devices and streams under MLX's names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

use parking_lot::Mutex;
use pellucid::{Device, DeviceType, Stream};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::wait;
use crate::error::OrRaise;

/// The kinds of device: `cpu` and `gpu`.
#[pyclass(name = "DeviceType", module = "pellucid.core", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "the names Python sees")]
pub enum PyDeviceType {
    cpu,
    gpu,
}

impl From<PyDeviceType> for DeviceType {
    fn from(kind: PyDeviceType) -> DeviceType {
        match kind {
            PyDeviceType::cpu => DeviceType::Cpu,
            PyDeviceType::gpu => DeviceType::Gpu,
        }
    }
}

impl From<DeviceType> for PyDeviceType {
    fn from(kind: DeviceType) -> PyDeviceType {
        match kind {
            DeviceType::Cpu => PyDeviceType::cpu,
            DeviceType::Gpu => PyDeviceType::gpu,
        }
    }
}

#[pymethods]
impl PyDeviceType {
    /// The name: `cpu` or `gpu`.
    #[getter]
    fn name(&self) -> String {
        DeviceType::from(*self).to_string()
    }

    /// The number: 0 for `cpu`, 1 for `gpu`.
    #[getter]
    fn value(&self) -> u8 {
        *self as u8
    }
}

/// A device to run operations on.
#[pyclass(name = "Device", module = "pellucid.core", frozen, from_py_object)]
#[derive(Clone, Copy)]
pub struct PyDevice(pub Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (r#type, index = 0))]
    fn new(r#type: PyDeviceType, index: i64) -> PyDevice {
        // A negative index names no device, as does one that is too large.
        PyDevice(Device::new(r#type.into(), usize::try_from(index).unwrap_or(usize::MAX)))
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn r#type(&self) -> PyDeviceType {
        self.0.device_type().into()
    }

    /// Position among the devices of its type.
    #[getter]
    fn index(&self) -> usize {
        self.0.index()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract::<DeviceArg>().is_ok_and(|other| other.0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        crate::hash_of(&self.0)
    }
}

/// A device, or a type that stands for its first one.
pub struct DeviceArg(pub Device);

impl<'py> FromPyObject<'_, 'py> for DeviceArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<DeviceArg> {
        if let Ok(device) = obj.cast::<PyDevice>() {
            return Ok(DeviceArg(device.get().0));
        }
        match obj.cast::<PyDeviceType>() {
            Ok(kind) => Ok(DeviceArg(Device::new((*kind.get()).into(), 0))),
            Err(_) => Err(PyTypeError::new_err(format!("expected a device, not {}", crate::type_name(&obj)))),
        }
    }
}

/// A queue of work on a device. As a context manager, it takes the operations of its block.
#[pyclass(name = "Stream", module = "pellucid.core", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyStream(pub Stream);

#[pymethods]
impl PyStream {
    /// The device it belongs to.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.device())
    }

    /// Its number; streams of all devices are counted together.
    #[getter]
    fn index(&self) -> usize {
        self.0.index()
    }

    /// The name that captures, graphs and reports show.
    #[getter]
    fn label(&self) -> String {
        self.0.label()
    }

    /// Names the stream, for captures, graphs and reports.
    fn set_label(&self, label: &str) {
        self.0.set_label(label);
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __enter__(slf: Bound<'_, PyStream>) -> Bound<'_, PyStream> {
        enter(slf.get().0);
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        leave()
    }
}

/// A handle that is a stream of its own in every thread that uses it.
#[pyclass(name = "ThreadLocalStream", module = "pellucid.core", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyThreadLocalStream {
    index: usize,
    device: Device,
}

thread_local! {
    static OWN_STREAMS: RefCell<HashMap<usize, Stream>> = RefCell::new(HashMap::new());
    /// The scopes that `with` blocks of this thread have replaced.
    static REPLACED: RefCell<Vec<Option<Stream>>> = const { RefCell::new(Vec::new()) };
}

impl PyThreadLocalStream {
    fn resolve(self) -> pellucid::Result<Stream> {
        if let Some(stream) = OWN_STREAMS.with_borrow(|known| known.get(&self.index).copied()) {
            return Ok(stream);
        }
        let stream = pellucid::new_stream(self.device)?;
        OWN_STREAMS.with_borrow_mut(|known| known.insert(self.index, stream));
        Ok(stream)
    }
}

#[pymethods]
impl PyThreadLocalStream {
    /// The device it belongs to.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.device)
    }

    fn __repr__(&self) -> String {
        format!("ThreadLocalStream({}, {})", self.device, self.index)
    }
}

/// Where an operation goes: a stream, or a device, which stands for its default stream.
#[derive(Clone, Copy)]
pub enum StreamArg {
    Stream(Stream),
    ThreadLocal(PyThreadLocalStream),
    Device(Device),
}

impl StreamArg {
    pub fn resolve(self) -> pellucid::Result<Stream> {
        match self {
            StreamArg::Stream(stream) => Ok(stream),
            StreamArg::ThreadLocal(handle) => handle.resolve(),
            StreamArg::Device(device) => pellucid::default_stream(device),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for StreamArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<StreamArg> {
        if let Ok(stream) = obj.cast::<PyStream>() {
            return Ok(StreamArg::Stream(stream.get().0));
        }
        if let Ok(handle) = obj.cast::<PyThreadLocalStream>() {
            return Ok(StreamArg::ThreadLocal(*handle.get()));
        }
        match obj.extract::<DeviceArg>() {
            Ok(device) => Ok(StreamArg::Device(device.0)),
            Err(_) => {
                let message = format!("expected a stream or a device, not {}", crate::type_name(&obj));
                Err(PyTypeError::new_err(message))
            }
        }
    }
}

fn enter(stream: Stream) {
    let before = pellucid::replace_scope(Some(stream));
    REPLACED.with_borrow_mut(|replaced| replaced.push(before));
}

fn leave() -> PyResult<()> {
    match REPLACED.with_borrow_mut(Vec::pop) {
        Some(before) => {
            pellucid::replace_scope(before);
            Ok(())
        }
        None => Err(PyRuntimeError::new_err("[StreamContext] left in a thread that did not enter it")),
    }
}

/// A context manager that sets the stream and the device of the operations in its block, for this thread.
#[pyclass(name = "StreamContext", module = "pellucid.core", frozen)]
pub struct PyStreamContext {
    target: StreamArg,
    /// The threads that are inside.
    inside: Mutex<Vec<ThreadId>>,
}

#[pymethods]
impl PyStreamContext {
    #[new]
    fn new(s: StreamArg) -> PyStreamContext {
        PyStreamContext { target: s, inside: Mutex::new(Vec::new()) }
    }

    fn __enter__(&self) -> PyResult<()> {
        enter(self.target.resolve().or_raise()?);
        self.inside.lock().push(std::thread::current().id());
        Ok(())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut inside = self.inside.lock();
        let own = std::thread::current().id();
        let Some(at) = inside.iter().rposition(|&thread| thread == own) else {
            let message = "[StreamContext] left in another thread than it was entered in";
            return Err(PyRuntimeError::new_err(message));
        };
        inside.remove(at);
        leave()
    }
}

/// default_device() -> Device
///
/// The device that operations run on. With a device, a context manager that makes it the default of its block.
#[pyfunction]
#[pyo3(signature = (device = None))]
fn default_device(py: Python<'_>, device: Option<DeviceArg>) -> PyResult<Py<PyAny>> {
    Ok(match device {
        None => Py::new(py, PyDevice(py.detach(pellucid::default_device)))?.into_any(),
        Some(device) => Py::new(py, PyStreamContext::new(StreamArg::Device(device.0)))?.into_any(),
    })
}

/// set_default_device(device: Device | DeviceType) -> None
///
/// Makes a device the default of the process.
#[pyfunction]
fn set_default_device(py: Python<'_>, device: DeviceArg) -> PyResult<()> {
    py.detach(|| pellucid::set_default_device(device.0)).or_raise()
}

/// default_stream(device: Device | DeviceType) -> Stream
///
/// The stream that work on a device goes to.
#[pyfunction]
fn default_stream(py: Python<'_>, device: DeviceArg) -> PyResult<PyStream> {
    py.detach(|| pellucid::default_stream(device.0)).or_raise().map(PyStream)
}

/// set_default_stream(stream: Stream) -> None
///
/// Makes a stream the default of its device.
#[pyfunction]
fn set_default_stream(stream: PyStream) -> PyResult<()> {
    pellucid::set_default_stream(stream.0).or_raise()
}

/// new_stream(device: Device | DeviceType | None = None) -> Stream
///
/// A new stream on a device, or on the default one. It works from every thread.
#[pyfunction]
#[pyo3(signature = (device = None))]
fn new_stream(py: Python<'_>, device: Option<DeviceArg>) -> PyResult<PyStream> {
    let make = || pellucid::new_stream(device.map_or_else(pellucid::default_device, |device| device.0));
    py.detach(make).or_raise().map(PyStream)
}

/// new_thread_unsafe_stream(device: Device | DeviceType) -> Stream
///
/// A new stream on a device. Every stream works from every thread here, so that this is new_stream by another name.
#[pyfunction(name = "new_thread_unsafe_stream")]
fn new_shared_stream(py: Python<'_>, device: DeviceArg) -> PyResult<PyStream> {
    py.detach(|| pellucid::new_stream(device.0)).or_raise().map(PyStream)
}

/// new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream
///
/// A handle that is a stream of its own in every thread that uses it.
#[pyfunction]
fn new_thread_local_stream(device: DeviceArg) -> PyThreadLocalStream {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    PyThreadLocalStream { index: NEXT.fetch_add(1, Ordering::Relaxed), device: device.0 }
}

/// stream(s: Stream | ThreadLocalStream | Device | DeviceType) -> StreamContext
///
/// A context manager that sets the stream and the device of the operations in its block.
#[pyfunction]
fn stream(s: StreamArg) -> PyStreamContext {
    PyStreamContext::new(s)
}

/// synchronize(stream: StreamOrDevice = None) -> None
///
/// Waits until everything put on a stream so far is done.
#[pyfunction]
#[pyo3(signature = (stream = None))]
fn synchronize(py: Python<'_>, stream: Option<StreamArg>) -> PyResult<()> {
    wait(py, || pellucid::synchronize(stream.map(StreamArg::resolve).transpose()?))
}

/// clear_streams() -> None
///
/// Waits for the work of all streams. Streams hold nothing else that could be cleared, and stay usable.
#[pyfunction]
fn clear_streams(py: Python<'_>) -> PyResult<()> {
    wait(py, || pellucid::streams().into_iter().try_for_each(pellucid::synchronize))
}

/// is_available(device: Device | DeviceType) -> bool
///
/// True if the device is there.
#[pyfunction]
fn is_available(py: Python<'_>, device: DeviceArg) -> bool {
    py.detach(|| pellucid::is_available(device.0))
}

/// device_count(device_type: DeviceType) -> int
///
/// How many devices of a type there are.
#[pyfunction]
fn device_count(py: Python<'_>, device_type: PyDeviceType) -> usize {
    py.detach(|| pellucid::device_count(device_type.into()))
}

/// device_info(d: Device | DeviceType | None = None) -> dict[str, str | int]
///
/// What is known about a device; empty if it is not there.
#[pyfunction]
#[pyo3(signature = (d = None))]
fn device_info<'py>(py: Python<'py>, d: Option<DeviceArg>) -> PyResult<Bound<'py, PyDict>> {
    let info = py.detach(|| {
        let device = d.map_or_else(pellucid::default_device, |device| device.0);
        pellucid::is_available(device).then(|| pellucid::device_info(device))
    });
    info_dict(py, info.transpose().or_raise()?)
}

/// A device's facts as MLX names them, and what Pellucid knows beyond them.
pub fn info_dict(py: Python<'_>, info: Option<pellucid::DeviceInfo>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let Some(info) = info else { return Ok(dict) };
    dict.set_item("device_name", info.device_name)?;
    dict.set_item("architecture", info.architecture)?;
    dict.set_item("backend", info.backend)?;
    dict.set_item("driver", info.driver)?;
    dict.set_item("device_type", info.device_type)?;
    dict.set_item("features", info.features)?;
    dict.set_item("memory_size", info.memory_size)?;
    dict.set_item("max_buffer_length", info.max_buffer_length)?;
    dict.set_item("max_recommended_working_set_size", info.max_recommended_working_set_size)?;
    dict.set_item("resource_limit", info.resource_limit)?;
    Ok(dict)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyDeviceType>()?;
    m.add_class::<PyDevice>()?;
    m.add_class::<PyStream>()?;
    m.add_class::<PyThreadLocalStream>()?;
    m.add_class::<PyStreamContext>()?;
    m.add("cpu", PyDeviceType::cpu)?;
    m.add("gpu", PyDeviceType::gpu)?;
    crate::add_functions!(
        m: default_device, set_default_device, default_stream, set_default_stream, new_stream,
        new_shared_stream, new_thread_local_stream, stream, synchronize, clear_streams, is_available,
        device_count, device_info
    );
    Ok(())
}
