//! A shared handle to memory; the last one gives it back.

use std::ptr::NonNull;
use std::sync::Arc;

use super::central::{CENTRAL, Request};
use super::pool::Origin;
use crate::error::Result;

/// Memory that arrays and their views share.
#[derive(Clone, Debug)]
pub(crate) struct Buffer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    ptr: NonNull<u8>,
    bytes: usize,
    /// `None` for the empty buffer, which has no memory.
    origin: Option<Origin>,
}

// SAFETY: memory without thread affinity; who may write it is decided by the evaluation order.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Buffer {
    /// Memory for at least `request.bytes`, with unspecified content.
    pub fn allocate(request: Request) -> Result<Buffer> {
        if request.bytes == 0 {
            // Aligned like all memory, never read or written.
            let ptr = NonNull::<u128>::dangling().cast();
            return Ok(Buffer(Arc::new(Inner { id: 0, ptr, bytes: 0, origin: None })));
        }
        let grant = CENTRAL.allocate(request)?;
        Ok(Buffer(Arc::new(Inner {
            id: grant.id,
            ptr: grant.ptr,
            bytes: grant.bytes,
            origin: Some(grant.origin),
        })))
    }

    /// The number under which reports and traces show it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    pub fn ptr(&self) -> *mut u8 {
        self.0.ptr.as_ptr()
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// How many handles there are.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(origin) = self.origin {
            CENTRAL.free(self.id, origin);
        }
    }
}
