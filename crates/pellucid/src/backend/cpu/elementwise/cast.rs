//! Conversions, selection and copies of blocks.
//!
//! A float becomes an integer by cutting its fraction off; beyond the integer's range it saturates and NaN becomes zero.
//! Integers wrap. Everything but zero is true. A complex number gives its real part, except that it is true if either
//! part is not zero. 16-bit floats go through `float32`.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex32;

use super::isa::{Body, Isa, Kernel, Level, Map1, One, scalar, slice, slice_mut, wide};
use crate::array::Dtype;

/// The kernel from one type to another; `None` for 16-bit floats and for a type to itself, see [`copy`].
pub(super) fn cast(from: Dtype, to: Dtype, level: Level) -> Option<Kernel> {
    macro_rules! table {
        ($($F:ident $f:ty),*) => { match from { $(Dtype::$F => to_any::<$f>(to, level),)* _ => None } };
    }
    table!(
        Bool Truth, Uint8 u8, Uint16 u16, Uint32 u32, Uint64 u64, Int8 i8, Int16 i16, Int32 i32, Int64 i64,
        Float32 f32, Float64 f64, Complex64 Complex32
    )
}

/// A bool as it lies in memory.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

/// What a value becomes in each type.
trait Number: Copy {
    fn truth(self) -> Truth;
    fn real<T: FromAny>(self) -> T;
    fn complex(self) -> Complex32;
}

/// The conversions of `as`, from every primitive type.
trait FromAny {
    fn of_f32(v: f32) -> Self;
    fn of_f64(v: f64) -> Self;
    fn of_i64(v: i64) -> Self;
    fn of_i32(v: i32) -> Self;
    fn of_u64(v: u64) -> Self;
    fn of_u32(v: u32) -> Self;
}

macro_rules! from_any {
    ($($T:ident $of_f32:expr, $of_f64:expr;)*) => { $(impl FromAny for $T {
        #[inline(always)] fn of_f32(v: f32) -> $T { $of_f32(v) }
        #[inline(always)] fn of_f64(v: f64) -> $T { $of_f64(v) }
        #[inline(always)] fn of_i64(v: i64) -> $T { v as $T }
        #[inline(always)] fn of_i32(v: i32) -> $T { v as $T }
        #[inline(always)] fn of_u64(v: u64) -> $T { v as $T }
        #[inline(always)] fn of_u32(v: u32) -> $T { v as $T }
    })* };
}
from_any! {
    u8 |v| narrowed(v, 0.0, 255.0) as u8, |v| v as u8;
    u16 |v| narrowed(v, 0.0, 65_535.0) as u16, |v| v as u16;
    u32 |v| v as u32, |v| v as u32;
    u64 |v| v as u64, |v| v as u64;
    i8 |v| narrowed(v, -128.0, 127.0) as i8, |v| v as i8;
    i16 |v| narrowed(v, -32_768.0, 32_767.0) as i16, |v| v as i16;
    i32 saturated, |v| v as i32;
    i64 |v| v as i64, |v| v as i64;
    f32 |v| v, |v| v as f32;
    f64 f64::from, |v| v;
}

/// `v as i32`, in a form that becomes vector instructions: `as` does not.
#[inline(always)]
fn saturated(v: f32) -> i32 {
    let low = if v >= -2_147_483_648.0 { v } else { -2_147_483_648.0 };
    let fits = low < 2_147_483_648.0;
    // SAFETY: a number between the limits of an `i32`.
    let whole = unsafe { (if fits { low } else { 0.0 }).to_int_unchecked::<i32>() };
    let whole = if fits { whole } else { i32::MAX };
    if v.is_nan() { 0 } else { whole }
}

/// The integer part of a number held between limits that an `i32` has; zero for NaN.
#[inline(always)]
fn narrowed(v: f32, low: f32, high: f32) -> i32 {
    let v = if v.is_nan() { 0.0 } else { v };
    let v = if v < low { low } else { v };
    // SAFETY: a number between the limits.
    unsafe { (if v > high { high } else { v }).to_int_unchecked::<i32>() }
}

macro_rules! number {
    ($($T:ident $of:ident),*) => { $(impl Number for $T {
        #[inline(always)] fn truth(self) -> Truth { Truth(u8::from(self != $T::default())) }
        #[inline(always)] fn real<T: FromAny>(self) -> T { T::$of(self.into()) }
        #[inline(always)] fn complex(self) -> Complex32 { Complex32::new(self as f32, 0.0) }
    })* };
}
number!(u8 of_u32, u16 of_u32, u32 of_u32, u64 of_u64, i8 of_i32, i16 of_i32, i32 of_i32, i64 of_i64, f32 of_f32, f64 of_f64);

impl Number for Truth {
    #[inline(always)]
    fn truth(self) -> Truth {
        Truth(u8::from(self.0 != 0))
    }
    #[inline(always)]
    fn real<T: FromAny>(self) -> T {
        T::of_i32(i32::from(self.0 != 0))
    }
    #[inline(always)]
    fn complex(self) -> Complex32 {
        Complex32::new(self.real(), 0.0)
    }
}

impl Number for Complex32 {
    #[inline(always)]
    fn truth(self) -> Truth {
        Truth(u8::from((self.re != 0.0) | (self.im != 0.0)))
    }
    #[inline(always)]
    fn real<T: FromAny>(self) -> T {
        T::of_f32(self.re)
    }
    #[inline(always)]
    fn complex(self) -> Complex32 {
        self
    }
}

struct ToReal;
impl<A: Number, R: FromAny> Map1<A, R> for ToReal {
    #[inline(always)]
    fn call<I: Isa>(a: A) -> R {
        a.real()
    }
}

struct ToTruth;
impl<A: Number> Map1<A, Truth> for ToTruth {
    #[inline(always)]
    fn call<I: Isa>(a: A) -> Truth {
        a.truth()
    }
}

struct ToComplex;
impl<A: Number> Map1<A, Complex32> for ToComplex {
    #[inline(always)]
    fn call<I: Isa>(a: A) -> Complex32 {
        a.complex()
    }
}

fn to_any<A: Number>(to: Dtype, level: Level) -> Option<Kernel> {
    Some(match to {
        Dtype::Bool => wide::<One<ToTruth, A, Truth>>(level),
        Dtype::Uint8 => wide::<One<ToReal, A, u8>>(level),
        Dtype::Uint16 => wide::<One<ToReal, A, u16>>(level),
        Dtype::Uint32 => wide::<One<ToReal, A, u32>>(level),
        Dtype::Uint64 => wide::<One<ToReal, A, u64>>(level),
        Dtype::Int8 => wide::<One<ToReal, A, i8>>(level),
        Dtype::Int16 => wide::<One<ToReal, A, i16>>(level),
        Dtype::Int32 => wide::<One<ToReal, A, i32>>(level),
        Dtype::Int64 => wide::<One<ToReal, A, i64>>(level),
        Dtype::Float32 => wide::<One<ToReal, A, f32>>(level),
        Dtype::Float64 => wide::<One<ToReal, A, f64>>(level),
        Dtype::Complex64 => wide::<One<ToComplex, A, Complex32>>(level),
        Dtype::Float16 | Dtype::Bfloat16 => return None,
    })
}

struct Same;
impl<T: Copy> Map1<T, T> for Same {
    #[inline(always)]
    fn call<I: Isa>(a: T) -> T {
        a
    }
}

/// A copy of elements of a size.
pub(super) fn copy(size: usize, level: Level) -> Option<Kernel> {
    Some(match size {
        1 => scalar::<One<Same, u8, u8>>(level),
        2 => scalar::<One<Same, u16, u16>>(level),
        4 => scalar::<One<Same, u32, u32>>(level),
        8 => scalar::<One<Same, u64, u64>>(level),
        _ => return None,
    })
}

/// The second argument where the first is true, else the third; elements of a size.
pub(super) fn select(size: usize, level: Level) -> Option<Kernel> {
    struct Select<T>(std::marker::PhantomData<T>);
    // By masks: a choice between two elements would be compiled to a branch for each.
    macro_rules! select {
        ($($T:ident)*) => { $(impl Body for Select<$T> {
            #[inline(always)]
            unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize) {
                // SAFETY: the contract of `Kernel`.
                let (dst, c) = unsafe { (slice_mut::<$T>(dst, n), slice::<u8>(args[0], n)) };
                // SAFETY: the contract of `Kernel`.
                let (a, b) = unsafe { (slice::<$T>(args[1], n), slice::<$T>(args[2], n)) };
                for (((d, &c), &a), &b) in dst.iter_mut().zip(c).zip(a).zip(b) {
                    let mask = $T::from(c != 0).wrapping_neg();
                    *d = (a & mask) | (b & !mask);
                }
            }
        })* };
    }
    select!(u8 u16 u32 u64);
    Some(match size {
        1 => wide::<Select<u8>>(level),
        2 => wide::<Select<u16>>(level),
        4 => wide::<Select<u32>>(level),
        8 => wide::<Select<u64>>(level),
        _ => return None,
    })
}

struct WidenF16;
impl Body for WidenF16 {
    #[inline(always)]
    unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        unsafe { slice::<f16>(args[0], n).convert_to_f32_slice(slice_mut(dst, n)) }
    }
}

struct NarrowF16;
impl Body for NarrowF16 {
    #[inline(always)]
    unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        unsafe { slice_mut::<f16>(dst, n).convert_from_f32_slice(slice(args[0], n)) }
    }
}

/// Sixteen-bit floats by the processor's own conversion, eight at a time; `half` asks for it with every call.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use half::f16;

    use super::super::isa::{Kernel, Level, slice, slice_mut};

    /// The kernel, where the processor has the instructions.
    pub fn available(kernel: Kernel, level: Level) -> Option<Kernel> {
        (level != Level::Base && is_x86_feature_detected!("f16c")).then_some(kernel)
    }

    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn widen(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        let (dst, a) = unsafe { (slice_mut::<f32>(dst, n), slice::<f16>(args[0], n)) };
        let ((to, to_rest), (from, from_rest)) = (dst.as_chunks_mut::<8>(), a.as_chunks::<8>());
        for (to, from) in to.iter_mut().zip(from) {
            // SAFETY: eight elements each.
            unsafe {
                _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast())))
            };
        }
        to_rest.iter_mut().zip(from_rest).for_each(|(to, from)| *to = from.to_f32());
    }

    #[target_feature(enable = "avx2,f16c")]
    pub unsafe fn narrow(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        let (dst, a) = unsafe { (slice_mut::<f16>(dst, n), slice::<f32>(args[0], n)) };
        let ((to, to_rest), (from, from_rest)) = (dst.as_chunks_mut::<8>(), a.as_chunks::<8>());
        for (to, from) in to.iter_mut().zip(from) {
            // SAFETY: eight elements each.
            unsafe {
                let wide = _mm256_loadu_ps(from.as_ptr());
                _mm_storeu_si128(to.as_mut_ptr().cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide));
            }
        }
        to_rest.iter_mut().zip(from_rest).for_each(|(to, from)| *to = f16::from_f32(*from));
    }
}

struct WidenBf16;
impl Map1<u16, f32> for WidenBf16 {
    #[inline(always)]
    fn call<I: Isa>(a: u16) -> f32 {
        f32::from_bits(u32::from(a) << 16)
    }
}

struct NarrowBf16;
impl Map1<f32, u16> for NarrowBf16 {
    #[inline(always)]
    fn call<I: Isa>(a: f32) -> u16 {
        let bits = a.to_bits();
        // To nearest, ties to even; a NaN keeps a set bit so that it stays one.
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        (if a.is_nan() { (bits >> 16) | 0x40 } else { rounded }) as u16
    }
}

/// From a 16-bit float to `float32`.
pub(super) fn widen(from: Dtype, level: Level) -> Kernel {
    const { assert!(size_of::<bf16>() == 2) }
    if from == Dtype::Bfloat16 {
        return wide::<One<WidenBf16, u16, f32>>(level);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = f16c::available(f16c::widen, level) {
        return kernel;
    }
    scalar::<WidenF16>(level)
}

/// From `float32` to a 16-bit float, rounded to the nearest.
pub(super) fn narrow(to: Dtype, level: Level) -> Kernel {
    if to == Dtype::Bfloat16 {
        return wide::<One<NarrowBf16, f32, u16>>(level);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = f16c::available(f16c::narrow, level) {
        return kernel;
    }
    scalar::<NarrowF16>(level)
}
