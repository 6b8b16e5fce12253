//! What a reduction does with two elements, and the loop that does it to a block.

use std::marker::PhantomData;

use super::super::accumulator::Acc;
use super::super::simd::{Kernel, dispatch};
use crate::array::Dtype;

/// An associative operation and the value that does not change it.
pub(crate) trait Combine<A: Acc>: Copy + Send + Sync + 'static {
    /// For elements of `dtype`, which computes in `A`.
    fn identity(dtype: Dtype) -> A;
    /// The accumulated value first.
    fn combine(accumulated: A, value: A) -> A;
}

macro_rules! combine {
    ($($(#[$doc:meta])* $name:ident: |$dtype:ident| $identity:expr, |$a:ident, $b:ident| $value:expr;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl<A: Acc> Combine<A> for $name {
            #[inline(always)]
            fn identity($dtype: Dtype) -> A {
                $identity
            }
            #[inline(always)]
            fn combine($a: A, $b: A) -> A {
                $value
            }
        })*
    };
}

combine! {
    /// Sum; integers wrap.
    Sum: |_dtype| A::ZERO, |a, b| a.add(b);
    /// Product; integers wrap.
    Prod: |_dtype| A::ONE, |a, b| a.mul(b);
    /// The larger; NaN wins.
    Max: |dtype| A::lowest(dtype), |a, b| a.max(b);
    /// The smaller; NaN wins.
    Min: |dtype| A::highest(dtype), |a, b| a.min(b);
    /// One if neither is zero.
    All: |_dtype| A::ONE, |a, b| if (a != A::ZERO) & (b != A::ZERO) { A::ONE } else { A::ZERO };
    /// One if either is not zero.
    Any: |_dtype| A::ZERO, |a, b| if (a != A::ZERO) | (b != A::ZERO) { A::ONE } else { A::ZERO };
}

/// Accumulators of a run. Four runs at once have four times as many, as many as there are registers for.
const LANES: usize = 16;

/// Values that one accumulator takes in.
const RUN: usize = 64;

/// Runs of one length, side by side.
struct Fold<'a, A, O, const N: usize> {
    runs: [&'a [A]; N],
    identity: A,
    op: PhantomData<O>,
}

impl<A: Acc, O: Combine<A>, const N: usize> Kernel for Fold<'_, A, O, N> {
    type Output = [A; N];

    #[inline(always)]
    fn run(self) -> [A; N] {
        let chunks = self.runs.map(|run| run.as_chunks::<LANES>().0);
        let count = chunks[0].len();
        let chunks = chunks.map(|chunks| &chunks[..count]);
        // Two levels: a float accumulator takes in no more than so many values before it is added to another one.
        let mut totals = [[self.identity; LANES]; N];
        for first in (0..count).step_by(RUN) {
            let mut lanes = [[self.identity; LANES]; N];
            for i in first..(first + RUN).min(count) {
                for (lanes, chunks) in lanes.iter_mut().zip(&chunks) {
                    for (lane, &value) in lanes.iter_mut().zip(&chunks[i]) {
                        *lane = O::combine(*lane, value);
                    }
                }
            }
            for (totals, lanes) in totals.iter_mut().zip(&lanes) {
                for (total, &lane) in totals.iter_mut().zip(lanes) {
                    *total = O::combine(*total, lane);
                }
            }
        }
        std::array::from_fn(|n| {
            let rest = self.runs[n].as_chunks::<LANES>().1;
            rest.iter().fold(halve::<A, O>(totals[n]), |total, &value| O::combine(total, value))
        })
    }
}

/// Combines the accumulators, halves with halves. Not inlined, and by value: the compiler would lay out the accumulators
/// for this, or in memory, instead of for the loop before it, which then takes four times as long.
#[inline(never)]
fn halve<A: Acc, O: Combine<A>>(mut lanes: [A; LANES]) -> A {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = O::combine(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}

/// All values combined, starting from the identity.
#[inline]
pub(crate) fn fold<A: Acc, O: Combine<A>>(values: &[A], identity: A) -> A {
    if values.len() < LANES {
        return values.iter().fold(identity, |total, &value| O::combine(total, value));
    }
    let [total] = dispatch(Fold { runs: [values], identity, op: PhantomData::<O> });
    total
}

/// As [`fold`], for four runs of one length at once: while one waits for memory, the others go on.
#[inline]
pub(super) fn fold_four<A: Acc, O: Combine<A>>(runs: [&[A]; 4], identity: A) -> [A; 4] {
    if runs[0].len() < LANES || runs.iter().any(|run| run.len() != runs[0].len()) {
        return runs.map(|run| fold::<A, O>(run, identity));
    }
    dispatch(Fold { runs, identity, op: PhantomData::<O> })
}

/// Results of consecutive blocks combined in pairs, pairs of pairs, and so on: rounding errors grow with the logarithm.
pub(super) fn pairwise<A: Acc, O: Combine<A>>(blocks: &[A]) -> A {
    match blocks {
        [one] => *one,
        _ => {
            let (left, right) = blocks.split_at(blocks.len().div_ceil(2));
            O::combine(pairwise::<A, O>(left), pairwise::<A, O>(right))
        }
    }
}

struct Accumulate<'a, A, O> {
    totals: &'a mut [A],
    rows: [&'a [A]; 4],
    op: PhantomData<O>,
}

impl<A: Acc, O: Combine<A>> Kernel for Accumulate<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.totals.len();
        let [a, b, c, d] = self.rows.map(|row| &row[..n]);
        for i in 0..n {
            let four = O::combine(O::combine(a[i], b[i]), O::combine(c[i], d[i]));
            self.totals[i] = O::combine(self.totals[i], four);
        }
    }
}

/// Adds four rows to a row of totals, at one load and store of the totals.
pub(super) fn accumulate_four<A: Acc, O: Combine<A>>(totals: &mut [A], rows: [&[A]; 4]) {
    dispatch(Accumulate { totals, rows, op: PhantomData::<O> });
}

struct AccumulateOne<'a, A, O> {
    totals: &'a mut [A],
    row: &'a [A],
    op: PhantomData<O>,
}

impl<A: Acc, O: Combine<A>> Kernel for AccumulateOne<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (total, &value) in self.totals.iter_mut().zip(self.row) {
            *total = O::combine(*total, value);
        }
    }
}

/// Adds one row to a row of totals.
pub(crate) fn accumulate<A: Acc, O: Combine<A>>(totals: &mut [A], row: &[A]) {
    dispatch(AccumulateOne { totals, row, op: PhantomData::<O> });
}
