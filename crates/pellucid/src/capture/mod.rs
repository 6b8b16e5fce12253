//! Capture: one file that shows everything that ran.
//!
//! Between [`start`] and [`stop`] every operation, launch, allocation and wait of every stream is written to a
//! `.pltrace` file, with labels and the source lines that asked for them. Work put on streams before is finished first
//! and not shown; work of the window is finished before [`stop`] returns.
//!
//! ```
//! use pellucid::{Array, capture, ops};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("adds.pltrace");
//! capture::start(&path)?;
//! let a = Array::from([1.0f32, 2.0]);
//! for _ in 0..10 {
//!     ops::add(&a, &a).eval()?;
//! }
//! let summary = capture::stop()?;
//! assert_eq!(summary.launches, 10);
//! # Ok(())
//! # }
//! ```
//!
//! Without the feature `capture`, which is on by default, all of this is there and [`start`] returns
//! [`CaptureError::NotBuilt`].
//!
//! # Cost
//! Nothing while no capture runs but one relaxed atomic load per launch, allocation and wait.

mod environment;
mod error;
mod executor;
#[cfg(feature = "capture")]
mod facts;
#[cfg(feature = "capture")]
mod kernel;
mod metal_capture;
#[cfg(feature = "capture")]
mod native;
#[cfg(feature = "capture")]
mod recorder;
mod stats;
#[cfg(feature = "capture")]
mod window;
#[cfg(not(feature = "capture"))]
#[path = "no_window.rs"]
mod window;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use environment::{on_eval, uncounted};
pub use error::CaptureError;
pub use executor::{GraphExecutor, Session};
pub use metal_capture::MetalCapture;
pub use stats::{Figures, figures};
pub(crate) use window::start_beside_native;
pub use window::{Mode, NativeCapture};
use window::{begin, end};

use crate::error::Result;
use crate::region;

/// What to capture.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// How much is recorded; by default what a replay needs.
    pub mode: Mode,
    /// The largest size of the file in bytes; what does not fit is left out and the file is marked as truncated.
    pub max_bytes: Option<u64>,
}

impl Options {
    /// Options with another mode.
    pub fn mode(mut self, mode: Mode) -> Options {
        self.mode = mode;
        self
    }

    /// Options with a limit of the file's size.
    pub fn max_bytes(mut self, bytes: u64) -> Options {
        self.max_bytes = Some(bytes);
        self
    }
}

/// What a capture has written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Operations that ran or were viewed, without inputs from before the window.
    pub ops: u64,
    /// Kernel launches. A window without any is worth a second look: nothing was evaluated in it.
    pub launches: u64,
    /// How long the window was open.
    pub duration: Duration,
    /// Whether something was left out.
    pub truncated: bool,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// What Apple's own capture beside this one came to; `None` if none was asked for.
    pub native: Option<NativeCapture>,
}

/// Starts a capture with default options.
///
/// # Errors
/// As [`start_with`].
pub fn start(path: impl AsRef<Path>) -> Result<()> {
    start_with(path, Options::default())
}

/// Starts a capture. In mode [`Mode::Full`] chains of operations are not fused while it runs, so that every result is
/// there to be written.
///
/// # Errors
/// [`Error::Capture`](crate::Error::Capture) if the path is empty or exists, its folder is missing or cannot be written
/// to, or a capture runs already. Nothing is left behind then.
pub fn start_with(path: impl AsRef<Path>, options: Options) -> Result<()> {
    begin("start", path.as_ref(), options)
}

/// Ends the capture: waits for the work of the window and completes the file.
///
/// # Errors
/// [`Error::Capture`](crate::Error::Capture) if none runs, or if the file could not be written. The program's results
/// are not affected.
pub fn stop() -> Result<Summary> {
    end("stop", false)
}

/// Whether a capture runs.
pub fn is_capturing() -> bool {
    window::is_running()
}

/// Captures what `f` does. If `f` panics, the file is completed and marked as partial.
///
/// # Errors
/// As [`start`] and [`stop`]; `f` is not called if the capture cannot start.
pub fn scope<R>(path: impl AsRef<Path>, f: impl FnOnce() -> R) -> Result<(R, Summary)> {
    struct Guard(bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            if self.0 {
                // The panic is what matters now; the file is kept as far as it goes.
                let _ = end("scope", true);
            }
        }
    }
    begin("scope", path.as_ref(), Options::default())?;
    let mut guard = Guard(true);
    let result = f();
    guard.0 = false;
    Ok((result, end("scope", false)?))
}

/// Runs `f` in a region of this name: operations it asks for show it in captures. Regions nest.
///
/// # Cost
/// One relaxed atomic load while nothing is captured.
pub fn region<R>(name: impl AsRef<str>, f: impl FnOnce() -> R) -> R {
    region::within(name.as_ref(), f)
}
