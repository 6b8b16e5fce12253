//! The blocks of packed numbers in `.gguf` files.

use half::f16;

use super::super::Arrays;
use crate::array::{Array, Dtype, Shape};
use crate::error::Result;

/// A type of blocks: how many numbers one holds, in how many bytes, and how they are read.
pub(super) struct Blocks {
    pub elements: usize,
    pub bytes: usize,
    way: Way,
}

enum Way {
    /// Words, scales and biases of packed arrays, with this many bits.
    Packed(u32, fn(&[u8], &mut [u8]) -> (f16, f16)),
    /// The numbers themselves.
    Unpacked(fn(&[u8], &mut [f32])),
}

impl Blocks {
    /// The blocks with this number in the file.
    pub fn of(kind: u32) -> Option<Blocks> {
        let blocks = |elements, bytes, way| Some(Blocks { elements, bytes, way });
        match kind {
            2 => blocks(32, 18, Way::Packed(4, q4_0)),
            3 => blocks(32, 20, Way::Packed(4, q4_1)),
            6 => blocks(32, 22, Way::Unpacked(q5_0)),
            7 => blocks(32, 24, Way::Unpacked(q5_1)),
            8 => blocks(32, 34, Way::Packed(8, q8_0)),
            10 => blocks(256, 84, Way::Unpacked(q2_k)),
            11 => blocks(256, 110, Way::Unpacked(q3_k)),
            12 => blocks(256, 144, Way::Unpacked(q4_k)),
            13 => blocks(256, 176, Way::Unpacked(q5_k)),
            14 => blocks(256, 210, Way::Unpacked(q6_k)),
            _ => None,
        }
    }

    /// Adds the arrays that blocks stand for.
    #[track_caller]
    pub fn insert(&self, name: &str, shape: &Shape, bytes: &[u8], arrays: &mut Arrays) -> Result<()> {
        let n = shape.len() - 1;
        let with = |last: usize| {
            let mut shape = shape.clone();
            shape.as_mut_slice()[n] = last;
            shape
        };
        match self.way {
            Way::Unpacked(read) => {
                let mut values = vec![0.0f32; shape.elements()];
                for (block, to) in bytes.chunks_exact(self.bytes).zip(values.chunks_exact_mut(self.elements))
                {
                    read(block, to);
                }
                let narrow: Vec<u8> = values.iter().flat_map(|&v| f16::from_f32(v).to_ne_bytes()).collect();
                arrays.insert(
                    name.to_owned(),
                    Array::from_bytes("load_gguf", &narrow, shape.clone(), Dtype::Float16)?,
                );
            }
            Way::Packed(bits, read) => {
                let size = self.elements * bits as usize / 8;
                let count = bytes.len() / self.bytes;
                let mut words = vec![0u8; count * size];
                let (mut scales, mut biases) = (Vec::new(), Vec::new());
                for (block, to) in bytes.chunks_exact(self.bytes).zip(words.chunks_exact_mut(size)) {
                    let (scale, bias) = read(block, to);
                    scales.extend(scale.to_ne_bytes());
                    biases.extend(bias.to_ne_bytes());
                }
                // Words are little-endian numbers of 32 bits.
                for word in words.as_chunks_mut::<4>().0 {
                    *word = u32::from_le_bytes(*word).to_ne_bytes();
                }
                let prefix = name.strip_suffix(".weight").unwrap_or(name);
                let groups = with(shape[n] / self.elements);
                let mut add = |name: String, bytes: &[u8], shape: Shape, dtype| {
                    arrays.insert(name, Array::from_bytes("load_gguf", bytes, shape, dtype)?);
                    Ok::<_, crate::error::Error>(())
                };
                add(name.to_owned(), &words, with(shape[n] * bits as usize / 32), Dtype::Uint32)?;
                add(format!("{prefix}.scales"), &scales, groups.clone(), Dtype::Float16)?;
                add(format!("{prefix}.biases"), &biases, groups, Dtype::Float16)?;
            }
        }
        Ok(())
    }
}

fn half(bytes: &[u8], at: usize) -> f16 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn single(bytes: &[u8], at: usize) -> f32 {
    half(bytes, at).to_f32()
}

/// The low halves of sixteen bytes are the first numbers, the high halves the next.
fn nibbles(from: &[u8], to: &mut [u8]) {
    let code = |i: usize| if i < 16 { from[i] & 15 } else { from[i - 16] >> 4 };
    for (pair, to) in to.iter_mut().enumerate() {
        *to = code(2 * pair) | code(2 * pair + 1) << 4;
    }
}

fn q4_0(block: &[u8], to: &mut [u8]) -> (f16, f16) {
    nibbles(&block[2..], to);
    let scale = half(block, 0);
    (scale, f16::from_f32(-8.0 * scale.to_f32()))
}

fn q4_1(block: &[u8], to: &mut [u8]) -> (f16, f16) {
    nibbles(&block[4..], to);
    (half(block, 0), half(block, 2))
}

fn q8_0(block: &[u8], to: &mut [u8]) -> (f16, f16) {
    // From −128… to 0….
    to.iter_mut().zip(&block[2..]).for_each(|(to, &from)| *to = from ^ 0x80);
    let scale = half(block, 0);
    (scale, f16::from_f32(-128.0 * scale.to_f32()))
}

/// The fifth bits of 32 numbers, and the other four.
fn five(block: &[u8], high: usize, low: usize, i: usize) -> u8 {
    let bits = u32::from_le_bytes([block[high], block[high + 1], block[high + 2], block[high + 3]]);
    let byte = block[low + i % 16];
    let four = if i < 16 { byte & 15 } else { byte >> 4 };
    four | (((bits >> i) & 1) as u8) << 4
}

fn q5_0(block: &[u8], to: &mut [f32]) {
    let scale = single(block, 0);
    to.iter_mut().enumerate().for_each(|(i, to)| *to = scale * (f32::from(five(block, 2, 6, i)) - 16.0));
}

fn q5_1(block: &[u8], to: &mut [f32]) {
    let (scale, low) = (single(block, 0), single(block, 2));
    to.iter_mut().enumerate().for_each(|(i, to)| *to = scale * f32::from(five(block, 4, 8, i)) + low);
}

fn q2_k(block: &[u8], to: &mut [f32]) {
    let (scale, low) = (single(block, 80), single(block, 82));
    for (i, to) in to.iter_mut().enumerate() {
        let both = block[i / 16];
        // Halves of 128 numbers, four runs of 32 in each, two bits of every byte for each run.
        let code = (block[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        *to = scale * f32::from(both & 15) * f32::from(code) - low * f32::from(both >> 4);
    }
}

fn q3_k(block: &[u8], to: &mut [f32]) {
    let scale = single(block, 108);
    let packed = &block[96..108];
    // Sixteen scales of six bits: four low bits each in eight bytes, two high bits each in the next four.
    let factor = |g: usize| {
        let low = if g < 8 { packed[g] & 15 } else { packed[g - 8] >> 4 };
        let high = (packed[8 + g % 4] >> (g / 4 * 2)) & 3;
        f32::from((low | high << 4) as i8 - 32)
    };
    for (i, to) in to.iter_mut().enumerate() {
        let two = (block[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        let high = (block[i % 32] >> (i / 32)) & 1;
        *to = scale * factor(i / 16) * (f32::from(two) - if high == 0 { 4.0 } else { 0.0 });
    }
}

/// The scale and the offset of a run of 32 numbers, six bits each, from twelve bytes.
fn six(packed: &[u8], run: usize) -> (f32, f32) {
    let (scale, low) = if run < 4 {
        (packed[run] & 63, packed[run + 4] & 63)
    } else {
        (packed[run + 4] & 15 | packed[run - 4] >> 6 << 4, packed[run + 4] >> 4 | packed[run] >> 6 << 4)
    };
    (f32::from(scale), f32::from(low))
}

fn q4_k(block: &[u8], to: &mut [f32]) {
    let (scale, low) = (single(block, 0), single(block, 2));
    for (i, to) in to.iter_mut().enumerate() {
        let run = i / 32;
        let (factor, offset) = six(&block[4..16], run);
        let byte = block[16 + run / 2 * 32 + i % 32];
        let code = if run % 2 == 0 { byte & 15 } else { byte >> 4 };
        *to = scale * factor * f32::from(code) - low * offset;
    }
}

fn q5_k(block: &[u8], to: &mut [f32]) {
    let (scale, low) = (single(block, 0), single(block, 2));
    for (i, to) in to.iter_mut().enumerate() {
        let run = i / 32;
        let (factor, offset) = six(&block[4..16], run);
        let byte = block[48 + run / 2 * 32 + i % 32];
        let four = if run % 2 == 0 { byte & 15 } else { byte >> 4 };
        let fifth = (block[16 + i % 32] >> run) & 1;
        *to = scale * factor * f32::from(four | fifth << 4) - low * offset;
    }
}

fn q6_k(block: &[u8], to: &mut [f32]) {
    let scale = single(block, 208);
    for (i, to) in to.iter_mut().enumerate() {
        let (part, run, at) = (i / 128, i % 128 / 32, i % 32);
        let byte = block[part * 64 + run % 2 * 32 + at];
        let four = if run < 2 { byte & 15 } else { byte >> 4 };
        let two = (block[128 + part * 32 + at] >> (run * 2)) & 3;
        let factor = block[192 + i / 16] as i8;
        *to = scale * f32::from(factor) * (f32::from(four | two << 4) - 32.0);
    }
}
