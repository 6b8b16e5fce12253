//! Layers.

use pellucid::fast::Mask;
use pellucid::ops::Packing;
use pellucid_nn::prelude::*;

use super::cases::{assert_close, below, check, check_layer, given};

#[test]
fn linear_layers() {
    check_layer("linear", Linear::new(4, 5));
    check_layer("linear_plain", Linear::without_bias(4, 5));
    check_layer("sequential", sequential![Linear::new(4, 6), Tanh, Linear::new(6, 2)]);
    check_layer("embedding", Embedding::new(7, 4));
    check_layer("prelu", Prelu::new(4));
    check("bilinear", Bilinear::new(4, 3, 2), |layer, inputs| layer.forward(&inputs[0], &inputs[1]));
}

#[test]
fn convolutions() {
    check_layer("conv1d", Conv1d::grouped(4, 6, 3, 2).stride(2).padding(1).dilation(2));
    check_layer("conv2d", Conv2d::new(3, 4, [3, 2]).stride([2, 1]).padding([1, 0]));
    check_layer("conv3d", Conv3d::new(2, 3, 2).padding(1).without_bias());
    check_layer("conv_transpose1d", ConvTranspose1d::new(3, 2, 3).stride(2).padding(1).output_padding(1));
    check_layer("conv_transpose2d", ConvTranspose2d::new(3, 2, 2).stride(2));
    check_layer("conv_transpose3d", ConvTranspose3d::new(2, 2, 2).padding(1));
}

#[test]
fn norms() {
    check_layer("layer_norm", LayerNorm::new(6));
    check_layer("layer_norm_no_bias", LayerNorm::without_bias(6));
    check_layer("layer_norm_plain", LayerNorm::plain());
    check_layer("rms_norm", RmsNorm::new(6));
    check_layer("instance_norm", InstanceNorm::affine(6));
    check_layer("instance_norm_plain", InstanceNorm::new());
    check_layer("group_norm", GroupNorm::new(3, 6));
    check_layer("group_norm_torch", GroupNorm::new(2, 6).neighbours());
    check_layer("batch_norm_untracked", BatchNorm::new(6).untracked());
}

#[test]
fn batch_norm_keeps_moving_averages_and_uses_them() {
    let layer = check("batch_norm", BatchNorm::new(6), |layer, inputs| layer.forward(&inputs[0]));
    for (name, buffer) in [("running_mean", &layer.running_mean), ("running_var", &layer.running_var)] {
        assert_close(name, &buffer.as_ref().unwrap().get(), &given(&format!("batch_norm.{name}")));
    }
    let mut layer = BatchNorm::new(6);
    layer.eval();
    check_layer("batch_norm_eval", layer);
}

#[test]
fn pooling() {
    check_layer("max_pool1d", MaxPool1d::new(3).stride(2).padding(1));
    check_layer("max_pool2d", MaxPool2d::new(2));
    check_layer("max_pool3d", MaxPool3d::new([2, 1, 2]));
    check_layer("avg_pool1d", AvgPool1d::new(2));
    check_layer("avg_pool2d", AvgPool2d::new(3).stride(1).padding(1));
    check_layer("avg_pool3d", AvgPool3d::new(2));
}

#[test]
fn recurrent_layers() {
    check_layer("rnn", Rnn::new(4, 3));
    check_layer("gru", Gru::new(4, 3));
    check_layer("gru_plain", Gru::without_bias(4, 3));
    check("gru_hidden", Gru::new(4, 3), |layer, inputs| layer.run(&inputs[0], Some(&inputs[1])));
    let joined = |(hidden, cell): (Array, Array)| ops::concatenate([hidden, cell], -1);
    check("lstm", Lstm::new(4, 3), |layer, inputs| joined(layer.run(&inputs[0], None)));
    check("lstm_hidden", Lstm::new(4, 3), |layer, inputs| {
        joined(layer.run(&inputs[0], Some((&inputs[1], &inputs[2]))))
    });
}

#[test]
fn attention_and_transformers() {
    let added = MultiHeadAttention::additive_causal_mask(5, Dtype::Float32);
    let causal = Mask::Array(added);
    check("attention", MultiHeadAttention::with_bias(8, 2), |layer, inputs| {
        layer.forward(&inputs[0], &inputs[0], &inputs[0], &causal)
    });
    check("attention_free", MultiHeadAttention::new(8, 2), |layer, inputs| {
        layer.forward(&inputs[0], &inputs[1], &inputs[1], &Mask::None)
    });
    let settings = TransformerSettings { mlp_dims: Some(12), ..TransformerSettings::new(8, 2) };
    let encode = |layer: &TransformerEncoder, inputs: &[Array]| layer.forward(&inputs[0], &Mask::Causal);
    check("encoder", TransformerEncoder::new(2, &settings), encode);
    let recomputed = TransformerSettings { checkpoint: true, ..settings };
    check("encoder", TransformerEncoder::new(2, &recomputed), encode);
    let last = TransformerSettings { norm_first: false, activation: gelu, ..settings };
    check("encoder_norm_last", TransformerEncoder::new(1, &last), encode);
    check("transformer", Transformer::new(1, 1, &settings), |model, inputs| {
        model.forward(&inputs[0], &inputs[1], [&Mask::None, &causal, &Mask::None])
    });
}

#[test]
fn positions() {
    check_layer("rope", Rope::new(6));
    let rope = Rope { traditional: true, base: 100.0, scale: 0.5, ..Rope::new(8) };
    check("rope_traditional", rope, |rope, inputs| rope.at(&inputs[0], 3));
    check_layer("sinusoidal", SinusoidalPositionalEncoding::new(8).cos_first());
    check_layer("sinusoidal_turns", SinusoidalPositionalEncoding::new(8).scale(1.0).full_turns());
    check("alibi", Alibi, |alibi, inputs| alibi.forward(&inputs[0], 2, None));
}

#[test]
fn upsampling() {
    use UpsampleMode::{Cubic, Linear, Nearest};
    check_layer("upsample_nearest", Upsample::new(2.5, Nearest));
    check_layer("upsample_linear", Upsample::each(&[2.0, 3.0], Linear));
    check_layer("upsample_linear_corners", Upsample::new(2.0, Linear).align_corners());
    check_layer("upsample_cubic", Upsample::new(2.0, Cubic));
    check_layer("upsample_cubic_corners", Upsample::new(1.5, Cubic).align_corners());
}

#[test]
fn quantized_layers() {
    let packing = Packing::affine().group_size(32).bits(4);
    let mut plain = Linear::new(64, 8);
    plain.weight.set(given("quantized_linear.plain.weight"));
    let packed = QuantizedLinear::from_linear(&plain, packing);
    let words = below("quantized_linear.param.");
    assert_eq!(packed.weight.to_vec::<u32>().unwrap(), words["weight"].to_vec::<u32>().unwrap());
    check_layer("quantized_linear", packed);
    let mut table = Embedding::new(5, 64);
    table.weight.set(given("quantized_embedding.plain.weight"));
    let packing = Packing::affine().group_size(64).bits(8);
    check_layer("quantized_embedding", QuantizedEmbedding::from_embedding(&table, packing));
}
