//! Packed numbers: unpacking, and products that unpack while they sum.

use super::formula::{self, Formula, Signature, places};
use super::tensor::{Context, In, Out};
use crate::error::Result;
use crate::op::{QuantMode, QuantSpec};

/// WGSL of `number_(code)`: what a code stands for before its scale.
fn number(spec: &QuantSpec) -> &'static str {
    match spec.mode {
        QuantMode::Affine => "f32(code)",
        QuantMode::Mxfp4 | QuantMode::Nvfp4 => {
            "select(1.0, -1.0, (code & 8u) != 0u) * 0.5 * f32(select((2u | (code & 1u)) << ((code >> 1u) & 3u) >> 1u, \
             code & 1u, (code & 6u) == 0u))"
        }
        QuantMode::Mxfp8 => FP8,
    }
}

const FP8: &str = "select(1.0, -1.0, (code & 0x80u) != 0u) * select(bitcast<f32>(((code & 0x7fu) << 20u) + (120u << 23u)), \
                   f32(code & 7u) * 0.001953125, (code & 0x7fu) < 8u)";

/// WGSL of the scale that `s` stands for.
fn scale(spec: &QuantSpec) -> String {
    match spec.mode {
        QuantMode::Affine => "s".to_owned(),
        QuantMode::Nvfp4 => FP8.replace("code", "s"),
        _ => "bitcast<f32>(select(s << 23u, 0x400000u, s == 0u))".to_owned(),
    }
}

/// WGSL that declares `number`, the number at position `j` of the row of words that the positions in front give; words,
/// scales and biases are the inputs from `first` on.
fn unpack(spec: &QuantSpec, first: usize, front: &str) -> String {
    let (bits, group) = (spec.bits, spec.group);
    let mask = (1u32 << bits) - 1;
    let comma = if front.is_empty() { "" } else { ", " };
    let (scales, biases) = (first + 1, first + 2);
    let bias = match spec.mode {
        QuantMode::Affine => format!(" + x{biases}({front}{comma}j / {group}u)"),
        _ => String::new(),
    };
    format!(
        "        let bit = j * {bits}u;
        let low = x{first}({front}{comma}bit >> 5u) >> (bit & 31u);
        var code = low;
        if ((bit & 31u) + {bits}u > 32u) {{
            code = low | (x{first}({front}{comma}(bit >> 5u) + 1u) << (32u - (bit & 31u)));
        }}
        code = code & {mask}u;
        let s = x{scales}({front}{comma}j / {group}u);
        let number = ({}) * ({}){bias};\n",
        scale(spec),
        number(spec)
    )
}

/// The numbers that packed ones stand for; without a global scale.
pub(super) fn dequantize(context: &Context, spec: &QuantSpec, inputs: &[In], out: &Out) -> Result<()> {
    formula::run(context, Dequantize { spec: *spec }, &[], inputs, out)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Dequantize {
    spec: QuantSpec,
}

impl Formula for Dequantize {
    fn label(&self) -> &'static str {
        "dequantize"
    }

    fn body(&self, signature: &Signature) -> String {
        let last = signature.rank - 1;
        let unpack = unpack(&self.spec, 0, &places(last, ""));
        format!("        let j = c{last};\n{unpack}        return number;\n")
    }
}

/// `x @ wᵀ`, or `x @ w` without `transpose`, for one packed matrix.
pub(super) fn quantized_matmul(
    context: &Context,
    spec: &QuantSpec,
    transpose: bool,
    inputs: &[In],
    out: &Out,
) -> Result<()> {
    let depth = inputs[0].shape[out.shape.len() - 1];
    formula::run(context, QuantizedMatmul { spec: *spec, transpose }, &[depth as u32], inputs, out)
}

/// The number is the length of the axis that disappears.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct QuantizedMatmul {
    spec: QuantSpec,
    transpose: bool,
}

impl Formula for QuantizedMatmul {
    fn label(&self) -> &'static str {
        "quantized_matmul"
    }

    fn body(&self, signature: &Signature) -> String {
        let rank = signature.rank;
        let column = format!("c{}", rank - 1);
        let (j, row) = if self.transpose { ("k", column.as_str()) } else { (column.as_str(), "k") };
        format!(
            "    var sum = 0.0;
    for (var k = 0u; k < n0; k = k + 1u) {{
        let j = {j};
{}        sum = sum + x0({}) * number;
    }}
    return sum;\n",
            unpack(&self.spec, 1, row),
            places(rank - 1, "k")
        )
    }
}
