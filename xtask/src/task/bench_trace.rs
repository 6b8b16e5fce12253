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
    let Measured { seconds, busy, kib } = measured?;
    println!("summary: {seconds:.2} s, {busy:.2} s of processors, {} MiB", kib / 1024);
    // On a machine that does other work as well, the time of the processors is what it would take on one that does not.
    if seconds.min(busy) > MOST_SECONDS || kib > MOST_KIB {
        let limits = format!("more than {MOST_SECONDS} s or {} MiB", MOST_KIB / 1024);
        return Err(Failure::failed(limits));
    }
    Ok(())
}

struct Measured {
    seconds: f64,
    busy: f64,
    kib: u64,
}

/// What the program itself says at its end.
fn measure(command: &mut Command) -> Result<Measured> {
    let output = command.output().map_err(|e| Failure::failed(format!("trace_tool cannot run: {e}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Failure::failed(format!("trace_tool: {}: {said}", output.status)));
    }
    let value =
        |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    let Some(seconds) = value("seconds ") else {
        return Err(Failure::failed(format!("trace_tool did not say how long it took: {said}")));
    };
    // Other systems than Linux tell neither.
    let busy = value("processor seconds ").unwrap_or(seconds);
    Ok(Measured { seconds, busy, kib: value("peak KiB ").unwrap_or(0.0) as u64 })
}
