//! Devices: what they are called, which are there, and which one is the default.

use std::fmt;

use serde::{Deserialize, Serialize};

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
