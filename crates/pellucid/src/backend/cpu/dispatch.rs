//! From an operation to its kernel.

use super::{
    In, Out, arg_reduce, assemble, attention, conv, cross_entropy, custom, elementwise, fft, fill,
    gated_delta, index, linalg, load, matmul, norm, quantized, random, reduce, rope, scan, search, softmax,
    sort,
};
use crate::error::{Error, Result};
use crate::op::{Op, divmod};

/// Runs any operation that is neither elementwise nor a matter of layout.
pub(crate) fn run(op: &Op, inputs: &[In], outs: &mut [Out]) -> Result<()> {
    if let Op::Custom(spec) = op {
        return custom::run(spec, inputs, outs);
    }
    if let Op::Linalg(op) = op {
        return linalg::linalg(*op, inputs, outs);
    }
    let [out, more @ ..] = outs else { return Err(Error::internal("eval", "a kernel without results")) };
    match op {
        Op::Divmod => {
            let [quotient, remainder] = divmod(inputs[0].dtype);
            elementwise(&quotient, inputs, out)?;
            more.iter_mut().try_for_each(|out| elementwise(&remainder, inputs, out))?;
        }
        Op::Full { value, .. } => fill::full(*value, out),
        Op::Arange { start, step, .. } => fill::arange(*start, *step, out),
        Op::Load(spec) => load::load(spec, out)?,
        Op::RandomBits { width, .. } => random::random_bits(&inputs[0], *width, out)?,
        Op::Concatenate { axis } => assemble::concatenate(inputs, *axis, out),
        Op::Pad { low, .. } => assemble::pad(&inputs[0], &inputs[1], low, out),
        Op::SliceUpdate(spec) => assemble::slice_update(&inputs[0], &inputs[1], spec, out),
        Op::Take { axis } => index::take(&inputs[0], &inputs[1], *axis, out)?,
        Op::Gather { axes } => index::gather(&inputs[0], &inputs[1..], axes, out)?,
        Op::Scatter { axes, how } => {
            let (indices, updates) = (&inputs[1..inputs.len() - 1], &inputs[inputs.len() - 1]);
            index::scatter(&inputs[0], indices, updates, axes, *how, out)?;
        }
        Op::TakeAlongAxis { axis } => index::take_along_axis(&inputs[0], &inputs[1], *axis, out)?,
        Op::PutAlongAxis { axis } => index::put_along_axis(&inputs[0], &inputs[1], &inputs[2], *axis, out)?,
        Op::Reduce { op, axes, .. } => reduce::reduce(*op, &inputs[0], axes, out)?,
        Op::ArgReduce { op, axis, .. } => arg_reduce::arg_reduce(*op, &inputs[0], *axis, out)?,
        Op::Scan { op, axis, reverse, inclusive } => {
            scan::scan(*op, &inputs[0], *axis, *reverse, *inclusive, out)?;
        }
        Op::Softmax { axes, precise } => softmax::softmax(&inputs[0], axes, *precise, out)?,
        Op::Sort { axis } => sort::sort(&inputs[0], *axis, out)?,
        Op::Argsort { axis } => sort::argsort(&inputs[0], *axis, out)?,
        Op::SearchSorted { right } => search::search_sorted(&inputs[0], &inputs[1], *right, out)?,
        Op::Fft(spec) => fft::fft(spec, &inputs[0], out)?,
        Op::SegmentedMm => matmul::segmented(&inputs[0], &inputs[1], &inputs[2], out)?,
        Op::Matmul => matmul::matmul(&inputs[0], &inputs[1], out)?,
        Op::Addmm { alpha, beta } => matmul::addmm(&inputs[0], &inputs[1], &inputs[2], alpha.0, beta.0, out)?,
        Op::Conv(spec) => conv::conv(spec, &inputs[0], &inputs[1], out)?,
        Op::QuantizedMatmul { spec, transpose, gather } => {
            quantized::quantized_matmul(spec, *transpose, *gather, inputs, out)?;
        }
        Op::Quantize { spec, part } => quantized::quantize(spec, *part, inputs, out)?,
        Op::Dequantize { spec, .. } => quantized::dequantize(spec, inputs, out)?,
        Op::Norm { kind, weight, bias, eps } => {
            let (w, b) = (weight.then(|| &inputs[1]), bias.then(|| &inputs[inputs.len() - 1]));
            norm::norm(*kind, &inputs[0], w, b, eps.0, out)?;
        }
        Op::NormBackward { kind, weight, eps } => {
            let g = &inputs[inputs.len() - 1];
            let weight = weight.then(|| &inputs[1]);
            norm::norm_backward(*kind, &inputs[0], weight, g, eps.0, out)?;
        }
        Op::Rope(spec) => rope::rope(spec, &inputs[0], &inputs[1], inputs.get(2), out)?,
        Op::CrossEntropy => cross_entropy::cross_entropy(&inputs[0], &inputs[1], out)?,
        Op::CrossEntropyBackward => {
            cross_entropy::cross_entropy_backward(&inputs[0], &inputs[1], &inputs[2], out)?;
        }
        Op::Attention(spec) => attention::attention(spec, inputs, out)?,
        Op::AttentionBackward { spec, mask_gradient } => {
            attention::attention_backward(spec, *mask_gradient, inputs, out)?;
        }
        Op::GatedDelta { .. } => gated_delta::gated_delta(inputs, out)?,
        Op::Custom(_)
        | Op::Linalg(_)
        | Op::Unary(_)
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
        | Op::StopGradient => {
            return Err(Error::internal("eval", format!("{} is not a kernel of its own", op.name())));
        }
    }
    Ok(())
}
