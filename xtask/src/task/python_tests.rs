//! The step `python-tests`: builds the wheel, installs it, and compares it with the published mlx.

use std::process::Command;

use super::programs;
use crate::need::{self, Need};
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

/// What builds the wheel, what the package is compared with, and what runs the tests.
pub const NEEDS: &[Need] = &[Need::Python(&[
    "maturin>=1.9,<2",
    "numpy",
    "mlx[cpu]==0.32.4",
    // Runs on both; it names the packages that it needs itself.
    "mlx-lm==0.32.2",
    "pyarrow",
    "pandas",
    "polars",
    "ml_dtypes",
    "pytest",
])];

const CRATE: &str = "crates/pellucid-python";
/// Its manifest.
pub const MANIFEST: &str = "crates/pellucid-python/Cargo.toml";

pub fn run() -> Result<Tally> {
    // The tests open a trace with the command.
    programs::build()?;
    install()?;
    let mut tests = python(&["-m", "pytest", "-q", CRATE]);
    tests.env("PELLUCID_COMMAND", programs::command());
    process::run(&mut tests)
}

/// Builds the wheel with the profile that the other steps have built with, and installs it.
fn install() -> Result<()> {
    let folder = process::root().join("target").join("python-wheel");
    // An older wheel in the folder would be installed if its version were higher.
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .map_err(|e| Failure::failed(format!("cannot empty {}: {e}", folder.display())))?;
    }
    let target = folder.to_string_lossy();
    process::run(&mut python(&[
        "-m",
        "maturin",
        "build",
        "--profile",
        "dev",
        "--manifest-path",
        MANIFEST,
        "--interpreter",
        "python",
        "--out",
        &target,
    ]))?;
    process::run(&mut python(&[
        "-m",
        "pip",
        "install",
        "--quiet",
        "--force-reinstall",
        "--no-deps",
        "--no-index",
        "--find-links",
        &target,
        "pellucid",
    ]))?;
    Ok(())
}

fn python(args: &[&str]) -> Command {
    let mut python = Command::new("python");
    python.args(args).current_dir(process::root());
    if let Some(path) = need::search_path(NEEDS) {
        python.env("PATH", path);
    }
    python
}
