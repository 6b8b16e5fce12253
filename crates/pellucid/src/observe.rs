//! The one place everything that runs passes: launches, memory and waits, seen by at most one observer.
//!
//! # Cost
//! One relaxed atomic load per event while nobody observes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::RwLock;

use crate::array::Value;
use crate::error::Error;
use crate::eval::Step;
use crate::stream::Stream;

/// What happened to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryAction {
    /// New memory from the system.
    Allocate,
    /// Memory from the cache or a slab.
    Reuse,
    /// Given up by its last array.
    Free,
    /// Returned to the system from the cache.
    Evict,
}

/// A change of memory, with the figures after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryEvent {
    pub action: MemoryAction,
    /// The buffer's number; 0 for evicted blocks, which belong to no array.
    pub buffer: u64,
    pub bytes: u64,
    /// The array it is for; 0 if not known.
    pub op: u64,
    pub device: crate::Device,
    pub active: u64,
    pub cache: u64,
    pub peak: u64,
}

/// One launch: operations that run together.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub id: u64,
    /// The operations, producers first, and the arrays they read.
    pub step: &'a Step,
    /// The batch it was submitted with.
    pub batch: u64,
    pub stream: Stream,
    pub enqueued: Instant,
}

/// How a launch ended.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    /// The result's elements, whether anything ran for them (not for a view), and the input whose memory they took; or
    /// the reason why there are none.
    pub result: Result<(&'a Value, bool, Option<usize>), &'a Error>,
    /// It was meant for a GPU that cannot do it, and ran on the CPU.
    pub fallback: bool,
    /// Text and workgroups of the kernel, on a GPU.
    pub kernel: Option<(Arc<str>, [u32; 3])>,
    /// When it ran. `None` if that is known only when the GPU is done: [`Observer::timed`] tells then.
    pub times: Option<Times>,
}

/// When something ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub started: Instant,
    pub ended: Instant,
    /// How that was measured.
    pub by: &'static str,
}

impl Times {
    /// Measured by the host, from `started` until now.
    pub fn until_now(started: Instant) -> Times {
        Times { started, ended: Instant::now(), by: "host clock" }
    }
}

/// A wait for a stream: by another stream, or by the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitEvent {
    /// The stream that waited; `None` for the host.
    pub waiter: Option<Stream>,
    pub waited_for: Stream,
    pub started: Instant,
    pub ended: Instant,
}

/// Sees every launch, allocation and wait while it is installed.
///
/// Calls come from any thread, memory events from inside the allocator: an observer must not allocate arrays, wait,
/// or panic.
pub(crate) trait Observer: Send + Sync {
    fn memory(&self, event: &MemoryEvent);
    /// A launch is about to run; its inputs are complete, and may be overwritten by it.
    fn before(&self, launch: &Launch, inputs: &[Value]);
    fn after(&self, launch: &Launch, outcome: &Outcome);
    /// Whether every launch on a GPU is to be timed by itself, which keeps it from being submitted with others.
    fn times_each_launch(&self) -> bool {
        true
    }
    /// Launches that a GPU was given together ran between these times, in this order. Not called if each launch is
    /// timed by itself.
    fn timed(&self, _launches: &[u64], _times: Times) {}
    fn wait(&self, event: &WaitEvent);
}

static ON: AtomicBool = AtomicBool::new(false);
static CURRENT: RwLock<Option<Arc<dyn Observer>>> = RwLock::new(None);

/// The observer, if one is installed.
#[inline]
pub(crate) fn observer() -> Option<Arc<dyn Observer>> {
    if is_observed() { current() } else { None }
}

/// Out of line, like all that only a capture needs: what runs without one should not have to jump over it.
#[cold]
#[inline(never)]
fn current() -> Option<Arc<dyn Observer>> {
    CURRENT.read().clone()
}

/// The time, if anybody wants to know.
#[inline]
pub(crate) fn observed_now() -> Option<Instant> {
    is_observed().then(Instant::now)
}

/// Installs or removes the observer; returns the previous one.
pub(crate) fn set_observer(observer: Option<Arc<dyn Observer>>) -> Option<Arc<dyn Observer>> {
    let mut current = CURRENT.write();
    ON.store(observer.is_some(), Ordering::Relaxed);
    std::mem::replace(&mut *current, observer)
}

/// Whether an observer is installed.
#[inline]
pub(crate) fn is_observed() -> bool {
    !cfg!(feature = "uninstrumented") && ON.load(Ordering::Relaxed)
}
