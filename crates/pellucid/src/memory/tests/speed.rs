//! What an allocation costs. Run with
//! `cargo test -p pellucid --release --lib memory::tests::speed -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::*;
use crate::memory::Buffer;

fn request(bytes: usize) -> Request {
    Request { function: "speed", bytes, stream: 0, site: CallSite::here() }
}

/// Best of several repeats, in nanoseconds for one.
fn best(count: usize, mut run: impl FnMut() -> (f64, f64)) -> (f64, f64) {
    let pairs: Vec<_> = (0..7).map(|_| run()).collect();
    let least = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(f).fold(f64::MAX, f64::min) / count as f64;
    (least(|p| p.0), least(|p| p.1))
}

#[test]
#[ignore = "a benchmark"]
fn allocating_from_a_warm_cache_and_freeing() {
    println!("{:>10} {:>8} {:>14} {:>12} {:>10}", "bytes", "live", "allocate ns", "free ns", "pair ns");
    for (bytes, live) in [
        (16, 1),
        (16, 1000),
        (1000, 1000),
        (4096, 1000),
        (8192, 1),
        (8192, 1000),
        (100_000, 100),
        (1 << 20, 100),
    ] {
        let rounds = 200_000 / live;
        let mut held = Vec::with_capacity(live);
        let (allocate, free) = best(rounds * live, || {
            let (mut allocating, mut freeing) = (0.0, 0.0);
            // Timing single calls would mostly time the clock.
            for _ in 0..rounds {
                let start = Instant::now();
                for _ in 0..live {
                    held.push(Buffer::allocate(request(black_box(bytes))).unwrap());
                }
                let middle = Instant::now();
                held.clear();
                freeing += middle.elapsed().as_secs_f64() * 1e9;
                allocating += (middle - start).as_secs_f64() * 1e9;
            }
            (allocating, freeing)
        });
        let (pair, _) = best(200_000, || {
            let start = Instant::now();
            for _ in 0..200_000 {
                drop(black_box(Buffer::allocate(request(black_box(bytes))).unwrap()));
            }
            (start.elapsed().as_secs_f64() * 1e9, 0.0)
        });
        println!("{bytes:>10} {live:>8} {allocate:>14.0} {free:>12.0} {pair:>10.0}");
    }
    // Many sizes at once, as in training.
    let sizes: Vec<usize> = (0..200).map(|i| 4097 + i * 7919).collect();
    let (mut held, count) = (Vec::with_capacity(200), 200 * 500);
    let (allocate, free) = best(count, || {
        let (mut allocating, mut freeing) = (0.0, 0.0);
        for _ in 0..500 {
            let start = Instant::now();
            held.extend(sizes.iter().map(|&bytes| Buffer::allocate(request(bytes)).unwrap()));
            let middle = Instant::now();
            held.clear();
            freeing += middle.elapsed().as_secs_f64() * 1e9;
            allocating += (middle - start).as_secs_f64() * 1e9;
        }
        (allocating, freeing)
    });
    println!("{:>10} {:>8} {allocate:>14.0} {free:>12.0}", "200 sizes", 200);
    println!("an entry has {} bytes", size_of::<Entry>());
}
