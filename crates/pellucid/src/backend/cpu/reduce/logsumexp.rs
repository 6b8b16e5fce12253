//! log Σ eˣ without overflow: each block gives its maximum and the sum of exponentials relative to it, and blocks are
//! brought to a common maximum when they meet. One pass over memory.

use num_complex::Complex32;

use super::super::exp::Exp;
use super::super::layout::{BLOCK, Layout, Shared, count, gather, offset};
use super::super::parallel;
use super::super::simd::{Kernel, dispatch};
use super::super::tensor::{In, Out};
use super::fold::{Max, fold};
use crate::array::Dtype;
use crate::error::Result;

/// Reduces each output's elements block by block. There is no variant for columns: the exponentials cost more than
/// gathering them.
pub(super) fn logsumexp(x: &In, layout: Layout, out: &mut Out) -> Result<()> {
    match x.dtype {
        Dtype::Float64 => run::<f64>(x, &layout, out),
        Dtype::Complex64 => run::<Complex32>(x, &layout, out),
        _ => run::<f32>(x, &layout, out),
    }
    Ok(())
}

fn run<A: Exp>(x: &In, layout: &Layout, out: &mut Out) {
    let (outputs, elements) = (count(&layout.kept), count(&layout.reduced));
    let blocks = elements.div_ceil(BLOCK).max(1);
    let empty = ExpSum { max: A::lowest(x.dtype), sum: A::ZERO };
    let mut sums = vec![empty; outputs * blocks];
    let shared = Shared::new(&mut sums);
    parallel::ranges(outputs * blocks, 1, elements.min(BLOCK) * 4 * x.dtype.size(), |range| {
        let mut buf = [A::ZERO; BLOCK];
        // SAFETY: ranges do not overlap.
        let sums = unsafe { shared.slice(range.start, range.len()) };
        for (sum, i) in sums.iter_mut().zip(range) {
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
    for (i, blocks) in sums.chunks(blocks).enumerate() {
        let total = blocks.iter().skip(1).fold(blocks[0], |a, &b| a.join(b));
        let (_, to) = offset(&layout.kept, i);
        // SAFETY: `to` is a position of the output.
        unsafe {
            A::write(out.dtype, out.ptr().offset(to * out.dtype.size() as isize), 1, &[total.log()]);
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
