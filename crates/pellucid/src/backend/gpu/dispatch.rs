//! From an operation to its kernels, or to the reason why it runs on the CPU instead. One match says both.

use std::sync::Arc;

use super::check::Check;
use super::device::{Gpu, gpu};
use super::index::{self, Way};
use super::matmul::Product;
use super::scan::Scan;
use super::tensor::{Context, In, Out};
use super::{
    assemble, conv, custom, elementwise, fft, fill, fused, matmul, pieces, put, quantized, random, reduce,
    scan, search, softmax, sort,
};
use crate::array::Dtype;
use crate::backend::FallbackReason;
use crate::error::{Error, Result};
use crate::op::{Dims, Func, Op, Program, QuantMode, ReduceOp, Scalar, ScanOp, divmod};

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

/// What kernels are launched with.
pub(crate) struct Launch<'a> {
    pub context: &'a Context,
    pub inputs: &'a [In<'a>],
    /// The results, in order.
    pub outs: &'a [Out<'a>],
    /// To be told of indices out of range, one for each input of positions.
    pub checks: &'a [Arc<Check>],
}

impl Launch<'_> {
    /// The only result, or the first.
    fn out(&self) -> &Out<'_> {
        &self.outs[0]
    }

    fn first_check(&self) -> Result<Arc<Check>> {
        self.checks.first().cloned().ok_or_else(|| Error::internal("gpu", "indices without a check"))
    }
}

/// Records the kernels of an operation that the device can run.
///
/// # Errors
/// [`Error::Internal`] if a kernel does not compile, [`Error::Memory`] if there is no room for intermediate results.
pub(crate) type Launcher<'a> = Box<dyn Fn(&Launch) -> Result<()> + 'a>;

/// How this device runs an operation on arrays of these types and layouts, or why it cannot.
pub(crate) fn resolve<'a>(
    gpu: &Gpu,
    op: &'a Op,
    program: Option<&'a Program>,
    inputs: &[In],
    outs: &[Out],
) -> Result<Launcher<'a>, FallbackReason> {
    inputs.iter().try_for_each(|x| computes(gpu, x.dtype))?;
    outs.iter().try_for_each(|out| computes(gpu, out.dtype))?;
    // A matter of a moment on the CPU.
    let needs_all = !op.describe().of_nothing;
    let nothing = outs.iter().any(|out| out.elements() == 0);
    let empty = nothing || needs_all && inputs.iter().any(|x| x.elements() == 0);
    // A kernel of the user may have no version for the CPU, and other arrays that are not empty.
    let launched = !empty || matches!(op, Op::Custom(_));
    holds(launched, FallbackReason::NoElements)?;
    if let Some(program) = program {
        supports_program(gpu, program, inputs, &outs[0])?;
        return Ok(Box::new(move |l| elementwise::run(l.context, program, l.inputs, l.out())));
    }
    let ranks = inputs.iter().map(|x| x.shape.len()).chain(outs.iter().map(|out| out.shape.len()));
    let axes = ranks.max().is_none_or(|rank| rank <= MOST_AXES);
    holds(axes, FallbackReason::TooManyAxes)?;
    kernel(gpu, op, inputs, outs)
}

fn binds(gpu: &Gpu, bytes: usize) -> Result<(), FallbackReason> {
    holds(bytes as u64 + 256 <= gpu.largest_binding(), FallbackReason::TooLarge)
}

/// Whether each array can be bound as a whole.
fn binds_all(gpu: &Gpu, inputs: &[In], outs: &[Out]) -> Result<(), FallbackReason> {
    outs.iter().try_for_each(|out| binds(gpu, out.elements() * out.dtype.size()))?;
    inputs.iter().try_for_each(|x| {
        let (low, high) = x.reach();
        binds(gpu, (high - low + 1) * x.dtype.size())
    })
}

fn floating(x: &In) -> Result<(), FallbackReason> {
    holds(x.dtype.is_floating(), FallbackReason::NeedsFloat64)
}

/// The one list of what runs here: for each operation the conditions, then the kernels.
fn kernel<'a>(gpu: &Gpu, op: &'a Op, inputs: &[In], outs: &[Out]) -> Result<Launcher<'a>, FallbackReason> {
    let out = &outs[0];
    let few = |elements: usize| holds(elements <= u32::MAX as usize / 2, FallbackReason::TooLarge);
    let all = || binds_all(gpu, inputs, outs);
    Ok(match op {
        Op::Full { value, .. } => {
            few(out.elements())?;
            Box::new(|l| fill::full(l.context, *value, l.out()))
        }
        Op::Arange { start, step, dtype, .. } => {
            few(out.elements())?;
            // The multiplication wraps in narrow types as it does in 32 bits; what bool comes from is not kept by it.
            holds(*dtype != Dtype::Bool, FallbackReason::NeedsFloat64)?;
            Box::new(|l| fill::arange(l.context, *start, *step, l.out()))
        }
        Op::Load(_) => return Err(FallbackReason::FromFile),
        Op::RandomBits { width, .. } => {
            all()?;
            Box::new(|l| random::random_bits(l.context, &l.inputs[0], *width, l.out()))
        }
        Op::Divmod => {
            let [quotient, remainder] = divmod(inputs[0].dtype);
            for (program, out) in [&quotient, &remainder].into_iter().zip(outs) {
                supports_program(gpu, program, inputs, out)?;
            }
            Box::new(move |l| {
                elementwise::run(l.context, &quotient, l.inputs, &l.outs[0])?;
                elementwise::run(l.context, &remainder, l.inputs, &l.outs[1])
            })
        }
        Op::Concatenate { axis } => {
            all()?;
            Box::new(|l| assemble::concatenate(l.context, l.inputs, *axis, l.out()))
        }
        Op::Pad { low, .. } => {
            all()?;
            Box::new(|l| assemble::pad(l.context, l.inputs, low, l.out()))
        }
        Op::SliceUpdate(spec) => {
            all()?;
            Box::new(|l| assemble::slice_update(l.context, l.inputs, spec, l.out()))
        }
        Op::Take { axis } | Op::TakeAlongAxis { axis } => {
            all()?;
            holds(inputs[1].elements() < u32::MAX as usize, FallbackReason::TooLarge)?;
            let way = if matches!(op, Op::Take { .. }) { Way::Take } else { Way::Along };
            Box::new(move |l| index::gather(l.context, way, l.inputs, *axis, l.out(), l.first_check()?))
        }
        Op::PutAlongAxis { axis } => {
            all()?;
            binds(gpu, out.elements() * 4)?;
            Box::new(|l| put::put_along_axis(l.context, l.inputs, *axis, l.out(), l.first_check()?))
        }
        Op::Reduce { op, axes, .. } => return reduction(gpu, *op, axes, inputs, out),
        Op::ArgReduce { op, axis, .. } => {
            holds(pieces::reaches(gpu, &inputs[0], out.elements()), FallbackReason::TooLarge)?;
            Box::new(|l| pieces::arg_reduce(l.context, *op, &l.inputs[0], *axis, l.out().buffer))
        }
        Op::Scan { op, axis, reverse, inclusive } => {
            all()?;
            if *op == ScanOp::Logcumsumexp {
                floating(&inputs[0])?;
            }
            let scan = Scan { op: *op, axis: *axis, reverse: *reverse, inclusive: *inclusive };
            Box::new(move |l| scan::run(l.context, &scan, &l.inputs[0], l.out()))
        }
        Op::Softmax { axes, .. } => {
            let reduced: usize = axes.iter().map(|&d| out.shape[d]).product();
            elementwise::reaches(gpu, inputs, out)?;
            holds(pieces::reaches(gpu, &inputs[0], out.elements() / reduced), FallbackReason::TooLarge)?;
            floating(&inputs[0])?;
            Box::new(|l| softmax::softmax(l.context, &l.inputs[0], axes, l.out()))
        }
        Op::Sort { axis } | Op::Argsort { axis } => {
            all()?;
            let positions = matches!(op, Op::Argsort { .. });
            binds(gpu, sort::scratch_bytes(&inputs[0], positions))?;
            Box::new(move |l| sort::run(l.context, &l.inputs[0], *axis, positions, l.out()))
        }
        Op::SearchSorted { right } => {
            all()?;
            few(out.elements())?;
            holds(!inputs[0].dtype.is_complex(), FallbackReason::NoKernel)?;
            Box::new(|l| search::run(l.context, &l.inputs[0], &l.inputs[1], *right, l.out()))
        }
        Op::Fft(spec) => {
            all()?;
            let known = spec.n > 1 && fft::radices(spec.n).is_some();
            holds(known, FallbackReason::NoKernel)?;
            // Twiddle factors are found from indices that are exact in float32.
            holds(spec.n <= 1 << 24, FallbackReason::TooLarge)?;
            binds(gpu, fft::scratch_bytes(spec, &inputs[0]))?;
            elementwise::reaches(gpu, inputs, out)?;
            Box::new(|l| fft::run(l.context, spec, &l.inputs[0], l.out()))
        }
        // Segments are positions that have to be read before it is known what is multiplied.
        Op::SegmentedMm => return Err(FallbackReason::NoKernel),
        Op::Linalg(_) => return Err(FallbackReason::Sequential),
        Op::Matmul | Op::Addmm { .. } => {
            all()?;
            holds(matmul::reaches(gpu, out), FallbackReason::TooLarge)?;
            Box::new(|l| product(l, op))
        }
        Op::Custom(spec) => {
            all()?;
            custom::supports(gpu, spec)?;
            Box::new(|l| custom::run(l.context, spec, l.inputs, l.outs))
        }
        Op::Conv(spec) => {
            all()?;
            few(out.elements())?;
            Box::new(|l| conv::conv(l.context, spec, l.inputs, l.out()))
        }
        Op::QuantizedMatmul { spec, transpose, gather: false } if inputs[1].shape.len() == 2 => {
            all()?;
            few(out.elements())?;
            Box::new(|l| quantized::quantized_matmul(l.context, spec, *transpose, l.inputs, l.out()))
        }
        Op::Dequantize { spec, .. } if inputs.len() == if spec.mode == QuantMode::Affine { 3 } else { 2 } => {
            all()?;
            few(out.elements())?;
            Box::new(|l| quantized::dequantize(l.context, spec, l.inputs, l.out()))
        }
        Op::Norm { kind, weight, bias, eps } => {
            all()?;
            few(out.elements())?;
            Box::new(|l| fused::norm(l.context, *kind, (*weight, *bias), eps.0, l.inputs, l.out()))
        }
        Op::Rope(spec) => {
            all()?;
            few(out.elements())?;
            Box::new(|l| fused::rope(l.context, spec, l.inputs, l.out()))
        }
        Op::QuantizedMatmul { .. }
        | Op::Quantize { .. }
        | Op::Dequantize { .. }
        | Op::NormBackward { .. }
        | Op::CrossEntropy
        | Op::CrossEntropyBackward
        | Op::Attention(_)
        | Op::AttentionBackward { .. }
        | Op::GatedDelta { .. } => return Err(FallbackReason::NoKernel),
        // Functions of the library compose them of kernels there are, on a GPU.
        Op::Gather { .. } | Op::Scatter { .. } => return Err(FallbackReason::NoKernel),
        // Elementwise ones come as programs, and layouts are views or copies: neither has kernels of its own.
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Cast { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::Broadcast { .. }
        | Op::Slice(_)
        | Op::AsStrided(_)
        | Op::View { .. }
        | Op::Contiguous
        | Op::Depends
        | Op::StopGradient => return Err(FallbackReason::NoKernel),
    })
}

fn reduction<'a>(
    gpu: &Gpu,
    op: ReduceOp,
    axes: &'a Dims,
    inputs: &[In],
    out: &Out,
) -> Result<Launcher<'a>, FallbackReason> {
    holds(pieces::reaches(gpu, &inputs[0], out.elements()), FallbackReason::TooLarge)?;
    if op == ReduceOp::Logsumexp {
        floating(&inputs[0])?;
    }
    Ok(if inputs[0].elements() == 0 {
        Box::new(move |l| fill::full(l.context, of_nothing(op), l.out()))
    } else if axes.is_empty() {
        Box::new(|l| elementwise::map(l.context, elementwise::Convert, l.inputs, l.out()))
    } else {
        Box::new(move |l| reduce::reduce(l.context, op, &l.inputs[0], axes, l.out()))
    })
}

fn product(l: &Launch, op: &Op) -> Result<()> {
    let of = |a: usize, b: usize| (l.inputs[a].clone(), l.inputs[b].clone());
    let product = match op {
        Op::Addmm { alpha, beta } => {
            let (a, b) = of(1, 2);
            let c = Some((l.inputs[0].clone(), beta.0)).filter(|_| beta.0 != 0.0);
            Product { a, b, c, alpha: alpha.0 }
        }
        _ if l.inputs[0].elements() == 0 => return fill::full(l.context, Scalar::Uint(0), l.out()),
        _ => {
            let (a, b) = of(0, 1);
            Product { a, b, c: None, alpha: 1.0 }
        }
    };
    matmul::run(l.context, &product, l.out())
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
