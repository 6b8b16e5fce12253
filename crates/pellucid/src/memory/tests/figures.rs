//! Figures, reuse, eviction and limits without anyone to wait for.

use super::*;
use crate::error::Error;

#[test]
fn figures_follow_every_step() {
    let (central, host) = idle(10 * MIB, 8 * MIB);
    let a = allocate(central, 8 * KIB).unwrap();
    assert_eq!(figures(central), (8192, 0, 8192));
    let b = allocate(central, 5000).unwrap();
    assert_eq!(figures(central), (16384, 0, 16384), "whole pages");
    drop(a);
    assert_eq!(figures(central), (8192, 8192, 16384));
    let c = allocate(central, 4097).unwrap();
    assert_eq!(figures(central), (16384, 0, 16384), "reused");
    let d = allocate(central, 3).unwrap();
    assert_eq!(figures(central), (16400, 0, 16384 + SLAB), "a slot of a new slab");
    drop((b, c, d));
    assert_eq!(figures(central), (0, 16384 + SLAB, 16384 + SLAB));
    assert_eq!(central.accounts().counts.peak, 16400);
    assert_eq!(central.accounts().counts.peak_total, 16384 + SLAB);
    central.accounts().reset_peak();
    assert_eq!(central.accounts().counts.peak, 0);
    central.clear_cache();
    assert_eq!(figures(central), (0, 0, 0));
    let counts = &central.accounts().counts;
    assert_eq!((counts.requests, counts.reuses, host.calls.load(Ordering::Relaxed)), (4, 1, 3));
}

#[test]
fn a_block_serves_requests_of_half_its_size_and_large_ones_two_pages_less() {
    let (central, _) = idle(64 * MIB, 64 * MIB);
    let served = |block: usize, request: usize| {
        drop(allocate(central, block).unwrap());
        let reuses = central.accounts().counts.reuses;
        drop(allocate(central, request).unwrap());
        let reused = central.accounts().counts.reuses > reuses;
        central.clear_cache();
        reused
    };
    let block = 400 * KIB;
    assert!(served(block, block) && served(block, block / 2));
    assert!(!served(block, block / 2 - 1) && !served(block, block + 1));
    let block = 3 * MIB;
    assert!(served(block, block) && served(block, block - 8 * KIB));
    assert!(!served(block, block - 8 * KIB - 1) && !served(block, block / 2));
    // Just below 1 MiB the rule of two holds, and nothing above is rounded to a power of two.
    assert!(served(MIB + 512 * KIB, MIB - 1) && !served(MIB + 512 * KIB, MIB));
    assert_eq!(allocate(central, 5 * MIB + 1).unwrap().bytes(), 5 * MIB + 4 * KIB);
}

#[test]
fn the_best_fit_is_taken_and_of_equal_ones_the_youngest() {
    let (central, _) = idle(64 * MIB, 64 * MIB);
    let held = [120, 104, 100, 100].map(|kib| allocate(central, kib * KIB).unwrap());
    let numbers = held.each_ref().map(|h| std::sync::Arc::as_ptr(&h.record().block) as usize);
    drop(held);
    let taken = [(); 4].map(|_| allocate(central, 100 * KIB).unwrap());
    let taken = taken.each_ref().map(|h| std::sync::Arc::as_ptr(&h.record().block) as usize);
    assert_eq!(taken, [numbers[3], numbers[2], numbers[1], numbers[0]]);
}

#[test]
fn the_longest_unused_goes_first_whatever_its_size() {
    let (central, _) = idle(64 * MIB, 64 * MIB);
    let sizes = [40, 12, 400, 12, 80];
    let held = sizes.map(|kib| allocate(central, kib * KIB).unwrap());
    // An empty slab takes its turn like any block.
    let small = allocate(central, 16).unwrap();
    let [a, b, c, d, e] = held;
    drop((c, a, small, d));
    drop((e, b));
    let cached = || figures(central).1;
    let mut expected = cached();
    for size in [400 * KIB, 40 * KIB, SLAB as usize, 12 * KIB, 80 * KIB, 12 * KIB] {
        central.change(|a| a.limits.cache = expected - 1);
        expected -= size as u64;
        assert_eq!(cached(), expected);
    }
    assert_eq!(figures(central), (0, 0, 0));
}

#[test]
fn reuse_makes_a_block_young_again() {
    let (central, _) = idle(MIB, MIB);
    drop([20, 40].map(|kib| allocate(central, kib * KIB).unwrap()));
    drop(allocate(central, 20 * KIB).unwrap());
    central.change(|a| a.limits.cache = 20 * KIB as u64);
    assert_eq!(figures(central).1, 20 * KIB as u64);
}

#[test]
fn a_block_larger_than_the_cache_goes_straight_back_and_the_rest_stays() {
    let (central, _) = idle(64 * MIB, 64 * MIB);
    central.change(|a| a.limits.cache = 100 * KIB as u64);
    let (small, large) = (allocate(central, 60 * KIB).unwrap(), allocate(central, MIB).unwrap());
    drop(small);
    drop(large);
    assert_eq!(figures(central), (0, 60 * KIB as u64, 60 * KIB as u64));
    drop(allocate(central, 100 * KIB).unwrap());
    assert_eq!(
        figures(central),
        (0, 100 * KIB as u64, 100 * KIB as u64),
        "one that fits pushes the older out"
    );
    central.change(|a| a.limits.cache = 0);
    drop(allocate(central, 16).unwrap());
    assert_eq!(figures(central), (0, 0, 0), "no slab is kept either");
}

#[test]
fn one_small_buffer_again_and_again_asks_the_system_once() {
    let (central, host) = idle(MIB, MIB);
    for _ in 0..100 {
        drop(allocate(central, 16).unwrap());
        assert_eq!(figures(central), (0, SLAB, SLAB));
    }
    assert_eq!(host.calls.load(Ordering::Relaxed), 1);
    // Of two empty slabs of one size, the second is a plain block, for whoever needs one.
    let held: Vec<_> = (0..4097).map(|_| allocate(central, 16).unwrap()).collect();
    drop(held);
    assert_eq!(figures(central), (0, 2 * SLAB, 2 * SLAB));
    drop((allocate(central, 60 * KIB).unwrap(), allocate(central, 16).unwrap()));
    assert_eq!(host.calls.load(Ordering::Relaxed), 2);
}

#[test]
fn the_limit_sees_whole_slabs() {
    let (central, _) = idle(10 * MIB, 3 * 64 * KIB);
    let held: Vec<_> = (0..3 * 16).map(|_| allocate(central, 4096).unwrap()).collect();
    assert!(matches!(allocate(central, 4096), Err(Error::Memory { requested: 4096, .. })));
    drop(held);
    let _one = allocate(central, 16).unwrap();
    let _two = allocate(central, 32).unwrap();
    let _three = allocate(central, 64).unwrap();
    let error = allocate(central, 128).err().unwrap();
    assert!(error.to_string().contains("112 bytes are in use, 196608 with"), "{error}");
}

#[test]
fn a_request_above_a_strict_limit_fails_at_once_and_leaves_the_cache() {
    let (central, host) = idle(10 * MIB, MIB);
    drop(allocate(central, 512 * KIB).unwrap());
    assert!(matches!(allocate(central, MIB + 1), Err(Error::Memory { .. })));
    assert!(matches!(allocate(central, usize::MAX), Err(Error::Memory { .. })));
    assert_eq!(figures(central).1, 512 * KIB as u64);
    assert_eq!(host.calls.load(Ordering::Relaxed), 1);
    // Relaxed goes over, and keeps nothing while it is over.
    central.change(|a| a.limits.relaxed = true);
    let over = allocate(central, 2 * MIB).unwrap();
    assert_eq!(figures(central), (2 * MIB as u64, 0, 2 * MIB as u64));
    drop(over);
    assert_eq!(figures(central), (0, 0, 0));
}

#[test]
fn a_limit_lowered_below_what_is_cached_takes_effect_at_once() {
    let (central, _) = idle(10 * MIB, 10 * MIB);
    let held = allocate(central, MIB).unwrap();
    drop((allocate(central, 2 * MIB).unwrap(), allocate(central, 100 * KIB).unwrap()));
    central.change(|a| a.limits.memory = MIB as u64 + 200 * KIB as u64);
    assert_eq!(figures(central), (MIB as u64, 100 * KIB as u64, MIB as u64 + 100 * KIB as u64));
    central.change(|a| a.limits.memory = 1);
    drop(held);
    assert_eq!(figures(central), (0, 0, 0));
}

#[test]
fn the_number_of_system_buffers_is_bounded_like_the_bytes() {
    let (central, _) = idle(10 * MIB, 10 * MIB);
    central.change(|a| a.limits.buffers = 2);
    let a = allocate(central, 8 * KIB).unwrap();
    drop(allocate(central, 80 * KIB).unwrap());
    let b = allocate(central, 300 * KIB).unwrap();
    assert_eq!(figures(central).1, 0, "the cache was evicted for it");
    let error = allocate(central, 16).err().unwrap();
    assert!(error.to_string().contains("2 system buffers are in use and the limit is 2"), "{error}");
    central.change(|a| a.limits.relaxed = true);
    let c = allocate(central, 16).unwrap();
    assert_eq!(central.accounts().system_buffers(), 3);
    drop((a, b, c));
    assert_eq!(central.accounts().system_buffers(), 2, "what exceeds the limit is not kept");
}

#[test]
fn a_system_that_fails_is_asked_again_without_the_cache_and_then_believed() {
    let (central, host) = idle(10 * MIB, 10 * MIB);
    drop(allocate(central, MIB).unwrap());
    host.failures.store(1, Ordering::Relaxed);
    let held = allocate(central, 64 * KIB).unwrap();
    assert_eq!(figures(central), (64 * KIB as u64, 0, 64 * KIB as u64));
    host.failures.store(2, Ordering::Relaxed);
    let error = allocate(central, MIB).err().unwrap();
    assert!(error.to_string().contains("this system is exhausted"), "{error}");
    assert_eq!(figures(central), (64 * KIB as u64, 0, 64 * KIB as u64), "nothing stays reserved");
    assert_eq!(central.accounts().pools[0].reserved, 0);
    drop(held);
    allocate(central, MIB).unwrap();
}

#[test]
fn random_buffers_never_overlap_and_the_figures_add_up() {
    let limit = 2 * MIB;
    let (central, _) = idle(10 * MIB, limit);
    central.change(|a| a.limits.cache = 300 * KIB as u64);
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut held: Vec<(Held, u8)> = Vec::new();
    for step in 0..30_000 {
        let bytes = 1 + match below(4) {
            0 => below(64),
            1 => below(5000),
            2 => below(64 * KIB),
            _ => below(600),
        };
        match allocate(central, bytes) {
            Ok(mut new) => {
                let mark = step as u8;
                assert!(new.bytes() >= bytes && new.bytes() <= 2 * bytes.max(8));
                assert!(new.offset().is_multiple_of(if new.bytes() >= 64 { 64 } else { 16 }));
                new.content().fill(mark);
                held.push((new, mark));
            }
            Err(error) => {
                assert!(matches!(error, Error::Memory { .. }));
                held.truncate(held.len() / 2);
            }
        }
        if below(5) < 2 && !held.is_empty() {
            let (mut old, mark) = held.swap_remove(below(held.len()));
            assert!(old.content().iter().all(|&byte| byte == mark));
        }
        let (active, cached, system) = figures(central);
        assert_eq!(active, held.iter().map(|(h, _)| h.bytes() as u64).sum::<u64>());
        assert!(active + cached <= system && system <= limit as u64 && cached <= 300 * KIB as u64);
    }
    drop(held);
    central.clear_cache();
    assert_eq!(figures(central), (0, 0, 0));
    assert_eq!(central.accounts().registry.live(), 0);
}
