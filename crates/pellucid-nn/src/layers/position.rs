//! Ways to tell a model where in a sequence an element is.

use pellucid::prelude::{Ellipsis, NewAxis};
use pellucid::{Array, Dtype, fast, ops};

use crate::{Layer, Module, error};

/// Rotates pairs of the first `dims` features by angles that grow with the position.
#[derive(Clone, Copy, Debug, Module)]
pub struct Rope {
    /// How many features turn.
    pub dims: usize,
    /// Whether neighbours are pairs, instead of features half of `dims` apart.
    pub traditional: bool,
    /// The base of the periods.
    pub base: f64,
    /// What positions are multiplied by.
    pub scale: f64,
}

impl Rope {
    /// Base 10,000, scale 1, pairs half of `dims` apart.
    pub fn new(dims: usize) -> Rope {
        Rope { dims, traditional: false, base: 10_000.0, scale: 1.0 }
    }

    /// `[B, …, T, D]` whose first position is `offset`.
    #[track_caller]
    pub fn at(&self, x: &Array, offset: usize) -> Array {
        let (Ok(dims), Ok(offset)) = (i64::try_from(self.dims), i32::try_from(offset)) else {
            let message = format!("{} features and an offset of {offset} do not fit", self.dims);
            return error::argument("Rope", message);
        };
        let rope = fast::Rope::new(dims)
            .traditional(self.traditional)
            .base(self.base)
            .scale(self.scale)
            .offset(offset);
        fast::rope(x, &rope)
    }
}

impl Layer for Rope {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.at(x, 0)
    }
}

/// Sines and cosines of the position with `dims / 2` frequencies from 1 down to 0.0001, or others.
#[derive(Clone, Debug, Module)]
pub struct SinusoidalPositionalEncoding {
    #[module(skip)]
    frequencies: Array,
    scale: f64,
    cos_first: bool,
}

impl SinusoidalPositionalEncoding {
    /// Frequencies from 1 to 0.0001, sines first, scaled by `√(2 / dims)`.
    #[track_caller]
    pub fn new(dims: usize) -> SinusoidalPositionalEncoding {
        SinusoidalPositionalEncoding::with_frequencies(dims, 0.0001, 1.0)
    }

    /// Frequencies from `max` down to `min`.
    #[track_caller]
    pub fn with_frequencies(dims: usize, min: f64, max: f64) -> SinusoidalPositionalEncoding {
        let half = dims / 2;
        let share = 1 - ops::arange(0, half as i64, 1, Dtype::Float32) / (half as f64 - 1.0);
        let (low, high) = (min.ln(), max.ln());
        let frequencies = ops::exp(&(share * (high - low) + low));
        SinusoidalPositionalEncoding { frequencies, scale: (2.0 / dims as f64).sqrt(), cos_first: false }
    }

    /// Another scale.
    #[must_use]
    pub fn scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// Cosines before sines.
    #[must_use]
    pub fn cos_first(self) -> Self {
        Self { cos_first: true, ..self }
    }

    /// Frequencies in whole turns instead of radians.
    #[must_use]
    #[track_caller]
    pub fn full_turns(self) -> Self {
        Self { frequencies: self.frequencies * std::f64::consts::TAU, ..self }
    }
}

impl Layer for SinusoidalPositionalEncoding {
    /// The encodings of positions of any shape, along a new last axis.
    #[track_caller]
    fn forward(&self, positions: &Array) -> Array {
        let angles = positions.i((Ellipsis, NewAxis)) * &self.frequencies;
        let (sin, cos) = (ops::sin(&angles), ops::cos(&angles));
        let parts = if self.cos_first { [cos, sin] } else { [sin, cos] };
        let y = ops::concatenate(parts, -1);
        if self.scale == 1.0 { y } else { y * self.scale }
    }
}

/// Subtracts from attention scores `[N, heads, queries, keys]` the distance times a slope for each head.
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Alibi;

impl Alibi {
    /// The slopes `[heads, 1, 1]`: powers of the `heads`-th root of 1/256.
    #[track_caller]
    pub fn slopes(heads: usize) -> Array {
        let root = 256f64.powf(1.0 / heads as f64);
        let powers = ops::arange(1, heads as i64 + 1, 1, Dtype::Float32);
        ops::power(root, -powers).reshape((heads, 1, 1))
    }

    /// What is added to scores of `queries`, the first at position `offset`, and `keys`.
    #[track_caller]
    pub fn matrix(queries: usize, keys: usize, heads: usize, offset: usize, dtype: Dtype) -> Array {
        let rows = ops::arange(offset as i64, (offset + queries) as i64, 1, Dtype::Int32).reshape((-1, 1));
        let columns = ops::arange(0, keys as i64, 1, Dtype::Int32).reshape((1, -1));
        let distance = -ops::abs(&(rows - columns)).reshape((1, 1, queries, keys));
        (distance * Alibi::slopes(heads)).astype(dtype)
    }

    /// Scores `[N, heads, queries, keys]`, the first query at position `offset`, with a mask added if there is one.
    #[track_caller]
    pub fn forward(&self, scores: &Array, offset: usize, mask: Option<&Array>) -> Array {
        let sizes = error::sizes("Alibi", "the scores", scores);
        let [_, heads, queries, keys] = match sizes {
            Ok(sizes) => sizes,
            Err(failed) => return failed,
        };
        let added = Alibi::matrix(queries, keys, heads, offset, scores.dtype());
        match mask {
            None => scores + added,
            Some(mask) => scores + (added + mask),
        }
    }
}
