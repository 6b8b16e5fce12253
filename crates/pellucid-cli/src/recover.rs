//! `pellucid recover`: saves what is complete in a trace whose program was killed.

use std::io::Write;
use std::path::PathBuf;

use crate::{GOOD, Outcome, text};

/// The options of `pellucid recover`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid recover run.pltrace -o saved.pltrace")]
pub struct Args {
    /// The file that was cut short; it is not changed
    file: PathBuf,
    /// The new trace; without it, NAME.recovered.pltrace beside the old one
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// Saves what can be saved.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let path = args.output.clone().unwrap_or_else(|| args.file.with_extension("recovered.pltrace"));
    let saved = pellucid_trace::recover(&args.file, &path)?;
    let counts = saved.counts;
    if args.json {
        let path = path.to_string_lossy();
        let value = serde_json::json!({
            "path": path, "members": saved.members, "lost": saved.lost, "counts": counts,
        });
        text::json(out, &value)?;
    } else {
        writeln!(
            out,
            "{}: {}, {}, {} saved; {} lost",
            path.display(),
            text::counted(counts.ops, "op"),
            text::counted(counts.launches, "launch"),
            text::counted(counts.tensors, "array"),
            text::counted(saved.lost as u64, "part")
        )?;
    }
    Ok(GOOD)
}
