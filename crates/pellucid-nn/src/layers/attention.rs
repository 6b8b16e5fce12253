//! Attention with several heads.

use pellucid::fast::{Mask, scaled_dot_product_attention};
use pellucid::{Array, Dtype, ops};

use super::Linear;
use crate::{Layer, Module, error};

/// Scaled dot-product attention in several heads, with projections before and after.
///
/// ```
/// use pellucid::fast::Mask;
/// use pellucid_nn::prelude::*;
/// let attention = MultiHeadAttention::new(16, 4);
/// let x = ones::<f32>([2, 5, 16]);
/// assert_eq!(attention.forward(&x, &x, &x, &Mask::Causal).shape(), [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct MultiHeadAttention {
    /// From the queries' input to all heads.
    pub query_proj: Linear,
    /// From the keys' input to all heads.
    pub key_proj: Linear,
    /// From the values' input to all heads.
    pub value_proj: Linear,
    /// From all heads to the result.
    pub out_proj: Linear,
    heads: usize,
}

impl MultiHeadAttention {
    /// Inputs and results of `dims` features, without biases.
    #[track_caller]
    pub fn new(dims: usize, heads: usize) -> MultiHeadAttention {
        MultiHeadAttention::build(dims, heads, false)
    }

    /// As [`new`](MultiHeadAttention::new), with biases.
    #[track_caller]
    pub fn with_bias(dims: usize, heads: usize) -> MultiHeadAttention {
        MultiHeadAttention::build(dims, heads, true)
    }

    #[track_caller]
    fn build(dims: usize, heads: usize, bias: bool) -> MultiHeadAttention {
        MultiHeadAttention {
            query_proj: Linear::with(dims, dims, bias),
            key_proj: Linear::with(dims, dims, bias),
            value_proj: Linear::with(dims, dims, bias),
            out_proj: Linear::with(dims, dims, bias),
            heads,
        }
    }

    /// From projections of one's own, for inputs, values and results of other sizes.
    pub fn from_projections([query, key, value, out]: [Linear; 4], heads: usize) -> MultiHeadAttention {
        let (query_proj, key_proj, value_proj, out_proj) = (query, key, value, out);
        MultiHeadAttention { query_proj, key_proj, value_proj, out_proj, heads }
    }

    /// `[B, T, D]` as `[B, heads, T, D / heads]`; or the failed array to return.
    #[track_caller]
    fn split(&self, x: Array) -> Result<Array, Array> {
        let [batch, steps, dims] = error::sizes("MultiHeadAttention", "an input", &x)?;
        if !dims.is_multiple_of(self.heads) {
            let message = format!("{dims} features cannot be divided among {} heads", self.heads);
            return Err(error::argument("MultiHeadAttention", message));
        }
        Ok(x.reshape((batch, steps, self.heads, dims / self.heads)).transpose((0, 2, 1, 3)))
    }

    #[track_caller]
    fn attend(&self, queries: &Array, keys: &Array, values: &Array, mask: &Mask) -> Result<Array, Array> {
        let q = self.split(self.query_proj.forward(queries))?;
        let k = self.split(self.key_proj.forward(keys))?;
        let v = self.split(self.value_proj.forward(values))?;
        let [.., size] = error::sizes::<4>("MultiHeadAttention", "queries", &q)?;
        let scale = (1.0 / size as f64).sqrt();
        let seen = scaled_dot_product_attention(&q, &k, &v, scale, mask.clone(), None);
        seen.check().map_err(|_| seen.clone())?;
        Ok(self.out_proj.forward(&ops::flatten(&seen.transpose((0, 2, 1, 3)), -2, -1)))
    }

    /// The result for queries `[B, T, D]`, keys and values `[B, S, D]`.
    #[track_caller]
    pub fn forward(&self, queries: &Array, keys: &Array, values: &Array, mask: &Mask) -> Array {
        self.attend(queries, keys, values, mask).unwrap_or_else(|failed| failed)
    }

    /// A mask to add to scores of `n` queries and keys: the lowest finite number wherever the key comes after the query.
    #[track_caller]
    pub fn additive_causal_mask(n: usize, dtype: Dtype) -> Array {
        let lowest = match dtype {
            Dtype::Float16 => -65504.0,
            Dtype::Bfloat16 => -3.389_531_389_251_535_5e38,
            Dtype::Float64 => f64::MIN,
            _ => f64::from(f32::MIN),
        };
        ops::triu(&ops::ones([n, n], dtype), 1) * lowest
    }
}
