//! A capture asked for by the environment: `MLX_METAL_CAPTURE` names the file, a gate allows it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{CaptureError, window};
use crate::device::{self, Device};

/// The variable that names the file.
const PATH: &str = "MLX_METAL_CAPTURE";

/// Either of these must be `1` when the program starts. The first is Apple's present name, the second its older one.
const GATES: [&str; 2] = ["MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED"];

/// Whether the environment allows Metal captures.
pub(super) fn is_gate_open() -> bool {
    GATES.iter().any(|gate| std::env::var_os(gate).is_some_and(|v| v == "1"))
}

/// Whether this process has captured by environment: one file name, one capture.
static CONSUMED: AtomicBool = AtomicBool::new(false);

/// A capture of one unit of work, such as a forward pass, switched on from outside the program.
///
/// [`MetalCapture::from_env`] makes the file, [`begin`](MetalCapture::begin) opens the window and
/// [`end`](MetalCapture::end) completes the file. Dropping ends it defensively, so that a panic in the middle of the
/// work still leaves a file, marked as partial. A capture dropped before its window was opened leaves nothing behind,
/// and another one may be made.
///
/// ```
/// use pellucid::{Device, capture::MetalCapture};
/// let mut capture = MetalCapture::from_env(&Device::cpu()); // `None`: the environment does not ask for one
/// if let Some(capture) = &mut capture {
///     capture.begin();
/// }
/// // … the work …
/// if let Some(capture) = &mut capture {
///     capture.end();
/// }
/// ```
#[derive(Debug)]
pub struct MetalCapture {
    path: PathBuf,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Prepared,
    Open,
    Ended,
}

impl MetalCapture {
    /// A capture, if the environment asks for one: `MLX_METAL_CAPTURE` is a path, `MTL_CAPTURE_ENABLED=1` (or
    /// `METAL_CAPTURE_ENABLED=1`) allows it, the device is there, the file can be made, and this process has not
    /// captured that way before.
    ///
    /// `None` otherwise, with one line on standard error for each cause, except if the variable is not set at all. A
    /// start that failed does not count: with the cause removed, the next call may succeed.
    pub fn from_env(device: &Device) -> Option<MetalCapture> {
        let path = PathBuf::from(std::env::var_os(PATH).filter(|p| !p.is_empty())?);
        match MetalCapture::start(*device, &path) {
            Ok(capture) => Some(capture),
            Err(Refused { cause, text }) => {
                warn_once(cause, &format!("{PATH}={} ignored: {text}", path.display()));
                None
            }
        }
    }

    fn start(device: Device, path: &Path) -> Result<MetalCapture, Refused> {
        if CONSUMED.load(Ordering::Acquire) {
            let text = "this process has captured already; start it again for another capture".to_owned();
            return Err(Refused { cause: Cause::Consumed, text });
        }
        if !is_gate_open() {
            return Err(Refused { cause: Cause::Gate, text: CaptureError::GateClosed.to_string() });
        }
        let failed = |e: crate::Error| Refused { cause: Cause::Start, text: e.to_string() };
        device::check("from_env", device).map_err(failed)?;
        window::prepare_beside_native("from_env", path).map_err(failed)?;
        // Two threads at once: only one could prepare, so only one gets here.
        CONSUMED.store(true, Ordering::Release);
        Ok(MetalCapture { path: path.to_owned(), stage: Stage::Prepared })
    }

    /// Opens the window. Does nothing if it is open, or was: wrap nested units of work safely.
    pub fn begin(&mut self) {
        if self.stage == Stage::Prepared {
            window::open();
            self.stage = Stage::Open;
        }
    }

    /// Closes the window and completes the file. Does nothing without a [`begin`](MetalCapture::begin) before.
    pub fn end(&mut self) {
        if self.stage == Stage::Open {
            self.finish(false);
        }
    }

    /// Gives up the capture and its file; another one may be made.
    pub(super) fn discard(mut self) {
        self.stage = Stage::Ended;
        window::discard("discard");
        CONSUMED.store(false, Ordering::Release);
    }

    fn finish(&mut self, partial: bool) {
        self.stage = Stage::Ended;
        let ended = window::end("end", partial);
        if let Ok(summary) = &ended
            && let Some(native) = summary.native.as_ref().filter(|native| !native.ok)
        {
            eprintln!("pellucid: Metal's own capture to {} was not made: {}", native.path, native.message);
        }
        match ended {
            Ok(summary) if summary.launches == 0 => {
                eprintln!("pellucid: captured to {}, but nothing was launched in it", self.path.display());
            }
            Ok(_) => eprintln!("pellucid: captured to {}", self.path.display()),
            Err(error) => {
                eprintln!("pellucid: the capture to {} is not complete: {error}", self.path.display())
            }
        }
    }
}

impl Drop for MetalCapture {
    fn drop(&mut self) {
        match self.stage {
            Stage::Open => self.finish(true),
            Stage::Prepared => {
                window::discard("drop");
                CONSUMED.store(false, Ordering::Release);
            }
            Stage::Ended => {}
        }
    }
}

struct Refused {
    cause: Cause,
    text: String,
}

#[derive(Clone, Copy)]
enum Cause {
    Consumed,
    Gate,
    Start,
}

/// Says something on standard error, once for each cause.
fn warn_once(cause: Cause, text: &str) {
    static SAID: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
    if !SAID[cause as usize].swap(true, Ordering::Relaxed) {
        eprintln!("pellucid: {text}");
    }
}
