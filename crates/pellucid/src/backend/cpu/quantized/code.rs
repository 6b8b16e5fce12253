//! The codes of quantised numbers: how eight neighbours lie in memory, and which number a code stands for.
//!
//! Codes of any width follow each other from the lowest bit on, so that eight of them are as many bytes as one has bits.

use crate::op::{QuantMode, QuantSpec};

/// A way to write numbers in few bits.
pub(super) trait Code: Send + Sync {
    /// Bits of one code, and bytes of eight.
    const BITS: usize;

    /// The eight numbers that start at a byte.
    ///
    /// # Safety
    /// `BITS` bytes must be readable there.
    unsafe fn eight(from: *const u8) -> [f32; 8];
}

/// Whole numbers from zero on.
pub(super) struct Int<const B: usize>;
/// Floating point with two bits of exponent and one of mantissa.
pub(super) struct Fp4;
/// Floating point with four bits of exponent and three of mantissa.
pub(super) struct Fp8;

/// Eight codes of `B` bits.
///
/// # Safety
/// `B` bytes must be readable.
#[inline(always)]
unsafe fn codes<const B: usize>(from: *const u8) -> [u32; 8] {
    let mut bytes = [0u8; 8];
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), B) };
    let word = u64::from_le_bytes(bytes);
    let mask = (1u32 << B) - 1;
    if B <= 4 {
        // All eight fit in one half: a shift of a vector.
        let word = word as u32;
        std::array::from_fn(|i| (word >> (i * B)) & mask)
    } else {
        let (low, high) = (word as u32, (word >> (4 * B)) as u32);
        std::array::from_fn(|i| if i < 4 { (low >> (i * B)) & mask } else { (high >> ((i - 4) * B)) & mask })
    }
}

impl<const B: usize> Code for Int<B> {
    const BITS: usize = B;

    #[inline(always)]
    unsafe fn eight(from: *const u8) -> [f32; 8] {
        // SAFETY: passed on to the caller. As signed numbers, because that conversion is one instruction.
        unsafe { codes::<B>(from) }.map(|code| code as i32 as f32)
    }
}

impl Code for Fp4 {
    const BITS: usize = 4;

    #[inline(always)]
    unsafe fn eight(from: *const u8) -> [f32; 8] {
        // SAFETY: passed on to the caller.
        unsafe { codes::<4>(from) }.map(fp4)
    }
}

impl Code for Fp8 {
    const BITS: usize = 8;

    #[inline(always)]
    unsafe fn eight(from: *const u8) -> [f32; 8] {
        // SAFETY: passed on to the caller.
        unsafe { codes::<8>(from) }.map(fp8)
    }
}

/// The number a four-bit code stands for: 0, ½, 1, 1½, 2, 3, 4, 6 and their negatives.
#[inline(always)]
pub(super) fn fp4(code: u32) -> f32 {
    let (exponent, last) = ((code >> 1) & 3, code & 1);
    let halves = if exponent == 0 { last } else { (2 | last) << exponent >> 1 };
    let size = halves as i32 as f32 * 0.5;
    f32::from_bits(size.to_bits() | (code & 8) << 28)
}

/// The number an eight-bit code stands for; there is no infinity, and the largest code is NaN.
#[inline(always)]
pub(super) fn fp8(code: u32) -> f32 {
    let size = code & 0x7f;
    let normal = f32::from_bits((size << 20) + (120 << 23));
    let small = (size & 7) as i32 as f32 * (1.0 / 512.0);
    let value = if size < 8 { small } else { normal };
    let value = if size == 0x7f { f32::NAN } else { value };
    f32::from_bits(value.to_bits() | (code & 0x80) << 24)
}

/// The nearest four-bit code; of two that are equally near the one closer to zero, as MLX has it; beyond the largest
/// the largest.
pub(super) fn to_fp4(x: f32) -> u8 {
    if x.is_nan() {
        return 7;
    }
    let size = match x.abs() {
        s if s > 5.0 => 7,
        s if s > 3.5 => 6,
        s if s > 2.5 => 5,
        s if s > 1.75 => 4,
        s if s > 1.25 => 3,
        s if s > 0.75 => 2,
        s if s > 0.25 => 1,
        _ => 0,
    };
    // What rounds to zero loses its sign.
    size | if x.is_sign_negative() && size != 0 { 8 } else { 0 }
}

/// The nearest eight-bit code; ties to the even one, beyond 448 that one.
pub(super) fn to_fp8(x: f32) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let size = x.abs();
    let code = if size < 1.0 / 64.0 {
        // Steps of 2⁻⁹ below the smallest normal number; rounding up to it gives its code.
        (size * 512.0).round_ties_even() as u32
    } else {
        // NaN becomes the largest number, as MLX has it.
        let bits = size.min(448.0).to_bits();
        let even = (bits >> 20) & 1;
        (bits + 0x7_ffff + even - (120 << 23)) >> 20
    };
    sign | code.min(0x7e) as u8
}

/// The power of two that an exponent of eight bits stands for.
#[inline(always)]
pub(super) fn e8m0(code: u8) -> f32 {
    f32::from_bits(if code == 0 { 0x40_0000 } else { u32::from(code) << 23 })
}

/// The exponent of eight bits of the next power of two that is no smaller: no number of the group is cut off.
pub(super) fn to_e8m0(x: f32) -> u8 {
    if !x.is_finite() {
        return 0xff;
    }
    if x == 0.0 {
        // A group of zeros: MLX gives it the scale one.
        return 127;
    }
    (x.log2().ceil().clamp(-127.0, 127.0) as i32 + 127) as u8
}

/// The scale that a byte stands for in a mode without biases.
#[inline(always)]
pub(super) fn scale(mode: QuantMode, code: u8) -> f32 {
    if mode == QuantMode::Nvfp4 { fp8(u32::from(code)) } else { e8m0(code) }
}

/// Runs the body with `$code` naming the code of a specification.
macro_rules! with_code {
    ($spec:expr, $code:ident => $body:expr) => {{
        use $crate::op::QuantMode;
        macro_rules! body {
            ($ty:ty) => {{
                type $code = $ty;
                $body
            }};
        }
        let spec: &$crate::op::QuantSpec = $spec;
        match (spec.mode, spec.bits) {
            (QuantMode::Mxfp4 | QuantMode::Nvfp4, _) => body!(Fp4),
            (QuantMode::Mxfp8, _) => body!(Fp8),
            (QuantMode::Affine, 1) => body!(Int<1>),
            (QuantMode::Affine, 2) => body!(Int<2>),
            (QuantMode::Affine, 3) => body!(Int<3>),
            (QuantMode::Affine, 4) => body!(Int<4>),
            (QuantMode::Affine, 5) => body!(Int<5>),
            (QuantMode::Affine, 6) => body!(Int<6>),
            (QuantMode::Affine, _) => body!(Int<8>),
        }
    }};
}
pub(super) use with_code;

/// Writes codes of `spec.bits` bits one after the other; as many as fill whole bytes.
pub(super) fn pack(spec: &QuantSpec, codes: &[u8], to: &mut [u8]) {
    for (codes, to) in codes.chunks(8).zip(to.chunks_mut(spec.bits as usize)) {
        let mut word = 0u64;
        for (i, &code) in codes.iter().enumerate() {
            word |= u64::from(code) << (i * spec.bits as usize);
        }
        let bytes = word.to_le_bytes();
        to.copy_from_slice(&bytes[..to.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_floating_code_is_its_own_nearest() {
        for code in (0..16u8).filter(|&c| c != 8) {
            assert_eq!(to_fp4(fp4(u32::from(code))), code);
        }
        for code in (0..=0xffu8).filter(|c| c & 0x7f != 0x7f) {
            assert_eq!(to_fp8(fp8(u32::from(code))), code, "{}", fp8(u32::from(code)));
        }
        for code in 0..=254u8 {
            assert_eq!(to_e8m0(e8m0(code)), code);
        }
    }

    #[test]
    fn ties_go_to_the_even_code_and_large_numbers_to_the_largest() {
        assert_eq!([0.25, 0.75, 1.25, 3.5, 5.0, 100.0].map(to_fp4), [0, 1, 2, 5, 6, 7]);
        assert_eq!(
            [1.0625, 1.1875, 1e9, 1.0 / 1024.0].map(|x| fp8(u32::from(to_fp8(x)))),
            [1.0, 1.25, 448.0, 0.0]
        );
    }

    #[test]
    fn codes_of_every_width_come_back_from_their_bytes() {
        for bits in [1, 2, 3, 4, 5, 6, 8] {
            let spec = QuantSpec { mode: QuantMode::Affine, bits, group: 32 };
            let codes: Vec<u8> = (0..32u32).map(|i| (i * 37 % (1 << bits)) as u8).collect();
            let mut bytes = vec![0; 32 * bits as usize / 8];
            pack(&spec, &codes, &mut bytes);
            let back: Vec<u8> = with_code!(&spec, C => {
                // SAFETY: whole groups of eight.
                bytes.chunks(C::BITS).flat_map(|b| unsafe { C::eight(b.as_ptr()) }).map(|x| x as u8).collect()
            });
            assert_eq!(back, codes);
        }
    }
}
