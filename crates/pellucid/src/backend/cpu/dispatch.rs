//! From an operation to its kernel.

use super::{
    In, Out, arg_reduce, assemble, custom, elementwise, fill, index, matmul, random, reduce, scan, softmax,
    sort,
};
use crate::error::{Error, Result};
use crate::op::{Op, divmod};

/// Runs any operation that is neither elementwise nor a matter of layout.
pub(crate) fn run(op: &Op, inputs: &[In], outs: &mut [Out]) -> Result<()> {
    if let Op::Custom(spec) = op {
        return custom::run(spec, inputs, outs);
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
        Op::RandomBits { width, .. } => random::random_bits(&inputs[0], *width, out)?,
        Op::Concatenate { axis } => assemble::concatenate(inputs, *axis, out),
        Op::Pad { low, .. } => assemble::pad(&inputs[0], &inputs[1], low, out),
        Op::SliceUpdate(spec) => assemble::slice_update(&inputs[0], &inputs[1], spec, out),
        Op::Take { axis } => index::take(&inputs[0], &inputs[1], *axis, out)?,
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
        Op::Matmul => matmul::matmul(&inputs[0], &inputs[1], out)?,
        Op::Addmm { alpha, beta } => matmul::addmm(&inputs[0], &inputs[1], &inputs[2], alpha.0, beta.0, out)?,
        Op::Custom(_)
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
