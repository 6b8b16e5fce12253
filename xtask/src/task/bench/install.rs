//! Building and installing what takes part. What cannot be installed is left out and named.

use std::path::PathBuf;

use super::cases::Device;
use crate::need::{VULKAN_DRIVER, python};
use crate::process::{self, Result};

/// A runner and how to start it.
pub struct Program {
    pub name: &'static str,
    pub device: Device,
    pub path: PathBuf,
    pub args: Vec<String>,
}

impl Program {
    pub fn is_pellucid(&self) -> bool {
        self.name.starts_with("pellucid")
    }
}

pub struct Installed {
    pub programs: Vec<Program>,
    /// What is left out, and why.
    pub missing: Vec<(&'static str, String)>,
}

/// Python peers: the name, the package, and an index with a smaller build of it.
const PYTHON: &[(&str, &str, Option<&str>)] = &[
    ("numpy", "numpy", None),
    ("torch", "torch", Some("https://download.pytorch.org/whl/cpu")),
    ("mlx", "mlx[cpu]", None),
];
const RUST: &[(&str, Device)] =
    &[("candle", Device::Cpu), ("burn-flex", Device::Cpu), ("burn-wgpu", Device::Gpu)];

/// Builds Pellucid and as many peers as there can be. `only` names the peers that are wanted.
pub fn all(devices: &[Device], only: Option<&[String]>) -> Result<Installed> {
    let wanted = |name: &str, device: Device| {
        devices.contains(&device) && only.is_none_or(|names| names.iter().any(|n| n == name))
    };
    if devices.contains(&Device::Gpu) {
        VULKAN_DRIVER.ensure()?;
    }
    let mut installed = Installed { programs: pellucid(devices)?, missing: Vec::new() };
    for &(name, package, index) in PYTHON.iter().filter(|(name, ..)| wanted(name, Device::Cpu)) {
        match python::ensure_from(package, index) {
            Ok(()) => installed.programs.push(Program {
                name,
                device: Device::Cpu,
                path: python::bin().join("python"),
                args: vec![
                    process::root().join("bench/python/peers.py").display().to_string(),
                    name.to_owned(),
                ],
            }),
            Err(why) => {
                installed.missing.push((name, format!("{why}; install Python 3 with pip, and `{package}`")))
            }
        }
    }
    rust(&mut installed, &wanted);
    Ok(installed)
}

fn executable(program: &str) -> PathBuf {
    format!("{program}{}", std::env::consts::EXE_SUFFIX).into()
}

/// Pellucid's own runner, for each device that is measured.
fn pellucid(devices: &[Device]) -> Result<Vec<Program>> {
    process::run(&mut process::cargo(&["build", "--release", "-p", "bench-pellucid"]))?;
    let path = target().join("release").join(executable("bench-pellucid"));
    let program = |&device: &Device| match device {
        Device::Cpu => Program { name: "pellucid", device, path: path.clone(), args: vec!["cpu".to_owned()] },
        Device::Gpu => {
            Program { name: "pellucid-gpu", device, path: path.clone(), args: vec!["gpu".to_owned()] }
        }
    };
    Ok(devices.iter().map(program).collect())
}

/// The peers in Rust are built together: they share most of what takes long.
fn rust(installed: &mut Installed, wanted: &dyn Fn(&str, Device) -> bool) {
    let peers: Vec<_> = RUST.iter().filter(|(name, device)| wanted(name, *device)).collect();
    if peers.is_empty() {
        return;
    }
    let folder = target().join("bench-peers");
    let folder_text = folder.display().to_string();
    let build = [
        "build",
        "--release",
        "--manifest-path",
        "bench/peers/Cargo.toml",
        "--target-dir",
        folder_text.as_str(),
    ];
    let built = process::run(&mut process::cargo(&build));
    for &&(name, device) in &peers {
        match &built {
            Ok(_) => installed.programs.push(Program {
                name,
                device,
                path: folder.join("release").join(executable("bench-peers")),
                args: vec![name.to_owned()],
            }),
            Err(why) => {
                installed.missing.push((name, format!("{why}; it needs access to a package registry")))
            }
        }
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| process::root().join("target"), PathBuf::from)
}

pub fn print_missing(installed: &Installed) {
    for (name, why) in &installed.missing {
        println!("left out: {name}: {why}");
    }
}

/// Pellucid's runner as a program for other questions.
pub fn runner(installed: &Installed) -> Option<&Program> {
    installed.programs.iter().find(|p| p.is_pellucid())
}
