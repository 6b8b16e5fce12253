//! How much memory an adapter has, asked from its driver: wgpu itself does not tell.

use crate::memory;

/// Bytes of memory of an adapter.
pub(super) struct AdapterMemory {
    /// All it can use: its own, or the machine's where it has none.
    pub size: u64,
    /// What can be in use at once without slowing it down.
    pub recommended: u64,
}

/// Asks the driver; without an answer, the adapter is taken to use the machine's memory.
pub(super) fn of(adapter: &wgpu::Adapter) -> AdapterMemory {
    let asked = vulkan(adapter).or_else(|| dx12(adapter)).or_else(|| metal(adapter));
    asked.unwrap_or_else(|| part(memory::total_ram()))
}

/// Three quarters of it, as drivers that say something recommend.
fn part(size: u64) -> AdapterMemory {
    AdapterMemory { size, recommended: size / 4 * 3 }
}

/// The heaps that are local to the device.
fn vulkan(adapter: &wgpu::Adapter) -> Option<AdapterMemory> {
    const DEVICE_LOCAL: u32 = 1;
    #[cfg(not(target_vendor = "apple"))]
    {
        // SAFETY: the adapter is only asked for its properties, while the guard is held.
        let heaps = unsafe {
            let hal = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
            let instance = hal.shared_instance().raw_instance();
            instance.get_physical_device_memory_properties(hal.raw_physical_device())
        };
        let heaps = heaps.memory_heaps.iter().take(heaps.memory_heap_count as usize);
        let local = heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0);
        let size: u64 = local.map(|heap| heap.size).sum();
        (size > 0).then(|| part(size))
    }
    #[cfg(target_vendor = "apple")]
    {
        let _ = (adapter, DEVICE_LOCAL);
        None
    }
}

/// Memory of its own, or what it shares with the machine if it has hardly any.
fn dx12(adapter: &wgpu::Adapter) -> Option<AdapterMemory> {
    #[cfg(windows)]
    {
        // SAFETY: the adapter is only asked for its description, while the guard is held.
        let description = unsafe {
            let hal = adapter.as_hal::<wgpu::hal::api::Dx12>()?;
            hal.raw_adapter().GetDesc2().ok()?
        };
        let own = description.DedicatedVideoMemory as u64;
        let size = if own >= 1 << 30 { own } else { own + description.SharedSystemMemory as u64 };
        (size > 0).then(|| part(size))
    }
    #[cfg(not(windows))]
    {
        let _ = adapter;
        None
    }
}

/// Memory is the machine's; Metal recommends how much of it to use.
fn metal(adapter: &wgpu::Adapter) -> Option<AdapterMemory> {
    #[cfg(target_vendor = "apple")]
    {
        use objc2_metal::MTLDevice;
        // SAFETY: the adapter's device is only asked for a number, while the guard is held.
        let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
        let recommended = hal.raw_device().recommendedMaxWorkingSetSize();
        let size = memory::total_ram();
        (recommended > 0).then_some(AdapterMemory { size, recommended })
    }
    #[cfg(not(target_vendor = "apple"))]
    {
        let _ = adapter;
        None
    }
}
