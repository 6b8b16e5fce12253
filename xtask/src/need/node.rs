//! Node packages of a folder with a `package.json`.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use super::NODE;
use crate::process::{self, Failure, Result};

/// Makes sure that the packages of this folder are installed as its lock file says.
pub fn ensure(folder: &str) -> Result<()> {
    NODE.ensure()?;
    let folder = process::root().join(folder);
    let installed = changed(&folder.join("node_modules").join(".package-lock.json"));
    let wanted = changed(&folder.join("package-lock.json"));
    if installed.is_some() && installed >= wanted {
        return Ok(());
    }
    let action = if wanted.is_some() { "ci" } else { "install" };
    let mut npm = Command::new("npm");
    npm.args([action, "--no-audit", "--no-fund"]).current_dir(&folder);
    match process::run(&mut npm) {
        Ok(_) => Ok(()),
        Err(failure) => {
            Err(Failure::Missing(format!("{failure}; run `npm {action}` in {}", folder.display())))
        }
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|m| m.modified()).ok()
}
