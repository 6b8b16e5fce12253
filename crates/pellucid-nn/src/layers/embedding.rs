//! Vectors for the numbers of tokens.

use pellucid::{Array, Dtype, ops, random};

use crate::{Layer, Module, Param};

/// The row of `weight` for each index. Rows begin normal with a deviation of one over the root of their length.
#[derive(Clone, Debug, Module)]
pub struct Embedding {
    /// `[tokens, dims]`
    pub weight: Param,
}

impl Embedding {
    /// Rows of `dims` numbers for this many tokens.
    #[track_caller]
    pub fn new(tokens: usize, dims: usize) -> Embedding {
        let weight = random::normal([tokens, dims], Dtype::Float32, 0.0, (1.0 / dims as f64).sqrt(), None);
        Embedding { weight: weight.into() }
    }

    /// `x @ weightᵀ`: the scores of all tokens, where input and output share their weights.
    #[track_caller]
    pub fn as_linear(&self, x: &Array) -> Array {
        x.matmul(&self.weight.t())
    }
}

impl Layer for Embedding {
    /// The rows for indices of any shape.
    #[track_caller]
    fn forward(&self, indices: &Array) -> Array {
        ops::take(&self.weight, indices, 0)
    }
}
