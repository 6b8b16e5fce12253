//! Running one batch: each step gets its inputs, its memory and its turn; what fails marks what depends on it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;

use super::batch::{Batch, Failure, Step, StepInput};
use crate::array::{Array, State, Strides, Value};
use crate::backend::cpu::{self, In, Out};
use crate::error::{Error, Result};
use crate::memory::{Buffer, Request};
use crate::observe::{LaunchEvent, observer};
use crate::op::Op;

type Values = SmallVec<[Value; 4]>;

/// Runs all steps of a batch. Every result is ready or failed afterwards.
pub(super) fn run(batch: &Batch) {
    let steps = std::mem::take(&mut *batch.steps.lock());
    for step in steps {
        run_step(batch, step);
    }
}

fn run_step(batch: &Batch, step: Step) {
    let Some(last) = step.members.last() else { return };
    let observer = observer();
    let started = observer.is_some().then(Instant::now);
    let outcome = match values(&step) {
        Ok(values) => attempt(&step, values).map_err(|error| {
            let (op, site) = (describe(&step), last.array.call_site());
            let failure = Arc::new(Failure::new(Error::Launch { op, site, source: Arc::new(error) }));
            batch.stream.record_failure(&failure);
            failure
        }),
        Err(failure) => Err(failure),
    };
    if let (Some(observer), Some(started)) = (observer, started) {
        observer.launch(&LaunchEvent {
            members: &step.members,
            stream: batch.stream,
            enqueued: batch.enqueued,
            started,
            ended: Instant::now(),
            ran: outcome.as_ref().is_ok_and(|(_, ran)| *ran),
            error: outcome.as_ref().err().map(|failure| failure.error()),
        });
    }
    *last.array.0.state.lock() = match outcome {
        Ok((value, _)) => State::Ready(value),
        Err(failure) => State::Failed(failure),
    };
}

/// The names of a step's operations, for messages and labels.
fn describe(step: &Step) -> String {
    let names: Vec<_> = step.members.iter().take(4).map(|m| m.work.op.name()).collect();
    let more = step.members.len().saturating_sub(names.len());
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

/// The elements of a step's inputs, or why one of them has none.
fn values(step: &Step) -> Result<Values, Arc<Failure>> {
    step.inputs
        .iter()
        .map(|&input| match &*step.input(input).0.state.lock() {
            State::Ready(value) => Ok(value.clone()),
            State::Failed(failure) => Err(failure.clone()),
            other => {
                let message = format!("an input is {other:?} when it is needed");
                Err(Arc::new(Failure::new(Error::internal("eval", message))))
            }
        })
        .collect()
}

/// Runs a step; a panic in a kernel is a defect, but not the end of the process.
fn attempt(step: &Step, values: Values) -> Result<(Value, bool)> {
    catch_unwind(AssertUnwindSafe(|| execute(step, values))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::internal("eval", format!("a kernel panicked: {text}")))
    })
}

/// The step's result, and whether anything ran for it.
fn execute(step: &Step, values: Values) -> Result<(Value, bool)> {
    let member = &step.members[step.members.len() - 1];
    let (out, op) = (&member.array, &member.work.op);
    if is_layout(op) {
        return relayout(out, op, &member.work.inputs[0], &values[0]);
    }
    let reused = reusable(step, &values, out).map(|i| values[i].buffer().clone());
    let buffer = match reused {
        Some(buffer) => buffer,
        None => allocate(out)?,
    };
    let strides: SmallVec<[Strides; 4]> =
        step.inputs.iter().zip(&values).map(|(&i, v)| v.strides(step.input(i).shape_ref())).collect();
    let inputs: SmallVec<[In; 4]> = (0..values.len())
        .map(|i| {
            let array = step.input(step.inputs[i]);
            // SAFETY: an evaluated array's elements lie inside its buffer, which `values` keeps alive. They are
            // written only through `out`, and only if this step is their last reader (see `reusable`).
            unsafe { In::new(values[i].ptr(array.dtype()), array.dtype(), array.shape(), &strides[i]) }
        })
        .collect();
    // SAFETY: the buffer is new or reused under the rule of `reusable`, and large enough for the array.
    let mut output = unsafe { Out::new(buffer.ptr(), out.dtype(), out.shape()) };
    match &step.program {
        Some(program) => cpu::elementwise(program, &inputs, &mut output)?,
        None => cpu::run(op, &inputs, &mut output)?,
    }
    Ok((Value::whole(buffer), true))
}

fn allocate(array: &Array) -> Result<Buffer> {
    let stream = array.stream().index() as u32;
    Buffer::allocate(Request { function: "eval", bytes: array.nbytes(), stream, site: array.call_site() })
}

/// The input whose memory the result can take: read by this step for the last time, and laid out the same.
fn reusable(step: &Step, values: &Values, out: &Array) -> Option<usize> {
    let op = &step.members[step.members.len() - 1].work.op;
    let candidates = match op {
        _ if step.program.is_some() => values.len(),
        Op::SliceUpdate(_) => 1,
        _ => 0,
    };
    (0..candidates).find(|&i| {
        let input: StepInput = step.inputs[i];
        let array = step.input(input);
        array.itemsize() == out.itemsize()
            && array.shape() == out.shape()
            && values[i].is_whole()
            && Arc::strong_count(&array.0) == input.references as usize
            // The array's own handle and the one in `values`.
            && values[i].buffer().holders() == 2
    })
}

/// Operations that change how elements are reached, not the elements.
fn is_layout(op: &Op) -> bool {
    matches!(
        op,
        Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::Broadcast { .. }
            | Op::Slice(_)
            | Op::AsStrided(_)
            | Op::View { .. }
            | Op::Contiguous
            | Op::Depends
    )
}

/// A view of the input, or of a row-major copy where its memory does not allow one.
fn relayout(out: &Array, op: &Op, input: &Array, value: &Value) -> Result<(Value, bool)> {
    let view = |value: &Value| value.view_as(op, input.shape_ref(), input.dtype(), out.shape_ref());
    if let Some(view) = view(value) {
        return Ok((view, false));
    }
    let stream = out.stream().index() as u32;
    let request = Request { function: "eval", bytes: input.nbytes(), stream, site: out.call_site() };
    let buffer = Buffer::allocate(request)?;
    let strides = value.strides(input.shape_ref());
    // SAFETY: as in `execute`; the buffer is new.
    let (from, mut to) = unsafe {
        let from = In::new(value.ptr(input.dtype()), input.dtype(), input.shape(), &strides);
        (from, Out::new(buffer.ptr(), input.dtype(), input.shape()))
    };
    cpu::copy(&from, &mut to);
    let copy = Value::whole(buffer);
    view(&copy).map(|view| (view, true)).ok_or_else(|| Error::internal("eval", format!("no view for {op:?}")))
}
