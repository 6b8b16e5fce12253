//! Waiting that can be given up: for callers that must look up now and then, such as Python's main thread, which sees
//! Ctrl-C only when it asks.
//!
//! A caller normally runs its own stream. One that may be interrupted runs only what is short; the rest is done by a
//! worker, for whom it waits in slices. What it gives up waiting for goes on without it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::batch::Step;
use crate::op::Op;

/// How often a waiting caller looks up.
pub(super) const SLICE: Duration = Duration::from_millis(50);
/// More than this takes milliseconds: bytes that a step reads and writes, and operations.
const LONG_BYTES: usize = 32 << 20;
const LONG_FLOPS: u64 = 200_000_000;

type Poll<'a> = &'a dyn Fn() -> bool;

thread_local! {
    /// Asks whether to give up. Valid while [`with_interrupts`] runs.
    static POLL: Cell<Option<*const (dyn Fn() -> bool + 'static)>> = const { Cell::new(None) };
    /// The answer was yes; nothing is waited for until the scope ends.
    static GIVEN_UP: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; while it waits for evaluations on this thread, `poll` is asked several times a second whether to give up.
/// If it returns true, the evaluation returns [`Error::Interrupted`](crate::Error::Interrupted). The work itself goes
/// on: the arrays stay valid, and evaluating them again waits for the rest.
///
/// ```
/// use pellucid::{Dtype, Error, ops, with_interrupts};
/// let x = ops::full([2000, 2000], 0.001, Dtype::Float32);
/// let y = (0..50).fold(x.clone(), |y, _| ops::matmul(&y, &x));
/// let outcome = with_interrupts(&|| true, || y.eval());
/// assert!(matches!(outcome, Err(Error::Interrupted { .. })));
/// ```
pub fn with_interrupts<R>(poll: Poll<'_>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const (dyn Fn() -> bool + 'static)>, bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            POLL.set(self.0);
            GIVEN_UP.set(self.1);
        }
    }
    let poll: *const (dyn Fn() -> bool + '_) = poll;
    // SAFETY: only the lifetime changes; the pointer is taken away before this returns, also by a panic.
    let poll: *const (dyn Fn() -> bool + 'static) = unsafe { std::mem::transmute(poll) };
    let _restore = Restore(POLL.replace(Some(poll)), GIVEN_UP.replace(false));
    f()
}

/// Whether this thread may be interrupted.
#[inline]
pub(super) fn is_interruptible() -> bool {
    POLL.get().is_some()
}

/// Whether this thread has given up.
#[inline]
pub(crate) fn is_given_up() -> bool {
    GIVEN_UP.get()
}

/// Asks whether to give up.
pub(super) fn poll() -> bool {
    let Some(poll) = POLL.get() else { return false };
    if !GIVEN_UP.get() {
        // Taken out meanwhile: what it calls may evaluate something itself, and is not interrupted.
        POLL.set(None);
        // SAFETY: set by `with_interrupts`, which has not returned.
        let answer = unsafe { (*poll)() };
        POLL.set(Some(poll));
        GIVEN_UP.set(answer);
    }
    GIVEN_UP.get()
}

/// How much a thread that may be interrupted runs itself.
pub(super) struct Patience {
    looked_up: Instant,
}

impl Patience {
    /// The patience of this thread; `None` if it has no end.
    #[inline]
    pub fn of_this_thread() -> Option<Patience> {
        is_interruptible().then(|| Patience { looked_up: Instant::now() })
    }

    /// Whether the thread may run this step, and still wants to.
    #[cold]
    pub fn allows(&mut self, step: &Step) -> bool {
        if self.looked_up.elapsed() > SLICE {
            self.looked_up = Instant::now();
            if poll() {
                return false;
            }
        }
        !is_given_up() && !is_long(step)
    }
}

fn is_long(step: &Step) -> bool {
    let last = step.last();
    let read: usize = step.inputs.iter().map(|&input| step.input(input).nbytes()).sum();
    let flops = |member: &super::batch::Member| {
        let shapes: smallvec::SmallVec<[_; 4]> = member.work.inputs.iter().map(|a| a.shape_ref()).collect();
        member.work.op.flops(&shapes, member.array.shape_ref())
    };
    // What a user's kernel takes is not known.
    matches!(last.work.op, Op::Custom(_))
        || read.saturating_add(last.array.nbytes()) > LONG_BYTES
        || step.members.iter().fold(0u64, |sum, member| sum.saturating_add(flops(member))) > LONG_FLOPS
}
