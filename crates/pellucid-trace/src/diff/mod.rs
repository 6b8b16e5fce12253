//! Two traces compared: what was added, removed or changed, what it cost, and whether the numbers are the same.

mod align;
mod cost;
mod numeric;

use std::collections::HashMap;

use serde::Serialize;

use crate::analysis::index::duration;
use crate::schema::OpView;
use crate::{Result, Trace};

pub use cost::{Change, KernelChange};
pub use numeric::{Numbers, NumericChange};

/// What counts as a difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Part of a time by which it may differ without being remarked on.
    pub noise: f64,
    /// Relative difference of means, minima and maxima that counts as the same.
    pub tolerance: f64,
    /// How many differences of each kind are listed.
    pub listed: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { noise: 0.1, tolerance: 1e-5, listed: 100 }
    }
}

/// An operation, as a difference shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Brief {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The user's source line.
    pub call_site: String,
    /// The user's name for the result.
    pub label: Option<String>,
    /// Shapes of its outputs.
    pub shapes: Vec<Vec<u64>>,
    /// Types of its outputs.
    pub dtypes: Vec<String>,
}

impl Brief {
    fn new(op: &OpView) -> Self {
        Self {
            id: op.id,
            name: op.name.to_owned(),
            call_site: op.call_site.to_owned(),
            label: op.label.map(str::to_owned),
            shapes: op.shapes.iter().map(<[u64]>::to_vec).collect(),
            dtypes: op.dtypes.iter().map(str::to_owned).collect(),
        }
    }
}

/// What differs between two traces, `a` and `b`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Operations that correspond.
    pub aligned: u64,
    /// Operations only in `b`; how many, and the first of them.
    pub added: (u64, Vec<Brief>),
    /// Operations only in `a`.
    pub removed: (u64, Vec<Brief>),
    /// Operations at the same place in the program that do something else.
    pub changed: (u64, Vec<(Brief, Brief)>),
    /// Launches.
    pub launches: Change,
    /// Bytes read and written.
    pub bytes: Change,
    /// Floating-point operations.
    pub flops: Change,
    /// Most memory held.
    pub peak: Change,
    /// Time of all launches.
    pub time: Change,
    /// Length of the window.
    pub duration: Change,
    /// Kernels by how much their time changed, most first. Where the traces have no device in common, launches are
    /// matched by the operations they ran instead of the names of their kernels.
    pub kernels: Vec<KernelChange>,
    /// Figures of the arrays that correspond.
    pub numbers: Numbers,
}

impl Diff {
    /// True if both did the same with the same results; times may differ.
    pub fn is_same(&self) -> bool {
        self.added.0 + self.removed.0 + self.changed.0 + self.numbers.different == 0
            && [&self.launches, &self.bytes, &self.peak].iter().all(|change| !change.significant)
    }
}

/// Compares two traces.
///
/// # Errors
/// As the tables.
///
/// ```
/// # use pellucid_trace::{Manifest, Options, Trace, Writer, diff};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.pltrace");
/// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
/// let trace = Trace::open(&path)?;
/// assert!(diff::diff(&trace, &trace, &diff::Options::default())?.is_same());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff(a: &Trace, b: &Trace, options: &Options) -> Result<Diff> {
    let (ops_a, ops_b) = (a.ops()?, b.ops()?);
    let keys = |trace: &Trace| Ok(trace.ops()?.iter().map(|op| key(&op)).collect::<Vec<u64>>());
    let pairs = align::align(&keys(a)?, &keys(b)?);
    let mut diff = Diff {
        aligned: pairs.len() as u64,
        added: (0, Vec::new()),
        removed: (0, Vec::new()),
        changed: (0, Vec::new()),
        launches: Change::exact(a.launches()?.len() as u64, b.launches()?.len() as u64),
        bytes: Change::exact(cost::sum(a, |launch| launch.bytes)?, cost::sum(b, |launch| launch.bytes)?),
        flops: Change::exact(cost::sum(a, |launch| launch.flops)?, cost::sum(b, |launch| launch.flops)?),
        peak: Change::exact(cost::peak(a)?, cost::peak(b)?),
        time: Change::noisy(cost::sum(a, duration)?, cost::sum(b, duration)?, options.noise),
        duration: Change::noisy(
            a.manifest().window.duration_ns.max(0) as u64,
            b.manifest().window.duration_ns.max(0) as u64,
            options.noise,
        ),
        kernels: cost::kernels(a, b, options)?,
        numbers: numeric::compare(a, b, &pairs, options)?,
    };
    let (mut next_a, mut next_b) = (0, 0);
    for (i, j) in pairs.into_iter().chain([(ops_a.len(), ops_b.len())]) {
        unmatched(a, b, next_a..i, next_b..j, options, &mut diff)?;
        (next_a, next_b) = (i + 1, j + 1);
    }
    Ok(diff)
}

/// What makes two operations the same one: place in the program, name, shapes and types. The place is a label or the
/// file; the line moves with every edit above it, and the order of the operations says the rest.
fn key(op: &OpView) -> u64 {
    let mut bytes = Vec::with_capacity(128);
    let mut part = |text: &[u8]| {
        bytes.extend_from_slice(text);
        bytes.push(0xff);
    };
    part(op.label.unwrap_or_else(|| file(op.call_site)).as_bytes());
    part(op.name.as_bytes());
    op.shapes.iter().flatten().for_each(|dim| part(&dim.to_le_bytes()));
    op.dtypes.iter().for_each(|dtype| part(dtype.as_bytes()));
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

/// The file of a call site, `file:line`.
fn file(call_site: &str) -> &str {
    call_site.rsplit_once(':').map_or(call_site, |(file, _)| file)
}

fn place<'a>(op: &OpView<'a>) -> &'a str {
    op.label.unwrap_or(op.call_site)
}

/// Sorts the operations between two aligned ones into changed, removed and added.
fn unmatched(
    a: &Trace,
    b: &Trace,
    in_a: std::ops::Range<usize>,
    in_b: std::ops::Range<usize>,
    options: &Options,
    diff: &mut Diff,
) -> Result<()> {
    let (ops_a, ops_b) = (a.ops()?, b.ops()?);
    let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
    for row in in_b.clone().rev() {
        if let Some(op) = ops_b.get(row) {
            waiting.entry(place(&op)).or_default().push(row);
        }
    }
    let mut taken = std::collections::HashSet::new();
    for op in in_a.filter_map(|row| ops_a.get(row)) {
        match waiting.get_mut(place(&op)).and_then(Vec::pop).and_then(|row| Some((row, ops_b.get(row)?))) {
            Some((row, other)) => {
                taken.insert(row);
                diff.changed.0 += 1;
                if diff.changed.1.len() < options.listed {
                    diff.changed.1.push((Brief::new(&op), Brief::new(&other)));
                }
            }
            None => note(&mut diff.removed, &op, options),
        }
    }
    for op in in_b.filter(|row| !taken.contains(row)).filter_map(|row| ops_b.get(row)) {
        note(&mut diff.added, &op, options);
    }
    Ok(())
}

fn note(list: &mut (u64, Vec<Brief>), op: &OpView, options: &Options) {
    list.0 += 1;
    if list.1.len() < options.listed {
        list.1.push(Brief::new(op));
    }
}
