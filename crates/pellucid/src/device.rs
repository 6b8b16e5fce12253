//! Devices: what they are called, which are there, and which one is the default.

use std::fmt;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::backend::{cpu, gpu};
use crate::error::{Error, Result};
use crate::stream::{forget_default, scoped_device};

/// The two kinds of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceType {
    /// The processor.
    Cpu,
    /// A graphics processor, reached through Metal, Vulkan or DirectX 12.
    Gpu,
}

/// A device to run operations on. Any index may be named; whether it is there is asked with
/// [`is_available`](crate::is_available).
///
/// ```
/// use pellucid::Device;
/// assert_eq!(Device::cpu().to_string(), "Device(cpu, 0)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    kind: DeviceType,
    index: usize,
}

impl Device {
    /// The processor.
    pub const fn cpu() -> Device {
        Device::new(DeviceType::Cpu, 0)
    }

    /// The first graphics processor.
    pub const fn gpu() -> Device {
        Device::new(DeviceType::Gpu, 0)
    }

    /// A device by type and position.
    pub const fn new(kind: DeviceType, index: usize) -> Device {
        Device { kind, index }
    }

    /// CPU or GPU.
    pub const fn device_type(self) -> DeviceType {
        self.kind
    }

    /// Position among the devices of its type.
    pub const fn index(self) -> usize {
        self.index
    }
}

impl From<DeviceType> for Device {
    fn from(kind: DeviceType) -> Device {
        Device::new(kind, 0)
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceType::Cpu => "cpu",
            DeviceType::Gpu => "gpu",
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {})", self.kind, self.index)
    }
}

/// What is known about a device; see [`device_info`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The device's name, as its maker gives it.
    pub device_name: String,
    /// The instruction set of a CPU; of a GPU the numbers of its maker and of its model (`0x10de:0x2684`), which name
    /// its family in every list of devices.
    pub architecture: String,
    /// How the device is reached: `cpu`, `metal`, `vulkan` or `dx12`.
    pub backend: String,
    /// Bytes of memory it can use: the machine's for a CPU and for GPUs that share it, else what the driver says is local
    /// to the device.
    pub memory_size: u64,
    /// Instruction sets or features that kernels make use of.
    pub features: Vec<String>,
    /// The driver's name and version; empty for a CPU.
    pub driver: String,
    /// `cpu`, or for a GPU `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub device_type: String,
    /// Bytes of the largest buffer there can be.
    pub max_buffer_length: u64,
    /// Bytes that can be in use without slowing the device down: what Metal recommends, else three quarters of
    /// `memory_size` on a GPU.
    pub max_recommended_working_set_size: u64,
    /// How many buffers there can be: the limit of [`get_buffer_limit`](crate::memory::get_buffer_limit), since no
    /// driver tells its own.
    pub resource_limit: u64,
}

static DEFAULT: RwLock<Option<Device>> = RwLock::new(None);

/// The device that operations run on unless told otherwise: this thread's scope's, else the process's.
///
/// The process's is a hardware GPU if there is one, else the CPU. `PELLUCID_DEVICE=cpu` or `gpu` overrides that at the
/// start, [`set_default_device`] later. A software adapter never becomes the default by itself.
pub fn default_device() -> Device {
    scoped_device().unwrap_or_else(process_default)
}

/// Makes `device` the default of the process, for every thread outside a scope.
///
/// # Errors
/// [`Error::Device`] if there is no such device; the default stays as it is.
pub fn set_default_device(device: Device) -> Result<()> {
    check("set_default_device", device)?;
    *DEFAULT.write() = Some(device);
    forget_default();
    Ok(())
}

pub(crate) fn process_default() -> Device {
    if let Some(device) = *DEFAULT.read() {
        return device;
    }
    // Looked for outside the lock: finding devices may take a while.
    let initial = initial_default();
    *DEFAULT.write().get_or_insert(initial)
}

fn initial_default() -> Device {
    let Some(wish) = std::env::var_os("PELLUCID_DEVICE").filter(|w| !w.is_empty()) else {
        return if gpu::has_hardware() { Device::gpu() } else { Device::cpu() };
    };
    let device = match wish.to_str() {
        Some("cpu") => Some(Device::cpu()),
        Some("gpu") => Some(Device::gpu()),
        _ => None,
    };
    match device {
        Some(device) if is_available(device) => device,
        Some(device) => {
            eprintln!("pellucid: PELLUCID_DEVICE asks for {device}, which is not there; using the CPU");
            Device::cpu()
        }
        None => {
            eprintln!("pellucid: PELLUCID_DEVICE={wish:?} is neither cpu nor gpu; using the CPU");
            Device::cpu()
        }
    }
}

/// True if the device is there.
pub fn is_available(device: Device) -> bool {
    device.index() < device_count(device.device_type())
}

/// How many devices of a type there are.
pub fn device_count(kind: DeviceType) -> usize {
    match kind {
        DeviceType::Cpu => 1,
        DeviceType::Gpu => gpu::count(),
    }
}

/// What is known about a device.
///
/// # Errors
/// [`Error::Device`] if there is no such device.
pub fn device_info(device: Device) -> Result<DeviceInfo> {
    check("device_info", device)?;
    match device.device_type() {
        DeviceType::Cpu => Ok(cpu::info()),
        DeviceType::Gpu => gpu::info(device.index()),
    }
}

/// Fails if the device is not there, saying what is.
pub(crate) fn check(function: &'static str, device: Device) -> Result<()> {
    if is_available(device) {
        return Ok(());
    }
    let count = device_count(device.device_type());
    let kind = device.device_type();
    let message = match (kind, count) {
        (DeviceType::Gpu, 0) => gpu::NONE.to_owned(),
        _ => format!("there is no {kind} with this index; indices go from 0 to {}", count - 1),
    };
    Err(Error::device(function, device, message))
}
