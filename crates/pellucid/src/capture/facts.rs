//! What a capture says about the program, the machine, its devices and streams.

use pellucid_trace::schema::{DeviceInfo, Machine, Program, Roof, StreamInfo};

use crate::device::{Device, device_info};
use crate::memory;
use crate::roof;
use crate::stream::Stream;

pub(super) fn program() -> Program {
    // Names that are not Unicode are shown as well as they can be.
    let mut args = std::env::args_os().map(|a| a.to_string_lossy().into_owned());
    let name = args.next().unwrap_or_default();
    let name =
        std::path::Path::new(&name).file_name().map_or(name.clone(), |n| n.to_string_lossy().into_owned());
    Program { name, args: args.collect(), pid: std::process::id() }
}

pub(super) fn machine() -> Machine {
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: device_info(Device::cpu()).map(|info| info.device_name).unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory_bytes: memory::total_ram(),
    }
}

/// The CPU, which works for all others, and the devices of these streams. Others are not even looked for: that would
/// load their drivers.
pub(super) fn devices(streams: &[Stream]) -> Vec<DeviceInfo> {
    let mut all: Vec<Device> = streams.iter().map(|s| s.device()).chain([Device::cpu()]).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().filter_map(|device| Some(described(device, device_info(device).ok()?))).collect()
}

fn described(device: Device, info: crate::device::DeviceInfo) -> DeviceInfo {
    DeviceInfo {
        device: device.to_string(),
        kind: device.device_type().to_string(),
        index: device.index() as u32,
        name: info.device_name,
        architecture: info.architecture,
        backend: info.backend,
        driver: info.driver,
        memory_bytes: info.memory_size,
        features: info.features,
        roof: roof::known(device)
            .map(|r| Roof { bytes_per_second: r.bytes_per_second, flops_per_second: r.flops_per_second }),
    }
}

pub(super) fn streams(streams: &[Stream]) -> Vec<StreamInfo> {
    let described =
        |s: &Stream| StreamInfo { index: s.index() as u32, device: s.device().to_string(), label: s.label() };
    streams.iter().map(described).collect()
}
