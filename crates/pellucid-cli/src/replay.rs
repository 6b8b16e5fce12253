//! `pellucid replay`: runs what was recorded again, on any device, without the program, and compares.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use pellucid::{Array, Device, capture, default_device};
use pellucid_trace::schema::{OpView, StatsView};
use serde::Serialize;

use crate::device_name::DeviceName;
use crate::elements::tolerance;
use crate::progress::Progress;
use crate::rerun::{Made, Plan};
use crate::text::{self, Side};
use crate::{Outcome, open::open};

/// The options of `pellucid replay`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid replay run.pltrace --device cpu --check\n\n\
    Exit code 1 if --check finds a result that is not the recorded one.")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// Where to run; without it, on the default device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// Compare every result with the recorded figures: exactly on the same kind of device, else within the type's
    /// tolerance
    #[arg(long)]
    check: bool,
    /// Run this many times; the best time of each launch counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How many launches to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    device: String,
    launches: Vec<Timed>,
    recorded_ns: u64,
    replayed_ns: u64,
    skipped: u64,
    first_skipped: Option<String>,
    checked: u64,
    exact: u64,
    different: Vec<Difference>,
}

#[derive(Serialize)]
struct Timed {
    op: u64,
    kernel: String,
    recorded_ns: u64,
    replayed_ns: u64,
}

#[derive(Serialize)]
struct Difference {
    op: u64,
    name: String,
    call_site: String,
    what: String,
}

/// Runs the trace again. Exit code 1 if a result differs from the recorded one.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    let device = args.device.map_or_else(default_device, Device::from);
    let stats: HashMap<u64, StatsView> =
        if args.check { trace.stats()?.iter().map(|s| (s.array, s)).collect() } else { HashMap::new() };
    if args.check && stats.is_empty() {
        return Err("the trace has no figures to check against; capture it with `--mode replay`".into());
    }
    let launches: HashMap<u64, (&str, u64)> = trace
        .launches()?
        .iter()
        .map(|l| (l.id, (l.kernel, u64::try_from(l.end_ns.saturating_sub(l.start_ns)).unwrap_or(0))))
        .collect();
    let plan = Plan::new(&trace)?;
    let mut report = Report {
        device: device.to_string(),
        launches: Vec::new(),
        recorded_ns: 0,
        replayed_ns: 0,
        skipped: 0,
        first_skipped: None,
        checked: 0,
        exact: 0,
        different: Vec::new(),
    };
    let mut progress = Progress::new("replaying", trace.ops()?.len() * args.repeat as usize);
    for round in 0..args.repeat {
        let (mut at, mut last) = (0, Instant::now());
        plan.run(
            device,
            true,
            |_| true,
            |_, op, made, _| {
                progress.step();
                match made {
                    Made::Ran(array) => {
                        let took = last.elapsed().as_nanos() as u64;
                        let launch = op.launch.and_then(|id| launches.get(&id).copied());
                        let (kernel, recorded_ns) = launch.unwrap_or((op.name, 0));
                        if round == 0 {
                            let kernel = kernel.to_owned();
                            report.launches.push(Timed { op: op.id, kernel, recorded_ns, replayed_ns: took });
                            check(&mut report, &stats, op, array, device)?;
                        } else if let Some(timed) = report.launches.get_mut(at) {
                            timed.replayed_ns = timed.replayed_ns.min(took);
                        }
                        at += 1;
                    }
                    Made::Given(array) if round == 0 => check(&mut report, &stats, op, array, device)?,
                    Made::Missing(why) if round == 0 => {
                        report.skipped += 1;
                        report
                            .first_skipped
                            .get_or_insert_with(|| format!("op {} ({}): {why}", op.id, op.name));
                    }
                    Made::Given(_) | Made::Lazy | Made::Missing(_) => {}
                }
                last = Instant::now();
                Ok(())
            },
        )?;
    }
    drop(progress);
    report.recorded_ns = report.launches.iter().map(|l| l.recorded_ns).sum();
    report.replayed_ns = report.launches.iter().map(|l| l.replayed_ns).sum();
    if args.json {
        text::json(out, &report)?;
    } else {
        print(args, &report, out)?;
    }
    Ok(if report.different.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Compares a result with what was recorded of it.
fn check(
    report: &mut Report,
    stats: &HashMap<u64, StatsView>,
    op: &OpView,
    array: &Array,
    device: Device,
) -> Result<(), Box<dyn std::error::Error>> {
    let Some(recorded) = stats.get(&op.id) else { return Ok(()) };
    report.checked += 1;
    let found = capture::figures(array)?;
    if format!("{:016x}", found.hash) == recorded.hash {
        report.exact += 1;
        return Ok(());
    }
    let same_kind = op.device.contains(&device.device_type().to_string()) && !op.fallback;
    let what = if same_kind && device == Device::cpu() {
        Some(format!("hash {:016x}, recorded {}", found.hash, recorded.hash))
    } else {
        further_apart(&found, recorded, array)
    };
    if let Some(what) = what {
        let (name, call_site) = (op.name.to_owned(), op.call_site.to_owned());
        report.different.push(Difference { op: op.id, name, call_site, what });
    }
    Ok(())
}

/// The first figure that is further from the recorded one than the type's tolerance allows.
fn further_apart(found: &capture::Figures, recorded: &StatsView, array: &Array) -> Option<String> {
    if (found.nan, found.inf) != (recorded.nan, recorded.inf) {
        let (nan, inf) = (recorded.nan, recorded.inf);
        return Some(format!("{} NaN and {} infinite, recorded {nan} and {inf}", found.nan, found.inf));
    }
    // Errors add up along a chain of operations; ten times what one may be off.
    let allowed = 10.0 * tolerance(array.dtype());
    let largest = [recorded.min, recorded.max].into_iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
    let pairs = [
        ("min", found.min, recorded.min),
        ("max", found.max, recorded.max),
        ("mean", found.mean, recorded.mean),
    ];
    pairs.into_iter().find_map(|(name, a, b)| match (a, b) {
        (Some(a), Some(b)) if (a - b).abs() > allowed * largest => {
            Some(format!("{name} {}, recorded {}", text::value(a), text::value(b)))
        }
        (Some(_), None) | (None, Some(_)) => Some(format!("{name} {a:?}, recorded {b:?}")),
        _ => None,
    })
}

fn print(args: &Args, report: &Report, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let (recorded, replayed) = (report.recorded_ns, report.replayed_ns);
    writeln!(
        out,
        "{} on {}: {}, recorded {}",
        text::counted(report.launches.len() as u64, "launch"),
        report.device,
        text::span(replayed),
        text::span(recorded)
    )?;
    if report.skipped > 0 {
        let why = report.first_skipped.as_deref().unwrap_or_default();
        writeln!(out, "{} could not run; first {why}", text::counted(report.skipped, "op"))?;
    }
    let mut slowest: Vec<&Timed> = report.launches.iter().collect();
    slowest.sort_by_key(|l| std::cmp::Reverse(l.replayed_ns));
    if args.limit > 0 && !slowest.is_empty() {
        text::heading(out, "Longest launches")?;
        let rows = slowest.iter().take(args.limit).map(|l| {
            let ratio =
                if l.recorded_ns > 0 { l.replayed_ns as f64 / l.recorded_ns as f64 } else { f64::NAN };
            let ratio = if ratio.is_finite() { format!("{ratio:.2}×") } else { "–".to_owned() };
            let kernel = text::short(&l.kernel, 40);
            vec![l.op.to_string(), kernel, text::span(l.replayed_ns), text::span(l.recorded_ns), ratio]
        });
        use Side::{Left, Right};
        let headers =
            [("op", Right), ("kernel", Left), ("now", Right), ("recorded", Right), ("ratio", Right)];
        text::table(out, &headers, rows.collect())?;
    }
    if args.check {
        text::heading(out, "Results")?;
        let within = report.checked - report.exact - report.different.len() as u64;
        writeln!(
            out,
            "  {} compared: {} the same to the last bit, {} within tolerance, {} different",
            text::count(report.checked),
            text::count(report.exact),
            text::count(within),
            text::count(report.different.len() as u64)
        )?;
        for d in report.different.iter().take(args.limit.max(1)) {
            let place = text::short(&d.call_site, 60);
            writeln!(out, "  {} op {} ({}) at {place}: {}", text::bad("differs"), d.op, d.name, d.what)?;
        }
        if report.different.is_empty() {
            writeln!(out, "  {}", text::good("the replay agrees with the recording"))?;
        }
    }
    Ok(())
}
