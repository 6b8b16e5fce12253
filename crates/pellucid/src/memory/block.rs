//! One piece of memory from the system: a large buffer's own, or a slab that small buffers share.

use std::sync::Arc;

use super::system::Memory;

/// A piece of memory with its size.
#[derive(Debug)]
pub(crate) struct Block {
    pub bytes: usize,
    pub memory: Memory,
}

impl Block {
    pub fn new(memory: Memory, bytes: usize) -> Arc<Block> {
        Arc::new(Block { bytes, memory })
    }
}
