//! The step `file-tests`: files go to NumPy, MLX and safetensors and come back.

use std::process::Command;

use crate::need::{self, Need};
use crate::process::{self, Result};
use crate::summary::Tally;

/// The programs that write and read the files, and what runs the tests.
pub const NEEDS: &[Need] = &[Need::Python(&["numpy", "mlx[cpu]==0.32.4", "safetensors", "pytest"])];

pub fn run() -> Result<Tally> {
    process::run(&mut process::cargo(&["build", "-p", "pellucid", "--example", "files"]))?;
    let mut python = Command::new("python");
    python.args(["-m", "pytest", "-q", "tests/python/test_files.py"]).current_dir(process::root());
    if let Some(path) = need::search_path(NEEDS) {
        python.env("PATH", path);
    }
    process::run(&mut python)
}
