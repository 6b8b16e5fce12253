//! Arrays made from numbers: one value everywhere, and evenly spaced values.

use std::ops::Range;

use half::{bf16, f16};
use num_complex::Complex32;

use super::copy::by_size;
use super::{Out, parallel};
use crate::array::Dtype;
use crate::op::Scalar;

/// The bytes of a number as an element of `dtype`, in the low bytes of the result. Conversion follows the rules of casts.
pub(crate) fn element_bits(value: Scalar, dtype: Dtype) -> u64 {
    macro_rules! integer {
        ($T:ty, $U:ty) => {
            u64::from(match value {
                Scalar::Bool(v) => v as $T,
                Scalar::Int(v) => v as $T,
                Scalar::Uint(v) => v as $T,
                Scalar::Float(v) | Scalar::Complex(v, _) => v as $T,
            } as $U)
        };
    }
    match dtype {
        Dtype::Bool => u64::from(match value {
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
            Scalar::Uint(v) => v != 0,
            Scalar::Int(v) => v != 0,
            other => other.to_f64() != 0.0,
        }),
        Dtype::Uint8 => integer!(u8, u8),
        Dtype::Uint16 => integer!(u16, u16),
        Dtype::Uint32 => integer!(u32, u32),
        Dtype::Uint64 => integer!(u64, u64),
        Dtype::Int8 => integer!(i8, u8),
        Dtype::Int16 => integer!(i16, u16),
        Dtype::Int32 => integer!(i32, u32),
        Dtype::Int64 => integer!(i64, u64),
        Dtype::Float16 => u64::from(f16::from_f32(value.to_f64() as f32).to_bits()),
        Dtype::Bfloat16 => u64::from(bf16::from_f32(value.to_f64() as f32).to_bits()),
        Dtype::Float32 => u64::from((value.to_f64() as f32).to_bits()),
        Dtype::Float64 => value.to_f64().to_bits(),
        Dtype::Complex64 => bytemuck::cast(value.to_complex()),
    }
}

/// Writes `value` to every element.
pub(crate) fn full(value: Scalar, out: &mut Out) {
    let bits = element_bits(value, out.dtype);
    let (n, size, out) = (out.elements(), out.dtype.size(), &*out);
    by_size!(size, T => parallel::ranges(n, 4096, size, |r| {
        // SAFETY: `r` is below the number of elements, and ranges are disjoint.
        unsafe { part::<T>(out, &r) }.fill(bits as T);
    }));
}

/// # Safety
/// `r` must be below the number of elements, `T` of their size, and nobody else may hold these elements.
#[allow(clippy::mut_from_ref, reason = "threads share the output and take disjoint ranges of it")]
unsafe fn part<'a, T>(out: &'a Out, r: &Range<usize>) -> &'a mut [T] {
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts_mut(out.ptr().cast::<T>().add(r.start), r.len()) }
}

/// Writes `start + i · step`.
///
/// Floats multiply and add in their own type (16-bit ones in `float32`, rounded once), so that every element depends
/// only on its position; MLX adds `step` again and again on the CPU and drifts. Integers wrap, and their step is the
/// difference of the first two values after truncation, as in MLX. Bool is true where the value is not zero.
pub(crate) fn arange(start: Scalar, step: Scalar, out: &mut Out) {
    let (n, size, dtype, out) = (out.elements(), out.dtype.size(), out.dtype, &*out);
    parallel::ranges(n, 4096, size, |r| {
        macro_rules! write {
            ($T:ty, $f:expr) => {{
                // SAFETY: `r` is below the number of elements, which are of type `$T`, and ranges are disjoint.
                let part = unsafe { part::<$T>(out, &r) };
                let f = $f;
                for (i, d) in r.zip(part) {
                    *d = f(i);
                }
            }};
        }
        macro_rules! integer {
            ($T:ty) => {{
                let first = element_bits(start, dtype) as $T;
                let step = (element_bits(second(start, step), dtype) as $T).wrapping_sub(first);
                write!($T, |i: usize| first.wrapping_add(step.wrapping_mul(i as $T)))
            }};
        }
        let (s, d) = (start.to_f64(), step.to_f64());
        match dtype {
            Dtype::Bool => write!(u8, |i: usize| u8::from(s + i as f64 * d != 0.0)),
            Dtype::Uint8 | Dtype::Int8 => integer!(u8),
            Dtype::Uint16 | Dtype::Int16 => integer!(u16),
            Dtype::Uint32 | Dtype::Int32 => integer!(u32),
            Dtype::Uint64 | Dtype::Int64 => integer!(u64),
            Dtype::Float16 => {
                let (s, d) = (f16::from_f32(s as f32).to_f32(), f16::from_f32(d as f32).to_f32());
                write!(f16, |i: usize| f16::from_f32(s + i as f32 * d))
            }
            Dtype::Bfloat16 => {
                let (s, d) = (bf16::from_f32(s as f32).to_f32(), bf16::from_f32(d as f32).to_f32());
                write!(bf16, |i: usize| bf16::from_f32(s + i as f32 * d))
            }
            Dtype::Float32 => {
                let (s, d) = (s as f32, d as f32);
                write!(f32, |i: usize| s + i as f32 * d)
            }
            Dtype::Float64 => write!(f64, |i: usize| s + i as f64 * d),
            Dtype::Complex64 => {
                let (s, d) = (start.to_complex(), step.to_complex());
                write!(Complex32, |i: usize| s + d * i as f32)
            }
        }
    });
}

/// `start + step` without losing digits of integers.
pub(crate) fn second(start: Scalar, step: Scalar) -> Scalar {
    let whole = |v: Scalar| matches!(v, Scalar::Bool(_) | Scalar::Int(_) | Scalar::Uint(_));
    if whole(start) && whole(step) {
        let sum = start.to_i64().wrapping_add(step.to_i64());
        if matches!(start, Scalar::Uint(_)) { Scalar::Uint(sum as u64) } else { Scalar::Int(sum) }
    } else {
        Scalar::Float(start.to_f64() + step.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Element;

    fn made<T: Element>(n: usize, make: impl Fn(&mut Out)) -> Vec<T> {
        let mut bytes = vec![0u64; n + 1];
        let shape = [n];
        // SAFETY: eight bytes per element are enough for every type.
        let mut out = unsafe { Out::new(bytes.as_mut_ptr().cast(), T::DTYPE, &shape) };
        make(&mut out);
        out.as_mut_slice::<T>().iter().map(|&v| T::from_stored(v)).collect()
    }

    #[test]
    fn full_converts_its_value_to_every_type() {
        assert_eq!(made::<bool>(3, |o| full(Scalar::Float(0.5), o)), [true; 3]);
        assert_eq!(made::<u8>(2, |o| full(Scalar::Int(-1), o)), [255; 2]);
        assert_eq!(made::<i8>(2, |o| full(Scalar::Float(300.0), o)), [127; 2]);
        assert_eq!(made::<u64>(1, |o| full(Scalar::Uint(u64::MAX), o)), [u64::MAX]);
        assert_eq!(made::<f16>(2, |o| full(Scalar::Float(0.1), o)), [f16::from_f32(0.1); 2]);
        assert_eq!(made::<bf16>(2, |o| full(Scalar::Float(0.1), o)), [bf16::from_f32(0.1); 2]);
        assert_eq!(made::<f64>(1, |o| full(Scalar::Float(0.1), o)), [0.1]);
        assert_eq!(
            made::<Complex32>(2, |o| full(Scalar::Complex(1.0, 2.0), o)),
            [Complex32::new(1.0, 2.0); 2]
        );
        assert_eq!(made::<f32>(200_000, |o| full(Scalar::Int(3), o)), vec![3.0; 200_000]);
        assert!(made::<f32>(0, |o| full(Scalar::Int(3), o)).is_empty());
    }

    #[test]
    fn arange_multiplies_so_that_errors_do_not_pile_up() {
        let x = made::<f32>(200_000, |o| arange(Scalar::Float(0.1), Scalar::Float(0.1), o));
        for (i, v) in x.into_iter().enumerate() {
            assert_eq!(v, 0.1f32 + i as f32 * 0.1f32);
        }
        let h = made::<f16>(100, |o| arange(Scalar::Int(0), Scalar::Float(0.5), o));
        assert_eq!(h[99], f16::from_f32(49.5));
    }

    #[test]
    fn arange_of_integers_wraps_and_steps_by_the_truncated_difference() {
        assert_eq!(made::<i32>(4, |o| arange(Scalar::Float(0.5), Scalar::Float(2.5), o)), [0, 3, 6, 9]);
        assert_eq!(
            made::<u8>(8, |o| arange(Scalar::Int(250), Scalar::Int(1), o)),
            [250, 251, 252, 253, 254, 255, 0, 1]
        );
        assert_eq!(made::<i64>(3, |o| arange(Scalar::Int(5), Scalar::Int(-3), o)), [5, 2, -1]);
        assert_eq!(made::<i8>(3, |o| arange(Scalar::Int(0), Scalar::Int(-2), o)), [0, -2, -4]);
    }
}
