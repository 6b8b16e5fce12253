//! Reductions in which each output comes from a run of elements of its own.

use super::super::accumulator::Acc;
use super::super::layout::{BLOCK, Layout, Shared, count, gather, is_run, offset};
use super::super::parallel;
use super::super::tensor::{In, Out};
use super::fold::{Combine, fold, pairwise};
use crate::error::Result;

/// Elements of a block that is reduced where it lies.
const LONG_BLOCK: usize = 4 * BLOCK;

/// Reduces each output's elements block by block.
pub(super) fn rows<A: Acc, O: Combine<A>>(x: &In, layout: &Layout, out: &mut Out) -> Result<()> {
    let (outputs, elements) = (count(&layout.kept), count(&layout.reduced));
    let out_size = out.dtype.size() as isize;
    if elements == 0 {
        // An input without elements has no positions, and none may be computed from its strides.
        for i in 0..outputs {
            // SAFETY: a position of the output.
            unsafe {
                let to = out.ptr().offset(offset(&layout.kept, i).1 * out_size);
                A::write(out.dtype, to, 1, &[O::identity(out.dtype)]);
            }
        }
        return Ok(());
    }
    if elements <= BLOCK {
        let (identity, out) = (O::identity(out.dtype), &*out);
        parallel::ranges(outputs, 1, elements * x.dtype.size(), |range| {
            let mut buf = [A::ZERO; BLOCK];
            for i in range {
                let (from, to) = offset(&layout.kept, i);
                // SAFETY: `from` is a position of the input; this output belongs to this range alone.
                unsafe {
                    let first = x.ptr().offset((layout.base + from) * x.dtype.size() as isize);
                    let values = gather::<A>(x.dtype, first, &layout.reduced, 0, elements, &mut buf);
                    let total = fold::<A, O>(values, identity);
                    A::write(out.dtype, out.ptr().offset(to * out_size), 1, &[total]);
                }
            }
        });
        return Ok(());
    }
    // What is reduced where it lies needs no room for a copy, so that its blocks may be longer.
    let block = if is_run::<A>(x.dtype, &layout.reduced) { LONG_BLOCK } else { BLOCK };
    let results = block_results::<A, O>(x, layout, O::identity(out.dtype), block);
    for (i, blocks) in results.chunks(elements.div_ceil(block)).enumerate() {
        let (_, to) = offset(&layout.kept, i);
        // SAFETY: `to` is a position of the output.
        unsafe { A::write(out.dtype, out.ptr().offset(to * out_size), 1, &[pairwise::<A, O>(blocks)]) };
    }
    Ok(())
}

/// The results of every `block` reduced elements: for each kept position, one per block. At most [`BLOCK`] elements,
/// unless they are a run of the type that is computed in.
pub(crate) fn block_results<A: Acc, O: Combine<A>>(
    x: &In,
    layout: &Layout,
    identity: A,
    block: usize,
) -> Vec<A> {
    let elements = count(&layout.reduced);
    let blocks = elements.div_ceil(block);
    let mut results = vec![identity; count(&layout.kept) * blocks];
    let shared = Shared::new(&mut results);
    parallel::ranges(count(&layout.kept) * blocks, 1, block * x.dtype.size(), |range| {
        let mut buf = [A::ZERO; BLOCK];
        // SAFETY: ranges do not overlap.
        let results = unsafe { shared.slice(range.start, range.len()) };
        for (result, i) in results.iter_mut().zip(range) {
            let (output, start) = (i / blocks, i % blocks * block);
            let (from, _) = offset(&layout.kept, output);
            // SAFETY: `from` is a position of the input.
            let values = unsafe {
                let first = x.ptr().offset((layout.base + from) * x.dtype.size() as isize);
                gather(x.dtype, first, &layout.reduced, start, block.min(elements - start), &mut buf)
            };
            *result = fold::<A, O>(values, identity);
        }
    });
    results
}
