//! Transforms of functions between lists of arrays. What has types and trees, in Rust or in Python, stands on these; a
//! function is called between their two halves, so that it may fail in its own way.

use super::batch::batched;
use super::forward::push_forward;
use super::reverse::pull_back;
use super::rules::{Batched, build};
use super::trace::Trace;
use crate::array::{Array, Shape};
use crate::error::{Error, Result};

/// Derivatives of a function that is under way: [`begin`](Derivatives::begin), call the function with the variables, then
/// [`pull_back`](Derivatives::pull_back) or [`push_forward`](Derivatives::push_forward).
///
/// ```
/// use pellucid::{Array, transform::Derivatives};
/// # fn main() -> pellucid::Result<()> {
/// let x = Array::from([1.0f32, 2.0]);
/// let derivatives = Derivatives::begin(&[x]);
/// let [x] = derivatives.variables() else { unreachable!() };
/// let y = x * x;
/// let gradients = derivatives.pull_back(&[(y, Array::from([1.0f32, 1.0]))])?;
/// assert_eq!(gradients[0].to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
pub struct Derivatives {
    trace: Trace,
    variables: Vec<Array>,
}

impl Derivatives {
    /// Begins to record what happens to variables with the elements of these arrays.
    #[track_caller]
    pub fn begin(primals: &[Array]) -> Derivatives {
        let (trace, variables) = Trace::of_values(primals);
        Derivatives { trace, variables }
    }

    /// The variables, in the order of the arrays.
    pub fn variables(&self) -> &[Array] {
        &self.variables
    }

    /// Ends the recording: the cotangents of the variables, given results and theirs. Zeros for a variable that no result
    /// depends on.
    ///
    /// # Errors
    /// [`Error::Argument`] if an operation in between has no gradient, and the errors of failed results.
    #[track_caller]
    pub fn pull_back(self, results: &[(Array, Array)]) -> Result<Vec<Array>> {
        let items = self.trace.end();
        results.iter().try_for_each(|(result, _)| result.check())?;
        let parts = pull_back(&items, &self.variables, results)?;
        let zeros = |(part, x): (Option<Array>, &Array)| part.unwrap_or_else(|| build::zeros_like(x));
        Ok(parts.into_iter().zip(&self.variables).map(zeros).collect())
    }

    /// Ends the recording: the tangents of results, given those of the variables. Zeros for a result that depends on none.
    ///
    /// # Errors
    /// [`Error::Argument`] if the numbers or shapes of tangents and variables differ, or an operation in between has no
    /// derivative; the errors of failed results.
    #[track_caller]
    pub fn push_forward(self, tangents: &[Array], results: &[Array]) -> Result<Vec<Array>> {
        let items = self.trace.end();
        results.iter().try_for_each(Array::check)?;
        if tangents.len() != self.variables.len() {
            return Err(Error::argument("jvp", "Number of inputs does not match number of tangents."));
        }
        for (x, t) in self.variables.iter().zip(tangents) {
            if x.shape() != t.shape() {
                let message = format!(
                    "Input shape does not match shape of tangent. The input has shape {}, the tangent {}",
                    x.shape_ref(),
                    t.shape_ref()
                );
                return Err(Error::argument("jvp", message));
            }
        }
        let like = |x: &Array, t: &Array| build::cast(t, x.dtype());
        let pairs: Vec<(Array, Array)> =
            self.variables.iter().zip(tangents).map(|(x, t)| (x.clone(), like(x, t))).collect();
        let made = push_forward(&items, &pairs, results)?;
        let zeros = |(part, y): (Option<Array>, &Array)| part.unwrap_or_else(|| build::zeros_like(y));
        Ok(made.into_iter().zip(results).map(zeros).collect())
    }
}

/// A function of one lane that is being called for a batch: [`begin`](Mapping::begin), call the function with the
/// variables, then [`finish`](Mapping::finish).
pub struct Mapping {
    trace: Trace,
    size: usize,
    variables: Vec<Array>,
    lanes: Vec<(Array, Array)>,
}

impl Mapping {
    /// Begins to record what happens to single lanes. `axes` says along which axis the lanes of an array lie; `None` for
    /// an array that is the same for all.
    ///
    /// # Errors
    /// [`Error::Argument`] if no axis is given or sizes differ; [`Error::Axis`] if an array has no such axis.
    #[track_caller]
    pub fn begin(inputs: &[Array], axes: &[Option<i64>]) -> Result<Mapping> {
        let mut size = None;
        let mut batches = Vec::with_capacity(inputs.len());
        for (x, axis) in inputs.iter().zip(axes) {
            x.check()?;
            let Some(axis) = *axis else {
                batches.push(None);
                continue;
            };
            let place = place_of(axis, x.ndim()).ok_or_else(|| invalid_axis("", axis, x.shape_ref()))?;
            let own = x.shape()[place];
            match size {
                Some(known) if known != own => {
                    let message = format!("Inconsistent axis sizes: {known} and {own}.");
                    return Err(Error::argument("vmap", message));
                }
                _ => size = Some(own),
            }
            batches.push(Some(build::move_axis(x, place, 0)));
        }
        let Some(size) = size else {
            return Err(Error::argument("vmap", "At least one of in_axes must be non-None."));
        };
        let trace = Trace::of_lanes();
        let (mut variables, mut lanes) = (Vec::with_capacity(inputs.len()), Vec::new());
        for (x, batch) in inputs.iter().zip(batches) {
            match batch {
                None => variables.push(x.clone()),
                Some(batch) => {
                    let lane = trace.placeholder(Shape::from(&batch.shape()[1..]), x.dtype())?;
                    variables.push(lane.clone());
                    lanes.push((lane, batch));
                }
            }
        }
        Ok(Mapping { trace, size, variables, lanes })
    }

    /// What to call the function with, in the order of the inputs.
    pub fn variables(&self) -> &[Array] {
        &self.variables
    }

    /// Ends the recording: the results for all lanes, stacked along the given axes. With `None` a result must be the same
    /// for all lanes, and is returned as it is.
    ///
    /// # Errors
    /// [`Error::Argument`] if an operation has no batched form or a result that differs between lanes is asked for without
    /// an axis; [`Error::Axis`] if a result cannot have such an axis.
    #[track_caller]
    pub fn finish(self, results: &[Array], axes: &[Option<i64>]) -> Result<Vec<Array>> {
        let items = self.trace.end();
        results.iter().try_for_each(Array::check)?;
        let made = batched(&items, &self.lanes, self.size, results)?;
        let mut stacked = Vec::with_capacity(results.len());
        for ((lane, batch), axis) in results.iter().zip(made).zip(axes) {
            let Some(axis) = *axis else {
                if batch.is_some() {
                    let message = "an output that depends on a mapped input needs an axis in out_axes";
                    return Err(Error::argument("vmap", message));
                }
                stacked.push(lane.clone());
                continue;
            };
            let batch = match batch {
                Some(batch) => batch,
                None => Batched { array: lane.clone(), mapped: false }.spread(self.size),
            };
            let place = place_of(axis, batch.ndim())
                .ok_or_else(|| invalid_axis("output ", axis, batch.shape_ref()))?;
            stacked.push(build::move_axis(&batch, 0, place));
        }
        Ok(stacked)
    }
}

/// An axis that may count from the end.
fn place_of(axis: i64, ndim: usize) -> Option<usize> {
    let place = if axis < 0 { axis + ndim as i64 } else { axis };
    usize::try_from(place).ok().filter(|&place| place < ndim)
}

fn invalid_axis(which: &str, axis: i64, shape: &Shape) -> Error {
    let shown: Vec<String> = shape.iter().map(usize::to_string).collect();
    let message =
        format!("Invalid {which}vectorization axis {axis} for array with shape ({})", shown.join(","));
    Error::Range { function: "vmap", message }
}
