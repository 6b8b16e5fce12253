//! One piece of memory from the system: a large buffer's own, or a slab that small buffers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::system::Memory;

/// A piece of memory with its size and a number that events show.
#[derive(Debug)]
pub(crate) struct Block {
    /// Counted from 1 over all devices, never used again.
    pub number: u64,
    pub bytes: usize,
    pub memory: Memory,
}

impl Block {
    pub fn new(memory: Memory, bytes: usize) -> Arc<Block> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Block { number: NEXT.fetch_add(1, Ordering::Relaxed), bytes, memory })
    }
}
