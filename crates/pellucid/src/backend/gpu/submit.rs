//! What the GPU has been given and what it has finished. One thread waits for it, and only while there is something to
//! wait for.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use super::device::Gpu;
use crate::error::{Error, Result};

type Callback = Box<dyn FnOnce() + Send>;

/// The submissions of a device, counted from 1 in the order of its queue.
pub(crate) struct Submissions {
    device: wgpu::Device,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    submitted: u64,
    finished: u64,
    flights: VecDeque<Flight>,
    /// What waited for submissions that had finished already.
    late: Vec<Callback>,
    /// The thread that waits has been started.
    watched: bool,
}

struct Flight {
    number: u64,
    index: wgpu::SubmissionIndex,
    then: Vec<Callback>,
}

impl Submissions {
    pub fn new(device: &wgpu::Device) -> Submissions {
        Submissions { device: device.clone(), state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    /// The submission made last; 0 if there was none.
    pub fn latest(&self) -> u64 {
        self.state.lock().submitted
    }

    /// Submits recorded commands; returns the submission's number.
    ///
    /// # Errors
    /// [`Error::Device`] if the device refuses them or was lost.
    pub fn submit(&'static self, gpu: &Gpu, encoder: wgpu::CommandEncoder) -> Result<u64> {
        gpu.check()?;
        let mut state = self.state.lock();
        // Under the lock, so that numbers follow the queue's order.
        let index = gpu
            .guarded(|| gpu.queue.submit([encoder.finish()]))
            .map_err(|error| Error::device("gpu", gpu.id, error))?;
        state.submitted += 1;
        let number = state.submitted;
        state.flights.push_back(Flight { number, index, then: Vec::new() });
        if !state.watched {
            state.watched = true;
            let name = format!("pellucid-gpu-{}", gpu.id.index());
            if std::thread::Builder::new().name(name).spawn(|| self.watch()).is_err() {
                state.watched = false;
                drop(state);
                self.advance();
                return Ok(number);
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(number)
    }

    /// Calls `then` when the GPU has finished a submission. Always from the thread that waits, in the order in which
    /// it was asked for, so that the caller may hold any lock.
    pub fn when_finished(&self, number: u64, then: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        if let Some(flight) = state.flights.iter_mut().find(|f| f.number >= number) {
            flight.then.push(Box::new(then));
        } else if state.watched {
            state.late.push(Box::new(then));
            drop(state);
            self.changed.notify_all();
        } else {
            drop(state);
            then();
        }
    }

    /// Waits until the GPU has finished a submission.
    pub fn wait(&self, number: u64) {
        let index = {
            let state = self.state.lock();
            if state.finished >= number {
                return;
            }
            state.flights.iter().find(|f| f.number >= number).map(|f| f.index.clone())
        };
        if let Some(index) = index {
            // An error means that the device was lost; whoever uses the data will be told.
            let _ = self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        }
    }

    /// Waits for one submission after the other, as long as the process lives.
    fn watch(&self) {
        loop {
            let mut state = self.state.lock();
            while state.flights.is_empty() && state.late.is_empty() {
                self.changed.wait(&mut state);
            }
            let late = std::mem::take(&mut state.late);
            drop(state);
            for then in late {
                then();
            }
            self.advance();
        }
    }

    /// Waits for the oldest submission and calls what waited for it.
    fn advance(&self) {
        let Some((number, index)) = self.state.lock().flights.front().map(|f| (f.number, f.index.clone()))
        else {
            return;
        };
        // An error means that the device was lost: then nothing will finish any more, and the callbacks see that.
        let _ = self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        let flight = {
            let mut state = self.state.lock();
            state.finished = number;
            state.flights.pop_front()
        };
        for then in flight.into_iter().flat_map(|f| f.then) {
            then();
        }
    }
}
