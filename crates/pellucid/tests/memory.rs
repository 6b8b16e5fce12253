//! Memory as users see it: exact figures, limits that hold, loops that finish. The figures are the process's, so the
//! tests run one after the other.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use pellucid::memory::{
    clear_cache, get_active_memory, get_cache_memory, get_memory_limit, get_peak_memory, report,
    reset_peak_memory, set_cache_limit, set_memory_limit,
};
use pellucid::{
    Array, Axes, Device, Dtype, Error, Result, Stream, async_eval, eval, new_stream, ops, synchronize,
    with_stream,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The only test that runs, with an empty cache; limits are as before when it ends.
struct Alone {
    _lock: MutexGuard<'static, ()>,
    memory: u64,
    cache: u64,
    base: u64,
}

fn alone() -> Alone {
    static LOCK: Mutex<()> = Mutex::new(());
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let (memory, cache) = (get_memory_limit(), report().cache_limit);
    clear_cache();
    reset_peak_memory();
    Alone { _lock: lock, memory, cache, base: get_active_memory() }
}

impl Alone {
    /// Active bytes of this test.
    fn active(&self) -> u64 {
        get_active_memory() - self.base
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        set_memory_limit(self.memory, false);
        set_cache_limit(self.cache);
    }
}

/// An evaluated array of this many bytes.
fn bytes(count: u64) -> Array {
    Array::from_slice(&vec![1u8; count as usize], [count as usize])
}

fn is_memory_error(error: &Error) -> bool {
    matches!(error.root(), Error::Memory { .. })
}

/// A small generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn every_step_shows_in_the_figures() {
    let test = alone();
    let a = bytes(8192);
    assert_eq!((test.active(), get_cache_memory()), (8192, 0));
    let b = a.clone();
    drop(a);
    assert_eq!((test.active(), get_cache_memory()), (8192, 0), "still held");
    drop(b);
    assert_eq!((test.active(), get_cache_memory()), (0, 8192));
    let c = bytes(4097);
    assert_eq!((test.active(), get_cache_memory()), (8192, 0), "reused, with its own size");
    let d = bytes(MIB);
    assert_eq!(get_peak_memory() - test.base, MIB + 8192);
    drop(d);
    reset_peak_memory();
    assert_eq!((get_peak_memory(), get_cache_memory()), (0, MIB), "zero until the next allocation");
    assert_eq!(set_cache_limit(MIB - 1), test.cache);
    assert_eq!(get_cache_memory(), 0, "a lower limit holds at once");
    drop(c);
    assert_eq!(get_cache_memory(), 8192);
    clear_cache();
    assert_eq!((test.active(), get_cache_memory()), (0, 0));
    let empty = bytes(0);
    assert_eq!((empty.size(), test.active()), (0, 0));
}

#[test]
fn strict_limits_refuse_and_relaxed_ones_do_not() {
    let test = alone();
    let rest = report().system_bytes;
    assert_eq!(set_memory_limit(rest + 4 * MIB, false), test.memory);
    let a = bytes(3 * MIB);
    let error = Array::from_slice(&[0u8; 2 << 20], [2 << 20]).check().unwrap_err();
    assert!(
        matches!(error.root(), Error::Memory { requested: 2_097_152, device, .. } if *device == Device::cpu())
    );
    assert!(error.to_string().contains(&format!("the limit is {}", rest + 4 * MIB)), "{error}");
    // Cached memory makes room, the oldest first.
    drop(bytes(500 * KIB));
    drop(bytes(100 * KIB));
    let b = bytes(800 * KIB);
    assert_eq!(get_cache_memory(), 100 * KIB);
    assert_eq!(set_memory_limit(rest + 4 * MIB, true), rest + 4 * MIB);
    let c = bytes(2 * MIB);
    assert_eq!((test.active(), get_cache_memory()), (5 * MIB + 800 * KIB, 0));
    drop((a, b, c));
    assert!(report().system_bytes <= rest + 4 * MIB, "what was over the limit is not kept");
}

#[test]
fn what_the_machine_does_not_have_is_an_error_and_everything_works_afterwards() {
    let test = alone();
    let huge = ops::add(ops::zeros([1usize << 48], Dtype::Float32), 1.0);
    let depends = ops::negative(&huge);
    for _ in 0..2 {
        assert!(is_memory_error(&depends.eval().unwrap_err()));
    }
    assert!(is_memory_error(&huge.eval().unwrap_err()));
    set_memory_limit(u64::MAX, true);
    let again = ops::add(ops::zeros([1usize << 48], Dtype::Float32), 1.0);
    assert!(is_memory_error(&again.eval().unwrap_err()));
    drop((huge, depends, again));
    assert_eq!(ops::add(Array::from([1, 2]), 1).to_vec::<i32>().unwrap(), [2, 3]);
    assert_eq!(test.active(), 0);
}

#[test]
fn the_report_names_the_lines_of_the_largest_buffers_and_each_streams_share() {
    let test = alone();
    let stream = new_stream(Device::cpu()).unwrap();
    let on_stream = with_stream(stream, || bytes(3 * MIB));
    let (line, large) = (line!(), Array::from_slice(&[0u8; 5 << 20], [5 << 20]));
    let small: Vec<_> = (0..20).map(|_| bytes(100)).collect();
    let report = report();
    assert_eq!(report.largest.len(), 10);
    assert_eq!(report.largest.iter().take(3).map(|l| l.bytes).collect::<Vec<_>>(), [5 * MIB, 3 * MIB, 128]);
    assert_eq!((report.largest[0].site.file(), report.largest[0].site.line()), (file!(), line));
    let share = report.streams.iter().find(|s| s.stream == stream.index()).unwrap();
    assert_eq!(share.active, 3 * MIB);
    assert_eq!(report.active, test.base + 8 * MIB + 20 * 128);
    assert_eq!(report.devices.iter().map(|d| d.active).sum::<u64>(), report.active);
    assert_eq!(report.devices.iter().map(|d| d.system_bytes).sum::<u64>(), report.system_bytes);
    assert!(report.active + report.cache <= report.system_bytes && report.system_bytes <= report.peak_total);
    assert!(report.hit_rate() > 0.0 && report.hit_rate() < 1.0);
    drop((on_stream, large, small));
}

/// Bytes of this process in memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_million_small_arrays_need_few_system_buffers() {
    let test = alone();
    let before = report().system_buffers;
    let arrays: Vec<Array> = (0..1_000_000).map(|i| Array::from([i, 1, 2, 3])).collect();
    let now = report();
    assert_eq!(test.active(), 16_000_000);
    assert!(now.system_buffers - before < 1000, "{} system buffers", now.system_buffers - before);
    assert!(now.system_bytes < 17_000_000 + test.base + 17 * 64 * KIB);
    drop(arrays);
    assert_eq!(test.active(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_million_small_arrays_cost_less_than_250_bytes_of_bookkeeping_each() {
    // In a process of its own: memory that other tests freed would be counted as ours.
    if std::env::var_os("PELLUCID_TEST_CHILD").is_none() {
        return rerun("a_million_small_arrays_cost_less_than_250_bytes_of_bookkeeping_each", &[]);
    }
    const COUNT: u64 = 1_000_000;
    let mut arrays: Vec<Array> = vec![Array::from([0, 1, 2, 3]); COUNT as usize];
    let before = resident();
    for (i, array) in arrays.iter_mut().enumerate() {
        *array = Array::from([i as i32, 1, 2, 3]);
    }
    let each = (resident() - before) / COUNT;
    println!("{each} bytes for an array of 16");
    assert!(each - 16 < 250, "{} bytes of bookkeeping", each - 16);
}

/// Runs one test of this program in a process of its own.
fn rerun(name: &str, variables: &[(&str, &str)]) {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", name, "--nocapture"]).env("PELLUCID_TEST_CHILD", "1");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_chain_of_a_thousand_operations_needs_two_buffers() {
    let test = alone();
    let a = Array::from_slice(&vec![0.5f32; 256 << 10], [256 << 10]);
    let chain = |nobody_holds: bool| {
        let start = if nobody_holds { ops::negative(&a) } else { a.clone() };
        (0..1000).fold(start, |x, i| if i % 2 == 0 { ops::multiply(&x, &a) } else { ops::abs(&x) })
    };
    for nobody_holds in [false, true] {
        let result = chain(nobody_holds);
        reset_peak_memory();
        let held = get_active_memory();
        result.eval().unwrap();
        assert!(get_peak_memory() - held <= 2 * MIB, "{} bytes", get_peak_memory() - held);
    }
    drop(a);
    assert_eq!(test.active(), 0);
}

#[test]
fn a_chain_of_a_thousand_operations_needs_two_buffers_without_fusion_too() {
    rerun("a_chain_of_a_thousand_operations_needs_two_buffers", &[("PELLUCID_FUSE", "0")]);
}

const THREADS: usize = 3;
const PARAMETERS: usize = 64;
/// Bytes of one parameter; all temporary arrays are smaller.
const PARAMETER: u64 = 64 * KIB;
/// Bytes of everything a loop holds at one time, temporary arrays included.
const WORKING_SET: u64 = THREADS as u64 * PARAMETERS as u64 * PARAMETER + THREADS as u64 * 256 * KIB;

/// Updates random parameters with data of random sizes on random streams; returns the parameters.
fn train(seed: u64, streams: &[Stream], steps: usize) -> Result<Vec<Array>> {
    let mut random = Random(seed);
    let elements = PARAMETER as usize / 4;
    let mut parameters = Vec::new();
    for _ in 0..PARAMETERS {
        parameters.push(Array::from_slice(&vec![0.0f32; elements], [elements]));
    }
    for step in 0..steps {
        let size = 1 + random.below(8000);
        let place = random.below(PARAMETERS);
        let stream = streams[random.below(streams.len())];
        let data = Array::from_slice(&vec![1.0f32; size], [size]);
        let update = with_stream(stream, || {
            let squares = ops::multiply(&data, &data);
            let mean = ops::mean(&ops::add(&squares, &data), Axes::All, false);
            ops::add(&parameters[place], &mean)
        });
        drop(data);
        parameters[place] = update;
        if step % 4 == 3 { eval([&parameters[place]])? } else { async_eval([&parameters[place]]) }
    }
    eval(&parameters)?;
    Ok(parameters)
}

/// Trains in several threads at once.
fn train_together(steps: usize) -> Vec<Result<Vec<Array>>> {
    let threads: Vec<_> = (0..THREADS)
        .map(|t| {
            let streams: Vec<_> = (0..3).map(|_| new_stream(Device::cpu()).unwrap()).collect();
            thread::spawn(move || {
                let result = train(t as u64 + 1, &streams, steps);
                // What an error left on the streams must be gone before the figures are looked at.
                for stream in streams {
                    let _ = synchronize(stream);
                }
                result
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn training_under_a_strict_limit_of_six_fifths_of_the_working_set_finishes_within_it() {
    let test = alone();
    reset_peak_memory();
    let limit = report().system_bytes + WORKING_SET * 6 / 5;
    set_memory_limit(limit, false);
    let held: Vec<_> = train_together(10_000 / THREADS + 1).into_iter().map(Result::unwrap).collect();
    let sum: f32 = held.iter().flatten().map(|p| ops::max(p, Axes::All, false).item::<f32>().unwrap()).sum();
    assert_eq!(sum as usize, 2 * THREADS * (10_000 / THREADS + 1), "every step added 2");
    let report = report();
    assert!(report.peak_total <= limit, "{} of {limit} bytes", report.peak_total);
    assert_eq!(test.active(), THREADS as u64 * PARAMETERS as u64 * PARAMETER);
    drop(held);
    assert_eq!(test.active(), 0);
}

#[test]
fn training_below_the_working_set_fails_with_a_memory_error_and_works_again_afterwards() {
    let test = alone();
    let limit = report().system_bytes + WORKING_SET / 2;
    set_memory_limit(limit, false);
    reset_peak_memory();
    let results = train_together(200);
    let errors: Vec<_> = results.iter().filter_map(|r| r.as_ref().err()).collect();
    assert!(!errors.is_empty() && errors.into_iter().all(is_memory_error));
    assert!(report().peak_total <= limit);
    drop(results);
    assert_eq!(test.active(), 0);
    // One thread's parameters fit.
    let stream = new_stream(Device::cpu()).unwrap();
    train(9, &[stream], 200).unwrap();
    assert_eq!(test.active(), 0);
}

#[test]
fn an_allocation_waits_for_memory_that_running_work_will_free() {
    let test = alone();
    set_memory_limit(report().system_bytes + 3 * MIB, false);
    let stream = new_stream(Device::cpu()).unwrap();
    for _ in 0..20 {
        let total = with_stream(stream, || {
            let data = bytes(2 * MIB);
            let x = ops::full([200, 200], 0.005f32, Dtype::Float32);
            let slow = (0..40).fold(x.clone(), |y, _| ops::matmul(&y, &x));
            let zero = ops::sum(&ops::multiply(&slow, 0.0), Axes::All, false);
            ops::add(ops::sum(&data, Axes::All, false), &zero)
        });
        async_eval([&total]);
        // The stream's data is in the way until its work is done.
        let mine = bytes(2 * MIB);
        assert_eq!(total.item::<f32>().unwrap(), 2.0 * 1024.0 * 1024.0);
        drop((mine, total));
    }
    assert_eq!(test.active(), 0);
}

#[test]
fn streams_that_need_more_than_fits_together_take_turns() {
    let test = alone();
    set_memory_limit(report().system_bytes + 3 * MIB, false);
    let streams: Vec<_> = (0..4).map(|_| new_stream(Device::cpu()).unwrap()).collect();
    for round in 0..50 {
        let sums: Vec<_> = streams
            .iter()
            .map(|&stream| {
                // One large buffer each, so nobody holds one and waits for another.
                with_stream(stream, || {
                    let numbers = ops::full([512 << 10], round as f32, Dtype::Float32);
                    ops::sum(&numbers, Axes::All, false)
                })
            })
            .collect();
        async_eval(&sums);
        for sum in &sums {
            assert_eq!(sum.item::<f32>().unwrap(), (round << 19) as f32);
        }
    }
    assert_eq!(test.active(), 0);
}
