//! What both timeline formats draw: lanes of launches that do not overlap, links, nested regions, counters.

use std::collections::{BTreeMap, HashMap};

use crate::analysis::index::Index;
use crate::schema::Region;
use crate::{Result, Trace};

/// An arrow from a launch to one that reads its result, or to a wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Row of the launch.
    pub from: u32,
    pub to: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Launch(u32),
    Wait(u32),
}

/// A row of launches one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub stream: u32,
    pub name: String,
    pub device: String,
}

pub(super) struct Plan {
    pub lanes: Vec<Lane>,
    /// For each launch its lane.
    pub lane_of: Vec<u32>,
    pub links: Vec<Link>,
    /// For each launch the links that leave it, and those that end in it.
    pub out: Vec<Vec<u32>>,
    pub into: Vec<Vec<u32>>,
    pub into_wait: HashMap<u32, u32>,
    /// For each launch, by number, the rows of its dispatches.
    pub dispatches: HashMap<u64, Vec<u32>>,
}

impl Plan {
    pub(super) fn new(trace: &Trace, index: &Index) -> Result<Self> {
        let (lanes, lane_of) = lanes(trace)?;
        let launches = trace.launches()?.len();
        let mut links = Vec::new();
        for row in 0..launches {
            let to = Target::Launch(row as u32);
            links.extend(index.needs(row).iter().map(|from| Link { from: *from, to }));
        }
        links.extend(wait_links(trace)?);
        let (mut out, mut into) = (vec![Vec::new(); launches], vec![Vec::new(); launches]);
        let mut into_wait = HashMap::new();
        for (i, link) in links.iter().enumerate() {
            out[link.from as usize].push(i as u32);
            match link.to {
                Target::Launch(row) => into[row as usize].push(i as u32),
                Target::Wait(row) => {
                    into_wait.insert(row, i as u32);
                }
            }
        }
        let mut dispatches: HashMap<u64, Vec<u32>> = HashMap::new();
        for (dispatch, row) in trace.dispatches()?.iter().zip(0..) {
            dispatches.entry(dispatch.launch).or_default().push(row);
        }
        Ok(Self { lanes, lane_of, links, out, into, into_wait, dispatches })
    }
}

/// Gives each launch a lane of its stream on which nothing else runs at the time. Streams run one launch after the
/// other, so a second lane is needed only where times are those of a whole submission, or wrong.
fn lanes(trace: &Trace) -> Result<(Vec<Lane>, Vec<u32>)> {
    let table = trace.launches()?;
    let mut order: Vec<(i64, i64, u32)> =
        table.iter().zip(0..).map(|(launch, row)| (launch.start_ns, launch.end_ns, row)).collect();
    order.sort_unstable();
    let mut lanes = Vec::new();
    let mut of_stream: BTreeMap<u32, Vec<(u32, i64)>> = BTreeMap::new();
    let mut lane_of = vec![0; table.len()];
    for (start, end, row) in order {
        let Some(launch) = table.get(row as usize) else { continue };
        let open = of_stream.entry(launch.stream).or_default();
        // A lane too many draws badly; too few draw wrong. Past a hundred only the last is tried.
        let free = open.iter().position(|(_, until)| *until <= start);
        let lane = match free {
            Some(i) => {
                open[i].1 = end.max(start);
                open[i].0
            }
            None if open.len() < 100 => {
                let info = trace.manifest().streams.iter().find(|info| info.index == launch.stream);
                let label =
                    info.map_or_else(|| format!("stream {}", launch.stream), |info| info.label.clone());
                let name = if open.is_empty() { label } else { format!("{label} ({})", open.len() + 1) };
                lanes.push(Lane { stream: launch.stream, name, device: launch.device.to_owned() });
                open.push((lanes.len() as u32 - 1, end.max(start)));
                lanes.len() as u32 - 1
            }
            None => open[99].0,
        };
        lane_of[row as usize] = lane;
    }
    Ok((lanes, lane_of))
}

/// A wait ends with the last launch of the stream it waits for that ended by then.
fn wait_links(trace: &Trace) -> Result<Vec<Link>> {
    let mut ends: HashMap<u32, Vec<(i64, u32)>> = HashMap::new();
    for (row, launch) in trace.launches()?.iter().enumerate() {
        ends.entry(launch.stream).or_default().push((launch.end_ns, row as u32));
    }
    ends.values_mut().for_each(|ends| ends.sort_unstable());
    let link = |(row, wait): (usize, crate::SyncView)| {
        let ends = ends.get(&wait.waited_for)?;
        let until = wait.time_ns.saturating_add(wait.duration_ns.max(0));
        let last = ends.partition_point(|(end, _)| *end <= until).checked_sub(1)?;
        Some(Link { from: ends[last].1, to: Target::Wait(row as u32) })
    };
    Ok(trace.sync()?.iter().enumerate().filter_map(link).collect())
}

/// Regions of each thread, outer before inner, with ends cut to those of the region around them.
pub(super) fn nested(regions: &[Region]) -> BTreeMap<&str, Vec<(i64, i64, &str)>> {
    let mut threads: BTreeMap<&str, Vec<(i64, i64, &str)>> = BTreeMap::new();
    for region in regions {
        let end = region.end_ns.max(region.start_ns);
        threads.entry(&region.thread).or_default().push((region.start_ns, end, &region.name));
    }
    for regions in threads.values_mut() {
        regions.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
        let mut open: Vec<i64> = Vec::new();
        for (start, end, _) in regions.iter_mut() {
            while open.last().is_some_and(|outer| outer <= start) {
                open.pop();
            }
            *end = open.last().map_or(*end, |outer| (*end).min(*outer));
            open.push(*end);
        }
    }
    threads
}
