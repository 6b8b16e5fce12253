//! Room for packed operands.

use std::cell::Cell;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::HostMemory;

/// Bytes that a thread keeps for its next product: fresh memory would cost a page fault for every 4 KiB packed, which
/// for matrices of a few hundred rows is a third of the time.
pub(super) const KEPT: usize = 8 << 20;

thread_local! {
    static ROOM: Cell<Option<Room>> = const { Cell::new(None) };
}

/// Memory that is never initialised, aligned to cache lines.
pub(super) struct Room {
    memory: HostMemory,
    bytes: usize,
}

impl Room {
    /// Calls `f` with room for so many bytes.
    pub fn within<R>(function: &'static str, bytes: usize, f: impl FnOnce(*mut u8) -> R) -> Result<R> {
        // Taken out, because another product may start on this thread while it waits for the other cores.
        let kept = ROOM.take().filter(|room| room.bytes >= bytes);
        let room = match kept {
            Some(room) => room,
            None => Room::new(function, bytes)?,
        };
        let result = f(room.memory.ptr().as_ptr());
        if room.bytes <= KEPT {
            ROOM.set(Some(room));
        }
        Ok(result)
    }

    fn new(function: &'static str, bytes: usize) -> Result<Room> {
        let memory = HostMemory::allocate(bytes).ok_or_else(|| Error::Memory {
            function,
            device: Device::cpu(),
            requested: bytes as u64,
            message: "no room for intermediate results".to_owned(),
        })?;
        Ok(Room { memory, bytes })
    }
}
