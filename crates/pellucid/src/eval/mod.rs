//! Evaluation: from lazy arrays to work on streams.
//!
//! [`plan`] orders and fuses, [`batch`] holds work that waits or runs, [`schedule`] decides which thread runs which
//! stream, [`run`] does one step.

mod batch;
mod dot;
mod fuse;
mod plan;
mod run;
mod schedule;

use std::borrow::Borrow;
use std::sync::Arc;

pub(crate) use batch::{Batch, Failure, Member};
pub use dot::export_to_dot;

use crate::array::{Array, State};
use crate::error::{Error, Result};
use crate::op::Op;

/// Computes arrays and waits for them.
///
/// Several arrays in one call share work. Other threads may evaluate the same arrays at the same time; everything is
/// computed once.
///
/// # Errors
/// The error of the first array that failed. The others are computed all the same.
pub fn eval<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>) -> Result<()> {
    let arrays: smallvec::SmallVec<[A; 4]> = arrays.into_iter().collect();
    let pending = |a: &A| !matches!(*a.borrow().0.state.lock(), State::Ready(_) | State::Failed(_));
    if arrays.iter().any(pending) {
        let handles: smallvec::SmallVec<[&Array; 4]> = arrays.iter().map(Borrow::borrow).collect();
        schedule::start(&handles, true);
    }
    let mut result = Ok(());
    for array in &arrays {
        let outcome = finish(array.borrow());
        if result.is_ok() {
            result = outcome;
        }
    }
    result
}

/// Starts the computation of arrays and returns at once. Errors show when an array is used, or in
/// [`synchronize`](crate::synchronize).
pub fn async_eval<A: Borrow<Array>>(arrays: impl IntoIterator<Item = A>) {
    let arrays: smallvec::SmallVec<[A; 4]> = arrays.into_iter().collect();
    let handles: smallvec::SmallVec<[&Array; 4]> = arrays.iter().map(Borrow::borrow).collect();
    schedule::start(&handles, false);
}

/// Waits for an array that has been scheduled.
fn finish(array: &Array) -> Result<()> {
    loop {
        let batch: Arc<Batch> = match &*array.0.state.lock() {
            State::Ready(_) => return Ok(()),
            State::Failed(failure) => return Err(failure.tell()),
            State::Scheduled(batch) => batch.clone(),
            State::Lazy(_) | State::Planned(_) => {
                return Err(Error::internal("eval", "an array was not scheduled by its evaluation"));
            }
        };
        batch.wait();
    }
}

/// Makes each of `inputs` ready only when all `dependencies` are, without using their elements.
///
/// # Errors
/// [`Error::Argument`] if there are no inputs.
#[track_caller]
pub fn depends(inputs: &[&Array], dependencies: &[&Array]) -> Result<Vec<Array>> {
    if inputs.is_empty() {
        return Err(Error::argument("depends", "needs at least one input"));
    }
    let mut results = Vec::with_capacity(inputs.len());
    for &input in inputs {
        let arrays: crate::array::Inputs =
            std::iter::once(input).chain(dependencies.iter().copied()).cloned().collect();
        results.push(Array::from_op(Op::Depends, arrays)?);
    }
    Ok(results)
}
