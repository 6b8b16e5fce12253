//! Attention without its scores: a block of queries meets the keys block by block, with a running maximum and a running
//! sum for each query, so that what is kept is the result and the logarithm of the sum.
//!
//! Queries of all heads that share keys are rows of one block. The scores of a block stay in the second-level cache.

mod backward;
mod tile;

pub(crate) use backward::attention_backward;

use super::parallel;
use super::real::{Real, View, put, tile_product, with_real};
use super::tensor::{In, Out};
use crate::error::Result;
use crate::op::{AttentionSpec, Dims};
use tile::{Heads, Masks, Scores};

const NAME: &str = "scaled_dot_product_attention";

/// Rows of queries and columns of keys that meet at a time.
const ROWS: usize = 64;
const KEYS: usize = 128;

/// The arrays of attention: `q [B, N, T, D]`, `k [B, M, S, D]`, `v [B, M, S, E]`, a mask that broadcasts to
/// `[B, N, T, S]` and has all four axes, and one sink for each head.
struct Arrays<'a, 'b> {
    q: &'b In<'a>,
    k: &'b In<'a>,
    v: &'b In<'a>,
    mask: Option<&'b In<'a>>,
    sinks: Option<&'b In<'a>>,
}

impl<'a, 'b> Arrays<'a, 'b> {
    /// The arrays in the order of the operation's inputs.
    fn new(spec: &AttentionSpec, inputs: &'b [In<'a>]) -> Arrays<'a, 'b> {
        let mut more = inputs[3..].iter();
        let mask = if spec.mask { more.next() } else { None };
        let sinks = if spec.sinks { more.next() } else { None };
        Arrays { q: &inputs[0], k: &inputs[1], v: &inputs[2], mask, sinks }
    }
}

/// Attention: `out` is the result `[B, N, T, E]`, then the logarithms of the sums `[B, N, T]`.
pub(crate) fn attention(spec: &AttentionSpec, inputs: &[In], out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let arrays = &Arrays::new(spec, inputs);
    let heads = Heads::new(arrays);
    let rows = [heads.batch, heads.shared * heads.group, heads.queries];
    let shapes = [Dims::from_slice(&[rows[0], rows[1], rows[2], heads.width]), Dims::from_slice(&rows)];
    let outs = &out.parts(&shapes);
    with_real!(NAME, outs[0].dtype, A => {
        let blocks = heads.rows().div_ceil(ROWS);
        let work = ROWS * heads.keys * (heads.depth + heads.width);
        parallel::ranges(heads.batch * heads.shared * blocks, 1, work, |range| {
            let mut room = Room::<A>::new(&heads);
            for item in range {
                room.block(spec, arrays, &heads, item / blocks, item % blocks * ROWS, outs);
            }
        });
        Ok(())
    })
}

/// What one thread needs for a block of queries.
struct Room<A> {
    queries: Vec<A>,
    keys: Vec<A>,
    values: Vec<A>,
    scores: Vec<A>,
    sums: Vec<A>,
    largest: [A; ROWS],
    total: [A; ROWS],
}

impl<A: Real> Room<A> {
    fn new(heads: &Heads) -> Room<A> {
        let room = |n: usize| vec![A::ZERO; n];
        Room {
            queries: room(ROWS * heads.depth),
            keys: room(KEYS * heads.depth),
            values: room(KEYS * heads.width),
            scores: room(ROWS * KEYS),
            sums: room(ROWS * heads.width),
            largest: [A::ZERO; ROWS],
            total: [A::ZERO; ROWS],
        }
    }

    /// The queries from row `first` on of head `unit`, which counts batches and heads of keys.
    fn block(
        &mut self,
        spec: &AttentionSpec,
        arrays: &Arrays,
        heads: &Heads,
        unit: usize,
        first: usize,
        outs: &[Out],
    ) {
        let rows = ROWS.min(heads.rows() - first);
        let masks = Masks { spec, heads, mask: arrays.mask, unit, first, rows };
        heads.read_rows(arrays.q, unit, first, rows, A::from_f64(spec.scale.0), &mut self.queries);
        self.sums.fill(A::ZERO);
        let lowest = -A::ONE / A::ZERO;
        for row in 0..rows {
            let sink = arrays.sinks.map(|sinks| tile::element::<A>(sinks, heads.head(unit, first + row)));
            (self.largest[row], self.total[row]) = sink.map_or((lowest, A::ZERO), |sink| (sink, A::ONE));
        }
        let limit = masks.key_limit();
        for start in (0..limit).step_by(KEYS) {
            let keys = KEYS.min(limit - start);
            let k = heads.key_tile(arrays.k, unit, start, keys, &mut self.keys);
            let v = heads.key_tile(arrays.v, unit, start, keys, &mut self.values);
            let scores = View::rows_mut(&mut self.scores, keys);
            // SAFETY: tiles of `rows` queries and `keys` keys; the room has a place for each score.
            unsafe {
                let q = View::rows(self.queries.as_ptr(), heads.depth);
                tile_product((rows, keys, heads.depth), q, k.transposed(), scores, A::ONE, A::ZERO);
            }
            masks.apply(start, keys, &mut self.scores);
            for (row, scores) in self.scores[..rows * keys].chunks_mut(keys).enumerate() {
                let sums = &mut self.sums[row * heads.width..][..heads.width];
                Scores { scores, sums, largest: &mut self.largest[row], total: &mut self.total[row] }
                    .absorb();
            }
            // SAFETY: as above.
            unsafe {
                let weights = View::rows(self.scores.as_ptr(), keys);
                let sums = View::rows_mut(&mut self.sums, heads.width);
                tile_product((rows, heads.width, keys), weights, v, sums, A::ONE, A::ONE);
            }
        }
        for row in 0..rows {
            let (to, width) = (heads.out_row(unit, first + row), heads.width);
            let sums = &mut self.sums[row * width..][..width];
            // Without keys there is nothing to attend to.
            let factor = if heads.keys == 0 { A::ZERO } else { A::ONE / self.total[row] };
            sums.iter_mut().for_each(|s| *s = *s * factor);
            // SAFETY: this row of both outputs belongs to this block alone.
            unsafe {
                put(&outs[0], to * width, sums);
                put(&outs[1], to, &[self.largest[row] + self.total[row].ln()]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
