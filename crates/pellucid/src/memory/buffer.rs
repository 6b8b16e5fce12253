//! A shared handle to memory; the last one gives it back.

use std::fmt;
use std::ptr::NonNull;

use super::block::Block;
use super::central::CENTRAL;
use super::pool::FOREIGN;
use super::registry::{Entry, Record};
use super::request::{Demand, Request};
use super::slabs::UNIT;
use super::system::{ForeignMemory, Memory};
use crate::error::Result;

/// Memory that arrays and their views share. `None` is the empty buffer, which has no memory.
pub(crate) struct Buffer(Option<&'static Entry>);

impl Buffer {
    /// Memory for at least as many bytes as asked for, with unspecified content.
    ///
    /// # Cost
    /// From a warm cache a lock and a few list operations, well under 200 ns.
    pub fn allocate(demand: impl Into<Demand>) -> Result<Buffer> {
        let demand = demand.into();
        if demand.request.bytes == 0 {
            return Ok(Buffer(None));
        }
        CENTRAL.allocate(&demand).map(|entry| Buffer(Some(entry)))
    }

    /// No memory at all.
    pub fn empty() -> Buffer {
        Buffer(None)
    }

    /// As many bytes of memory that somebody else owns.
    pub fn foreign(memory: ForeignMemory, request: &Request) -> Buffer {
        let (id, bytes) = (CENTRAL.new_id(), request.bytes);
        let block = Block::new(Memory::Foreign(memory), bytes);
        let (stream, site) = (request.stream, request.site);
        let record = Record { id, block, bytes, op: 0, site, stream, slab: FOREIGN, offset: 0, pool: 0 };
        Buffer(Some(Entry::foreign(record)))
    }

    /// True if somebody else owns it, and may change it at any time.
    pub fn is_foreign(&self) -> bool {
        self.record().is_some_and(|record| record.slab == FOREIGN)
    }

    /// True if the host may write to it.
    pub fn is_writable(&self) -> bool {
        self.record().is_none_or(|record| record.block.memory.is_writable())
    }

    fn record(&self) -> Option<&Record> {
        // SAFETY: this buffer refers to the entry.
        self.0.and_then(|entry| unsafe { entry.record() })
    }

    /// The number under which reports and traces show it; 0 for the empty buffer.
    pub fn id(&self) -> u64 {
        self.record().map_or(0, |record| record.id)
    }

    /// Where its memory begins. Dangling, but aligned, for the empty buffer and for memory the host cannot reach.
    pub fn ptr(&self) -> *mut u8 {
        let start = self.record().and_then(|r| Some((r.block.memory.host_ptr()?, usize::from(r.offset))));
        match start {
            // SAFETY: the piece lies inside its block.
            Some((start, offset)) => unsafe { start.add(offset * UNIT).as_ptr() },
            None => NonNull::<u128>::dangling().cast().as_ptr(),
        }
    }

    /// True if the host can reach it.
    pub fn is_host(&self) -> bool {
        self.record().is_none_or(|record| record.block.memory.host_ptr().is_some())
    }

    /// The device's memory it is a piece of, and where in there it begins; `None` for the empty buffer.
    pub fn place(&self) -> Option<(&Memory, u64)> {
        self.record().map(|r| (&r.block.memory, u64::from(r.offset) * UNIT as u64))
    }

    pub fn bytes(&self) -> usize {
        self.record().map_or(0, |record| record.bytes)
    }

    /// How many handles there are; for the empty buffer, which everyone shares, and for one that somebody else owns as
    /// many as can be.
    pub fn holders(&self) -> usize {
        match self.0 {
            Some(entry) if !self.is_foreign() => entry.holders(),
            _ => usize::MAX,
        }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        if let Some(entry) = self.0 {
            entry.hold();
        }
        Buffer(self.0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let foreign = self.is_foreign();
        if let Some(entry) = self.0
            && entry.let_go()
        {
            // SAFETY: this was the entry's last buffer, and it is gone after this.
            unsafe { if foreign { entry.forget() } else { CENTRAL.free(entry) } };
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer(#{}, {} bytes)", self.id(), self.bytes())
    }
}
