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
//! # Cost
//! Nothing while no capture runs but one relaxed atomic load per launch, allocation and wait.

mod environment;
mod error;
mod executor;
mod facts;
mod kernel;
mod metal_capture;
mod native;
mod recorder;
mod stats;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
pub use pellucid_trace::Mode;
pub use pellucid_trace::schema::NativeCapture;

pub(crate) use environment::{on_eval, uncounted};
pub use error::CaptureError;
pub use executor::{GraphExecutor, Session};
pub use metal_capture::MetalCapture;
pub use stats::{Figures, figures};

use crate::error::Result;
use crate::eval::{fusion, set_fusion};
use crate::fork;
use crate::observe;
use crate::region;
use crate::stream::streams;
use native::{Manager, Native};
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

/// A capture that runs, or is about to.
struct Active {
    /// `None` if only Xcode gets the capture.
    recorder: Option<Arc<Recorder>>,
    native: Option<Native>,
    /// Whether chains were fused before it began.
    fused: bool,
    /// Whether the window is open; until then nothing is recorded.
    open: bool,
}

static ACTIVE: Mutex<Option<Active>> = Mutex::new(None);
/// Held while a window opens and while a capture ends, both of which wait for work: the next one begins after that.
static TURN: Mutex<()> = Mutex::new(());

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

/// Starts a capture, and Apple's own beside it where a GPU is reached through Metal.
pub(crate) fn start_beside_native(function: &'static str, path: &Path) -> Result<()> {
    prepare(function, path, Options::default(), native::manager())?;
    open();
    let nothing = |active: &Active| {
        let native = active.native.as_ref().filter(|_| active.recorder.is_none())?;
        native.refused().map(str::to_owned)
    };
    let mut active = ACTIVE.lock();
    match active.as_ref().and_then(nothing) {
        Some(reason) => {
            *active = None;
            Err(CaptureError::Native { reason }.into_error(function))
        }
        None => Ok(()),
    }
}

fn begin(function: &'static str, path: &Path, options: Options) -> Result<()> {
    prepare(function, path, options, None)?;
    open();
    Ok(())
}

/// Makes the file, so that everything that can be refused is refused; records nothing yet.
fn prepare(
    function: &'static str,
    path: &Path,
    options: Options,
    manager: Option<Arc<dyn Manager>>,
) -> Result<()> {
    fork::check(function)?;
    fork::note_user();
    fork::introduce(fork::Name::Capture, fork::Part { is_quiet, in_child });
    let _turn = TURN.lock();
    let mut active = ACTIVE.lock();
    if let Some(running) = &*active {
        let path = running.recorder.as_ref().map_or(PathBuf::new(), |r| r.path().to_owned());
        return Err(CaptureError::Running { path }.into_error(function));
    }
    let plan =
        native::plan(path, manager, native::is_gate_open()).map_err(|error| error.into_error(function))?;
    let ours = plan.ours.map(|path| Recorder::create(function, &path, &options)).transpose()?;
    *active =
        Some(Active { recorder: ours.map(Arc::new), native: plan.native, fused: fusion(), open: false });
    Ok(())
}

/// Opens the window of a prepared capture.
fn open() {
    let _turn = TURN.lock();
    // Work from before the window is finished first, so that it is not shown.
    wait_for_all();
    let mut active = ACTIVE.lock();
    let Some(active) = active.as_mut().filter(|a| !a.open) else { return };
    active.open = true;
    active.fused = fusion();
    if let Some(native) = &mut active.native {
        native.start();
    }
    let Some(recorder) = &active.recorder else { return };
    if recorder.mode() == Mode::Full {
        set_fusion(false);
    }
    recorder.open();
    observe::install_observer(recorder.clone());
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
    fork::check(function)?;
    let _turn = TURN.lock();
    let Some(Active { recorder, mut native, fused, open }) = ACTIVE.lock().take() else {
        return Err(CaptureError::NotRunning.into_error(function));
    };
    if open {
        wait_for_all();
    }
    if let Some(native) = &mut native {
        native.stop();
    }
    let native = native.map(|native| native.outcome());
    let Some(recorder) = recorder else { return Ok(Summary { native, ..Summary::default() }) };
    if open {
        // Launches that have begun are told to the end, later ones not at all.
        observe::remove_observer();
        set_fusion(fused);
    }
    let summary = recorder.finish(function, partial, native.clone())?;
    Ok(Summary { native, ..summary })
}

/// Gives up a capture and its file.
fn discard(function: &'static str) {
    if let Ok(summary) = end(function, true) {
        // A file that nobody wants; whether it can be removed is not worth a word.
        let _ = std::fs::remove_file(summary.path);
        if let Some(native) = summary.native.filter(|native| native.ok) {
            let _ = std::fs::remove_dir_all(native.path);
        }
    }
}

/// Whether a capture runs.
pub fn is_capturing() -> bool {
    !fork::is_cut_off() && ACTIVE.lock().is_some()
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

/// No window is being opened or closed.
fn is_quiet() -> bool {
    TURN.try_lock().is_some() && ACTIVE.try_lock().is_some()
}

/// A forked child is not captured: the file, and the thread that writes it, are the parent's.
fn in_child(_: bool) {
    observe::forget_observer();
    environment::in_child();
    if let Some(mut active) = ACTIVE.try_lock() {
        // Not dropped: that would complete the file.
        std::mem::forget(active.take());
    }
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

#[cfg(test)]
mod tests {
    use super::native::tests::Fake;
    use super::*;
    use crate::{Array, Device, Dtype, async_eval, new_stream, ops, with_stream};

    /// Work that takes a moment, on a stream of its own, not waited for.
    fn pending() -> Array {
        let stream = new_stream(Device::cpu()).unwrap();
        let x = with_stream(stream, || {
            let x = ops::full([200, 200], 0.005f32, Dtype::Float32);
            (0..20).fold(x.clone(), |y, _| ops::matmul(&y, &x))
        });
        async_eval([&x]);
        x
    }

    #[test]
    fn a_native_capture_starts_after_what_came_before_and_stops_after_what_is_inside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("apple.gputrace");
        let seen: Arc<Mutex<Vec<Array>>> = Arc::default();
        let arrays = seen.clone();
        let look =
            move || arrays.lock().iter().map(|a| a.is_available().to_string()).collect::<Vec<_>>().join(" ");
        let manager = Arc::new(Fake { supports: true, look: Some(Box::new(look)), ..Fake::default() });
        seen.lock().push(pending());
        prepare("test", &path, Options::default(), Some(manager.clone())).unwrap();
        open();
        seen.lock().push(pending());
        let summary = end("test", false).unwrap();

        assert_eq!(*manager.said.lock(), ["start document: true", "stop: true true"]);
        assert_eq!(summary.path, folder.path().join("apple.pltrace"));
        assert!(summary.native.is_some_and(|native| native.ok && native.path.ends_with("apple.gputrace")));
        let trace = pellucid_trace::Trace::open(&summary.path).unwrap();
        assert!(trace.manifest().native[0].ok);

        // One that fails does not lose ours.
        let manager = Arc::new(Fake { supports: true, fails: Some("busy"), ..Fake::default() });
        let path = folder.path().join("second.gputrace");
        prepare("test", &path, Options::default(), Some(manager)).unwrap();
        open();
        let summary = end("test", false).unwrap();
        assert_eq!(summary.native.map(|native| native.message).as_deref(), Some("busy"));
        assert!(summary.path.exists());
    }
}
