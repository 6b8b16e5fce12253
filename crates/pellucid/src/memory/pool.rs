//! One device's memory: what is in use, what is kept for reuse, what the system gave.
//!
//! The pool knows sizes; limits, waiting and events are [`super::central`]'s.

use std::sync::Arc;

use smallvec::SmallVec;

use super::block::Block;
use super::cache::{Cache, Kept};
use super::slabs::{Emptied, SLAB, Slabs};
use super::system::Provider;
use crate::device::Device;

const PAGE: usize = 4096;
/// From here on a reused block may be at most two pages larger than asked for.
const LARGE: usize = 1 << 20;
/// The slab number of a buffer that has a block of its own.
pub(super) const NO_SLAB: u32 = u32::MAX;
/// The slab number of a buffer whose memory is not of a pool.
pub(super) const FOREIGN: u32 = u32::MAX - 1;

/// Blocks that go back to the system, by being dropped outside the lock.
pub(super) type Evicted = SmallVec<[Arc<Block>; 1]>;

/// Memory for one buffer.
pub(super) struct Piece {
    pub block: Arc<Block>,
    pub bytes: usize,
    /// [`NO_SLAB`] or the slab's number.
    pub slab: u32,
    /// Where it begins in the block, in 16 bytes.
    pub offset: u16,
}

/// One device's memory.
pub(super) struct Pool {
    pub device: Device,
    pub provider: Arc<dyn Provider>,
    cache: Cache,
    slabs: Slabs,
    /// Bytes held by live arrays.
    pub active: u64,
    /// Bytes the system gave and has not got back.
    pub system_bytes: u64,
    /// Blocks the system gave and has not got back.
    pub system_buffers: u64,
    /// Bytes the system is being asked for.
    pub reserved: u64,
    /// Blocks the system is being asked for.
    pub reserved_buffers: u64,
}

impl Pool {
    pub fn new(device: Device, provider: Arc<dyn Provider>) -> Pool {
        let slabs = Slabs::new(provider.slot_sizes());
        Pool {
            device,
            provider,
            cache: Cache::new(),
            slabs,
            active: 0,
            system_bytes: 0,
            system_buffers: 0,
            reserved: 0,
            reserved_buffers: 0,
        }
    }

    pub fn cached_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    pub fn cached_blocks(&self) -> u64 {
        self.cache.count()
    }

    pub fn oldest_stamp(&self) -> Option<u64> {
        self.cache.oldest_stamp()
    }

    /// Whether so much more stays within the device's budget.
    pub fn fits(&self, bytes: u64) -> bool {
        self.system_bytes + self.reserved + bytes <= self.provider.budget()
    }

    /// What the system is asked for when nothing kept serves the request: a slab, or whole pages.
    pub fn fresh_bytes(&self, bytes: usize) -> usize {
        if self.slabs.class(bytes).is_some() { SLAB } else { bytes.next_multiple_of(PAGE) }
    }

    /// Memory that is there already: a free slot, or a kept block that fits well. That is at most twice the size, for
    /// large requests at most two pages more.
    pub fn take(&mut self, bytes: usize) -> Option<Piece> {
        let Some(class) = self.slabs.class(bytes) else {
            let most = if bytes >= LARGE { bytes + 2 * PAGE } else { bytes * 2 };
            return self.cache.take(bytes, most).map(whole);
        };
        if let Some(piece) = self.take_slot(class) {
            return Some(piece);
        }
        let block = self.cache.take(SLAB, SLAB)?;
        self.slabs.add(class, block);
        self.take_slot(class)
    }

    /// Memory for a request from a new block of [`Pool::fresh_bytes`].
    pub fn take_new(&mut self, bytes: usize, block: Arc<Block>) -> Option<Piece> {
        self.system_bytes += block.bytes as u64;
        self.system_buffers += 1;
        match self.slabs.class(bytes) {
            None => Some(whole(block)),
            Some(class) => {
                self.slabs.add(class, block);
                self.take_slot(class)
            }
        }
    }

    fn take_slot(&mut self, class: usize) -> Option<Piece> {
        let slot = self.slabs.take(class)?;
        if let Some(node) = slot.was_kept {
            self.cache.take_slab(node);
        }
        Some(Piece { block: slot.block, bytes: slot.bytes, slab: slot.slab, offset: slot.offset })
    }

    /// Takes memory back. A block of more than `most` bytes is not kept but returned: it goes back to the system.
    pub fn put(&mut self, piece: Piece, most: u64, stamp: u64) -> Option<Arc<Block>> {
        let block = if piece.slab == NO_SLAB {
            piece.block
        } else {
            match self.slabs.put(piece.slab, piece.offset, SLAB as u64 <= most) {
                Emptied::No => return None,
                Emptied::Kept => {
                    let node = self.cache.put(Kept::Slab(piece.slab), SLAB, stamp);
                    self.slabs.set_node(piece.slab, node);
                    return None;
                }
                Emptied::Dissolved(block) => block,
            }
        };
        let bytes = block.bytes;
        if bytes as u64 > most {
            self.count_gone(bytes);
            return Some(block);
        }
        self.cache.put(Kept::Block(block), bytes, stamp);
        None
    }

    /// Gives up what was freed longest ago.
    pub fn evict(&mut self) -> Option<Arc<Block>> {
        let block = match self.cache.take_oldest()? {
            Kept::Block(block) => block,
            Kept::Slab(slab) => self.slabs.evict(slab)?,
        };
        self.count_gone(block.bytes);
        Some(block)
    }

    fn count_gone(&mut self, bytes: usize) {
        self.system_bytes -= bytes as u64;
        self.system_buffers -= 1;
    }
}

fn whole(block: Arc<Block>) -> Piece {
    Piece { bytes: block.bytes, block, slab: NO_SLAB, offset: 0 }
}
