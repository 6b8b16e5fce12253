//! Captures, for `pellucid.capture`.

use std::path::PathBuf;

use pellucid::capture::{self, Mode, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;

/// _capture_start(path: str, mode: str | None = None, max_bytes: int | None = None) -> None
///
/// Starts a capture into a file that must not exist yet.
#[pyfunction]
#[pyo3(signature = (path, mode = None, max_bytes = None))]
fn _capture_start(py: Python<'_>, path: PathBuf, mode: Option<&str>, max_bytes: Option<u64>) -> PyResult<()> {
    let mut options = Options::default();
    if let Some(mode) = mode {
        options = options.mode(match mode {
            "timeline" => Mode::Timeline,
            "stats" => Mode::Stats,
            "replay" => Mode::Replay,
            "full" => Mode::Full,
            other => {
                let message = format!("[capture] mode is timeline, stats, replay or full, not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        });
    }
    if let Some(bytes) = max_bytes {
        options = options.max_bytes(bytes);
    }
    py.detach(|| capture::start_with(path, options)).or_raise()
}

/// _capture_stop() -> dict[str, object]
///
/// Ends the capture and says what was written.
#[pyfunction]
fn _capture_stop(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let summary = py.detach(capture::stop).or_raise()?;
    let dict = PyDict::new(py);
    dict.set_item("path", summary.path.display().to_string())?;
    dict.set_item("bytes", summary.bytes)?;
    dict.set_item("ops", summary.ops)?;
    dict.set_item("launches", summary.launches)?;
    dict.set_item("seconds", summary.duration.as_secs_f64())?;
    dict.set_item("truncated", summary.truncated)?;
    dict.set_item("left_out", summary.left_out)?;
    Ok(dict)
}

/// _is_capturing() -> bool
///
/// Whether a capture runs.
#[pyfunction]
fn _is_capturing() -> bool {
    capture::is_capturing()
}

/// _viewer_html() -> str
///
/// The page that shows a trace; the trace goes where it says so.
#[pyfunction]
fn _viewer_html() -> &'static str {
    pellucid_viewer::PAGE
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: _capture_start, _capture_stop, _is_capturing, _viewer_html);
    Ok(())
}
