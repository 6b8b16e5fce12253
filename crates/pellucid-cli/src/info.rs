//! `pellucid info`: versions, devices and memory.

use std::env::consts;
use std::io::Write;
use std::process::ExitCode;

use pellucid::{Device, DeviceType, default_device, device_count, device_info, memory};

use crate::Outcome;

/// Prints what this machine offers.
pub fn run(out: &mut impl Write) -> Outcome {
    let cores = std::thread::available_parallelism()?;
    writeln!(out, "pellucid {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "system   {} {}, {cores} cores", consts::OS, consts::ARCH)?;
    for kind in [DeviceType::Cpu, DeviceType::Gpu] {
        for index in 0..device_count(kind) {
            let device = Device::new(kind, index);
            let info = device_info(device)?;
            let default = if device == default_device() { " (default)" } else { "" };
            writeln!(
                out,
                "device   {device}{default}: {}, {}, {}",
                info.device_name, info.architecture, info.backend
            )?;
            writeln!(out, "         memory {:.1} GiB", info.memory_size as f64 / (1u64 << 30) as f64)?;
            writeln!(out, "         features {}", info.features.join(" "))?;
        }
        if device_count(kind) == 0 {
            writeln!(out, "device   no {kind} was found")?;
        }
    }
    let report = memory::report();
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    writeln!(
        out,
        "memory   limit {:.1} GiB, cache limit {:.2} GiB",
        gib(report.limit),
        gib(report.cache_limit)
    )?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_listed() {
        let mut out = Vec::new();
        run(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Device(cpu, 0)"), "{text}");
    }
}
