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
pub(super) use rows::short_block_results;

use std::ops::Range;

use fold::{All, Any};
use rows::{Computed, InMemory};

use super::accumulator::with_acc;
use super::layout::{Layout, SHORTEST_RUN};
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
        rows::rows::<A, O>(&InMemory::new::<A>(x, &layout), out)
    } else {
        columns::columns::<A, O>(x, layout, out)
    }
}

/// Values that are computed as they are needed, a range at a time.
pub(crate) trait Chain: Sync {
    /// Bytes that are moved for a value, or as much time as it takes otherwise.
    fn cost(&self) -> usize;

    /// Writes a range of the values.
    ///
    /// # Safety
    /// There must be room for them.
    unsafe fn compute(&self, range: Range<usize>, to: *mut u8);
}

/// Whether a reduction of a row-major array can take the place of that array's last pass: if it computes in the array's
/// own type and reduces the last axes, which are long enough for runs. Then [`reduce_chain`] gives what [`reduce`] gives.
pub(crate) fn takes_chain(op: ReduceOp, from: Dtype, to: Dtype, shape: &[usize], axes: &[usize]) -> bool {
    use Dtype::{Complex64, Float32, Float64, Int32, Int64, Uint32, Uint64};
    let last = shape.len() - axes.len().min(shape.len());
    matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min)
        && from == to
        && matches!(from, Float32 | Float64 | Int32 | Int64 | Uint32 | Uint64 | Complex64)
        && axes.iter().copied().eq(last..shape.len())
        && shape[last..].iter().product::<usize>() >= SHORTEST_RUN
}

/// Reduces runs of `elements` values each as they are computed; see [`takes_chain`].
pub(crate) fn reduce_chain(op: ReduceOp, chain: &dyn Chain, elements: usize, out: &mut Out) -> Result<()> {
    let runs = Computed { chain, outputs: out.elements(), elements };
    with_acc!(out.dtype, A => match op {
        ReduceOp::Sum => rows::rows::<A, Sum>(&runs, out),
        ReduceOp::Prod => rows::rows::<A, Prod>(&runs, out),
        ReduceOp::Max => rows::rows::<A, Max>(&runs, out),
        ReduceOp::Min => rows::rows::<A, Min>(&runs, out),
        _ => Err(Error::internal("reduce", format!("{op:?} of a chain"))),
    })
}

#[cfg(test)]
mod tests;
