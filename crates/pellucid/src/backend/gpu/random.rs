//! Random bits: Threefry-2x32, laid out as on the CPU, so that one key gives the same bits everywhere.

use std::fmt::Write;

use smallvec::SmallVec;

use super::assemble::launch;
use super::pipeline::Key;
use super::record::{Bind, folded};
use super::software::VECTOR;
use super::tensor::{Context, In, Out, position_sum, positions, share_memory, shares};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::Dtype;
use crate::error::Result;

/// How far the second word is turned in each round; the rounds of every other group of four have the other list.
const TURNS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// The function of a key and a counter, its twenty rounds written out.
fn threefry() -> String {
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
    let one_key = keys.elements() == 2;
    let vectors = context.gpu.has_vectors() && out.elements().is_multiple_of(2 * VECTOR);
    if one_key && width == 4 && vectors && !share_memory(keys.buffer, out.buffer) {
        return pairs_of_vectors(context, keys, out);
    }
    words(context, keys, width, out)
}

/// The words of one key: an invocation makes a vector of the first half, and of the second one what comes with it.
fn pairs_of_vectors(context: &Context, keys: &In, out: &Out) -> Result<()> {
    let key = Key { family: "random_vectors", words: SmallVec::new() };
    let pipeline = context.pipeline_by(key, || {
        let mut text = Text::new(false);
        text.output_of("vec4<u64>");
        text.input(Dtype::Uint32);
        // Vectors of a half, offset, distance of the key's halves.
        let [vectors, offset, halves] = [0; 3].map(|_| text.take(1));
        let _ = write!(
            text.body,
            "{}@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (w >= p.p{vectors}) {{ return; }}
    let k0 = ld0(p.p{offset});
    let k1 = ld0(p.p{offset} + p.p{halves});
    let half = p.p{vectors} * {VECTOR}u;
",
            threefry()
        );
        for i in 0..VECTOR {
            let c = format!("w * {VECTOR}u + {i}u");
            let _ = writeln!(text.body, "    let v{i} = threefry_(k0, k1, {c}, half + {c});");
        }
        for (at, part) in [("w", "x"), ("p.p0 + w", "y")] {
            let pairs: Vec<String> =
                (0..VECTOR / 2).map(|i| format!("pack_(v{}.{part}, v{}.{part})", 2 * i, 2 * i + 1)).collect();
            let _ = writeln!(text.body, "    out[{at}] = vec4<u64>({});", pairs.join(", "));
        }
        text.body.push_str("}\n");
        ("random_bits".to_owned(), text)
    })?;
    let window = context.window(keys)?;
    let vectors = out.elements() / 2 / VECTOR;
    let distance = keys.strides[keys.shape.len() - 1];
    let params = [vectors as u32, (keys.offset - window.skipped) as u32, distance as i32 as u32];
    let target = Bind { buffer: out.buffer, start: 0, bytes: (out.elements() * 4) as u64 };
    let groups = folded((vectors as u64).div_ceil(u64::from(GROUP)));
    context.launch(&pipeline, &[target, window.bind], &params, groups)
}

/// Words of any number of keys, each made for itself.
fn words(context: &Context, keys: &In, width: u8, out: &Out) -> Result<()> {
    let axes = keys.shape.len() - 1;
    let shared = shares(std::slice::from_ref(keys), out.buffer);
    let words = [out.dtype as u32, axes as u32, u32::from(shared)];
    let pipeline =
        context.pipeline_by(Key { family: "random_bits", words: SmallVec::from_slice(&words) }, || {
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
    // The first words of all pairs come first, then their second words; the middle of an odd number has no partner.
    let second = w >= partner;
    let c0 = select(min(w, half), w - partner, second);
    let c1 = select(select(0u, partner + w, w < half), w, second);
    let pair = threefry_(k0, k1, c0, c1);
    let v = select(pair.x, pair.y, second);
    return {bits};\n"
            );
            let _ =
                write!(text.body, "{}fn value(i: u32) -> {} {{\n{body}}}\n", threefry(), wgsl::scalar(out.dtype));
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
