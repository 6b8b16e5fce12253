//! Which operations run on a GPU, and their way to a kernel. What is not listed runs on the CPU.

use std::sync::Arc;

use super::check::Check;
use super::device::{Gpu, gpu};
use super::index::{self, Way};
use super::matmul::Product;
use super::scan::Scan;
use super::tensor::{Context, In, Out};
use super::{arg_reduce, assemble, custom, elementwise, fill, matmul, random, reduce, scan};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::{Func, Op, Program, ReduceOp, ScanOp};

/// More axes than this are rare and not worth a kernel.
const MOST_AXES: usize = 8;

/// Whether kernels can compute with a type on this device.
fn computes(gpu: &Gpu, dtype: Dtype) -> bool {
    match dtype {
        Dtype::Float64 => false,
        Dtype::Int64 | Dtype::Uint64 => gpu.has(wgpu::Features::SHADER_INT64),
        _ => true,
    }
}

/// Whether an elementwise operation can be part of a kernel of the GPU with this index. Asked while planning, so that
/// what must run on the CPU does not take its neighbours along.
pub(crate) fn can_fuse(index: usize, op: &Op, compute: Dtype, result: Dtype) -> bool {
    let Ok(gpu) = gpu(index) else { return false };
    let known = Func::of(op).is_some_and(|func| elementwise::has_expression(func, compute));
    known && computes(gpu, compute) && computes(gpu, result)
}

/// Most arrays that one fused kernel may read on the GPU with this index.
pub(crate) fn most_inputs(index: usize) -> u32 {
    // One for the output, one for the parameters, and up to three that an operation brings along.
    gpu(index).map_or(4, |gpu| gpu.limits.max_storage_buffers_per_shader_stage.saturating_sub(5).clamp(3, 24))
}

/// Whether elements can be copied from one layout to row-major.
pub(crate) fn copies(gpu: &Gpu, x: &In, out: &Out) -> bool {
    computes(gpu, x.dtype) && out.elements() > 0 && elementwise::reaches(gpu, std::slice::from_ref(x), out)
}

/// Copies elements to a row-major output.
pub(crate) fn copy(context: &Context, x: &In, out: &Out) -> Result<()> {
    elementwise::run(context, &elementwise::copy_program(x.dtype), std::slice::from_ref(x), out)
}

/// Whether this device has a kernel for an operation on these arrays.
pub(crate) fn supports(gpu: &Gpu, op: &Op, program: Option<&Program>, inputs: &[In], out: &Out) -> bool {
    let types = inputs.iter().all(|x| computes(gpu, x.dtype)) && computes(gpu, out.dtype);
    // Arrays without elements are a matter of a moment on the CPU.
    if !types || out.elements() == 0 || inputs.iter().any(|x| x.elements() == 0) {
        return false;
    }
    if let Some(program) = program {
        let buffers = inputs.len() as u32 + 2;
        return buffers <= gpu.limits.max_storage_buffers_per_shader_stage
            && program.instrs.iter().all(|i| {
                elementwise::has_expression(i.func, i.compute)
                    && computes(gpu, i.compute)
                    && computes(gpu, i.result)
            })
            && elementwise::reaches(gpu, inputs, out);
    }
    let bound = |bytes: usize| bytes as u64 + 256 <= gpu.largest_binding();
    let fits = bound(out.elements() * out.dtype.size())
        && inputs.iter().all(|x| {
            let (low, high) = x.reach();
            bound((high - low + 1) * x.dtype.size())
        });
    let axes = inputs.iter().map(|x| x.shape.len()).chain([out.shape.len()]).all(|rank| rank <= MOST_AXES);
    fits && match op {
        Op::Full { .. } => true,
        // The multiplication wraps in narrow types as it does in 32 bits; bool is computed in f64 on the CPU.
        Op::Arange { dtype, .. } => *dtype != Dtype::Bool,
        Op::RandomBits { .. } => inputs[0].shape.len() <= MOST_AXES,
        Op::Concatenate { .. } => {
            let buffers = inputs.len() as u32 + 2;
            axes && buffers <= gpu.limits.max_storage_buffers_per_shader_stage.min(16)
        }
        Op::Pad { .. } | Op::SliceUpdate(_) => axes,
        // Where several indices name one place, the last value wins, which needs an order that a GPU does not keep:
        // `PutAlongAxis` runs on the CPU.
        Op::Take { .. } | Op::TakeAlongAxis { .. } => axes && inputs[1].elements() < u32::MAX as usize,
        // Without axes it is a conversion; complex exponentials are computed in f64 on the CPU.
        Op::Reduce { op, axes: over, .. } => {
            axes && !over.is_empty() && (*op != ReduceOp::Logsumexp || inputs[0].dtype.is_floating())
        }
        Op::ArgReduce { .. } => axes,
        Op::Scan { op, .. } => axes && (*op != ScanOp::Logcumsumexp || inputs[0].dtype.is_floating()),
        Op::Softmax { .. } => axes && inputs[0].dtype.is_floating(),
        Op::Matmul | Op::Addmm { .. } => axes && matmul::reaches(out),
        Op::Custom(spec) => custom::supports(gpu, spec),
        _ => false,
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
        _ => {}
    }
    match op {
        Op::Full { value, .. } => fill::full(context, *value, out),
        Op::Arange { start, step, .. } => fill::arange(context, *start, *step, out),
        Op::RandomBits { width, .. } => random::random_bits(context, &inputs[0], *width, out),
        Op::Concatenate { axis } => assemble::concatenate(context, inputs, *axis, out),
        Op::Pad { low, .. } => assemble::pad(context, inputs, low, out),
        Op::SliceUpdate(spec) => assemble::slice_update(context, inputs, spec, out),
        Op::Reduce { op, axes, .. } => reduce::reduce(context, *op, &inputs[0], axes, out),
        Op::ArgReduce { op, axis, .. } => arg_reduce::arg_reduce(context, *op, &inputs[0], *axis, out),
        Op::Scan { op, axis, reverse, inclusive } => {
            let scan = Scan { op: *op, axis: *axis, reverse: *reverse, inclusive: *inclusive };
            scan::run(context, &scan, &inputs[0], out)
        }
        Op::Softmax { axes, .. } => reduce::softmax(context, &inputs[0], axes, out),
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
