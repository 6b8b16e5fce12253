//! The allocator on small systems of its own, so that every figure is known and no test sees another's memory.

mod devices;
mod events;
mod figures;
mod speed;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::central::Central;
use super::registry::{Entry, Record};
use super::request::{Demand, Request};
use super::slabs::UNIT;
use super::system::{Host, HostMemory, Memory, Provider};
use super::work::Workforce;
use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::Result;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const SLAB: u64 = super::slabs::SLAB as u64;

/// A system with a fixed amount of memory that counts what it is asked.
struct Small {
    budget: u64,
    slots: &'static [usize],
    calls: AtomicUsize,
    /// How many of the next calls fail.
    failures: AtomicUsize,
}

impl Small {
    fn new(budget: usize) -> Arc<Small> {
        let slots = Host.slot_sizes();
        Arc::new(Small { budget: budget as u64, slots, calls: 0.into(), failures: 0.into() })
    }
}

impl Provider for Small {
    fn allocate(&self, bytes: usize) -> std::result::Result<Memory, String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let failing = self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if failing.is_ok() {
            return Err("this system is exhausted".to_owned());
        }
        HostMemory::allocate(bytes).map(Memory::Host).ok_or_else(|| "no memory".to_owned())
    }

    fn slot_sizes(&self) -> &'static [usize] {
        self.slots
    }

    fn largest(&self) -> u64 {
        self.budget
    }

    fn budget(&self) -> u64 {
        self.budget
    }
}

/// An allocator that leaks, over a system of its own.
fn central(host: &Arc<Small>, workforce: fn() -> Option<&'static dyn Workforce>) -> &'static Central {
    Box::leak(Box::new(Central::new(host.clone(), workforce)))
}

/// An allocator over `budget` bytes, of which `limit` may be used; nobody runs work.
fn idle(budget: usize, limit: usize) -> (&'static Central, Arc<Small>) {
    let host = Small::new(budget);
    let central = central(&host, || None);
    central.change(|a| {
        (a.limits.memory, a.limits.cache) = (limit as u64, limit as u64);
    });
    (central, host)
}

/// A buffer of one of these allocators.
struct Held(&'static Central, &'static Entry);

impl Held {
    fn record(&self) -> &Record {
        // SAFETY: this holder refers to the entry.
        unsafe { self.1.record() }.unwrap()
    }

    fn bytes(&self) -> usize {
        self.record().bytes
    }

    fn offset(&self) -> usize {
        usize::from(self.record().offset) * UNIT
    }

    fn content(&mut self) -> &mut [u8] {
        let start = self.record().block.memory.host_ptr().unwrap();
        // SAFETY: the piece lies inside its block, and this is its only holder.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr().add(self.offset()), self.bytes()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        assert!(self.1.let_go());
        // SAFETY: the entry's only holder, of this allocator.
        unsafe { self.0.free(self.1) };
    }
}

fn demand(bytes: usize) -> Demand {
    Request { function: "test", bytes, stream: 0, site: CallSite::here() }.into()
}

fn allocate(central: &'static Central, bytes: usize) -> Result<Held> {
    central.allocate(&demand(bytes)).map(|entry| Held(central, entry))
}

/// Active, cached and system bytes.
fn figures(central: &Central) -> (u64, u64, u64) {
    let accounts = central.accounts();
    (accounts.active(), accounts.cached(), accounts.system_bytes())
}

/// Work that is left until told otherwise, and says what it was asked.
#[derive(Default)]
struct Force {
    done: AtomicBool,
    panics: AtomicBool,
    asked: AtomicUsize,
    outstanding: AtomicUsize,
    stuck: AtomicU64,
}
