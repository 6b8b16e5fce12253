//! `cargo xtask viewer`: rebuilds the browser viewer and compares it with the one in the repository; and its tests.
//!
//! The built page is committed, so that building Pellucid needs no Node.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::programs;
use crate::need::{self, CHROMIUM, Need, VULKAN_DRIVER};
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

const PACKAGES: &[Need] = &[Need::Npm("viewer")];
/// What the tests need: traces are written by a Python program, and looked at in a browser.
pub const TEST_NEEDS: &[Need] =
    &[VULKAN_DRIVER, Need::Npm("viewer"), CHROMIUM, Need::Python(&["pyarrow", "numpy"])];

/// What the build needs.
pub fn needs() -> &'static [Need] {
    PACKAGES
}

fn folder() -> PathBuf {
    process::root().join("viewer")
}

fn npm(args: &[&str], needs: &[Need]) -> Command {
    let mut npm = Command::new("npm");
    npm.args(args).current_dir(folder());
    if let Some(path) = need::search_path(needs) {
        npm.env("PATH", path);
    }
    npm
}

/// Builds the page beside the committed one. Where they differ, the new one takes its place and the task fails, so that
/// it is looked at and committed.
pub fn run() -> Result<()> {
    PACKAGES.iter().try_for_each(|need| need.ensure())?;
    let built = process::root().join("target").join("viewer");
    process::run(npm(&["run", "build"], PACKAGES).env("VIEWER_OUT", &built))?;
    let read = |path: PathBuf| {
        fs::read(&path).map_err(|e| Failure::failed(format!("cannot read {}: {e}", path.display())))
    };
    let page = read(built.join("viewer.html"))?;
    let committed = folder().join("dist").join("viewer.html");
    if fs::read(&committed).is_ok_and(|old| old == page) {
        println!("viewer/dist/viewer.html is up to date ({} bytes)", page.len());
        return Ok(());
    }
    fs::write(&committed, &page)
        .map_err(|e| Failure::failed(format!("cannot write {}: {e}", committed.display())))?;
    Err(Failure::failed(
        "viewer/dist/viewer.html was out of date; it has been rebuilt and wants to be committed",
    ))
}

/// The page is what its sources say, and every view shows what it should.
pub fn test() -> Result<Tally> {
    run()?;
    programs::build()?;
    let mut tally = process::run(npm(&["test"], TEST_NEEDS).env("PELLUCID", programs::command()))?;
    tally.add(Tally::PASS);
    Ok(tally)
}
