//! What people want to know from a trace, as plain data: the command prints it, the tests check it.

mod cost;
mod element;
mod finite;
pub(crate) mod index;
mod insight;
mod marks;
mod memory;
mod outlier;
mod path;
mod streams;
mod waste;

use serde::Serialize;

use crate::parallel::both;
use crate::schema::{Counts, Mode};
use crate::{Result, Trace};
use index::{Index, duration};

pub use cost::{Cost, dispatches, kernels, ops};
pub use element::Element;
pub use finite::{Finite, Given, Maker, Role, finite, roles};
pub use insight::{Insight, InsightKind, insights};
pub use marks::{Marks, marks};
pub use memory::{Held, MemoryUse, memory};
pub use outlier::{Cause, Outlier, Outliers, outliers};
pub use path::{CriticalPath, critical_path};
pub use streams::{Gap, StreamUse, Wait, Waits, streams, waits};

/// A trace in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// Length of the window.
    pub duration_ns: i64,
    /// Time of all launches in sum.
    pub launch_ns: u64,
    /// Time in which at least one stream ran something.
    pub busy_ns: u64,
    /// Bytes read and written by them.
    pub bytes: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Rows and members.
    pub counts: Counts,
    /// Operations for which nothing ran: views and inputs.
    pub views: u64,
    /// Operations that failed.
    pub errors: u64,
    /// How much was recorded.
    pub mode: Mode,
    /// True if something was left out.
    pub truncated: bool,
    /// True if the capture did not end by itself.
    pub partial: bool,
    /// What was left out.
    pub left_out: Vec<String>,
    /// Size of the file.
    pub file_bytes: u64,
}

/// Everything that the summary shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Sums.
    pub totals: Totals,
    /// Where numbers stopped being finite.
    pub finite: Finite,
    /// Costs by kernel, most expensive first.
    pub kernels: Vec<Cost>,
    /// Costs by the kernel of each dispatch on a GPU, most expensive first.
    pub dispatches: Vec<Cost>,
    /// Costs by operation, most expensive first.
    pub ops: Vec<Cost>,
    /// What each stream did.
    pub streams: Vec<StreamUse>,
    /// Use of memory.
    pub memory: MemoryUse,
    /// Who waited for whom.
    pub waits: Waits,
    /// The longest chain of launches.
    pub critical_path: CriticalPath,
    /// Launches that took much longer than others of their kernel.
    pub outliers: Outliers,
    /// What could be better, largest gain first.
    pub insights: Vec<Insight>,
}

/// Computes everything that the summary shows.
///
/// # Errors
/// As the tables.
///
/// # Cost
/// A few seconds and some hundred megabytes for a million launches.
///
/// ```
/// # use pellucid_trace::{Manifest, Options, Trace, Writer, analysis};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.pltrace");
/// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
/// let analysis = analysis::analyse(&Trace::open(&path)?)?;
/// for kernel in analysis.kernels.iter().take(10) {
///     println!("{:>5.1} % {}", 100.0 * kernel.share, kernel.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn analyse(trace: &Trace) -> Result<Analysis> {
    // Two halves at once: what needs the links between rows, and what does not. The second reads its tables while the
    // first builds the links.
    let plain = || {
        let (waits, kernels) = (waits(trace)?, (kernels(trace)?, dispatches(trace)?));
        Result::Ok((totals(trace)?, finite::summary(trace)?, kernels, streams(trace)?, waits))
    };
    let linked = || {
        let index = Index::new(trace)?;
        let memory = memory::memory_with(trace, &index)?;
        let ops = cost::ops_with(trace, &index)?;
        let critical_path = path::critical_path_with(trace, &index)?;
        let outliers = outlier::outliers_with(trace, &index)?;
        Result::Ok((memory, ops, critical_path, outliers, insight::insights_with(trace, &index)?))
    };
    let (plain, linked) = both(plain, linked);
    let (memory, ops, critical_path, outliers, insights) = linked?;
    let (totals, finite, (kernels, dispatches), streams, waits) = plain?;
    Ok(Analysis {
        totals,
        finite,
        kernels,
        dispatches,
        ops,
        streams,
        memory,
        waits,
        critical_path,
        outliers,
        insights,
    })
}

/// A trace in numbers.
///
/// # Errors
/// As the tables.
pub fn totals(trace: &Trace) -> Result<Totals> {
    let manifest = trace.manifest();
    let mut totals = Totals {
        duration_ns: manifest.window.duration_ns,
        launch_ns: 0,
        busy_ns: 0,
        bytes: 0,
        flops: 0,
        counts: manifest.counts,
        views: 0,
        errors: 0,
        mode: manifest.mode,
        truncated: manifest.truncated,
        partial: manifest.partial,
        left_out: manifest.left_out.clone(),
        file_bytes: trace.file_bytes(),
    };
    let mut runs = Vec::with_capacity(trace.launches()?.len());
    for launch in trace.launches()?.iter() {
        runs.push((launch.start_ns, launch.end_ns));
        totals.launch_ns = totals.launch_ns.saturating_add(duration(&launch));
        totals.bytes = totals.bytes.saturating_add(launch.bytes);
        totals.flops = totals.flops.saturating_add(launch.flops);
    }
    totals.busy_ns = streams::covered(runs);
    for op in trace.ops()?.iter() {
        totals.views += u64::from(op.launch.is_none());
        totals.errors += u64::from(op.error.is_some());
    }
    Ok(totals)
}
