//! `cargo xtask bench-capture`: what captures cost, against a build that has no observer.

use std::process::Command;

use crate::process::{self, Failure, Result};

/// Rounds in which both builds take turns; the best of each counts.
const ROUNDS: usize = 20;

pub fn run() -> Result<()> {
    build(&[])?;
    let with = kept("with")?;
    build(&["--features", "pellucid/uninstrumented"])?;
    let without = kept("without")?;
    let (mut instrumented, mut bare) = (f64::MAX, f64::MAX);
    for round in 1..=ROUNDS {
        instrumented = instrumented.min(figure(&with, "small", "ns_per_op")?);
        bare = bare.min(figure(&without, "small", "ns_per_op")?);
        println!(
            "round {round} of {ROUNDS}: {instrumented:.1} ns per operation, {bare:.1} ns without an observer"
        );
    }
    verdict("not capturing, 100,000 small operations", instrumented / bare - 1.0, 0.01);
    let block = output(&with, "block")?;
    let (bare, captured) = (number(&block, "bare_ms")?, number(&block, "captured_ms")?);
    println!("a transformer-like block: {bare:.3} ms, {captured:.3} ms in mode timeline");
    verdict("mode timeline on a block", captured / bare - 1.0, 0.10);
    let million = output(&with, "million")?;
    let (launches, peak) = (number(&million, "launches")?, number(&million, "peak_resident_mb")?);
    let (seconds, file) = (number(&million, "seconds")?, number(&million, "file_mb")?);
    println!(
        "{launches} launches captured in {seconds:.2} s, {file:.1} MB, peak {peak:.1} MB resident (limit 300)"
    );
    Ok(())
}

/// One line: how much was measured, and how much is allowed.
fn verdict(what: &str, share: f64, allowed: f64) {
    let mark = if share <= allowed { "within" } else { "ABOVE" };
    println!("{what}: {:+.2} %, {mark} {:.0} %", share * 100.0, allowed * 100.0);
}

fn build(extra: &[&str]) -> Result<()> {
    let args = ["build", "--release", "--package", "pellucid", "--example", "capture_cost"];
    process::run(process::cargo(&args).args(extra)).map(drop)
}

/// Copies the built program, since the next build takes its place.
fn kept(name: &str) -> Result<std::path::PathBuf> {
    let target = process::root().join("target/release/examples");
    let (from, to) = (target.join("capture_cost"), target.join(format!("capture_cost_{name}")));
    std::fs::copy(&from, &to).map_err(|e| Failure::failed(format!("cannot copy {}: {e}", from.display())))?;
    Ok(to)
}

fn output(program: &std::path::Path, case: &str) -> Result<serde_json::Value> {
    let done = Command::new(program).arg(case).output();
    let done = done.map_err(|e| Failure::failed(format!("cannot run {}: {e}", program.display())))?;
    if !done.status.success() {
        return Err(Failure::failed(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    serde_json::from_slice(&done.stdout).map_err(|e| Failure::failed(format!("{case}: {e}")))
}

fn figure(program: &std::path::Path, case: &str, name: &str) -> Result<f64> {
    number(&output(program, case)?, name)
}

fn number(value: &serde_json::Value, name: &str) -> Result<f64> {
    value[name].as_f64().ok_or_else(|| Failure::failed(format!("no {name} in {value}")))
}
