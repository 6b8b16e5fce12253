//! Random bits: Threefry-2x32, laid out as on the CPU, so that one key gives the same bits everywhere.

use std::fmt::Write;

use smallvec::SmallVec;

use super::assemble::launch;
use super::pipeline::Key;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Text};
use crate::array::Dtype;
use crate::error::Result;

const THREEFRY: &str = "
fn rotate_(x: u32, n: u32) -> u32 { return (x << n) | (x >> (32u - n)); }
fn threefry_(k0: u32, k1: u32, c0: u32, c1: u32) -> vec2<u32> {
    var ks = array<u32, 3>(k0, k1, k0 ^ k1 ^ 0x1BD11BDAu);
    var even = array<u32, 4>(13u, 15u, 26u, 6u);
    var odd = array<u32, 4>(17u, 29u, 16u, 24u);
    var a = c0 + k0;
    var b = c1 + k1;
    for (var g = 1u; g <= 5u; g = g + 1u) {
        for (var r = 0u; r < 4u; r = r + 1u) {
            a = a + b;
            b = rotate_(b, select(even[r], odd[r], (g & 1u) == 0u)) ^ a;
        }
        a = a + ks[g % 3u];
        b = b + ks[(g + 1u) % 3u] + g;
    }
    return vec2<u32>(a, b);
}
";

/// Words of `width` bytes, an equal share of `out` for each key (`[..., 2]`).
pub(super) fn random_bits(context: &Context, keys: &In, width: u8, out: &Out) -> Result<()> {
    let axes = keys.shape.len() - 1;
    let shared = shares(std::slice::from_ref(keys), out.buffer);
    let words = [out.dtype as u32, axes as u32, u32::from(shared)];
    let pipeline =
        context.pipeline(Key { family: "random_bits", words: SmallVec::from_slice(&words) }, || {
            let mut text = Text::new(shared);
            text.output(out.dtype);
            text.input(Dtype::Uint32);
            // Elements, elements of a key, 32-bit words of a key, offset, distance of a key's halves.
            let [_, each, count, offset, halves] = [0; 5].map(|_| text.take(1));
            let (sizes, strides) = (text.take(axes.saturating_sub(1)), text.take(axes));
            let mut body = String::new();
            let _ = writeln!(body, "    let k = i / p.p{each};\n    let j = i % p.p{each};");
            positions(&mut body, "c", "k", axes, sizes);
            let at = position_sum(&format!("p.p{offset}"), "c", axes, strides);
            let (word, bits) = match width {
                4 => ("j", "v"),
                2 => ("(j >> 1u)", "((v >> ((j & 1u) << 4u)) & 0xffffu)"),
                _ => ("(j >> 2u)", "((v >> ((j & 3u) << 3u)) & 0xffu)"),
            };
            let _ = write!(
                body,
                "    let at = {at};
    let k0 = ld0(at);
    let k1 = ld0(at + p.p{halves});
    let w = {word};
    let half = p.p{count} / 2u;
    let partner = p.p{count} - half;
    var v: u32;
    if (w < half) {{ v = threefry_(k0, k1, w, partner + w).x; }}
    else if (w >= partner) {{ v = threefry_(k0, k1, w - partner, w).y; }}
    else {{ v = threefry_(k0, k1, half, 0u).x; }}
    return {bits};\n"
            );
            let _ =
                write!(text.body, "{THREEFRY}fn value(i: u32) -> {} {{\n{body}}}\n", wgsl::scalar(out.dtype));
            text.map_entry(out.dtype);
            ("random_bits".to_owned(), text)
        })?;
    let each = out.elements() / (keys.elements() / 2).max(1);
    let window = context.window(keys)?;
    let mut params: SmallVec<[u32; 16]> = SmallVec::from_slice(&[
        out.elements() as u32,
        each as u32,
        (each * usize::from(width)).div_ceil(4) as u32,
        (keys.offset - window.skipped) as u32,
        keys.strides[axes] as i32 as u32,
    ]);
    params.extend(keys.shape[..axes].iter().skip(1).map(|&d| d as u32));
    params.extend(keys.strides[..axes].iter().map(|&s| s as i32 as u32));
    launch(context, &pipeline, out, &[window.bind], &params)
}
