//! Functions of single lanes called for whole batches.

use super::flat::Mapping;
use super::tree::Tree;
use crate::array::Array;
use crate::error::Result;

/// A function that calls `f` for all lanes of its arguments at once: the lanes of every array lie along its first axis,
/// and so do those of the results.
///
/// ```
/// use pellucid::{Array, transform::vmap};
/// # fn main() -> pellucid::Result<()> {
/// let rows = (Array::from([[1.0f32, 2.0], [3.0, 4.0]]), Array::from([[5.0f32, 6.0], [7.0, 8.0]]));
/// let dots = vmap(|(a, b): &(Array, Array)| (a * b).sum(..))(&rows)?;
/// assert_eq!(dots.to_vec::<f32>()?, [17.0, 53.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The function returned fails with [`Error::Argument`](crate::Error::Argument) if sizes differ or an operation has no
/// batched form, and with the errors of `f`'s arrays.
pub fn vmap<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> Result<U> {
    let all = move |x: &T| vec![Some(0); x.to_leaves().len()];
    move |x: &T| map(&f, x, &all(x), |count| vec![Some(0); count])
}

/// As [`vmap`], with an axis for each array of the argument and of the result, in their order in the tree; `None` for an
/// array that is the same for all lanes.
///
/// # Errors
/// Those of [`vmap`], and [`Error::Range`](crate::Error::Range) if an array has no such axis.
pub fn vmap_axes<T: Tree, U: Tree>(
    f: impl Fn(&T) -> U,
    inputs: impl Into<Vec<Option<i64>>>,
    outputs: impl Into<Vec<Option<i64>>>,
) -> impl Fn(&T) -> Result<U> {
    let (inputs, outputs) = (inputs.into(), outputs.into());
    move |x: &T| map(&f, x, &inputs, |_| outputs.clone())
}

#[track_caller]
fn map<T: Tree, U: Tree>(
    f: impl Fn(&T) -> U,
    x: &T,
    inputs: &[Option<i64>],
    outputs: impl Fn(usize) -> Vec<Option<i64>>,
) -> Result<U> {
    let arrays: Vec<Array> = x.to_leaves();
    check_count("in_axes", arrays.len(), inputs.len())?;
    let mapping = Mapping::begin(&arrays, inputs)?;
    let lane = f(&x.with_leaves(mapping.variables().to_vec()));
    let results = lane.to_leaves();
    let axes = outputs(results.len());
    check_count("out_axes", results.len(), axes.len())?;
    let made = mapping.finish(&results, &axes)?;
    Ok(lane.with_leaves(made))
}

fn check_count(what: &str, arrays: usize, axes: usize) -> Result<()> {
    if arrays == axes {
        return Ok(());
    }
    let message = format!("{what} has {axes} axes for {arrays} arrays");
    Err(crate::Error::argument("vmap", message))
}
