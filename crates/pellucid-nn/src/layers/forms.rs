//! Layers that may take other forms, and models in which all of them do: quantised, or with small matrices beside them.

use pellucid::Array;
use pellucid::ops::Packing;

use super::{Embedding, Linear, Lora, LoraLinear, QuantizedEmbedding, QuantizedLinear};
use crate::{Layer, Module, Visit, VisitMut, VisitorMut};

/// A linear layer in any form: plain, quantised, or with [`Lora`]. Use it in a model that is to be quantised or tuned
/// later; the paths of its parameters are those of the form it has.
#[derive(Clone, Debug)]
pub enum AnyLinear {
    /// Weights that are learnt.
    Plain(Linear),
    /// Weights of few bits.
    Quantized(QuantizedLinear),
    /// Frozen weights and small matrices that are learnt.
    Lora(LoraLinear),
}

impl From<Linear> for AnyLinear {
    fn from(layer: Linear) -> AnyLinear {
        AnyLinear::Plain(layer)
    }
}

impl Module for AnyLinear {
    fn visit(&self, at: &mut Visit<'_>) {
        match self {
            AnyLinear::Plain(layer) => layer.visit(at),
            AnyLinear::Quantized(layer) => layer.visit(at),
            AnyLinear::Lora(layer) => layer.visit(at),
        }
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.linear(self);
        match self {
            AnyLinear::Plain(layer) => layer.visit_mut(at),
            AnyLinear::Quantized(layer) => layer.visit_mut(at),
            AnyLinear::Lora(layer) => layer.visit_mut(at),
        }
    }
}

impl Layer for AnyLinear {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        match self {
            AnyLinear::Plain(layer) => layer.forward(x),
            AnyLinear::Quantized(layer) => layer.forward(x),
            AnyLinear::Lora(layer) => layer.forward(x),
        }
    }
}

/// An embedding in any form: plain or quantised.
#[derive(Clone, Debug)]
pub enum AnyEmbedding {
    /// Rows that are learnt.
    Plain(Embedding),
    /// Rows of few bits.
    Quantized(QuantizedEmbedding),
}

impl AnyEmbedding {
    /// `x @ weightᵀ`: the scores of all tokens, where input and output share their weights.
    #[track_caller]
    pub fn as_linear(&self, x: &Array) -> Array {
        match self {
            AnyEmbedding::Plain(layer) => layer.as_linear(x),
            AnyEmbedding::Quantized(layer) => layer.as_linear(x),
        }
    }
}

impl From<Embedding> for AnyEmbedding {
    fn from(layer: Embedding) -> AnyEmbedding {
        AnyEmbedding::Plain(layer)
    }
}

impl Module for AnyEmbedding {
    fn visit(&self, at: &mut Visit<'_>) {
        match self {
            AnyEmbedding::Plain(layer) => layer.visit(at),
            AnyEmbedding::Quantized(layer) => layer.visit(at),
        }
    }

    fn visit_mut(&mut self, at: &mut VisitMut<'_>) {
        at.embedding(self);
        match self {
            AnyEmbedding::Plain(layer) => layer.visit_mut(at),
            AnyEmbedding::Quantized(layer) => layer.visit_mut(at),
        }
    }
}

impl Layer for AnyEmbedding {
    #[track_caller]
    fn forward(&self, indices: &Array) -> Array {
        match self {
            AnyEmbedding::Plain(layer) => layer.forward(indices),
            AnyEmbedding::Quantized(layer) => layer.forward(indices),
        }
    }
}

/// Quantises all plain [`AnyLinear`] and [`AnyEmbedding`] layers of a model whose paths are wanted, and says how many
/// those were.
///
/// ```
/// use pellucid::ops::Packing;
/// use pellucid_nn::prelude::*;
///
/// #[derive(Clone, Module)]
/// struct Block {
///     up: AnyLinear,
///     down: AnyLinear,
/// }
///
/// let mut block = Block { up: Linear::new(64, 128).into(), down: Linear::new(128, 64).into() };
/// assert_eq!(quantize(&mut block, Packing::affine(), |path| path != "down"), 1);
/// assert!(matches!(block.up, AnyLinear::Quantized(_)));
/// ```
#[track_caller]
pub fn quantize(model: &mut impl Module, packing: Packing, mut wanted: impl FnMut(&str) -> bool) -> usize {
    struct Quantize<'a> {
        packing: Packing,
        wanted: &'a mut dyn FnMut(&str) -> bool,
        count: usize,
    }
    impl VisitorMut for Quantize<'_> {
        fn linear(&mut self, path: &str, layer: &mut AnyLinear) {
            if let AnyLinear::Plain(plain) = layer
                && (self.wanted)(path)
            {
                *layer = AnyLinear::Quantized(QuantizedLinear::from_linear(plain, self.packing));
                self.count += 1;
            }
        }

        fn embedding(&mut self, path: &str, layer: &mut AnyEmbedding) {
            if let AnyEmbedding::Plain(plain) = layer
                && (self.wanted)(path)
            {
                *layer = AnyEmbedding::Quantized(QuantizedEmbedding::from_embedding(plain, self.packing));
                self.count += 1;
            }
        }
    }
    let mut visitor = Quantize { packing, wanted: &mut wanted, count: 0 };
    VisitMut::all(model, &mut visitor);
    visitor.count
}

/// Freezes a model, and gives each [`AnyLinear`] layer whose path is wanted small matrices that are learnt. Says how
/// many those were.
#[track_caller]
pub fn add_lora(model: &mut impl Module, lora: Lora, mut wanted: impl FnMut(&str) -> bool) -> usize {
    struct Add<'a> {
        lora: Lora,
        wanted: &'a mut dyn FnMut(&str) -> bool,
        count: usize,
    }
    impl VisitorMut for Add<'_> {
        fn linear(&mut self, path: &str, layer: &mut AnyLinear) {
            if matches!(layer, AnyLinear::Lora(_)) || !(self.wanted)(path) {
                return;
            }
            let made = match &*layer {
                AnyLinear::Plain(plain) => LoraLinear::from_linear(plain.clone(), self.lora),
                AnyLinear::Quantized(packed) => LoraLinear::from_quantized(packed.clone(), self.lora),
                AnyLinear::Lora(lora) => lora.clone(),
            };
            *layer = AnyLinear::Lora(made);
            self.count += 1;
        }
    }
    model.freeze_all();
    let mut visitor = Add { lora, wanted: &mut wanted, count: 0 };
    VisitMut::all(model, &mut visitor);
    visitor.count
}

/// Adds what was learnt in small matrices to the weights beside them: all [`AnyLinear`] layers with [`Lora`] become plain
/// ones. Says how many those were.
#[track_caller]
pub fn fuse_lora(model: &mut impl Module) -> usize {
    struct Fuse(usize);
    impl VisitorMut for Fuse {
        fn linear(&mut self, _: &str, layer: &mut AnyLinear) {
            if let AnyLinear::Lora(lora) = layer {
                *layer = AnyLinear::Plain(lora.fused());
                self.0 += 1;
            }
        }
    }
    let mut visitor = Fuse(0);
    VisitMut::all(model, &mut visitor);
    visitor.0
}
