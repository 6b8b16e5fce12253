//! Launches that took much longer than the others of their kernel, and what the trace knows about why.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::index::{Index, duration};
use crate::{Result, Trace};

/// A launch is remarkable if it takes this many times the median of its kernel …
const TIMES: u64 = 3;
/// … and this much longer.
const LONGER_NS: u64 = 20_000;
/// Fewer launches than this have no median to speak of.
const FEWEST: usize = 5;
/// How many are listed.
const LISTED: usize = 20;

/// Why a launch took longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It was the first of its kernel: the kernel was compiled, code and data were cold.
    FirstLaunch,
    /// Its result lies in memory fresh from the system, whose pages were touched for the first time.
    FirstTouch,
    /// Another stream of the same device ran at the same time.
    Shared,
    /// Nothing in the trace explains it: another process, or the system.
    Outside,
}

/// A launch that took much longer than others of its kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Its number.
    pub launch: u64,
    /// Its kernel.
    pub kernel: String,
    /// How long it took.
    pub time_ns: u64,
    /// The median of the kernel.
    pub median_ns: u64,
    /// Why, as far as the trace can tell.
    pub cause: Cause,
    #[serde(skip)]
    pub(super) row: usize,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outliers {
    /// How many there are.
    pub count: u64,
    /// How much longer they took than the medians, in sum.
    pub lost_ns: u64,
    /// How many by cause.
    pub causes: BTreeMap<Cause, u64>,
    /// Those that lost most, most first.
    pub worst: Vec<Outlier>,
}

/// Launches that took much longer than others of their kernel.
///
/// # Errors
/// As the tables.
pub fn outliers(trace: &Trace) -> Result<Outliers> {
    outliers_with(trace, &Index::new(trace)?)
}

pub(super) fn outliers_with(trace: &Trace, index: &Index) -> Result<Outliers> {
    let mut found = found(trace, index)?;
    let lost = |outlier: &Outlier| outlier.time_ns - outlier.median_ns;
    let mut all = Outliers {
        count: found.len() as u64,
        lost_ns: found.iter().fold(0, |sum, outlier| sum.saturating_add(lost(outlier))),
        ..Outliers::default()
    };
    found.iter().for_each(|outlier| *all.causes.entry(outlier.cause).or_default() += 1);
    found.sort_by_key(|outlier| (std::cmp::Reverse(lost(outlier)), outlier.row));
    found.truncate(LISTED);
    all.worst = found;
    Ok(all)
}

/// Time, begin and row of a launch.
type Timed = (u64, i64, u32);

/// All of them, by row.
pub(super) fn found(trace: &Trace, index: &Index) -> Result<Vec<Outlier>> {
    let table = trace.launches()?;
    let mut kernels: HashMap<(&str, &str), Vec<Timed>> = HashMap::new();
    for (row, launch) in table.iter().enumerate() {
        // Parts of a submission's time say nothing about single launches.
        if launch.timed_by != "gpu submission" {
            let runs = kernels.entry((launch.kernel, launch.device)).or_default();
            runs.push((duration(&launch), launch.start_ns, row as u32));
        }
    }
    // Row, time and median, and whether it was the first of its kernel.
    let mut slow: Vec<(u32, u64, u64, bool)> = Vec::new();
    for runs in kernels.values_mut().filter(|runs| runs.len() >= FEWEST) {
        let first = runs.iter().map(|(_, start, row)| (*start, *row)).min();
        let middle = runs.len() / 2;
        let (_, (median, ..), above) = runs.select_nth_unstable(middle);
        let limit = median.saturating_mul(TIMES).max(median.saturating_add(LONGER_NS));
        let is_first = |row: u32| first.is_some_and(|(_, first)| first == row);
        let median = *median;
        slow.extend(
            above
                .iter()
                .filter(|run| run.0 > limit)
                .map(|(time, _, row)| (*row, *time, median, is_first(*row))),
        );
    }
    slow.sort_unstable();
    if slow.is_empty() {
        return Ok(Vec::new());
    }
    let causes = Causes::new(trace)?;
    let outlier = |(row, time_ns, median_ns, first): (u32, u64, u64, bool)| {
        let launch = table.get(row as usize)?;
        let cause = if first { Cause::FirstLaunch } else { causes.of(trace, index, row as usize)? };
        let kernel = launch.kernel.to_owned();
        Some(Outlier { launch: launch.id, kernel, time_ns, median_ns, cause, row: row as usize })
    };
    Ok(slow.into_iter().filter_map(outlier).collect())
}

/// What explains a slow launch.
struct Causes<'a> {
    /// Arrays in memory fresh from the system.
    fresh: std::collections::HashSet<u64>,
    /// Runs of each device by begin: begin, end, stream.
    runs: HashMap<&'a str, Vec<(i64, i64, u32)>>,
}

impl<'a> Causes<'a> {
    fn new(trace: &'a Trace) -> Result<Self> {
        let fresh = trace.memory()?.iter().filter(|event| event.event == "allocate");
        let fresh = fresh.filter_map(|event| event.op).collect();
        let mut runs: HashMap<&str, Vec<(i64, i64, u32)>> = HashMap::new();
        for launch in trace.launches()?.iter() {
            runs.entry(launch.device).or_default().push((launch.start_ns, launch.end_ns, launch.stream));
        }
        runs.values_mut().for_each(|runs| runs.sort_unstable());
        Ok(Self { fresh, runs })
    }

    fn of(&self, trace: &Trace, index: &Index, row: usize) -> Option<Cause> {
        let (ops, launch) = (trace.ops().ok()?, trace.launches().ok()?.get(row)?);
        let mut made = index.ops_of(launch.ops).filter_map(|row| ops.get(row));
        if made.any(|op| op.outputs.iter().any(|array| self.fresh.contains(array))) {
            return Some(Cause::FirstTouch);
        }
        // Runs that begin while this one lasts, or shortly before it.
        let runs = self.runs.get(launch.device).map_or(&[][..], Vec::as_slice);
        let until = runs.partition_point(|(start, ..)| *start < launch.end_ns);
        let beside = runs[..until].iter().rev().take(64);
        let shared =
            beside.filter(|(_, end, stream)| *stream != launch.stream && *end > launch.start_ns).count() > 0;
        Some(if shared { Cause::Shared } else { Cause::Outside })
    }
}
