//! `cargo xtask bench-trace`: how long the summary of a trace of a million launches takes, and how much memory.

use std::process::Command;

use crate::process::{self, Failure, Result};

/// What the summary may take.
const MOST_SECONDS: f64 = 5.0;
const MOST_KIB: u64 = 1 << 20;

#[derive(clap::Args)]
pub struct Args {
    /// Launches of the trace
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    launches: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let examples = ["--example", "write_large", "--example", "trace_tool"];
    let mut build = process::cargo(&["build", "--release", "-p", "pellucid-trace"]);
    process::run(build.args(examples))?;
    let folder = process::root().join("target").join("release").join("examples");
    let file = process::root().join("target").join("bench-trace.pltrace");
    let remove = || match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::failed(format!("cannot remove {}: {error}", file.display())))
        }
        _ => Ok(()),
    };
    remove()?;
    let mut write = Command::new(folder.join("write_large"));
    process::run(write.arg(&file).arg(args.launches.to_string()))?;
    let measured = measure(Command::new(folder.join("trace_tool")).arg("summary").arg(&file));
    remove()?;
    let (seconds, kib) = measured?;
    println!("summary: {seconds:.2} s, {} MiB", kib / 1024);
    if seconds > MOST_SECONDS || kib > MOST_KIB {
        let limits = format!("more than {MOST_SECONDS} s or {} MiB", MOST_KIB / 1024);
        return Err(Failure::failed(limits));
    }
    Ok(())
}

/// Seconds and the largest resident size, as the program itself says at its end.
fn measure(command: &mut Command) -> Result<(f64, u64)> {
    let output = command.output().map_err(|e| Failure::failed(format!("trace_tool cannot run: {e}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Failure::failed(format!("trace_tool: {}: {said}", output.status)));
    }
    let value =
        |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    match (value("seconds "), value("peak KiB ")) {
        (Some(seconds), kib) => Ok((seconds, kib.unwrap_or(0.0) as u64)),
        _ => Err(Failure::failed(format!("trace_tool did not say how long it took: {said}"))),
    }
}
