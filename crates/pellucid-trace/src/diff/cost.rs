//! Amounts before and after, with a margin for what is noise.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Options;
use crate::analysis::index::{Index, duration};
use crate::schema::LaunchView;
use crate::{Result, Trace};

/// An amount in both traces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// In the first.
    pub a: u64,
    /// In the second.
    pub b: u64,
    /// `b / a`; 1 if both are 0.
    pub ratio: f64,
    /// True if the difference is more than noise.
    pub significant: bool,
}

impl Change {
    pub(super) fn exact(a: u64, b: u64) -> Self {
        Self::noisy(a, b, 0.0)
    }

    pub(super) fn noisy(a: u64, b: u64, noise: f64) -> Self {
        Self::with_margin(a, b, noise * a.max(b) as f64)
    }

    fn with_margin(a: u64, b: u64, margin: f64) -> Self {
        let ratio = if a == b { 1.0 } else { b as f64 / a as f64 };
        Self { a, b, ratio, significant: a.abs_diff(b) as f64 > margin }
    }
}

/// A kernel in both traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelChange {
    /// Its name.
    pub name: String,
    /// Its device.
    pub device: String,
    /// How often it ran.
    pub count: Change,
    /// How long it took in sum. Significant if the difference is beyond the noise allowed and beyond three times the
    /// spread of its launches.
    pub time: Change,
}

/// Count, sum and sum of squares of times.
#[derive(Clone, Copy, Default)]
struct Spread {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Spread {
    /// Variance of the sum, if launches were independent.
    fn variance(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 { 0.0 } else { ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0) * n }
    }
}

pub(super) fn kernels(a: &Trace, b: &Trace, options: &Options) -> Result<Vec<KernelChange>> {
    let mut all: BTreeMap<(Cow<str>, Cow<str>), [Spread; 2]> = BTreeMap::new();
    let devices = |trace: &Trace| -> Result<BTreeSet<String>> {
        Ok(trace.launches()?.iter().map(|launch| launch.device.to_owned()).collect())
    };
    let (in_a, in_b) = (devices(a)?, devices(b)?);
    // Kernels of two devices have names of their own even where they do the same.
    let across = !in_a.is_empty() && !in_b.is_empty() && in_a.is_disjoint(&in_b);
    let both = format!("{} → {}", join(&in_a), join(&in_b));
    for (side, trace) in [a, b].into_iter().enumerate() {
        let index = if across { Some(Index::new(trace)?) } else { None };
        for launch in trace.launches()?.iter() {
            let key = match &index {
                Some(index) => (Cow::Owned(what(trace, index, &launch)?), Cow::Borrowed(both.as_str())),
                None => (Cow::Borrowed(launch.kernel), Cow::Borrowed(launch.device)),
            };
            let spread = &mut all.entry(key).or_default()[side];
            let time = duration(&launch) as f64;
            spread.count += 1;
            spread.sum += time;
            spread.squares += time * time;
        }
    }
    let change = |((name, device), [a, b]): ((Cow<str>, Cow<str>), [Spread; 2])| {
        let margin = (options.noise * a.sum.max(b.sum)).max(3.0 * (a.variance() + b.variance()).sqrt());
        KernelChange {
            name: name.into_owned(),
            device: device.into_owned(),
            count: Change::exact(a.count, b.count),
            time: Change::with_margin(a.sum as u64, b.sum as u64, margin),
        }
    };
    let mut changes: Vec<KernelChange> = all.into_iter().map(change).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.time.a.abs_diff(change.time.b)));
    Ok(changes)
}

fn join(devices: &BTreeSet<String>) -> String {
    devices.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What a launch does, whatever its kernel is called: its operations and the type of its result.
fn what(trace: &Trace, index: &Index, launch: &LaunchView) -> Result<String> {
    let ops = trace.ops()?;
    let mut text = String::new();
    let mut dtype = "";
    for op in index.ops_of(launch.ops).filter_map(|row| ops.get(row)) {
        if !text.is_empty() {
            text.push('+');
        }
        text.push_str(op.name);
        dtype = op.dtypes.get(0).unwrap_or(dtype);
    }
    Ok(format!("{text} {dtype}"))
}

pub(super) fn sum(trace: &Trace, of: impl Fn(&LaunchView) -> u64) -> Result<u64> {
    Ok(trace.launches()?.iter().fold(0, |sum, launch| sum.saturating_add(of(&launch))))
}

/// Most memory held in the window.
pub(super) fn peak(trace: &Trace) -> Result<u64> {
    let active = trace.memory()?.iter().map(|event| event.active).max().unwrap_or(0);
    Ok(active.max(trace.manifest().memory.active_at_start))
}
