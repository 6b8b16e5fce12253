//! Batches: the steps of one plan on one stream that can run without a break, and the failures they may end in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use super::schedule;
use crate::array::{Array, Work};
use crate::error::Error;
use crate::observe::{WaitEvent, observer};
use crate::op::Program;
use crate::stream::Stream;

/// One operation of a step: the array it makes, and from what.
#[derive(Debug)]
pub(crate) struct Member {
    pub array: Array,
    pub work: Box<Work>,
}

/// An array a step reads: input `position` of one of its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepInput {
    pub member: u32,
    pub position: u32,
    /// How many references to it this step holds. If there are no others, its memory can be reused.
    pub references: u32,
}

/// Operations that run as one: a chain of elementwise ones as a program, or a single other one.
#[derive(Debug)]
pub(crate) struct Step {
    /// Producers first; the last one's array is the result.
    pub members: SmallVec<[Member; 1]>,
    /// Arrays read from outside the step.
    pub inputs: SmallVec<[StepInput; 2]>,
    /// What an elementwise step computes.
    pub program: Option<Program>,
}

impl Step {
    /// The array an input stands for.
    pub fn input(&self, input: StepInput) -> &Array {
        &self.members[input.member as usize].work.inputs[input.position as usize]
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
#[derive(Debug)]
pub(crate) struct Batch {
    pub stream: Stream,
    pub steps: Mutex<Vec<Step>>,
    pub enqueued: Instant,
    /// Batches of other streams that are not done yet, and one more until this one is enqueued.
    pending: AtomicUsize,
    outcome: Mutex<Outcome>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Outcome {
    done: bool,
    /// Batches of other streams that wait for this one.
    dependents: Vec<Arc<Batch>>,
}

impl Batch {
    pub fn new(stream: Stream) -> Arc<Batch> {
        Arc::new(Batch {
            stream,
            steps: Mutex::new(Vec::new()),
            enqueued: Instant::now(),
            pending: AtomicUsize::new(1),
            outcome: Mutex::new(Outcome::default()),
            finished: Condvar::new(),
        })
    }

    /// Lets this batch begin only after `other`.
    pub fn wait_for(self: &Arc<Batch>, other: &Arc<Batch>) {
        let mut outcome = other.outcome.lock();
        if !outcome.done && !outcome.dependents.iter().any(|d| Arc::ptr_eq(d, self)) {
            self.pending.fetch_add(1, Ordering::Relaxed);
            outcome.dependents.push(self.clone());
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

    /// Marks it done and starts what waited for it.
    pub fn complete(&self) {
        let dependents = {
            let mut outcome = self.outcome.lock();
            outcome.done = true;
            std::mem::take(&mut outcome.dependents)
        };
        self.finished.notify_all();
        for dependent in dependents {
            if let Some(observer) = observer() {
                let (started, ended) = (dependent.enqueued, Instant::now());
                let (waiter, waited_for) = (Some(dependent.stream), self.stream);
                observer.wait(&WaitEvent { waiter, waited_for, started, ended });
            }
            if dependent.release() {
                schedule::activate(dependent.stream);
            }
        }
    }

    /// Waits until it is done, running its stream's queue on this thread if no other does.
    pub fn wait(self: &Arc<Batch>) {
        if self.is_done() {
            return;
        }
        let started = Instant::now();
        schedule::drive_until(self);
        let mut outcome = self.outcome.lock();
        while !outcome.done {
            self.finished.wait(&mut outcome);
        }
        drop(outcome);
        if let Some(observer) = observer() {
            let (waited_for, ended) = (self.stream, Instant::now());
            observer.wait(&WaitEvent { waiter: None, waited_for, started, ended });
        }
    }
}
