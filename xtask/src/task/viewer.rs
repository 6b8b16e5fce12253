//! `cargo xtask viewer`: builds the browser viewer into one HTML file.

use std::process::Command;

use crate::need::Need;
use crate::process::{self, Failure, Result};

const PACKAGES: &[Need] = &[Need::Npm("viewer")];

fn exists() -> bool {
    process::root().join("viewer").join("package.json").is_file()
}

/// What the build needs; nothing as long as there is no viewer.
pub fn needs() -> &'static [Need] {
    if exists() { PACKAGES } else { &[] }
}

pub fn run() -> Result<()> {
    if !exists() {
        return Err(Failure::Missing(
            "there is no viewer yet: viewer/package.json does not exist".to_owned(),
        ));
    }
    PACKAGES.iter().try_for_each(|need| need.ensure())?;
    let mut npm = Command::new("npm");
    npm.args(["run", "build"]).current_dir(process::root().join("viewer"));
    process::run(&mut npm).map(drop)
}
