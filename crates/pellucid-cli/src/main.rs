//! The `pellucid` command. Each subcommand is one module.
//!
//! Exit codes: 0 good, 1 found a difference or defect, 2 could not run.

mod capture;
mod check;
mod demo;
mod device_name;
mod diff;
mod elements;
mod export;
mod info;
mod open;
mod ops;
mod page;
mod progress;
mod recover;
mod replay;
mod rerun;
mod show;
mod summary;
mod text;
mod view;

use std::io::{self, Write};
use std::process::ExitCode;

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

/// The exit code of a command that could run (0, or 1 for a difference or defect that it has reported), or why it could
/// not.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let outcome = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args, &mut out),
        Command::Info(args) => info::run(&args, &mut out),
        Command::Capture(args) => capture::run(&args, &mut out),
        Command::Summary(args) => summary::run(&args, &mut out),
        Command::Ops(args) => ops::run(&args, &mut out),
        Command::Show(args) => show::run(&args, &mut out),
        Command::Replay(args) => replay::run(&args, &mut out),
        Command::Check(args) => check::run(&args, &mut out),
        Command::Diff(args) => diff::run(&args, &mut out),
        Command::Export(args) => export::run(&args, &mut out),
        Command::View(args) => view::run(&args, &mut out),
        Command::Recover(args) => recover::run(&args, &mut out),
    };
    match outcome.and_then(|code| Ok(out.flush().map(|()| code)?)) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// True if the reader of our output went away, as `head` does; that is no failure of ours.
fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
