//! What work needs only while it runs is counted, bounded and fallible, and what is given back leaves the process. In a
//! process of its own: the figures and limits hold for all arrays.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pellucid::memory::{
    clear_cache, get_active_memory, get_memory_limit, get_peak_memory, report, reset_peak_memory,
    set_cache_limit, set_memory_limit,
};
use pellucid::{Array, Axes, Dtype, Error, ops};

const MIB: u64 = 1 << 20;

fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    clear_cache();
    reset_peak_memory();
    lock
}

/// The most bytes in use while `work` runs, beyond those in use before.
fn peak(work: impl FnOnce() -> Array) -> u64 {
    clear_cache();
    let before = get_active_memory();
    reset_peak_memory();
    work().eval().unwrap();
    get_peak_memory() - before
}

fn repeated(shape: &[usize], dtype: Dtype) -> Array {
    let one = Array::from([1.0f32, 2.0]);
    let one = ops::reshape(&ops::astype(&one, dtype), [1, 2]);
    ops::broadcast_to(&one, shape.to_vec())
}

#[test]
fn reductions_of_repeated_arrays_need_less_than_a_mebibyte_however_long_they_are() {
    let _alone = alone();
    // Each element is read: along rows, along columns, and by the exponential ones.
    let (tall, wide) =
        (repeated(&[1 << 22, 2], Dtype::Float32), repeated(&[1 << 9, 1 << 13, 2], Dtype::Int8));
    let sum = ops::sum(&tall, Axes::All, false);
    assert!(peak(|| sum.clone()) < MIB);
    assert_eq!(sum.item::<f32>().unwrap(), 1.5 * (1 << 23) as f32);
    let columns = ops::sum(&tall, 0, false);
    assert!(peak(|| columns.clone()) < MIB);
    assert_eq!(columns.to_vec::<f32>().unwrap(), [(1 << 22) as f32, (1 << 23) as f32]);
    let middle = ops::sum(&wide, [0, 1], false);
    assert!(peak(|| middle.clone()) < MIB);
    assert_eq!(middle.to_vec::<i32>().unwrap(), [1 << 22, 1 << 23]);
    assert!(peak(|| ops::logsumexp(&tall, Axes::All, false)) < MIB);
}

#[test]
fn what_a_kernel_needs_beside_its_result_is_counted() {
    let _alone = alone();
    let n = 1 << 20;
    let numbers: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let x = Array::from_slice(&numbers, [n]);
    assert!(peak(|| ops::sort(&x, -1)) >= 16 * MIB, "the result and a second copy");
    let half = ops::zeros([1024, 1024], Dtype::Float16);
    half.eval().unwrap();
    assert!(peak(|| ops::matmul(&half, &half)) >= 14 * MIB, "the result, and three float32 copies");
    let matrix = ops::zeros([1024, 1024], Dtype::Float32);
    matrix.eval().unwrap();
    if cfg!(target_arch = "x86_64") {
        assert!(peak(|| ops::matmul(&matrix, &matrix)) > 5 * MIB, "the result and packed operands");
    }
}

#[test]
fn work_that_finds_no_room_is_an_error_and_runs_once_there_is_some() {
    let _alone = alone();
    let n = 1 << 20;
    let x = Array::from_slice(&vec![7u64; n], [n]);
    let limit = get_memory_limit();
    set_memory_limit(report().system_bytes + 9 * MIB, false);
    let error = ops::sort(&x, -1).eval().unwrap_err();
    assert!(matches!(error.root(), Error::Memory { function: "sort", .. }), "{error}");
    set_memory_limit(limit, false);
    assert_eq!(ops::sort(&x, -1).to_vec::<u64>().unwrap(), vec![7; n]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_stays_within_the_limit_whatever_threads_allocate_and_free() {
    fn resident() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }
    let _alone = alone();
    let (limit, cache) = (get_memory_limit(), report().cache_limit);
    set_memory_limit(report().system_bytes + 100 * MIB, false);
    let before = resident();
    let worst = Mutex::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let worst = &worst;
            scope.spawn(move || {
                let mut state = thread + 1;
                for _ in 0..60 {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let count = (state >> 33) as usize % (2 << 20) + 2000;
                    // Refused now and then: the threads together may want more.
                    let x = ops::full([count], 1.0, Dtype::Float32);
                    let y = ops::add(&x, 1.0);
                    drop((x.eval(), y.eval()));
                    let now = resident();
                    let mut worst = worst.lock().unwrap();
                    *worst = now.max(*worst);
                }
            });
        }
    });
    let grown = worst.into_inner().unwrap().saturating_sub(before) / MIB;
    println!("the process grew by {grown} MiB under a limit of 100");
    assert!(grown < 150, "{grown} MiB");
    set_cache_limit(0);
    let after = resident().saturating_sub(before) / MIB;
    assert!(after < 40, "{after} MiB stay with nothing in use");
    set_cache_limit(cache);
    set_memory_limit(limit, false);
}
