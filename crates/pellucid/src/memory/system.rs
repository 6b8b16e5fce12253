//! Memory as the operating system gives it, and how much of it there is.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::OnceLock;

use super::pool::Block;

/// Host memory straight from the system. Freed only by [`HostMemory::free`], because its owner, the pool, decides
/// when and outside which lock.
#[derive(Debug)]
pub(crate) struct HostMemory {
    ptr: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain memory without thread affinity.
unsafe impl Send for HostMemory {}

/// A cache line, which is also the widest vector register.
const ALIGN: usize = 64;

impl HostMemory {
    /// `None` if the system has no such memory.
    pub fn allocate(bytes: usize) -> Option<HostMemory> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout has a size above zero.
        let ptr = NonNull::new(unsafe { alloc(layout) })?;
        Some(HostMemory { ptr, layout })
    }

    pub fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    pub fn free(self) {
        // SAFETY: allocated in `allocate` with this layout, and consumed here.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) }
    }
}

impl Block for HostMemory {
    fn bytes(&self) -> usize {
        self.layout.size()
    }
}

/// Bytes of memory this process may use: the machine's, or less if a control group says so.
pub(crate) fn total_ram() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let mut system = sysinfo::System::new();
        system.refresh_memory();
        let machine = system.total_memory();
        let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
        match machine.min(group) {
            // Where the system does not tell, assume a small machine.
            0 => 8 << 30,
            total => total,
        }
    })
}
