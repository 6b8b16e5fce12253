//! What a step needs beside Rust: how to see whether it is there, and how to get it.

mod apt;
mod node;
pub mod python;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::process::{self, Failure, Result};

/// Something outside this repository that a step uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Debian packages, present if the probe finds them.
    System(&'static [&'static str], Probe),
    /// A component of the Rust toolchain and the cargo command that it brings.
    RustComponent(&'static str, &'static str),
    /// Python packages, in a virtual environment of their own. The step finds its `python` first in `PATH`.
    Python(&'static [&'static str]),
    /// Node itself, new enough. The step finds its `node` first in `PATH`.
    Node,
    /// The packages named in the `package.json` of this folder.
    Npm(&'static str),
}

/// How to see that a system package is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A program in the search path.
    Program(&'static str),
    /// Files, all of them.
    Files(&'static [&'static str]),
    /// A Vulkan driver, in hardware or software. Only Linux needs one: macOS has Metal, Windows DirectX.
    VulkanDriver,
}

/// Draws graphs.
pub const GRAPHVIZ: Need = Need::System(&["graphviz"], Probe::Program("dot"));
/// A software adapter, for machines without one.
pub const VULKAN_DRIVER: Need = Need::System(&["mesa-vulkan-drivers"], Probe::VulkanDriver);
/// A compiler that comes with the source of the standard library, to check targets whose standard library is not
/// installed.
pub const STD_SOURCE: Need = Need::System(
    &["rustc-web", "rust-web-src"],
    Probe::Files(&["/usr/bin/rustc", "/usr/lib/rustlib/src/rust/library/std/Cargo.toml"]),
);
/// A browser to look at the viewer with.
pub const CHROMIUM: Need = Need::System(&["chromium"], Probe::Program("chromium"));
/// Runs Node programs and installs their packages.
pub const NODE: Need = Need::System(&["nodejs", "npm"], Probe::Program("npm"));
pub const RUSTFMT: Need = Need::RustComponent("rustfmt", "cargo-fmt");
pub const CLIPPY: Need = Need::RustComponent("clippy", "cargo-clippy");

/// The needs that `cargo xtask setup` installs, whether or not a step of `cargo xtask test` uses them.
pub const ALL: &[Need] = &[RUSTFMT, CLIPPY, GRAPHVIZ, VULKAN_DRIVER, STD_SOURCE];

impl Need {
    /// What it is, for tables.
    pub fn name(self) -> String {
        match self {
            Need::System(packages, _) => packages.join(" "),
            Need::RustComponent(name, _) => name.to_owned(),
            Need::Python(packages) => format!("Python: {}", packages.join(" ")),
            Need::Node => "Node".to_owned(),
            Need::Npm(folder) => format!("npm packages of {folder}/"),
        }
    }

    /// Makes sure that it is there, installing it if it is not.
    ///
    /// # Errors
    /// `Failure::Missing` with the command to run where it cannot be installed from here.
    pub fn ensure(self) -> Result<()> {
        match self {
            Need::System(_, probe) if probe.finds() => Ok(()),
            Need::System(packages, probe) => {
                apt::install(packages)?;
                if probe.finds() {
                    return Ok(());
                }
                Err(Failure::Missing(format!(
                    "{} is installed, but {probe:?} still fails",
                    packages.join(" ")
                )))
            }
            Need::RustComponent(name, program) => rust_component(name, program),
            Need::Python(packages) => python::ensure(packages),
            Need::Node => node::runtime(),
            Need::Npm(folder) => node::ensure(folder),
        }
    }

    /// A folder to put first in the search path of the step, if this need has one.
    pub fn path(self) -> Option<PathBuf> {
        match self {
            Need::Python(_) => Some(python::bin()),
            Need::Node | Need::Npm(_) => node::bin(),
            _ => None,
        }
    }
}

impl Probe {
    pub fn finds(self) -> bool {
        match self {
            Probe::Program(name) => process::has_program(name),
            Probe::Files(paths) => paths.iter().all(|path| Path::new(path).exists()),
            Probe::VulkanDriver => {
                let named =
                    ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|v| std::env::var_os(v).is_some());
                let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
                !cfg!(target_os = "linux") || named || folders.iter().any(|f| holds_json(Path::new(f)))
            }
        }
    }
}

fn holds_json(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().extension().is_some_and(|e| e == "json"))
}

fn rust_component(name: &str, program: &str) -> Result<()> {
    // With rustup the program is always in the path, but only works once the component is installed.
    if process::succeeds(program, &["--version"]) {
        return Ok(());
    }
    if process::has_program("rustup") && process::succeeds("rustup", &["component", "add", name]) {
        return Ok(());
    }
    Err(Failure::Missing(format!("{name} is not installed; run: rustup component add {name}")))
}

/// The search path with the folders of these needs in front, or `None` if they have none.
pub fn search_path(needs: &[Need]) -> Option<OsString> {
    let mut folders: Vec<PathBuf> = needs.iter().filter_map(|need| need.path()).collect();
    if folders.is_empty() {
        return None;
    }
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(folders).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_a_json_file_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("xtask-icd-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(!holds_json(&folder));
        std::fs::write(folder.join("readme.txt"), "").unwrap();
        assert!(!holds_json(&folder));
        std::fs::write(folder.join("lvp_icd.x86_64.json"), "{}").unwrap();
        assert!(holds_json(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!holds_json(&folder));
    }

    #[test]
    fn only_python_steps_get_a_search_path() {
        assert_eq!(search_path(&[GRAPHVIZ, CLIPPY]), None);
        let path = search_path(&[Need::Python(&["numpy"])]).unwrap();
        assert_eq!(std::env::split_paths(&path).next(), Some(python::bin()));
    }
}
