//! Small matrices that are learnt beside large ones that are not.

use pellucid::{Array, Dtype, ops};

use super::linear::uniform;
use super::{Dropout, Linear, QuantizedLinear};
use crate::{Layer, Module, Param};

/// How [`LoraLinear`] is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lora {
    /// The inner size of the two small matrices.
    pub rank: usize,
    /// What their product is multiplied by.
    pub scale: f64,
    /// How likely an input of the small matrices is dropped in training.
    pub dropout: f64,
}

impl Default for Lora {
    /// Rank 8, scale 20, no dropout, as in mlx-lm.
    fn default() -> Lora {
        Lora { rank: 8, scale: 20.0, dropout: 0.0 }
    }
}

/// The layer that is left as it is.
#[derive(Clone, Debug, Module)]
pub(super) enum Base {
    Plain(Linear),
    Quantized(QuantizedLinear),
}

impl Base {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        match self {
            Base::Plain(layer) => layer.forward(x),
            Base::Quantized(layer) => layer.forward(x),
        }
    }
}

/// A linear layer that is frozen, plain or quantised, plus `scale · x @ lora_a @ lora_b`, which is learnt. It begins as
/// the layer it is made from, because `lora_b` begins at zero.
#[derive(Clone, Debug, Module)]
pub struct LoraLinear {
    linear: Base,
    /// `[inputs, rank]`
    pub lora_a: Param,
    /// `[rank, outputs]`
    pub lora_b: Param,
    scale: f64,
    dropout: Dropout,
}

impl LoraLinear {
    /// Beside a plain layer, which is frozen.
    #[track_caller]
    pub fn from_linear(mut layer: Linear, lora: Lora) -> LoraLinear {
        layer.freeze_all();
        let (outputs, inputs) = match *layer.weight.shape() {
            [outputs, inputs] => (outputs, inputs),
            _ => (0, 0),
        };
        LoraLinear::beside(Base::Plain(layer), inputs, outputs, lora)
    }

    /// Beside a quantised layer.
    #[track_caller]
    pub fn from_quantized(layer: QuantizedLinear, lora: Lora) -> LoraLinear {
        let plain = layer.dequantized(Dtype::Float32);
        let (outputs, inputs) = match *plain.weight.shape() {
            [outputs, inputs] => (outputs, inputs),
            _ => (0, 0),
        };
        LoraLinear::beside(Base::Quantized(layer), inputs, outputs, lora)
    }

    #[track_caller]
    fn beside(linear: Base, inputs: usize, outputs: usize, lora: Lora) -> LoraLinear {
        let limit = 1.0 / (inputs as f64).sqrt();
        LoraLinear {
            linear,
            lora_a: uniform(limit, &[inputs, lora.rank]).into(),
            lora_b: ops::zeros([lora.rank, outputs], Dtype::Float32).into(),
            scale: lora.scale,
            dropout: Dropout::new(lora.dropout),
        }
    }

    /// What was learnt, added to the weights: a plain layer that does the same.
    #[track_caller]
    pub fn fused(&self) -> Linear {
        let plain = match &self.linear {
            Base::Plain(layer) => layer.clone(),
            Base::Quantized(layer) => layer.dequantized(Dtype::Float32),
        };
        let dtype = plain.weight.dtype();
        let learnt = (self.scale * self.lora_b.t()).matmul(&self.lora_a.t());
        let weight = plain.weight.array() + learnt.astype(dtype);
        let bias = plain.bias.map(|bias| Param::new(bias.array().clone()));
        Linear { weight: weight.into(), bias }
    }
}

impl Layer for LoraLinear {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        let y = self.linear.forward(x);
        let learnt = self.dropout.forward(x).matmul(&self.lora_a).matmul(&self.lora_b);
        y + (self.scale * learnt).astype(x.dtype())
    }
}
