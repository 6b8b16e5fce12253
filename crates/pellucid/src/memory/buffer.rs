//! A shared handle to memory; the last one gives it back.

use std::fmt;
use std::ptr::NonNull;

use super::central::CENTRAL;
use super::registry::{Entry, Record};
use super::request::Demand;
use super::slabs::UNIT;
use super::system::Memory;
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

    /// The device's memory it is a piece of, and where in there it begins; `None` for the empty buffer.
    #[allow(dead_code, reason = "how a GPU backend binds the buffer; the CPU uses `ptr`")]
    pub fn place(&self) -> Option<(&Memory, u64)> {
        self.record().map(|r| (&r.block.memory, u64::from(r.offset) * UNIT as u64))
    }

    pub fn bytes(&self) -> usize {
        self.record().map_or(0, |record| record.bytes)
    }

    /// How many handles there are; for the empty buffer, which everyone shares, as many as can be.
    pub fn holders(&self) -> usize {
        self.0.map_or(usize::MAX, Entry::holders)
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
        if let Some(entry) = self.0
            && entry.let_go()
        {
            // SAFETY: this was the entry's last buffer, and it is gone after this.
            unsafe { CENTRAL.free(entry) };
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer(#{}, {} bytes)", self.id(), self.bytes())
    }
}
