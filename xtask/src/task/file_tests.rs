//! The step `file-tests`: files go to NumPy, MLX and safetensors and come back; captures are read and computed again by
//! pyarrow and NumPy.

use std::process::Command;

use super::programs;
use crate::need::{self, Need, VULKAN_DRIVER};
use crate::process::{self, Result};
use crate::summary::Tally;

/// The programs that write and read the files, and what runs the tests.
pub const NEEDS: &[Need] =
    &[VULKAN_DRIVER, Need::Python(&["numpy", "pyarrow", "mlx[cpu]==0.32.4", "safetensors", "pytest"])];

pub fn run() -> Result<Tally> {
    programs::build()?;
    let mut python = Command::new("python");
    let tests = ["tests/python/test_files.py", "tests/python/test_capture.py"];
    python.args(["-m", "pytest", "-q"]).args(tests).current_dir(process::root());
    if let Some(path) = need::search_path(NEEDS) {
        python.env("PATH", path);
    }
    process::run(&mut python)
}
