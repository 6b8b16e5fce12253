//! The step `features`: every combination of the library's features compiles without a warning, the smallest one works,
//! and none needs a compiler newer than the `rust-version` of the workspace.

use std::process::Command;

use serde_json::Value;

use crate::process::{self, Failure, Result};
use crate::summary::Tally;

/// Besides the default, which the step `clippy` checks. The smallest one is compiled and tried.
const COMBINATIONS: &[&str] = &["", "gpu", "capture"];

/// The tests of a build without features.
const SMALLEST: &[&str] = &["test", "-p", "pellucid", "--no-default-features", "--test", "without_features"];

pub fn run() -> Result<Tally> {
    let mut tally = Tally::default();
    for features in COMBINATIONS {
        // The lint knows `rust-version`: it refuses names of the standard library that are younger.
        process::run(&mut process::cargo(&[
            "clippy",
            "-p",
            "pellucid",
            "--no-default-features",
            "--features",
            features,
            "--",
            "-D",
            "warnings",
            "-D",
            "clippy::incompatible_msrv",
        ]))?;
        tally.add(Tally::PASS);
    }
    tally.add(process::run(&mut process::cargo(SMALLEST))?);
    check_rust_versions()?;
    tally.add(Tally::PASS);
    Ok(tally)
}

/// No crate that the published ones depend on may ask for a newer compiler than they promise.
fn check_rust_versions() -> Result<()> {
    let metadata = metadata()?;
    let promised = promised(&metadata).ok_or_else(|| Failure::failed("pellucid has no rust-version"))?;
    let newer = newer(&metadata, promised);
    if newer.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!("rust-version is {}.{}, but {}", promised.0, promised.1, newer.join(", "))))
}

fn metadata() -> Result<Value> {
    let mut command: Command = process::cargo(&["metadata", "--format-version", "1", "--locked"]);
    let output =
        command.output().map_err(|e| Failure::failed(format!("cannot start `cargo metadata`: {e}")))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| Failure::failed(format!("`cargo metadata` says nothing that can be read: {e}")))
}

type Version = (u32, u32);

fn version(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn packages(metadata: &Value) -> impl Iterator<Item = (&str, Option<Version>)> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.filter_map(|p| Some((p["name"].as_str()?, p["rust_version"].as_str().and_then(version))))
}

fn promised(metadata: &Value) -> Option<Version> {
    packages(metadata).find(|(name, _)| *name == "pellucid").and_then(|(_, version)| version)
}

fn newer(metadata: &Value, promised: Version) -> Vec<String> {
    let newer =
        packages(metadata).filter_map(|(name, version)| Some((name, version.filter(|&v| v > promised)?)));
    newer.map(|(name, (major, minor))| format!("{name} needs {major}.{minor}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_needs_a_newer_compiler_is_found() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "pellucid", "rust_version": "1.90" },
            { "name": "old", "rust_version": "1.56.1" },
            { "name": "silent", "rust_version": null },
            { "name": "new", "rust_version": "1.91.0" },
        ]});
        assert_eq!(promised(&metadata), Some((1, 90)));
        assert_eq!(newer(&metadata, (1, 90)), ["new needs 1.91"]);
        assert!(newer(&metadata, (1, 91)).is_empty());
    }

    #[test]
    fn the_crates_in_use_need_no_newer_compiler() {
        check_rust_versions().unwrap();
    }
}
