//! What an operation costs by its meaning: floating-point operations, independent of how it is run.

use super::{Op, ScatterOp};
use crate::array::Shape;

impl Op {
    /// Arithmetic operations this needs for these input shapes, by the usual counting: a multiply-add is two, a
    /// transcendental function eight, moving data none.
    pub fn flops(&self, inputs: &[&Shape], output: &Shape) -> u64 {
        let out = output.elements() as u64;
        let input = inputs.first().map_or(0, |s| s.elements() as u64);
        match self {
            Op::Unary(op) => out.saturating_mul(op.flops()),
            Op::Binary(op) => out.saturating_mul(op.flops()),
            // As the same operation counts inside a fused program.
            Op::Select | Op::Cast { .. } => out,
            Op::Divmod => out.saturating_mul(2),
            Op::Scatter { how: ScatterOp::Replace, .. } => 0,
            Op::Scatter { .. } => inputs.last().map_or(0, |s| s.elements() as u64),
            Op::Arange { .. } => out.saturating_mul(2),
            Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Scan { .. } => input,
            Op::Softmax { .. } => input.saturating_mul(11),
            Op::Sort { .. } | Op::Argsort { .. } => input.saturating_mul(u64::from(input.max(2).ilog2())),
            Op::SearchSorted { .. } => out.saturating_mul(u64::from(input.max(1).ilog2()) + 1),
            Op::Linalg(op) => op.flops(inputs),
            Op::Fft(spec) => spec.flops(inputs[0]),
            Op::Matmul => products(inputs[0], out),
            // As if the segments shared out the inner axis, which is what they are for.
            Op::SegmentedMm => {
                let segments = inputs[2].elements() as u64 / 2;
                products(inputs[0], out / segments.max(1))
            }
            Op::Addmm { .. } => products(inputs[1], out).saturating_add(out.saturating_mul(2)),
            Op::Conv(_) => {
                let taps =
                    inputs[1].elements() as u64 / (inputs[1].first().copied().unwrap_or(1).max(1)) as u64;
                out.saturating_mul(2).saturating_mul(taps)
            }
            Op::QuantizedMatmul { .. } => products(inputs[0], out),
            Op::Quantize { .. } => input.saturating_mul(6),
            Op::Dequantize { .. } => out.saturating_mul(2),
            Op::Norm { .. } => input.saturating_mul(8),
            Op::NormBackward { .. } => input.saturating_mul(14),
            Op::Rope(_) => input.saturating_mul(3),
            Op::CrossEntropy => input.saturating_mul(10),
            Op::CrossEntropyBackward => input.saturating_mul(20),
            // Two products of the forward pass, five of the backward one; a causal mask leaves half of them out.
            Op::Attention(spec) => scores(inputs, spec.causal, 1),
            Op::AttentionBackward { spec, .. } => scores(inputs, spec.causal, 5).saturating_div(2),
            Op::GatedDelta { .. } => {
                let last = inputs[1].last().map_or(0, |&d| d as u64);
                (inputs[2].elements() as u64).saturating_mul(last).saturating_mul(7)
            }
            // What a user's kernel computes is not known; the others move data or make bits.
            Op::Full { .. }
            | Op::Load(_)
            | Op::RandomBits { .. }
            | Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::Broadcast { .. }
            | Op::Slice(_)
            | Op::AsStrided(_)
            | Op::View { .. }
            | Op::Contiguous
            | Op::Depends
            | Op::StopGradient
            | Op::Concatenate { .. }
            | Op::Pad { .. }
            | Op::SliceUpdate(_)
            | Op::Take { .. }
            | Op::Gather { .. }
            | Op::TakeAlongAxis { .. }
            | Op::PutAlongAxis { .. }
            | Op::Custom(_) => 0,
        }
    }
}

/// Multiply-adds of queries with keys and of weights with values, `times` over.
fn scores(inputs: &[&Shape], causal: bool, times: u64) -> u64 {
    let (q, v) = (inputs[0], inputs[2]);
    let (keys, width) = (v.get(2).map_or(0, |&n| n as u64), v.get(3).map_or(0, |&n| n as u64));
    let rows = q.elements() as u64 / q.last().map_or(1, |&d| d.max(1) as u64);
    let depth = q.last().map_or(0, |&d| d as u64);
    let both = rows.saturating_mul(keys).saturating_mul(2).saturating_mul(depth.saturating_add(width));
    both.saturating_mul(times) / if causal { 2 } else { 1 }
}

/// A multiply-add for each element of the result and each element of the contracted axis.
fn products(a: &Shape, out: u64) -> u64 {
    out.saturating_mul(2).saturating_mul(a.last().map_or(0, |&k| k as u64))
}
