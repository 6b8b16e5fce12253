//! Random bits: Threefry-2x32, laid out as on the CPU, so that one key gives the same bits everywhere.

use std::fmt::Write;

use smallvec::SmallVec;

use super::assemble::launch;
use super::kernel::Kernel;
use super::software;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Text};
use crate::array::Dtype;
use crate::error::Result;

/// How far the second word is turned in each round; the rounds of every other group of four have the other list.
const TURNS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// The function of a key and a counter, its twenty rounds written out.
pub(super) fn threefry() -> String {
    let mut text = "fn rotate_(x: u32, n: u32) -> u32 { return (x << n) | (x >> (32u - n)); }
fn threefry_(k0: u32, k1: u32, c0: u32, c1: u32) -> vec2<u32> {
    let k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    var a = c0 + k0;
    var b = c1 + k1;
"
    .to_owned();
    for group in 1..=5 {
        for turn in TURNS[(group - 1) % 2] {
            let _ = writeln!(text, "    a = a + b;\n    b = rotate_(b, {turn}u) ^ a;");
        }
        let _ = writeln!(text, "    a = a + k{};\n    b = b + k{} + {group}u;", group % 3, (group + 1) % 3);
    }
    text.push_str("    return vec2<u32>(a, b);\n}\n");
    text
}

/// Words of `width` bytes, an equal share of `out` for each key (`[..., 2]`).
pub(super) fn random_bits(context: &Context, keys: &In, width: u8, out: &Out) -> Result<()> {
    if let Some(done) = software::random_bits(context, keys, width, out) {
        return done;
    }
    words(context, keys, width, out)
}

/// Parameters: elements, elements of a key, 32-bit words of a key, offset, distance of a key's halves, axes of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Words {
    dtype: Dtype,
    /// Bytes of a word.
    width: u8,
    /// Axes of keys.
    axes: usize,
    shared: bool,
}

impl Kernel for Words {
    fn label(&self) -> String {
        "random_bits".to_owned()
    }

    fn text(&self) -> Text {
        let &Words { dtype, width, axes, shared } = self;
        let mut text = Text::new(shared);
        text.output(dtype);
        text.input(Dtype::Uint32);
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
    // The first words of all pairs come first, then their second words; the middle of an odd number has no partner.
    let second = w >= partner;
    let c0 = select(min(w, half), w - partner, second);
    let c1 = select(select(0u, partner + w, w < half), w, second);
    let pair = threefry_(k0, k1, c0, c1);
    let v = select(pair.x, pair.y, second);
    return {bits};\n"
            );
        let _ = write!(text.body, "{}fn value(i: u32) -> {} {{\n{body}}}\n", threefry(), wgsl::scalar(dtype));
        text.map_entry(dtype);
        text
    }
}

/// Words of any number of keys, each made for itself.
fn words(context: &Context, keys: &In, width: u8, out: &Out) -> Result<()> {
    let axes = keys.shape.len() - 1;
    let shared = shares(std::slice::from_ref(keys), out.buffer);
    let pipeline = context.pipeline(&Words { dtype: out.dtype, width, axes, shared })?;
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
