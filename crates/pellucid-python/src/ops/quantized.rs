//! Numbers packed into few bits.

use pellucid::Array;
use pellucid::op::QuantMode;
use pellucid::ops::{self, Packing, Quantized, Weights};
use pyo3::prelude::*;

use super::shape::argument;
use crate::args::{Arr, Int};
use crate::dtype::PyDtype;

fn packing(
    function: &'static str,
    mode: &str,
    group_size: Option<Int>,
    bits: Option<Int>,
) -> pellucid::Result<Packing> {
    let modes = [QuantMode::Affine, QuantMode::Mxfp4, QuantMode::Mxfp8, QuantMode::Nvfp4];
    match modes.into_iter().find(|known| known.name() == mode) {
        Some(mode) => Ok(Packing::new(mode).group_size(group_size.map(|g| g.0)).bits(bits.map(|b| b.0))),
        None => Err(argument(function, format!("mode is affine, mxfp4, mxfp8 or nvfp4, not {mode:?}"))),
    }
}

fn packed(w: Arr, scales: Arr, biases: Option<Arr>) -> Quantized {
    Quantized { words: w.0, scales: scales.0, biases: biases.map(|b| b.0) }
}

fn weights(w: Arr, scales: Option<Arr>) -> Weights {
    match scales {
        Some(scales) => Weights::Packed(packed(w, scales, None)),
        None => Weights::Plain(w.0),
    }
}

fn given(array: &Option<Arr>) -> Option<&Array> {
    array.as_ref().map(|array| &array.0)
}

crate::ops::functions! {
    quantize(w, /, group_size = None, bits = None, mode = "affine", *, global_scale = None, stream = None)
        [w: Arr, group_size: Option<Int>, bits: Option<Int>, mode: &str, global_scale: Option<Arr>]
        "(w: array, /, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, global_scale: array | None = None, stream: StreamOrDevice = None)" "tuple[array, array, array]"
        "Packs an array along its last axis: words, scales, and biases in mode affine."
        => packing("quantize", mode, group_size, bits).map(|packing| {
            let made = ops::quantize(&w, packing, given(&global_scale));
            [Some(made.words), Some(made.scales), made.biases].into_iter().flatten().collect::<Vec<Array>>()
        });
    dequantize(w, /, scales, biases = None, group_size = None, bits = None, mode = "affine", global_scale = None, dtype = None, *, stream = None)
        [w: Arr, scales: Arr, biases: Option<Arr>, group_size: Option<Int>, bits: Option<Int>, mode: &str, global_scale: Option<Arr>, dtype: Option<PyDtype>]
        "(w: array, /, scales: array, biases: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
        "The numbers that packed ones stand for."
        => packing("dequantize", mode, group_size, bits).map(|packing| {
            ops::dequantize(&packed(w, scales, biases), packing, given(&global_scale), dtype.map(|dtype| dtype.0))
        });
    quantized_matmul(x, w, /, scales, biases = None, transpose = true, group_size = None, bits = None, mode = "affine", *, stream = None)
        [x: Arr, w: Arr, scales: Arr, biases: Option<Arr>, transpose: bool, group_size: Option<Int>, bits: Option<Int>, mode: &str]
        "(x: array, w: array, /, scales: array, biases: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, stream: StreamOrDevice = None)" "array"
        "A product with packed weights."
        => packing("quantized_matmul", mode, group_size, bits).map(|packing| {
            ops::quantized_matmul(&x, &packed(w, scales, biases), transpose, packing)
        });
    gather_qmm(x, w, /, scales, biases = None, lhs_indices = None, rhs_indices = None, transpose = true, group_size = None, bits = None, mode = "affine", global_scale = None, *, sorted_indices = false, stream = None)
        [x: Arr, w: Arr, scales: Arr, biases: Option<Arr>, lhs_indices: Option<Arr>, rhs_indices: Option<Arr>, transpose: bool, group_size: Option<Int>, bits: Option<Int>, mode: &str, global_scale: Option<Arr>, sorted_indices: bool]
        "(x: array, w: array, /, scales: array, biases: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None)" "array"
        "A product with packed weights, of matrices that indices choose."
        => packing("gather_qmm", mode, group_size, bits).map(|packing| {
            // What is sorted is found faster by nothing here: every pair of matrices is a task of its own.
            let _ = sorted_indices;
            ops::gather_qmm(&x, &packed(w, scales, biases), given(&lhs_indices), given(&rhs_indices), transpose, packing, given(&global_scale))
        });
    qqmm(x, w, scales = None, group_size = None, bits = None, mode = "nvfp4", global_scale_x = None, global_scale_w = None, *, stream = None)
        [x: Arr, w: Arr, scales: Option<Arr>, group_size: Option<Int>, bits: Option<Int>, mode: &str, global_scale_x: Option<Arr>, global_scale_w: Option<Arr>]
        "(x: array, w: array, scales: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, stream: StreamOrDevice = None)" "array"
        "A product of which both factors are packed, x on the way."
        => packing("qqmm", mode, group_size, bits).map(|packing| {
            ops::qqmm(&x, &weights(w, scales), packing, [given(&global_scale_x), given(&global_scale_w)])
        });
    gather_qqmm(x, w, /, scales = None, lhs_indices = None, rhs_indices = None, group_size = None, bits = None, mode = "nvfp4", global_scale_x = None, global_scale_w = None, *, sorted_indices = false, stream = None)
        [x: Arr, w: Arr, scales: Option<Arr>, lhs_indices: Option<Arr>, rhs_indices: Option<Arr>, group_size: Option<Int>, bits: Option<Int>, mode: &str, global_scale_x: Option<Arr>, global_scale_w: Option<Arr>, sorted_indices: bool]
        "(x: array, w: array, /, scales: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None)" "array"
        "A product of which both factors are packed, of matrices that indices choose."
        => packing("gather_qqmm", mode, group_size, bits).map(|packing| {
            let _ = sorted_indices;
            let globals = [given(&global_scale_x), given(&global_scale_w)];
            ops::gather_qqmm(&x, &weights(w, scales), given(&lhs_indices), given(&rhs_indices), packing, globals)
        });
}
