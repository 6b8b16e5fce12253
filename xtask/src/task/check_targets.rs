//! `cargo xtask check-targets`: type-checks the code for Apple and Windows on any machine.
//!
//! Checking needs the standard library of the target, but no linker and no system libraries. If it is installed for
//! the toolchain in use, it serves. Otherwise it is checked along with the library from source, which needs a
//! compiler that comes with that source, such as Debian's `rustc-web`.

use std::path::Path;
use std::process::Command;

use crate::need::STD_SOURCE;
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

const TARGETS: &[&str] = &["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
const PACKAGES: &[&str] = &["pellucid", "pellucid-cli"];
/// The compiler of Debian's packages, which may not be the first in the search path.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Checks every target; each counts as one test.
pub fn run() -> Result<Tally> {
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for target in TARGETS {
        match check(target) {
            Ok(()) => tally.add(Tally::PASS),
            Err(Failure::Missing(what)) => {
                return Err(Failure::Missing(format!(
                    "{what} (or: rustup target add {})",
                    TARGETS.join(" ")
                )));
            }
            Err(failure) => {
                tally.add(Tally::FAIL);
                failures.push(failure.to_string());
            }
        }
    }
    if failures.is_empty() { Ok(tally) } else { Err(Failure::Failed(failures.join("; "), tally)) }
}

fn check(target: &str) -> Result<()> {
    // A folder of its own keeps the other compiler from invalidating the normal build.
    let mut command = process::cargo(&["check", "--target-dir", "target/check-targets", "--target", target]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    if !has_std(target) {
        STD_SOURCE.ensure()?;
        command.args(["-Z", "build-std=std,panic_abort"]);
        command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
    }
    process::run(&mut command).map(drop)
}

/// True if the standard library of the target is installed for the compiler in use.
fn has_std(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    let Ok(output) = output else { return false };
    let folder = String::from_utf8_lossy(&output.stdout);
    let Ok(mut entries) = Path::new(folder.trim()).read_dir() else { return false };
    entries.any(|entry| entry.is_ok_and(|e| e.file_name().to_string_lossy().starts_with("libstd-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_of_an_unknown_target_is_not_installed() {
        assert!(!has_std("no-such-target"));
    }
}
