//! `pellucid export`: a trace for other tools.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use pellucid_trace::{Trace, export};

use crate::existing::make_way;
use crate::{GOOD, Outcome, open::open, page, text};

/// The options of `pellucid export`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pellucid export run.pltrace --format perfetto\n  \
    pellucid export run.pltrace --format dot -o - | dot -Tsvg > graph.svg")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// What for
    #[arg(long, value_enum)]
    format: Format,
    /// The new file, - for standard output; without it, the trace's name with the format's ending
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Perfetto's own format: ui.perfetto.dev, trace_processor
    Perfetto,
    /// Chrome's JSON: chrome://tracing, and tools that do not read Perfetto's
    Chrome,
    /// The graph for Graphviz
    Dot,
    /// The viewer with the trace inside, one page for any browser
    Html,
    /// The summary as JSON
    Json,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Format::Perfetto => "pftrace",
            Format::Chrome => "chrome.json",
            Format::Dot => "dot",
            Format::Html => "html",
            Format::Json => "json",
        }
    }
}

/// Writes the trace in another format.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        write(&trace, args.format, out)?;
        return Ok(GOOD);
    }
    let path = args.output.clone().unwrap_or_else(|| args.file.with_extension(args.format.ending()));
    if path == args.file {
        return Err(format!("{} is the trace itself; choose another name with -o", path.display()).into());
    }
    make_way(&path, args.force)?;
    let cannot = |e| format!("{} cannot be made: {e}", path.display());
    let mut file = File::create_new(&path).map_err(cannot)?;
    let said = write(&trace, args.format, &mut file).inspect_err(|_| {
        // Half an export is of no use; that it cannot be removed changes nothing.
        let _ = std::fs::remove_file(&path);
    })?;
    let size = text::bytes(file.metadata()?.len());
    writeln!(out, "{}: {size}{said}", path.display())?;
    Ok(GOOD)
}

fn write(trace: &Trace, format: Format, out: &mut impl Write) -> Result<String, Box<dyn std::error::Error>> {
    let drawn = match format {
        Format::Perfetto => export::perfetto(trace, out)?,
        Format::Chrome => export::chrome(trace, out)?,
        Format::Dot => return Ok(export::dot(trace, out).map(|()| String::new())?),
        Format::Json => return Ok(export::json(trace, out).map(|()| String::new())?),
        Format::Html => return Ok(page::write(trace.path(), out).map(|()| String::new())?),
    };
    Ok(format!(
        ", {}, {} and {} on {}",
        text::counted(drawn.slices, "slice"),
        text::counted(drawn.flows, "flow"),
        text::counted(drawn.counters, "counter value"),
        text::counted(drawn.tracks, "track")
    ))
}
