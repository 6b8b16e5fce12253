//! Handing out memory and taking it back: reuse, else room under the limits, else the system.
//!
//! One lock guards all figures and pools, so every figure is exact at every moment. The system is asked for memory, and
//! gets it back, outside the lock. What happens when there is no room is in [`super::wait`].

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::accounts::{Accounts, Found};
use super::block::Block;
use super::pool::Evicted;
use super::registry::Entry;
use super::request::Demand;
use super::system::{Host, Provider};
use super::work::{Workforce, workforce};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::fork;

pub(super) struct Central {
    pub(super) accounts: Mutex<Accounts>,
    /// Memory was freed, a limit was changed, or work ended.
    pub(super) changed: Condvar,
    /// Threads that wait for memory.
    pub(super) waiters: AtomicUsize,
    /// Held by the one that gives up waiting.
    pub(super) giving_up: Mutex<()>,
    /// Who runs work.
    pub(super) workforce: fn() -> Option<&'static dyn Workforce>,
    next_id: AtomicU64,
}

pub(super) static CENTRAL: LazyLock<Central> = LazyLock::new(|| {
    fork::introduce(fork::Name::Memory, fork::Part { is_quiet, in_child });
    Central::new(Arc::new(Host), workforce)
});

/// Only threads that use the library, and work on streams, take the lock: others look after them.
fn is_quiet() -> bool {
    true
}

/// In a child that is cut off, figures can still be read: nobody else is there to change them.
fn in_child(quiet: bool) {
    if !quiet {
        // SAFETY: the child has no other thread. What the lock guards is only read from now on.
        unsafe { fork::renew(&CENTRAL.accounts) };
    }
}

impl Central {
    pub fn new(host: Arc<dyn Provider>, workforce: fn() -> Option<&'static dyn Workforce>) -> Central {
        Central {
            accounts: Mutex::new(Accounts::new(host)),
            changed: Condvar::new(),
            waiters: AtomicUsize::new(0),
            giving_up: Mutex::new(()),
            workforce,
            next_id: AtomicU64::new(1),
        }
    }

    pub fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock()
    }

    /// Adds a device; one that is there already stays as it is.
    #[cfg_attr(not(test), allow(dead_code, reason = "for GPU backends"))]
    pub fn register(&self, device: Device, provider: Arc<dyn Provider>) {
        self.accounts.lock().add_device(device, provider);
    }

    /// Changes limits, and gives what exceeds them back to the system.
    pub fn change<R>(&self, change: impl FnOnce(&mut Accounts) -> R) -> R {
        let mut evicted = Evicted::new();
        let mut accounts = self.accounts.lock();
        let result = change(&mut accounts);
        accounts.trim(&mut evicted);
        accounts.changes += 1;
        drop(accounts);
        self.changed.notify_all();
        result
    }

    /// Empties the cache.
    pub fn clear_cache(&self) {
        let mut evicted = Evicted::new();
        self.accounts.lock().evict_all(&mut evicted);
    }

    /// A number that no buffer has yet.
    pub fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub fn allocate(&self, demand: &Demand) -> Result<&'static Entry> {
        fork::note_user();
        fork::check(demand.request.function)?;
        let id = self.new_id();
        let mut evicted = Evicted::new();
        let mut accounts = self.accounts.lock();
        let pool = accounts.position(demand)?;
        accounts.counts.requests += 1;
        let fresh = accounts.check(pool, demand)?;
        let found = accounts.find(pool, id, demand, fresh, &mut evicted);
        drop(accounts);
        drop(evicted);
        let found = match found {
            Some(found) => found,
            None => self.wait_for_room(pool, id, demand, fresh)?,
        };
        match found {
            Found::Reused(entry) => Ok(entry),
            Found::Room(provider) => self.obtain(pool, id, demand, fresh, &*provider),
        }
    }

    /// Asks the system for memory, for which there is a reservation.
    fn obtain(
        &self,
        pool: usize,
        id: u64,
        demand: &Demand,
        fresh: usize,
        provider: &dyn Provider,
    ) -> Result<&'static Entry> {
        let mut memory = provider.allocate(fresh);
        if memory.is_err() {
            // What is kept may be what the system lacks.
            self.clear_cache();
            memory = provider.allocate(fresh);
        }
        let block = memory.map(|memory| Block::new(memory, fresh));
        let mut accounts = self.accounts.lock();
        accounts.unreserve(pool, fresh);
        let entry = match block {
            Ok(block) => accounts.grant_new(pool, id, demand, block),
            Err(reason) => {
                let active = accounts.active();
                Err(demand.refused(format!("{reason}; {active} bytes are in use: free arrays")))
            }
        };
        if entry.is_err() {
            // The room it had is free for others.
            accounts.changes += 1;
            drop(accounts);
            self.changed.notify_all();
        }
        entry
    }

    /// Takes a buffer's memory back.
    ///
    /// # Safety
    /// The entry was made by this allocator's [`Central::allocate`], its last holder let go of it, and this is called
    /// once for that.
    pub unsafe fn free(&self, entry: &'static Entry) {
        fork::note_user();
        if fork::is_cut_off() {
            // The child ends soon, and its memory with it.
            return;
        }
        let mut evicted = Evicted::new();
        let mut accounts = self.accounts.lock();
        // SAFETY: the caller's promise.
        unsafe { accounts.free(entry, &mut evicted) };
        accounts.changes += 1;
        drop(accounts);
        // A waiter counts itself before it looks at the accounts, so it is seen here or saw this change itself.
        if self.waiters.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }
}

impl Accounts {
    /// The pool of a demand's device.
    fn position(&self, demand: &Demand) -> Result<usize> {
        self.pools.iter().position(|pool| pool.device == demand.device).ok_or_else(|| {
            Error::device(demand.request.function, demand.device, "no memory is registered for this device")
        })
    }
}
