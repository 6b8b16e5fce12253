//! Which thread runs which stream.
//!
//! A stream is run by at most one thread at a time: by a thread that waits for its work, or by a worker. It stops where
//! the next batch waits for another stream, and is taken up again when that one completes. So no thread ever blocks on
//! a stream, and idle streams cost nothing.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::run::Progress;
use super::{Batch, plan, run};
use crate::array::Array;
use crate::fork;
use crate::memory::{self, Outstanding, Workforce};
use crate::stream::{Queue, Stream, streams};

/// Who runs a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Drive {
    /// Nobody: there is nothing that can begin.
    #[default]
    Idle,
    /// It waits for a worker; a thread that needs its work may take it first.
    Queued,
    /// A thread.
    Running,
}

thread_local! {
    /// The stream this thread runs.
    static CURRENT: Cell<Option<Stream>> = const { Cell::new(None) };
}

/// Plans what `arrays` need and puts it on the streams. Work of stream `own` is left to the caller, who must wait for
/// one of its batches or [`activate`] it.
pub(super) fn start(arrays: &[&Array], own: Option<Stream>) {
    fork::note_user();
    memory::set_workforce(&Scheduler);
    // Streams must receive batches in the order in which they were planned.
    let mut planner = plan::PLANNER.lock();
    let batches = plan::plan(&mut planner, arrays);
    for batch in &batches {
        let mut queue = batch.stream.core().queue.lock();
        queue.batches.push_back(batch.clone());
        queue.last = Some(batch.clone());
        queue.open = None;
    }
    drop(planner);
    for batch in batches {
        if batch.release() && Some(batch.stream) != own {
            activate(batch.stream);
        }
    }
}

/// Gives a stream to a worker, if it has work that can begin and nobody runs it.
pub(super) fn activate(stream: Stream) {
    let mut queue = stream.core().queue.lock();
    if queue.drive == Drive::Idle && queue.can_begin() {
        queue.drive = Drive::Queued;
        drop(queue);
        workers().push(stream);
    }
}

/// Becomes the one that runs the stream, if nobody does and there is something to run.
fn take(stream: Stream) -> bool {
    let mut queue = stream.core().queue.lock();
    let free = queue.drive != Drive::Running && queue.can_begin();
    if free {
        queue.drive = Drive::Running;
    }
    free
}

/// Runs the batch's stream on this thread until the batch is done, nothing can begin, or another thread runs it.
pub(super) fn drive_until(batch: &Batch) {
    if take(batch.stream) {
        drive(batch.stream, Some(batch));
    }
}

/// Runs a stream this thread has taken, and then streams that could go on because of it.
fn drive(mut stream: Stream, until: Option<&Batch>) {
    let before = CURRENT.replace(Some(stream));
    while let Some(batch) = next(stream) {
        batch.report_waits();
        let progress = catch_unwind(AssertUnwindSafe(|| run::run(&batch))).unwrap_or_else(|panic| {
            run::abandon(&batch, panic.as_ref());
            Progress::Done
        });
        let mut ready = match progress {
            Progress::Done => batch.complete(),
            Progress::Submitted => batch.submitted(),
            Progress::Left => {
                let mut queue = stream.core().queue.lock();
                queue.batches.push_front(batch);
                queue.drive = Drive::Queued;
                drop(queue);
                workers().push(stream);
                break;
            }
        };
        let mut queue = stream.core().queue.lock();
        queue.finished += 1;
        if batch.is_done() {
            queue.forget(&batch);
        }
        let more = queue.can_begin();
        let leave = match until {
            Some(wanted) => std::ptr::eq(wanted, &*batch),
            // Others wait for a worker: take turns.
            None => more && workers().is_short(),
        };
        if leave {
            queue.drive = if more { Drive::Queued } else { Drive::Idle };
            drop(queue);
            memory::work_ended();
            if more {
                workers().push(stream);
            }
            ready.into_iter().for_each(activate);
            break;
        }
        if !more {
            queue.drive = Drive::Idle;
        }
        drop(queue);
        memory::work_ended();
        // Going on with a stream that waited for this one saves waking a worker for it.
        let follow = if more { None } else { ready.iter().position(|&s| take(s)) };
        let followed = follow.map(|i| ready.remove(i));
        ready.into_iter().for_each(activate);
        match (more, followed) {
            (true, _) => {}
            (false, Some(other)) => {
                stream = other;
                CURRENT.set(Some(stream));
            }
            (false, None) => break,
        }
    }
    CURRENT.set(before);
}

/// Ends a batch that a device has finished, and lets go on what waited for it.
pub(super) fn finish(batch: &Batch) {
    let ready = batch.complete();
    batch.stream.core().queue.lock().forget(batch);
    ready.into_iter().for_each(activate);
}

/// The next batch of a stream this thread runs; without one, the stream is idle again.
fn next(stream: Stream) -> Option<Arc<Batch>> {
    let mut queue = stream.core().queue.lock();
    if queue.can_begin() {
        return queue.batches.pop_front();
    }
    queue.drive = Drive::Idle;
    None
}

impl Queue {
    fn can_begin(&self) -> bool {
        self.batches.front().is_some_and(|b| b.is_startable())
    }
}

/// Threads that run streams nobody waits for. They are made when there is work, up to one per core and one more for
/// each thread that is stuck.
struct Workers {
    /// Of the standard library, as the condition is: a thread that sleeps leaves no trace in a list of the process, which
    /// a forked child would find and stumble over.
    state: Mutex<WorkerState>,
    work: Condvar,
}

struct WorkerState {
    streams: VecDeque<Stream>,
    idle: usize,
    threads: usize,
    stuck: usize,
}

/// The workers of this process; null until there is work.
static WORKERS: AtomicPtr<Workers> = AtomicPtr::new(std::ptr::null_mut());

#[inline]
fn workers() -> &'static Workers {
    // SAFETY: null, or workers, which live as long as the process.
    unsafe { WORKERS.load(Ordering::Acquire).as_ref() }.unwrap_or_else(hire)
}

#[cold]
fn hire() -> &'static Workers {
    fork::introduce(fork::Name::Streams, fork::Part { is_quiet, in_child });
    let state = WorkerState { streams: VecDeque::new(), idle: 0, threads: 0, stuck: 0 };
    let new = Box::into_raw(Box::new(Workers { state: Mutex::new(state), work: Condvar::new() }));
    match WORKERS.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it was just made, and is never freed.
        Ok(_) => unsafe { &*new },
        Err(first) => {
            // SAFETY: another thread was faster; nobody has seen this one. What it made is never freed.
            unsafe {
                drop(Box::from_raw(new));
                &*first
            }
        }
    }
}

/// Whether no stream has work and no worker is on its way to sleep.
fn is_quiet() -> bool {
    /// A worker that has just ended its work sleeps within this time, also on a machine that is busy with other things.
    const SOON: Duration = Duration::from_millis(300);
    let idle = |stream: Stream| {
        stream.core().queue.try_lock().is_some_and(|queue| {
            let done = queue.last.as_ref().is_none_or(|batch| batch.is_done());
            queue.drive == Drive::Idle && queue.batches.is_empty() && done
        })
    };
    if CURRENT.get().is_some() || plan::PLANNER.try_lock().is_none() {
        return false;
    }
    let started = Instant::now();
    loop {
        let asleep = workers().state.try_lock().is_ok_and(|s| s.idle == s.threads && s.streams.is_empty());
        if asleep && streams().into_iter().all(idle) {
            return true;
        }
        if started.elapsed() > SOON {
            return false;
        }
        std::thread::yield_now();
    }
}

/// The workers are not in a forked child: it hires its own, who do not wait where the others did.
fn in_child(_: bool) {
    WORKERS.store(std::ptr::null_mut(), Ordering::Release);
}

impl Workers {
    /// What the workers do. A panic while it is held is a defect, but what it says stays true.
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&'static self, stream: Stream) {
        self.state().streams.push_back(stream);
        self.staff();
    }

    /// Wakes a worker for the queued streams, or makes one if all are busy.
    fn staff(&'static self) {
        let name = {
            let mut state = self.state();
            let most = std::thread::available_parallelism().map_or(2, |n| n.get().max(2)) + state.stuck;
            if state.streams.is_empty() || state.idle >= state.streams.len() || state.threads >= most {
                drop(state);
                self.work.notify_one();
                return;
            }
            state.threads += 1;
            format!("pellucid-worker-{}", state.threads)
        };
        if std::thread::Builder::new().name(name).spawn(|| self.serve()).is_err() {
            let mut state = self.state();
            state.threads -= 1;
            if state.threads == 0 {
                // No thread to be had: run it here rather than never.
                let stream = state.streams.pop_front();
                drop(state);
                stream.filter(|&s| take(s)).into_iter().for_each(|s| drive(s, None));
            }
        }
    }

    /// Whether streams wait for a worker and none is idle.
    fn is_short(&self) -> bool {
        let state = self.state();
        state.streams.len() > state.idle
    }

    fn serve(&self) {
        fork::note_staff();
        loop {
            let stream = {
                let mut state = self.state();
                loop {
                    if let Some(stream) = state.streams.pop_front() {
                        break stream;
                    }
                    state.idle += 1;
                    state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.idle -= 1;
                }
            };
            // Somebody who waited for it may have run it meanwhile.
            let queued = stream.core().queue.lock().drive == Drive::Queued;
            if queued && take(stream) {
                drive(stream, None);
            }
        }
    }
}

/// What the allocator sees of all this.
struct Scheduler;

impl Workforce for Scheduler {
    fn set_stuck(&self, stuck: bool) {
        let Some(stream) = CURRENT.get() else { return };
        stream.core().queue.lock().stuck = stuck;
        let mut state = workers().state();
        if stuck {
            state.stuck += 1;
        } else {
            state.stuck -= 1;
        }
        drop(state);
        if stuck {
            workers().staff();
            memory::work_ended();
        }
    }

    fn outstanding(&self) -> Outstanding {
        let target = |stream: Stream| {
            let queue = stream.core().queue.lock();
            let running = u64::from(queue.drive == Drive::Running);
            let left = queue.batches.len() as u64 + running;
            // Streams that are stuck now may be the next to go on.
            (left > 0).then_some((stream.index(), queue.finished + left))
        };
        Outstanding(streams().into_iter().filter_map(target).collect())
    }

    fn is_left(&self, outstanding: &Outstanding) -> bool {
        let all = streams();
        let moving = |&(index, target): &(usize, u64)| {
            all.get(index).is_some_and(|stream| {
                let queue = stream.core().queue.lock();
                queue.finished < target && !queue.stuck && queue.drive != Drive::Idle
            })
        };
        outstanding.0.iter().any(moving)
    }
}

#[allow(dead_code, reason = "a compile-time check")]
fn batches_cross_threads(batch: Arc<Batch>) -> impl Send + Sync {
    batch
}
