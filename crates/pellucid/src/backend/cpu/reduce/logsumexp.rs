//! log Σ eˣ without overflow: each block gives its maximum and the sum of exponentials relative to it, and blocks are
//! brought to a common maximum when they meet. One pass over memory.

use num_complex::Complex32;

use super::super::exp::Exp;
use super::super::layout::{BLOCK, Layout, Shared, count, gather, offset};
use super::super::parallel;
use super::super::simd::{Kernel, dispatch};
use super::super::tensor::{In, Out};
use super::fold::{Max, accumulate, fold};
use crate::array::Dtype;
use crate::error::Result;
use crate::memory::Scratch;

/// Reduces each output's elements block by block, or neighbouring outputs side by side.
pub(super) fn logsumexp(x: &In, layout: Layout, out: &mut Out) -> Result<()> {
    match x.dtype {
        Dtype::Float64 => run::<f64>(x, layout, out),
        Dtype::Complex64 => run::<Complex32>(x, layout, out),
        _ => run::<f32>(x, layout, out),
    }
}

fn run<A: Exp>(x: &In, layout: Layout, out: &mut Out) -> Result<()> {
    if layout.prefers_rows() {
        return rows::<A>(x, &layout, out);
    }
    columns::<A>(x, layout, out);
    Ok(())
}

fn rows<A: Exp>(x: &In, layout: &Layout, out: &mut Out) -> Result<()> {
    /// Sums of blocks that are kept at a time.
    const MOST_SUMS: usize = 1 << 15;
    let (outputs, elements) = (count(&layout.kept), count(&layout.reduced));
    let blocks = elements.div_ceil(BLOCK).max(1);
    let empty = ExpSum { max: A::lowest(x.dtype), sum: A::ZERO };
    let mut sums = Scratch::filled("logsumexp", MOST_SUMS.min(outputs.saturating_mul(blocks)), empty)?;
    let mut total = empty;
    for first in (0..outputs * blocks).step_by(sums.len().max(1)) {
        let count = sums.len().min(outputs * blocks - first);
        let sums = &mut sums[..count];
        block_sums(x, layout, first, blocks, sums);
        for (sum, i) in sums.iter().zip(first..) {
            total = if i % blocks == 0 { *sum } else { total.join(*sum) };
            if (i + 1) % blocks == 0 {
                let (_, to) = offset(&layout.kept, i / blocks);
                // SAFETY: `to` is a position of the output.
                unsafe {
                    A::write(out.dtype, out.ptr().offset(to * out.dtype.size() as isize), 1, &[total.log()]);
                }
            }
        }
    }
    Ok(())
}

/// The sums of blocks from `first` on, counted over all outputs, each of which has `blocks`.
fn block_sums<A: Exp>(x: &In, layout: &Layout, first: usize, blocks: usize, sums: &mut [ExpSum<A>]) {
    let elements = count(&layout.reduced);
    let shared = Shared::new(sums);
    parallel::ranges(sums.len(), 1, elements.min(BLOCK) * 4 * x.dtype.size(), |range| {
        let mut buf = [A::ZERO; BLOCK];
        // SAFETY: ranges do not overlap.
        let sums = unsafe { shared.slice(range.start, range.len()) };
        for (sum, i) in sums.iter_mut().zip(first + range.start..) {
            let start = i % blocks * BLOCK;
            let (from, _) = offset(&layout.kept, i / blocks);
            // SAFETY: `from` is a position of the input.
            let values = unsafe {
                let first = x.ptr().offset((layout.base + from) * x.dtype.size() as isize);
                gather(x.dtype, first, &layout.reduced, start, BLOCK.min(elements - start), &mut buf)
            };
            *sum = ExpSum::of(values);
        }
    });
}

/// A few rows at a time, in the cache: first their maxima, then their exponentials.
fn columns<A: Exp>(x: &In, mut layout: Layout, out: &Out) {
    const WIDTH: usize = 512;
    const ROWS: usize = 8;
    let vector = layout.take_vector_axis();
    let (outer, rows) = (count(&layout.kept), count(&layout.reduced));
    let blocks = vector.size.div_ceil(WIDTH);
    let (size, out_size) = (x.dtype.size() as isize, out.dtype.size() as isize);
    let layout = &layout;
    parallel::ranges(outer * blocks, 1, rows * vector.size.min(WIDTH) * 4 * size as usize, |range| {
        let mut tile = [[A::ZERO; WIDTH]; ROWS];
        let (mut max, mut next, mut sum) = ([A::ZERO; WIDTH], [A::ZERO; WIDTH], [A::ZERO; WIDTH]);
        for i in range {
            let (from, to) = offset(&layout.kept, i / blocks);
            let start = i % blocks * WIDTH;
            let width = WIDTH.min(vector.size - start);
            let (max, next, sum) = (&mut max[..width], &mut next[..width], &mut sum[..width]);
            max.fill(A::lowest(A::DTYPE));
            sum.fill(A::ZERO);
            for first in (0..rows).step_by(ROWS) {
                let tile = &mut tile[..ROWS.min(rows - first)];
                next.copy_from_slice(max);
                for (row, values) in tile.iter_mut().enumerate() {
                    let place = layout.base
                        + from
                        + offset(&layout.reduced, first + row).0
                        + start as isize * vector.x;
                    // SAFETY: positions of the input.
                    unsafe { A::read(x.dtype, x.ptr().offset(place * size), vector.x, &mut values[..width]) };
                    accumulate::<A, Max>(next, &values[..width]);
                }
                dispatch(AddRows { tile, max, next, sum });
            }
            for (max, &sum) in max.iter_mut().zip(&*sum) {
                *max = ExpSum { max: *max, sum }.log();
            }
            // SAFETY: positions of the output, in columns that belong to this range alone.
            unsafe {
                A::write(
                    out.dtype,
                    out.ptr().offset((to + start as isize * vector.out) * out_size),
                    vector.out,
                    max,
                )
            };
        }
    });
}

/// Brings sums from one maximum to the next and adds the exponentials of some rows.
struct AddRows<'a, A, const WIDTH: usize> {
    tile: &'a [[A; WIDTH]],
    max: &'a mut [A],
    next: &'a [A],
    sum: &'a mut [A],
}

impl<A: Exp, const WIDTH: usize> Kernel for AddRows<'_, A, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddRows { tile, max, next, sum } = self;
        for ((max, &next), sum) in max.iter_mut().zip(next).zip(&mut *sum) {
            // With an infinite maximum the result is that maximum, and the sum only has to stay harmless.
            let shift = if next.is_infinite() { A::ZERO } else { next };
            *sum = sum.mul(max.sub(shift).exp_negative());
            *max = next;
        }
        for row in tile {
            for ((&value, &max), sum) in row.iter().zip(&*max).zip(&mut *sum) {
                let shift = if max.is_infinite() { A::ZERO } else { max };
                *sum = sum.add(value.sub(shift).exp_negative());
            }
        }
    }
}

/// Σ eˣ as eᵐᵃˣ · sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpSum<A> {
    pub max: A,
    pub sum: A,
}

impl<A: Exp> ExpSum<A> {
    /// Of a block.
    pub fn of(values: &[A]) -> ExpSum<A> {
        let max = fold::<A, Max>(values, A::lowest(A::DTYPE));
        // ∞ − ∞ is no number, but e^∞ = ∞ and e^−∞ = 0 decide the sum without it.
        let sum = if max.is_infinite() && !max.is_nan() {
            if max == A::lowest(A::DTYPE) || max.less(A::ZERO) { A::ZERO } else { A::ONE }
        } else {
            dispatch(SumExp { values, max })
        };
        ExpSum { max, sum }
    }

    /// Of two blocks together.
    pub fn join(self, other: ExpSum<A>) -> ExpSum<A> {
        let max = self.max.max(other.max);
        if max.is_infinite() && !max.is_nan() {
            return if other.max == max { other } else { self };
        }
        let scaled = |s: ExpSum<A>| s.sum.mul(s.max.sub(max).exp_negative());
        ExpSum { max, sum: scaled(self).add(scaled(other)) }
    }

    pub fn log(self) -> A {
        if self.max.is_infinite() { self.max } else { self.max.add(self.sum.ln()) }
    }
}

struct SumExp<'a, A> {
    values: &'a [A],
    max: A,
}

impl<A: Exp> Kernel for SumExp<'_, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut lanes = [A::ZERO; 16];
        let (chunks, rest) = self.values.as_chunks::<16>();
        for chunk in chunks {
            for (lane, &value) in lanes.iter_mut().zip(chunk) {
                *lane = lane.add(value.sub(self.max).exp_negative());
            }
        }
        for (lane, &value) in lanes.iter_mut().zip(rest) {
            *lane = lane.add(value.sub(self.max).exp_negative());
        }
        let mut width = 16;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                lanes[i] = lanes[i].add(lanes[i + width]);
            }
        }
        lanes[0]
    }
}
