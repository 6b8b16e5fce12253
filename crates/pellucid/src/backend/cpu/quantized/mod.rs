//! Numbers in few bits: groups of neighbours share a scale (and, in mode affine, a bias).
//!
//! The bytes are those of MLX: arrays that either packed can be read by the other. Products read the packed weights
//! once and multiply in `f32`.

mod code;
mod product;

pub(crate) use product::quantized_matmul;

use super::accumulator::Acc;
use super::real::{Rows, put};
use super::simd::{Kernel, dispatch};
use super::strided::{copy_strided, row_major};
use super::tensor::{In, Out};
use super::{layout::Shared, parallel};
use crate::array::Dtype;
use crate::error::Result;
use crate::memory::Scratch;
use crate::op::{QuantMode, QuantPart, QuantSpec};
use code::{Code, Fp4, Fp8, Int, scale, to_e8m0, to_fp4, to_fp8, with_code};

/// One array of the packed form of `w`, along its last axis. A global scale, the second input if there is one, is what the
/// largest number would be.
pub(crate) fn quantize(spec: &QuantSpec, part: QuantPart, inputs: &[In], out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let (rows, global) = (Rows::new(&inputs[0]), global(inputs.get(1)));
    let (len, group) = (rows.len(), spec.group);
    let (groups, bytes) = (len / group, len * spec.bits as usize / 8);
    let raw = Shared::from_ptr(out.ptr());
    let out = &*out;
    parallel::ranges(rows.count(), 1, len * 16, |range| {
        let (mut buf, mut codes) = (Vec::new(), vec![0u8; len]);
        let (mut factors, mut scales) = (vec![0.0f32; groups], vec![0u8; groups]);
        for row in range {
            let w = rows.get::<f32>(row, &mut buf);
            for (g, (w, codes)) in w.chunks(group).zip(codes.chunks_mut(group)).enumerate() {
                if spec.mode == QuantMode::Affine {
                    let (scale, bias) = affine(spec, w, codes);
                    factors[g] = if part == QuantPart::Biases { bias } else { scale };
                } else {
                    scales[g] = floating(spec, w, global, codes);
                }
            }
            // SAFETY: this row of the output belongs to this range alone.
            unsafe {
                match (part, spec.mode) {
                    (QuantPart::Words, _) => code::pack(spec, &codes, raw.slice(row * bytes, bytes)),
                    (_, QuantMode::Affine) => put(out, row * groups, &factors),
                    _ => raw.slice(row * groups, groups).copy_from_slice(&scales),
                }
            }
        }
    });
    Ok(())
}

/// The number in an array of one.
fn global(x: Option<&In>) -> Option<f32> {
    let mut value = [0.0f32];
    // SAFETY: an array of one element.
    x.map(|x| unsafe { f32::read(x.dtype, x.ptr(), 1, &mut value) })?;
    Some(value[0])
}

/// The scale and the bias of a group, and its codes. The end of the range that is farther from zero is met exactly, and
/// so is zero where it lies inside.
fn affine(spec: &QuantSpec, w: &[f32], codes: &mut [u8]) -> (f32, f32) {
    let most = ((1u32 << spec.bits) - 1) as f32;
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for &x in w {
        high = if high < x { x } else { high };
        low = if x < low { x } else { low };
    }
    if spec.bits == 1 {
        // Two numbers: the ends of the range.
        let scale = (high - low).max(1e-7);
        for (code, &x) in codes.iter_mut().zip(w) {
            *code = ((x - low) / scale).round_ties_even().clamp(0.0, 1.0) as u8;
        }
        return (scale, low);
    }
    let below = low.abs() > high.abs();
    let step = ((high - low) / most).max(1e-7);
    let mut scale = if below { step } else { -step };
    let edge = if below { low } else { high };
    let steps = (edge / scale).round_ties_even();
    let mut bias = 0.0;
    if steps != 0.0 {
        scale = edge / steps;
        bias = edge;
    }
    for (code, &x) in codes.iter_mut().zip(w) {
        *code = ((x - bias) / scale).round_ties_even().max(0.0).min(most) as u8;
    }
    (scale, bias)
}

/// The code of a group's scale, and the codes of its numbers.
fn floating(spec: &QuantSpec, w: &[f32], global: Option<f32>, codes: &mut [u8]) -> u8 {
    let largest = w.iter().fold(0.0f32, |m, x| if m < x.abs() { x.abs() } else { m });
    let most = if spec.bits == 4 { 6.0 } else { 448.0 };
    let inverse = global.map_or(1.0, |global| if global > 0.0 { 6.0 * 448.0 / global } else { 1.0 });
    let wanted = largest / most * inverse;
    let scale_code = if spec.mode == QuantMode::Nvfp4 { to_fp8(wanted) } else { to_e8m0(wanted) };
    let scale = scale(spec.mode, scale_code);
    for (code, &x) in codes.iter_mut().zip(w) {
        let x = if scale == 0.0 { 0.0 } else { x * inverse / scale };
        *code = if spec.bits == 4 { to_fp4(x) } else { to_fp8(x) };
    }
    scale_code
}

/// The numbers that packed ones stand for. Inputs: words, scales, biases in mode affine, a global scale if there is one.
pub(crate) fn dequantize(spec: &QuantSpec, inputs: &[In], out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let affine = spec.mode == QuantMode::Affine;
    let biases = if affine { inputs.get(2) } else { None };
    let packed = Packed::new("dequantize", spec, &inputs[0], &inputs[1], biases)?;
    let global = if affine { None } else { global(inputs.get(2)) };
    let len = packed.groups * spec.group;
    let factor = global.map_or(1.0, |global| global / (6.0 * 448.0));
    let out = &*out;
    parallel::ranges(out.elements() / len, 1, len * 8, |range| {
        let mut values = vec![0.0f32; len];
        for row in range {
            packed.unpack(row, 0..packed.groups, &mut values);
            if global.is_some() {
                values.iter_mut().for_each(|x| *x *= factor);
            }
            // SAFETY: this row of the output belongs to this range alone.
            unsafe { put(out, row * len, &values) };
        }
    });
    Ok(())
}

/// Packed rows, without gaps between them.
pub(super) struct Packed<'a> {
    pub spec: &'a QuantSpec,
    words: Bytes<'a>,
    scales: Bytes<'a>,
    biases: Option<Bytes<'a>>,
    /// Type of scales and biases.
    dtype: Dtype,
    /// Groups of one row.
    pub groups: usize,
}

impl<'a> Packed<'a> {
    pub fn new(
        function: &'static str,
        spec: &'a QuantSpec,
        w: &In<'a>,
        scales: &In<'a>,
        biases: Option<&In<'a>>,
    ) -> Result<Packed<'a>> {
        let groups = scales.shape.last().copied().unwrap_or(0);
        Ok(Packed {
            spec,
            words: Bytes::new(function, w)?,
            scales: Bytes::new(function, scales)?,
            biases: biases.map(|b| Bytes::new(function, b)).transpose()?,
            dtype: scales.dtype,
            groups,
        })
    }

    /// The first byte of a group.
    fn codes(&self, row: usize, group: usize) -> *const u8 {
        let bytes = self.spec.group * self.spec.bits as usize / 8;
        self.words.ptr().wrapping_add((row * self.groups + group) * bytes)
    }

    /// Scales and biases of groups of a row as `f32`.
    fn factors(&self, row: usize, groups: std::ops::Range<usize>, scales: &mut [f32], biases: &mut [f32]) {
        let at = row * self.groups + groups.start;
        let size = self.dtype.size();
        // SAFETY: groups of this row.
        unsafe {
            if self.spec.mode == QuantMode::Affine {
                f32::read(self.dtype, self.scales.ptr().add(at * size), 1, scales);
                if let Some(b) = &self.biases {
                    f32::read(self.dtype, b.ptr().add(at * size), 1, biases);
                }
            } else {
                for (i, s) in scales.iter_mut().enumerate() {
                    *s = scale(self.spec.mode, *self.scales.ptr().add(at + i));
                }
                biases.fill(0.0);
            }
        }
    }

    /// The numbers of some groups of a row.
    pub fn unpack(&self, row: usize, groups: std::ops::Range<usize>, to: &mut [f32]) {
        const MOST: usize = 64;
        let (mut scales, mut biases) = ([0.0f32; MOST], [0.0f32; MOST]);
        let group = self.spec.group;
        for (part, to) in to.chunks_mut(MOST * group).enumerate() {
            let first = groups.start + part * MOST;
            let count = to.len() / group;
            let (scales, biases) = (&mut scales[..count], &mut biases[..count]);
            self.factors(row, first..first + count, scales, biases);
            let from = self.codes(row, first);
            with_code!(self.spec, C => {
                dispatch(Unpack::<C> { from, group, scales, biases, to, code: std::marker::PhantomData });
            });
        }
    }
}

struct Unpack<'a, C> {
    from: *const u8,
    group: usize,
    scales: &'a [f32],
    biases: &'a [f32],
    to: &'a mut [f32],
    code: std::marker::PhantomData<C>,
}

impl<C: Code> Kernel for Unpack<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let bytes = self.group / 8 * C::BITS;
        for (g, to) in self.to.chunks_mut(self.group).enumerate() {
            let (scale, bias) = (self.scales[g], self.biases[g]);
            for (i, to) in to.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                // SAFETY: eight codes of this group.
                let values = unsafe { C::eight(self.from.add(g * bytes + i * C::BITS)) };
                for j in 0..8 {
                    to[j] = scale * values[j] + bias;
                }
            }
        }
    }
}

/// An array's bytes without gaps: where they lie, or copied.
struct Bytes<'a> {
    x: In<'a>,
    copy: Option<Scratch<u64>>,
}

impl<'a> Bytes<'a> {
    fn new(function: &'static str, x: &In<'a>) -> Result<Bytes<'a>> {
        if x.is_contiguous() {
            return Ok(Bytes { x: *x, copy: None });
        }
        let size = x.dtype.size();
        let words = (x.elements() * size).div_ceil(8);
        let mut copy = Scratch::filled(function, words, 0u64)?;
        // SAFETY: room for all elements in row-major order.
        unsafe {
            copy_strided(x.ptr(), x.strides, copy.as_mut_ptr().cast(), &row_major(x.shape), x.shape, size);
        }
        Ok(Bytes { x: *x, copy: Some(copy) })
    }

    fn ptr(&self) -> *const u8 {
        self.copy.as_ref().map_or(self.x.ptr(), |copy| copy.as_ptr().cast())
    }
}

// SAFETY: the bytes are only read.
unsafe impl Sync for Bytes<'_> {}

#[cfg(test)]
mod tests;
