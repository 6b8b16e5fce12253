//! The window of a capture: one at a time in a process, opened after all that came before, closed after all inside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
pub use pellucid_trace::Mode;
pub use pellucid_trace::schema::NativeCapture;

use super::native::{self, Manager, Native};
use super::recorder::Recorder;
use super::{CaptureError, Options, Summary, environment, metal_capture};
use crate::error::Result;
use crate::eval::{fusion, set_fusion};
use crate::fork;
use crate::observe;
use crate::stream::streams;

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

/// Starts a capture, and Apple's own beside it where a GPU is reached through Metal.
pub(crate) fn start_beside_native(function: &'static str, path: &Path) -> Result<()> {
    prepare_beside_native(function, path)?;
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

/// Starts a capture to a file of ours alone.
pub(super) fn begin(function: &'static str, path: &Path, options: Options) -> Result<()> {
    prepare(function, path, options, None)?;
    open();
    Ok(())
}

/// Prepares a capture, and Apple's own beside it where a GPU is reached through Metal.
pub(super) fn prepare_beside_native(function: &'static str, path: &Path) -> Result<()> {
    prepare(function, path, Options::default(), native::manager())
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
    let plan = native::plan(path, manager, metal_capture::is_gate_open())
        .map_err(|error| error.into_error(function))?;
    let ours = plan.ours.map(|path| Recorder::create(function, &path, &options)).transpose()?;
    *active =
        Some(Active { recorder: ours.map(Arc::new), native: plan.native, fused: fusion(), open: false });
    Ok(())
}

/// Opens the window of a prepared capture.
pub(super) fn open() {
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

/// Ends the capture. What is `partial` is marked so.
pub(super) fn end(function: &'static str, partial: bool) -> Result<Summary> {
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
pub(super) fn discard(function: &'static str) {
    if let Ok(summary) = end(function, true) {
        // A file that nobody wants; whether it can be removed is not worth a word.
        let _ = std::fs::remove_file(summary.path);
        if let Some(native) = summary.native.filter(|native| native.ok) {
            let _ = std::fs::remove_dir_all(native.path);
        }
    }
}

/// Whether one runs.
pub(super) fn is_running() -> bool {
    !fork::is_cut_off() && ACTIVE.lock().is_some()
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
    use super::super::native::tests::Fake;
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
