//! Which operations run on a GPU, and their way to a kernel. What is not listed runs on the CPU.

use std::sync::Arc;

use super::check::Check;
use super::device::{Gpu, gpu};
use super::fallback::FallbackReason;
use super::index::{self, Way};
use super::matmul::Product;
use super::scan::Scan;
use super::tensor::{Context, In, Out};
use super::wgsl;
use super::{assemble, custom, elementwise, fill, matmul, pieces, put, random, reduce, scan, sort};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::{Func, Op, Program, ReduceOp, Scalar, ScanOp};

/// The text of a kernel grows with the axes; more than these would not be worth it.
pub(super) const MOST_AXES: usize = 32;

/// Whether kernels can compute with a type on this device, or why not.
fn computes(gpu: &Gpu, dtype: Dtype) -> Result<(), FallbackReason> {
    match dtype {
        Dtype::Float64 => Err(FallbackReason::Float64),
        Dtype::Int64 | Dtype::Uint64 if !gpu.has(wgpu::Features::SHADER_INT64) => {
            Err(FallbackReason::NoInt64)
        }
        _ => Ok(()),
    }
}

/// `Ok` if something holds.
fn holds(condition: bool, else_why: FallbackReason) -> Result<(), FallbackReason> {
    if condition { Ok(()) } else { Err(else_why) }
}

/// Whether an elementwise operation can be part of a kernel of the GPU with this index. Asked while planning, so that
/// what must run on the CPU does not take its neighbours along.
pub(crate) fn can_fuse(index: usize, op: &Op, compute: Dtype, result: Dtype) -> bool {
    let Ok(gpu) = gpu(index) else { return false };
    let known = Func::of(op).is_some_and(|func| elementwise::has_expression(func, compute));
    known && computes(gpu, compute).is_ok() && computes(gpu, result).is_ok()
}

/// Most arrays that one fused kernel may read on the GPU with this index.
pub(crate) fn most_inputs(index: usize) -> u32 {
    // One for the output, one for the parameters, and up to three that an operation brings along.
    gpu(index).map_or(4, |gpu| gpu.limits.max_storage_buffers_per_shader_stage.saturating_sub(5).clamp(3, 24))
}

/// Whether elements can be copied from one layout to row-major, or why not.
pub(crate) fn copies(gpu: &Gpu, x: &In, out: &Out) -> Result<(), FallbackReason> {
    computes(gpu, x.dtype)?;
    holds(out.elements() > 0, FallbackReason::NoElements)?;
    elementwise::reaches(gpu, std::slice::from_ref(x), out)
}

/// Copies elements to a row-major output.
pub(crate) fn copy(context: &Context, x: &In, out: &Out) -> Result<()> {
    elementwise::run(context, &elementwise::copy_program(x.dtype), std::slice::from_ref(x), out)
}

/// Whether this device has a kernel for an operation on these arrays, or why not.
pub(crate) fn supports(
    gpu: &Gpu,
    op: &Op,
    program: Option<&Program>,
    inputs: &[In],
    out: &Out,
) -> Result<(), FallbackReason> {
    inputs.iter().try_for_each(|x| computes(gpu, x.dtype))?;
    computes(gpu, out.dtype)?;
    // A matter of a moment on the CPU, but for those that need no element.
    let needs_all = !matches!(op, Op::Concatenate { .. } | Op::Reduce { .. } | Op::Matmul);
    let empty = out.elements() == 0 || needs_all && inputs.iter().any(|x| x.elements() == 0);
    holds(!empty, FallbackReason::NoElements)?;
    if let Some(program) = program {
        return supports_program(gpu, program, inputs, out);
    }
    let axes = inputs.iter().map(|x| x.shape.len()).chain([out.shape.len()]).all(|rank| rank <= MOST_AXES);
    holds(axes, FallbackReason::TooManyAxes)?;
    let bound = |bytes: usize| bytes as u64 + 256 <= gpu.largest_binding();
    let reached = |x: &In| {
        let (low, high) = x.reach();
        bound((high - low + 1) * x.dtype.size())
    };
    let within = match op {
        Op::Full { .. } | Op::Arange { .. } => out.elements() <= u32::MAX as usize / 2,
        Op::Reduce { .. } | Op::ArgReduce { .. } => pieces::reaches(gpu, &inputs[0], out.elements()),
        Op::Softmax { axes, .. } => {
            let reduced: usize = axes.iter().map(|&d| out.shape[d]).product();
            elementwise::reaches(gpu, inputs, out)?;
            pieces::reaches(gpu, &inputs[0], out.elements() / reduced)
        }
        _ => bound(out.elements() * out.dtype.size()) && inputs.iter().all(reached),
    };
    holds(within, FallbackReason::TooLarge)?;
    match op {
        Op::Full { .. } | Op::RandomBits { .. } | Op::Concatenate { .. } | Op::Pad { .. } => Ok(()),
        Op::SliceUpdate(_) | Op::ArgReduce { .. } => Ok(()),
        // The multiplication wraps in narrow types as it does in 32 bits; what bool comes from is not kept by it.
        Op::Arange { dtype, .. } => holds(*dtype != Dtype::Bool, FallbackReason::NeedsFloat64),
        Op::Take { .. } | Op::TakeAlongAxis { .. } => {
            holds(inputs[1].elements() < u32::MAX as usize, FallbackReason::TooLarge)
        }
        Op::PutAlongAxis { .. } => holds(bound(out.elements() * 4), FallbackReason::TooLarge),
        Op::Reduce { op: ReduceOp::Logsumexp, .. }
        | Op::Scan { op: ScanOp::Logcumsumexp, .. }
        | Op::Softmax { .. } => holds(inputs[0].dtype.is_floating(), FallbackReason::NeedsFloat64),
        Op::Reduce { .. } | Op::Scan { .. } => Ok(()),
        Op::Sort { .. } => holds(bound(sort::scratch_bytes(&inputs[0], false)), FallbackReason::TooLarge),
        Op::Argsort { .. } => holds(bound(sort::scratch_bytes(&inputs[0], true)), FallbackReason::TooLarge),
        Op::Matmul | Op::Addmm { .. } => holds(matmul::reaches(gpu, out), FallbackReason::TooLarge),
        Op::Custom(spec) => custom::supports(gpu, spec),
        _ => Err(FallbackReason::NoKernel),
    }
}

fn supports_program(gpu: &Gpu, program: &Program, inputs: &[In], out: &Out) -> Result<(), FallbackReason> {
    let buffers = inputs.len() as u32 + 2;
    let most = gpu.limits.max_storage_buffers_per_shader_stage;
    holds(buffers <= most, FallbackReason::TooManyInputs)?;
    for instr in &program.instrs {
        computes(gpu, instr.compute)?;
        computes(gpu, instr.result)?;
        holds(elementwise::has_expression(instr.func, instr.compute), FallbackReason::NeedsFloat64)?;
    }
    elementwise::reaches(gpu, inputs, out)
}

/// The result of a reduction without elements; those that have none are refused before.
fn of_nothing(op: ReduceOp) -> Scalar {
    match op {
        ReduceOp::Prod | ReduceOp::All => Scalar::Uint(1),
        ReduceOp::Logsumexp => Scalar::Float(f64::NEG_INFINITY),
        _ => Scalar::Uint(0),
    }
}

/// Records the kernels of an operation that [`supports`] accepted.
///
/// # Errors
/// [`Error::Internal`] if a kernel does not compile, [`Error::Memory`] if there is no room for intermediate results.
///
/// `check` is told of indices out of range.
pub(crate) fn run(
    context: &Context,
    op: &Op,
    program: Option<&Program>,
    inputs: &[In],
    out: &Out,
    check: Option<Arc<Check>>,
) -> Result<()> {
    if let Some(program) = program {
        return elementwise::run(context, program, inputs, out);
    }
    match (op, check) {
        (Op::Take { axis }, Some(check)) => {
            return index::gather(context, Way::Take, inputs, *axis, out, check);
        }
        (Op::TakeAlongAxis { axis }, Some(check)) => {
            return index::gather(context, Way::Along, inputs, *axis, out, check);
        }
        (Op::PutAlongAxis { axis }, Some(check)) => {
            return put::put_along_axis(context, inputs, *axis, out, check);
        }
        _ => {}
    }
    match op {
        Op::Full { value, .. } => fill::full(context, *value, out),
        Op::Arange { start, step, .. } => fill::arange(context, *start, *step, out),
        Op::RandomBits { width, .. } => random::random_bits(context, &inputs[0], *width, out),
        Op::Concatenate { axis } => assemble::concatenate(context, inputs, *axis, out),
        Op::Pad { low, .. } => assemble::pad(context, inputs, low, out),
        Op::SliceUpdate(spec) => assemble::slice_update(context, inputs, spec, out),
        Op::Reduce { op, .. } if inputs[0].elements() == 0 => fill::full(context, of_nothing(*op), out),
        Op::Matmul if inputs[0].elements() == 0 => fill::full(context, Scalar::Uint(0), out),
        Op::Reduce { axes, .. } if axes.is_empty() => {
            let value = wgsl::cast(inputs[0].dtype, out.dtype, "x0");
            elementwise::formula(context, "convert", inputs, out, &value)
        }
        Op::Reduce { op, axes, .. } => reduce::reduce(context, *op, &inputs[0], axes, out),
        Op::ArgReduce { op, axis, .. } => pieces::arg_reduce(context, *op, &inputs[0], *axis, out.buffer),
        Op::Scan { op, axis, reverse, inclusive } => {
            let scan = Scan { op: *op, axis: *axis, reverse: *reverse, inclusive: *inclusive };
            scan::run(context, &scan, &inputs[0], out)
        }
        Op::Softmax { axes, .. } => reduce::softmax(context, &inputs[0], axes, out),
        Op::Sort { axis } => sort::run(context, &inputs[0], *axis, false, out),
        Op::Argsort { axis } => sort::run(context, &inputs[0], *axis, true, out),
        Op::Matmul => {
            let (a, b) = (inputs[0].clone(), inputs[1].clone());
            matmul::run(context, &Product { a, b, c: None, alpha: 1.0 }, out)
        }
        Op::Addmm { alpha, beta } => {
            let (a, b) = (inputs[1].clone(), inputs[2].clone());
            let c = Some((inputs[0].clone(), *beta)).filter(|_| *beta != 0.0);
            matmul::run(context, &Product { a, b, c, alpha: *alpha }, out)
        }
        Op::Custom(spec) => custom::run(context, spec, inputs, out),
        other => Err(Error::internal("gpu", format!("{} has no kernel", other.name()))),
    }
}
