//! Installing Debian packages.

use std::process::Command;
use std::sync::OnceLock;

use crate::process::{self, Failure, Result};

/// Installs packages by name.
///
/// # Errors
/// `Failure::Missing` with the command to run, if this user may not install packages or apt-get does not succeed.
pub fn install(packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if !process::has_program("apt-get") {
        return Err(Failure::Missing(format!(
            "missing: {list} (names of Debian packages); install them with your system's package manager"
        )));
    }
    let by_hand = format!("sudo apt-get update && sudo apt-get install -y {list}");
    let Some(prefix) = privilege() else {
        return Err(Failure::Missing(format!("missing: {list}; run: {by_hand}")));
    };
    // A fresh machine has no package lists at all, an old one has lists that point to packages long gone.
    static UPDATED: OnceLock<bool> = OnceLock::new();
    let updated = *UPDATED.get_or_init(|| process::run(&mut apt_get(prefix, &["update", "-qq"])).is_ok());
    let mut install = apt_get(prefix, &["install", "-y", "-qq", "--no-install-recommends"]);
    match process::run(install.args(packages)) {
        Ok(_) => Ok(()),
        Err(failure) => {
            let lists = if updated { "" } else { " (the package lists could not be updated)" };
            Err(Failure::Missing(format!("{failure}{lists}; run: {by_hand}")))
        }
    }
}

/// The words to put before a command that needs root, or `None` if it cannot be had without asking.
fn privilege() -> Option<&'static [&'static str]> {
    if is_root() {
        Some(&["env"])
    } else if process::succeeds("sudo", &["-n", "true"]) {
        Some(&["sudo", "-n", "env"])
    } else {
        None
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt_get(prefix: &[&str], args: &[&str]) -> Command {
    let mut command = Command::new(prefix[0]);
    command.args(&prefix[1..]).args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(args);
    command
}
