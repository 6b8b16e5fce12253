//! The layers of `mlx.nn`. Names and shapes of parameters are those of MLX.

mod attention;
mod convolution;
mod dropout;
mod embedding;
mod forms;
mod linear;
mod lora;
mod normalization;
mod pooling;
mod position;
mod quantized;
mod recurrent;
mod sequential;
mod spatial;
mod transformer;
mod upsample;

pub use attention::MultiHeadAttention;
pub use convolution::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use dropout::{Dropout, Dropout2d, Dropout3d};
pub use embedding::Embedding;
pub use forms::{AnyEmbedding, AnyLinear, add_lora, fuse_lora, quantize};
pub use linear::{Bilinear, Identity, Linear};
pub use lora::{Lora, LoraLinear};
pub use normalization::{BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
pub use pooling::{AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d};
pub use position::{Alibi, Rope, SinusoidalPositionalEncoding};
pub use quantized::{QuantizedEmbedding, QuantizedLinear};
pub use recurrent::{Gru, Lstm, Rnn};
pub use sequential::Sequential;
pub use spatial::EachAxis;
pub use transformer::{
    Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
    TransformerSettings,
};
pub use upsample::{Upsample, UpsampleMode};
