//! Memory as a device gives it: what a device must be able to do, and the host's side of it.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// One piece of memory from a device's system; dropping it gives it back.
#[derive(Debug)]
pub(crate) enum Memory {
    /// Memory of the process.
    Host(HostMemory),
    /// Memory of the GPU with this index.
    Gpu(wgpu::Buffer, usize),
}

impl Memory {
    /// Where the host reaches it; `None` for memory that only a device reaches.
    pub fn host_ptr(&self) -> Option<NonNull<u8>> {
        match self {
            Memory::Host(memory) => Some(memory.ptr),
            Memory::Gpu(..) => None,
        }
    }
}

/// Where a device's memory comes from. Called without any lock; must not panic.
pub(crate) trait Provider: Send + Sync {
    /// New memory of this size, or why there is none.
    fn allocate(&self, bytes: usize) -> Result<Memory, String>;

    /// Sizes of the slots that small buffers get, ascending, all multiples of 16, the largest at most 4096. A slot
    /// begins at a multiple of its size's largest power-of-two factor, so a device that binds memory at multiples of
    /// 256 bytes lists multiples of 256 only.
    fn slot_sizes(&self) -> &'static [usize];

    /// The largest piece there can be, in bytes.
    fn largest(&self) -> u64;

    /// The most bytes to obtain from this device in all.
    fn budget(&self) -> u64;
}

/// The processor's memory.
#[derive(Debug)]
pub(crate) struct Host;

impl Provider for Host {
    fn allocate(&self, bytes: usize) -> Result<Memory, String> {
        let memory = HostMemory::allocate(bytes).map(Memory::Host);
        memory.ok_or_else(|| "the system has no more memory".to_owned())
    }

    /// From 64 bytes on whole cache lines, so that no two buffers share one and vector loads stay inside one.
    fn slot_sizes(&self) -> &'static [usize] {
        &[16, 32, 48, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096]
    }

    fn largest(&self) -> u64 {
        total_ram()
    }

    fn budget(&self) -> u64 {
        total_ram()
    }
}

/// Memory of the process, straight from its allocator.
#[derive(Debug)]
pub(crate) struct HostMemory {
    ptr: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain memory without thread affinity, reached only through the pointer that `host_ptr` gives.
unsafe impl Send for HostMemory {}
// SAFETY: as above; sharing the handle shares only the address.
unsafe impl Sync for HostMemory {}

/// A cache line, which is also the widest vector register.
const ALIGN: usize = 64;

/// From this size on, memory is made of huge pages: fewer faults when it is first used, fewer misses of the page table's
/// cache ever after.
const LARGE: usize = if cfg!(target_os = "linux") { 4 << 20 } else { usize::MAX };
const HUGE_PAGE: usize = 2 << 20;

/// Only whole huge pages are asked for, so that no more becomes resident than was allocated.
#[cfg(target_os = "linux")]
fn advise_huge_pages(ptr: NonNull<u8>, bytes: usize) {
    // SAFETY: the range was just allocated. This changes how it is backed, not what it holds; a system that cannot does
    // nothing.
    unsafe { libc::madvise(ptr.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_ptr: NonNull<u8>, _bytes: usize) {}

impl HostMemory {
    /// `None` if the system has no such memory.
    pub fn allocate(bytes: usize) -> Option<HostMemory> {
        let align = if bytes >= LARGE { HUGE_PAGE } else { ALIGN };
        let layout = Layout::from_size_align(bytes.max(1), align).ok()?;
        // SAFETY: the layout has a size above zero.
        let ptr = NonNull::new(unsafe { alloc(layout) })?;
        if bytes >= LARGE {
            advise_huge_pages(ptr, bytes / HUGE_PAGE * HUGE_PAGE);
        }
        Some(HostMemory { ptr, layout })
    }

    pub fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this layout, and freed only here.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) }
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
