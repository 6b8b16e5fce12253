//! Everything there is to know about memory, at one moment.

use super::central::CENTRAL;
use crate::call_site::CallSite;

/// A picture of all memory at one moment; see [`report`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryReport {
    /// Bytes held by live arrays.
    pub active: u64,
    /// Bytes kept for reuse.
    pub cache: u64,
    /// The most bytes active at one time.
    pub peak: u64,
    /// The most bytes active and cached at one time.
    pub peak_total: u64,
    /// The memory limit.
    pub limit: u64,
    /// Whether an allocation may exceed the limit when nothing is left to wait for.
    pub relaxed: bool,
    /// The cache limit.
    pub cache_limit: u64,
    /// Buffers held by live arrays.
    pub active_buffers: u64,
    /// Blocks in the cache.
    pub cached_blocks: u64,
    /// Blocks obtained from the system and not returned: many small buffers share one.
    pub system_buffers: u64,
    /// Bytes obtained from the system and not returned.
    pub system_bytes: u64,
    /// Requests so far.
    pub requests: u64,
    /// Requests served without asking the system.
    pub reuses: u64,
    /// Active bytes by the stream that made them; streams without any are left out.
    pub streams: Vec<StreamMemory>,
    /// The largest live buffers, at most ten.
    pub largest: Vec<LiveBuffer>,
}

/// A stream's share of active memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamMemory {
    /// The stream's index.
    pub stream: usize,
    /// Bytes its arrays hold.
    pub active: u64,
}

/// A buffer in use.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LiveBuffer {
    /// Its size.
    pub bytes: u64,
    /// The index of the stream that made it.
    pub stream: usize,
    /// The line that asked for the array it was made for.
    pub site: CallSite,
}

impl MemoryReport {
    /// The share of requests served without asking the system; 0 if there were none.
    pub fn hit_rate(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.reuses as f64 / self.requests as f64 }
    }
}

/// Takes a picture of all memory.
///
/// # Cost
/// Looks at every live buffer while allocations wait; meant for people, not for loops.
pub fn report() -> MemoryReport {
    let accounts = CENTRAL.accounts();
    let owners = accounts.blocks.values().map(|(_, owner)| owner).chain(accounts.pool.slot_owners());
    let mut largest: Vec<LiveBuffer> = Vec::with_capacity(11);
    for owner in owners {
        let position = largest.partition_point(|l| l.bytes >= owner.bytes);
        if position < 10 {
            let live = LiveBuffer { bytes: owner.bytes, stream: owner.stream as usize, site: owner.site };
            largest.insert(position, live);
            largest.truncate(10);
        }
    }
    let streams = accounts.streams.iter().enumerate().filter(|&(_, &active)| active > 0);
    MemoryReport {
        active: accounts.active,
        cache: accounts.pool.cached_bytes(),
        peak: accounts.peak,
        peak_total: accounts.peak_total,
        limit: accounts.limit,
        relaxed: accounts.relaxed,
        cache_limit: accounts.cache_limit,
        active_buffers: accounts.buffers,
        cached_blocks: accounts.pool.cached_blocks() as u64,
        system_buffers: accounts.pool.system_buffers(),
        system_bytes: accounts.pool.system_bytes(),
        requests: accounts.requests,
        reuses: accounts.reuses,
        streams: streams.map(|(stream, &active)| StreamMemory { stream, active }).collect(),
        largest,
    }
}
