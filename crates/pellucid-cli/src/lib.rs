//! The `pellucid` command as a library: [`run`] is the whole command, so that a program can look at its own traces where
//! its own kernels are known, and tests need no second process. Each subcommand is one module.

mod capture;
mod check;
mod demo;
mod device_name;
mod diff;
mod elements;
mod existing;
mod export;
mod info;
mod open;
mod ops;
mod page;
mod progress;
mod recover;
mod replay;
mod rerun;
mod serve;
mod show;
mod skipped;
mod summary;
mod text;
mod view;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};

/// See what your array code runs.
#[derive(Parser)]
#[command(name = "pellucid", version, after_help = "Begin with: pellucid demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run and capture a small example on several streams, and show what ran
    Demo(demo::Args),
    /// Show the devices of this machine, and what is missing
    Info(info::Args),
    /// Run a program built on Pellucid and capture what it does
    Capture(capture::Args),
    /// Show where the time and the memory of a trace went, and what could be better
    Summary(summary::Args),
    /// List the operations of a trace
    Ops(ops::Args),
    /// Show one operation with its inputs, result, kernel and timing
    Show(show::Args),
    /// Run a trace again, on any device, without the program
    Replay(replay::Args),
    /// Find the first NaN, disagreements between devices, and what is not the same twice
    Check(check::Args),
    /// Compare two traces
    Diff(diff::Args),
    /// Write a trace for other tools
    Export(export::Args),
    /// Show a trace in the browser
    View(view::Args),
    /// Save what is complete in a trace whose program was killed
    Recover(recover::Args),
}

/// Exit code: nothing is wrong.
pub const GOOD: u8 = 0;
/// Exit code: a difference or defect was found and reported.
pub const FOUND: u8 = 1;
/// Exit code: what was asked for could not be done.
pub const UNABLE: u8 = 2;

/// The exit code of a command that could run, or why it could not.
pub type Outcome = Result<u8, Box<dyn std::error::Error>>;

/// Runs the command with these arguments, the first of which is its own name, and writes what it has to say to `out`.
///
/// ```
/// let mut out = Vec::new();
/// let code = pellucid_cli::run(["pellucid", "info"], &mut out)?;
/// assert_eq!(code, pellucid_cli::GOOD);
/// assert!(String::from_utf8(out)?.contains("Device(cpu, 0)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A [`clap::Error`] for arguments that are not understood, and for help; else whatever stands in the way.
pub fn run<A: Into<OsString> + Clone>(args: impl IntoIterator<Item = A>, out: &mut impl Write) -> Outcome {
    match Cli::try_parse_from(args)?.command {
        Command::Demo(args) => demo::run(&args, out),
        Command::Info(args) => info::run(&args, out),
        Command::Capture(args) => capture::run(&args, out),
        Command::Summary(args) => summary::run(&args, out),
        Command::Ops(args) => ops::run(&args, out),
        Command::Show(args) => show::run(&args, out),
        Command::Replay(args) => replay::run(&args, out),
        Command::Check(args) => check::run(&args, out),
        Command::Diff(args) => diff::run(&args, out),
        Command::Export(args) => export::run(&args, out),
        Command::View(args) => view::run(&args, out),
        Command::Recover(args) => recover::run(&args, out),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
