//! Convolutions, one invocation for each output: the taps of the kernel that meet the input are summed.

use std::fmt::Write;

use super::formula::{self, Formula, Signature, places};
use super::tensor::{Context, In, Out};
use crate::error::Result;
use crate::op::ConvSpec;

/// Convolves `x [N, spatial…, C]` with `w [O, spatial…, C / groups]`.
pub(super) fn conv(context: &Context, spec: &ConvSpec, inputs: &[In], out: &Out) -> Result<()> {
    let (x, w) = (&inputs[0], &inputs[1]);
    let n = x.shape.len() - 2;
    let channels = w.shape[n + 1];
    let per_group = w.shape[0] / spec.groups;
    let mut numbers = vec![channels as u32, per_group as u32];
    for axis in 0..n {
        numbers.extend([
            x.shape[axis + 1] as u32,
            w.shape[axis + 1] as u32,
            spec.stride[axis] as u32,
            spec.kernel_dilation[axis] as u32,
            spec.input_dilation[axis] as u32,
            spec.low[axis] as i32 as u32,
        ]);
    }
    formula::run(context, Convolution { flip: spec.flip }, &numbers, inputs, out)
}

/// The sum over all taps. Numbers: channels of a group, outputs of a group; for each axis the input's size, taps, stride,
/// dilation, distance of the input's elements, padding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Convolution {
    flip: bool,
}

impl Formula for Convolution {
    fn label(&self) -> &'static str {
        "conv_general"
    }

    fn body(&self, signature: &Signature) -> String {
        let n = signature.rank - 2;
        let out_channel = format!("c{}", n + 1);
        let mut text = format!("    let base = {out_channel} / n1 * n0;\n    var sum = 0.0;\n");
        let mut close = String::new();
        for axis in 0..n {
            let number = |k: usize| format!("n{}", 2 + axis * 6 + k);
            let [size, taps, stride, dilation, spread, low] = [0, 1, 2, 3, 4, 5].map(number);
            let tap = if self.flip { format!("{taps} - 1u - k{axis}") } else { format!("k{axis}") };
            let _ = write!(
                text,
                "    for (var k{axis} = 0u; k{axis} < {taps}; k{axis} = k{axis} + 1u) {{
    let place{axis} = bitcast<i32>(c{at} * {stride} + ({tap}) * {dilation}) - bitcast<i32>({low});
    if (place{axis} < 0 || u32(place{axis}) % {spread} != 0u) {{ continue; }}
    let p{axis} = u32(place{axis}) / {spread};
    if (p{axis} >= {size}) {{ continue; }}\n",
                at = axis + 1
            );
            close.push_str("    }\n");
        }
        let inside: Vec<String> = (0..n).map(|axis| format!("p{axis}")).collect();
        let taps: Vec<String> = (0..n).map(|axis| format!("k{axis}")).collect();
        let _ = write!(
            text,
            "    for (var c = 0u; c < n0; c = c + 1u) {{
        sum = sum + x0({}, {}, base + c) * x1({out_channel}, {}, c);
    }}\n{close}    return sum;\n",
            places(1, ""),
            inside.join(", "),
            taps.join(", ")
        );
        text
    }
}
