//! The gradients of attention: the weights are computed anew, block by block, from the logarithms of their sums.

use super::super::real::{Real, View, all, put, sum_of, tile_product, widest, with_real};
use super::super::simd::dispatch;
use super::super::tensor::{In, Out};
use super::super::{layout::Shared, parallel};
use super::tile::{Heads, Masks, Weights, element};
use super::{Arrays, KEYS, NAME, ROWS};
use crate::error::Result;
use crate::memory::Scratch;
use crate::op::{AttentionSpec, Dims};

/// Gradients of q, k and v, then of an additive mask (whole, `[B, N, T, S]`) if asked for and of the sinks where they are
/// there, one after the other. Inputs: those of attention, its result, and the cotangent.
pub(crate) fn attention_backward(
    spec: &AttentionSpec,
    mask_gradient: bool,
    inputs: &[In],
    out: &mut Out,
) -> Result<()> {
    let forward = inputs.len() - 2;
    let arrays = &Arrays::new(spec, &inputs[..forward]);
    let shape = |x: &In| Dims::from_slice(x.shape);
    let none = || Dims::from_slice(&[0]);
    let shapes = [
        shape(arrays.q),
        shape(arrays.k),
        shape(arrays.v),
        arrays.mask.filter(|_| mask_gradient).map_or_else(none, shape),
        arrays.sinks.map_or_else(none, shape),
    ];
    let dtype = out.dtype;
    let outs = &out.parts(&shapes);
    let (made, g) = (&inputs[forward], &inputs[forward + 1]);
    with_real!(NAME, dtype, A => backward::<A>(spec, arrays, made, g, mask_gradient, outs))
}

fn backward<A: Real>(
    spec: &AttentionSpec,
    arrays: &Arrays,
    made: &In,
    g: &In,
    mask_gradient: bool,
    outs: &[Out],
) -> Result<()> {
    let heads = Heads::new(arrays);
    let units = heads.batch * heads.shared;
    let made = all::<A>(NAME, made)?;
    let rows = units * heads.rows();
    let (results, sums) = made.split_at(rows * heads.width);
    // What each query gives its sink; summed over batches and positions at the end.
    let sink_count = if arrays.sinks.is_some() { sums.len() } else { 0 };
    let mut sinks = Scratch::filled(NAME, sink_count, A::ZERO)?;
    let sink_rows = Shared::new(&mut sinks);
    let work = heads.rows() * heads.keys * (heads.depth + heads.width);
    parallel::ranges(units, 1, work, |range| {
        let mut room = Room::<A>::new(&heads);
        for unit in range {
            let task = Task { spec, arrays, heads: &heads, results, sums, g, mask_gradient, unit };
            task.run(&mut room, sink_rows, outs);
        }
    });
    if arrays.sinks.is_some() {
        let count = heads.shared * heads.group;
        let mut total = vec![A::ZERO; count];
        for (row, &value) in sinks.iter().enumerate() {
            total[row / heads.queries % count] += value;
        }
        // SAFETY: that output has one element for each head.
        unsafe { put(&outs[4], 0, &total) };
    }
    Ok(())
}

struct Room<A> {
    queries: Vec<A>,
    gradient: Vec<A>,
    keys: Vec<A>,
    values: Vec<A>,
    weights: Vec<A>,
    slopes: Vec<A>,
    for_queries: Vec<A>,
    for_keys: Vec<A>,
    for_values: Vec<A>,
    levels: [A; ROWS],
}

impl<A: Real> Room<A> {
    fn new(heads: &Heads) -> Room<A> {
        let room = |n: usize| vec![A::ZERO; n];
        Room {
            queries: room(ROWS * heads.depth),
            gradient: room(ROWS * heads.width),
            keys: room(KEYS * heads.depth),
            values: room(KEYS * heads.width),
            weights: room(ROWS * KEYS),
            slopes: room(ROWS * KEYS),
            for_queries: room(ROWS * heads.depth),
            for_keys: room(heads.keys * heads.depth),
            for_values: room(heads.keys * heads.width),
            levels: [A::ZERO; ROWS],
        }
    }
}

/// All queries that share one head of keys.
struct Task<'a, 'b, A> {
    spec: &'a AttentionSpec,
    arrays: &'a Arrays<'b, 'a>,
    heads: &'a Heads,
    results: &'a [A],
    sums: &'a [A],
    g: &'a In<'b>,
    mask_gradient: bool,
    unit: usize,
}

impl<A: Real> Task<'_, '_, A> {
    fn run(&self, room: &mut Room<A>, sinks: Shared<A>, outs: &[Out]) {
        let (heads, unit) = (self.heads, self.unit);
        room.for_keys.fill(A::ZERO);
        room.for_values.fill(A::ZERO);
        for first in (0..heads.rows()).step_by(ROWS) {
            let rows = ROWS.min(heads.rows() - first);
            self.rows(room, first, rows, sinks, outs);
        }
        // SAFETY: the gradients of this head's keys and values belong to this unit alone.
        unsafe {
            put(&outs[1], unit * heads.keys * heads.depth, &room.for_keys);
            put(&outs[2], unit * heads.keys * heads.width, &room.for_values);
        }
    }

    fn rows(&self, room: &mut Room<A>, first: usize, rows: usize, sinks: Shared<A>, outs: &[Out]) {
        let (heads, unit) = (self.heads, self.unit);
        let masks = Masks { spec: self.spec, heads, mask: self.arrays.mask, unit, first, rows };
        heads.read_rows(self.arrays.q, unit, first, rows, A::from_f64(self.spec.scale.0), &mut room.queries);
        heads.read_rows(self.g, unit, first, rows, A::ONE, &mut room.gradient);
        for row in 0..rows {
            let (g, width) = (&room.gradient[row * heads.width..][..heads.width], heads.width);
            let result = &self.results[heads.out_row(unit, first + row) * width..][..width];
            room.levels[row] = sum_of(g, result, |g, o| g * o);
            if let Some(all) = self.arrays.sinks {
                let out_row = heads.out_row(unit, first + row);
                let sink = element::<A>(all, heads.head(unit, first + row));
                let weight = (sink - self.sums[out_row]).exp_negative();
                // SAFETY: one place for each row, which belongs to this unit.
                unsafe { *sinks.at(out_row as isize) = A::ZERO - weight * room.levels[row] };
            }
        }
        room.for_queries.fill(A::ZERO);
        let limit = masks.key_limit();
        for start in (0..limit).step_by(KEYS) {
            self.tile(room, &masks, start, KEYS.min(limit - start), outs);
        }
        let scale = A::from_f64(self.spec.scale.0);
        for row in 0..rows {
            let to = heads.out_row(unit, first + row);
            let values = &mut room.for_queries[row * heads.depth..][..heads.depth];
            values.iter_mut().for_each(|x| *x = *x * scale);
            // SAFETY: this row of the gradient belongs to this unit alone.
            unsafe { put(&outs[0], to * heads.depth, values) };
            if self.mask_gradient && limit < heads.keys {
                let rest = vec![A::ZERO; heads.keys - limit];
                // SAFETY: as above.
                unsafe { put(&outs[3], to * heads.keys + limit, &rest) };
            }
        }
    }

    /// The meeting of a block of queries with `keys` keys from `start` on.
    fn tile(&self, room: &mut Room<A>, masks: &Masks, start: usize, keys: usize, outs: &[Out]) {
        let (heads, unit, rows) = (self.heads, self.unit, masks.rows);
        let (depth, width) = (heads.depth, heads.width);
        let k = heads.key_tile(self.arrays.k, unit, start, keys, &mut room.keys);
        let v = heads.key_tile(self.arrays.v, unit, start, keys, &mut room.values);
        let [q, g] =
            [(&room.queries, depth), (&room.gradient, width)].map(|(x, n)| View::rows(x.as_ptr(), n));
        let weights = View::rows_mut(&mut room.weights, keys);
        let slopes = View::rows_mut(&mut room.slopes, keys);
        // SAFETY: tiles of `rows` queries and `keys` keys; the room has a place for each score.
        unsafe {
            tile_product((rows, keys, depth), q, k.transposed(), weights, A::ONE, A::ZERO);
            tile_product((rows, keys, width), g, v.transposed(), slopes, A::ONE, A::ZERO);
        }
        masks.apply(start, keys, &mut room.weights);
        for row in 0..rows {
            let p = &mut room.weights[row * keys..][..keys];
            let s = &mut room.slopes[row * keys..][..keys];
            let (sum, level) = (self.sums[heads.out_row(unit, masks.first + row)], room.levels[row]);
            if masks.is_blind(sum) {
                // The weights are equal whatever the scores.
                p.fill(A::ONE / A::from_f64(heads.keys as f64));
                s.fill(A::ZERO);
            } else {
                dispatch(Weights { scores: p, shift: sum });
                let p = &*p;
                widest(|| s.iter_mut().zip(p).for_each(|(s, &p)| *s = p * (*s - level)));
            }
            if self.mask_gradient {
                let at = heads.out_row(unit, masks.first + row) * heads.keys + start;
                // SAFETY: this row of the mask's gradient belongs to this unit alone.
                unsafe { put(&outs[3], at, s) };
            }
        }
        let [weights, slopes] = [&room.weights, &room.slopes].map(|x| View::rows(x.as_ptr(), keys));
        let for_keys = View::rows_mut(&mut room.for_keys[start * depth..], depth);
        let for_values = View::rows_mut(&mut room.for_values[start * width..], width);
        let for_queries = View::rows_mut(&mut room.for_queries, depth);
        // SAFETY: as above; the sums of this unit belong to this thread.
        unsafe {
            tile_product((keys, width, rows), weights.transposed(), g, for_values, A::ONE, A::ONE);
            tile_product((rows, depth, keys), slopes, k, for_queries, A::ONE, A::ONE);
            // The queries were read times the scale already.
            tile_product((keys, depth, rows), slopes.transposed(), q, for_keys, A::ONE, A::ONE);
        }
    }
}
