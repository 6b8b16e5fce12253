//! Are the numbers the same? By hash where both traces have one, by figures where the hashes differ.

use std::collections::HashMap;

use serde::Serialize;

use super::{Brief, Options};
use crate::schema::StatsView;
use crate::{Result, Trace};

/// An array whose elements differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumericChange {
    /// The operation in the first trace.
    pub a: Brief,
    /// Its number in the second.
    pub b: u64,
    /// Largest relative difference of mean, minimum and maximum; infinite if one has no finite elements.
    pub difference: f64,
    /// Number of NaNs in both.
    pub nan: (u64, u64),
    /// Number of infinite elements in both.
    pub inf: (u64, u64),
}

/// The figures of all arrays that correspond.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Numbers {
    /// Arrays with figures in both traces.
    pub compared: u64,
    /// Those with the same bytes.
    pub identical: u64,
    /// Those with other bytes, but figures within the tolerance.
    pub close: u64,
    /// The rest.
    pub different: u64,
    /// The first arrays that differ, in the order in which they were made: later ones may only follow from them.
    pub first: Vec<NumericChange>,
}

pub(super) fn compare(a: &Trace, b: &Trace, pairs: &[(usize, usize)], options: &Options) -> Result<Numbers> {
    let mut numbers = Numbers::default();
    let (stats_a, stats_b) = (a.stats()?, b.stats()?);
    if stats_a.is_empty() || stats_b.is_empty() {
        return Ok(numbers);
    }
    let (rows_a, rows_b): (HashMap<u64, usize>, HashMap<u64, usize>) = (
        stats_a.iter().map(|row| row.array).zip(0..).collect(),
        stats_b.iter().map(|row| row.array).zip(0..).collect(),
    );
    for (i, j) in pairs {
        let (Some(op_a), Some(op_b)) = (a.ops()?.get(*i), b.ops()?.get(*j)) else { continue };
        for (array_a, array_b) in op_a.outputs.iter().zip(op_b.outputs) {
            let found =
                (|| Some((stats_a.get(*rows_a.get(array_a)?)?, stats_b.get(*rows_b.get(array_b)?)?)))();
            let Some((x, y)) = found else { continue };
            numbers.compared += 1;
            if x.hash == y.hash {
                numbers.identical += 1;
                continue;
            }
            let difference = difference(&x, &y);
            if difference <= options.tolerance && (x.nan, x.inf) == (y.nan, y.inf) {
                numbers.close += 1;
                continue;
            }
            numbers.different += 1;
            if numbers.first.len() < options.listed {
                let (nan, inf) = ((x.nan, y.nan), (x.inf, y.inf));
                numbers.first.push(NumericChange { a: Brief::new(&op_a), b: op_b.id, difference, nan, inf });
            }
        }
    }
    Ok(numbers)
}

/// Differences relative to the range of the elements, so that a mean near zero does not count as far off.
fn difference(a: &StatsView, b: &StatsView) -> f64 {
    let values = |row: &StatsView| [row.min, row.max, row.mean];
    let scale = values(a).into_iter().chain(values(b)).flatten().map(f64::abs).fold(0.0, f64::max);
    let pair = |(x, y): (Option<f64>, Option<f64>)| match (x, y) {
        (None, None) => 0.0,
        (Some(x), Some(y)) if x == y => 0.0,
        // A figure that is not finite itself makes this NaN.
        (Some(x), Some(y)) => {
            Some((x - y).abs() / scale).filter(|part| !part.is_nan()).unwrap_or(f64::INFINITY)
        }
        _ => f64::INFINITY,
    };
    values(a).into_iter().zip(values(b)).map(pair).fold(0.0, f64::max)
}
