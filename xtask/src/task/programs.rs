//! The command and the example programs, which several steps run.
//!
//! They are built all together with the flags of the step `tests`: packages on their own would get other features of
//! shared dependencies, and nearly everything would be compiled again for each step.

use std::path::PathBuf;

use crate::process::{self, Result};

/// Builds the command and all examples.
pub fn build() -> Result<()> {
    let args = ["build", "--workspace", "--exclude", "pellucid-python", "--bins", "--examples"];
    process::run(&mut process::cargo(&args)).map(drop)
}

/// The `pellucid` command of this build.
pub fn command() -> PathBuf {
    let name = format!("pellucid{}", std::env::consts::EXE_SUFFIX);
    process::root().join("target").join("debug").join(name)
}
