//! Running one batch: each step gets its inputs, its memory and its turn; what fails marks what depends on it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use smallvec::SmallVec;

use super::batch::{Batch, Failure, Step};
use super::interrupt::Patience;
use super::run_gpu;
use crate::array::{Array, Facts, Shared, State, Strides, Value};
use crate::backend::FallbackReason;
use crate::backend::cpu::{self, In, Out};
use crate::device::{Device, DeviceType};
use crate::error::{Error, Result};
use crate::memory::{Buffer, Demand, Request, WorkScope};
use crate::observe::{Launch, Outcome, Times, Watch, observer};
use crate::op::{Op, TakesOver};

pub(super) type Values = SmallVec<[Value; 4]>;

/// A buffer may be this much larger than the array that takes it over; more would hold memory nobody uses.
const MOST_SLACK: usize = 16 << 10;

/// The elements of each result of a step; mostly there is one.
pub(super) type Elements = SmallVec<[Value; 1]>;

/// What a step made.
pub(super) struct Made {
    /// The elements of each result.
    pub values: Elements,
    /// False if nothing ran: a view.
    pub ran: bool,
    /// The input whose memory it took over.
    pub reused: Option<usize>,
    /// Why it ran on the CPU although it was meant for a GPU, if it did.
    pub fallback: Option<FallbackReason>,
}

impl Made {
    /// One result.
    #[inline]
    pub fn one(value: Value, ran: bool, reused: Option<usize>) -> Made {
        Made { values: Elements::from_buf([value]), ran, reused, fallback: None }
    }
}

/// How far a batch is when its steps have run.
pub(super) enum Progress {
    /// Every result is ready or failed.
    Done,
    /// A GPU has it, and will tell [`schedule::finish`](super::schedule::finish).
    Submitted,
    /// Some of it is left to a thread that cannot be interrupted.
    Left,
}

/// Runs all steps of a batch.
#[inline(always)] // One caller, as `fuse::group`.
pub(super) fn run(batch: &Arc<Batch>) -> Progress {
    let mut patience = Patience::of_this_thread();
    loop {
        // Its own statement: the lock must not be held while the step runs.
        let next = batch.steps.lock().pop_front();
        let Some(step) = next else { break };
        if let Some(patience) = &mut patience
            && !patience.allows(&step)
        {
            batch.steps.lock().push_front(step);
            return Progress::Left;
        }
        run_step(batch, &step);
    }
    match batch.stream.device().device_type() {
        DeviceType::Cpu => Progress::Done,
        DeviceType::Gpu => run_gpu::end(batch),
    }
}

/// Fails what a batch has not begun, after a panic outside the kernels.
pub(super) fn abandon(batch: &Arc<Batch>, panic: &(dyn Any + Send)) {
    let error = Error::internal("eval", format!("a batch was abandoned: {}", text_of(panic)));
    let failure = Arc::new(Failure::new(error));
    batch.stream.record_failure(&failure);
    for step in batch.steps.lock().drain(..) {
        settle(&step.last().array, batch, Err(failure.clone()));
    }
}

#[inline(always)] // As `run`.
fn run_step(batch: &Arc<Batch>, step: &Step) {
    let on_gpu = batch.stream.device().device_type() == DeviceType::Gpu;
    let inputs = values(step, on_gpu);
    let outcome = match observer() {
        None => attempt(batch, step, inputs),
        Some(observer) => observed(batch, step, inputs, &observer),
    };
    settle(&step.last().array, batch, outcome.map(|made| made.values));
}

/// Tells the results of a step what became of them.
#[inline(always)] // As `run`.
fn settle(array: &Array, batch: &Arc<Batch>, outcome: Result<Elements, Arc<Failure>>) {
    let made = |value: Value| match value.buffer().is_host() && value.checks().is_none() {
        true => State::Ready(value),
        false => State::Enqueued(value, batch.clone()),
    };
    let mut state = array.0.state.lock();
    if let State::Shared(part) = &*state {
        let mut outcome = outcome.map(SmallVec::into_iter);
        part.shared().finish(|_| match &mut outcome {
            Ok(values) => values.next().map_or_else(|| State::Failed(too_few()), made),
            Err(failure) => State::Failed(failure.clone()),
        });
        return;
    }
    *state = match outcome {
        Ok(mut values) => values.pop().map_or_else(|| State::Failed(too_few()), made),
        Err(failure) => State::Failed(failure),
    };
}

#[cold]
fn too_few() -> Arc<Failure> {
    Arc::new(Failure::new(Error::internal("eval", "an operation made fewer results than it has")))
}

/// Runs a step before the eyes of an observer.
#[cold]
fn observed(
    batch: &Batch,
    step: &Step,
    inputs: Result<Values, Arc<Failure>>,
    observer: &Watch,
) -> Result<Made, Arc<Failure>> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let enqueued = batch.enqueued.unwrap_or_else(Instant::now);
    let launch = Launch { id, step, batch: batch.id, stream: batch.stream, enqueued };
    if let Ok(values) = &inputs {
        observer.before(&launch, values);
    }
    let on_gpu = batch.stream.device().device_type() == DeviceType::Gpu;
    if on_gpu {
        run_gpu::watch(batch.stream, observer);
    }
    let started = Instant::now();
    let outcome = attempt(batch, step, inputs);
    let result = match &outcome {
        Ok(made) => Ok((&made.values[..], made.ran, made.reused)),
        Err(failure) => Err(failure.error()),
    };
    let fallback = outcome.as_ref().ok().and_then(|made| made.fallback).map(FallbackReason::text);
    // Also if it failed half-way: what was recorded by then must not count for the next one.
    let seen = if on_gpu { run_gpu::observed(batch.stream) } else { Default::default() };
    if on_gpu && fallback.is_none() && outcome.as_ref().is_ok_and(|made| made.ran) {
        let (dispatches, times, starts) = seen;
        let times = times.or_else(|| observer.times_each_launch().then(|| Times::until_now(started)));
        observer.after(&launch, &Outcome { result, fallback, dispatches, times, starts });
        if times.is_none() {
            run_gpu::await_times(batch.stream, observer, launch.id, started);
        }
    } else {
        let (times, nothing) = (Some(Times::until_now(started)), Vec::new());
        observer
            .after(&launch, &Outcome { result, fallback, dispatches: nothing, times, starts: Vec::new() });
    }
    outcome
}

/// The error of a step, with what failed and who asked for it.
fn located(step: &Step, error: Error) -> Error {
    if matches!(error, Error::Launch { .. }) {
        // An input's, found out only now.
        return error;
    }
    let names: Vec<_> = step.members.iter().take(4).map(|m| m.work.op.name()).collect();
    let more = step.members.len().saturating_sub(names.len());
    let op = if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") };
    Error::Launch { op, site: step.last().array.call_site(), source: Arc::new(error) }
}

/// The elements of a step's inputs, or why one of them has none.
fn values(step: &Step, on_gpu: bool) -> Result<Values, Arc<Failure>> {
    let value = |array: &Array| {
        let mut state = array.0.state.lock();
        state.settle();
        match &mut *state {
            State::Ready(value) | State::Enqueued(value, _) => {
                if on_gpu || !value.buffer().is_host() {
                    // A copy on the other side is kept for the next one who needs it.
                    value.mirrored();
                }
                Ok(value.clone())
            }
            State::Failed(failure) => Err(failure.clone()),
            other => {
                let message = format!("{array:?} is {other:?} when it is needed");
                Err(Arc::new(Failure::new(Error::internal("eval", message))))
            }
        }
    };
    step.inputs.iter().map(|&input| value(step.input(input))).collect()
}

/// Runs a step if it has its inputs; a panic in a kernel is a defect, but not the end of the process.
#[inline(always)] // A second caller, for observed steps, must not cost the others the moves of a call.
fn attempt(batch: &Batch, step: &Step, inputs: Result<Values, Arc<Failure>>) -> Result<Made, Arc<Failure>> {
    let failure = match inputs {
        Ok(values) => match run_caught(batch, step, values) {
            Ok(made) => return Ok(made),
            Err(error) => Arc::new(Failure::new(located(step, error))),
        },
        Err(failure) => failure,
    };
    batch.stream.record_failure(&failure);
    Err(failure)
}

#[inline(always)] // As `attempt`.
fn run_caught(batch: &Batch, step: &Step, values: Values) -> Result<Made> {
    let execute = || match batch.stream.device().device_type() {
        DeviceType::Cpu => execute(step, values),
        DeviceType::Gpu => run_gpu::execute(batch.stream, step, values),
    };
    catch_unwind(AssertUnwindSafe(execute)).unwrap_or_else(|panic| {
        Err(Error::internal("eval", format!("a kernel panicked: {}", text_of(panic.as_ref()))))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Runs a step on the CPU, whichever stream it belongs to.
pub(super) fn execute(step: &Step, values: Values) -> Result<Made> {
    let (out, op) = (&step.last().array, &step.last().work.op);
    if op.is_layout() {
        let (value, ran) = relayout(out, op, &step.last().work.inputs[0], &values[0])?;
        return Ok(Made::one(value, ran, None));
    }
    let reused = reusable(step, &values, out, 0).filter(|&i| values[i].buffer().is_host());
    let values: Values = if values.iter().all(|v| v.buffer().is_host()) {
        values
    } else {
        values.iter().map(Value::on_host).collect::<Result<_>>()?
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
    let _scope = WorkScope::enter(out.stream().index() as u32, out.call_site(), out.id());
    if let Some(shared) = step.last().shared() {
        return Ok(Made { values: run_many(op, &inputs, out, &shared)?, ran: true, reused, fallback: None });
    }
    let buffer = match reused {
        Some(i) => values[i].buffer().clone(),
        None => allocate(out, out.nbytes())?,
    };
    // SAFETY: the buffer is new or reused under the rule of `reusable`, and large enough for the array.
    let mut output = unsafe { Out::new(buffer.ptr(), out.dtype(), out.shape()) };
    match (&step.program, op) {
        (Some(program), Op::Reduce { op, .. }) => {
            let shape = step.last().work.inputs[0].shape();
            cpu::elementwise_reduced(program, &inputs, shape, *op, &mut output)?;
        }
        (Some(program), _) => cpu::elementwise(program, &inputs, &mut output)?,
        (None, _) => cpu::run(op, &inputs, std::slice::from_mut(&mut output))?,
    }
    Ok(Made::one(Value::whole(buffer), true, reused))
}

/// Runs an operation with several results.
fn run_many(op: &Op, inputs: &[In], array: &Array, shared: &Shared) -> Result<Elements> {
    let facts = shared.facts();
    let buffers = facts.iter().map(|f| allocate(array, f.spec.nbytes()));
    let buffers: SmallVec<[Buffer; 2]> = buffers.collect::<Result<_>>()?;
    let mut outs: SmallVec<[Out; 2]> = SmallVec::new();
    for (Facts { spec, .. }, buffer) in facts.iter().zip(&buffers) {
        // SAFETY: the buffer is new and large enough for the result.
        outs.push(unsafe { Out::new(buffer.ptr(), spec.dtype, &spec.shape) });
    }
    cpu::run(op, inputs, &mut outs)?;
    Ok(buffers.into_iter().map(Value::whole).collect())
}

fn allocate(array: &Array, bytes: usize) -> Result<Buffer> {
    let (stream, site) = (array.stream().index() as u32, array.call_site());
    let request = Request { function: "eval", bytes, stream, site };
    Buffer::allocate(Demand { request, device: Device::cpu(), op: array.id() })
}

/// The input whose memory the result can take: read by this step for the last time, and laid out the same. `held` is
/// the number of handles besides the array's and the one in `values` that do not count.
pub(super) fn reusable(step: &Step, values: &Values, out: &Array, held: usize) -> Option<usize> {
    let candidates = match step.last().work.op.describe().takes_over {
        TakesOver::Nothing => 0,
        TakesOver::First => 1,
        TakesOver::Any => values.len(),
    };
    let found = (0..candidates).find(|&i| {
        let input = step.inputs[i];
        let (array, buffer) = (step.input(input), values[i].buffer());
        array.itemsize() == out.itemsize()
            && array.shape() == out.shape()
            && values[i].is_whole()
            && !values[i].has_mirror()
            && buffer.bytes() <= out.nbytes().saturating_add(MOST_SLACK)
            && array.0.holders() == input.references as usize
            // The array's own handle and the one in `values`.
            && buffer.holders() == 2 + held
    });
    // Another thread may have read the elements until it let go of its handle: see all it did before writing.
    fence(Ordering::Acquire);
    found
}

/// A view of the input, or of a row-major copy where its memory does not allow one; and whether it was copied.
fn relayout(out: &Array, op: &Op, input: &Array, value: &Value) -> Result<(Value, bool)> {
    let view = |value: &Value| value.view_as(op, input.shape_ref(), input.dtype(), out.shape_ref());
    if let Some(view) = view(value) {
        return Ok((view, false));
    }
    let value = &value.on_host()?;
    let buffer = allocate(out, input.nbytes())?;
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
