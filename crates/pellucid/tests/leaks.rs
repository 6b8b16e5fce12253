//! What stays when it is over: memory is counted by the allocator itself, so that nothing is missed.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use pellucid::{Array, Device, new_stream, ops, synchronize, with_stream};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: the system's allocator, which keeps the rules; counting changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that each of many calls leaves behind, after some that warm up.
fn left_by(count: isize, mut call: impl FnMut()) -> isize {
    (0..count).for_each(|_| call());
    let before = LIVE.load(Ordering::Relaxed);
    (0..count).for_each(|_| call());
    (LIVE.load(Ordering::Relaxed) - before) / count
}

fn work() {
    let x = ops::add(&Array::from([1.0f32, 2.0]), 1.0);
    assert_eq!(ops::matmul(&x, &x).item::<f32>().unwrap(), 13.0);
}

/// One test: others in this process would be counted too.
#[test]
fn streams_threads_and_evaluations_leave_next_to_nothing_behind() {
    let evaluation = left_by(2000, work);
    assert!(evaluation <= 0, "{evaluation} bytes for each evaluation");
    // A stream lives as long as the process, so that a handle is a plain reference. When it has nothing to do, it is a
    // label, an empty queue and a place in the list.
    let stream = left_by(2000, || {
        let stream = new_stream(Device::cpu()).unwrap();
        with_stream(stream, work);
        synchronize(stream).unwrap();
    });
    assert!(stream < 330, "{stream} bytes for each used stream");
    let thread = left_by(300, || {
        std::thread::spawn(|| with_stream(new_stream(Device::cpu()).unwrap(), work)).join().unwrap();
    });
    assert!(thread < 400, "{thread} bytes for each thread with a stream of its own");
    let thread = left_by(300, || std::thread::spawn(work).join().unwrap());
    assert!(thread < 50, "{thread} bytes for each thread");
}
