//! How busy the streams were, and who waited for whom.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Result, Trace};

/// How many gaps and waits are listed.
const LISTED: usize = 10;

/// A time in which a stream did nothing between two launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When it began.
    pub start_ns: i64,
    /// How long it was.
    pub duration_ns: u64,
    /// The launch before.
    pub after: u64,
    /// The launch that ended it.
    pub before: u64,
}

/// What a stream did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamUse {
    /// Its index.
    pub stream: u32,
    /// Its name.
    pub label: String,
    /// Its device.
    pub device: String,
    /// Launches on it.
    pub launches: u64,
    /// Time in which something ran.
    pub busy_ns: u64,
    /// Part of the window in which something ran.
    pub busy_share: f64,
    /// Begin of the first launch.
    pub first_ns: i64,
    /// End of the last launch.
    pub last_ns: i64,
    /// Number of gaps between launches.
    pub gaps: u64,
    /// Time of the gaps in sum.
    pub gap_ns: u64,
    /// The longest gaps, longest first.
    pub longest_gaps: Vec<Gap>,
}

/// Time from `a` to `b`, none if it runs backwards.
fn span(a: i64, b: i64) -> u64 {
    b.saturating_sub(a).max(0) as u64
}

/// Time that these runs cover together.
pub(super) fn covered(mut runs: Vec<(i64, i64)>) -> u64 {
    runs.sort_unstable();
    let mut end = i64::MIN;
    runs.into_iter().fold(0_u64, |sum, (start, stop)| {
        let from = end.max(start);
        end = end.max(stop);
        sum.saturating_add(span(from, stop))
    })
}

/// What each stream did, by index.
///
/// # Errors
/// As the tables.
pub fn streams(trace: &Trace) -> Result<Vec<StreamUse>> {
    let mut runs: BTreeMap<u32, Vec<(i64, i64, u64)>> = BTreeMap::new();
    let mut devices: BTreeMap<u32, &str> = BTreeMap::new();
    for launch in trace.launches()?.iter() {
        runs.entry(launch.stream).or_default().push((launch.start_ns, launch.end_ns, launch.id));
        devices.entry(launch.stream).or_insert(launch.device);
    }
    let mut found = Vec::with_capacity(runs.len());
    for (stream, mut runs) in runs {
        runs.sort_unstable();
        let info = trace.manifest().streams.iter().find(|info| info.index == stream);
        let mut used = StreamUse {
            stream,
            label: info.map_or_else(|| format!("stream {stream}"), |info| info.label.clone()),
            device: devices.get(&stream).copied().unwrap_or_default().to_owned(),
            launches: runs.len() as u64,
            first_ns: runs[0].0,
            ..StreamUse::default()
        };
        measure(&mut used, &runs);
        let window = span(0, trace.manifest().window.duration_ns);
        used.busy_share = if window > 0 { used.busy_ns as f64 / window as f64 } else { 0.0 };
        found.push(used);
    }
    Ok(found)
}

fn measure(used: &mut StreamUse, runs: &[(i64, i64, u64)]) {
    let (mut end, mut last) = (runs[0].0, 0);
    let mut gaps = Vec::new();
    for (i, (start, stop, id)) in runs.iter().enumerate() {
        if *start > end && i > 0 {
            let duration_ns = span(end, *start);
            used.gaps += 1;
            used.gap_ns = used.gap_ns.saturating_add(duration_ns);
            gaps.push(Gap { start_ns: end, duration_ns, after: last, before: *id });
            if gaps.len() > 4 * LISTED {
                keep_longest(&mut gaps);
            }
        }
        used.busy_ns = used.busy_ns.saturating_add(span(end.max(*start), *stop));
        if *stop >= end {
            (end, last) = (*stop, *id);
        }
    }
    keep_longest(&mut gaps);
    used.last_ns = end;
    used.longest_gaps = gaps;
}

fn keep_longest(gaps: &mut Vec<Gap>) {
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.duration_ns), gap.start_ns));
    gaps.truncate(LISTED);
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// When it began.
    pub time_ns: i64,
    /// The stream that waited; `None` is the host.
    pub waiter: Option<u32>,
    /// The stream it waited for.
    pub waited_for: u32,
    /// How long.
    pub duration_ns: u64,
}

/// Waits in sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Waits of the host.
    pub host: u64,
    /// Their time.
    pub host_ns: u64,
    /// Waits of streams for each other.
    pub streams: u64,
    /// Their time.
    pub streams_ns: u64,
    /// The longest, longest first.
    pub longest: Vec<Wait>,
}

/// Who waited for whom.
///
/// # Errors
/// As the tables.
pub fn waits(trace: &Trace) -> Result<Waits> {
    let mut waits = Waits::default();
    for row in trace.sync()?.iter() {
        let duration_ns = row.duration_ns.max(0) as u64;
        let waiter = u32::try_from(row.waiter).ok();
        let (count, time) = match waiter {
            None => (&mut waits.host, &mut waits.host_ns),
            Some(_) => (&mut waits.streams, &mut waits.streams_ns),
        };
        *count += 1;
        *time = time.saturating_add(duration_ns);
        waits.longest.push(Wait { time_ns: row.time_ns, waiter, waited_for: row.waited_for, duration_ns });
        if waits.longest.len() > 4 * LISTED {
            keep_longest_waits(&mut waits.longest);
        }
    }
    keep_longest_waits(&mut waits.longest);
    Ok(waits)
}

fn keep_longest_waits(waits: &mut Vec<Wait>) {
    waits.sort_by_key(|wait| (std::cmp::Reverse(wait.duration_ns), wait.time_ns));
    waits.truncate(LISTED);
}
