//! `pellucid summary`: where the time went, what the streams did, what held the memory, what could be better.

use std::io::Write;
use std::path::PathBuf;

use pellucid_trace::analysis::{Analysis, Cost, MemoryUse, StreamUse, analyse};
use pellucid_trace::{Manifest, Trace};

use crate::check::finite;
use crate::text::{self, Side};
use crate::{GOOD, Outcome, open::open};

/// The options of `pellucid summary`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid summary run.pltrace --limit 20")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// How many kernels, operations and buffers to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// Prints the summary of a trace.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    let analysis = analyse(&trace)?;
    if args.json {
        text::json(out, &analysis)?;
    } else {
        print(&trace, &analysis, args.limit, out)?;
    }
    Ok(GOOD)
}

/// Prints everything a person wants to know first.
pub fn print(
    trace: &Trace,
    analysis: &Analysis,
    limit: usize,
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    totals(trace, analysis, out)?;
    if !analysis.finite.is_good() {
        text::heading(out, "NaN and infinity")?;
        finite::print(&analysis.finite, limit.min(3), out)?;
        if analysis.finite.makers.first().is_some_and(|maker| maker.element.is_none()) {
            writeln!(out, "  `pellucid check` replays it and names the element")?;
        }
    }
    costs(out, "Kernels, most expensive first", "launches", &analysis.kernels, limit)?;
    costs(out, "Dispatches on GPUs, most expensive first", "dispatches", &analysis.dispatches, limit)?;
    costs(out, "Operations, most expensive first", "ops", &analysis.ops, limit)?;
    streams(out, &analysis.streams)?;
    memory(out, &analysis.memory, trace.manifest(), limit)?;
    waits(out, analysis)?;
    insights(out, analysis)?;
    Ok(())
}

fn totals(trace: &Trace, analysis: &Analysis, out: &mut impl Write) -> std::io::Result<()> {
    let (manifest, totals) = (trace.manifest(), &analysis.totals);
    let name = trace.path().file_name().unwrap_or_default().to_string_lossy();
    let machine = &manifest.machine;
    writeln!(
        out,
        "{} · {} · mode {} · {}",
        console::style(text::short(&name, 80)).bold(),
        text::short(&manifest.program.name, 40),
        totals.mode.as_str(),
        text::bytes(totals.file_bytes)
    )?;
    writeln!(
        out,
        "{}, {} cores, {}",
        text::short(&machine.cpu, 60),
        machine.cores,
        text::bytes(machine.memory_bytes)
    )?;
    for (device, roof) in manifest.devices.iter().filter_map(|d| Some((d, d.roof.as_ref()?))) {
        let reaches = text::roof(roof.bytes_per_second, roof.flops_per_second);
        writeln!(out, "{} reaches {reaches}, as measured", text::short(&device.device, 40))?;
    }
    let counts = totals.counts;
    writeln!(
        out,
        "{} in {}: {} of running, {} moved, {} Gflop",
        text::counted(counts.launches, "launch"),
        text::time(totals.duration_ns),
        text::span(totals.launch_ns),
        text::bytes(totals.bytes),
        text::rate(totals.flops as f64 / 1e9)
    )?;
    writeln!(
        out,
        "{} ({} views and inputs), {}, {}",
        text::counted(counts.ops, "op"),
        text::count(totals.views),
        text::counted(counts.sync, "wait"),
        text::counted(counts.memory, "memory event")
    )?;
    if totals.errors > 0 {
        writeln!(out, "{} {} failed", text::bad("error"), text::counted(totals.errors, "op"))?;
    }
    if totals.partial {
        writeln!(
            out,
            "{} the capture did not end by itself; what came last may be missing",
            text::bad("partial")
        )?;
    }
    for left_out in &totals.left_out {
        writeln!(out, "{} {}", text::bad("left out"), text::short(left_out, 200))?;
    }
    Ok(())
}

fn costs(out: &mut impl Write, title: &str, unit: &str, costs: &[Cost], limit: usize) -> std::io::Result<()> {
    if costs.is_empty() || limit == 0 {
        return Ok(());
    }
    let several = costs.iter().any(|c| c.device != costs[0].device);
    let roofs = costs.iter().any(|c| c.roof_share.is_some());
    text::heading(out, title)?;
    let rows = costs.iter().take(limit).map(|c| {
        let mut row = vec![
            text::short(&c.name, 40),
            text::count(c.count),
            text::span(c.time_ns),
            text::share(c.share),
            text::rate(c.gb_per_s),
            text::rate(c.gflop_per_s),
        ];
        if roofs {
            row.push(c.roof_share.map_or("–".to_owned(), text::share));
        }
        if several {
            row.push(c.device.clone());
        }
        row
    });
    use Side::{Left, Right};
    let mut headers = vec![
        ("", Left),
        (unit, Right),
        ("time", Right),
        ("share", Right),
        ("GB/s", Right),
        ("GFLOP/s", Right),
    ];
    if roofs {
        headers.push(("of roof", Right));
    }
    if several {
        headers.push(("device", Left));
    }
    text::table(out, &headers, rows.collect())?;
    if costs.len() > limit {
        writeln!(out, "  … and {} more", text::count((costs.len() - limit) as u64))?;
    }
    Ok(())
}

fn streams(out: &mut impl Write, streams: &[StreamUse]) -> std::io::Result<()> {
    if streams.is_empty() {
        return Ok(());
    }
    text::heading(out, "Streams")?;
    let rows = streams.iter().filter(|s| s.launches > 0).map(|s| {
        let longest = s.longest_gaps.first().map_or("–".to_owned(), |g| text::span(g.duration_ns));
        vec![
            s.stream.to_string(),
            text::short(&s.label, 24),
            s.device.clone(),
            text::count(s.launches),
            text::span(s.busy_ns),
            text::share(s.busy_share),
            text::count(s.gaps),
            text::span(s.gap_ns),
            longest,
        ]
    });
    use Side::{Left, Right};
    let headers = [
        ("", Right),
        ("label", Left),
        ("device", Left),
        ("launches", Right),
        ("busy", Right),
        ("share", Right),
        ("gaps", Right),
        ("in gaps", Right),
        ("longest", Right),
    ];
    text::table(out, &headers, rows.collect())
}

fn memory(out: &mut impl Write, use_: &MemoryUse, manifest: &Manifest, limit: usize) -> std::io::Result<()> {
    text::heading(out, "Memory")?;
    if use_.allocations + use_.reuses == 0 {
        return writeln!(
            out,
            "  nothing was allocated; {} held at the end",
            text::bytes(manifest.memory.active_at_end)
        );
    }
    writeln!(
        out,
        "  peak {} at {} (limit {}); {} from the system, {} from the cache",
        text::bytes(use_.peak),
        text::time(use_.peak_ns),
        text::bytes(manifest.memory.limit),
        text::counted(use_.allocations, "buffer"),
        text::count(use_.reuses)
    )?;
    if use_.held_before > 0 {
        writeln!(out, "  {} of the peak was held from before the window", text::bytes(use_.held_before))?;
    }
    if use_.held.is_empty() || limit == 0 {
        return Ok(());
    }
    writeln!(out, "  live then: {}", text::counted(use_.held_count, "buffer"))?;
    let rows = use_.held.iter().take(limit.min(5)).map(|h| {
        let array = h.array.map_or("–".to_owned(), |a| a.to_string());
        let name = h.label.as_deref().or(h.name.as_deref()).unwrap_or("–");
        let site = text::short(h.call_site.as_deref().unwrap_or("–"), 50);
        vec![text::bytes(h.bytes), array, text::short(name, 24), site]
    });
    use Side::{Left, Right};
    text::table(
        out,
        &[("size", Right), ("op", Right), ("what", Left), ("asked for at", Left)],
        rows.collect(),
    )
}

fn waits(out: &mut impl Write, analysis: &Analysis) -> std::io::Result<()> {
    let (waits, path) = (&analysis.waits, &analysis.critical_path);
    text::heading(out, "Waits")?;
    writeln!(
        out,
        "  the host waited {}, {}; streams waited for each other {}, {}",
        text::counted(waits.host, "time"),
        text::span(waits.host_ns),
        text::counted(waits.streams, "time"),
        text::span(waits.streams_ns)
    )?;
    if path.launches > 0 {
        // Below that, more streams would not be worth the trouble.
        let faster = match path.parallelism {
            times if times >= 1.1 => format!("; with streams enough and no gaps, {times:.1} times as fast"),
            _ => String::new(),
        };
        writeln!(
            out,
            "  longest chain: {} of {}, {}{faster}",
            text::span(path.time_ns),
            text::span(path.total_ns),
            text::counted(path.launches, "launch")
        )?;
    }
    Ok(())
}

fn insights(out: &mut impl Write, analysis: &Analysis) -> std::io::Result<()> {
    if analysis.insights.is_empty() {
        return Ok(());
    }
    text::heading(out, "What could be better (gains are at most)")?;
    for insight in &analysis.insights {
        writeln!(out, "  {:>9}  {}", text::span(insight.gain_ns), insight.text)?;
        let examples: Vec<String> = insight.examples.iter().take(3).map(u64::to_string).collect();
        let examples =
            if examples.is_empty() { String::new() } else { format!(" (op {})", examples.join(", ")) };
        writeln!(out, "             {}{examples}", insight.advice)?;
    }
    Ok(())
}
