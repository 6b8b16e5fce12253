//! `pellucid diff`: what changed between two traces, for people and for build servers.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use pellucid_trace::diff::{Brief, Change, Diff, Options, diff};
use serde::Serialize;

use crate::text::{self, Side};
use crate::{FOUND, GOOD, Outcome, open::open};

/// The options of `pellucid diff`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pellucid diff before.pltrace after.pltrace\n  \
    pellucid diff baseline.pltrace now.pltrace --max-slower 10 --max-memory 0 --fail-on-change ops\n\n\
    Exit code 1 if a limit given here is passed, else 0.")]
pub struct Args {
    /// The trace to compare with
    a: PathBuf,
    /// The trace to look at
    b: PathBuf,
    /// Fail if the time of all launches grew by more than this many percent
    #[arg(long, value_name = "PCT")]
    max_slower: Option<f64>,
    /// Fail if the peak of memory grew by more than this many percent
    #[arg(long, value_name = "PCT")]
    max_memory: Option<f64>,
    /// Fail if these changed at all
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    fail_on_change: Vec<What>,
    /// Percent by which a time may differ without being remarked on
    #[arg(long, value_name = "PCT", default_value_t = 10.0)]
    noise: f64,
    /// How many differences of each kind to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Operations: added, removed or changed
    Ops,
    /// The number of launches
    Launches,
    /// Bytes moved
    Bytes,
    /// Results
    Numbers,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    diff: &'a Diff,
    failures: &'a [String],
}

/// Compares two traces. Exit code 1 if a limit was passed.
pub fn run(args: &Args, out: &mut impl Write) -> Outcome {
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let options = Options { noise: args.noise / 100.0, listed: args.limit, ..Options::default() };
    let diff = diff(&a, &b, &options)?;
    let failures = failures(args, &diff);
    if args.json {
        text::json(out, &Report { diff: &diff, failures: &failures })?;
    } else {
        print(args, &diff, out)?;
        for failure in &failures {
            writeln!(out, "{} {failure}", text::bad("limit passed:"))?;
        }
    }
    Ok(if failures.is_empty() { GOOD } else { FOUND })
}

fn failures(args: &Args, diff: &Diff) -> Vec<String> {
    let mut failures = Vec::new();
    let grown = |change: &Change| 100.0 * (change.ratio - 1.0);
    for (what, limit, change) in
        [("time", args.max_slower, &diff.time), ("peak of memory", args.max_memory, &diff.peak)]
    {
        if let Some(limit) = limit.filter(|limit| change.b > change.a && grown(change) > *limit) {
            failures.push(format!("the {what} grew by {:.1} %, more than {limit} %", grown(change)));
        }
    }
    for what in &args.fail_on_change {
        let changed = match what {
            What::Ops => diff.added.0 + diff.removed.0 + diff.changed.0 > 0,
            What::Launches => diff.launches.significant,
            What::Bytes => diff.bytes.significant,
            What::Numbers => diff.numbers.different > 0,
        };
        if changed {
            let what = match what {
                What::Ops => "operations",
                What::Launches => "number of launches",
                What::Bytes => "bytes moved",
                What::Numbers => "results",
            };
            failures.push(format!("the {what} changed"));
        }
    }
    failures
}

fn print(args: &Args, diff: &Diff, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let plain = |change: &Change, show: fn(u64) -> String| {
        let ratio = match change.ratio {
            r if !r.is_finite() => "new".to_owned(),
            r => format!("{:+.1} %", 100.0 * (r - 1.0)),
        };
        let note = if change.significant { "" } else { "same" };
        vec![show(change.a), show(change.b), ratio, note.to_owned()]
    };
    let row = |name: &str, change: &Change, show: fn(u64) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend(plain(change, show));
        row
    };
    let flop: fn(u64) -> String = |n| format!("{:.3} Gflop", n as f64 / 1e9);
    let rows = vec![
        row("launches", &diff.launches, text::count),
        row("bytes moved", &diff.bytes, text::bytes),
        row("arithmetic", &diff.flops, flop),
        row("peak of memory", &diff.peak, text::bytes),
        row("time of launches", &diff.time, text::span),
        row("window", &diff.duration, text::span),
    ];
    use Side::{Left, Right};
    let headers = [("", Left), ("a", Right), ("b", Right), ("change", Right), ("", Left)];
    text::table(out, &headers, rows)?;

    text::heading(out, "Operations")?;
    let [added, removed, changed] = [diff.added.0, diff.removed.0, diff.changed.0].map(text::count);
    writeln!(
        out,
        "  {} the same, {added} added, {removed} removed, {changed} changed",
        text::count(diff.aligned)
    )?;
    diff.added.1.iter().try_for_each(|op| writeln!(out, "  + {}", brief(op)))?;
    diff.removed.1.iter().try_for_each(|op| writeln!(out, "  - {}", brief(op)))?;
    diff.changed.1.iter().try_for_each(|(a, b)| writeln!(out, "  ~ {}  →  {}", brief(a), brief(b)))?;

    let kernels: Vec<_> = diff.kernels.iter().filter(|k| k.time.significant || k.count.significant).collect();
    if !kernels.is_empty() {
        text::heading(out, "Kernels")?;
        let rows = kernels.iter().take(args.limit).map(|k| {
            let runs = format!("{} → {}", text::count(k.count.a), text::count(k.count.b));
            let mut row = vec![text::short(&k.name, 40), runs];
            row.extend(plain(&k.time, text::span).into_iter().take(3));
            row
        });
        let headers = [("", Left), ("launches", Right), ("a", Right), ("b", Right), ("change", Right)];
        text::table(out, &headers, rows.collect())?;
    }

    text::heading(out, "Results")?;
    let n = &diff.numbers;
    if n.compared == 0 {
        writeln!(out, "  not compared: one of the traces has no figures")?;
        return Ok(());
    }
    let [compared, identical, close, different] =
        [n.compared, n.identical, n.close, n.different].map(text::count);
    writeln!(
        out,
        "  {compared} compared: {identical} the same to the last bit, {close} close, {different} different"
    )?;
    for change in n.first.iter().take(args.limit) {
        let (nan, inf) = (change.nan, change.inf);
        let odd = if nan.0 + nan.1 + inf.0 + inf.1 > 0 {
            format!("; NaN {} → {}, infinite {} → {}", nan.0, nan.1, inf.0, inf.1)
        } else {
            String::new()
        };
        writeln!(out, "  ~ {}: off by {:.2e}{odd}", brief(&change.a), change.difference)?;
    }
    Ok(())
}

fn brief(op: &Brief) -> String {
    let dtype = op.dtypes.first().map_or("", String::as_str);
    let shape = op.shapes.first().map_or(String::new(), |s| text::shape(s));
    let place = op.label.as_deref().unwrap_or(&op.call_site);
    format!("op {} {} {dtype} {shape} at {}", op.id, text::short(&op.name, 24), text::short(place, 50))
}
