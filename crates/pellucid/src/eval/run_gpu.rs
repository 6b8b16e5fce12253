//! Running a step on a GPU's stream: as kernels where the device has them, else on the CPU, which is marked.

use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;

use super::batch::{Batch, Failure, Step};
use super::run::{self, Elements, Made, Progress, Values};
use super::schedule;
use crate::array::{Array, Strides, Value};
use crate::backend::gpu::{self, Check, Context, In, Out};
use crate::backend::{FallbackReason, note_fallback};
use crate::error::{Error, Result};
use crate::memory::{Buffer, Request};
use crate::observe::{Dispatched, Times, Watch};
use crate::op::{Op, Spec, Specs};
use crate::stream::Stream;

/// Runs a step; its result may still be in the making when this returns.
pub(super) fn execute(stream: Stream, step: &Step, values: Values) -> Result<Made> {
    let gpu = gpu::gpu(stream.device().index())?;
    let last = step.last();
    let (out, op) = (&last.array, &last.work.op);
    let context =
        Context { gpu, stream, recorder: gpu::recorder(stream), site: out.call_site(), op: out.id() };
    if op.is_layout() {
        return relayout(&context, step, values);
    }
    let strides: SmallVec<[Strides; 4]> =
        step.inputs.iter().zip(&values).map(|(&i, v)| v.strides(step.input(i).shape_ref())).collect();
    let buffers: SmallVec<[Buffer; 4]> = values.iter().map(|v| v.buffer().clone()).collect();
    let specs = specs(step);
    let nothing = Buffer::empty();
    let outs: SmallVec<[Out; 1]> = specs.iter().map(|spec| output(spec, &nothing)).collect();
    let program = step.program.as_deref();
    let resolved = gpu::resolve(gpu, op, program, &views(step, &values, &strides, &buffers), &outs);
    drop(buffers);
    let launch = match resolved {
        Ok(launch) => launch,
        Err(why) => return on_cpu(&context, step, values, why),
    };
    let own = checks(step, &values, op);
    let checks = gpu::gathered(values.iter(), &own);
    // Nothing is overwritten while results are compared with the CPU's.
    let validating = gpu::validating();
    let reused = if validating { None } else { takes_over(&context, step, &values, out) };
    let buffers: SmallVec<[Buffer; 4]> =
        values.iter().map(|v| v.gpu(gpu.id.index())).collect::<Result<_>>()?;
    let target = |spec: &Spec| match reused {
        Some(i) => Ok(buffers[i].clone()),
        None => gpu::allocate(gpu, request(out, stream, spec.nbytes()), out.id()),
    };
    let targets: SmallVec<[Buffer; 1]> = specs.iter().map(target).collect::<Result<_>>()?;
    name_buffers(&context, step, &buffers, &targets);
    let outs: SmallVec<[Out; 1]> = specs.iter().zip(&targets).map(|(s, to)| output(s, to)).collect();
    let inputs = views(step, &values, &strides, &buffers);
    launch(&gpu::Launch { context: &context, inputs: &inputs, outs: &outs, checks: &own })?;
    drop((inputs, outs));
    let made: Elements =
        targets.into_iter().map(|target| Value::whole(target).checked(checks.clone())).collect();
    if validating && let Ok(expected) = run::execute(step, values.clone()) {
        for ((spec, value), expected) in specs.iter().zip(&made).zip(&expected.values) {
            gpu::compare(op.name(), out.call_site(), spec, value, expected)?;
        }
    }
    Ok(Made { values: made, ran: true, reused, fallback: None })
}

/// Shapes and types of the results.
fn specs(step: &Step) -> Specs {
    let array = &step.last().array;
    match step.last().shared() {
        Some(shared) => shared.facts().iter().map(|f| f.spec.clone()).collect(),
        None => Specs::from_buf([Spec { shape: array.shape_ref().clone(), dtype: array.dtype() }]),
    }
}

fn output<'a>(spec: &'a Spec, buffer: &'a Buffer) -> Out<'a> {
    Out { buffer, dtype: spec.dtype, shape: &spec.shape }
}

/// Runs a step on the CPU, because the GPU cannot. What it reads must be known to be good.
fn on_cpu(context: &Context, step: &Step, values: Values, why: FallbackReason) -> Result<Made> {
    if let Op::Custom(kernel) = &step.last().work.op
        && !kernel.has_host_version()
    {
        let message = format!(
            "kernel {:?} cannot run here ({why}: it has {} and {}; at most {} arrays can be bound), and has no version \
             for the host; give it one with on_host, or pack several arrays into one",
            kernel.name,
            counted(kernel.inputs.len(), "input"),
            counted(kernel.outputs.len(), "output"),
            context.gpu.limits.max_storage_buffers_per_shader_stage,
        );
        return Err(Error::device("kernel", context.gpu.id, message));
    }
    // An array without elements costs nothing anywhere.
    if step.last().array.size() > 0 {
        let first = step.inputs.first().map_or(&step.last().array, |&i| step.input(i));
        note_fallback(step.last().work.op.name(), first.dtype(), why);
    }
    if context.recorder.lock().is_watched() {
        // What is shown of a stream is one thing after the other.
        drain(context);
    }
    for check in values.iter().filter_map(Value::checks).flat_map(|checks| checks.iter()) {
        context.recorder.lock().flush(context.gpu);
        if let Some(failure) = check.wait() {
            return Err(failure.error().clone());
        }
    }
    run::execute(step, values).map(|made| Made { fallback: Some(why), ..made })
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The checks of an operation that reads or writes at positions its inputs give, one for each of them.
fn checks(step: &Step, values: &Values, op: &Op) -> SmallVec<[Arc<Check>; 1]> {
    let Some(first) = op.describe().indices else { return SmallVec::new() };
    let (last, x) = (step.last(), step.input(step.inputs[0]));
    let check = |(i, &axis): (usize, &usize)| {
        let (indices, value) = (step.input(step.inputs[first + i]), &values[first + i]);
        let (site, stream) = (last.array.call_site(), last.array.stream());
        Check::new(op.name(), site, stream, indices.clone(), value.clone(), axis, x.shape()[axis])
    };
    op.indexed_axes().iter().enumerate().map(check).collect()
}

/// The input whose memory the result takes. The stream's own unsubmitted commands may still use it: they come first.
fn takes_over(context: &Context, step: &Step, values: &Values, out: &Array) -> Option<usize> {
    let recorder = context.recorder.lock();
    let with = |held: usize| {
        run::reusable(step, values, out, held).filter(|&i| {
            let buffer = values[i].buffer();
            !buffer.is_host() && usize::from(recorder.holds(buffer)) == held
        })
    };
    step.program.as_ref()?;
    with(0).or_else(|| with(1))
}

fn request(array: &Array, stream: Stream, bytes: usize) -> Request {
    Request { function: "eval", bytes, stream: stream.index() as u32, site: array.call_site() }
}

fn views<'a>(
    step: &'a Step,
    values: &Values,
    strides: &'a [Strides],
    buffers: &'a [Buffer],
) -> SmallVec<[In<'a>; 4]> {
    let view = |i: usize| {
        let array = step.input(step.inputs[i]);
        In {
            buffer: &buffers[i],
            dtype: array.dtype(),
            shape: array.shape(),
            strides: &strides[i],
            offset: values[i].offset(),
        }
    };
    (0..values.len()).map(view).collect()
}

/// A view of the input, or of a row-major copy where its memory does not allow one.
fn relayout(context: &Context, step: &Step, values: Values) -> Result<Made> {
    let (out, op, input) = (&step.last().array, &step.last().work.op, &step.last().work.inputs[0]);
    let value = &values[0];
    let view = |value: &Value| value.view_as(op, input.shape_ref(), input.dtype(), out.shape_ref());
    if let Some(value) = view(value) {
        // Ready only when all others are, and good only if they are.
        let value =
            if matches!(op, Op::Depends) { value.checked(gpu::gathered(values.iter(), &[])) } else { value };
        return Ok(Made::one(value, false, None));
    }
    let strides = value.strides(input.shape_ref());
    let from = In {
        buffer: value.buffer(),
        dtype: input.dtype(),
        shape: input.shape(),
        strides: &strides,
        offset: value.offset(),
    };
    let nothing = Buffer::empty();
    let to = Out { buffer: &nothing, dtype: input.dtype(), shape: input.shape() };
    if let Err(why) = gpu::copies(context.gpu, &from, &to) {
        return on_cpu(context, step, values, why);
    }
    let checks = gpu::gathered(values.iter(), &[]);
    let buffer = value.gpu(context.gpu.id.index())?;
    let request = request(out, context.stream, input.nbytes());
    let target = gpu::allocate(context.gpu, request, out.id())?;
    name_buffers(context, step, std::slice::from_ref(&buffer), std::slice::from_ref(&target));
    gpu::copy(context, &In { buffer: &buffer, ..from.clone() }, &Out { buffer: &target, ..to })?;
    let value = view(&Value::whole(target).checked(checks))
        .ok_or_else(|| Error::internal("eval", format!("no view for {op:?}")))?;
    Ok(Made::one(value, true, None))
}

/// Submits what a batch recorded, and has it ended when the GPU is done with it.
pub(super) fn end(batch: &Arc<Batch>) -> Progress {
    let fail = |error: Error| {
        let failure = Arc::new(Failure::new(error));
        batch.stream.record_failure(&failure);
        batch.fail(failure);
        Progress::Done
    };
    let gpu = match gpu::gpu(batch.stream.device().index()) {
        Ok(gpu) => gpu,
        Err(error) => return fail(error),
    };
    let submission = match gpu::recorder(batch.stream).lock().end_batch(gpu) {
        Ok(submission) => submission,
        Err(error) => return fail(error),
    };
    let batch = batch.clone();
    gpu.submissions.when_finished(submission, move || {
        if let Err(error) = gpu.check() {
            let failure = Arc::new(Failure::new(error));
            batch.stream.record_failure(&failure);
            batch.fail(failure);
        }
        schedule::finish(&batch);
    });
    Progress::Submitted
}

/// An observed launch begins: what is recorded until [`observed`] belongs to it.
pub(super) fn watch(stream: Stream, observer: &Watch) {
    if let Ok(gpu) = gpu::gpu(stream.device().index()) {
        gpu::recorder(stream).lock().watch(gpu, observer);
    }
}

/// What an observed launch that was just recorded has given the GPU and, if each launch is timed by itself, its times and
/// when each kernel began, for which it is submitted and waited for. A failure is kept for the end of the batch.
pub(super) fn observed(stream: Stream) -> (Vec<Dispatched>, Option<Times>, Vec<Instant>) {
    let Ok(gpu) = gpu::gpu(stream.device().index()) else { return (Vec::new(), None, Vec::new()) };
    // Its own statement: the lock must not be held while the GPU works.
    let (dispatches, submissions) = gpu::recorder(stream).lock().unwatch(gpu);
    let (times, starts) = submissions.wait(gpu);
    (dispatches, times, starts)
}

/// Tells an observer which arrays the buffers of a launch belong to.
fn name_buffers(context: &Context, step: &Step, inputs: &[Buffer], outs: &[Buffer]) {
    let mut recorder = context.recorder.lock();
    if recorder.is_watched() {
        let last = step.last();
        let several = last.shared().map(|shared| shared.facts().iter().map(|f| f.id).collect::<Vec<u64>>());
        for (out, id) in outs.iter().zip(several.unwrap_or_else(|| vec![last.array.id()])) {
            recorder.name(out, id, "output");
        }
        for (&input, buffer) in step.inputs.iter().zip(inputs) {
            recorder.name(buffer, step.input(input).id(), "input");
        }
    }
}

/// Has the observer told when a launch ran, once the GPU is done with it.
pub(super) fn await_times(stream: Stream, observer: &Watch, launch: u64, started: Instant) {
    if let Ok(gpu) = gpu::gpu(stream.device().index()) {
        gpu::recorder(stream).lock().await_times(gpu, observer, launch, started);
    }
}

/// Waits for all that the stream has submitted.
fn drain(context: &Context) {
    let submissions = {
        let mut recorder = context.recorder.lock();
        recorder.flush(context.gpu);
        recorder.latest()
    };
    context.gpu.submissions.wait(submissions);
}
