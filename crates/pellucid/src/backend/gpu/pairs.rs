//! Elementwise kernels that read and write two 32-bit elements at once.
//!
//! A processor in software reads memory element by element, at a price that hardly depends on their size: 64 bits at
//! once halve it.

use std::fmt::Write;

use super::device::Gpu;
use super::elementwise::{Layout, Lie, instructions};
use super::tensor::{In, Out};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::Dtype;
use crate::op::Program;

/// Whether all arrays are read and written as whole pairs.
pub(super) fn fit(gpu: &Gpu, layout: &Layout, inputs: &[In], out: &Out) -> bool {
    let paired = |x: &In, lie: Lie| match lie {
        Lie::One => true,
        Lie::Flat => x.dtype.size() == 4 && x.offset.is_multiple_of(2),
        Lie::Strided => false,
    };
    gpu.is_software()
        && gpu.has(wgpu::Features::SHADER_INT64)
        && out.dtype.size() == 4
        && out.elements().is_multiple_of(2)
        && inputs.iter().zip(&layout.lies).all(|(x, &lie)| paired(x, lie))
}

/// The bits of a 32-bit value.
fn bits(dtype: Dtype, value: &str) -> String {
    if dtype == Dtype::Uint32 { value.to_owned() } else { format!("bitcast<u32>({value})") }
}

/// The kernel of a program; its parameters are those of the kernel that makes single elements.
pub(super) fn text(program: &Program, layout: &Layout, out: Dtype, shared: bool) -> Text {
    let mut text = Text::new(shared);
    text.output_of("u64");
    text.take(2);
    let (mut loads, mut names) = (String::new(), Vec::new());
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (n, (&lie, &dtype)) in layout.lies.iter().zip(&program.inputs).enumerate() {
        names.push(format!("x{n}: {}", wgsl::scalar(dtype)));
        if lie == Lie::Flat {
            text.input_of("u64");
            let offset = text.take(1);
            let _ = writeln!(loads, "    let q{n} = in{n}[(p.p{offset} >> 1u) + w];");
            low.push(wgsl::decoded(dtype, &format!("u32(q{n})")));
            high.push(wgsl::decoded(dtype, &format!("u32(q{n} >> 32u)")));
        } else {
            text.input(dtype);
            let offset = text.take(1);
            let _ = writeln!(loads, "    let q{n} = ld{n}(p.p{offset});");
            low.push(format!("q{n}"));
            high.push(format!("q{n}"));
        }
    }
    let body = instructions(program, &mut text);
    let [low, high] = [low, high].map(|arguments| bits(out, &format!("value({})", arguments.join(", "))));
    let _ = write!(
        text.body,
        "fn value({names}) -> {ty} {{\n{body}}}
@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (w * 2u >= p.p0) {{ return; }}
{loads}    out[w] = u64({low}) | (u64({high}) << 32u);
}}
",
        names = names.join(", "),
        ty = wgsl::scalar(out)
    );
    text
}
