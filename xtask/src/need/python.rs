//! Python packages, in a virtual environment under `target/` that nothing else uses.

use std::path::PathBuf;
use std::process::Command;

use super::apt;
use crate::process::{self, Failure, Result};

fn folder() -> PathBuf {
    process::root().join("target").join("xtask-venv")
}

/// Where the environment's programs are.
pub fn bin() -> PathBuf {
    folder().join(if cfg!(windows) { "Scripts" } else { "bin" })
}

/// Makes sure that the environment exists and has these packages (names, or requirements such as `numpy>=2`).
pub fn ensure(packages: &[&str]) -> Result<()> {
    let python = bin().join("python");
    if !process::succeeds(&python.to_string_lossy(), &["-m", "pip", "--version"]) {
        create()?;
    }
    let missing: Vec<&str> = packages.iter().copied().filter(|p| !has(p)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(&missing);
    process::run(&mut pip).map_err(|failure| {
        Failure::Missing(format!("cannot install the Python packages {}: {failure}", missing.join(" ")))
    })?;
    note(&missing)
}

/// The list of what was asked for. Asking pip instead would take a second for each step.
fn list() -> PathBuf {
    folder().join("installed.txt")
}

fn has(package: &str) -> bool {
    std::fs::read_to_string(list()).is_ok_and(|text| text.lines().any(|line| line == package))
}

fn note(packages: &[&str]) -> Result<()> {
    let text = std::fs::read_to_string(list()).unwrap_or_default() + &packages.join("\n") + "\n";
    std::fs::write(list(), text)
        .map_err(|e| Failure::failed(format!("cannot write {}: {e}", list().display())))
}

/// Makes sure of one package, tried first from another index that has a smaller build of it.
pub fn ensure_from(package: &str, index: Option<&str>) -> Result<()> {
    let Some(index) = index else { return ensure(&[package]) };
    ensure(&[])?;
    if !has(package) {
        let python = bin().join("python");
        let pip = ["-m", "pip", "install", "--quiet", "--retries", "0", "--index-url", index, package];
        if process::succeeds(&python.to_string_lossy(), &pip) {
            return note(&[package]);
        }
    }
    ensure(&[package])
}

/// Makes the environment. Debian's Python comes without the parts for it, so that a first failure means to install
/// them and try again.
fn create() -> Result<()> {
    if venv() {
        return Ok(());
    }
    apt::install(&["python3", "python3-venv", "python3-pip"])?;
    if venv() {
        return Ok(());
    }
    Err(Failure::Missing(
        "`python3 -m venv` fails; install Python 3 with its venv and pip modules".to_owned(),
    ))
}

fn venv() -> bool {
    let folder = folder();
    process::succeeds("python3", &["-m", "venv", "--clear", &folder.to_string_lossy()])
        && bin().join("python").exists()
}
