//! The geometry of attention: which rows and keys belong together, how tiles are read, masked and absorbed.

use super::super::accumulator::Acc;
use super::super::real::{Real, View, widest};
use super::super::reduce::{Max, fold};
use super::super::simd::{Kernel, dispatch};
use super::super::tensor::In;
use super::Arrays;
use crate::array::Dtype;
use crate::op::AttentionSpec;

/// Sizes: heads of queries come in groups of `group` that share one head of keys.
pub(super) struct Heads {
    pub batch: usize,
    /// Heads of keys and values.
    pub shared: usize,
    pub group: usize,
    pub queries: usize,
    pub keys: usize,
    /// Features of queries and keys, and of values.
    pub depth: usize,
    pub width: usize,
}

impl Heads {
    pub fn new(arrays: &Arrays) -> Heads {
        let (q, k, v) = (arrays.q.shape, arrays.k.shape, arrays.v.shape);
        Heads {
            batch: q[0],
            shared: k[1],
            group: q[1] / k[1].max(1),
            queries: q[2],
            keys: k[2],
            depth: q[3],
            width: v[3],
        }
    }

    /// Rows of queries that share one head of keys.
    pub fn rows(&self) -> usize {
        self.group * self.queries
    }

    /// The head of queries, of all heads of a batch, that a row belongs to.
    pub fn head(&self, unit: usize, row: usize) -> usize {
        unit % self.shared * self.group + row / self.queries
    }

    /// The row of the output, counted over batches and heads.
    pub fn out_row(&self, unit: usize, row: usize) -> usize {
        let batch = unit / self.shared;
        (batch * self.shared * self.group + self.head(unit, row)) * self.queries + row % self.queries
    }

    /// Where a row lies in an array of the queries' leading axes.
    fn row_offset(&self, x: &In, unit: usize, row: usize) -> isize {
        (unit / self.shared) as isize * x.strides[0]
            + self.head(unit, row) as isize * x.strides[1]
            + (row % self.queries) as isize * x.strides[2]
    }

    /// Reads rows of an array of the queries' leading axes, times a factor.
    pub fn read_rows<A: Real>(
        &self,
        x: &In,
        unit: usize,
        first: usize,
        rows: usize,
        factor: A,
        to: &mut [A],
    ) {
        let width = x.shape[3];
        for (row, to) in to.chunks_mut(width.max(1)).take(rows).enumerate() {
            let at = self.row_offset(x, unit, first + row) * x.dtype.size() as isize;
            // SAFETY: a row of the array.
            unsafe { A::read(x.dtype, x.ptr().offset(at), x.strides[3], &mut to[..width]) };
            if factor != A::ONE {
                to.iter_mut().for_each(|x| *x = *x * factor);
            }
        }
    }

    /// A tile of keys or values: where it lies if it can be multiplied there, else converted into `to`.
    pub fn key_tile<A: Real>(
        &self,
        x: &In,
        unit: usize,
        first: usize,
        count: usize,
        to: &mut [A],
    ) -> View<A> {
        let (batch, head) = (unit / self.shared, unit % self.shared);
        let at = batch as isize * x.strides[0] + head as isize * x.strides[1] + first as isize * x.strides[2];
        let size = x.dtype.size() as isize;
        if x.dtype == A::DTYPE {
            let ptr = x.ptr().wrapping_offset(at * size).cast_mut().cast();
            return View { ptr, row: x.strides[2], col: x.strides[3] };
        }
        let width = x.shape[3];
        for (row, to) in to.chunks_mut(width.max(1)).take(count).enumerate() {
            let at = at + row as isize * x.strides[2];
            // SAFETY: a row of the array.
            unsafe { A::read(x.dtype, x.ptr().offset(at * size), x.strides[3], &mut to[..width]) };
        }
        View::rows(to.as_ptr(), width)
    }
}

/// One element of an array with one axis.
pub(super) fn element<A: Real>(x: &In, i: usize) -> A {
    let mut value = [A::ZERO];
    let at = i as isize * x.strides[0] * x.dtype.size() as isize;
    // SAFETY: an element of the array.
    unsafe { A::read(x.dtype, x.ptr().offset(at), 1, &mut value) };
    value[0]
}

/// What keeps queries of a block from keys.
pub(super) struct Masks<'a, 'b> {
    pub spec: &'a AttentionSpec,
    pub heads: &'a Heads,
    pub mask: Option<&'a In<'b>>,
    pub unit: usize,
    pub first: usize,
    pub rows: usize,
}

impl Masks<'_, '_> {
    /// How many keys a row may see under the causal mask; zero or less if none.
    fn visible(&self, row: usize) -> isize {
        let position = ((self.first + row) % self.heads.queries) as isize;
        position + self.heads.keys as isize - self.heads.queries as isize + 1
    }

    /// The keys that any row of the block may see. A row that sees none attends to all keys alike, as a softmax of
    /// equal scores does, and so needs all.
    pub fn key_limit(&self) -> usize {
        if !self.spec.causal {
            return self.heads.keys;
        }
        let visible = || (0..self.rows).map(|row| self.visible(row));
        match visible().min().unwrap_or(1) {
            ..=0 => self.heads.keys,
            _ => visible().max().unwrap_or(0).clamp(0, self.heads.keys as isize) as usize,
        }
    }

    /// True if a row sees no key at all under a mask of truth values.
    pub fn is_blind<A: Real>(&self, logsumexp: A) -> bool {
        logsumexp < A::LARGEST * A::from_f64(-0.5) && logsumexp.to_f64().is_finite()
    }

    /// Masks the scores of `keys` keys from `start` on.
    pub fn apply<A: Real>(&self, start: usize, keys: usize, scores: &mut [A]) {
        let lowest = -A::LARGEST;
        let mut buf = Vec::new();
        for (row, scores) in scores[..self.rows * keys].chunks_mut(keys).enumerate() {
            if self.spec.causal {
                let visible = (self.visible(row) - start as isize).clamp(0, keys as isize) as usize;
                scores[visible..].fill(lowest);
            }
            let Some(mask) = self.mask else { continue };
            let at =
                self.heads.row_offset(mask, self.unit, self.first + row) + start as isize * mask.strides[3];
            let from = mask.ptr().wrapping_offset(at * mask.dtype.size() as isize);
            if mask.dtype == Dtype::Bool {
                for (i, score) in scores.iter_mut().enumerate() {
                    // SAFETY: an element of the mask.
                    if unsafe { *from.offset(i as isize * mask.strides[3]) } == 0 {
                        *score = lowest;
                    }
                }
            } else {
                buf.resize(keys, A::ZERO);
                // SAFETY: a row of the mask.
                unsafe { A::read(mask.dtype, from, mask.strides[3], &mut buf) };
                let buf = &buf[..];
                widest(|| scores.iter_mut().zip(buf).for_each(|(s, &m)| *s += m));
            }
        }
    }
}

/// One row of scores that is turned into weights, and what the row has summed so far.
pub(super) struct Scores<'a, A> {
    pub scores: &'a mut [A],
    pub sums: &'a mut [A],
    pub largest: &'a mut A,
    pub total: &'a mut A,
}

impl<A: Real> Scores<'_, A> {
    /// Raises the running maximum, scales what was summed before, and turns the scores into weights.
    pub fn absorb(self) {
        let before = *self.largest;
        let largest = Acc::max(before, fold::<A, Max>(self.scores, A::lowest(A::DTYPE)));
        // With every score at −∞ the weights are zero, not the NaN of ∞ − ∞.
        let shift = if largest.to_f64() == f64::NEG_INFINITY { A::ZERO } else { largest };
        if before != largest && *self.total != A::ZERO {
            let factor = (before - shift).exp_negative();
            *self.total = *self.total * factor;
            let sums = self.sums;
            widest(|| sums.iter_mut().for_each(|s| *s = *s * factor));
        }
        *self.total += dispatch(Weights { scores: self.scores, shift });
        *self.largest = largest;
    }
}

/// Scores to exponentials relative to `shift`; their sum.
pub(super) struct Weights<'a, A> {
    pub scores: &'a mut [A],
    pub shift: A,
}

impl<A: Real> Kernel for Weights<'_, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let mut lanes = [A::ZERO; 16];
        let (chunks, rest) = self.scores.as_chunks_mut::<16>();
        for chunk in chunks {
            for i in 0..16 {
                chunk[i] = (chunk[i] - self.shift).exp_negative();
                lanes[i] += chunk[i];
            }
        }
        for (i, score) in rest.iter_mut().enumerate() {
            *score = (*score - self.shift).exp_negative();
            lanes[i] += *score;
        }
        let mut width = 16;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                let other = lanes[i + width];
                lanes[i] += other;
            }
        }
        lanes[0]
    }
}
