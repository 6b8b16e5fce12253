//! No room: waiting for work that will free memory, and what happens when none is left.
//!
//! # Locks
//! The scheduler may drop arrays, and so free memory, while it holds its own locks. So its methods are never called
//! with the allocator's lock held.

use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::MutexGuard;

use super::accounts::{Accounts, Found};
use super::central::{CENTRAL, Central};
use super::pool::Evicted;
use super::request::Demand;
use super::work::Workforce;
use crate::error::{Error, Result};

/// Every free, change of a limit and end of work wakes the waiters. This only bounds the damage of a scheduler that
/// forgets to tell of one.
const FORGOTTEN: Duration = Duration::from_secs(1);

/// Tells allocations that wait for memory that a batch ended, or that a stream became stuck or idle. Called by the
/// scheduler after it changed what [`Workforce::is_left`] sees, under the lock that `is_left` takes, or with
/// sequentially consistent stores.
///
/// # Cost
/// One atomic load, without a fence, while nobody waits.
pub(crate) fn work_ended() {
    CENTRAL.work_ended();
}

/// Marks the thread as stuck while it lives, also when it unwinds.
struct Stuck<'a>(&'a dyn Workforce);

impl<'a> Stuck<'a> {
    fn new(workforce: &'a dyn Workforce) -> Stuck<'a> {
        workforce.set_stuck(true);
        Stuck(workforce)
    }
}

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.set_stuck(false);
    }
}

/// Counts the thread as a waiter while it lives.
struct Waiting<'a>(&'a Central);

impl<'a> Waiting<'a> {
    fn new(central: &'a Central) -> Waiting<'a> {
        central.waiters.fetch_add(1, Ordering::SeqCst);
        Waiting(central)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Central {
    pub(super) fn work_ended(&self) {
        if self.waiters.load(Ordering::SeqCst) == 0 {
            return;
        }
        self.accounts.lock().changes += 1;
        self.changed.notify_all();
    }

    /// Waits until the demand can be met or none of the work that was there at the beginning is left; then goes over
    /// the limit or refuses, as the user chose. Called without the lock.
    pub(super) fn wait_for_room(&self, pool: usize, id: u64, demand: &Demand, fresh: usize) -> Result<Found> {
        let mut evicted = Evicted::new();
        let Some(workforce) = (self.workforce)() else {
            return self.accounts.lock().last_resort(pool, id, demand, fresh, &mut evicted);
        };
        let outstanding = workforce.outstanding();
        let stuck = Stuck::new(workforce);
        let _waiting = Waiting::new(self);
        let mut accounts = self.accounts.lock();
        loop {
            if let Some(found) = accounts.find(pool, id, demand, fresh, &mut evicted) {
                accounts.served += 1;
                drop(accounts);
                drop(stuck);
                self.accounts.lock().served -= 1;
                self.work_ended();
                return Ok(found);
            }
            let changes = accounts.changes;
            let left = MutexGuard::unlocked(&mut accounts, || {
                evicted.clear();
                workforce.is_left(&outstanding)
            });
            if !left && accounts.is_quiet_since(changes) {
                // One at a time: who gives up here goes on, and may free what the others wait for.
                let turn = MutexGuard::unlocked(&mut accounts, || {
                    let turn = self.giving_up.lock();
                    (!workforce.is_left(&outstanding)).then_some(turn)
                });
                let Some(turn) = turn.filter(|_| accounts.is_quiet_since(changes)) else { continue };
                let found = accounts.last_resort(pool, id, demand, fresh, &mut evicted);
                drop(accounts);
                drop(stuck);
                drop(turn);
                return found;
            }
            // A change in the meantime may have been the last one.
            if accounts.changes == changes {
                self.changed.wait_for(&mut accounts, FORGOTTEN);
            }
        }
    }
}

impl Accounts {
    /// Whether what the scheduler said after `changes` still holds: nothing changed, and nobody who counts as stuck has
    /// got memory and is about to go on.
    fn is_quiet_since(&self, changes: u64) -> bool {
        self.changes == changes && self.served == 0
    }

    /// Nothing is left to wait for.
    fn last_resort(
        &mut self,
        pool: usize,
        id: u64,
        demand: &Demand,
        fresh: usize,
        evicted: &mut Evicted,
    ) -> Result<Found> {
        // The work that ended last may have freed what was missing.
        if let Some(found) = self.find(pool, id, demand, fresh, evicted) {
            return Ok(found);
        }
        if self.limits.relaxed {
            self.evict_all(evicted);
            return Ok(Found::Room(self.reserve(pool, fresh)));
        }
        Err(self.refusal(pool, demand, fresh))
    }

    fn refusal(&self, pool: usize, demand: &Demand, fresh: usize) -> Error {
        let (system, limit) = (self.system_bytes(), self.limits.memory);
        let (buffers, most) = (self.system_buffers(), self.limits.buffers);
        let (own, budget) = (self.pools[pool].system_bytes, self.pools[pool].provider.budget());
        let allow = "allow more with set_memory_limit(limit, relaxed = true)";
        demand.refused(if system + fresh as u64 > limit {
            let active = self.active();
            format!(
                "{active} bytes are in use, {system} with the free parts of shared blocks, and the limit is {limit}; \
                 free arrays, raise the limit with set_memory_limit, or {allow}"
            )
        } else if buffers >= most {
            format!("{buffers} system buffers are in use and the limit is {most}; free arrays, raise the limit with \
                     set_buffer_limit, or {allow}")
        } else if own + fresh as u64 > budget {
            format!("{own} bytes of this device are in use and it has {budget}; free arrays, or {allow}")
        } else {
            format!("other allocations in flight fill the limit of {limit} bytes; free arrays, or {allow}")
        })
    }
}
