//! `pellucid replay`: runs what was recorded again, on any device, without the program, and compares.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use pellucid::{Array, Device, DeviceType, capture, default_device, device_count, device_info};
use pellucid_trace::Trace;
use pellucid_trace::schema::{DeviceInfo, OpView, StatsView};
use serde::Serialize;

use crate::device_name::DeviceName;
use crate::elements::tolerance;
use crate::progress::Progress;
use crate::rerun::{Failure, Made, Plan, Way, is_input};
use crate::skipped::Skipped;
use crate::text::{self, Side};
use crate::{FOUND, GOOD, Outcome, UNABLE, open::open};

/// The options of `pellucid replay`.
#[derive(clap::Args)]
#[command(after_help = "Example: pellucid replay run.pltrace --device cpu --check\n\n\
    On the device and driver of the recording --check wants the same bits; elsewhere, and for what follows from\n\
    results that are only close, the figures must agree within the type's tolerance.\n\n\
    Exit code 1 if --check finds a result that is not the recorded one, or if an operation was skipped or a result has\n\
    no recorded figures; 2 if nothing could be compared at all. Without --check, 0 whenever the replay ran.")]
pub struct Args {
    /// The trace
    file: PathBuf,
    /// Where to run; without it, on the device of the recording if it is here, else on the default device
    #[arg(long, value_enum)]
    device: Option<DeviceName>,
    /// Compare every result with the recorded figures
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

#[derive(Default, Serialize)]
struct Report {
    device: String,
    launches: Vec<Timed>,
    recorded_ns: u64,
    replayed_ns: u64,
    #[serde(flatten)]
    skipped: Skipped,
    checked: u64,
    exact: u64,
    /// Results without recorded figures.
    unknown: u64,
    different: Vec<Difference>,
}

impl Report {
    /// The exit code of a check.
    fn verdict(&self) -> u8 {
        match self {
            _ if !self.different.is_empty() => FOUND,
            _ if self.checked == 0 => UNABLE,
            _ if !self.skipped.is_empty() || self.unknown > 0 => FOUND,
            _ => GOOD,
        }
    }
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

/// The device that ran most launches, if there is such a device here.
fn recorded(trace: &Trace) -> Option<Device> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    trace.launches().ok()?.iter().for_each(|launch| *counts.entry(launch.device).or_default() += 1);
    let (name, _) = counts.into_iter().max_by_key(|(name, count)| (*count, *name))?;
    let here = [DeviceType::Cpu, DeviceType::Gpu].into_iter().filter(|kind| device_count(*kind) > 0);
    here.map(|kind| Device::new(kind, 0)).find(|device| device.to_string() == name)
}

/// Runs the trace again. With --check, exit code 1 if a result is not the recorded one or was not compared.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let trace = open(&args.file)?;
    let device = args.device.map(Device::from).or_else(|| recorded(&trace)).unwrap_or_else(default_device);
    let mut checker = if args.check { Some(Checker::new(&trace, device)?) } else { None };
    let launches: HashMap<u64, (&str, u64)> = trace
        .launches()?
        .iter()
        .map(|l| (l.id, (l.kernel, u64::try_from(l.end_ns.saturating_sub(l.start_ns)).unwrap_or(0))))
        .collect();
    let plan = Plan::new(&trace)?;
    let mut report = Report { device: device.to_string(), ..Report::default() };
    let mut progress = Progress::new("replaying", trace.ops()?.len() * args.repeat as usize);
    for round in 0..args.repeat {
        let (mut at, mut last) = (0, Instant::now());
        plan.run(
            Way { device, fused: true, stand_in: None },
            |_| true,
            |_, op, made, _| {
                progress.step();
                if let Made::Ran(_) = made {
                    let took = last.elapsed().as_nanos() as u64;
                    let launch = op.launch.and_then(|id| launches.get(&id).copied());
                    let (kernel, recorded_ns) = launch.unwrap_or((op.name, 0));
                    if round == 0 {
                        let kernel = kernel.to_owned();
                        report.launches.push(Timed { op: op.id, kernel, recorded_ns, replayed_ns: took });
                    } else if let Some(timed) = report.launches.get_mut(at) {
                        timed.replayed_ns = timed.replayed_ns.min(took);
                    }
                    at += 1;
                }
                if round == 0 {
                    if let Made::Missing(why) = &made {
                        report.skipped.add(op, why);
                    }
                    if let Some(checker) = &mut checker {
                        checker.compare(&mut report, op, &made)?;
                    }
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
    Ok(if args.check { report.verdict() } else { GOOD })
}

/// The CPU's name in a trace.
const CPU: &str = "Device(cpu, 0)";

/// Compares results with what was recorded of them.
struct Checker<'a> {
    stats: HashMap<u64, StatsView<'a>>,
    /// Names of the recorded devices whose results must be met to the last bit.
    same: HashSet<&'a str>,
    device: Device,
    /// Arrays that are not known to have the recorded bits: what is made from them need not have them either.
    inexact: HashSet<u64>,
}

impl<'a> Checker<'a> {
    fn new(trace: &'a Trace, device: Device) -> Result<Checker<'a>, Failure> {
        let stats: HashMap<u64, StatsView> = trace.stats()?.iter().map(|s| (s.array, s)).collect();
        if stats.is_empty() {
            return Err("the trace has no figures to check against; capture it with `--mode replay`".into());
        }
        let is_same = |recorded: &DeviceInfo, now: Device| {
            device_info(now).is_ok_and(|now| {
                (&recorded.name, &recorded.architecture, &recorded.backend, &recorded.driver)
                    == (&now.device_name, &now.architecture, &now.backend, &now.driver)
                    && recorded.features == now.features
            })
        };
        // What a GPU cannot do runs on the CPU, so that the CPU takes part in every replay.
        let kinds = if device == Device::cpu() { vec![device] } else { vec![device, Device::cpu()] };
        let devices = trace.manifest().devices.iter();
        let same = devices.filter(|recorded| kinds.iter().any(|now| is_same(recorded, *now)));
        let same = same.map(|recorded| recorded.device.as_str()).collect();
        Ok(Checker { stats, same, device, inexact: HashSet::new() })
    }

    /// Whether a row must give the recorded bits.
    fn is_exact(&self, op: &OpView) -> bool {
        let here = self.same.contains(op.device);
        let ran_there = match (self.device == Device::cpu(), op.fallback) {
            (true, true) => self.same.contains(CPU),
            (true, false) => here,
            (false, true) => here && op.device != CPU && self.same.contains(CPU),
            (false, false) => here && op.device != CPU,
        };
        ran_there && !op.inputs.iter().any(|input| self.inexact.contains(input))
    }

    fn compare(&mut self, report: &mut Report, op: &OpView, made: &Made) -> Result<(), Failure> {
        let exact = is_input(op) || self.is_exact(op);
        if !exact {
            self.inexact.extend(op.outputs);
        }
        let (Made::Ran(results) | Made::Given(results)) = made else { return Ok(()) };
        for (&id, array) in op.outputs.iter().zip(*results) {
            let Some(recorded) = self.stats.get(&id) else {
                report.unknown += u64::from(matches!(made, Made::Ran(_)));
                continue;
            };
            report.checked += 1;
            let found = capture::figures(array)?;
            if format!("{:016x}", found.hash) == recorded.hash {
                report.exact += 1;
                self.inexact.remove(&id);
                continue;
            }
            self.inexact.insert(id);
            let what = if exact {
                Some(format!("hash {:016x}, recorded {}", found.hash, recorded.hash))
            } else {
                further_apart(&found, recorded, array)
            };
            if let Some(what) = what {
                let (name, call_site) = (op.name.to_owned(), op.call_site.to_owned());
                report.different.push(Difference { op: op.id, name, call_site, what });
            }
        }
        Ok(())
    }
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
    report.skipped.print(args.limit, out)?;
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
        if report.unknown > 0 {
            let results = text::counted(report.unknown, "result");
            writeln!(out, "  {} {results} without recorded figures", text::bad("not compared:"))?;
        }
        match report.verdict() {
            GOOD => writeln!(out, "  {}", text::good("the replay agrees with the recording"))?,
            UNABLE => writeln!(out, "  {}", text::bad("nothing could be compared"))?,
            _ if report.different.is_empty() => {
                let left = text::counted(report.skipped.count() + report.unknown, "operation");
                let what = format!("what was compared agrees with the recording, but {left} were left out");
                writeln!(out, "  {}", text::bad(&what))?;
            }
            _ => {}
        }
    }
    Ok(())
}
