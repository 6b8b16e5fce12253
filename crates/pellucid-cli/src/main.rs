//! The `pellucid` command.
//!
//! Exit codes: 0 good, 1 found a difference or defect, 2 could not run.

use std::io::{self, Write};
use std::process::ExitCode;

use pellucid_cli::UNABLE;

fn main() -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let outcome = pellucid_cli::run(std::env::args_os(), &mut out);
    match outcome.and_then(|code| Ok(out.flush().map(|()| code)?)) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<clap::Error>() {
            Some(usage) => usage.exit(),
            None => {
                eprintln!("error: {error}");
                ExitCode::from(UNABLE)
            }
        },
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
