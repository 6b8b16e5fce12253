//! Memory under MLX's names, and the `metal` module, which has them too.

use pellucid::{memory, metal};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;

use crate::error::OrRaise;

/// get_active_memory() -> int
///
/// Bytes held by live arrays.
#[pyfunction]
fn get_active_memory() -> u64 {
    memory::get_active_memory()
}

/// get_peak_memory() -> int
///
/// The most bytes that live arrays held at one time.
#[pyfunction]
fn get_peak_memory() -> u64 {
    memory::get_peak_memory()
}

/// reset_peak_memory() -> None
///
/// Restarts the peak from what is active now.
#[pyfunction]
fn reset_peak_memory() {
    memory::reset_peak_memory();
}

/// get_cache_memory() -> int
///
/// Bytes kept for reuse.
#[pyfunction]
fn get_cache_memory() -> u64 {
    memory::get_cache_memory()
}

/// get_memory_limit() -> int
///
/// The most bytes to obtain from the system.
#[pyfunction]
fn get_memory_limit() -> u64 {
    memory::get_memory_limit()
}

/// set_memory_limit(limit: int, *, relaxed: bool = True) -> int
///
/// Sets the memory limit and returns the previous one. An allocation beyond it evicts the cache, then waits for running
/// work; if nothing is left to wait for, it goes ahead if relaxed, and raises RuntimeError if not.
#[pyfunction]
#[pyo3(signature = (limit, *, relaxed = true))]
fn set_memory_limit(py: Python<'_>, limit: Limit, relaxed: bool) -> u64 {
    py.detach(|| memory::set_memory_limit(limit.0, relaxed))
}

/// set_cache_limit(limit: int) -> int
///
/// Sets how many bytes the cache may keep and returns the previous limit.
#[pyfunction]
fn set_cache_limit(py: Python<'_>, limit: Limit) -> u64 {
    py.detach(|| memory::set_cache_limit(limit.0))
}

/// set_wired_limit(limit: int) -> int
///
/// Accepted for programs written for MLX on Metal. Memory is not wired here: returns 0 and changes nothing.
#[pyfunction]
fn set_wired_limit(limit: Limit) -> u64 {
    let _ = limit;
    0
}

/// clear_cache() -> None
///
/// Gives all cached memory back to the system.
#[pyfunction]
fn clear_cache(py: Python<'_>) {
    py.detach(memory::clear_cache);
}

/// get_array_buffer_size(*args) -> int
///
/// Bytes of the distinct buffers behind evaluated arrays, which may be inside lists, tuples and dictionaries.
#[pyfunction]
#[pyo3(signature = (*args))]
fn get_array_buffer_size(args: &Bound<'_, PyTuple>) -> PyResult<u64> {
    let mut arrays = Vec::new();
    crate::eval::collect(args.as_any(), &mut arrays)?;
    let mut seen = std::collections::HashMap::new();
    for array in &arrays {
        match array.buffer_size() {
            Some((id, bytes)) => seen.insert(id, bytes),
            None => {
                let message =
                    "[get_array_buffer_size] arrays must be evaluated before their buffers have a size";
                return Err(pyo3::exceptions::PyValueError::new_err(message));
            }
        };
    }
    Ok(seen.values().sum())
}

/// A number of bytes: what MLX takes for a limit is a TypeError otherwise.
struct Limit(u64);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Limit> {
        obj.extract::<u64>()
            .map(Limit)
            .map_err(|_| pyo3::exceptions::PyTypeError::new_err("a limit is a number of bytes, not negative"))
    }
}

/// is_available() -> bool
///
/// True if there is a GPU that is reached through Metal.
#[pyfunction(name = "is_available")]
fn metal_is_available(py: Python<'_>) -> bool {
    py.detach(metal::is_available)
}

/// device_info() -> dict[str, str | int]
///
/// What is known about the GPU; empty if there is none. The same as mx.device_info(mx.gpu).
#[pyfunction(name = "device_info")]
fn metal_device_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let gpu = pellucid::Device::gpu();
    let info = py.detach(|| pellucid::is_available(gpu).then(|| pellucid::device_info(gpu)));
    crate::device::info_dict(py, info.transpose().or_raise()?)
}

/// start_capture(path: str) -> None
///
/// Starts a capture of everything that runs, into a file that must not exist yet. It works on every device.
#[pyfunction]
fn start_capture(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| metal::start_capture(path)).or_raise()
}

/// stop_capture() -> None
///
/// Ends the capture and writes the rest of the file. Without a capture it does nothing, as in MLX.
#[pyfunction]
fn stop_capture(py: Python<'_>) -> PyResult<()> {
    if !pellucid::capture::is_capturing() {
        return Ok(());
    }
    py.detach(metal::stop_capture).or_raise().map(drop)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(
        m: get_active_memory, get_peak_memory, reset_peak_memory, get_cache_memory, get_memory_limit,
        set_memory_limit, set_cache_limit, set_wired_limit, clear_cache, get_array_buffer_size
    );
    let metal = crate::submodule(m, "metal", "Captures, and memory under its older names.")?;
    crate::add_functions!(
        &metal: metal_is_available, metal_device_info, start_capture, stop_capture, get_active_memory,
        get_peak_memory, reset_peak_memory, get_cache_memory, set_memory_limit, set_cache_limit, set_wired_limit,
        clear_cache
    );
    Ok(())
}
