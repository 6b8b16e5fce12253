//! What a picture of a trace marks: where NaNs went, the longest chain, waits that cost something, launches that took
//! too long. All by row, so that a viewer can paint without looking anything up.

use serde::Serialize;

use super::finite::{Role, roles};
use super::index::Index;
use super::{InsightKind, outlier, path, waste};
use crate::{Result, Trace};

/// Rows of the tables to mark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Marks {
    /// Operations that made a NaN or infinity; rows of `ops`, as the next three.
    pub made: Vec<u32>,
    /// Operations of a launch that made one, of which one did it.
    pub among: Vec<u32>,
    /// Inputs and constants that came with one.
    pub came: Vec<u32>,
    /// Operations that passed one on.
    pub passed_on: Vec<u32>,
    /// The longest chain of launches, in the order they ran; rows of `launches`.
    pub chain: Vec<u32>,
    /// Waits that cost something: row of `sync`, what is wasteful, and how much sooner it would be done without.
    pub waits: Vec<(u32, InsightKind, u64)>,
    /// Launches that took too long: row of `launches` and why, if it is known.
    pub outliers: Vec<(u32, outlier::Cause)>,
}

/// Everything a picture marks.
///
/// # Errors
/// As the tables.
pub fn marks(trace: &Trace) -> Result<Marks> {
    let mut marks = Marks::default();
    for (row, role) in roles(trace)?.into_iter().enumerate() {
        match role {
            Role::Finite => continue,
            Role::Made => &mut marks.made,
            Role::Among => &mut marks.among,
            Role::Came => &mut marks.came,
            Role::PassedOn => &mut marks.passed_on,
        }
        .push(row as u32);
    }
    let index = Index::new(trace)?;
    marks.chain = path::chain(trace, &index)?.0.into_iter().map(|row| row as u32).collect();
    waste::waits(trace, &index, |row, kind, gain, _| marks.waits.push((row as u32, kind, gain)))?;
    marks.outliers = outlier::found(trace, &index)?.into_iter().map(|o| (o.row as u32, o.cause)).collect();
    Ok(marks)
}
