//! Waits that were not needed, or that left a stream idle.

use std::collections::HashMap;

use super::InsightKind;
use super::index::Index;
use crate::{Result, Trace};

/// How many launches behind a wait are searched for a use of what it waited for.
const SEARCHED: usize = 1_000;

/// A launch on its stream: begin, end, row.
type Run = (i64, i64, u32);

/// Reports each wasteful wait: its row, its gain and the first operation behind it.
pub(super) fn waits(
    trace: &Trace,
    index: &Index,
    mut report: impl FnMut(usize, InsightKind, u64, Option<u64>),
) -> Result<()> {
    let (launches, waits) = (trace.launches()?, trace.sync()?);
    if waits.is_empty() {
        return Ok(());
    }
    let mut runs: HashMap<u32, Vec<Run>> = HashMap::new();
    let mut streams = Vec::with_capacity(launches.len());
    for (row, launch) in launches.iter().enumerate() {
        runs.entry(launch.stream).or_default().push((launch.start_ns, launch.end_ns, row as u32));
        streams.push(launch.stream);
    }
    runs.values_mut().for_each(|runs| runs.sort_unstable());
    // What comes behind a wait reaches to the waiter's next wait for the same stream.
    let mut next_wait: HashMap<(i32, u32), Vec<i64>> = HashMap::new();
    for wait in waits.iter() {
        next_wait.entry((wait.waiter, wait.waited_for)).or_default().push(wait.time_ns);
    }
    next_wait.values_mut().for_each(|times| times.sort_unstable());
    let first_op = |run: &Run| launches.get(run.2 as usize).and_then(|launch| launch.ops.first().copied());
    for (row, wait) in waits.iter().enumerate() {
        let end = wait.time_ns.saturating_add(wait.duration_ns.max(0));
        let Ok(waiter) = u32::try_from(wait.waiter) else {
            let Some(runs) = runs.get(&wait.waited_for) else { continue };
            let next = runs.partition_point(|(start, ..)| *start < end);
            // Work that was already there when the wait began did not suffer from it.
            if let (Some(run), Some(before)) = (runs.get(next), next.checked_sub(1).and_then(|i| runs.get(i)))
            {
                let idle = run.0.saturating_sub(before.1.max(wait.time_ns)).max(0) as u64;
                let late =
                    launches.get(run.2 as usize).is_some_and(|launch| launch.enqueue_ns >= wait.time_ns);
                if late && idle > 0 {
                    report(row, InsightKind::IdleAfterWait, idle, first_op(run));
                }
            }
            continue;
        };
        let times = next_wait.get(&(wait.waiter, wait.waited_for)).map_or(&[][..], Vec::as_slice);
        let until =
            times.get(times.partition_point(|time| *time <= wait.time_ns)).copied().unwrap_or(i64::MAX);
        let behind = runs.get(&waiter).map_or(&[][..], |runs| {
            let from = runs.partition_point(|(start, ..)| *start < end);
            let to = runs.partition_point(|(start, ..)| *start < until.max(end));
            &runs[from..to.max(from)]
        });
        let reads = |run: &Run| {
            index
                .needs(run.2 as usize)
                .iter()
                .any(|need| streams.get(*need as usize) == Some(&wait.waited_for))
        };
        // Further on nobody can tell what the wait was for.
        if !behind.is_empty() && behind.len() <= SEARCHED && !behind.iter().any(reads) {
            report(row, InsightKind::NeedlessWait, wait.duration_ns.max(0) as u64, first_op(&behind[0]));
        }
    }
    Ok(())
}
