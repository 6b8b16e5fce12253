//! Transformers: attention and two linear layers, each with a norm and a way around.

use pellucid::Array;
use pellucid::fast::Mask;
use pellucid::transform::checkpoint;

use super::{Dropout, LayerNorm, Linear, MultiHeadAttention};
use crate::activations::relu;
use crate::{Layer, Module};

/// What the layers of a transformer have in common.
#[derive(Clone, Copy, Debug)]
pub struct TransformerSettings {
    /// Features of inputs and results.
    pub dims: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Features between the two linear layers: four times `dims` unless it is given.
    pub mlp_dims: Option<usize>,
    /// How likely an element is dropped in training.
    pub dropout: f64,
    /// What is applied between the two linear layers.
    pub activation: fn(&Array) -> Array,
    /// Whether the norm comes before attention and linear layers, or after the way around them.
    pub norm_first: bool,
    /// Whether layers are computed again for the gradient, which needs less memory.
    pub checkpoint: bool,
}

impl TransformerSettings {
    /// No dropout, ReLU, norms first, no recomputation.
    pub fn new(dims: usize, heads: usize) -> TransformerSettings {
        TransformerSettings {
            dims,
            heads,
            mlp_dims: None,
            dropout: 0.0,
            activation: relu,
            norm_first: true,
            checkpoint: false,
        }
    }

    fn mlp_dims(&self) -> usize {
        self.mlp_dims.unwrap_or(self.dims * 4)
    }
}

/// Attention of a sequence to itself, then two linear layers.
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoderLayer {
    /// To the sequence itself.
    pub attention: MultiHeadAttention,
    /// The norm of the attention.
    pub ln1: LayerNorm,
    /// The norm of the linear layers.
    pub ln2: LayerNorm,
    /// To the features in between.
    pub linear1: Linear,
    /// And back.
    pub linear2: Linear,
    dropout1: Dropout,
    dropout2: Dropout,
    activation: fn(&Array) -> Array,
    norm_first: bool,
}

impl TransformerEncoderLayer {
    /// A layer with new parameters.
    #[track_caller]
    pub fn new(settings: &TransformerSettings) -> TransformerEncoderLayer {
        let (dims, inner) = (settings.dims, settings.mlp_dims());
        TransformerEncoderLayer {
            attention: MultiHeadAttention::new(dims, settings.heads),
            ln1: LayerNorm::new(dims),
            ln2: LayerNorm::new(dims),
            linear1: Linear::new(dims, inner),
            linear2: Linear::new(inner, dims),
            dropout1: Dropout::new(settings.dropout),
            dropout2: Dropout::new(settings.dropout),
            activation: settings.activation,
            norm_first: settings.norm_first,
        }
    }

    #[track_caller]
    fn mlp(&self, x: &Array) -> Array {
        let inner = (self.activation)(&self.linear1.forward(x));
        self.linear2.forward(&self.dropout2.forward(&inner))
    }

    /// The result for `[B, T, D]`.
    #[track_caller]
    pub fn forward(&self, x: &Array, mask: &Mask) -> Array {
        if self.norm_first {
            let y = self.ln1.forward(x);
            let x = x + self.dropout1.forward(&self.attention.forward(&y, &y, &y, mask));
            &x + self.mlp(&self.ln2.forward(&x))
        } else {
            let seen = self.dropout1.forward(&self.attention.forward(x, x, x, mask));
            let x = self.ln1.forward(&(x + seen));
            self.ln2.forward(&(&x + self.mlp(&x)))
        }
    }
}

/// Encoder layers one after the other, and a norm.
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoder {
    /// The layers.
    pub layers: Vec<TransformerEncoderLayer>,
    /// The norm at the end.
    pub ln: LayerNorm,
    checkpoint: bool,
}

impl TransformerEncoder {
    /// So many layers with new parameters.
    #[track_caller]
    pub fn new(layers: usize, settings: &TransformerSettings) -> TransformerEncoder {
        TransformerEncoder {
            layers: (0..layers).map(|_| TransformerEncoderLayer::new(settings)).collect(),
            ln: LayerNorm::new(settings.dims),
            checkpoint: settings.checkpoint,
        }
    }

    /// The result for `[B, T, D]`.
    #[track_caller]
    pub fn forward(&self, x: &Array, mask: &Mask) -> Array {
        let mut x = x.clone();
        for layer in &self.layers {
            x = match self.checkpoint {
                true => checkpoint(|x: &Array| layer.forward(x, mask))(&x),
                false => layer.forward(&x, mask),
            };
        }
        self.ln.forward(&x)
    }
}

/// Attention of a sequence to itself, to another one, then two linear layers.
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoderLayer {
    /// To the sequence itself.
    pub self_attention: MultiHeadAttention,
    /// To the other sequence.
    pub cross_attention: MultiHeadAttention,
    /// The norm of the first attention.
    pub ln1: LayerNorm,
    /// The norm of the second attention.
    pub ln2: LayerNorm,
    /// The norm of the linear layers.
    pub ln3: LayerNorm,
    /// To the features in between.
    pub linear1: Linear,
    /// And back.
    pub linear2: Linear,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Dropout,
    activation: fn(&Array) -> Array,
    norm_first: bool,
}

impl TransformerDecoderLayer {
    /// A layer with new parameters.
    #[track_caller]
    pub fn new(settings: &TransformerSettings) -> TransformerDecoderLayer {
        let (dims, inner) = (settings.dims, settings.mlp_dims());
        TransformerDecoderLayer {
            self_attention: MultiHeadAttention::new(dims, settings.heads),
            cross_attention: MultiHeadAttention::new(dims, settings.heads),
            ln1: LayerNorm::new(dims),
            ln2: LayerNorm::new(dims),
            ln3: LayerNorm::new(dims),
            linear1: Linear::new(dims, inner),
            linear2: Linear::new(inner, dims),
            dropout1: Dropout::new(settings.dropout),
            dropout2: Dropout::new(settings.dropout),
            dropout3: Dropout::new(settings.dropout),
            activation: settings.activation,
            norm_first: settings.norm_first,
        }
    }

    #[track_caller]
    fn mlp(&self, x: &Array) -> Array {
        let inner = (self.activation)(&self.linear1.forward(x));
        self.linear2.forward(&self.dropout3.forward(&inner))
    }

    /// The result for `[B, T, D]` and the other sequence `[B, S, D]`.
    #[track_caller]
    pub fn forward(&self, x: &Array, memory: &Array, mask: &Mask, memory_mask: &Mask) -> Array {
        let itself = |x: &Array| self.dropout1.forward(&self.self_attention.forward(x, x, x, mask));
        let other =
            |x: &Array| self.dropout2.forward(&self.cross_attention.forward(x, memory, memory, memory_mask));
        if self.norm_first {
            let x = x + itself(&self.ln1.forward(x));
            let x = &x + other(&self.ln2.forward(&x));
            &x + self.mlp(&self.ln3.forward(&x))
        } else {
            let x = self.ln1.forward(&(x + itself(x)));
            let x = self.ln2.forward(&(&x + other(&x)));
            self.ln3.forward(&(&x + self.mlp(&x)))
        }
    }
}

/// Decoder layers one after the other, and a norm.
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoder {
    /// The layers.
    pub layers: Vec<TransformerDecoderLayer>,
    /// The norm at the end.
    pub ln: LayerNorm,
    checkpoint: bool,
}

impl TransformerDecoder {
    /// So many layers with new parameters.
    #[track_caller]
    pub fn new(layers: usize, settings: &TransformerSettings) -> TransformerDecoder {
        TransformerDecoder {
            layers: (0..layers).map(|_| TransformerDecoderLayer::new(settings)).collect(),
            ln: LayerNorm::new(settings.dims),
            checkpoint: settings.checkpoint,
        }
    }

    /// The result for `[B, T, D]` and the other sequence `[B, S, D]`.
    #[track_caller]
    pub fn forward(&self, x: &Array, memory: &Array, mask: &Mask, memory_mask: &Mask) -> Array {
        let mut x = x.clone();
        for layer in &self.layers {
            let run = |(x, memory): &(Array, Array)| layer.forward(x, memory, mask, memory_mask);
            let inputs = (x, memory.clone());
            x = if self.checkpoint { checkpoint(run)(&inputs) } else { run(&inputs) };
        }
        self.ln.forward(&x)
    }
}

/// An encoder, and a decoder that attends to its result.
#[derive(Clone, Debug, Module)]
pub struct Transformer {
    /// Reads the source.
    pub encoder: TransformerEncoder,
    /// Makes the target.
    pub decoder: TransformerDecoder,
}

impl Transformer {
    /// So many layers of each with new parameters.
    #[track_caller]
    pub fn new(encoders: usize, decoders: usize, settings: &TransformerSettings) -> Transformer {
        let encoder = TransformerEncoder::new(encoders, settings);
        Transformer { encoder, decoder: TransformerDecoder::new(decoders, settings) }
    }

    /// The result for a source `[B, S, D]` and a target `[B, T, D]`; the masks are those of the source, the target, and
    /// of the target's view of the source.
    #[track_caller]
    pub fn forward(
        &self,
        source: &Array,
        target: &Array,
        [source_mask, mask, memory_mask]: [&Mask; 3],
    ) -> Array {
        let memory = self.encoder.forward(source, source_mask);
        self.decoder.forward(target, &memory, mask, memory_mask)
    }
}
