//! What the machine can do at most: memory bandwidth and multiply-adds per second, with all cores.

use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// Far larger than any cache, so that this is the memory's limit. The arrays of some cases are smaller: of those a large
/// cache holds a part, and they may go beyond it.
const BYTES: usize = 256 << 20;
/// Many, because the best of them counts, as in the cases.
const ROUNDS: usize = 60;

pub fn measure() -> Value {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let source = numbers(BYTES / 4, 1.0);
    let mut target = numbers(BYTES / 4, 0.0);
    let copy = copy_bandwidth(&source, &mut target, threads);
    let read = read_bandwidth(&source, threads);
    let peak = peak_flops(threads);
    json!({
        "threads": threads,
        "copy_gb_per_s": copy / 1e9,
        "read_gb_per_s": read / 1e9,
        "peak_f32_gflop_per_s": peak / 1e9,
    })
}

/// Numbers in huge pages where the system has them: they are faster to go through.
fn numbers(count: usize, value: f32) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(count);
    #[cfg(target_os = "linux")]
    {
        let room: &mut [std::mem::MaybeUninit<f32>] = numbers.spare_capacity_mut();
        let start = room.as_mut_ptr().addr().next_multiple_of(4096);
        let end = room.as_mut_ptr_range().end.addr() & !4095;
        // SAFETY: whole pages inside the room; this changes how they are backed, not what they hold.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
    numbers.resize(count, value);
    numbers
}

/// Runs each piece of work on a thread of its own, all starting together, and gives the seconds of the best round.
fn best_of<F: FnMut() + Send>(work: impl IntoIterator<Item = F>) -> f64 {
    let work: Vec<F> = work.into_iter().collect();
    let barrier = &Barrier { threads: work.len(), waiting: AtomicUsize::new(0), turn: AtomicUsize::new(0) };
    let mut best = vec![f64::INFINITY; ROUNDS];
    thread::scope(|scope| {
        let run = |mut f: F| {
            scope.spawn(move || {
                let round = |_| {
                    barrier.wait();
                    let start = Instant::now();
                    f();
                    // The slowest thread ends the round.
                    barrier.wait();
                    start.elapsed().as_secs_f64()
                };
                (0..ROUNDS).map(round).collect::<Vec<f64>>()
            })
        };
        let threads: Vec<_> = work.into_iter().map(run).collect();
        for thread in threads {
            for (best, time) in best.iter_mut().zip(thread.join().unwrap_or_default()) {
                *best = best.min(time);
            }
        }
    });
    best.into_iter().fold(f64::INFINITY, f64::min)
}

/// A place where threads wait for one another without going to sleep, which would take longer than a round.
struct Barrier {
    threads: usize,
    waiting: AtomicUsize,
    turn: AtomicUsize,
}

impl Barrier {
    fn wait(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut rounds = 0u32;
        while self.turn.load(Ordering::Acquire) == turn {
            rounds += 1;
            if rounds < 100_000 { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// Bytes read and written per second: the better of the system's copy, which may write past the caches, and of a loop.
fn copy_bandwidth(source: &[f32], target: &mut [f32], threads: usize) -> f64 {
    let part = source.len().div_ceil(threads);
    let mut best = f64::INFINITY;
    for system in [true, false] {
        let copies = source.chunks(part).zip(target.chunks_mut(part)).map(|(from, to)| {
            move || {
                if system {
                    to.copy_from_slice(from);
                } else {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = from * 1.5);
                }
                black_box(&*to);
            }
        });
        best = best.min(best_of(copies));
    }
    2.0 * size_of_val(source) as f64 / best
}

fn read_bandwidth(source: &[f32], threads: usize) -> f64 {
    let part = source.len().div_ceil(threads);
    let seconds = best_of(source.chunks(part).map(|from| {
        move || {
            black_box(widest(Kernel::Sum(black_box(from))));
        }
    }));
    size_of_val(source) as f64 / seconds
}

fn peak_flops(threads: usize) -> f64 {
    const STEPS: usize = 2_000_000;
    let seconds = best_of((0..threads).map(|_| {
        || {
            black_box(widest(Kernel::MultiplyAdd(black_box(STEPS))));
        }
    }));
    (threads * STEPS * ACCUMULATORS * lanes() * 2) as f64 / seconds
}

#[derive(Clone, Copy)]
enum Kernel<'a> {
    Sum(&'a [f32]),
    MultiplyAdd(usize),
}

/// Enough independent sums to hide the latency of a multiply-add on two units.
const ACCUMULATORS: usize = 12;

#[inline(always)]
fn kernel<const LANES: usize>(kernel: Kernel) -> f32 {
    match kernel {
        Kernel::Sum(numbers) => {
            // From four places at once: no more than that is fetched ahead.
            let quarter = numbers.len() / 4;
            let mut sums = [[0.0_f32; 16]; 4];
            for i in (0..quarter / 16 * 16).step_by(16) {
                for (place, sums) in sums.iter_mut().enumerate() {
                    for (sum, x) in sums.iter_mut().zip(&numbers[place * quarter + i..][..16]) {
                        *sum += x;
                    }
                }
            }
            sums.iter().flatten().sum()
        }
        Kernel::MultiplyAdd(steps) => {
            let mut sums = [[0.0_f32; LANES]; ACCUMULATORS];
            let (a, b) = (black_box([0.999_f32; LANES]), black_box([0.001_f32; LANES]));
            for _ in 0..steps {
                for sum in &mut sums {
                    for lane in 0..LANES {
                        sum[lane] = sum[lane].mul_add(a[lane], b[lane]);
                    }
                }
            }
            sums.iter().flatten().sum()
        }
    }
}

/// How many numbers one register of [`widest`] holds.
fn lanes() -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        return 16;
    } else if is_x86_feature_detected!("avx2") {
        return 8;
    }
    4
}

#[cfg(target_arch = "x86_64")]
fn widest(work: Kernel) -> f32 {
    #[target_feature(enable = "avx2,fma")]
    fn avx2(work: Kernel) -> f32 {
        kernel::<8>(work)
    }
    #[target_feature(enable = "avx512f")]
    fn avx512(work: Kernel) -> f32 {
        kernel::<16>(work)
    }
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the feature.
        return unsafe { avx512(work) };
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features.
        return unsafe { avx2(work) };
    }
    kernel::<4>(work)
}

#[cfg(not(target_arch = "x86_64"))]
fn widest(work: Kernel) -> f32 {
    kernel::<4>(work)
}
