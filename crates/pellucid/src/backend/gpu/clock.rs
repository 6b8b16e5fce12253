//! When submissions ran: the GPU's own stamps where it gives them, as times of the host's clock.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::device::Gpu;
use super::transfer;
use crate::error::{Error, Result};
use crate::observe::Times;

/// Metal has 32 sample buffers for each device; some are left to others.
const MOST_SETS: usize = 24;
/// Passes of one submission that can be timed.
pub(super) const MOST_PASSES: u32 = 128;
const QUERIES: u32 = 2 * MOST_PASSES;
const BYTES: u64 = 8 * QUERIES as u64;

/// Room for the stamps of one submission.
pub(super) struct Stamps {
    pub set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
}

/// A submission that is or will be timed.
pub(super) struct Timed {
    stamps: Option<Stamps>,
    passes: u32,
    submitted: Instant,
}

/// The clock of one GPU.
pub(crate) struct Clock {
    /// Nanoseconds of one tick; 0 if the device gives no stamps.
    period: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Vec<Stamps>,
    made: usize,
    fit: Option<Fit>,
}

/// Where the GPU's clock stands on the host's: a submission begins after it was submitted and ends before that was
/// seen, so each one narrows it.
#[derive(Clone, Copy, Debug)]
struct Fit {
    host: Instant,
    tick: u64,
    /// Nanoseconds from `host` to the moment of `tick`: at least, and at most.
    low: f64,
    high: f64,
}

impl Clock {
    pub fn new(queue: &wgpu::Queue, features: wgpu::Features) -> Clock {
        let stamps = features.contains(wgpu::Features::TIMESTAMP_QUERY);
        let period = if stamps { f64::from(queue.get_timestamp_period()) } else { 0.0 };
        Clock { period, state: Mutex::default() }
    }

    /// Room for the stamps of a pass that is about to begin; `None` if the device gives none or has no room left.
    pub(super) fn stamps(&self, gpu: &Gpu) -> Option<Stamps> {
        if self.period <= 0.0 {
            return None;
        }
        let mut state = self.state.lock();
        if let Some(free) = state.free.pop() {
            return Some(free);
        }
        if state.made >= MOST_SETS {
            return None;
        }
        let made = make(gpu).ok()?;
        state.made += 1;
        Some(made)
    }

    /// The times of a submission that the GPU has finished, and when each of its passes began.
    pub(super) fn read(&self, gpu: &Gpu, timed: Timed) -> (Times, Vec<Instant>) {
        let (submitted, finished) = (timed.submitted, Instant::now());
        let around = || {
            let part = |pass: u32| (finished - submitted).mul_f64(f64::from(pass) / f64::from(timed.passes));
            let starts = (0..timed.passes).map(|pass| submitted + part(pass)).collect();
            (Times { started: submitted, ended: finished, by: "gpu submission" }, starts)
        };
        let Some(stamps) = timed.stamps else { return around() };
        let ticks = transfer::mapped(gpu, &stamps.staging, |bytes| {
            let words = bytes.chunks_exact(8).take(2 * timed.passes as usize);
            words.map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect::<Vec<u64>>()
        });
        let mut state = self.state.lock();
        state.free.push(stamps);
        let ticks = ticks.unwrap_or_default();
        match (ticks.first(), ticks.last()) {
            (Some(&begin), Some(&end)) if begin != 0 && end >= begin => {
                let fit = state.fit.get_or_insert(Fit::new(submitted, begin));
                fit.narrow(self.period, begin, end, submitted, finished);
                let at = |tick: u64| fit.at(self.period, tick, submitted, finished);
                let starts = ticks.chunks_exact(2).map(|pass| at(pass[0].clamp(begin, end))).collect();
                (fit.times(self.period, begin, end, submitted, finished), starts)
            }
            _ => around(),
        }
    }
}

impl Clock {
    /// Takes back the room of stamps that nobody wants to read. The GPU must have finished with it.
    pub(super) fn release(&self, timed: Timed) {
        if let Some(stamps) = timed.stamps {
            self.state.lock().free.push(stamps);
        }
    }
}

impl Timed {
    /// Notes a submission that is being made.
    pub fn new(stamps: Option<Stamps>, passes: u32) -> Timed {
        Timed { stamps, passes, submitted: Instant::now() }
    }
}

impl Stamps {
    /// Has the stamps copied to where they can be read.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder, passes: u32) {
        encoder.resolve_query_set(&self.set, 0..2 * passes, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, BYTES);
    }
}

fn make(gpu: &Gpu) -> Result<Stamps> {
    let buffer = |label, usage| {
        let size = BYTES;
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    gpu.guarded(|| Stamps {
        set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("stamps"),
            ty: wgpu::QueryType::Timestamp,
            count: QUERIES,
        }),
        resolved: buffer("stamps", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
        staging: buffer("stamps to read", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
    })
    .map_err(|error| Error::device("gpu", gpu.id, error))
}

impl Fit {
    fn new(host: Instant, tick: u64) -> Fit {
        Fit { host, tick, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// Nanoseconds from the fit's tick to another.
    fn since(&self, period: f64, tick: u64) -> f64 {
        (i128::from(tick) - i128::from(self.tick)) as f64 * period
    }

    /// Takes into account that `begin` and `end` lie between two moments of the host.
    fn narrow(&mut self, period: f64, begin: u64, end: u64, submitted: Instant, finished: Instant) {
        let low = nanoseconds(self.host, submitted) - self.since(period, begin);
        let high = nanoseconds(self.host, finished) - self.since(period, end);
        if low > high {
            // The two clocks do not run at one pace; nothing can be said.
            return;
        }
        (self.low, self.high) = (self.low.max(low), self.high.min(high));
        if self.low > self.high {
            // They have drifted apart: what is known now counts.
            (self.low, self.high) = (low, high);
        }
    }

    /// When a tick was, which lies between two moments of the host.
    fn at(&self, period: f64, tick: u64, submitted: Instant, finished: Instant) -> Instant {
        let offset = if self.low.is_finite() { (self.low + self.high) / 2.0 } else { 0.0 };
        let ns = offset + self.since(period, tick);
        let way = Duration::from_nanos(ns.abs() as u64);
        let time = if ns < 0.0 { self.host.checked_sub(way) } else { self.host.checked_add(way) };
        time.unwrap_or(submitted).clamp(submitted, finished)
    }

    fn times(&self, period: f64, begin: u64, end: u64, submitted: Instant, finished: Instant) -> Times {
        let at = |tick: u64| self.at(period, tick, submitted, finished);
        Times { started: at(begin), ended: at(end), by: "gpu timestamp" }
    }
}

fn nanoseconds(from: Instant, to: Instant) -> f64 {
    match to.checked_duration_since(from) {
        Some(later) => later.as_nanos() as f64,
        None => -(from.saturating_duration_since(to).as_nanos() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_submission_narrows_where_the_clocks_meet() {
        let start = Instant::now();
        let at = |ns: u64| start + Duration::from_nanos(ns);
        // One tick is 10 ns; tick 1,000 is the host's 5,000.
        let tick = |ns: u64| 500 + ns / 10;
        let mut fit = Fit::new(at(4_000), tick(5_000));
        fit.narrow(10.0, tick(5_000), tick(6_000), at(4_000), at(9_000));
        fit.narrow(10.0, tick(20_000), tick(30_000), at(19_900), at(30_100));
        let times = fit.times(10.0, tick(40_000), tick(41_000), at(30_000), at(60_000));
        assert_eq!(times.by, "gpu timestamp");
        assert_eq!((times.started, times.ended), (at(40_000), at(41_000)));
    }

    #[test]
    fn clocks_that_drift_apart_are_set_anew() {
        let start = Instant::now();
        let at = |ns: u64| start + Duration::from_nanos(ns);
        let mut fit = Fit::new(at(0), 0);
        fit.narrow(1.0, 0, 10, at(0), at(20));
        fit.narrow(1.0, 1_000, 1_010, at(2_000), at(2_030));
        let times = fit.times(1.0, 1_000, 1_010, at(2_000), at(2_030));
        assert_eq!((times.started, times.ended), (at(2_010), at(2_020)));
    }
}
