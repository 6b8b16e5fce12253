//! `pellucid show`: everything about one operation.

use std::io::Write;
use std::path::PathBuf;

use pellucid::{Array, Dtype, Shape};
use pellucid_trace::Trace;
use pellucid_trace::schema::{DispatchView, LaunchView, OpView, Stats, StatsView};

use crate::rerun::{is_input, specs};
use crate::text;
use crate::{GOOD, Outcome, open::open};

/// Larger arrays are not read for printing.
const PRINTED_BYTES: usize = 64 << 20;

/// Dispatches and bindings that are printed; a sort has some dozen.
const SHOWN_DISPATCHES: usize = 64;
const SHOWN_BINDINGS: usize = 16;

/// The options of `pellucid show`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid show run.pltrace 42")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// The operation's number, as `pellucid ops` shows it, or the label of its result
    op: String,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// Prints one operation.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    let wanted: Option<u64> = args.op.parse().ok();
    let found = trace
        .ops()?
        .iter()
        .find(|op| wanted.is_some_and(|id| op.outputs.contains(&id)) || op.label == Some(args.op.as_str()));
    let Some(op) = found else {
        let message =
            format!("no operation of the trace has the number or label {:?}; see `pellucid ops`", args.op);
        return Err(message.into());
    };
    let launch = match op.launch {
        Some(id) => trace.launches()?.iter().find(|l| l.id == id),
        None => None,
    };
    if args.json {
        let value = serde_json::json!({
            "op": op.to_row(),
            "inputs": inputs(&trace, &op)?.iter().map(OpView::to_row).collect::<Vec<_>>(),
            "readers": readers(&trace, &op)?,
            "launch": launch.map(|l| l.to_row()),
            "dispatches": dispatches(&trace, launch.as_ref())?.iter().map(DispatchView::to_row).collect::<Vec<_>>(),
            "stats": stats(&trace, op.id)?.map(|s| s.to_row()),
            "stats_of_results": all_stats(&trace, &op)?,
            "kernel": source(&trace, launch.as_ref())?,
        });
        text::json(out, &value)?;
    } else {
        print(&trace, &op, launch.as_ref(), out)?;
    }
    Ok(GOOD)
}

fn print(
    trace: &Trace,
    op: &OpView,
    launch: Option<&LaunchView>,
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "{} {}", console::style(format!("op {}", op.id)).bold(), described(op))?;
    writeln!(out, "  asked for at  {}", text::short(op.call_site, 200))?;
    if let Some(region) = trace.manifest().regions.iter().find(|r| Some(r.id) == op.region) {
        writeln!(out, "  region        {}", text::short(&region.name, 80))?;
    }
    let stream = trace.manifest().streams.iter().find(|s| s.index == op.stream);
    let label = stream.map_or(String::new(), |s| format!(" ({})", text::short(&s.label, 40)));
    let why = op.fallback_reason.map_or("the device cannot do it".to_owned(), |why| text::short(why, 80));
    let fallback = if op.fallback { format!(", on the CPU because: {why}") } else { String::new() };
    writeln!(out, "  ran on        {}, stream {}{label}{fallback}", op.device, op.stream)?;
    if !is_input(op) {
        writeln!(out, "  as data       {}", text::short(op.op, 400))?;
    }
    if let Some(error) = op.error {
        writeln!(out, "  {}        {}", text::bad("failed"), text::short(error, 400))?;
    }
    match launch {
        Some(l) => timing(op, l, out)?,
        None => writeln!(out, "  launch        none: nothing had to run")?,
    }
    writeln!(out, "  cost          {} moved, {} flop", text::bytes(op.bytes), text::count(op.flops))?;
    let inputs = inputs(trace, op)?;
    if !inputs.is_empty() {
        text::heading(out, "Reads")?;
    }
    for input in &inputs {
        writeln!(out, "  {} {}", input.id, described(input))?;
        elements(trace, input, out)?;
    }
    text::heading(out, if op.outputs.len() > 1 { "Results" } else { "Result" })?;
    elements(trace, op, out)?;
    let readers = readers(trace, op)?;
    let shown: Vec<String> = readers.iter().take(10).map(u64::to_string).collect();
    let more = if readers.len() > 10 { " …" } else { "" };
    let readers = if shown.is_empty() { "nothing in the window".to_owned() } else { shown.join(" ") + more };
    writeln!(out, "  read by {readers}")?;
    let dispatches = dispatches(trace, launch)?;
    if !dispatches.is_empty() {
        text::heading(out, &format!("Dispatches ({})", dispatches.len()))?;
        dispatches.iter().take(SHOWN_DISPATCHES).try_for_each(|dispatch| print_dispatch(dispatch, out))?;
        if dispatches.len() > SHOWN_DISPATCHES {
            writeln!(out, "  and {} more; all are in --json", dispatches.len() - SHOWN_DISPATCHES)?;
        }
    }
    if let Some(source) = source(trace, launch)? {
        text::heading(out, "Kernel")?;
        source.lines().try_for_each(|line| writeln!(out, "  {}", text::short(line, 160)))?;
    }
    Ok(())
}

fn timing(op: &OpView, l: &LaunchView, out: &mut impl Write) -> std::io::Result<()> {
    let took = l.end_ns.saturating_sub(l.start_ns);
    let among = match l.ops.len() {
        1 => String::new(),
        n => format!(", one of {n} operations in it"),
    };
    writeln!(out, "  launch        {} ({}){among}", l.id, text::short(l.kernel, 60))?;
    let seconds = took.max(1) as f64;
    writeln!(
        out,
        "  time          {} by {}; {} GB/s, {} GFLOP/s",
        text::time(took),
        l.timed_by,
        text::rate(l.bytes as f64 / seconds),
        text::rate(l.flops as f64 / seconds)
    )?;
    writeln!(
        out,
        "  when          asked at {}, began at {}, ended at {}",
        text::time(l.enqueue_ns),
        text::time(l.start_ns),
        text::time(l.end_ns)
    )?;
    if let Some(buffer) = op.buffer {
        writeln!(out, "  buffer        {buffer}")?;
    }
    Ok(())
}

/// One kernel that the GPU was given: what, how large, how long, on which memory.
fn print_dispatch(dispatch: &DispatchView, out: &mut impl Write) -> std::io::Result<()> {
    let sizes = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join("×");
    writeln!(
        out,
        "  {} {}  {} workgroups of {}  {}",
        dispatch.id,
        text::short(dispatch.kernel, 60),
        sizes(dispatch.grid),
        sizes(dispatch.workgroup),
        text::time(dispatch.end_ns.saturating_sub(dispatch.start_ns))
    )?;
    for (i, role) in dispatch.roles.iter().enumerate().take(SHOWN_BINDINGS) {
        let of = |list: &[u64]| list.get(i).copied().unwrap_or(0);
        let array =
            if of(dispatch.arrays) == 0 { String::new() } else { format!(" {}", of(dispatch.arrays)) };
        let (offset, size) = (of(dispatch.offsets), text::bytes(of(dispatch.sizes)));
        let buffer = of(dispatch.buffers);
        writeln!(out, "      {}{array}: {size} at byte {offset} of buffer {buffer}", text::short(role, 12))?;
    }
    if !dispatch.constants.is_empty() {
        let shown: Vec<String> = dispatch.constants.iter().take(16).map(u32::to_string).collect();
        let more = if dispatch.constants.len() > 16 { " …" } else { "" };
        writeln!(out, "      constants {}{more}", shown.join(" "))?;
    }
    Ok(())
}

/// The dispatches of a launch, in order.
fn dispatches<'a>(
    trace: &'a Trace,
    launch: Option<&LaunchView>,
) -> pellucid_trace::Result<Vec<DispatchView<'a>>> {
    let Some(launch) = launch else { return Ok(Vec::new()) };
    Ok(trace.dispatches()?.iter().filter(|dispatch| dispatch.launch == launch.id).collect())
}

fn described(op: &OpView) -> String {
    let result = |(dtype, shape): (&str, &[u64])| {
        format!("{} {}", text::short(dtype, 12), text::short(&text::shape(shape), 60))
    };
    let results: Vec<String> = op.dtypes.iter().zip(op.shapes.iter()).take(8).map(result).collect();
    let label = op.label.map_or(String::new(), |l| format!(" “{}”", text::short(l, 60)));
    format!("{} {}{label}", text::short(op.name, 40), results.join(", "))
}

/// Figures of each result and, if they are in the file, its elements.
fn elements(trace: &Trace, op: &OpView, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    for (&id, spec) in op.outputs.iter().zip(specs(op)?) {
        if op.outputs.len() > 1 {
            writeln!(out, "  array {id}")?;
        }
        elements_of(trace, id, spec, out)?;
    }
    Ok(())
}

fn elements_of(
    trace: &Trace,
    id: u64,
    (shape, dtype): (Shape, Dtype),
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(s) = stats(trace, id)? {
        let figure = |v: Option<f64>| v.map_or("–".to_owned(), text::value);
        let (min, max, mean) = (figure(s.min), figure(s.max), figure(s.mean));
        let text =
            format!("min {min}, max {max}, mean {mean}, {} zero, {} NaN, {} infinite", s.zero, s.nan, s.inf);
        let text = if s.nan + s.inf > 0 { text::bad(&text) } else { text };
        writeln!(out, "    {text}; hash {}", s.hash)?;
    }
    if trace.member_sizes(&format!("tensors/{id}.npy")).is_none_or(|(_, size)| size > PRINTED_BYTES as u64) {
        return Ok(());
    }
    let array = Array::from_raw(&trace.tensor(id)?.data, shape, dtype);
    for line in array.to_string().lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

fn inputs<'a>(trace: &'a Trace, op: &OpView) -> pellucid_trace::Result<Vec<OpView<'a>>> {
    let mut inputs = Vec::new();
    for id in op.inputs.iter().take(100) {
        inputs.extend(trace.ops()?.iter().find(|other| other.outputs.contains(id)));
    }
    Ok(inputs)
}

fn readers(trace: &Trace, op: &OpView) -> pellucid_trace::Result<Vec<u64>> {
    let reads = |other: &OpView| other.inputs.iter().any(|input| op.outputs.contains(input));
    Ok(trace.ops()?.iter().filter(reads).map(|other| other.id).collect())
}

fn stats(trace: &Trace, id: u64) -> pellucid_trace::Result<Option<StatsView<'_>>> {
    Ok(trace.stats()?.iter().find(|s| s.array == id))
}

/// Figures of each result, in order.
fn all_stats(trace: &Trace, op: &OpView) -> pellucid_trace::Result<Vec<Option<Stats>>> {
    op.outputs.iter().map(|&id| Ok(stats(trace, id)?.map(|s| s.to_row()))).collect()
}

fn source(trace: &Trace, launch: Option<&LaunchView>) -> pellucid_trace::Result<Option<String>> {
    launch.and_then(|l| l.source).map(|member| trace.kernel(member)).transpose()
}
