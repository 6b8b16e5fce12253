//! What could be better, with an estimate of what it would gain. The estimates are from above: they assume that
//! nothing else stands in the way.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::index::{Index, Kind, duration, output_bytes};
use crate::schema::LaunchView;
use crate::{Result, Trace};

/// Launches shorter than this do little but start.
const TINY_NS: u64 = 10_000;
/// Fewer tiny launches than this are not worth a remark.
const TINY_COUNT: u64 = 10;
/// How many operations are named as examples.
const EXAMPLES: usize = 5;

/// A kind of waste.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InsightKind {
    /// Elementwise launches, one of which reads only for the other, did not become one.
    Unfused,
    /// A change of layout that moved every element.
    Copy,
    /// Launches too short to be worth starting.
    TinyLaunches,
    /// A stream waited for another one from which it read nothing.
    NeedlessWait,
    /// The host waited and the stream then had nothing to do.
    IdleAfterWait,
    /// A result was computed and given up without anybody having read it.
    DeadResult,
    /// An operation ran on the CPU although its stream is on a GPU.
    Fallback,
    /// The same operation ran again on the same inputs.
    Repeated,
}

/// Something that could be better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Insight {
    /// What kind of thing.
    pub kind: InsightKind,
    /// How often it happened.
    pub count: u64,
    /// What it would gain at most.
    pub gain_ns: u64,
    /// One sentence about what was found.
    pub text: String,
    /// One sentence about what to do.
    pub advice: &'static str,
    /// Some of the operations.
    pub examples: Vec<u64>,
}

#[derive(Default)]
struct Found {
    count: u64,
    gain: u64,
    examples: Vec<u64>,
}

type All = BTreeMap<InsightKind, Found>;

fn add(all: &mut All, kind: InsightKind, gain: u64, op: Option<u64>) {
    let found = all.entry(kind).or_default();
    found.count += 1;
    found.gain = found.gain.saturating_add(gain);
    if found.examples.len() < EXAMPLES {
        found.examples.extend(op);
    }
}

/// What could be better, largest gain first.
///
/// # Errors
/// As the tables.
pub fn insights(trace: &Trace) -> Result<Vec<Insight>> {
    insights_with(trace, &Index::new(trace)?)
}

pub(super) fn insights_with(trace: &Trace, index: &Index) -> Result<Vec<Insight>> {
    let mut all = All::new();
    launches(trace, index, &mut all)?;
    repeated(trace, &mut all)?;
    dead(trace, index, &mut all)?;
    super::waste::waits(trace, index, |_, kind, gain, op| add(&mut all, kind, gain, op))?;
    let mut insights: Vec<Insight> = all
        .into_iter()
        .filter(|(kind, found)| *kind != InsightKind::TinyLaunches || found.count >= TINY_COUNT)
        .map(|(kind, found)| describe(kind, found))
        .collect();
    insights.sort_by_key(|insight| (std::cmp::Reverse(insight.gain_ns), insight.kind));
    Ok(insights)
}

/// What one launch and those it reads from show.
fn launches(trace: &Trace, index: &Index, all: &mut All) -> Result<()> {
    let (table, ops) = (trace.launches()?, trace.ops()?);
    let mut ends: HashMap<u32, i64> = HashMap::new();
    for (row, launch) in table.iter().enumerate() {
        let time = duration(&launch);
        let first = launch.ops.first().copied();
        let is = |kind: Kind| all_are(index, &launch, kind);
        if is(Kind::Layout) {
            add(all, InsightKind::Copy, time, first);
        }
        if index.ops_of(launch.ops).filter_map(|row| ops.get(row)).any(|op| op.fallback) {
            add(all, InsightKind::Fallback, time, first);
        }
        let end = ends.insert(launch.stream, launch.end_ns);
        if time < TINY_NS && launch.timed_by != "gpu submission" {
            let gap = end.map_or(0, |end| launch.start_ns.saturating_sub(end).max(0) as u64);
            add(all, InsightKind::TinyLaunches, gap.min(100_000), first);
        }
        if !is(Kind::Elementwise) {
            continue;
        }
        let output = index.ops_of(launch.ops).last().and_then(|row| ops.get(row));
        for need in index.needs(row).iter().map(|need| *need as usize) {
            let Some(maker) = table.get(need) else { continue };
            let made = index.ops_of(maker.ops).last().and_then(|row| ops.get(row));
            let (Some(output), Some(made)) = (&output, &made) else { continue };
            let alone = index.readers.get(need) == Some(&1) && maker.stream == launch.stream;
            if alone
                && all_are(index, &maker, Kind::Elementwise)
                && output.shapes.get(0) == made.shapes.get(0)
            {
                // The result between them is neither written nor read any more.
                let saved = 2.0 * output_bytes(made) as f64;
                let (times, bytes) =
                    (time as f64 + duration(&maker) as f64, launch.bytes as f64 + maker.bytes as f64);
                let gain = if bytes > 0.0 { (times * saved / bytes) as u64 } else { 0 };
                add(all, InsightKind::Unfused, gain.min(time.max(duration(&maker))), first);
            }
        }
    }
    Ok(())
}

fn all_are(index: &Index, launch: &LaunchView, kind: Kind) -> bool {
    let mut rows = index.ops_of(launch.ops).peekable();
    rows.peek().is_some() && rows.all(|row| index.kind[row] == kind)
}

/// Operations alone in their launch that did again what was done before.
fn repeated(trace: &Trace, all: &mut All) -> Result<()> {
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut again: HashMap<u64, u64> = HashMap::new();
    let mut key = Vec::new();
    for op in trace.ops()?.iter() {
        let Some(launch) = op.launch.filter(|_| !op.inputs.is_empty()) else { continue };
        key.clear();
        key.extend_from_slice(op.op.as_bytes());
        op.inputs.iter().for_each(|input| key.extend_from_slice(&input.to_le_bytes()));
        op.dtypes.iter().for_each(|dtype| key.extend_from_slice(dtype.as_bytes()));
        let hash = xxhash_rust::xxh3::xxh3_64(&key);
        if seen.insert(hash, op.id).is_some() {
            again.insert(launch, op.id);
        }
    }
    if again.is_empty() {
        return Ok(());
    }
    for launch in trace.launches()?.iter().filter(|launch| launch.ops.len() == 1) {
        if let Some(op) = again.get(&launch.id) {
            add(all, InsightKind::Repeated, duration(&launch), Some(*op));
        }
    }
    Ok(())
}

/// Launches whose results were given up before anybody could have read them.
fn dead(trace: &Trace, index: &Index, all: &mut All) -> Result<()> {
    let mut freed: HashMap<u64, i64> = HashMap::new();
    for event in trace.memory()?.iter().filter(|event| event.event == "free") {
        freed.insert(event.buffer, event.time_ns);
    }
    // The host reads a result only after it has waited for the stream.
    let mut looks: HashMap<u32, Vec<i64>> = HashMap::new();
    for wait in trace.sync()?.iter().filter(|wait| wait.waiter < 0) {
        looks.entry(wait.waited_for).or_default().push(wait.time_ns.saturating_add(wait.duration_ns));
    }
    looks.values_mut().for_each(|times| times.sort_unstable());
    let ops = trace.ops()?;
    for (row, launch) in trace.launches()?.iter().enumerate() {
        if index.readers[row] > 0 {
            continue;
        }
        let Some(op) = index.ops_of(launch.ops).last().and_then(|row| ops.get(row)) else { continue };
        let Some(gone) = op.buffer.and_then(|buffer| freed.get(&buffer)) else { continue };
        let looked = looks.get(&launch.stream).is_some_and(|times| {
            let next = times.partition_point(|time| *time < launch.end_ns);
            times.get(next).is_some_and(|time| time <= gone)
        });
        if *gone >= launch.start_ns && !looked {
            add(all, InsightKind::DeadResult, duration(&launch), Some(op.id));
        }
    }
    Ok(())
}

fn describe(kind: InsightKind, found: Found) -> Insight {
    let n = found.count;
    let (text, advice) = match kind {
        InsightKind::Unfused => (
            format!(
                "{n} elementwise launches each read a result made only for them by another elementwise launch"
            ),
            "evaluate both in one go, on one stream, so that they become one launch",
        ),
        InsightKind::Copy => (
            format!("{n} changes of layout moved every element"),
            "keep arrays in the order in which they are read, or change the order once",
        ),
        InsightKind::TinyLaunches => (
            format!("{n} launches ran for less than {} µs", TINY_NS / 1000),
            "batch the work or evaluate less often, so that starting does not cost more than running",
        ),
        InsightKind::NeedlessWait => (
            format!("{n} waits of a stream for another from which it read nothing afterwards"),
            "drop the dependency, or place the work that needs it behind the wait",
        ),
        InsightKind::IdleAfterWait => (
            format!("after {n} waits of the host a stream had nothing to do"),
            "enqueue the next work before waiting, or read results later",
        ),
        InsightKind::DeadResult => (
            format!("{n} results were computed and given up without having been read"),
            "do not evaluate what is not needed",
        ),
        InsightKind::Fallback => (
            format!("{n} launches ran on the CPU although their stream is on a GPU"),
            "see `pellucid show` for the operations; the GPU does not support them yet",
        ),
        InsightKind::Repeated => (
            format!("{n} launches did again what was done before on the same inputs"),
            "keep the first result",
        ),
    };
    Insight { kind, count: n, gain_ns: found.gain, text, advice, examples: found.examples }
}
