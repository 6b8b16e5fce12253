//! Waiting for memory that running work will free.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::error::Error;
use crate::memory::work::Outstanding;

/// Makes an allocator of 1 MiB with work of its own, both under the names given.
macro_rules! with_work {
    ($central:ident, $force:ident) => {
        static $force: LazyLock<Worked> = LazyLock::new(|| Worked(Force::default(), || $central()));
        fn $central() -> &'static Central {
            static CENTRAL: LazyLock<&'static Central> = LazyLock::new(|| {
                let central = central(&Small::new(10 * MIB), || Some(&*$force));
                central.change(|a| a.limits.memory = MIB as u64);
                central
            });
            *CENTRAL
        }
    };
}

struct Worked(Force, fn() -> &'static Central);

impl Worked {
    fn end(&self) {
        self.0.done.store(true, Ordering::SeqCst);
        (self.1)().work_ended();
    }
}

impl Workforce for Worked {
    fn set_stuck(&self, stuck: bool) {
        assert!(self.1().accounts.try_lock_for(Duration::from_secs(5)).is_some());
        self.0.stuck.fetch_add(if stuck { 1 } else { u64::MAX }, Ordering::SeqCst);
    }

    fn outstanding(&self) -> Outstanding {
        assert!(self.1().accounts.try_lock_for(Duration::from_secs(5)).is_some());
        self.0.outstanding.fetch_add(1, Ordering::SeqCst);
        Outstanding::default()
    }

    fn is_left(&self, _: &Outstanding) -> bool {
        assert!(
            self.1().accounts.try_lock_for(Duration::from_secs(5)).is_some(),
            "called with the lock held"
        );
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!self.0.panics.load(Ordering::SeqCst), "told to");
        !self.0.done.load(Ordering::SeqCst)
    }
}

fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never happens");
        thread::yield_now();
    }
}

#[test]
fn every_waiter_is_woken_by_a_free() {
    with_work!(memory, WORK);
    let held = allocate(memory(), MIB).unwrap();
    let waiters: Vec<_> =
        (0..3).map(|_| thread::spawn(|| allocate(memory(), 200 * KIB).map(|held| held.bytes()))).collect();
    until(|| WORK.0.stuck.load(Ordering::SeqCst) == 3 && memory().waiters.load(Ordering::SeqCst) == 3);
    drop(held);
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap().unwrap(), 200 * KIB);
    }
    assert_eq!(WORK.0.outstanding.load(Ordering::SeqCst), 3, "once per request");
    assert_eq!(WORK.0.stuck.load(Ordering::SeqCst), 0);
    assert_eq!(memory().waiters.load(Ordering::SeqCst), 0);
}

#[test]
fn when_the_last_work_ends_a_strict_request_is_refused_and_a_relaxed_one_goes_over() {
    with_work!(memory, WORK);
    let _held = allocate(memory(), MIB).unwrap();
    for relaxed in [false, true] {
        WORK.0.done.store(false, Ordering::SeqCst);
        memory().change(|a| a.limits.relaxed = relaxed);
        let asked = WORK.0.asked.load(Ordering::SeqCst);
        let waiter = thread::spawn(|| allocate(memory(), 200 * KIB).map(|held| held.bytes()));
        until(|| WORK.0.asked.load(Ordering::SeqCst) > asked);
        WORK.end();
        match waiter.join().unwrap() {
            Ok(bytes) => assert!(relaxed && bytes == 200 * KIB),
            Err(error) => assert!(!relaxed && matches!(error, Error::Memory { requested: 204_800, .. })),
        }
    }
}

#[test]
fn a_wait_ends_within_the_wake_up_not_after_a_time_out() {
    with_work!(memory, WORK);
    for _ in 0..200 {
        let held = allocate(memory(), MIB).unwrap();
        let asked = WORK.0.asked.load(Ordering::SeqCst);
        let waiter = thread::spawn(|| {
            let start = Instant::now();
            allocate(memory(), MIB).map(|_| start.elapsed())
        });
        until(|| WORK.0.asked.load(Ordering::SeqCst) > asked);
        drop(held);
        assert!(waiter.join().unwrap().unwrap() < Duration::from_millis(900), "a wake-up was lost");
    }
}

#[test]
fn a_raised_limit_ends_a_wait() {
    with_work!(memory, WORK);
    let _held = allocate(memory(), MIB).unwrap();
    let waiter = thread::spawn(|| allocate(memory(), MIB).map(|_| ()));
    until(|| WORK.0.asked.load(Ordering::SeqCst) > 0);
    memory().change(|a| a.limits.memory = 2 * MIB as u64);
    waiter.join().unwrap().unwrap();
}

#[test]
fn a_slot_freed_while_waiting_is_used_although_no_slab_fits() {
    with_work!(memory, WORK);
    let mut held: Vec<_> = (0..256).map(|_| allocate(memory(), 4096).unwrap()).collect();
    let waiter = thread::spawn(|| allocate(memory(), 4096).map(|held| held.bytes()));
    until(|| WORK.0.asked.load(Ordering::SeqCst) > 0);
    held.pop();
    assert_eq!(waiter.join().unwrap().unwrap(), 4096);
}

#[test]
fn a_panicking_scheduler_leaves_nothing_behind() {
    with_work!(memory, WORK);
    let held = allocate(memory(), MIB).unwrap();
    WORK.0.panics.store(true, Ordering::SeqCst);
    assert!(thread::spawn(|| allocate(memory(), MIB).map(|_| ())).join().is_err());
    assert_eq!(WORK.0.stuck.load(Ordering::SeqCst), 0);
    assert_eq!(memory().waiters.load(Ordering::SeqCst), 0);
    drop(held);
    allocate(memory(), MIB).unwrap();
}

#[test]
fn a_request_in_flight_is_reserved_but_neither_active_nor_peak() {
    /// Looks at the accounts while the system is asked.
    struct Looks;
    static SEEN: parking_lot::Mutex<Vec<(u64, u64, u64, bool)>> = parking_lot::Mutex::new(Vec::new());
    static MEMORY: LazyLock<&'static Central> =
        LazyLock::new(|| Box::leak(Box::new(Central::new(Arc::new(Looks), || None))));
    impl Provider for Looks {
        fn allocate(&self, bytes: usize) -> std::result::Result<Memory, String> {
            let accounts = MEMORY.accounts();
            let (active, peak, reserved) =
                (accounts.active(), accounts.counts.peak, accounts.pools[0].reserved);
            drop(accounts);
            // Someone else has no room now.
            let refused = bytes > 300 * KIB && allocate(*MEMORY, 300 * KIB).is_err();
            SEEN.lock().push((active, peak, reserved, refused));
            Ok(Memory::Host(HostMemory::allocate(bytes).unwrap()))
        }
        fn slot_sizes(&self) -> &'static [usize] {
            Host.slot_sizes()
        }
        fn largest(&self) -> u64 {
            MIB as u64
        }
        fn budget(&self) -> u64 {
            MIB as u64
        }
    }
    drop(allocate(*MEMORY, 800 * KIB).unwrap());
    assert_eq!(*SEEN.lock(), [(0, 0, 800 * KIB as u64, true)]);
    assert_eq!(MEMORY.accounts().counts.peak, 800 * KIB as u64);
}
