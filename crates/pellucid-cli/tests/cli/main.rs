//! The command from end to end: the built program on traces, some captured here and some written by hand.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod both_devices;
mod broken;
mod captured;
mod custom;
mod fixture;
mod hostile;
mod served;
mod shown;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pellucid::{Device, DeviceType, device_count};

/// What a command said, and its exit code.
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// A capture sees the whole process: whoever evaluates or captures in this one does it alone.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The devices of this machine, by the names that the command takes.
fn devices() -> Vec<(&'static str, Device)> {
    let mut devices = vec![("cpu", Device::cpu())];
    if device_count(DeviceType::Gpu) > 0 {
        devices.push(("gpu", Device::gpu()));
    }
    devices
}

/// Runs the command.
fn pellucid(args: &[&str]) -> Said {
    said(Command::new(env!("CARGO_BIN_EXE_pellucid")).args(args).output().unwrap())
}

fn said(output: Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    Said { code: output.status.code().unwrap(), out, err }
}

/// Runs the command and expects it to find nothing wrong.
fn good(args: &[&str]) -> String {
    let said = pellucid(args);
    assert_eq!(said.code, 0, "{args:?}: {}{}", said.out, said.err);
    said.out
}

fn json(args: &[&str]) -> serde_json::Value {
    let mut args = args.to_vec();
    args.push("--json");
    serde_json::from_str(&pellucid(&args).out).unwrap()
}

/// A folder that is removed at the end, and names in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
