//! The `pellucid` command. Each subcommand is one module.
//!
//! Exit codes: 0 good, 1 found a difference or defect, 2 could not run.

mod demo;
mod info;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// See what your array code runs.
#[derive(Parser)]
#[command(name = "pellucid", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a small example on several streams and show what ran
    Demo(demo::Args),
    /// Show the devices of this machine
    Info,
}

/// The exit code of a command that could run (0, or 1 for a difference or defect that it has reported), or why it could
/// not.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut out = io::stdout().lock();
    let outcome = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args, &mut out),
        Command::Info => info::run(&mut out),
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
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
