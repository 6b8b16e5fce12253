//! Reductions of one or more axes.
//!
//! Two ways through memory: [`rows`] reduces a run of elements per output, [`columns`] streams whole rows and
//! accumulates many outputs side by side. Both cut the work into blocks that depend on shapes and strides only, and
//! combine block results in a fixed order: a float sum has the same bits on every machine and number of threads.

mod columns;
mod fold;
mod logsumexp;
mod rows;

pub(super) use fold::{Combine, Max, Min, Prod, Sum, accumulate, fold};
pub(super) use logsumexp::ExpSum;
pub(super) use rows::block_results;

use fold::{All, Any};

use super::accumulator::with_acc;
use super::layout::Layout;
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::ReduceOp;

/// Reduces `axes` (ascending) of `x`; `out` holds the others in order. Sums and products convert each element to the
/// type of `out` first (16-bit floats compute in `f32` and round once); extremes and `Logsumexp` keep the type; `All`
/// and `Any` give bool. Nothing to reduce gives the identity.
pub(crate) fn reduce(op: ReduceOp, x: &In, axes: &[usize], out: &mut Out) -> Result<()> {
    let logical = matches!(op, ReduceOp::All | ReduceOp::Any);
    let exponential = op == ReduceOp::Logsumexp;
    if logical && out.dtype != Dtype::Bool || exponential && !(x.dtype.is_inexact() && out.dtype == x.dtype) {
        return Err(Error::internal("reduce", format!("{op:?} of {} into {}", x.dtype, out.dtype)));
    }
    if out.elements() == 0 {
        return Ok(());
    }
    let layout = Layout::reduction(x, axes);
    // Without axes a reduction is a conversion. The larger of each element and the identity is just that, while a sum
    // with zero would lose the sign of a negative zero.
    let op = if axes.is_empty() && !logical { ReduceOp::Max } else { op };
    match op {
        ReduceOp::Sum => with_acc!(out.dtype, A => run::<A, Sum>(x, layout, out)),
        ReduceOp::Prod => with_acc!(out.dtype, A => run::<A, Prod>(x, layout, out)),
        ReduceOp::Max => with_acc!(out.dtype, A => run::<A, Max>(x, layout, out)),
        ReduceOp::Min => with_acc!(out.dtype, A => run::<A, Min>(x, layout, out)),
        ReduceOp::All => with_acc!(x.dtype, A => run::<A, All>(x, layout, out)),
        ReduceOp::Any => with_acc!(x.dtype, A => run::<A, Any>(x, layout, out)),
        ReduceOp::Logsumexp => logsumexp::logsumexp(x, layout, out),
    }
}

fn run<A: super::accumulator::Acc, O: Combine<A>>(x: &In, layout: Layout, out: &mut Out) -> Result<()> {
    if columns::is_thin(&layout) {
        columns::thin::<A, O>(x, &layout, out)
    } else if layout.prefers_rows() {
        rows::rows::<A, O>(x, &layout, out)
    } else {
        columns::columns::<A, O>(x, layout, out)
    }
}

#[cfg(test)]
mod tests;
