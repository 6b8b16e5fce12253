//! `pellucid capture`: runs a program built on Pellucid with capturing switched on from outside.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::ValueEnum;
use pellucid_trace::{Error, Trace};

use crate::existing::make_way;
use crate::{Outcome, UNABLE, text};

/// The options of `pellucid capture`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pellucid capture -o run.pltrace -- ./train --steps 3\n  \
    pellucid capture --skip 10 --count 2 -- python3 model.py\n\n\
    The exit code is the program's; 2 if it ended well but left no trace.")]
pub struct Args {
    /// The trace; without it, the program's name with .pltrace
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    force: bool,
    /// How much to record
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<ModeName>,
    /// Evaluations (or sessions of a GraphExecutor) to let pass first
    #[arg(long, value_name = "N")]
    skip: Option<u64>,
    /// Evaluations (or sessions) to capture; without it, all until the program ends
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Do not measure how fast the default device is, which takes some 50 ms before the capture
    #[arg(long)]
    no_roof: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeName {
    /// Operations, launches, memory and waits
    Timeline,
    /// Also figures of every result
    Stats,
    /// Also the arrays that a replay needs
    Replay,
    /// Also every result
    Full,
}

impl ModeName {
    fn word(self) -> &'static str {
        match self {
            ModeName::Timeline => "timeline",
            ModeName::Stats => "stats",
            ModeName::Replay => "replay",
            ModeName::Full => "full",
        }
    }
}

/// Runs the program. Standard output is the program's alone; what is to be said goes to standard error.
pub fn run(args: &Args, _out: &mut impl Write) -> Outcome {
    let Some((program, rest)) = args.command.split_first() else {
        return Err("no program was given; write it after --".into());
    };
    // The program may change its folder before it writes.
    let path = std::path::absolute(args.output.clone().unwrap_or_else(|| named_after(program)))?;
    // Better to hear it now than after an hour's work.
    make_way(&path, args.force)?;
    if let Some(parent) = path.parent().filter(|p| !p.is_dir()) {
        return Err(Error::ParentMissing { parent: parent.to_owned(), path: path.clone() }.into());
    }
    let mut command = Command::new(program);
    command.args(rest).env("PELLUCID_CAPTURE", &path);
    for gate in ["MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED"] {
        command.env(gate, "1");
    }
    let number = |n: Option<u64>| n.map(|n| n.to_string());
    let wishes = [
        ("PELLUCID_CAPTURE_MODE", args.mode.map(|m| m.word().to_owned())),
        ("PELLUCID_CAPTURE_SKIP", number(args.skip)),
        ("PELLUCID_CAPTURE_COUNT", number(args.count)),
        ("PELLUCID_CAPTURE_ROOF", (!args.no_roof).then(|| "1".to_owned())),
    ];
    for (name, value) in wishes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let status =
        command.status().map_err(|e| format!("{} cannot be run: {e}", Path::new(program).display()))?;
    let written = report(&path, status, args);
    Ok(match code(status) {
        0 if !written => UNABLE,
        code => code,
    })
}

fn named_after(program: &OsString) -> PathBuf {
    let stem = Path::new(program).file_stem().unwrap_or(program);
    let mut name = stem.to_owned();
    name.push(".pltrace");
    PathBuf::from(name)
}

/// Says what became of the file; true if it is a trace.
fn report(path: &Path, status: ExitStatus, args: &Args) -> bool {
    let shown = path.display();
    match Trace::open(path) {
        Ok(trace) => {
            let counts = trace.manifest().counts;
            let (ops, launches) = (text::counted(counts.ops, "op"), text::counted(counts.launches, "launch"));
            eprintln!(
                "pellucid: {shown} holds {ops} and {launches}; look at it with `pellucid summary {shown}`"
            );
            true
        }
        Err(Error::CutShort { .. }) => {
            eprintln!(
                "pellucid: the program ended ({status}) before {shown} was complete; `pellucid recover {shown}` saves what is there"
            );
            false
        }
        Err(_) if !path.exists() => {
            let why = match (args.skip, status.success()) {
                (_, false) => format!("the program ended early ({status})"),
                (Some(skip), _) => {
                    format!("the program had no more than {skip} evaluations, or does not use Pellucid")
                }
                _ => "the program evaluated nothing, does not use Pellucid, or said above what stood in the way".to_owned(),
            };
            eprintln!("pellucid: no trace was written: {why}");
            false
        }
        Err(error) => {
            eprintln!("pellucid: {error}");
            false
        }
    }
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().map_or(1, |code| u8::try_from(code & 0xff).unwrap_or(1))
}
