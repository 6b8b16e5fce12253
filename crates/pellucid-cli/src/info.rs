//! `pellucid info`: versions, devices and memory, what is missing and how to get it.

use std::env::consts;
use std::io::Write;

use pellucid::{Device, DeviceType, default_device, device_count, device_info, memory};
use serde::Serialize;

use crate::{GOOD, Outcome, text};

/// The options of `pellucid info`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pellucid info --json\n  pellucid info --roof")]
pub struct Args {
    /// Also measure how fast each device is, which takes a moment
    #[arg(long)]
    roof: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Info {
    version: &'static str,
    trace_version: u32,
    system: String,
    cores: usize,
    devices: Vec<DeviceFacts>,
    memory: MemoryFacts,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct DeviceFacts {
    device: String,
    default: bool,
    name: String,
    architecture: String,
    backend: String,
    memory_bytes: u64,
    driver: String,
    features: Vec<String>,
    roof: Option<RoofFacts>,
}

#[derive(Serialize)]
struct RoofFacts {
    bytes_per_second: f64,
    flops_per_second: f64,
}

#[derive(Serialize)]
struct MemoryFacts {
    active: u64,
    cache: u64,
    peak: u64,
    limit: u64,
    cache_limit: u64,
}

#[derive(Serialize)]
struct Missing {
    what: &'static str,
    means: &'static str,
    get: &'static str,
}

/// Prints what this machine offers.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let info = gather(args.roof)?;
    if args.json {
        text::json(out, &info)?;
    } else {
        print(&info, out)?;
    }
    Ok(GOOD)
}

fn gather(roof: bool) -> Result<Info, Box<dyn std::error::Error>> {
    let mut devices = Vec::new();
    for kind in [DeviceType::Cpu, DeviceType::Gpu] {
        for index in 0..device_count(kind) {
            let device = Device::new(kind, index);
            let info = device_info(device)?;
            let roof = if roof { Some(pellucid::roof(device)?) } else { None };
            devices.push(DeviceFacts {
                device: device.to_string(),
                default: device == default_device(),
                name: info.device_name,
                architecture: info.architecture,
                backend: info.backend,
                memory_bytes: info.memory_size,
                driver: info.driver,
                features: info.features,
                roof: roof.map(|r| RoofFacts {
                    bytes_per_second: r.bytes_per_second,
                    flops_per_second: r.flops_per_second,
                }),
            });
        }
    }
    let report = memory::report();
    Ok(Info {
        version: env!("CARGO_PKG_VERSION"),
        trace_version: pellucid_trace::schema::VERSION,
        system: format!("{} {}", consts::OS, consts::ARCH),
        cores: std::thread::available_parallelism()?.get(),
        devices,
        memory: MemoryFacts {
            active: report.active,
            cache: report.cache,
            peak: report.peak,
            limit: report.limit,
            cache_limit: report.cache_limit,
        },
        missing: missing(),
    })
}

fn missing() -> Vec<Missing> {
    let mut missing = Vec::new();
    if device_count(DeviceType::Gpu) == 0 {
        let get = if cfg!(target_os = "linux") {
            "install a Vulkan driver; on Debian and Ubuntu `apt install mesa-vulkan-drivers`, which also brings a software adapter"
        } else {
            "install the driver of the GPU's maker"
        };
        missing.push(Missing { what: "GPU", means: "everything runs on the CPU", get });
    }
    if !in_path("dot") {
        let get = "install Graphviz; on Debian and Ubuntu `apt install graphviz`";
        missing.push(Missing { what: "dot", means: "`export --format dot` cannot be drawn here", get });
    }
    missing
}

fn in_path(program: &str) -> bool {
    let name = format!("{program}{}", consts::EXE_SUFFIX);
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|p| p.join(&name).is_file()))
}

fn print(info: &Info, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "pellucid {}, traces of version {}", info.version, info.trace_version)?;
    writeln!(out, "system   {}, {} cores", info.system, info.cores)?;
    for d in &info.devices {
        let default = if d.default { " (default)" } else { "" };
        writeln!(out, "device   {}{default}: {}, {}, {}", d.device, d.name, d.architecture, d.backend)?;
        let driver = if d.driver.is_empty() { String::new() } else { format!(", driver {}", d.driver) };
        writeln!(out, "         memory {}{driver}", text::bytes(d.memory_bytes))?;
        if let Some(roof) = &d.roof {
            writeln!(out, "         reaches {}", text::roof(roof.bytes_per_second, roof.flops_per_second))?;
        }
        if !d.features.is_empty() {
            writeln!(out, "         features {}", d.features.join(" "))?;
        }
    }
    let m = &info.memory;
    let [limit, cache_limit] = [m.limit, m.cache_limit].map(text::bytes);
    writeln!(out, "memory   limit {limit}, at most {cache_limit} of it kept for reuse")?;
    let [active, cache, peak] = [m.active, m.cache, m.peak].map(text::bytes);
    writeln!(out, "         now {active} held by arrays, {cache} kept, peak {peak}")?;
    for m in &info.missing {
        writeln!(out, "missing  {}: {}; {}", m.what, m.means, m.get)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_listed() {
        let mut out = Vec::new();
        run(&Args { json: false, roof: false }, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Device(cpu, 0)"), "{text}");
    }
}
