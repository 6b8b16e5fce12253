//! A device as people type it.

use clap::ValueEnum;
use pellucid::Device;

/// A device as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The processor.
    Cpu,
    /// The first GPU.
    Gpu,
}

impl From<DeviceName> for Device {
    fn from(name: DeviceName) -> Device {
        match name {
            DeviceName::Cpu => Device::cpu(),
            DeviceName::Gpu => Device::gpu(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_in_lower_case() {
        assert_eq!(DeviceName::from_str("gpu", false).map(Device::from), Ok(Device::gpu()));
        assert_eq!(DeviceName::from_str("cpu", false).map(Device::from), Ok(Device::cpu()));
        assert!(DeviceName::from_str("tpu", false).is_err());
    }
}
