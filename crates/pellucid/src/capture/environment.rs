//! Captures of programs that know nothing of captures: the environment says where to, and which part.
//!
//! | variable | meaning |
//! |---|---|
//! | `PELLUCID_CAPTURE` | the file; `MLX_METAL_CAPTURE` with its gate does the same |
//! | `PELLUCID_CAPTURE_MODE` | `timeline`, `stats`, `replay` or `full` |
//! | `PELLUCID_CAPTURE_SKIP` | units of work to let pass first |
//! | `PELLUCID_CAPTURE_ROOF` | `1` measures how fast the default device is before the capture starts |
//! | `PELLUCID_CAPTURE_COUNT` | units of work to capture; without it one [`GraphExecutor`](super::GraphExecutor) session, or for a program that only evaluates, all until it ends |
//!
//! A unit is a session of a `GraphExecutor`. In a program that has made none, it is an evaluation.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::{MetalCapture, Mode, Options};
use crate::device::{Device, default_device};
use crate::fork;
use crate::variable;

/// What kind of unit begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Evaluation,
    Session,
}

struct Wish {
    /// `None` for `MLX_METAL_CAPTURE`, which `MetalCapture` reads itself.
    path: Option<PathBuf>,
    mode: Mode,
    skip: u64,
    count: Option<u64>,
    roof: bool,
}

#[derive(Default)]
struct Progress {
    begun: u64,
    captured: u64,
    stage: Stage,
    /// An executor has been made: evaluations are no units any more.
    has_executor: bool,
}

#[derive(Default)]
enum Stage {
    #[default]
    Before,
    Running(Option<MetalCapture>),
    Done,
}

static PROGRESS: Mutex<Option<Progress>> = Mutex::new(None);

#[inline]
fn wish() -> Option<&'static Wish> {
    static WISH: OnceLock<Option<Wish>> = OnceLock::new();
    WISH.get_or_init(read_wish).as_ref()
}

#[cold]
fn read_wish() -> Option<Wish> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let path = given("PELLUCID_CAPTURE").map(PathBuf::from);
    if path.is_none() && given("MLX_METAL_CAPTURE").is_none() {
        return None;
    }
    let modes = [
        ("timeline", Mode::Timeline),
        ("light", Mode::Timeline),
        ("stats", Mode::Stats),
        ("replay", Mode::Replay),
        ("full", Mode::Full),
    ];
    let mode = variable::choice("PELLUCID_CAPTURE_MODE", &modes).unwrap_or_default();
    let skip = variable::number("PELLUCID_CAPTURE_SKIP", 0..=u64::MAX).unwrap_or(0);
    let count = variable::number("PELLUCID_CAPTURE_COUNT", 1..=u64::MAX);
    let roof = variable::flag("PELLUCID_CAPTURE_ROOF") == Some(true);
    Some(Wish { path, mode, skip, count, roof })
}

thread_local! {
    /// Evaluations of this thread are our own, not the program's.
    static UNCOUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, whose evaluations are no units of the program's work.
pub(crate) fn uncounted<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            UNCOUNTED.set(self.0);
        }
    }
    let _restore = Restore(UNCOUNTED.replace(true));
    f()
}

/// An evaluation begins: the environment may want it captured.
///
/// # Cost
/// One load while the environment asks for nothing.
#[inline]
pub(crate) fn on_eval() {
    if !cfg!(feature = "uninstrumented") && wish().is_some() {
        begin_evaluation();
    }
}

#[cold]
fn begin_evaluation() {
    if !UNCOUNTED.get() {
        begin(Unit::Evaluation, Device::cpu());
    }
}

/// A unit of work begins.
pub(super) fn begin(unit: Unit, device: Device) {
    let Some(wish) = wish() else { return };
    let mut progress = PROGRESS.lock();
    let progress = progress.get_or_insert_default();
    if unit == Unit::Evaluation && progress.has_executor {
        return;
    }
    progress.begun += 1;
    let enough =
        wish.count.or((unit == Unit::Session).then_some(1)).is_some_and(|count| progress.captured >= count);
    match &mut progress.stage {
        Stage::Before if progress.begun > wish.skip => {
            progress.stage = start(wish, device);
            progress.captured = 1;
        }
        Stage::Running(_) if enough => finish(progress),
        Stage::Running(_) => progress.captured += 1,
        Stage::Before | Stage::Done => {}
    }
}

/// An executor is made: from now on only sessions count. What evaluations before it began, such as those that warm a
/// model up, is begun anew.
pub(super) fn executor_made() {
    if wish().is_none() {
        return;
    }
    let mut progress = PROGRESS.lock();
    let progress = progress.get_or_insert_default();
    if std::mem::replace(&mut progress.has_executor, true) {
        return;
    }
    let begun = std::mem::take(&mut progress.begun);
    if matches!(progress.stage, Stage::Running(_)) {
        match std::mem::take(&mut progress.stage) {
            Stage::Running(Some(capture)) => capture.discard(),
            _ => super::window::discard("GraphExecutor"),
        }
        progress.captured = 0;
        eprintln!("pellucid: {begun} evaluations before the first session are not captured");
    }
}

/// A session ends. An evaluation's end is not told: it ends where the next unit begins, or the program.
pub(super) fn end_session() {
    let Some(wish) = wish() else { return };
    let mut progress = PROGRESS.lock();
    let Some(progress) = &mut *progress else { return };
    if matches!(progress.stage, Stage::Running(_)) && progress.captured >= wish.count.unwrap_or(1) {
        finish(progress);
    }
}

fn start(wish: &Wish, device: Device) -> Stage {
    at_exit();
    let Some(path) = &wish.path else {
        return match MetalCapture::from_env(&device) {
            Some(mut capture) => {
                capture.begin();
                Stage::Running(Some(capture))
            }
            None => Stage::Done,
        };
    };
    if wish.roof
        && let Err(error) = crate::roof(default_device())
    {
        eprintln!("pellucid: the speed of the device is not known: {error}");
    }
    match super::start_with(path, Options::default().mode(wish.mode)) {
        Ok(()) => Stage::Running(None),
        Err(error) => {
            eprintln!("pellucid: PELLUCID_CAPTURE={} ignored: {error}", path.display());
            Stage::Done
        }
    }
}

fn finish(progress: &mut Progress) {
    match std::mem::replace(&mut progress.stage, Stage::Done) {
        Stage::Running(Some(mut capture)) => capture.end(),
        Stage::Running(None) => match super::stop() {
            Ok(summary) => eprintln!(
                "pellucid: captured {} operations and {} launches to {}",
                summary.ops,
                summary.launches,
                summary.path.display()
            ),
            Err(error) => eprintln!("pellucid: the capture is not complete: {error}"),
        },
        Stage::Before | Stage::Done => {}
    }
}

/// What was asked for is the parent's.
pub(super) fn in_child() {
    if let Some(mut progress) = PROGRESS.try_lock()
        && let Some(progress) = &mut *progress
    {
        std::mem::forget(std::mem::replace(&mut progress.stage, Stage::Done));
    }
}

/// Completes the file when the program ends without having said so.
fn at_exit() {
    extern "C" fn complete() {
        // Nothing may unwind into the C library.
        let _ = std::panic::catch_unwind(|| {
            // A thread that is inside a capture while the process ends keeps it.
            if !fork::is_cut_off()
                && let Some(mut progress) = PROGRESS.try_lock()
                && let Some(progress) = &mut *progress
            {
                finish(progress);
            }
        });
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: registers a function that takes and returns nothing and does not unwind.
        unsafe { libc::atexit(complete) };
    });
}
