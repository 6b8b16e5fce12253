//! The graphics processors of this machine: which there are, what they can do, and whether they are still there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::Mutex;

use super::adapter_memory;
use super::clock::Clock;
use super::pipeline::Pipelines;
use super::submit::Submissions;
use super::transfer;
use crate::device::{Device, DeviceInfo, DeviceType};
use crate::error::{Error, Result};
use crate::fork;
use crate::memory;
use crate::variable;

/// Why there is no GPU.
pub(crate) const NONE: &str = "there is no GPU here; use Device::cpu()";

/// One graphics processor, opened.
pub(crate) struct Gpu {
    pub id: Device,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub limits: wgpu::Limits,
    pub features: wgpu::Features,
    pub pipelines: Pipelines,
    pub submissions: Submissions,
    pub clock: Clock,
    pub info: DeviceInfo,
    /// Invocations of a subgroup, once a kernel was asked for it.
    pub lanes: OnceLock<u32>,
    faults: Arc<Faults>,
}

/// What went wrong outside any call.
#[derive(Default)]
struct Faults {
    lost: AtomicBool,
    /// Why the device was lost, or the last error that no scope caught.
    message: Mutex<Option<String>>,
}

/// An adapter, and the device once it is needed.
struct Slot {
    adapter: wgpu::Adapter,
    opened: OnceLock<Result<Gpu>>,
}

/// Hardware first, software last; within each kind as the system lists them.
static ADAPTERS: LazyLock<Vec<Slot>> = LazyLock::new(|| {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    super::quiet::quiet_drivers();
    fork::note_user();
    fork::introduce(fork::Name::Gpu, fork::Part { is_quiet: || !is_open(), in_child: |_| cut_off() });
    let mut flags = wgpu::InstanceFlags::default();
    // Names of kernels and buffers reach the driver's tools in every build; indirect launches are never used.
    flags.remove(wgpu::InstanceFlags::DISCARD_HAL_LABELS | wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    // Vulkan passes them on only with this.
    flags.set(wgpu::InstanceFlags::DEBUG, debugging());
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12,
        flags: flags.with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.retain(|adapter| {
        let compute = wgpu::DownlevelFlags::COMPUTE_SHADERS;
        adapter.get_downlevel_capabilities().flags.contains(compute)
    });
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    adapters.into_iter().map(|adapter| Slot { adapter, opened: OnceLock::new() }).collect()
});

/// Debug mode: `PELLUCID_DEBUG=1`, or MLX's build option `MLX_METAL_DEBUG=1` taken as a variable. Graphics debuggers
/// then see our labels, and captures hold the sources of all kernels that were compiled before them.
pub(super) fn debugging() -> bool {
    static ON: LazyLock<bool> = LazyLock::new(|| {
        let on = |name: &str| variable::flag(name) == Some(true);
        on("PELLUCID_DEBUG") || on("MLX_METAL_DEBUG")
    });
    *ON
}

/// The kernels that the device with this index has compiled so far: name and text.
pub(crate) fn sources(index: usize) -> Result<Vec<(String, Arc<str>)>> {
    gpu(index).map(|gpu| gpu.pipelines.sources())
}

/// Gives the device with this index up: every later call fails.
pub(crate) fn destroy(index: usize) -> Result<()> {
    gpu(index).map(Gpu::destroy)
}

/// The kernels that all opened devices have compiled so far, in debug mode: name and text.
pub(crate) fn sources_to_show() -> Vec<(String, Arc<str>)> {
    if !debugging() {
        return Vec::new();
    }
    let opened = ADAPTERS.iter().filter_map(|slot| slot.opened.get()?.as_ref().ok());
    opened.flat_map(|gpu| gpu.pipelines.sources()).collect()
}

fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// How many graphics processors there are, software adapters included.
pub(crate) fn count() -> usize {
    ADAPTERS.len()
}

/// The first graphics processor that is reached through Metal.
pub(crate) fn metal_index() -> Option<usize> {
    // Other systems have none, and need not load drivers to find that out.
    let there = cfg!(target_vendor = "apple");
    let is_metal = |slot: &Slot| slot.adapter.get_info().backend == wgpu::Backend::Metal;
    if there { ADAPTERS.iter().position(is_metal) } else { None }
}

/// Whether the first graphics processor is hardware.
///
/// # Cost
/// Looking for one loads the drivers, which takes tens of milliseconds. On Linux that is spared where the kernel shows
/// no graphics device at all.
pub(crate) fn has_hardware() -> bool {
    let shown = ["/dev/dri", "/dev/nvidia0", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"];
    if cfg!(target_os = "linux") && !shown.iter().any(|path| std::path::Path::new(path).exists()) {
        return false;
    }
    ADAPTERS.first().is_some_and(|slot| slot.adapter.get_info().device_type != wgpu::DeviceType::Cpu)
}

/// The graphics processor with this index, opened on first use.
///
/// # Errors
/// [`Error::Device`] if there is none, it cannot be opened, or it was lost.
pub(crate) fn gpu(index: usize) -> Result<&'static Gpu> {
    let id = Device::new(DeviceType::Gpu, index);
    let slot = ADAPTERS.get(index).ok_or_else(|| {
        Error::device("gpu", id, format!("there are {} graphics processors here; use Device::cpu()", count()))
    })?;
    if CUT_OFF.load(Ordering::Relaxed) {
        return Err(Error::Forked { function: "gpu" });
    }
    let gpu = slot.opened.get_or_init(|| open(id, &slot.adapter)).as_ref().map_err(Error::clone)?;
    gpu.check()?;
    Ok(gpu)
}

/// Drivers were loaded by the process this one was forked from. They do not survive that.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

fn cut_off() {
    CUT_OFF.store(true, Ordering::Relaxed);
}

/// Whether a graphics processor has been opened.
fn is_open() -> bool {
    ADAPTERS.iter().any(|slot| slot.opened.get().is_some())
}

/// What is known of a graphics processor, opened or not.
pub(crate) fn info(index: usize) -> Result<DeviceInfo> {
    match ADAPTERS.get(index) {
        Some(slot) => Ok(describe(&slot.adapter, slot.adapter.features() & wanted())),
        None => gpu(index).map(|gpu| gpu.info.clone()),
    }
}

/// Features that kernels make use of where they are there.
fn wanted() -> wgpu::Features {
    wgpu::Features::SHADER_INT64
        | wgpu::Features::SHADER_F16
        | wgpu::Features::SUBGROUP
        | wgpu::Features::IMMEDIATES
        | wgpu::Features::TIMESTAMP_QUERY
        // Only for text in Metal's own language.
        | if cfg!(target_vendor = "apple") { wgpu::Features::PASSTHROUGH_SHADERS } else { wgpu::Features::empty() }
}

fn open(id: Device, adapter: &wgpu::Adapter) -> Result<Gpu> {
    let features = adapter.features() & wanted();
    let limits = adapter.limits();
    let request = adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("pellucid"),
        required_features: features,
        required_limits: limits.clone(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    });
    let (device, queue) = pollster::block_on(request)
        .map_err(|error| Error::device("gpu", id, format!("cannot be opened: {error}")))?;
    let faults = Arc::new(Faults::default());
    let uncaught = faults.clone();
    // The library's default handler ends the process.
    device.on_uncaptured_error(Arc::new(move |error| *uncaught.message.lock() = Some(error.to_string())));
    let gone = faults.clone();
    device.set_device_lost_callback(move |reason, message| {
        *gone.message.lock() = Some(format!("{reason:?}: {message}"));
        gone.lost.store(true, Ordering::Release);
    });
    let info = describe(adapter, features);
    let (submissions, clock) = (Submissions::new(&device), Clock::new(&queue, features));
    let pipelines = Pipelines::new();
    let lanes = OnceLock::new();
    let gpu = Gpu { id, device, queue, limits, features, pipelines, submissions, clock, info, lanes, faults };
    transfer::register(&gpu);
    Ok(gpu)
}

fn describe(adapter: &wgpu::Adapter, features: wgpu::Features) -> DeviceInfo {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
    let names = features.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    let memory = adapter_memory::of(adapter);
    DeviceInfo {
        device_name: info.name,
        architecture: format!("{:#06x}:{:#06x}", info.vendor, info.device),
        backend: format!("{:?}", info.backend).to_lowercase(),
        memory_size: memory.size,
        features: names,
        driver,
        device_type: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "other",
        }
        .to_owned(),
        max_buffer_length: limits.max_buffer_size,
        max_recommended_working_set_size: memory.recommended,
        resource_limit: memory::get_buffer_limit(),
    }
}

impl Gpu {
    /// Fails if the device was lost, as every later call does.
    pub fn check(&self) -> Result<()> {
        if !self.faults.lost.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(self.lost())
    }

    fn lost(&self) -> Error {
        let why = self.faults.message.lock().clone().unwrap_or_else(|| "no reason given".to_owned());
        let message = format!("the device was lost ({why}); its arrays are gone, use Device::cpu()");
        Error::device("gpu", self.id, message)
    }

    fn destroy(&self) {
        *self.faults.message.lock() = Some("destroyed".to_owned());
        self.faults.lost.store(true, Ordering::Release);
        self.device.destroy();
    }

    /// Runs something that may fail for want of memory or because it is not valid, and returns why.
    pub fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, String> {
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let result = work();
        let errors = [memory.pop(), validation.pop(), internal.pop()].map(pollster::block_on);
        match errors.into_iter().flatten().next() {
            Some(error) => Err(error.to_string()),
            None => Ok(result),
        }
    }

    /// Bytes one binding can reach, a multiple of the alignment of bindings.
    pub fn largest_binding(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size / 256 * 256
    }

    /// Whether the processor is a program: memory and arithmetic then cost what they cost a CPU. With
    /// `PELLUCID_HARDWARE_KERNELS=1` it is treated as hardware, so that those kernels can be tested where there is none.
    pub fn is_software(&self) -> bool {
        static AS_HARDWARE: LazyLock<bool> =
            LazyLock::new(|| variable::flag("PELLUCID_HARDWARE_KERNELS") == Some(true));
        self.info.device_type == "software" && !*AS_HARDWARE
    }

    pub fn has(&self, feature: wgpu::Features) -> bool {
        self.features.contains(feature)
    }
}
