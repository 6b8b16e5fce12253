//! Layers whose weights are stored in few bits. Those weights are never learnt.

use pellucid::ops::{self, Packing, Quantized};
use pellucid::{Array, Dtype};

use super::{Embedding, Linear};
use crate::{Layer, Module, Param};

/// How weights are packed, in the form that a layer keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept(Packing);

impl Module for Kept {
    fn visit(&self, at: &mut crate::Visit<'_>) {
        at.constant(format!("{:?}", self.0).as_bytes());
    }

    fn visit_mut(&mut self, _: &mut crate::VisitMut<'_>) {}
}

/// A [`Linear`] whose weights are packed.
///
/// ```
/// use pellucid_nn::prelude::*;
/// use pellucid::ops::Packing;
/// let layer = QuantizedLinear::from_linear(&Linear::new(64, 32), Packing::affine().bits(8));
/// assert_eq!(layer.forward(&ones::<f32>([2, 64])).shape(), [2, 32]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct QuantizedLinear {
    /// Packed words.
    pub weight: Array,
    /// One for each group.
    pub scales: Array,
    /// One for each group, in mode affine.
    pub biases: Option<Array>,
    /// The bias of the outputs, which is learnt like that of the layer it comes from.
    pub bias: Option<Param>,
    packing: Kept,
}

impl QuantizedLinear {
    /// The packed form of a layer.
    #[track_caller]
    pub fn from_linear(layer: &Linear, packing: Packing) -> QuantizedLinear {
        let Quantized { words, scales, biases } = ops::quantize(&layer.weight, packing, None);
        let bias = layer.bias.clone();
        QuantizedLinear { weight: words, scales, biases, bias, packing: Kept(packing) }
    }

    /// How the weights are packed.
    pub fn packing(&self) -> Packing {
        self.packing.0
    }

    fn packed(&self) -> Quantized {
        let (words, scales) = (self.weight.clone(), self.scales.clone());
        Quantized { words, scales, biases: self.biases.clone() }
    }

    /// The numbers that the weights stand for, as a layer that can be learnt.
    #[track_caller]
    pub fn dequantized(&self, dtype: Dtype) -> Linear {
        let weight = ops::dequantize(&self.packed(), self.packing.0, None, Some(dtype));
        Linear { weight: weight.into(), bias: self.bias.clone() }
    }
}

impl Layer for QuantizedLinear {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        let y = ops::quantized_matmul(x, &self.packed(), true, self.packing.0);
        match &self.bias {
            Some(bias) => y + bias,
            None => y,
        }
    }
}

/// An [`Embedding`] whose rows are packed.
#[derive(Clone, Debug, Module)]
pub struct QuantizedEmbedding {
    /// Packed words.
    pub weight: Array,
    /// One for each group.
    pub scales: Array,
    /// One for each group, in mode affine.
    pub biases: Option<Array>,
    packing: Kept,
}

impl QuantizedEmbedding {
    /// The packed form of an embedding.
    #[track_caller]
    pub fn from_embedding(layer: &Embedding, packing: Packing) -> QuantizedEmbedding {
        let Quantized { words, scales, biases } = ops::quantize(&layer.weight, packing, None);
        QuantizedEmbedding { weight: words, scales, biases, packing: Kept(packing) }
    }

    /// `x @ weightᵀ`: the scores of all tokens, where input and output share their weights.
    #[track_caller]
    pub fn as_linear(&self, x: &Array) -> Array {
        let packed = Quantized {
            words: self.weight.clone(),
            scales: self.scales.clone(),
            biases: self.biases.clone(),
        };
        ops::quantized_matmul(x, &packed, true, self.packing.0)
    }
}

impl Layer for QuantizedEmbedding {
    /// The rows for indices of any shape.
    #[track_caller]
    fn forward(&self, indices: &Array) -> Array {
        let rows = |array: &Array| ops::take(array, indices, 0);
        let packed = Quantized {
            words: rows(&self.weight),
            scales: rows(&self.scales),
            biases: self.biases.as_ref().map(rows),
        };
        ops::dequantize(&packed, self.packing.0, None, None)
    }
}
