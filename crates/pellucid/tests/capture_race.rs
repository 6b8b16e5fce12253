//! Captures that begin and end while other threads evaluate: whatever the moment, the file agrees with itself.
//!
//! A file is a consistent cut if its own reader finds no contradiction: every launch that an operation names is there,
//! every input was made before it was read, all times lie in the window. `CAPTURE_RACES` sets the number of rounds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pellucid::capture::{self, Mode, Options};
use pellucid::{Array, Axes, Device, Stream, async_eval, is_available, new_stream, ops, with_stream};
use pellucid_trace::Trace;

const MODES: [Mode; 4] = [Mode::Timeline, Mode::Replay, Mode::Stats, Mode::Full];

/// One capture at a time, as the library wants it.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

fn rounds(default: u64) -> u64 {
    std::env::var("CAPTURE_RACES").map_or(default, |rounds| rounds.parse().unwrap())
}

/// A number that looks random, the same for the same seed.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// What all threads read: results of one are inputs of the others, constants are shared.
struct Shared {
    streams: Vec<Stream>,
    arrays: Vec<Mutex<Array>>,
    constant: Array,
}

impl Shared {
    fn new(device: Device) -> Shared {
        let streams = (0..3).map(|_| new_stream(device).unwrap()).collect();
        let arrays = (0..4).map(|i| Mutex::new(Array::from([i as f32 * 0.1; 100]))).collect();
        Shared { streams, arrays, constant: ops::full((), 0.5f32, pellucid::Dtype::Float32) }
    }

    /// Evaluates small graphs in every way there is: chains, views, several streams, nobody waiting, failing inputs.
    fn work(&self, seed: &mut u64) -> pellucid::Result<()> {
        let stream = self.streams[random(seed) as usize % self.streams.len()];
        let place = &self.arrays[random(seed) as usize % self.arrays.len()];
        let a = place.lock().clone();
        let b = self.arrays[random(seed) as usize % self.arrays.len()].lock().clone();
        let result = with_stream(stream, || {
            let x = ops::add(&ops::multiply(&a, &self.constant), &b);
            let square = ops::reshape(&x, [10, 10]);
            match random(seed) % 6 {
                0 => ops::reshape(&ops::matmul(&square, &square), [100]),
                1 => ops::subtract(&x, &ops::sum(&x, Axes::All, true)),
                2 => ops::cumsum(&x, 0, false, true),
                3 => ops::sort(&x, 0),
                4 => capture::region("a region", || ops::tanh(&x)),
                _ => ops::softmax(&x, -1, false),
            }
        });
        let result = ops::clip(&result, &Array::from(-1.0f32), &Array::from(1.0f32));
        match random(seed) % 8 {
            0 => async_eval([&result]),
            1 => {
                // An index that is not there: what depends on it fails, and is in the file all the same.
                let wrong = ops::take(&result, &Array::from([1000i32]), 0);
                assert!(ops::exp(&wrong).eval().is_err());
                assert!(ops::log(&wrong).eval().is_err());
            }
            // A constant that chains have read becomes an array of its own.
            2 => ops::add(&ops::full((), 2.5f32, pellucid::Dtype::Float32), 0.0).eval()?,
            _ => result.eval()?,
        }
        *place.lock() = result;
        Ok(())
    }
}

fn assert_consistent(path: &Path, round: u64, mode: Mode) -> u64 {
    let trace = Trace::open(path).unwrap();
    let (problems, count) = trace.problems().unwrap();
    assert_eq!((problems, count), (Vec::new(), 0), "round {round}, {mode:?}");
    assert!(!trace.manifest().partial, "round {round}");
    trace.manifest().counts.launches
}

fn race(device: Device, rounds: u64) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::new(device);
    let done = AtomicBool::new(false);
    let launches = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3u64)
            .map(|thread| {
                let (shared, done) = (&shared, &done);
                scope.spawn(move || {
                    let mut seed = thread + 1;
                    while !done.load(Ordering::Relaxed) {
                        shared.work(&mut seed).unwrap();
                    }
                })
            })
            .collect();
        let stop = Stop(&done);
        let mut seed = 77;
        for round in 0..rounds {
            let (mode, path) = (MODES[round as usize % 4], folder.path().join("race.pltrace"));
            capture::start_with(&path, Options::default().mode(mode)).unwrap();
            std::thread::sleep(Duration::from_micros(random(&mut seed) % 800));
            capture::stop().unwrap();
            launches.fetch_add(assert_consistent(&path, round, mode), Ordering::Relaxed);
            std::fs::remove_file(&path).unwrap();
        }
        drop(stop);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(launches.load(Ordering::Relaxed) > rounds, "the captures saw next to nothing");
}

/// Ends the other threads, also if a round fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_capture_on_the_cpu_is_a_consistent_cut_at_any_moment() {
    race(Device::cpu(), rounds(1500));
}

#[test]
fn a_capture_on_the_gpu_is_a_consistent_cut_at_any_moment() {
    if is_available(Device::gpu()) {
        race(Device::gpu(), rounds(500));
    } else {
        assert!(std::env::var_os("PELLUCID_REQUIRE_GPU").is_none(), "there is no GPU");
    }
}

#[test]
fn captures_started_and_stopped_by_several_threads_never_mix() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::new(Device::cpu());
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (shared, taken, folder) = (&shared, &taken, folder.path());
            scope.spawn(move || {
                let mut seed = thread + 100;
                for round in 0..rounds(2000) / 10 {
                    let path = folder.join(format!("{thread}-{round}.pltrace"));
                    let started = capture::start_with(&path, Options::default().mode(Mode::Timeline));
                    shared.work(&mut seed).unwrap();
                    // Another thread's capture may be the one that is ended here.
                    let Ok(summary) = capture::stop() else { continue };
                    assert_consistent(&summary.path, round, Mode::Timeline);
                    assert!(started.is_err() || path.exists());
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(taken.load(Ordering::Relaxed) > 0);
}

#[test]
fn an_array_from_a_region_of_an_earlier_capture_is_in_no_region() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("1.pltrace"), folder.path().join("2.pltrace"));
    capture::start(&first).unwrap();
    let (lazy, inner) = capture::region("outer", || {
        let lazy = ops::exp(&Array::from([1.0f32]));
        capture::stop().unwrap();
        capture::start(&second).unwrap();
        (lazy, capture::region("inner", || ops::exp(&Array::from([2.0f32]))))
    });
    pellucid::eval([&lazy, &inner]).unwrap();
    capture::stop().unwrap();
    assert_consistent(&second, 0, Mode::Replay);
    let trace = Trace::open(&second).unwrap();
    let regions: Vec<_> =
        trace.ops().unwrap().rows().iter().filter(|op| &*op.name == "exp").map(|op| op.region).collect();
    assert_eq!(regions.iter().filter(|region| region.is_none()).count(), 1, "{regions:?}");
    assert_eq!(
        trace.manifest().regions.iter().map(|r| (&*r.name, r.parent)).collect::<Vec<_>>(),
        [("inner", None)]
    );
}

#[test]
fn a_constant_that_chains_have_read_may_become_an_array_of_its_own() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("constant.pltrace");
    let two = ops::full((), 2.0f32, pellucid::Dtype::Float32);
    capture::start(&path).unwrap();
    ops::multiply(&Array::from([1.0f32, 2.0]), &two).eval().unwrap();
    two.eval().unwrap();
    ops::multiply(&Array::from([3.0f32]), &two).eval().unwrap();
    capture::stop().unwrap();
    assert_consistent(&path, 0, Mode::Replay);
}

#[test]
fn an_operation_whose_input_failed_before_the_window_is_shown_with_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failed.pltrace");
    let wrong = ops::take(&Array::from([1.0f32]), &Array::from([7i32]), 0);
    // Built before the failure is known; later it would be a failed array at once.
    let reader = ops::exp(&wrong);
    assert!(wrong.eval().is_err());
    capture::start(&path).unwrap();
    assert!(reader.eval().is_err());
    capture::stop().unwrap();
    assert_consistent(&path, 0, Mode::Replay);
    let rows = Trace::open(&path).unwrap().ops().unwrap().rows();
    assert_eq!(
        rows.iter().map(|op| (&*op.name, op.error.is_some())).collect::<Vec<_>>(),
        [("input", true), ("exp", true)]
    );
}
