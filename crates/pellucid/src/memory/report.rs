//! Everything there is to know about memory, at one moment.

use super::central::CENTRAL;
use crate::call_site::CallSite;
use crate::device::Device;

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
    /// The most bytes obtained from the system at one time: active, cached, and the free parts of shared blocks.
    pub peak_total: u64,
    /// The memory limit.
    pub limit: u64,
    /// Whether an allocation may exceed the limits when nothing is left to wait for.
    pub relaxed: bool,
    /// The cache limit.
    pub cache_limit: u64,
    /// The limit on the number of system buffers.
    pub buffer_limit: u64,
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
    /// Each device's share; the processor's is the first.
    pub devices: Vec<DeviceMemory>,
    /// Active bytes by the stream that made them; streams without any are left out.
    pub streams: Vec<StreamMemory>,
    /// The largest live buffers, at most ten.
    pub largest: Vec<LiveBuffer>,
}

/// A device's share of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceMemory {
    /// The device.
    pub device: Device,
    /// Bytes its live arrays hold.
    pub active: u64,
    /// Bytes kept for reuse.
    pub cache: u64,
    /// Bytes obtained from its system and not returned.
    pub system_bytes: u64,
    /// Blocks obtained from its system and not returned.
    pub system_buffers: u64,
    /// The most bytes that may be obtained from it.
    pub budget: u64,
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
    /// The device whose memory it is.
    pub device: Device,
    /// The index of the stream that made it.
    pub stream: usize,
    /// The array it was made for; 0 if not known.
    pub array: u64,
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
/// ```standalone_crate
/// use pellucid::{Array, Device, memory};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from_slice(&[0u8; 100_000], [100_000]);
/// let report = memory::report();
/// assert_eq!(report.largest[0].bytes, 102_400); // whole pages
/// assert!(report.largest[0].site.file().ends_with(".rs"));
/// assert_eq!(report.devices[0].device, Device::cpu());
/// # drop(a);
/// # Ok(())
/// # }
/// ```
///
/// # Cost
/// Looks at every live buffer while allocations wait; meant for people, not for loops.
pub fn report() -> MemoryReport {
    let accounts = CENTRAL.accounts();
    let device_of = |pool: u16| accounts.pools[usize::from(pool)].device;
    let mut largest: Vec<LiveBuffer> = Vec::with_capacity(11);
    for record in accounts.registry.records() {
        let bytes = record.bytes as u64;
        let position = largest.partition_point(|l| l.bytes >= bytes);
        if position < 10 {
            let (device, stream) = (device_of(record.pool), record.stream as usize);
            let live = LiveBuffer { bytes, device, stream, array: record.op, site: record.site };
            largest.insert(position, live);
            largest.truncate(10);
        }
    }
    let devices = accounts.pools.iter().map(|pool| DeviceMemory {
        device: pool.device,
        active: pool.active,
        cache: pool.cached_bytes(),
        system_bytes: pool.system_bytes,
        system_buffers: pool.system_buffers,
        budget: pool.provider.budget(),
    });
    let streams = accounts.streams.iter().enumerate().filter(|&(_, &active)| active > 0);
    MemoryReport {
        active: accounts.active(),
        cache: accounts.cached(),
        peak: accounts.counts.peak,
        peak_total: accounts.counts.peak_total,
        limit: accounts.limits.memory,
        relaxed: accounts.limits.relaxed,
        cache_limit: accounts.limits.cache,
        buffer_limit: accounts.limits.buffers,
        active_buffers: accounts.registry.live(),
        cached_blocks: accounts.pools.iter().map(|pool| pool.cached_blocks()).sum(),
        system_buffers: accounts.system_buffers(),
        system_bytes: accounts.system_bytes(),
        requests: accounts.counts.requests,
        reuses: accounts.counts.reuses,
        devices: devices.collect(),
        streams: streams.map(|(stream, &active)| StreamMemory { stream, active }).collect(),
        largest,
    }
}
