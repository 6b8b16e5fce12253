//! The few types that reductions, scans and softmax compute in, and the way from and to memory.
//!
//! Eight- and sixteen-bit integers and bool compute in `i32`, 16-bit floats in `f32`, all others in their own type.
//! Seven types instead of fourteen keep the number of compiled kernels small; blocks are converted while they pass
//! through the first-level cache, which costs little beside the memory itself.

use std::fmt::Debug;

use num_complex::Complex32;

use super::simd::{Kernel, dispatch};
use crate::array::Dtype;

/// A type that kernels compute in.
pub(crate) trait Acc: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// The element type that lies in memory as this type.
    const DTYPE: Dtype;
    const ZERO: Self;
    const ONE: Self;

    /// Integers wrap.
    fn add(self, other: Self) -> Self;
    /// Integers wrap.
    fn mul(self, other: Self) -> Self;
    /// Ascending order; false if one is NaN. Complex numbers compare by real, then imaginary part.
    fn less(self, other: Self) -> bool;
    /// True if a part is NaN.
    fn is_nan(self) -> bool;
    /// The smallest value of an element type that computes in this type.
    fn lowest(dtype: Dtype) -> Self;
    /// The largest value of an element type that computes in this type.
    fn highest(dtype: Dtype) -> Self;

    /// Reads `buf.len()` elements of `dtype`, `stride` elements apart.
    ///
    /// # Safety
    /// They must all be readable.
    unsafe fn read(dtype: Dtype, ptr: *const u8, stride: isize, buf: &mut [Self]);

    /// Writes values as elements of `dtype`, `stride` elements apart. `dtype` is bool or computes in this type.
    ///
    /// # Safety
    /// They must all be writable, and by nobody else.
    unsafe fn write(dtype: Dtype, ptr: *mut u8, stride: isize, values: &[Self]);

    /// `self` unless `other` is larger; NaN wins, the first of two.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // A real NaN is not less than anything, but a complex one may be.
        if (self.less(other) | other.is_nan()) & !self.is_nan() { other } else { self }
    }

    /// `self` unless `other` is smaller; NaN wins, the first of two.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if (other.less(self) | other.is_nan()) & !self.is_nan() { other } else { self }
    }
}

/// Runs the body with `$acc` naming the type that `$dtype` computes in.
macro_rules! with_acc {
    ($dtype:expr, $acc:ident => $body:expr) => {{
        use $crate::array::Dtype;
        match $dtype {
            Dtype::Bool | Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Uint8 | Dtype::Uint16 => {
                type $acc = i32;
                $body
            }
            Dtype::Uint32 => {
                type $acc = u32;
                $body
            }
            Dtype::Int64 => {
                type $acc = i64;
                $body
            }
            Dtype::Uint64 => {
                type $acc = u64;
                $body
            }
            Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 => {
                type $acc = f32;
                $body
            }
            Dtype::Float64 => {
                type $acc = f64;
                $body
            }
            Dtype::Complex64 => {
                type $acc = num_complex::Complex32;
                $body
            }
        }
    }};
}
pub(crate) use with_acc;

struct Load<'a, T, A, F> {
    ptr: *const T,
    stride: isize,
    buf: &'a mut [A],
    convert: F,
}

impl<T: Copy, A, F: Fn(T) -> A> Kernel for Load<'_, T, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.stride == 1 {
            // SAFETY: `read` was promised that many readable elements.
            let values = unsafe { std::slice::from_raw_parts(self.ptr, self.buf.len()) };
            for (b, &v) in self.buf.iter_mut().zip(values) {
                *b = (self.convert)(v);
            }
        } else {
            for (i, b) in self.buf.iter_mut().enumerate() {
                // SAFETY: as above.
                *b = (self.convert)(unsafe { *self.ptr.offset(i as isize * self.stride) });
            }
        }
    }
}

struct Store<'a, T, A, F> {
    ptr: *mut T,
    stride: isize,
    values: &'a [A],
    convert: F,
}

impl<T: Copy, A: Copy, F: Fn(A) -> T> Kernel for Store<'_, T, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.stride == 1 {
            // SAFETY: `write` was promised that many writable elements; `T` is plain data.
            let target = unsafe { std::slice::from_raw_parts_mut(self.ptr, self.values.len()) };
            for (t, &v) in target.iter_mut().zip(self.values) {
                *t = (self.convert)(v);
            }
        } else {
            for (i, &v) in self.values.iter().enumerate() {
                // SAFETY: as above.
                unsafe { *self.ptr.offset(i as isize * self.stride) = (self.convert)(v) };
            }
        }
    }
}

macro_rules! read {
    ($dtype:expr, $ptr:expr, $stride:expr, $buf:expr, |$v:ident| $real:expr, |$c:ident| $complex:expr) => {{
        macro_rules! from {
            ($t:ty, |$w:ident| $value:expr) => {
                dispatch(Load {
                    ptr: $ptr.cast::<$t>(),
                    stride: $stride,
                    buf: $buf,
                    convert: |$w: $t| {
                        let $v = $value;
                        $real
                    },
                })
            };
        }
        match $dtype {
            Dtype::Bool => from!(u8, |w| (w != 0) as u8),
            Dtype::Uint8 => from!(u8, |w| w),
            Dtype::Uint16 => from!(u16, |w| w),
            Dtype::Uint32 => from!(u32, |w| w),
            Dtype::Uint64 => from!(u64, |w| w),
            Dtype::Int8 => from!(i8, |w| w),
            Dtype::Int16 => from!(i16, |w| w),
            Dtype::Int32 => from!(i32, |w| w),
            Dtype::Int64 => from!(i64, |w| w),
            Dtype::Float16 => from!(u16, |w| half_to_single(w)),
            Dtype::Bfloat16 => from!(u16, |w| f32::from_bits(u32::from(w) << 16)),
            Dtype::Float32 => from!(f32, |w| w),
            Dtype::Float64 => from!(f64, |w| w),
            Dtype::Complex64 => dispatch(Load {
                ptr: $ptr.cast::<Complex32>(),
                stride: $stride,
                buf: $buf,
                convert: |$c: Complex32| $complex,
            }),
        }
    }};
}

macro_rules! write {
    ($dtype:expr, $ptr:expr, $stride:expr, $values:expr, $($name:ident: $t:ty = |$v:ident| $value:expr),*) => {
        match $dtype {
            Dtype::Bool => dispatch(Store {
                ptr: $ptr, stride: $stride, values: $values, convert: |v: Self| u8::from(v != Self::ZERO)
            }),
            $(Dtype::$name => dispatch(Store {
                ptr: $ptr.cast::<$t>(), stride: $stride, values: $values, convert: |$v: Self| $value
            }),)*
            other => unreachable!("{other} does not compute in {}", Self::DTYPE),
        }
    };
}

macro_rules! integer {
    ($ty:ident, $dtype:ident, $($name:ident: $t:ident),*) => {
        impl Acc for $ty {
            const DTYPE: Dtype = Dtype::$dtype;
            const ZERO: $ty = 0;
            const ONE: $ty = 1;

            #[inline(always)]
            fn add(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn mul(self, other: $ty) -> $ty {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn less(self, other: $ty) -> bool {
                self < other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            fn lowest(dtype: Dtype) -> $ty {
                match dtype {
                    Dtype::Bool => 0,
                    $(Dtype::$name => $t::MIN as $ty,)*
                    _ => $ty::MIN,
                }
            }
            fn highest(dtype: Dtype) -> $ty {
                match dtype {
                    Dtype::Bool => 1,
                    $(Dtype::$name => $t::MAX as $ty,)*
                    _ => $ty::MAX,
                }
            }
            unsafe fn read(dtype: Dtype, ptr: *const u8, stride: isize, buf: &mut [$ty]) {
                read!(dtype, ptr, stride, buf, |v| v as $ty, |c| c.re as $ty)
            }
            unsafe fn write(dtype: Dtype, ptr: *mut u8, stride: isize, values: &[$ty]) {
                write!(dtype, ptr, stride, values, $($name: $t = |v| v as $t),*)
            }
        }
    };
}

integer!(i32, Int32, Int8: i8, Int16: i16, Uint8: u8, Uint16: u16, Int32: i32);
integer!(u32, Uint32, Uint32: u32);
integer!(i64, Int64, Int64: i64);
integer!(u64, Uint64, Uint64: u64);

macro_rules! float {
    ($ty:ident, $dtype:ident, $($name:ident: $t:ty = |$v:ident| $value:expr),*) => {
        impl Acc for $ty {
            const DTYPE: Dtype = Dtype::$dtype;
            const ZERO: $ty = 0.0;
            const ONE: $ty = 1.0;

            #[inline(always)]
            fn add(self, other: $ty) -> $ty {
                self + other
            }
            #[inline(always)]
            fn mul(self, other: $ty) -> $ty {
                self * other
            }
            #[inline(always)]
            fn less(self, other: $ty) -> bool {
                self < other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            fn lowest(_: Dtype) -> $ty {
                $ty::NEG_INFINITY
            }
            fn highest(_: Dtype) -> $ty {
                $ty::INFINITY
            }
            unsafe fn read(dtype: Dtype, ptr: *const u8, stride: isize, buf: &mut [$ty]) {
                read!(dtype, ptr, stride, buf, |v| v as $ty, |c| c.re as $ty)
            }
            unsafe fn write(dtype: Dtype, ptr: *mut u8, stride: isize, values: &[$ty]) {
                write!(dtype, ptr, stride, values, $($name: $t = |$v| $value),*)
            }
        }
    };
}

float!(f32, Float32, Float16: u16 = |v| single_to_half(v), Bfloat16: u16 = |v| single_to_brain(v), Float32: f32 = |v| v);
// A `float32` result may be computed in `f64` where rounding each step would drift.
float!(f64, Float64, Float64: f64 = |v| v, Float32: f32 = |v| v as f32);

impl Acc for Complex32 {
    const DTYPE: Dtype = Dtype::Complex64;
    const ZERO: Complex32 = Complex32::new(0.0, 0.0);
    const ONE: Complex32 = Complex32::new(1.0, 0.0);

    #[inline(always)]
    fn add(self, other: Complex32) -> Complex32 {
        self + other
    }
    #[inline(always)]
    fn mul(self, other: Complex32) -> Complex32 {
        self * other
    }
    #[inline(always)]
    fn less(self, other: Complex32) -> bool {
        (self.re < other.re) | ((self.re == other.re) & (self.im < other.im))
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.re.is_nan() | self.im.is_nan()
    }
    fn lowest(_: Dtype) -> Complex32 {
        Complex32::new(f32::NEG_INFINITY, f32::NEG_INFINITY)
    }
    fn highest(_: Dtype) -> Complex32 {
        Complex32::new(f32::INFINITY, f32::INFINITY)
    }
    unsafe fn read(dtype: Dtype, ptr: *const u8, stride: isize, buf: &mut [Complex32]) {
        read!(dtype, ptr, stride, buf, |v| Complex32::new(v as f32, 0.0), |c| c)
    }
    unsafe fn write(dtype: Dtype, ptr: *mut u8, stride: isize, values: &[Complex32]) {
        write!(dtype, ptr, stride, values, Complex64: Complex32 = |v| v)
    }
}

/// Without branches and table, so that a loop of it becomes vector instructions.
#[inline(always)]
fn half_to_single(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    // Moving the exponent by multiplication makes subnormal numbers right without a case for them.
    let scaled = (f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000)).to_bits();
    let special = (magnitude << 13) | 0x7f80_0000;
    let sign = u32::from(bits & 0x8000) << 16;
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { scaled })
}

/// Rounds to nearest, ties to even.
#[inline(always)]
fn single_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add((magnitude >> 13) & 1) >> 13;
    // Adding one half leaves exactly the subnormal bits at the end of the sum, rounded by the addition itself.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let special = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let half = if magnitude >= 0x4780_0000 { special } else { finite };
    (half | (bits >> 16) & 0x8000) as u16
}

/// Rounds to nearest, ties to even.
#[inline(always)]
fn single_to_brain(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff).wrapping_add((bits >> 16) & 1);
    ((if value.is_nan() { bits | 0x0040_0000 } else { rounded }) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn sixteen_bit_floats_convert_as_the_half_crate_does() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            let mut buf = [0.0f32; 1];
            // SAFETY: one element each.
            unsafe { f32::read(Dtype::Float16, (&raw const half).cast(), 1, &mut buf) };
            assert!(
                buf[0].to_bits() == half.to_f32().to_bits() || half.is_nan() && buf[0].is_nan(),
                "{bits:x}"
            );
            // SAFETY: as above.
            unsafe { f32::read(Dtype::Bfloat16, (&raw const brain).cast(), 1, &mut buf) };
            assert!(
                buf[0].to_bits() == brain.to_f32().to_bits() || brain.is_nan() && buf[0].is_nan(),
                "{bits:x}"
            );
        }
        for i in 0..=0x7_ffff_u32 {
            let value = f32::from_bits(i.wrapping_mul(8191));
            assert_eq!(single_to_brain(value), bf16::from_f32(value).to_bits(), "{value}");
            if value.is_nan() {
                assert!(f16::from_bits(single_to_half(value)).is_nan());
            } else {
                assert_eq!(single_to_half(value), f16::from_f32(value).to_bits(), "{value}");
            }
        }
        for (value, bits) in [(65519.9f32, 0x7bff), (65520.0, 0x7c00), (-5.9604645e-8, 0x8001), (2.98e-8, 0)]
        {
            assert_eq!(single_to_half(value), bits, "{value}");
        }
    }
}
