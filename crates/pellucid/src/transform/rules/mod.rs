//! The derivatives and the batched form of every operation. Each of the three rules is one match over [`Op`] without a
//! default, so that an operation without rules does not compile. Rules build ordinary nodes, which are fused, captured
//! and differentiated again like all others.

mod assemble;
pub(super) mod build;
mod composed;
mod conv;
mod elementwise;
mod fft;
mod fused;
mod index;
mod layout;
mod linalg;
mod product;
mod quantized;
mod reduce;
mod scan;

use smallvec::{SmallVec, smallvec};

use self::scan::Run;
use super::refit::{Dim, Refit, is_shapeless, noted};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::op::{BinaryOp, Op, ReduceOp};

/// One call of an operation.
pub(super) struct Call<'a> {
    pub op: &'a Op,
    pub inputs: &'a [Array],
    pub outputs: &'a [Array],
}

impl Call<'_> {
    fn no_rule(&self, rule: &'static str) -> Error {
        let message = format!(
            "Not implemented for {} (called at {}); use stop_gradient before it if no gradient is meant to pass",
            self.op.name(),
            self.outputs[0].call_site()
        );
        Error::argument(rule, message)
    }
}

/// An input of a batched call: with the batch axis first if it is mapped, else the same for all lanes.
pub(super) struct Batched {
    pub array: Array,
    pub mapped: bool,
}

impl Batched {
    /// With size-one axes behind the batch axis, so that lanes have this rank and broadcast as they did alone.
    #[track_caller]
    pub fn aligned(&self, rank: usize) -> Array {
        if !self.mapped {
            return self.array.clone();
        }
        let (batch, lane) = (self.array.shape()[0], &self.array.shape()[1..]);
        let ones = rank.saturating_sub(lane.len());
        let shape: Vec<usize> =
            std::iter::once(batch).chain(std::iter::repeat_n(1, ones)).chain(lane.iter().copied()).collect();
        if !is_shapeless() || ones == 0 {
            return build::reshape(&self.array, &shape);
        }
        let dims = (0..shape.len()).map(|axis| match axis {
            0 => Dim::Of(0),
            axis if axis <= ones => Dim::Is(1),
            axis => Dim::Of(axis - ones),
        });
        noted(Refit::Dims(dims.collect()), || build::reshape(&self.array, &shape))
    }

    /// With a batch axis in any case.
    #[track_caller]
    pub fn spread(&self, size: usize) -> Array {
        if self.mapped {
            return self.array.clone();
        }
        let shape: Vec<usize> = std::iter::once(size).chain(self.array.shape().iter().copied()).collect();
        build::broadcast(&self.array, &shape)
    }
}

/// Cotangents or tangents, one for each array; `None` is zero.
pub(super) type Parts = SmallVec<[Option<Array>; 2]>;

/// What the cotangents of a call's results are for its inputs. Only those of `wanted` inputs are made.
///
/// # Errors
/// [`Error::Argument`] if a wanted input has no gradient.
#[track_caller]
pub(super) fn vjp(call: &Call, cotangents: &[Option<Array>], wanted: &[bool]) -> Result<Parts> {
    if let (Op::Attention(spec), Some(g)) = (call.op, &cotangents[0]) {
        return Ok(fused::attention_vjp(spec, call, g, wanted));
    }
    let mut parts: Parts = smallvec![None; call.inputs.len()];
    for of in (0..call.inputs.len()).filter(|&of| wanted[of]) {
        parts[of] = vjp_of(call, of, cotangents)?;
    }
    Ok(parts)
}

#[track_caller]
fn vjp_of(call: &Call, of: usize, cotangents: &[Option<Array>]) -> Result<Option<Array>> {
    if let Op::Linalg(op) = call.op {
        return linalg::vjp(*op, call, of, cotangents);
    }
    // Of quotient and remainder only the second has a slope.
    let result = usize::from(matches!(call.op, Op::Divmod));
    let Some(g) = &cotangents[result] else { return Ok(None) };
    let x = &call.inputs[of];
    Ok(match call.op {
        Op::Full { .. } | Op::Arange { .. } | Op::Load(_) => None,
        Op::RandomBits { .. } => None,
        Op::Unary(op) => elementwise::unary_vjp(*op, call, g),
        Op::Binary(op) => elementwise::binary_vjp(*op, call, of, g),
        Op::Divmod => elementwise::binary_vjp(BinaryOp::Remainder, call, of, g),
        Op::Select => elementwise::select_vjp(call, of, g),
        Op::Cast { .. } => Some(elementwise::cast_vjp(call, g)),
        Op::Reshape { .. } => Some(build::reshape_like(g, x)),
        Op::Transpose { axes } => Some(layout::transpose_vjp(axes, g)),
        Op::Broadcast { .. } => Some(build::unbroadcast(g, x)),
        Op::Slice(spec) => Some(layout::slice_vjp(spec, call, g)),
        Op::AsStrided(spec) => Some(layout::as_strided_vjp(spec, call, g)),
        Op::View { .. } => return Err(call.no_rule("vjp")),
        Op::Contiguous => Some(g.clone()),
        Op::StopGradient => None,
        Op::Depends => (of == 0).then(|| g.clone()),
        Op::Concatenate { axis } => Some(assemble::concatenate_vjp(*axis, call, of, g)),
        Op::Pad { low, high } => Some(assemble::pad_vjp(low, high, call, of, g)),
        Op::SliceUpdate(spec) => Some(assemble::slice_update_vjp(spec, call, of, g)),
        Op::Take { axis } => Some(index::take_vjp(*axis, call, of, g)?),
        Op::Gather { axes } => Some(index::gather_vjp(axes, call, of, g)?),
        Op::Scatter { axes, how } => index::scatter_vjp(axes, *how, call, of, g)?,
        Op::TakeAlongAxis { axis } => Some(index::take_along_vjp(*axis, call, of, g)?),
        Op::PutAlongAxis { axis } => Some(index::put_along_vjp(*axis, call, of, g)?),
        Op::Reduce { op, axes, .. } => reduce::reduce_vjp(*op, axes, call, g),
        Op::ArgReduce { .. } | Op::Argsort { .. } | Op::SearchSorted { .. } => None,
        Op::Fft(spec) => Some(fft::vjp(spec, call, g)),
        Op::SegmentedMm | Op::Linalg(_) => return Err(call.no_rule("vjp")),
        Op::Scan { op, axis, reverse, inclusive } => {
            let run = Run { axis: *axis, reverse: *reverse, inclusive: *inclusive };
            scan::vjp(*op, run, call, g)
        }
        Op::Softmax { axes, .. } => Some(reduce::softmax_both(axes, call, g)),
        Op::Sort { axis } => Some(index::sort_vjp(*axis, call, g)),
        Op::Matmul => Some(product::matmul_vjp(call, of, g)),
        Op::Addmm { alpha, beta } => Some(product::addmm_vjp(alpha.0, beta.0, call, of, g)),
        Op::Conv(spec) => Some(conv::vjp(spec, call, of, g)),
        Op::QuantizedMatmul { spec, transpose, gather: false } => {
            quantized::matmul_vjp(spec, *transpose, call, of, g)?
        }
        Op::Dequantize { spec, .. } => quantized::dequantize_vjp(spec, call, of, g)?,
        Op::QuantizedMatmul { spec, transpose, gather: true } => {
            quantized::gather_vjp(spec, *transpose, call, of, g)?
        }
        Op::Quantize { .. } => return Err(call.no_rule("vjp")),
        Op::Norm { kind, weight, eps, .. } => Some(fused::norm_vjp(*kind, *weight, *eps, call, of, g)),
        Op::Rope(spec) => fused::rope_vjp(spec, call, of, g)?,
        Op::CrossEntropy if of == 0 => {
            Some(build::apply(Op::CrossEntropyBackward, &[&call.inputs[0], &call.inputs[1], g]))
        }
        Op::CrossEntropy => None,
        Op::CrossEntropyBackward if of == 1 => None,
        Op::NormBackward { .. }
        | Op::CrossEntropyBackward
        | Op::Attention(_)
        | Op::AttentionBackward { .. }
        | Op::GatedDelta { .. } => fused::pulled(call, of, g)?,
        Op::Custom(_) => return Err(call.no_rule("vjp")),
    })
}

/// How [`jvp`] comes to its result.
pub(super) enum Push {
    /// The tangents of the results.
    Tangents(Parts),
    /// The transpose of [`vjp`], which is linear in the cotangent.
    Transposed,
}

/// What the tangents of a call's inputs are for its results.
///
/// # Errors
/// [`Error::Argument`] if an operation with a tangent has no derivative.
#[track_caller]
pub(super) fn jvp(call: &Call, tangents: &[Option<Array>]) -> Result<Push> {
    let one = |t: Option<Array>| Push::Tangents(smallvec![t]);
    // Of operations with one input that do to tangents what they do to elements.
    let linear = || one(tangents[0].as_ref().map(|t| build::apply(call.op.clone(), &[t])));
    let replaced = || {
        // The first input's tangent in place of the first input, beside the others.
        one(tangents[0].as_ref().map(|t| {
            let inputs: Vec<&Array> = std::iter::once(t).chain(&call.inputs[1..]).collect();
            build::apply(call.op.clone(), &inputs)
        }))
    };
    Ok(match call.op {
        Op::Full { .. } | Op::Arange { .. } | Op::Load(_) | Op::RandomBits { .. } => one(None),
        Op::Unary(op) => one(tangents[0].as_ref().and_then(|t| elementwise::unary_jvp(*op, call, t))),
        Op::Binary(op) => one(elementwise::binary_jvp(*op, call, tangents)),
        Op::Divmod => {
            let remainder = elementwise::binary_jvp(BinaryOp::Remainder, call, tangents);
            Push::Tangents(smallvec![None, remainder])
        }
        Op::Select => one(elementwise::select_jvp(call, tangents)),
        Op::Cast { .. } => one(tangents[0].as_ref().map(|t| elementwise::cast_jvp(call.op, t))),
        Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::Broadcast { .. }
        | Op::Slice(_)
        | Op::AsStrided(_)
        | Op::Contiguous => linear(),
        Op::View { .. } => return Err(call.no_rule("jvp")),
        Op::StopGradient => one(None),
        Op::Depends => replaced(),
        Op::Concatenate { .. } => one(Some(assemble::concatenate_jvp(call, tangents))),
        Op::Pad { .. } => one(Some(assemble::pad_jvp(call, tangents))),
        Op::SliceUpdate(_) => one(Some(assemble::slice_update_jvp(call, tangents))),
        Op::Take { .. } | Op::TakeAlongAxis { .. } => {
            if tangents[1].is_some() {
                return Err(index::no_index_gradient("gather", call));
            }
            replaced()
        }
        Op::Gather { axes } => {
            if tangents[1..=axes.len()].iter().any(Option::is_some) {
                return Err(index::no_index_gradient("gather", call));
            }
            replaced()
        }
        Op::Scatter { axes, how } => {
            if tangents[1..=axes.len()].iter().any(Option::is_some) {
                return Err(index::no_index_gradient("scatter", call));
            }
            match index::scatter_jvp(*how, call, tangents) {
                Some(tangent) => one(Some(tangent)),
                None => Push::Transposed,
            }
        }
        Op::PutAlongAxis { .. } => {
            if tangents[1].is_some() {
                return Err(index::no_index_gradient("scatter_axis", call));
            }
            one(Some(index::put_along_jvp(call, tangents)))
        }
        Op::Reduce { op: ReduceOp::Sum, .. } => linear(),
        Op::Reduce { op: ReduceOp::All | ReduceOp::Any, .. } => one(None),
        Op::Reduce { op: ReduceOp::Max | ReduceOp::Min, axes, .. } => {
            one(tangents[0].as_ref().map(|t| reduce::extreme_jvp(axes, call, t)))
        }
        Op::Reduce { .. } => Push::Transposed,
        Op::ArgReduce { .. } | Op::Argsort { .. } | Op::SearchSorted { .. } => one(None),
        Op::Fft(_) => linear(),
        Op::SegmentedMm => return Err(call.no_rule("jvp")),
        Op::Linalg(_) => Push::Transposed,
        Op::Scan { op, axis, reverse, inclusive } => {
            let run = Run { axis: *axis, reverse: *reverse, inclusive: *inclusive };
            match tangents[0].as_ref().and_then(|t| scan::jvp(*op, run, call, t)) {
                Some(tangent) => one(Some(tangent)),
                None => Push::Transposed,
            }
        }
        Op::Softmax { axes, .. } => one(tangents[0].as_ref().map(|t| reduce::softmax_both(axes, call, t))),
        Op::Sort { axis } => one(tangents[0].as_ref().map(|t| index::sort_jvp(*axis, call, t))),
        Op::Matmul => one(product::matmul_jvp(call, tangents)),
        Op::Addmm { alpha, beta } => one(product::addmm_jvp(alpha.0, beta.0, call, tangents)),
        Op::Conv(_) => one(conv::jvp(call, tangents)),
        Op::QuantizedMatmul { .. } if tangents[1..].iter().all(Option::is_none) => replaced(),
        Op::Rope(_) if tangents[1..].iter().all(Option::is_none) => replaced(),
        Op::QuantizedMatmul { .. } | Op::Dequantize { .. } => Push::Transposed,
        Op::Quantize { .. } => return Err(call.no_rule("jvp")),
        Op::Norm { .. }
        | Op::NormBackward { .. }
        | Op::Rope(_)
        | Op::CrossEntropy
        | Op::CrossEntropyBackward
        | Op::Attention(_)
        | Op::AttentionBackward { .. }
        | Op::GatedDelta { .. } => return fused::pushed(call, tangents),
        Op::Custom(_) => return Err(call.no_rule("jvp")),
    })
}

/// The call on a batch of `size` lanes: results with the batch axis first. At least one input is mapped.
///
/// # Errors
/// [`Error::Argument`] if the operation has no batched form.
#[track_caller]
pub(super) fn vmap(call: &Call, inputs: &[Batched], size: usize) -> Result<SmallVec<[Array; 2]>> {
    let one = |result: Array| -> SmallVec<[Array; 2]> { smallvec![result] };
    Ok(match call.op {
        Op::Full { .. } | Op::Arange { .. } | Op::Load(_) => {
            one(Batched { array: call.outputs[0].clone(), mapped: false }.spread(size))
        }
        // Keys have their batch in front already, and so have the bits made of them.
        Op::RandomBits { .. } => one(build::apply(call.op.clone(), &[&inputs[0].array])),
        Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast { .. } | Op::Divmod => {
            elementwise::vmap(call, inputs)
        }
        Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::Broadcast { .. }
        | Op::Slice(_)
        | Op::AsStrided(_)
        | Op::View { .. }
        | Op::Contiguous
        | Op::StopGradient => one(layout::vmap(call, &inputs[0], size)),
        Op::Depends => {
            let spread: Vec<Array> = inputs
                .iter()
                .enumerate()
                .map(|(i, x)| if i == 0 { x.spread(size) } else { x.array.clone() })
                .collect();
            one(build::apply(Op::Depends, &spread.iter().collect::<Vec<_>>()))
        }
        Op::Concatenate { axis } => one(assemble::concatenate_vmap(*axis, inputs, size)),
        Op::Pad { low, high } => one(assemble::pad_vmap(low, high, call, inputs, size)),
        Op::SliceUpdate(spec) => one(assemble::slice_update_vmap(spec, inputs, size)),
        Op::Take { axis } => one(index::take_vmap(*axis, call, inputs, size)),
        Op::Gather { .. } | Op::Scatter { .. } => one(index::gather_vmap(call.op, call, inputs, size)),
        Op::TakeAlongAxis { axis } => {
            one(index::along_vmap(Op::TakeAlongAxis { axis: axis + 1 }, inputs, size))
        }
        Op::PutAlongAxis { axis } => {
            one(index::along_vmap(Op::PutAlongAxis { axis: axis + 1 }, inputs, size))
        }
        Op::Reduce { op, axes, keepdims } => one(reduce::reduce_vmap(*op, axes, *keepdims, &inputs[0])),
        Op::ArgReduce { op, axis, keepdims } => {
            let op = Op::ArgReduce { op: *op, axis: axis + 1, keepdims: *keepdims };
            one(build::apply(op, &[&inputs[0].array]))
        }
        Op::Scan { op, axis, reverse, inclusive } => {
            one(build::scan(*op, &inputs[0].array, axis + 1, *reverse, *inclusive))
        }
        Op::Softmax { axes, precise } => one(reduce::softmax_vmap(axes, *precise, &inputs[0])),
        Op::Sort { axis } => one(build::apply(Op::Sort { axis: axis + 1 }, &[&inputs[0].array])),
        Op::Argsort { axis } => one(build::apply(Op::Argsort { axis: axis + 1 }, &[&inputs[0].array])),
        Op::Fft(spec) => one(fft::vmap(spec, &inputs[0].array)),
        Op::Linalg(op) => linalg::vmap(*op, inputs, size),
        // Any shape of values is searched for in one sequence.
        Op::SearchSorted { .. } if !inputs[0].mapped => {
            one(build::apply(call.op.clone(), &[&inputs[0].array, &inputs[1].array]))
        }
        Op::SearchSorted { .. } | Op::SegmentedMm => return Err(call.no_rule("vmap")),
        Op::Matmul | Op::Addmm { .. } => one(product::vmap(call, inputs)),
        Op::Conv(spec) => one(conv::vmap(spec, call, inputs, size)),
        Op::QuantizedMatmul { gather: false, .. } => one(quantized::matmul_vmap(call, inputs)),
        Op::Quantize { .. } | Op::Dequantize { .. } => one(quantized::rows_vmap(call, inputs, size)?),
        Op::Norm { .. } => one(fused::rows_vmap(call, inputs, &[0], size)?),
        Op::NormBackward { .. } => one(fused::rows_vmap(call, inputs, &[0, inputs.len() - 1], size)?),
        Op::CrossEntropy | Op::CrossEntropyBackward => one(fused::rows_vmap(call, inputs, &[0, 1, 2], size)?),
        Op::Rope(_) => one(fused::rope_vmap(call, inputs, size)?),
        Op::Attention(spec) => one(fused::attention_vmap(spec, call, inputs, size)?),
        Op::QuantizedMatmul { .. } | Op::AttentionBackward { .. } | Op::GatedDelta { .. } => {
            return Err(call.no_rule("vmap"));
        }
        Op::Custom(_) => return Err(call.no_rule("vmap")),
    })
}
