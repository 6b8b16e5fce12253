//! Memory as a device gives it: what a device must be able to do, and the host's side of it.

use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// One piece of memory from a device's system; dropping it gives it back.
#[derive(Debug)]
pub(crate) enum Memory {
    /// Memory of the process.
    Host(HostMemory),
    /// Memory of the process that somebody else owns.
    Foreign(ForeignMemory),
    /// Memory of the GPU with this index.
    #[cfg(feature = "gpu")]
    Gpu(wgpu::Buffer, usize),
}

impl Memory {
    /// Where the host reaches it; `None` for memory that only a device reaches.
    pub fn host_ptr(&self) -> Option<NonNull<u8>> {
        match self {
            Memory::Host(memory) => Some(memory.ptr),
            Memory::Foreign(memory) => Some(memory.ptr),
            #[cfg(feature = "gpu")]
            Memory::Gpu(..) => None,
        }
    }

    /// True if the host may write to it.
    pub fn is_writable(&self) -> bool {
        match self {
            Memory::Host(_) => true,
            Memory::Foreign(memory) => memory.writable,
            #[cfg(feature = "gpu")]
            Memory::Gpu(..) => false,
        }
    }
}

/// Memory of the process that somebody else owns: arrays read it, none takes it over, and its owner is told when the
/// last of them is gone.
pub(crate) struct ForeignMemory {
    ptr: NonNull<u8>,
    writable: bool,
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the owner is `Send`; the address alone has no thread affinity.
unsafe impl Send for ForeignMemory {}
// SAFETY: as above; sharing the handle shares only the address.
unsafe impl Sync for ForeignMemory {}

impl ForeignMemory {
    /// # Safety
    /// The memory at `ptr` must be readable as long as `owner` lives, and written to only if `writable`.
    pub unsafe fn new(ptr: NonNull<u8>, writable: bool, owner: Box<dyn Send + Sync>) -> ForeignMemory {
        ForeignMemory { ptr, writable, _owner: owner }
    }
}

impl fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignMemory").field("ptr", &self.ptr).field("writable", &self.writable).finish()
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

/// Memory of the process.
///
/// From [`MAPPED`] bytes on it is mapped for itself, so that it goes back to the system at once when it is freed: an
/// allocator keeps what it is given back, each of its threads for itself, and a limit would hold for the books only.
/// Smaller pieces come from the process's allocator, because a system bounds the number of maps; that allocator is asked
/// now and then to give back what it keeps.
#[derive(Debug)]
pub(crate) struct HostMemory {
    ptr: NonNull<u8>,
    layout: Layout,
    mapped: bool,
}

// SAFETY: plain memory without thread affinity, reached only through the pointer that `host_ptr` gives.
unsafe impl Send for HostMemory {}
// SAFETY: as above; sharing the handle shares only the address.
unsafe impl Sync for HostMemory {}

/// A cache line, which is also the widest vector register.
const ALIGN: usize = 64;

/// From this size on, memory is mapped for itself.
const MAPPED: usize = 128 << 10;

/// From this size on, memory is made of huge pages: fewer faults when it is first used, fewer misses of the page table's
/// cache ever after.
const LARGE: usize = if cfg!(target_os = "linux") { 4 << 20 } else { usize::MAX };
const HUGE_PAGE: usize = 2 << 20;

impl HostMemory {
    /// `None` if the system has no such memory.
    pub fn allocate(bytes: usize) -> Option<HostMemory> {
        let align = if bytes >= LARGE { HUGE_PAGE } else { ALIGN };
        let layout = Layout::from_size_align(bytes.max(1), align).ok()?;
        let map = if bytes >= MAPPED { maps::map(layout) } else { None };
        let mapped = map.is_some();
        let ptr = match map {
            Some(ptr) => ptr,
            // Where the system has no more maps, it may still have memory.
            // SAFETY: the layout has a size above zero.
            None => NonNull::new(unsafe { alloc(layout) })?,
        };
        if bytes >= LARGE {
            maps::advise_huge_pages(ptr, bytes / HUGE_PAGE * HUGE_PAGE);
        }
        Some(HostMemory { ptr, layout, mapped })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.mapped {
            // SAFETY: mapped in `allocate` with this layout, and given back only here.
            unsafe { maps::unmap(self.ptr, self.layout) };
            return;
        }
        // SAFETY: allocated in `allocate` with this layout, and freed only here.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) };
        maps::count_freed(self.layout.size());
    }
}

#[cfg(unix)]
mod maps {
    //! The system's own calls. A system that cannot do one of them does nothing, which is no error.

    use std::alloc::Layout;
    use std::ptr::{NonNull, null_mut};
    use std::sync::OnceLock;

    /// The size of a page: not the same everywhere.
    fn page() -> usize {
        static PAGE: OnceLock<usize> = OnceLock::new();
        // SAFETY: only asks.
        *PAGE.get_or_init(|| usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16))
    }

    /// New memory of whole pages, filled with zeros; `None` if there is none.
    pub fn map(layout: Layout) -> Option<NonNull<u8>> {
        let bytes = layout.size().next_multiple_of(page());
        // Pages are aligned to themselves. For more, more is mapped, and what is too much at the ends is given back.
        let spare = if layout.align() <= page() { 0 } else { layout.align() };
        let length = bytes.checked_add(spare)?;
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new private map at any place touches no other memory.
        let start = unsafe { libc::mmap(null_mut(), length, rights, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = NonNull::new(start.cast::<u8>())?;
        let before = start.as_ptr().align_offset(layout.align().max(page()));
        // SAFETY: both ends lie in the map that was just made, and consist of whole pages.
        unsafe {
            let first = start.add(before);
            give_back(start, before);
            give_back(first.add(bytes), spare - before);
            Some(first)
        }
    }

    /// # Safety
    /// Made by [`map`] with this layout, and not used again.
    pub unsafe fn unmap(ptr: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { give_back(ptr, layout.size().next_multiple_of(page())) };
    }

    /// # Safety
    /// Whole pages of a map that nobody uses.
    unsafe fn give_back(ptr: NonNull<u8>, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the caller's promise.
            unsafe { libc::munmap(ptr.as_ptr().cast(), bytes) };
        }
    }

    /// Asks for huge pages. Only whole ones, so that no more becomes resident than was allocated.
    pub fn advise_huge_pages(ptr: NonNull<u8>, bytes: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range was just allocated. This changes how it is backed, not what it holds.
        unsafe {
            libc::madvise(ptr.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE)
        };
        #[cfg(not(target_os = "linux"))]
        let _ = (ptr, bytes);
    }

    /// Counts what the process's allocator got back, and lets it give all it keeps to the system from time to time.
    pub fn count_freed(bytes: usize) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            use std::sync::atomic::{AtomicUsize, Ordering};
            /// Bytes between two times: as much as may be kept beyond a limit.
            const EVERY: usize = 16 << 20;
            static FREED: AtomicUsize = AtomicUsize::new(0);
            if FREED.fetch_add(bytes, Ordering::Relaxed) + bytes >= EVERY {
                FREED.store(0, Ordering::Relaxed);
                // SAFETY: only frees what is free.
                unsafe { libc::malloc_trim(0) };
            }
        }
        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        let _ = bytes;
    }
}

#[cfg(not(unix))]
mod maps {
    //! Nothing is mapped: the process's allocator takes care of large memory itself.

    use std::alloc::Layout;
    use std::ptr::NonNull;

    pub fn map(_layout: Layout) -> Option<NonNull<u8>> {
        None
    }

    pub unsafe fn unmap(_ptr: NonNull<u8>, _layout: Layout) {}

    pub fn advise_huge_pages(_ptr: NonNull<u8>, _bytes: usize) {}

    pub fn count_freed(_bytes: usize) {}
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
