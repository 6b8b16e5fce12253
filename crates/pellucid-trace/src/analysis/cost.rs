//! Where the time went: by kernel and by operation.

use std::collections::HashMap;

use serde::Serialize;

use super::index::{Index, duration};
use crate::schema::Roof;
use crate::{Result, Trace};

/// What a kernel or an operation cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Name of the kernel or operation.
    pub name: String,
    /// Device.
    pub device: String,
    /// Launches, or operations that ran.
    pub count: u64,
    /// Time in sum. A launch of several operations is divided among them by the bytes they move.
    pub time_ns: u64,
    /// Part of the time of all launches.
    pub share: f64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Gigabytes per second.
    pub gb_per_s: f64,
    /// Billions of floating-point operations per second.
    pub gflop_per_s: f64,
    /// Part of what the device can do at most, of memory traffic or arithmetic, whichever is nearer to its limit.
    pub roof_share: Option<f64>,
    /// Member with the kernel's text.
    pub source: Option<String>,
}

#[derive(Default)]
struct Sum {
    count: u64,
    time: f64,
    bytes: u64,
    flops: u64,
}

impl Sum {
    fn add(&mut self, time: f64, bytes: u64, flops: u64) {
        self.count += 1;
        self.time += time;
        self.bytes = self.bytes.saturating_add(bytes);
        self.flops = self.flops.saturating_add(flops);
    }

    fn cost(&self, name: &str, device: &str, total: f64, roof: Option<&Roof>) -> Cost {
        let seconds = self.time / 1e9;
        let rate = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
        let part = |rate: f64, limit: f64| if limit > 0.0 { rate / limit } else { 0.0 };
        let (bytes, flops) = (rate(self.bytes), rate(self.flops));
        Cost {
            name: name.to_owned(),
            device: device.to_owned(),
            count: self.count,
            time_ns: self.time as u64,
            share: if total > 0.0 { self.time / total } else { 0.0 },
            bytes: self.bytes,
            flops: self.flops,
            gb_per_s: bytes / 1e9,
            gflop_per_s: flops / 1e9,
            roof_share: roof
                .map(|roof| part(bytes, roof.bytes_per_second).max(part(flops, roof.flops_per_second)))
                .filter(|share| share.is_finite() && *share > 0.0),
            source: None,
        }
    }
}

/// Costs by kernel, most expensive first.
///
/// # Errors
/// As the tables; so for the other functions of this module.
pub fn kernels(trace: &Trace) -> Result<Vec<Cost>> {
    let mut sums: HashMap<(&str, &str), (Sum, Option<&str>)> = HashMap::new();
    let mut total = 0.0;
    for launch in trace.launches()?.iter() {
        let time = duration(&launch) as f64;
        total += time;
        let (sum, source) = sums.entry((launch.kernel, launch.device)).or_default();
        sum.add(time, launch.bytes, launch.flops);
        *source = source.or(launch.source);
    }
    let roofs = roofs(trace);
    let costs = sums.iter().map(|((name, device), (sum, source))| Cost {
        source: source.map(str::to_owned),
        ..sum.cost(name, device, total, roofs.get(device).copied())
    });
    Ok(sorted(costs.collect()))
}

/// Costs by the kernel of each dispatch, most expensive first: what the launches of GPUs are made of. Bytes are those
/// that are bound; how much of them a kernel touches is not known.
///
/// # Errors
/// As the tables.
pub fn dispatches(trace: &Trace) -> Result<Vec<Cost>> {
    let launches = trace.launches()?;
    let devices: HashMap<u64, &str> = launches.iter().map(|launch| (launch.id, launch.device)).collect();
    let total: f64 = launches.iter().map(|launch| duration(&launch) as f64).sum();
    let mut sums: HashMap<(&str, &str), (Sum, Option<&str>)> = HashMap::new();
    for dispatch in trace.dispatches()?.iter() {
        let device = devices.get(&dispatch.launch).copied().unwrap_or_default();
        let (sum, source) = sums.entry((dispatch.kernel, device)).or_default();
        let time = dispatch.end_ns.saturating_sub(dispatch.start_ns).max(0) as f64;
        sum.add(time, dispatch.sizes.iter().fold(0, |sum, size| sum.saturating_add(*size)), 0);
        *source = source.or(dispatch.source);
    }
    let costs = sums.iter().map(|((name, device), (sum, source))| Cost {
        source: source.map(str::to_owned),
        ..sum.cost(name, device, total, None)
    });
    Ok(sorted(costs.collect()))
}

/// Costs by the name of the operation, most expensive first.
///
/// # Errors
/// As the tables.
pub fn ops(trace: &Trace) -> Result<Vec<Cost>> {
    ops_with(trace, &Index::new(trace)?)
}

pub(super) fn ops_with(trace: &Trace, index: &Index) -> Result<Vec<Cost>> {
    let table = trace.ops()?;
    let mut sums: HashMap<(&str, &str), Sum> = HashMap::new();
    let mut total = 0.0;
    for launch in trace.launches()?.iter() {
        let time = duration(&launch) as f64;
        total += time;
        let weight =
            index.ops_of(launch.ops).filter_map(|row| table.get(row)).map(|op| op.bytes as f64).sum::<f64>();
        let count = launch.ops.len().max(1) as f64;
        for op in index.ops_of(launch.ops).filter_map(|row| table.get(row)) {
            let part = if weight > 0.0 { op.bytes as f64 / weight } else { 1.0 / count };
            sums.entry((op.name, launch.device)).or_default().add(time * part, op.bytes, op.flops);
        }
    }
    let roofs = roofs(trace);
    let cost = |((name, device), sum): (&(&str, &str), &Sum)| {
        sum.cost(name, device, total, roofs.get(device).copied())
    };
    Ok(sorted(sums.iter().map(cost).collect()))
}

fn roofs(trace: &Trace) -> HashMap<&str, &Roof> {
    trace
        .manifest()
        .devices
        .iter()
        .filter_map(|device| Some((device.device.as_str(), device.roof.as_ref()?)))
        .collect()
}

fn sorted(mut costs: Vec<Cost>) -> Vec<Cost> {
    costs.sort_by(|a, b| {
        b.time_ns.cmp(&a.time_ns).then_with(|| (&a.name, &a.device).cmp(&(&b.name, &b.device)))
    });
    costs
}
