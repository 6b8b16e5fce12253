//! Memory: what is in use, what is kept for reuse, and the limits of both.
//!
//! Freed buffers go to a cache and serve later requests they fit well, so a loop allocates from the system only in its
//! first round. The cache is bounded by [`set_cache_limit`], by default to a sixteenth of the memory limit: enough to
//! keep a loop's working buffers, too little to push a machine into swapping. All figures are exact at every moment.
//! `docs/memory.md` explains them and the limits.
//!
//! ```standalone_crate
//! use pellucid::{Array, memory};
//! # fn main() -> pellucid::Result<()> {
//! let before = memory::get_active_memory();
//! let a = Array::from_slice(&[0.0f32; 1024], [1024]);
//! assert_eq!(memory::get_active_memory() - before, 4096);
//! # drop(a);
//! # Ok(())
//! # }
//! ```
//!
//! # How it is built
//! `buffer` is the handle that arrays share; `registry` lists all live ones. `central` hands memory out and takes it
//! back, `wait` waits where there is no room, `accounts` keeps the figures and limits of all devices. A device's `pool`
//! consists of a `cache` of blocks and of `slabs` that small buffers share; `system` is where blocks come from. `scratch`
//! is what work needs only while it runs.
//!
//! # How to add a device
//! 1. Add a variant to `system::Memory`, such as `Gpu(wgpu::Buffer)`; `Memory::host_ptr` returns `None` for it.
//! 2. Implement `system::Provider`: make one, name the slot sizes (multiples of 256 where bindings must be aligned so),
//!    the largest buffer and the budget (80 % of what the device has).
//! 3. Call `memory::register(device, provider)` once, before the first buffer.
//! 4. Allocate with `Demand { request, device, op }`; bind what `Buffer::place` returns: the memory and the offset.
//!    A buffer must live until the device is done with it, because its memory is handed out again when it is dropped.

mod accounts;
mod block;
mod buffer;
mod cache;
mod central;
mod pool;
mod registry;
mod report;
mod request;
mod scratch;
mod slabs;
mod system;
#[cfg(test)]
mod tests;
mod wait;
mod work;

pub(crate) use buffer::Buffer;
pub use report::{DeviceMemory, LiveBuffer, MemoryReport, StreamMemory, report};
pub(crate) use request::{Demand, Request};
pub use scratch::Scratch;
pub(crate) use scratch::{PerThread, WorkScope};
pub(crate) use system::{ForeignMemory, Memory, Provider, total_ram};
pub(crate) use wait::work_ended;
pub(crate) use work::{Outstanding, Workforce, set_workforce};

use central::CENTRAL;

/// Makes a device's memory known; done once, before the first buffer on it.
pub(crate) fn register(device: crate::Device, provider: std::sync::Arc<dyn Provider>) {
    CENTRAL.register(device, provider);
}

/// Bytes held by live arrays, on all devices. A buffer counts with its whole size, also if its array needs less.
///
/// ```standalone_crate
/// use pellucid::{Array, memory};
/// let before = memory::get_active_memory();
/// let a = Array::from([1.0f32, 2.0, 3.0]); // 12 bytes in a buffer of 16
/// assert_eq!(memory::get_active_memory() - before, 16);
/// # drop(a);
/// ```
pub fn get_active_memory() -> u64 {
    CENTRAL.accounts().active()
}

/// The most bytes that live arrays held at one time, since the start or the last [`reset_peak_memory`].
///
/// ```standalone_crate
/// use pellucid::{Array, memory};
/// # fn main() -> pellucid::Result<()> {
/// memory::reset_peak_memory();
/// let before = memory::get_peak_memory();
/// drop(Array::from_slice(&[0u8; 8192], [8192]));
/// assert_eq!(memory::get_peak_memory() - before, 8192);
/// # Ok(())
/// # }
/// ```
pub fn get_peak_memory() -> u64 {
    CENTRAL.accounts().counts.peak
}

/// Restarts the peak: it is zero until the next allocation, and from then on counts all that is active.
///
/// ```standalone_crate
/// use pellucid::{Array, memory};
/// let kept = Array::from([1.0f32, 2.0]);
/// memory::reset_peak_memory();
/// assert_eq!(memory::get_peak_memory(), 0);
/// let more = Array::from([3.0f32]);
/// assert_eq!(memory::get_peak_memory(), memory::get_active_memory());
/// # drop((kept, more));
/// ```
pub fn reset_peak_memory() {
    CENTRAL.accounts().reset_peak();
}

/// The peaks as they are now, for [`restore_peaks`].
pub(crate) fn peaks() -> (u64, u64) {
    let accounts = CENTRAL.accounts();
    (accounts.counts.peak, accounts.counts.peak_total)
}

/// Takes the peaks back to what they were before work that nobody asked for, as far as memory still in use allows.
pub(crate) fn restore_peaks(peaks: (u64, u64)) {
    CENTRAL.accounts().restore_peaks(peaks);
}

/// Bytes kept for reuse.
///
/// ```standalone_crate
/// use pellucid::{Array, memory};
/// # fn main() -> pellucid::Result<()> {
/// drop(Array::from_slice(&[0u8; 8192], [8192]));
/// assert!(memory::get_cache_memory() >= 8192);
/// # Ok(())
/// # }
/// ```
pub fn get_cache_memory() -> u64 {
    CENTRAL.accounts().cached()
}

/// The most bytes to obtain from the system in all: for live arrays, for the cache, and for the free parts of blocks
/// that small arrays share. At the start 80 % of the machine's memory.
///
/// ```standalone_crate
/// assert!(pellucid::memory::get_memory_limit() > 0);
/// ```
pub fn get_memory_limit() -> u64 {
    CENTRAL.accounts().limits.memory
}

/// Sets the memory limit and returns the previous one.
///
/// An allocation that would exceed it first evicts the cache, then waits for running work to free memory. If nothing is
/// left to wait for, it goes ahead if `relaxed`, and is an [`Error::Memory`](crate::Error::Memory) if not.
///
/// ```standalone_crate
/// use pellucid::{Array, Error, memory};
/// let previous = memory::set_memory_limit(1 << 20, false);
/// let refused = Array::from_slice(&[0u8; 2 << 20], [2 << 20]);
/// assert!(matches!(refused.check().unwrap_err().root(), Error::Memory { requested: 2_097_152, .. }));
/// assert_eq!(memory::set_memory_limit(previous, false), 1 << 20);
/// ```
pub fn set_memory_limit(limit: u64, relaxed: bool) -> u64 {
    CENTRAL.change(|accounts| {
        accounts.limits.relaxed = relaxed;
        std::mem::replace(&mut accounts.limits.memory, limit)
    })
}

/// Sets how many bytes the cache may keep and returns the previous limit. A lower limit takes effect at once. The
/// limit at the start is a sixteenth of the memory limit.
///
/// ```standalone_crate
/// use pellucid::memory;
/// let previous = memory::set_cache_limit(0); // keep nothing
/// assert_eq!(memory::get_cache_memory(), 0);
/// memory::set_cache_limit(previous);
/// ```
pub fn set_cache_limit(limit: u64) -> u64 {
    CENTRAL.change(|accounts| std::mem::replace(&mut accounts.limits.cache, limit))
}

/// The most blocks to obtain from the system; see [`set_buffer_limit`].
///
/// ```standalone_crate
/// assert_eq!(pellucid::memory::get_buffer_limit(), 400_000);
/// ```
pub fn get_buffer_limit() -> u64 {
    CENTRAL.accounts().limits.buffers
}

/// Sets how many blocks may be obtained from the system and returns the previous limit. It holds like the memory limit,
/// and is relaxed with it.
///
/// Systems bound the number of allocations as well as their bytes: Metal refuses from about 499,000 buffers on, Vulkan
/// drivers often from far fewer. Small arrays share blocks, so 400,000, the limit at the start, is only reached by as
/// many arrays of more than 4 KiB.
///
/// ```standalone_crate
/// use pellucid::memory;
/// let previous = memory::set_buffer_limit(10_000);
/// assert_eq!(memory::set_buffer_limit(previous), 10_000);
/// ```
pub fn set_buffer_limit(limit: u64) -> u64 {
    CENTRAL.change(|accounts| std::mem::replace(&mut accounts.limits.buffers, limit))
}

/// Gives all cached memory back to the system. Running work may fill the cache again.
///
/// ```standalone_crate
/// use pellucid::memory;
/// memory::clear_cache();
/// assert_eq!(memory::get_cache_memory(), 0);
/// ```
pub fn clear_cache() {
    CENTRAL.clear_cache();
}
