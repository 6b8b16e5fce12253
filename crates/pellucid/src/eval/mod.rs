//! Evaluation: from lazy arrays to work on streams.
//!
//! [`plan`] orders and fuses, [`batch`] holds work that waits or runs, [`schedule`] decides which thread runs which
//! stream, [`run`] does one step.

mod batch;
mod dot;
mod fuse;
mod interrupt;
mod plan;
mod run;
#[cfg(feature = "gpu")]
mod run_gpu;
#[cfg(not(feature = "gpu"))]
#[path = "run_no_gpu.rs"]
mod run_gpu;
mod schedule;

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use smallvec::SmallVec;

pub(crate) use batch::{Batch, Failure, Member, Step};
pub use dot::export_to_dot;
pub use fuse::{fusion, set_fusion};
pub(crate) use interrupt::is_given_up;
pub use interrupt::with_interrupts;
pub(crate) use schedule::Drive;

use crate::array::{Array, State, Value, fail};
use crate::capture;
use crate::error::{Error, Result};
use crate::fork;
use crate::observe::{WaitEvent, observed_now, observer};
use crate::op::Op;
use crate::stream::Stream;
use crate::transform;

/// An array, or a reference to one: what [`eval`] takes lists of.
pub trait AsArray {
    /// The array.
    fn as_array(&self) -> &Array;
}

impl AsArray for Array {
    fn as_array(&self) -> &Array {
        self
    }
}

impl<T: AsArray> AsArray for &T {
    fn as_array(&self) -> &Array {
        (**self).as_array()
    }
}

/// Computes arrays and waits for them.
///
/// Several arrays in one call share work. Other threads may evaluate the same arrays at the same time; everything is
/// computed once.
///
/// ```
/// use pellucid::{Array, eval, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = ops::add(&Array::from([1, 2]), 1);
/// let b = ops::multiply(&a, &a);
/// eval(&[&a, &b])?;
/// assert!(a.is_available() && b.is_available());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The error of the first array that failed. The others are computed all the same.
pub fn eval<A: AsArray>(arrays: impl IntoIterator<Item = A>) -> Result<()> {
    let arrays: SmallVec<[A; 4]> = arrays.into_iter().collect();
    let handles: SmallVec<[&Array; 4]> = arrays.iter().map(AsArray::as_array).collect();
    if fork::is_cut_off() {
        return cut_off(&handles);
    }
    handles.iter().try_for_each(|a| transform::check_elements(a))?;
    let pending = |a: &&&Array| !a.0.state.lock().is_settled();
    if let Some(&first) = handles.iter().find(pending) {
        capture::on_eval();
        let own = first.stream();
        let started = observed_now();
        schedule::start(&handles, Some(own));
        for &array in &handles {
            wait(array, Some(own));
        }
        // Work of the stream that nobody waited for.
        schedule::activate(own);
        report_host_wait(own, started);
        if is_given_up() {
            return Err(Error::Interrupted { function: "eval" });
        }
    }
    for &array in &handles {
        let mut state = array.0.state.lock();
        state.settle();
        match &*state {
            State::Ready(_) => {}
            State::Failed(failure) => {
                array.0.failed.store(true, Ordering::Relaxed);
                return Err(failure.tell());
            }
            other => {
                return Err(Error::internal("eval", format!("{array:?} is {other:?} after its evaluation")));
            }
        }
    }
    Ok(())
}

/// Starts the computation of arrays and returns at once. Errors show when an array is used, or in
/// [`synchronize`](crate::synchronize).
pub fn async_eval<A: AsArray>(arrays: impl IntoIterator<Item = A>) {
    let arrays: SmallVec<[A; 4]> = arrays.into_iter().collect();
    let handles: SmallVec<[&Array; 4]> = arrays.iter().map(AsArray::as_array).collect();
    if fork::is_cut_off() {
        return;
    }
    capture::on_eval();
    schedule::start(&handles, None);
}

/// Arrays in a forked child that has nothing to compute with: what lies in the host's memory can still be read.
#[cold]
fn cut_off(arrays: &[&Array]) -> Result<()> {
    arrays.iter().try_for_each(|array| value_if_cut_off(array).map(drop))
}

/// The elements of an array in such a child, if they were there when it was forked.
#[cold]
pub(crate) fn value_if_cut_off(array: &Array) -> Result<Value> {
    match state_if_cut_off(array) {
        Some(State::Ready(value)) if value.buffer().is_host() => Ok(value.clone()),
        Some(State::Failed(failure)) => Err(failure.tell()),
        _ => Err(Error::Forked { function: "eval" }),
    }
}

/// The state of an array in such a child; `None` if a thread of the parent was looking at it, or changing it, when the
/// child was forked.
#[cold]
pub(crate) fn state_if_cut_off(array: &Array) -> Option<&State> {
    // A lock that is held will never be free.
    if array.0.state.is_locked() {
        return None;
    }
    // SAFETY: nobody changes a state in this process, because nothing is computed in it. The lock is left alone: to
    // free it could mean to wake threads of the parent, for which a lock is needed that is perhaps never free.
    Some(unsafe { &*array.0.state.data_ptr() })
}

/// Waits for an array that has been scheduled.
fn wait(array: &Array, deferred: Option<Stream>) {
    let batch = array.0.state.lock().batch().map(Cow::into_owned);
    if let Some(batch) = batch {
        batch.wait(deferred);
    }
}

/// Tells the observer how long the host has waited for a stream, if there was one when it began.
#[inline]
pub(crate) fn report_host_wait(stream: Stream, started: Option<Instant>) {
    if let Some(started) = started {
        tell_host_wait(stream, started);
    }
}

#[cold]
fn tell_host_wait(stream: Stream, started: Instant) {
    if let Some(observer) = observer() {
        observer.wait(&WaitEvent { waiter: None, waited_for: stream, started, ended: Instant::now() });
    }
}

/// Makes each of `inputs` ready only when all `dependencies` are, without using their elements.
///
/// # Errors
/// One array that fails with [`Error::Argument`] if there are no inputs.
#[track_caller]
pub fn depends(inputs: &[&Array], dependencies: &[&Array]) -> Vec<Array> {
    if inputs.is_empty() {
        return fail(Error::argument("depends", "needs at least one input"));
    }
    let mut results = Vec::with_capacity(inputs.len());
    for &input in inputs {
        let arrays: crate::array::Inputs =
            std::iter::once(input).chain(dependencies.iter().copied()).cloned().collect();
        results.push(Array::from_op(Op::Depends, arrays));
    }
    results
}
