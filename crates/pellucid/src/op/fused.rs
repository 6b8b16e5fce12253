//! The parameters of operations that are computed in one go although they could be written with others:
//! normalisations, rotary positions, attention, and products with packed numbers.

use serde::{Deserialize, Serialize};

use super::Float;

/// What a normalisation of the last axis subtracts and divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// The mean, and the standard deviation.
    Layer,
    /// Nothing, and the root of the mean square.
    Rms,
}

impl NormKind {
    /// The operation's name.
    pub fn name(self) -> &'static str {
        match self {
            NormKind::Layer => "layer_norm",
            NormKind::Rms => "rms_norm",
        }
    }
}

/// A rotation of pairs of features by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RopeSpec {
    /// Features that are rotated: even, and no more than there are.
    pub dims: usize,
    /// Pairs are neighbours; otherwise a feature and the one half of `dims` further.
    pub traditional: bool,
    /// The periods grow from 1 towards this; `None` if they are an input.
    pub base: Option<Float>,
    /// What positions are multiplied by.
    pub scale: Float,
    /// Turn back instead.
    pub inverse: bool,
}

/// Attention of queries to keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttentionSpec {
    /// What products of queries and keys are multiplied by.
    pub scale: Float,
    /// A query sees no key beyond its own position, with the last query at the last key.
    pub causal: bool,
    /// A mask is among the inputs: of truth values, or added to the scores.
    pub mask: bool,
    /// A score for each head that takes part in the softmax but has no value is among the inputs.
    pub sinks: bool,
}

/// How numbers are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantMode {
    /// Whole numbers with a scale and a bias for each group.
    Affine,
    /// Four-bit floats; a power of two for each 32.
    Mxfp4,
    /// Eight-bit floats; a power of two for each 32.
    Mxfp8,
    /// Four-bit floats; an eight-bit float for each 16.
    Nvfp4,
}

impl QuantMode {
    /// The mode's name, as MLX spells it.
    pub fn name(self) -> &'static str {
        match self {
            QuantMode::Affine => "affine",
            QuantMode::Mxfp4 => "mxfp4",
            QuantMode::Mxfp8 => "mxfp8",
            QuantMode::Nvfp4 => "nvfp4",
        }
    }

    /// Numbers of a group and bits of a number, unless said otherwise.
    pub fn defaults(self) -> (usize, u8) {
        match self {
            QuantMode::Affine => (64, 4),
            QuantMode::Mxfp4 => (32, 4),
            QuantMode::Mxfp8 => (32, 8),
            QuantMode::Nvfp4 => (16, 4),
        }
    }
}

/// One of the arrays that packing makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantPart {
    /// The codes, packed.
    Words,
    /// A scale for each group.
    Scales,
    /// A bias for each group.
    Biases,
}

/// A way to pack numbers: a mode, how many bits each takes, and how many share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QuantSpec {
    /// What the bits mean.
    pub mode: QuantMode,
    /// Bits of a number.
    pub bits: u8,
    /// Numbers that share a scale.
    pub group: usize,
}
