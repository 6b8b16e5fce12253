//! The ledger: what is in use, kept and allowed, over all devices.
//!
//! The limits are shared by all devices, because a unified or software GPU uses the same memory as the processor; what
//! belongs to one device is in its [`Pool`].

use std::sync::Arc;

use super::block::Block;
use super::pool::{Evicted, Piece, Pool};
use super::registry::{Entry, Record, Registry};
use super::request::Demand;
use super::system::Provider;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::observe::{MemoryAction, MemoryEvent, Observer, Watch, observer};

/// What the user allows.
pub(super) struct Limits {
    /// Bytes obtained from the systems in all.
    pub memory: u64,
    /// Whether `memory` and `buffers` may be exceeded when nothing is left to wait for.
    pub relaxed: bool,
    /// Bytes kept for reuse.
    pub cache: u64,
    /// Blocks obtained from the systems in all.
    pub buffers: u64,
}

/// What has happened so far.
#[derive(Default)]
pub(super) struct Counts {
    pub requests: u64,
    pub reuses: u64,
    /// The most active bytes.
    pub peak: u64,
    /// The most bytes obtained from the systems.
    pub peak_total: u64,
}

pub(super) struct Accounts {
    /// One for each device; the processor's is the first.
    pub pools: Vec<Pool>,
    pub limits: Limits,
    pub counts: Counts,
    /// Active bytes of each stream.
    pub streams: Vec<u64>,
    pub registry: Registry,
    /// Counts what waiters wait for.
    pub changes: u64,
    /// Waiters that have got memory and still count as stuck.
    pub served: usize,
    /// Sees every change in place of the process's observer.
    #[cfg(test)]
    pub stand_in: Option<Arc<dyn Observer>>,
    /// Counts frees, for the cache's order by age over all devices.
    clock: u64,
}

/// How a demand is met.
pub(super) enum Found {
    /// By memory that was there.
    Reused(&'static Entry),
    /// By new memory; the room for it is reserved.
    Room(Arc<dyn Provider>),
}

impl Accounts {
    pub fn new(host: Arc<dyn Provider>) -> Accounts {
        let memory = host.budget() / 10 * 8;
        Accounts {
            pools: vec![Pool::new(Device::cpu(), host)],
            limits: Limits { memory, relaxed: false, cache: memory / 16, buffers: 400_000 },
            counts: Counts::default(),
            streams: Vec::new(),
            registry: Registry::new(),
            changes: 0,
            served: 0,
            #[cfg(test)]
            stand_in: None,
            clock: 0,
        }
    }

    pub fn add_device(&mut self, device: Device, provider: Arc<dyn Provider>) {
        if self.pools.iter().all(|pool| pool.device != device) {
            self.pools.push(Pool::new(device, provider));
        }
    }

    pub fn active(&self) -> u64 {
        self.pools.iter().map(|p| p.active).sum()
    }

    pub fn cached(&self) -> u64 {
        self.pools.iter().map(Pool::cached_bytes).sum()
    }

    pub fn system_bytes(&self) -> u64 {
        self.pools.iter().map(|p| p.system_bytes).sum()
    }

    pub fn system_buffers(&self) -> u64 {
        self.pools.iter().map(|p| p.system_buffers).sum()
    }

    pub fn reset_peak(&mut self) {
        (self.counts.peak, self.counts.peak_total) = (0, self.system_bytes());
    }

    pub fn restore_peaks(&mut self, (peak, total): (u64, u64)) {
        self.counts.peak = peak.max(self.active());
        self.counts.peak_total = total.max(self.system_bytes());
    }

    /// The bytes to ask the system for, unless there can never be room for them.
    pub fn check(&self, pool: usize, demand: &Demand) -> Result<usize> {
        let bytes = demand.request.bytes;
        let provider = &self.pools[pool].provider;
        let (largest, budget) = (provider.largest(), provider.budget());
        if bytes as u64 > largest {
            return Err(
                demand.refused(format!("the largest piece of memory there can be is {largest} bytes"))
            );
        }
        let fresh = self.pools[pool].fresh_bytes(bytes);
        let most = self.limits.memory.min(budget);
        // A slot may fit a slab that is there, whatever the limit.
        if !self.limits.relaxed && bytes as u64 > most {
            let message = format!(
                "the limit is {most}; raise it with set_memory_limit, or allow more with relaxed = true"
            );
            return Err(demand.refused(message));
        }
        Ok(fresh)
    }

    /// Meets a demand by what is there, or by room for `fresh` bytes, for which the cache is evicted as far as it
    /// must be.
    pub fn find(
        &mut self,
        pool: usize,
        id: u64,
        demand: &Demand,
        fresh: usize,
        evicted: &mut Evicted,
    ) -> Option<Found> {
        if let Some(piece) = self.pools[pool].take(demand.request.bytes) {
            self.counts.reuses += 1;
            return Some(Found::Reused(self.grant(pool, id, demand, piece, MemoryAction::Reuse)));
        }
        self.make_room(pool, fresh, evicted).then(|| Found::Room(self.reserve(pool, fresh)))
    }

    fn make_room(&mut self, pool: usize, fresh: usize, evicted: &mut Evicted) -> bool {
        let fresh = fresh as u64;
        if fresh > self.limits.memory || fresh > self.pools[pool].provider.budget() {
            // No eviction would help.
            return false;
        }
        while !self.fits(fresh, 1) {
            if !self.evict_oldest(evicted) {
                return false;
            }
        }
        while !self.pools[pool].fits(fresh) {
            if !self.evict_from(pool, evicted) {
                return false;
            }
        }
        true
    }

    /// Whether so much more stays within the limits that all devices share.
    fn fits(&self, bytes: u64, buffers: u64) -> bool {
        let (mut all_bytes, mut all_buffers) = (bytes, buffers);
        for pool in &self.pools {
            all_bytes += pool.system_bytes + pool.reserved;
            all_buffers += pool.system_buffers + pool.reserved_buffers;
        }
        all_bytes <= self.limits.memory && all_buffers <= self.limits.buffers
    }

    /// Takes room for a call to the system, so that no other thread counts on it.
    pub fn reserve(&mut self, pool: usize, fresh: usize) -> Arc<dyn Provider> {
        let pool = &mut self.pools[pool];
        pool.reserved += fresh as u64;
        pool.reserved_buffers += 1;
        pool.provider.clone()
    }

    pub fn unreserve(&mut self, pool: usize, fresh: usize) {
        let pool = &mut self.pools[pool];
        pool.reserved -= fresh as u64;
        pool.reserved_buffers -= 1;
    }

    /// Makes a buffer of a block the system just gave.
    pub fn grant_new(
        &mut self,
        pool: usize,
        id: u64,
        demand: &Demand,
        block: Arc<Block>,
    ) -> Result<&'static Entry> {
        let piece = self.pools[pool]
            .take_new(demand.request.bytes, block)
            .ok_or_else(|| Error::internal("allocate", "a new slab has no free slot"))?;
        self.counts.peak_total = self.counts.peak_total.max(self.system_bytes());
        Ok(self.grant(pool, id, demand, piece, MemoryAction::Allocate))
    }

    /// A reused block counts with its own size: that is what the array holds.
    fn grant(
        &mut self,
        pool: usize,
        id: u64,
        demand: &Demand,
        piece: Piece,
        action: MemoryAction,
    ) -> &'static Entry {
        let request = &demand.request;
        let bytes = piece.bytes as u64;
        self.pools[pool].active += bytes;
        let stream = request.stream as usize;
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, 0);
        }
        self.streams[stream] += bytes;
        self.counts.peak = self.counts.peak.max(self.active());
        let record = Record {
            id,
            block: piece.block,
            bytes: piece.bytes,
            op: demand.op,
            site: request.site,
            stream: request.stream,
            slab: piece.slab,
            offset: piece.offset,
            pool: pool as u16,
        };
        let entry = self.registry.add(record);
        // SAFETY: the lock is held.
        if let Some(record) = unsafe { entry.record() } {
            self.tell(action, record);
        }
        entry
    }

    /// Takes a buffer's memory back: into the cache, unless it is larger than the whole cache may be.
    ///
    /// # Safety
    /// As [`Registry::remove`].
    pub unsafe fn free(&mut self, entry: &'static Entry, evicted: &mut Evicted) {
        // SAFETY: the caller's promise.
        let Some(record) = (unsafe { self.registry.remove(entry) }) else { return };
        let pool = usize::from(record.pool);
        self.pools[pool].active -= record.bytes as u64;
        self.streams[record.stream as usize] -= record.bytes as u64;
        self.clock += 1;
        let observed = self.observer().is_some().then(|| Record { block: record.block.clone(), ..record });
        let gone = self.pools[pool].put(record.into_piece(), self.limits.cache, self.clock);
        if let Some(record) = observed {
            self.tell(MemoryAction::Free, &record);
        }
        if let Some(block) = gone {
            self.tell_gone(pool, &block);
            evicted.push(block);
        }
        self.trim(evicted);
    }

    /// Evicts, oldest first, what exceeds the limits.
    pub fn trim(&mut self, evicted: &mut Evicted) {
        while (self.cached() > self.limits.cache || !self.fits(0, 0)) && self.evict_oldest(evicted) {}
    }

    pub fn evict_all(&mut self, evicted: &mut Evicted) {
        while self.evict_oldest(evicted) {}
    }

    /// Evicts what was freed longest ago on any device.
    fn evict_oldest(&mut self, evicted: &mut Evicted) -> bool {
        let stamps = self.pools.iter().enumerate().filter_map(|(i, pool)| Some((pool.oldest_stamp()?, i)));
        stamps.min().is_some_and(|(_, pool)| self.evict_from(pool, evicted))
    }

    fn evict_from(&mut self, pool: usize, evicted: &mut Evicted) -> bool {
        let Some(block) = self.pools[pool].evict() else { return false };
        self.tell_gone(pool, &block);
        evicted.push(block);
        true
    }

    /// Who sees every change, in order, because the lock is held.
    #[inline]
    fn observer(&self) -> Option<Watch> {
        #[cfg(test)]
        if let Some(observer) = &self.stand_in {
            return Some(Watch::of(observer.clone()));
        }
        observer()
    }

    #[inline]
    fn tell(&self, action: MemoryAction, record: &Record) {
        if let Some(observer) = self.observer() {
            self.tell_to(&*observer, action, record);
        }
    }

    #[cold]
    fn tell_to(&self, observer: &dyn Observer, action: MemoryAction, record: &Record) {
        observer.memory(&MemoryEvent {
            action,
            buffer: record.id,
            bytes: record.bytes as u64,
            op: record.op,
            device: self.pools[usize::from(record.pool)].device,
            active: self.active(),
            cache: self.cached(),
            peak: self.counts.peak,
        });
    }

    fn tell_gone(&self, pool: usize, block: &Block) {
        let Some(observer) = self.observer() else { return };
        observer.memory(&MemoryEvent {
            action: MemoryAction::Evict,
            buffer: 0,
            bytes: block.bytes as u64,
            op: 0,
            device: self.pools[pool].device,
            active: self.active(),
            cache: self.cached(),
            peak: self.counts.peak,
        });
    }
}
