//! The accounts: what is active, cached and allowed, and what happens when it is too much.
//!
//! One lock guards the figures and the pool, so every figure is exact at every moment. The system is asked for memory,
//! and gets it back, outside the lock.

use std::cell::Cell;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::pool::{Block, Origin, Owner, Pool, SLAB, is_small, rounded};
use super::system::{HostMemory, total_ram};
use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::observe::{MemoryAction, MemoryEvent, observer};

/// What is asked for, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub function: &'static str,
    pub bytes: usize,
    pub stream: u32,
    pub site: CallSite,
}

/// Memory handed out: at `ptr`, `bytes` long.
pub(super) struct Grant {
    pub id: u64,
    pub ptr: NonNull<u8>,
    pub bytes: usize,
    pub origin: Origin,
}

pub(super) struct Accounts {
    pub pool: Pool<HostMemory>,
    pub active: u64,
    pub peak: u64,
    pub peak_total: u64,
    pub limit: u64,
    pub relaxed: bool,
    pub cache_limit: u64,
    pub buffers: u64,
    pub requests: u64,
    pub reuses: u64,
    /// Blocks in use, by buffer number; slots are listed by their slab.
    pub blocks: HashMap<u64, (HostMemory, Owner)>,
    /// Active bytes of each stream.
    pub streams: Vec<u64>,
    /// Threads that run work and wait for memory.
    waiting: usize,
}

pub(super) struct Central {
    accounts: Mutex<Accounts>,
    /// Memory was freed or running work ended.
    changed: Condvar,
    /// Threads that run work now, waiting ones included.
    running: AtomicUsize,
    next_id: AtomicU64,
}

pub(super) static CENTRAL: LazyLock<Central> = LazyLock::new(|| {
    let limit = total_ram() / 10 * 8;
    Central {
        accounts: Mutex::new(Accounts {
            pool: Pool::new(),
            active: 0,
            peak: 0,
            peak_total: 0,
            limit,
            relaxed: false,
            cache_limit: limit / 16,
            buffers: 0,
            requests: 0,
            reuses: 0,
            blocks: HashMap::new(),
            streams: Vec::new(),
            waiting: 0,
        }),
        changed: Condvar::new(),
        running: AtomicUsize::new(0),
        next_id: AtomicU64::new(1),
    }
});

thread_local! {
    static RUNS_WORK: Cell<u32> = const { Cell::new(0) };
}

/// Marks this thread as running work: allocations elsewhere may wait for the memory it will free.
pub(crate) struct Working(());

impl Working {
    pub fn start() -> Working {
        RUNS_WORK.set(RUNS_WORK.get() + 1);
        CENTRAL.running.fetch_add(1, Ordering::Relaxed);
        Working(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        RUNS_WORK.set(RUNS_WORK.get() - 1);
        CENTRAL.running.fetch_sub(1, Ordering::Relaxed);
        CENTRAL.changed.notify_all();
    }
}

impl Accounts {
    fn event(&self, action: MemoryAction, buffer: u64, bytes: usize) {
        if let Some(observer) = observer() {
            let (active, cache, peak) = (self.active, self.pool.cached_bytes(), self.peak);
            observer.memory(&MemoryEvent { action, buffer, bytes: bytes as u64, active, cache, peak });
        }
    }

    /// Counts bytes as in use.
    fn activate(&mut self, owner: &Owner) {
        self.active += owner.bytes;
        self.buffers += 1;
        let stream = owner.stream as usize;
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, 0);
        }
        self.streams[stream] += owner.bytes;
        self.peak = self.peak.max(self.active);
        self.peak_total = self.peak_total.max(self.active + self.pool.cached_bytes());
    }

    fn deactivate(&mut self, owner: &Owner) {
        self.active -= owner.bytes;
        self.buffers -= 1;
        self.streams[owner.stream as usize] -= owner.bytes;
    }

    /// Evicts from the cache, oldest first, while `too_much` says so.
    fn evict_while(&mut self, too_much: impl Fn(&Accounts) -> bool) -> Vec<HostMemory> {
        let mut evicted = Vec::new();
        while too_much(self) {
            let Some(memory) = self.pool.evict() else { break };
            self.event(MemoryAction::Evict, 0, memory.bytes());
            evicted.push(memory);
        }
        evicted
    }
}

impl Central {
    pub fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock()
    }

    /// Changes a limit or clears the cache, and gives evicted memory back to the system.
    pub fn change<R>(&self, change: impl FnOnce(&mut Accounts) -> R) -> R {
        let mut accounts = self.accounts.lock();
        let result = change(&mut accounts);
        let evicted = accounts.evict_while(|a| {
            let cached = a.pool.cached_bytes();
            cached > a.cache_limit || a.active + cached > a.limit
        });
        drop(accounts);
        self.changed.notify_all();
        evicted.into_iter().for_each(HostMemory::free);
        result
    }

    /// Empties the cache.
    pub fn clear_cache(&self) {
        let evicted = self.accounts.lock().evict_while(|_| true);
        evicted.into_iter().for_each(HostMemory::free);
    }

    pub fn allocate(&self, request: Request) -> Result<Grant> {
        let size = rounded(request.bytes);
        let owner = Owner { bytes: size as u64, stream: request.stream, site: request.site };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut accounts = self.accounts.lock();
        accounts.requests += 1;
        if let Some(grant) = take_cached(&mut accounts, id, owner) {
            accounts.reuses += 1;
            return Ok(grant);
        }
        // A new slab costs its whole size once; its slots cost nothing more.
        let fresh = if is_small(size) { SLAB } else { size };
        self.make_room(&mut accounts, &request, fresh)?;
        // Waiting may have brought something into the cache.
        if let Some(grant) = take_cached(&mut accounts, id, owner) {
            accounts.reuses += 1;
            return Ok(grant);
        }
        // Reserved before the lock is released, so that no other thread counts on the same room.
        accounts.active += fresh as u64;
        let memory = MutexGuard::unlocked(&mut accounts, || HostMemory::allocate(fresh));
        accounts.active -= fresh as u64;
        let Some(memory) = memory else {
            let message = "the system has no more memory; free arrays or call clear_cache".to_owned();
            return Err(refused(&request, message));
        };
        accounts.pool.count_new(fresh);
        if is_small(size) {
            accounts.pool.add_slab(size, memory);
            take_slot(&mut accounts, id, owner, MemoryAction::Allocate)
                .ok_or_else(|| Error::internal("allocate", "a new slab has no free slot"))
        } else {
            Ok(grant_block(&mut accounts, id, owner, memory, MemoryAction::Allocate))
        }
    }

    /// Evicts, then waits, until `fresh` more bytes fit the limit.
    fn make_room(
        &self,
        accounts: &mut MutexGuard<'_, Accounts>,
        request: &Request,
        fresh: usize,
    ) -> Result<()> {
        let fresh = fresh as u64;
        if fresh > total_ram() {
            let message = format!("the machine has {} bytes of memory in all", total_ram());
            return Err(refused(request, message));
        }
        loop {
            let fits = |a: &Accounts| a.active + a.pool.cached_bytes() + fresh <= a.limit;
            let evicted = accounts.evict_while(|a| !fits(a));
            if !evicted.is_empty() {
                MutexGuard::unlocked(accounts, || evicted.into_iter().for_each(HostMemory::free));
            }
            if fits(accounts) {
                return Ok(());
            }
            let own = usize::from(RUNS_WORK.get() > 0);
            let others = self.running.load(Ordering::Relaxed).saturating_sub(own + accounts.waiting);
            if others > 0 {
                accounts.waiting += own;
                // Woken by every free and every end of work; the time-out only guards against a missed wake-up.
                self.changed.wait_for(accounts, Duration::from_millis(20));
                accounts.waiting -= own;
            } else if accounts.relaxed {
                return Ok(());
            } else {
                let (active, limit) = (accounts.active, accounts.limit);
                let message = format!(
                    "{active} bytes are in use and the limit is {limit}; free arrays, raise the limit with \
                     set_memory_limit, or allow more with relaxed = true"
                );
                return Err(refused(request, message));
            }
        }
    }

    pub fn free(&self, id: u64, origin: Origin) {
        let mut accounts = self.accounts.lock();
        let owner = match origin {
            Origin::Slot { slab, slot } => accounts.pool.put_slot(slab, slot),
            Origin::Block => accounts.blocks.remove(&id).map(|(memory, owner)| {
                accounts.pool.put_block(memory);
                owner
            }),
        };
        let Some(owner) = owner else { return };
        accounts.deactivate(&owner);
        accounts.event(MemoryAction::Free, id, owner.bytes as usize);
        let evicted = accounts.evict_while(|a| a.pool.cached_bytes() > a.cache_limit);
        let waited_for = accounts.waiting > 0;
        drop(accounts);
        if waited_for {
            self.changed.notify_all();
        }
        evicted.into_iter().for_each(HostMemory::free);
    }
}

fn refused(request: &Request, message: String) -> Error {
    Error::Memory {
        function: request.function,
        device: Device::cpu(),
        requested: request.bytes as u64,
        message,
    }
}

fn take_cached(accounts: &mut Accounts, id: u64, owner: Owner) -> Option<Grant> {
    let size = owner.bytes as usize;
    if is_small(size) {
        if let Some(grant) = take_slot(accounts, id, owner, MemoryAction::Reuse) {
            return Some(grant);
        }
        let slab = accounts.pool.take_block(SLAB)?;
        accounts.pool.add_slab(size, slab);
        return take_slot(accounts, id, owner, MemoryAction::Reuse);
    }
    let memory = accounts.pool.take_block(size)?;
    Some(grant_block(accounts, id, owner, memory, MemoryAction::Reuse))
}

fn take_slot(accounts: &mut Accounts, id: u64, owner: Owner, action: MemoryAction) -> Option<Grant> {
    let (memory, offset, origin) = accounts.pool.take_slot(owner)?;
    // SAFETY: the slot lies inside its slab.
    let ptr = unsafe { memory.ptr().add(offset) };
    accounts.activate(&owner);
    accounts.event(action, id, owner.bytes as usize);
    Some(Grant { id, ptr, bytes: owner.bytes as usize, origin })
}

fn grant_block(
    accounts: &mut Accounts,
    id: u64,
    owner: Owner,
    memory: HostMemory,
    action: MemoryAction,
) -> Grant {
    let (ptr, bytes) = (memory.ptr(), memory.bytes());
    // A reused block counts with its own size: that is what the array holds.
    let owner = Owner { bytes: bytes as u64, ..owner };
    accounts.blocks.insert(id, (memory, owner));
    accounts.activate(&owner);
    accounts.event(action, id, bytes);
    Grant { id, ptr, bytes, origin: Origin::Block }
}
