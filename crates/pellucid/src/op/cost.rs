//! What an operation costs by its meaning: floating-point operations, independent of how it is run.

use super::Op;
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
            Op::Arange { .. } => out.saturating_mul(2),
            Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Scan { .. } => input,
            Op::Softmax { .. } => input.saturating_mul(11),
            Op::Sort { .. } | Op::Argsort { .. } => input.saturating_mul(u64::from(input.max(2).ilog2())),
            Op::Matmul => products(inputs[0], out),
            Op::Addmm { .. } => products(inputs[1], out).saturating_add(out.saturating_mul(2)),
            // What a user's kernel computes is not known; the others move data or make bits.
            Op::Full { .. }
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
            | Op::TakeAlongAxis { .. }
            | Op::PutAlongAxis { .. }
            | Op::Custom(_) => 0,
        }
    }
}

/// A multiply-add for each element of the result and each element of the contracted axis.
fn products(a: &Shape, out: u64) -> u64 {
    out.saturating_mul(2).saturating_mul(a.last().map_or(0, |&k| k as u64))
}
