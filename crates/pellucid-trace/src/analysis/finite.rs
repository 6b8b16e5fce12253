//! Where numbers stopped being finite: who made the first NaN or infinity, which arrays came with one, and along which
//! operations it spread.

use std::collections::HashMap;

use serde::Serialize;

use super::element::{self, Element};
use crate::schema::{OpView, is_input};
use crate::{Result, Trace};

/// How many makers and given arrays the summary lists.
pub(super) const LISTED: usize = 100;
/// For how many makers the summary looks for the element.
const LOOKED: usize = 10;

/// An operation that made a NaN or infinity from finite inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Maker {
    /// Its number.
    pub op: u64,
    /// Its name.
    pub name: String,
    /// The user's source line.
    pub call_site: String,
    /// The user's name for the result.
    pub label: Option<String>,
    /// NaNs in its result.
    pub nan: u64,
    /// Infinite elements in its result.
    pub inf: u64,
    /// Operations of its launch up to it, if it is not known which one of them it was: results within a launch have no
    /// figures.
    pub among: Vec<u64>,
    /// The first element, if the elements are at hand.
    pub element: Option<Element>,
}

/// An array or constant that came with a NaN or infinity in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Given {
    /// Its number.
    pub array: u64,
    /// The user's name for it, or what made it and where.
    pub what: String,
    /// NaNs in it.
    pub nan: u64,
    /// Infinite elements in it.
    pub inf: u64,
}

/// Where numbers stopped being finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finite {
    /// Results with figures; 0 if the trace was captured without.
    pub checked: u64,
    /// How many operations made one.
    pub made: u64,
    /// The first of them, in the order they ran.
    pub makers: Vec<Maker>,
    /// How many arrays and constants came with one.
    pub came: u64,
    /// The first of them.
    pub given: Vec<Given>,
    /// Results with figures that only passed one on.
    pub passed_on: u64,
    /// Operations whose results hold one, with figures or without.
    pub reached: u64,
}

impl Finite {
    /// True if no operation made one, and no array came with a NaN. An infinity that somebody put there is a mask.
    pub fn is_good(&self) -> bool {
        self.made == 0 && self.given.iter().all(|given| given.nan == 0)
    }
}

/// What an operation has to do with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Its result is finite, or nobody knows better.
    #[default]
    Finite = 0,
    /// It passed one on.
    PassedOn = 1,
    /// It made one.
    Made = 2,
    /// It came with one.
    Came = 3,
    /// It is one of the operations of a launch that made one.
    Among = 4,
}

/// Looks at the figures of all results and lists the first `listed` findings of each kind.
///
/// # Errors
/// As the tables.
pub fn finite(trace: &Trace, listed: usize) -> Result<Finite> {
    Ok(walk(trace, listed)?.0)
}

/// The role of each operation, by row of `ops`.
///
/// # Errors
/// As the tables.
pub fn roles(trace: &Trace) -> Result<Vec<Role>> {
    Ok(walk(trace, 0)?.1)
}

/// The findings of the summary, with the elements of the first few where the file has them.
pub(super) fn summary(trace: &Trace) -> Result<Finite> {
    let mut found = finite(trace, LISTED)?;
    if !found.makers.is_empty() && trace.manifest().counts.tensors > 0 {
        let rows: HashMap<u64, usize> =
            trace.ops()?.iter().enumerate().map(|(row, op)| (op.id, row)).collect();
        for maker in found.makers.iter_mut().take(LOOKED).filter(|maker| maker.among.len() < 2) {
            maker.element = element::first_odd(trace, &rows, maker.op);
        }
    }
    Ok(found)
}

/// What is known about a launch so far.
#[derive(Default)]
struct Launched {
    rows: Vec<usize>,
    /// Whether it has read something that is not finite.
    odd: bool,
}

fn walk(trace: &Trace, listed: usize) -> Result<(Finite, Vec<Role>)> {
    let ops = trace.ops()?;
    let mut found = Finite::default();
    let mut roles = vec![Role::Finite; ops.len()];
    let stats: HashMap<u64, (u64, u64)> = trace.stats()?.iter().map(|s| (s.array, (s.nan, s.inf))).collect();
    if stats.is_empty() {
        return Ok((found, roles));
    }
    // Whether each array holds one.
    let mut odd: HashMap<u64, bool> = HashMap::new();
    let mut launches: HashMap<u64, Launched> = HashMap::new();
    for (row, op) in ops.iter().enumerate() {
        let reads = op.inputs.iter().any(|input| odd.get(input).copied().unwrap_or(false));
        let launch = op.launch.map(|launch| {
            let launch = launches.entry(launch).or_default();
            launch.rows.push(row);
            launch.odd |= reads;
            launch
        });
        let mut figures = None;
        let mut any = false;
        for array in op.outputs {
            let known = stats.get(array).copied();
            found.checked += u64::from(known.is_some());
            let is_odd = match known {
                Some((nan, inf)) => nan + inf > 0,
                None => constant(&op).unwrap_or(reads),
            };
            odd.insert(*array, is_odd);
            any |= is_odd;
            figures = match (figures, known) {
                (Some((a, b)), Some((nan, inf))) => Some((a + nan, b + inf)),
                (figures, known) => figures.or(known),
            };
        }
        if !any {
            continue;
        }
        found.reached += 1;
        let (nan, inf) = figures.unwrap_or_default();
        roles[row] = Role::PassedOn;
        if op.inputs.is_empty() {
            roles[row] = Role::Came;
            found.came += 1;
            if found.given.len() < listed {
                found.given.push(given(&op, nan, if figures.is_none() { 1 } else { inf }));
            }
        } else if let Some(launch) = launch.filter(|_| figures.is_some()) {
            if launch.odd {
                found.passed_on += 1;
                continue;
            }
            for row in &launch.rows {
                roles[*row] = if launch.rows.len() > 1 { Role::Among } else { Role::Made };
            }
            roles[row] = Role::Made;
            found.made += 1;
            if found.makers.len() < listed {
                let ids = launch.rows.iter().filter_map(|row| Some(ops.get(*row)?.id)).collect();
                found.makers.push(maker(&op, nan, inf, ids));
            }
        }
    }
    Ok((found, roles))
}

fn maker(op: &OpView, nan: u64, inf: u64, among: Vec<u64>) -> Maker {
    Maker {
        op: op.id,
        name: op.name.to_owned(),
        call_site: op.call_site.to_owned(),
        label: op.label.map(str::to_owned),
        nan,
        inf,
        among: if among.len() > 1 { among } else { Vec::new() },
        element: None,
    }
}

fn given(op: &OpView, nan: u64, inf: u64) -> Given {
    let what = op.label.map_or_else(|| op.call_site.to_owned(), str::to_owned);
    let what = if is_input(op.op) { what } else { format!("{} at {what}", op.name) };
    Given { array: op.id, what, nan, inf }
}

/// For a constant, whether it is not finite; JSON has no word for such numbers, so they are texts.
fn constant(op: &OpView) -> Option<bool> {
    if op.launch.is_some() || !op.inputs.is_empty() || is_input(op.op) {
        return None;
    }
    fn odd(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => text.parse::<f64>().is_ok_and(|number| !number.is_finite()),
            serde_json::Value::Array(values) => values.iter().any(odd),
            serde_json::Value::Object(values) => values.values().any(odd),
            _ => false,
        }
    }
    let op: serde_json::Value = serde_json::from_str(op.op).ok()?;
    Some(op.pointer("/full/value").is_some_and(odd))
}
