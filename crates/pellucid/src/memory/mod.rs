//! Memory: what is in use, what is kept for reuse, and the limits of both.
//!
//! Freed buffers go to a cache and serve later requests they fit well, so a loop allocates from the system only in its
//! first round. The cache is bounded by [`set_cache_limit`], by default to a sixteenth of the memory limit: enough to
//! keep a loop's working buffers, too little to push a machine into swapping. All figures are exact at every moment.
//!
//! ```
//! use pellucid::{Array, memory};
//! # fn main() -> pellucid::Result<()> {
//! let before = memory::get_active_memory();
//! let a = Array::from_slice(&[0.0f32; 1024], [1024])?;
//! assert_eq!(memory::get_active_memory() - before, 4096);
//! # drop(a);
//! # Ok(())
//! # }
//! ```

mod buffer;
mod central;
mod pool;
mod report;
mod system;
mod work;

pub(crate) use buffer::Buffer;
pub(crate) use central::Request;
pub use report::{LiveBuffer, MemoryReport, StreamMemory, report};
pub(crate) use work::{Outstanding, Workforce, set_workforce, work_ended};

use central::CENTRAL;
pub(crate) use system::total_ram;

/// Bytes held by live arrays.
pub fn get_active_memory() -> u64 {
    CENTRAL.accounts().active
}

/// The most bytes that live arrays held at one time, since the start or the last [`reset_peak_memory`].
pub fn get_peak_memory() -> u64 {
    CENTRAL.accounts().peak
}

/// Restarts the peak from what is active now.
pub fn reset_peak_memory() {
    CENTRAL.change(|accounts| {
        accounts.peak = accounts.active;
        accounts.peak_total = accounts.active + accounts.pool.cached_bytes();
    });
}

/// Bytes kept for reuse.
pub fn get_cache_memory() -> u64 {
    CENTRAL.accounts().pool.cached_bytes()
}

/// The most bytes that active and cached memory may have together. At the start 80 % of the machine's memory.
pub fn get_memory_limit() -> u64 {
    CENTRAL.accounts().limit
}

/// Sets the memory limit and returns the previous one.
///
/// An allocation that would exceed it first evicts the cache, then waits for running work to free memory. If nothing is
/// left to wait for, it goes ahead if `relaxed`, and is an [`Error::Memory`](crate::Error::Memory) if not.
pub fn set_memory_limit(limit: u64, relaxed: bool) -> u64 {
    CENTRAL.change(|accounts| {
        accounts.relaxed = relaxed;
        std::mem::replace(&mut accounts.limit, limit)
    })
}

/// Sets how many bytes the cache may keep and returns the previous limit. A lower limit takes effect at once.
pub fn set_cache_limit(limit: u64) -> u64 {
    CENTRAL.change(|accounts| std::mem::replace(&mut accounts.cache_limit, limit))
}

/// Gives all cached memory back to the system.
pub fn clear_cache() {
    CENTRAL.clear_cache();
}
