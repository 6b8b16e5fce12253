//! Many threads, many streams, many small operations: everything is computed once, in order, and nothing hangs.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use pellucid::{Array, Device, Stream, async_eval, eval, new_stream, ops, synchronize, with_stream};

/// A small generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Builds `count` additions and subtractions over a growing set of values on random streams, evaluates now and then,
/// and checks every value against plain integers.
fn work(seed: u64, streams: &[Stream], count: usize) {
    let mut random = Random(seed);
    let mut arrays: Vec<Array> = (0..4).map(|i| Array::from([i, i + 1, i + 2])).collect();
    let mut expected: Vec<[i32; 3]> = (0..4).map(|i| [i, i + 1, i + 2]).collect();
    for step in 0..count {
        let (i, j) = (random.below(arrays.len()), random.below(arrays.len()));
        let stream = streams[random.below(streams.len())];
        let subtract = random.below(2) == 0;
        let made = with_stream(stream, || {
            if subtract { ops::subtract(&arrays[i], &arrays[j]) } else { ops::add(&arrays[i], &arrays[j]) }
        });
        let value = std::array::from_fn(|k| {
            let (a, b) = (expected[i][k], expected[j][k]);
            if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) }
        });
        let place = random.below(16);
        if place < arrays.len() {
            (arrays[place], expected[place]) = (made, value);
        } else {
            arrays.push(made);
            expected.push(value);
        }
        match random.below(200) {
            0 => eval([&arrays[random.below(arrays.len())]]).unwrap(),
            1 => async_eval(&arrays),
            2 => synchronize(stream).unwrap(),
            _ if step % 1000 == 999 => check(&arrays, &expected),
            _ => {}
        }
    }
    check(&arrays, &expected);
}

fn check(arrays: &[Array], expected: &[[i32; 3]]) {
    for (array, expected) in arrays.iter().zip(expected) {
        assert_eq!(array.to_vec::<i32>().unwrap(), expected);
    }
}

#[test]
fn eight_threads_with_four_streams_each_and_ten_thousand_operations_agree_with_plain_integers() {
    let streams: Arc<Vec<Stream>> = Arc::new((0..32).map(|_| new_stream(Device::cpu()).unwrap()).collect());
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let streams = streams.clone();
            // Own streams, and for every other thread all streams of all threads.
            thread::spawn(move || {
                let own = &streams[t * 4..t * 4 + 4];
                work(t as u64 + 1, if t % 2 == 0 { own } else { &streams }, 10_000);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn one_graph_evaluated_by_many_threads_at_once_is_right_for_each() {
    for round in 0..200 {
        let base = Array::from([round, 1, 2]);
        let mut chain = base.clone();
        let mut held = Vec::new();
        for i in 0..20 {
            chain = ops::add(&chain, &base);
            if i % 3 == 0 {
                held.push((chain.clone(), i + 2));
            }
        }
        let barrier = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..4)
            .map(|t| {
                let (held, barrier) = (held.clone(), barrier.clone());
                thread::spawn(move || {
                    barrier.wait();
                    let (array, factor) = &held[t % held.len()];
                    assert_eq!(array.to_vec::<i32>().unwrap(), [round * factor, *factor, 2 * factor]);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let (last, factor) = held.last().unwrap();
        assert_eq!(last.to_vec::<i32>().unwrap(), [round * factor, *factor, 2 * factor]);
    }
}

#[test]
fn thousands_of_streams_are_cheap_and_depend_on_each_other() {
    let streams: Vec<Stream> = (0..4000).map(|_| new_stream(Device::cpu()).unwrap()).collect();
    let one = Array::from([1i64]);
    let mut sum = Array::from([0i64]);
    for &stream in &streams {
        sum = with_stream(stream, || ops::add(&sum, &one));
    }
    assert_eq!(sum.item::<i64>().unwrap(), 4000);
}

#[test]
fn a_million_lazy_nodes_build_evaluate_and_drop() {
    let one = Array::from([1i32, 2]);
    let mut chain = one.clone();
    for _ in 0..1_000_000 {
        chain = ops::add(&chain, &one);
    }
    assert_eq!(chain.to_vec::<i32>().unwrap(), [1_000_001, 2_000_002]);

    // A chain that does not fuse, and one that is dropped without ever running.
    let mut chain = Array::from([1.0f32, 2.0]);
    for _ in 0..200_000 {
        chain = ops::flip(&chain, 0);
    }
    assert_eq!(chain.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    let mut dropped = one.clone();
    for _ in 0..1_000_000 {
        dropped = ops::add(&dropped, &one);
    }
    drop(dropped);
}

#[test]
fn results_of_threads_that_ended_can_be_used_elsewhere() {
    let lazy = thread::spawn(|| ops::add(&Array::from([1, 2]), 1)).join().unwrap();
    assert_eq!(lazy.to_vec::<i32>().unwrap(), [2, 3]);
    let counter = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (lazy, counter) = (lazy.clone(), counter.clone());
            thread::spawn(move || {
                let sum = ops::sum(&lazy, pellucid::Axes::All, false);
                counter.fetch_add(sum.item::<i32>().unwrap() as u64, Ordering::Relaxed);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(counter.load(Ordering::Relaxed), 40);
}
