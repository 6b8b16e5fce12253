//! Batches: the steps of one plan on one stream that can run without a break, and the failures they may end in.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use super::interrupt::{self, SLICE};
use super::schedule;
use crate::array::{Array, Shared, State, WorkBox};
use crate::error::Error;
use crate::observe::{Observer, WaitEvent, observed_now, observer};
use crate::op::Program;
use crate::stream::Stream;

/// One operation of a step: the array it makes, and from what.
#[derive(Debug)]
pub(crate) struct Member {
    pub array: Array,
    pub work: WorkBox,
}

impl Member {
    /// What its results have in common, if there are several.
    pub fn shared(&self) -> Option<Arc<Shared>> {
        if self.work.op.results() == 1 {
            return None;
        }
        match &*self.array.0.state.lock() {
            State::Shared(part) => Some(part.shared().clone()),
            _ => None,
        }
    }

    /// Bytes of all results.
    pub fn nbytes(&self) -> usize {
        match self.shared() {
            Some(shared) => shared.facts().iter().map(|f| f.spec.nbytes()).sum(),
            None => self.array.nbytes(),
        }
    }
}

/// An array a step reads: input `position` of one of its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepInput {
    pub member: u32,
    pub position: u32,
    /// How many references to it this step holds. If there are no others, its memory can be reused.
    pub references: u32,
}

/// Operations that run as one: a chain of elementwise ones as a program, perhaps with a reduction at its end, or a
/// single other one.
#[derive(Debug)]
pub(crate) struct Step {
    /// Producers first; the last one's array, and those it shares its work with, are the results.
    pub members: SmallVec<[Member; 1]>,
    /// Arrays read from outside the step; for a single operation its inputs in order.
    pub inputs: SmallVec<[StepInput; 2]>,
    /// What the elementwise operations compute.
    pub program: Option<Box<Program>>,
}

impl Step {
    /// The array an input stands for.
    pub fn input(&self, input: StepInput) -> &Array {
        &self.members[input.member as usize].work.inputs[input.position as usize]
    }

    /// The operation whose array is the result. A step has at least one member.
    pub fn last(&self) -> &Member {
        &self.members[self.members.len() - 1]
    }
}

/// Why an array has no elements. Shared by all arrays that depend on the failed operation.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Error,
    seen: AtomicBool,
}

impl Failure {
    pub fn new(error: Error) -> Failure {
        Failure { error, seen: AtomicBool::new(false) }
    }

    /// The error, for the user: from now on it counts as seen.
    pub fn tell(&self) -> Error {
        self.seen.store(true, Ordering::Relaxed);
        self.error.clone()
    }

    pub fn error(&self) -> &Error {
        &self.error
    }

    pub fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }
}

/// Steps of one stream that run one after the other, once all batches they wait for are done.
pub(crate) struct Batch {
    pub id: u64,
    pub stream: Stream,
    pub steps: Mutex<VecDeque<Step>>,
    /// When it was planned; only known while somebody observes.
    pub enqueued: Option<Instant>,
    /// No more steps join it; only used while planning.
    pub closed: AtomicBool,
    /// Batches of other streams it waits for, each once.
    waits: Mutex<SmallVec<[Arc<Batch>; 2]>>,
    /// How many of them are not done yet, and one more until this one is enqueued.
    pending: AtomicUsize,
    outcome: Mutex<Outcome>,
    finished: Condvar,
}

#[derive(Default)]
struct Outcome {
    /// All its work has been handed to the device.
    submitted: bool,
    done: bool,
    /// Why none of what was handed to the device was done.
    failure: Option<Arc<Failure>>,
    /// When; only known while somebody observes.
    at: Option<Instant>,
    /// Batches of other streams that wait for this one.
    dependents: Vec<Arc<Batch>>,
}

impl Outcome {
    /// Whether `waiter` can begin after a batch of `stream` that is this far.
    fn is_enough_for(&self, waiter: &Batch, stream: Stream) -> bool {
        self.done || self.submitted && waiter.stream.device() == stream.device()
    }
}

impl Batch {
    pub fn new(stream: Stream) -> Arc<Batch> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Batch {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            stream,
            steps: Mutex::new(VecDeque::new()),
            enqueued: observed_now(),
            closed: AtomicBool::new(false),
            waits: Mutex::new(SmallVec::new()),
            pending: AtomicUsize::new(1),
            outcome: Mutex::new(Outcome::default()),
            finished: Condvar::new(),
        })
    }

    /// Lets this batch begin only after `other`.
    pub fn wait_for(self: &Arc<Batch>, other: &Arc<Batch>) {
        let mut waits = self.waits.lock();
        if waits.iter().any(|w| Arc::ptr_eq(w, other)) {
            return;
        }
        waits.push(other.clone());
        let mut outcome = other.outcome.lock();
        if !outcome.is_enough_for(self, other.stream) {
            self.pending.fetch_add(1, Ordering::Relaxed);
            outcome.dependents.push(self.clone());
        }
    }

    /// Whether it already waits for `other`; only asked while planning.
    pub fn waits_for(&self, other: &Arc<Batch>) -> bool {
        self.waits.lock().iter().any(|w| Arc::ptr_eq(w, other))
    }

    /// Reports, once, what this batch waited for before it begins.
    #[inline(always)] // One caller, as `fuse::group`.
    pub fn report_waits(&self) {
        let mut waits = self.waits.lock();
        if !waits.is_empty() {
            let waits = std::mem::take(&mut *waits);
            if let Some(observer) = observer() {
                self.tell_waits(&*observer, waits);
            }
        }
    }

    #[cold]
    fn tell_waits(&self, observer: &dyn Observer, waits: SmallVec<[Arc<Batch>; 2]>) {
        let now = Instant::now();
        let started = self.enqueued.unwrap_or(now);
        for wait in waits {
            let ended = wait.outcome.lock().at.unwrap_or(started).max(started);
            observer.wait(&WaitEvent { waiter: Some(self.stream), waited_for: wait.stream, started, ended });
        }
    }

    /// One thing less to wait for. True if it was the last.
    pub fn release(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub fn is_startable(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }

    pub fn is_done(&self) -> bool {
        self.outcome.lock().done
    }

    /// Why what it handed to a device was not done; only known when it is done.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.outcome.lock().failure.clone()
    }

    /// Makes everything it handed to a device fail.
    pub fn fail(&self, failure: Arc<Failure>) {
        self.outcome.lock().failure.get_or_insert(failure);
    }

    /// Marks its work as handed to the device, whose queue keeps the order: what runs there can follow. Returns the
    /// streams that can go on.
    pub fn submitted(&self) -> SmallVec<[Stream; 2]> {
        let follow: SmallVec<[Arc<Batch>; 2]> = {
            let mut outcome = self.outcome.lock();
            outcome.submitted = true;
            let (follow, wait) = std::mem::take(&mut outcome.dependents)
                .into_iter()
                .partition::<Vec<_>, _>(|d| outcome.is_enough_for(d, self.stream));
            outcome.dependents = wait;
            follow.into_iter().collect()
        };
        follow.iter().filter(|d| d.release()).map(|d| d.stream).collect()
    }

    /// Marks it done; returns the streams that can go on because of that.
    pub fn complete(&self) -> SmallVec<[Stream; 2]> {
        let dependents = {
            let mut outcome = self.outcome.lock();
            outcome.done = true;
            outcome.at = observed_now();
            std::mem::take(&mut outcome.dependents)
        };
        self.finished.notify_all();
        dependents.iter().filter(|d| d.release()).map(|d| d.stream).collect()
    }

    /// Waits until it is done, running its stream's queue on this thread if no other does. `deferred` is a stream that
    /// nobody was told to run, because this thread meant to: if it cannot, it tells the workers before it sleeps. Returns
    /// early if this thread was asked to give up.
    pub fn wait(self: &Arc<Batch>, deferred: Option<Stream>) {
        if self.is_done() || interrupt::is_given_up() {
            return;
        }
        schedule::drive_until(self);
        let mut outcome = self.outcome.lock();
        if outcome.done {
            return;
        }
        if let Some(stream) = deferred {
            drop(outcome);
            schedule::activate(stream);
            outcome = self.outcome.lock();
        }
        if !interrupt::is_interruptible() {
            while !outcome.done {
                self.finished.wait(&mut outcome);
            }
            return;
        }
        while !outcome.done {
            if self.finished.wait_for(&mut outcome, SLICE).timed_out() {
                // Without the lock: asking may take a while.
                drop(outcome);
                if interrupt::poll() {
                    return;
                }
                outcome = self.outcome.lock();
            }
        }
    }
}

impl fmt::Debug for Batch {
    /// Names only: batches refer to each other, and to a million steps.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch(#{}, {})", self.id, self.stream)
    }
}
