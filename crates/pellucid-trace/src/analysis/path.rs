//! The longest chain of launches that need each other: what no number of streams can shorten.

use serde::Serialize;

use super::index::{Index, NONE, duration};
use crate::{Result, Trace};

/// How many launches of the chain are listed.
const LISTED: usize = 100;

/// The longest chain of launches that need each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Time of its launches.
    pub time_ns: u64,
    /// Number of its launches.
    pub launches: u64,
    /// Time of all launches.
    pub total_ns: u64,
    /// How much faster everything could be with streams enough and no gaps: `total_ns / time_ns`.
    pub parallelism: f64,
    /// The launches that take most of it, most expensive first: number, kernel, time.
    pub costliest: Vec<(u64, String, u64)>,
}

/// The longest chain of launches that need each other.
///
/// # Errors
/// As the tables.
pub fn critical_path(trace: &Trace) -> Result<CriticalPath> {
    critical_path_with(trace, &Index::new(trace)?)
}

pub(super) fn critical_path_with(trace: &Trace, index: &Index) -> Result<CriticalPath> {
    let table = trace.launches()?;
    let (mut chain, time_ns) = chain(trace, index)?;
    let time = |row: usize| table.get(row).map_or(0, |launch| duration(&launch));
    let total_ns = table.iter().fold(0_u64, |sum, launch| sum.saturating_add(duration(&launch)));
    if chain.is_empty() {
        return Ok(CriticalPath::default());
    }
    let launches = chain.len() as u64;
    chain.sort_by_key(|row| (std::cmp::Reverse(time(*row)), *row));
    let parallelism = if time_ns > 0 { total_ns as f64 / time_ns as f64 } else { 1.0 };
    let costliest = chain.iter().take(LISTED).filter_map(|row| {
        let launch = table.get(*row)?;
        Some((launch.id, launch.kernel.to_owned(), time(*row)))
    });
    Ok(CriticalPath { time_ns, launches, total_ns, parallelism, costliest: costliest.collect() })
}

/// The launches of the chain in the order they ran, by row, and their time.
pub(super) fn chain(trace: &Trace, index: &Index) -> Result<(Vec<usize>, u64)> {
    let table = trace.launches()?;
    let times: Vec<u64> = table.iter().map(|launch| duration(&launch)).collect();
    let ends: Vec<(i64, i64)> = table.iter().map(|launch| (launch.end_ns, launch.start_ns)).collect();
    let mut order: Vec<u32> = (0..times.len() as u32).collect();
    order.sort_by_key(|row| ends[*row as usize]);
    // Links that run against time are left out, so the chain cannot go in circles whatever the file says.
    let mut finish: Vec<Option<u64>> = vec![None; times.len()];
    let mut before = vec![NONE; times.len()];
    let mut last = None;
    for row in order.iter().map(|row| *row as usize) {
        let needs = index.needs(row).iter().filter_map(|need| Some((finish[*need as usize]?, *need)));
        let (ready, need) = needs.max().unwrap_or((0, NONE));
        let end = ready.saturating_add(times[row]);
        (finish[row], before[row]) = (Some(end), need);
        if last.is_none_or(|(best, _)| end > best) {
            last = Some((end, row));
        }
    }
    let Some((time_ns, mut row)) = last else { return Ok((Vec::new(), 0)) };
    let mut chain = vec![row];
    while before[row] != NONE {
        row = before[row] as usize;
        chain.push(row);
    }
    chain.reverse();
    Ok((chain, time_ns))
}
