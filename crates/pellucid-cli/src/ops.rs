//! `pellucid ops`: the recorded operations, filtered and sorted.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use pellucid_trace::schema::OpView;
use serde::Serialize;

use crate::rerun::is_input;
use crate::text::{self, Side};
use crate::{GOOD, Outcome, open::open};

/// The options of `pellucid ops`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pellucid ops run.pltrace --filter matmul --sort time\n  \
    pellucid ops run.pltrace --filter src/model.rs --limit 0 --json\n\n\
    A filter is a text that the name, label, source line, device, kernel or type contains.")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// Only operations that contain this text; several filters must all fit
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// In which order
    #[arg(long, value_enum, default_value = "order")]
    sort: Sort,
    /// How many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Also arrays from before the window
    #[arg(long)]
    inputs: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    /// As they ran
    Order,
    /// Longest first; of a launch of several, its time counts for its last
    Time,
    /// Most bytes first
    Bytes,
    /// Most arithmetic first
    Flops,
    /// By name
    Name,
}

/// An operation as the list shows it.
#[derive(Serialize)]
struct Line<'a> {
    id: u64,
    name: &'a str,
    shape: Vec<u64>,
    dtype: &'a str,
    inputs: &'a [u64],
    stream: u32,
    device: &'a str,
    launch: Option<u64>,
    kernel: Option<&'a str>,
    /// Time of the launch, given to its last operation.
    time_ns: Option<u64>,
    bytes: u64,
    flops: u64,
    label: Option<&'a str>,
    call_site: &'a str,
    fallback: bool,
    error: Option<&'a str>,
}

/// Prints operations.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    let mut launches: HashMap<u64, (&str, u64, Option<u64>)> = HashMap::new();
    for l in trace.launches()?.iter() {
        let time = u64::try_from(l.end_ns.saturating_sub(l.start_ns)).unwrap_or(0);
        launches.insert(l.id, (l.kernel, time, l.ops.last().copied()));
    }
    let mut lines: Vec<Line> = Vec::new();
    for op in trace.ops()?.iter().filter(|op| args.inputs || !is_input(op)) {
        let launch = op.launch.and_then(|id| launches.get(&id));
        let line = line(&op, launch);
        if args.filter.iter().all(|text| fits(&line, text)) {
            lines.push(line);
        }
    }
    match args.sort {
        Sort::Order => {}
        Sort::Time => lines.sort_by_key(|l| std::cmp::Reverse(l.time_ns)),
        Sort::Bytes => lines.sort_by_key(|l| std::cmp::Reverse(l.bytes)),
        Sort::Flops => lines.sort_by_key(|l| std::cmp::Reverse(l.flops)),
        Sort::Name => lines.sort_by_key(|l| l.name),
    }
    let all = lines.len();
    if args.limit > 0 {
        lines.truncate(args.limit);
    }
    if args.json {
        text::json(out, &lines)?;
        return Ok(GOOD);
    }
    print(&lines, out)?;
    if all > lines.len() {
        writeln!(out, "… and {} more; --limit 0 shows all", text::count((all - lines.len()) as u64))?;
    }
    Ok(GOOD)
}

fn line<'a>(op: &OpView<'a>, launch: Option<&(&'a str, u64, Option<u64>)>) -> Line<'a> {
    Line {
        id: op.id,
        name: op.name,
        shape: op.shapes.get(0).unwrap_or_default().to_vec(),
        dtype: op.dtypes.get(0).unwrap_or_default(),
        inputs: op.inputs,
        stream: op.stream,
        device: op.device,
        launch: op.launch,
        kernel: launch.map(|(kernel, ..)| *kernel),
        time_ns: launch.filter(|(_, _, last)| *last == Some(op.id)).map(|(_, time, _)| *time),
        bytes: op.bytes,
        flops: op.flops,
        label: op.label,
        call_site: op.call_site,
        fallback: op.fallback,
        error: op.error,
    }
}

fn fits(line: &Line, text: &str) -> bool {
    [Some(line.name), line.label, Some(line.call_site), Some(line.device), line.kernel, Some(line.dtype)]
        .into_iter()
        .flatten()
        .any(|part| part.contains(text))
}

fn print(lines: &[Line], out: &mut impl Write) -> std::io::Result<()> {
    if lines.is_empty() {
        return writeln!(out, "no operation fits");
    }
    let rows = lines.iter().map(|l| {
        let time = match (l.time_ns, l.launch) {
            _ if l.error.is_some() => "failed".to_owned(),
            (Some(time), _) => text::span(time),
            (None, Some(_)) => "fused".to_owned(),
            (None, None) if l.inputs.is_empty() => "given".to_owned(),
            (None, None) => "view".to_owned(),
        };
        let name = match l.label {
            Some(label) => format!("{} {}", l.name, console::style(text::short(label, 20)).bold()),
            None => l.name.to_owned(),
        };
        let inputs: Vec<String> = l.inputs.iter().take(4).map(u64::to_string).collect();
        let more = if l.inputs.len() > 4 { " …" } else { "" };
        vec![
            l.id.to_string(),
            name + if l.fallback { " (on the CPU)" } else { "" },
            format!("{} {}", text::short(l.dtype, 10), text::short(&text::shape(&l.shape), 24)),
            inputs.join(" ") + more,
            l.stream.to_string(),
            time,
            text::bytes(l.bytes),
            text::short(l.call_site, 44),
        ]
    });
    use Side::{Left, Right};
    let headers = [
        ("op", Right),
        ("name", Left),
        ("result", Left),
        ("reads", Left),
        ("stream", Right),
        ("time", Right),
        ("bytes", Right),
        ("asked for at", Left),
    ];
    text::table(out, &headers, rows.collect())
}
