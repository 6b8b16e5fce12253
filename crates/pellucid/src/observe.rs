//! The one place everything that runs passes: launches, memory and waits, seen by at most one observer.
//!
//! # Cost
//! One relaxed atomic load per event while nobody observes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, RwLock};

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
    /// The elements of each result, whether anything ran for them (not for a view), and the input whose memory they took;
    /// or the reason why there are none.
    pub result: Result<(&'a [Value], bool, Option<usize>), &'a Error>,
    /// Why it ran on the CPU although it was meant for a GPU, if it did.
    pub fallback: Option<&'static str>,
    /// What a GPU was given, in order.
    pub dispatches: Vec<Dispatched>,
    /// When it ran. `None` if that is known only when the GPU is done: [`Observer::timed`] tells then.
    pub times: Option<Times>,
    /// When each dispatch began, if that was measured.
    pub starts: Vec<Instant>,
}

/// One kernel that a GPU was given.
#[derive(Debug)]
pub(crate) struct Dispatched {
    /// What it is called.
    pub kernel: Arc<str>,
    /// Its text.
    pub source: Arc<str>,
    /// Workgroups.
    pub grid: [u32; 3],
    /// Invocations of each.
    pub workgroup: [u32; 3],
    pub bindings: Vec<Binding>,
    /// Parameters, as 32-bit words.
    pub constants: Vec<u32>,
}

/// Memory that a kernel sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    /// `output`, `input` or `scratch`.
    pub role: &'static str,
    /// The array it belongs to; 0 for scratch.
    pub array: u64,
    pub buffer: u64,
    /// Bytes from the buffer's start.
    pub offset: u64,
    pub bytes: u64,
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
static CURRENT: RwLock<Option<Arc<Seat>>> = RwLock::new(None);

/// An observer and how many are telling it something.
struct Seat {
    observer: Arc<dyn Observer>,
    telling: AtomicUsize,
    /// Nobody tells it anything any more. Only waited for once it is no longer the current one.
    quiet: Condvar,
    lock: Mutex<()>,
}

/// The observer, for as long as something is told to it: [`remove_observer`] waits until all of these are gone, so that
/// what is told in several calls is told as a whole or not at all.
pub(crate) struct Watch(Arc<Seat>);

impl Watch {
    fn new(seat: &Arc<Seat>) -> Watch {
        seat.telling.fetch_add(1, Ordering::Relaxed);
        Watch(seat.clone())
    }

    /// A watch of an observer that is not installed.
    #[cfg(test)]
    pub fn of(observer: Arc<dyn Observer>) -> Watch {
        Watch::new(&Arc::new(Seat::new(observer)))
    }
}

impl Clone for Watch {
    fn clone(&self) -> Watch {
        Watch::new(&self.0)
    }
}

impl std::ops::Deref for Watch {
    type Target = dyn Observer;

    fn deref(&self) -> &Self::Target {
        &*self.0.observer
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.0.telling.fetch_sub(1, Ordering::Release) == 1 {
            // Under the lock, so that it does not fall between the look and the sleep of the one who waits.
            drop(self.0.lock.lock());
            self.0.quiet.notify_all();
        }
    }
}

impl Seat {
    fn new(observer: Arc<dyn Observer>) -> Seat {
        Seat { observer, telling: AtomicUsize::new(0), quiet: Condvar::new(), lock: Mutex::new(()) }
    }
}

/// The observer, if one is installed.
#[inline]
pub(crate) fn observer() -> Option<Watch> {
    if is_observed() { current() } else { None }
}

/// Out of line, like all that only a capture needs: what runs without one should not have to jump over it.
#[cold]
#[inline(never)]
fn current() -> Option<Watch> {
    // Counted under the lock: whoever removes the observer sees it.
    CURRENT.read().as_ref().map(Watch::new)
}

/// The time, if anybody wants to know.
#[inline]
pub(crate) fn observed_now() -> Option<Instant> {
    is_observed().then(Instant::now)
}

/// Installs an observer in place of the present one.
pub(crate) fn install_observer(observer: Arc<dyn Observer>) {
    let mut current = CURRENT.write();
    *current = Some(Arc::new(Seat::new(observer)));
    ON.store(true, Ordering::Relaxed);
}

/// Removes the observer and waits until everything that has begun to be told to it is told. Nothing reaches it
/// afterwards.
pub(crate) fn remove_observer() {
    let seat = {
        let mut current = CURRENT.write();
        ON.store(false, Ordering::Relaxed);
        current.take()
    };
    let Some(seat) = seat else { return };
    let mut lock = seat.lock.lock();
    while seat.telling.load(Ordering::Acquire) > 0 {
        seat.quiet.wait(&mut lock);
    }
}

/// Forgets the observer without a word to it: in a forked child, where it is the parent's.
pub(crate) fn forget_observer() {
    ON.store(false, Ordering::Relaxed);
    if let Some(mut current) = CURRENT.try_write() {
        std::mem::forget(current.take());
    }
}

/// Whether an observer is installed.
#[inline]
pub(crate) fn is_observed() -> bool {
    cfg!(feature = "capture") && !cfg!(feature = "uninstrumented") && ON.load(Ordering::Relaxed)
}
