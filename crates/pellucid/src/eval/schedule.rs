//! Which thread runs which stream.
//!
//! A stream is run by at most one thread at a time: by a thread that waits for its work, or by a worker. It stops where
//! the next batch waits for another stream, and is taken up again when that one completes. So no thread ever blocks on
//! a stream, and idle streams cost nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::{Batch, plan, run};
use crate::array::Array;
use crate::stream::Stream;

/// Plans what `arrays` need and puts it on the streams. A caller that will wait runs the first array's stream itself.
pub(super) fn start(arrays: &[&Array], caller_waits: bool) {
    let own = arrays.first().filter(|_| caller_waits).map(|a| a.stream());
    // Streams must receive batches in the order in which they were planned.
    let planner = plan::PLANNER.lock();
    let batches = plan::plan(arrays);
    for batch in &batches {
        let mut queue = batch.stream.core().queue.lock();
        queue.batches.push_back(batch.clone());
        queue.last = Some(batch.clone());
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
    if take(stream) {
        WORKERS.push(stream);
    }
}

/// Becomes the one that runs the stream, if there is something to run.
fn take(stream: Stream) -> bool {
    let mut queue = stream.core().queue.lock();
    let ready = !queue.driven && queue.batches.front().is_some_and(|b| b.is_startable());
    queue.driven |= ready;
    ready
}

/// Runs the batch's stream on this thread until the batch is done, nothing can begin, or another thread runs it.
pub(super) fn drive_until(batch: &Batch) {
    if take(batch.stream) {
        drive(batch.stream, Some(batch));
    }
}

/// Runs a stream this thread has taken.
fn drive(stream: Stream, until: Option<&Batch>) {
    loop {
        let next = {
            let mut queue = stream.core().queue.lock();
            match queue.batches.front() {
                Some(batch) if batch.is_startable() => queue.batches.pop_front(),
                _ => {
                    queue.driven = false;
                    return;
                }
            }
        };
        let Some(batch) = next else { return };
        run::run(&batch);
        batch.complete();
        if until.is_some_and(|wanted| std::ptr::eq(wanted, &*batch)) {
            // The rest is not this thread's business.
            let mut queue = stream.core().queue.lock();
            let more = queue.batches.front().is_some_and(|b| b.is_startable());
            queue.driven = more;
            drop(queue);
            if more {
                WORKERS.push(stream);
            }
            return;
        }
    }
}

/// Threads that run streams nobody waits for. They are made when there is work, up to one per core.
struct Workers {
    state: Mutex<WorkerState>,
    work: Condvar,
}

struct WorkerState {
    streams: VecDeque<Stream>,
    idle: usize,
    threads: usize,
}

static WORKERS: Workers = Workers {
    state: Mutex::new(WorkerState { streams: VecDeque::new(), idle: 0, threads: 0 }),
    work: Condvar::new(),
};

impl Workers {
    fn push(&'static self, stream: Stream) {
        let mut state = self.state.lock();
        state.streams.push_back(stream);
        if state.idle >= state.streams.len() {
            drop(state);
            self.work.notify_one();
            return;
        }
        let most = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        if state.threads < most {
            let name = format!("pellucid-worker-{}", state.threads);
            if std::thread::Builder::new().name(name).spawn(|| self.serve()).is_ok() {
                state.threads += 1;
                return;
            }
        }
        if state.threads == 0 {
            // No thread to be had: run it here rather than never.
            if let Some(stream) = state.streams.pop_back() {
                drop(state);
                drive(stream, None);
            }
        } else {
            drop(state);
            self.work.notify_one();
        }
    }

    fn serve(&self) {
        loop {
            let stream = {
                let mut state = self.state.lock();
                loop {
                    if let Some(stream) = state.streams.pop_front() {
                        break stream;
                    }
                    state.idle += 1;
                    self.work.wait(&mut state);
                    state.idle -= 1;
                }
            };
            drive(stream, None);
        }
    }
}

#[allow(dead_code, reason = "a compile-time check")]
fn batches_cross_threads(batch: Arc<Batch>) -> impl Send + Sync {
    batch
}
