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
//!     ops::add(&a, &a)?.eval()?;
//! }
//! let summary = capture::stop()?;
//! assert_eq!(summary.launches, 10);
//! # Ok(())
//! # }
//! ```
//!
//! # Cost
//! Nothing while no capture runs but one relaxed atomic load per launch, allocation and wait.

mod environment;
mod error;
mod executor;
mod facts;
mod metal_capture;
mod recorder;
mod stats;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
pub use pellucid_trace::Mode;

pub(crate) use environment::on_eval;
pub use error::CaptureError;
pub use executor::{GraphExecutor, Session};
pub use metal_capture::MetalCapture;
pub use stats::{Figures, figures};

use crate::error::Result;
use crate::eval::{fusion, set_fusion};
use crate::observe;
use crate::region;
use crate::stream::streams;
use recorder::Recorder;

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
#[derive(Clone, Debug)]
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
}

/// A capture that runs, or is about to.
struct Active {
    recorder: Arc<Recorder>,
    /// Whether chains were fused before it began.
    fused: bool,
    /// Whether the window is open; until then nothing is recorded.
    open: bool,
}

static ACTIVE: Mutex<Option<Active>> = Mutex::new(None);

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

fn begin(function: &'static str, path: &Path, options: Options) -> Result<()> {
    prepare(function, path, options)?;
    open();
    Ok(())
}

/// Makes the file, so that everything that can be refused is refused; records nothing yet.
fn prepare(function: &'static str, path: &Path, options: Options) -> Result<()> {
    let mut active = ACTIVE.lock();
    if let Some(running) = &*active {
        let path = running.recorder.path().to_owned();
        return Err(CaptureError::Running { path }.into_error(function));
    }
    if path.as_os_str().is_empty() {
        return Err(CaptureError::EmptyPath.into_error(function));
    }
    let recorder = Arc::new(Recorder::create(function, path, &options)?);
    *active = Some(Active { recorder, fused: fusion(), open: false });
    Ok(())
}

/// Opens the window of a prepared capture.
fn open() {
    // Work from before the window is finished first, so that it is not shown.
    wait_for_all();
    let mut active = ACTIVE.lock();
    let Some(active) = active.as_mut().filter(|a| !a.open) else { return };
    active.open = true;
    active.fused = fusion();
    if active.recorder.mode() == Mode::Full {
        set_fusion(false);
    }
    region::clear();
    active.recorder.open();
    observe::set_observer(Some(active.recorder.clone()));
}

/// Ends the capture: waits for the work of the window and completes the file.
///
/// # Errors
/// [`Error::Capture`](crate::Error::Capture) if none runs, or if the file could not be written. The program's results
/// are not affected.
pub fn stop() -> Result<Summary> {
    end("stop", false)
}

fn end(function: &'static str, partial: bool) -> Result<Summary> {
    let Some(Active { recorder, fused, open }) = ACTIVE.lock().take() else {
        return Err(CaptureError::NotRunning.into_error(function));
    };
    if open {
        wait_for_all();
        observe::set_observer(None);
        set_fusion(fused);
    }
    recorder.finish(function, partial)
}

/// Gives up a capture whose window was never opened, and its file.
fn abandon(function: &'static str) {
    if let Ok(summary) = end(function, true) {
        // A file that holds nothing; whether it can be removed is not worth a word.
        let _ = std::fs::remove_file(summary.path);
    }
}

/// Whether a capture runs.
pub fn is_capturing() -> bool {
    ACTIVE.lock().is_some()
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

/// Waits until every stream has done what it was given.
fn wait_for_all() {
    for stream in streams() {
        let last = stream.core().queue.lock().last.clone();
        if let Some(batch) = last {
            batch.wait(None);
        }
    }
}
