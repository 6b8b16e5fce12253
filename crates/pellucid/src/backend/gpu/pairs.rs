//! Elementwise kernels that read and write several 32-bit elements at once.
//!
//! A processor in software reads memory invocation by invocation, at a price that hardly depends on the size of what is
//! read: 64 bits at once halve it. Each time it waits for what it has put together to come back from its stack, and the
//! numbers of a vector share that wait.

use std::fmt::Write;

use super::device::Gpu;
use super::elementwise::{Layout, Lie, instructions};
use super::tensor::{In, Out};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::Dtype;
use crate::op::Program;

/// How a kernel goes over pairs of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    /// How many pairs an invocation has: one, or a vector of them.
    count: u32,
    /// Every invocation has its pairs, so that none has to look: where some may stop, all are slower.
    whole: bool,
}

impl Pairs {
    /// The longest vectors of pairs that all arrays are read and written in; `None` if there are none, or the device
    /// gains nothing.
    pub fn of(gpu: &Gpu, layout: &Layout, inputs: &[In], out: &Out) -> Option<Pairs> {
        if !gpu.is_software() || !gpu.has(wgpu::Features::SHADER_INT64) || out.dtype.size() != 4 {
            return None;
        }
        let n = out.elements();
        let fits = |x: &In, lie: Lie, elements: usize| match lie {
            Lie::One => true,
            Lie::Flat => x.dtype.size() == 4 && x.offset.is_multiple_of(elements),
            Lie::Strided => false,
        };
        let fit = |&count: &usize| {
            let elements = 2 * count;
            n.is_multiple_of(elements)
                && inputs.iter().zip(&layout.lies).all(|(x, &lie)| fits(x, lie, elements))
        };
        let count = [4, 2, 1].into_iter().find(fit)?;
        let group = 2 * count * GROUP as usize;
        Some(Pairs { count: count as u32, whole: n.is_multiple_of(group) && n / group <= ROW as usize })
    }

    /// Elements that an invocation makes.
    pub fn elements(self) -> u32 {
        2 * self.count
    }

    /// What tells its kernels from others.
    pub fn key(self) -> u32 {
        self.count | u32::from(self.whole) << 8
    }

    /// The kernel of a program; its parameters are those of the kernel that makes single elements.
    pub fn text(self, program: &Program, layout: &Layout, out: Dtype, shared: bool) -> Text {
        let (count, elements) = (self.count, self.elements());
        let ty = if count == 1 { "u64".to_owned() } else { format!("vec{count}<u64>") };
        let pair = |name: &str, i: u32| if count == 1 { name.to_owned() } else { format!("{name}[{i}]") };
        let mut text = Text::new(shared);
        text.output_of(&ty);
        text.take(2);
        let mut loads = String::new();
        let mut arguments = vec![Vec::new(); elements as usize];
        for (n, (&lie, &dtype)) in layout.lies.iter().zip(&program.inputs).enumerate() {
            let name = format!("q{n}");
            if lie == Lie::Flat {
                text.input_of(&ty);
                let offset = text.take(1);
                let _ = writeln!(loads, "    let {name} = in{n}[p.p{offset} / {elements}u + w];");
                for i in 0..count {
                    let both = pair(&name, i);
                    arguments[2 * i as usize].push(wgsl::decoded(dtype, &format!("u32({both})")));
                    arguments[2 * i as usize + 1].push(wgsl::decoded(dtype, &format!("u32({both} >> 32u)")));
                }
            } else {
                text.input(dtype);
                let offset = text.take(1);
                let _ = writeln!(loads, "    let {name} = ld{n}(p.p{offset});");
                arguments.iter_mut().for_each(|arguments| arguments.push(name.clone()));
            }
        }
        let function = function(program, out, &mut text);
        let end = if self.whole {
            String::new()
        } else {
            format!("    if (w * {elements}u >= p.p0) {{ return; }}\n")
        };
        let _ = write!(
            text.body,
            "{function}@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
{end}{loads}    out[w] = {ty}({pairs});
}}
",
            pairs = packed(out, &arguments)
        );
        text
    }
}

/// A program as a function `value` of its inputs' elements.
pub(super) fn function(program: &Program, out: Dtype, text: &mut Text) -> String {
    let name = |(n, &dtype): (usize, &Dtype)| format!("x{n}: {}", wgsl::scalar(dtype));
    let names: Vec<String> = program.inputs.iter().enumerate().map(name).collect();
    let body = instructions(program, text);
    format!("fn value({}) -> {} {{\n{body}}}\n", names.join(", "), wgsl::scalar(out))
}

/// The values of an even number of elements, given the function's arguments for each, as a list of pairs.
pub(super) fn packed(out: Dtype, arguments: &[Vec<String>]) -> String {
    let value = |arguments: &[String]| bits(out, &format!("value({})", arguments.join(", ")));
    let pairs: Vec<String> = arguments
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[low, high]| format!("u64({}) | (u64({}) << 32u)", value(low), value(high)))
        .collect();
    pairs.join(", ")
}

/// The bits of a 32-bit value.
fn bits(dtype: Dtype, value: &str) -> String {
    if dtype == Dtype::Uint32 { value.to_owned() } else { format!("bitcast<u32>({value})") }
}
