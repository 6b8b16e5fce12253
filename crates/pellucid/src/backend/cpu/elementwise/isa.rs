//! One loop, several instruction sets: a kernel is written once and compiled for each level, and the level is chosen
//! when the program runs.

use std::marker::PhantomData;
use std::sync::OnceLock;

/// A kernel on contiguous blocks: reads `n` elements from each argument it uses, writes `n` to `dst`.
///
/// # Safety
/// The pointers must be valid and aligned for `n` elements of the kernel's types, and `dst` must not overlap the
/// arguments.
pub(super) type Kernel = unsafe fn(dst: *mut u8, args: [*const u8; 3], n: usize);

/// The instruction sets kernels are compiled for, beyond what every processor of the architecture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Base,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best this processor has.
    pub fn detect() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| *Level::available().last().unwrap_or(&Level::Base))
    }

    /// Every level this processor can run, from plain to best.
    pub fn available() -> Vec<Level> {
        #[allow(unused_mut, reason = "only x86-64 has more than one level")]
        let mut levels = vec![Level::Base];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
        {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// What generic code may know of the instruction set it is compiled for.
pub(super) trait Isa {
    /// Whether a fused multiply-add is one instruction; without, the call to emulate it would cost more than it gives.
    const FMA: bool;

    /// `a · b + c`, rounded once where that is free.
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }

    /// `a · b + c`, rounded once where that is free.
    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }

    /// A polynomial with coefficients in ascending order.
    #[inline(always)]
    fn poly<const N: usize>(x: f32, c: [f32; N]) -> f32 {
        let mut y = c[N - 1];
        let mut i = N - 1;
        while i > 0 {
            i -= 1;
            y = Self::fma(y, x, c[i]);
        }
        y
    }

    /// A polynomial with coefficients in ascending order.
    #[inline(always)]
    fn poly64<const N: usize>(x: f64, c: [f64; N]) -> f64 {
        let mut y = c[N - 1];
        let mut i = N - 1;
        while i > 0 {
            i -= 1;
            y = Self::fma64(y, x, c[i]);
        }
        y
    }
}

pub(super) struct Base;
impl Isa for Base {
    const FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

/// x86-64 with AVX2 or better.
#[cfg(target_arch = "x86_64")]
pub(super) struct Fma;
#[cfg(target_arch = "x86_64")]
impl Isa for Fma {
    const FMA: bool = true;
}

/// The loop of a kernel.
pub(super) trait Body {
    /// # Safety
    /// As for [`Kernel`].
    unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize);
}

unsafe fn base<B: Body>(dst: *mut u8, args: [*const u8; 3], n: usize) {
    // SAFETY: passed on to the caller.
    unsafe { B::run::<Base>(dst, args, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn avx2<B: Body>(dst: *mut u8, args: [*const u8; 3], n: usize) {
    // SAFETY: passed on to the caller.
    unsafe { B::run::<Fma>(dst, args, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<B: Body>(dst: *mut u8, args: [*const u8; 3], n: usize) {
    // SAFETY: passed on to the caller.
    unsafe { B::run::<Fma>(dst, args, n) }
}

/// The kernel compiled for a level.
pub(super) fn wide<B: Body>(level: Level) -> Kernel {
    match level {
        Level::Base => base::<B>,
        // SAFETY (of the later call): a level other than `Base` only comes from `Level::available`.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<B>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<B>,
    }
}

/// The kernel compiled once, for loops that call a library function per element and gain nothing from wider vectors.
pub(super) fn scalar<B: Body>(_: Level) -> Kernel {
    base::<B>
}

/// A function of one element. Not a closure, because only a method can be forced to inline into every level.
pub(super) trait Map1<A: Copy, R> {
    fn call<I: Isa>(a: A) -> R;

    /// Whether some arguments are outside what `call` computes well.
    const RARE: bool = false;
    #[inline(always)]
    fn is_rare(_: A) -> bool {
        false
    }
    /// The slow and always right way, for those arguments.
    fn rare(a: A) -> R {
        Self::call::<Base>(a)
    }
}

/// A function of two elements.
pub(super) trait Map2<A: Copy, R> {
    fn call<I: Isa>(a: A, b: A) -> R;

    const RARE: bool = false;
    #[inline(always)]
    fn is_rare(_: A, _: A) -> bool {
        false
    }
    fn rare(a: A, b: A) -> R {
        Self::call::<Base>(a, b)
    }
}

pub(super) struct One<K, A, R>(PhantomData<(K, A, R)>);
impl<K: Map1<A, R>, A: Copy, R> Body for One<K, A, R> {
    #[inline(always)]
    unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        let (dst, a) = unsafe { (slice_mut(dst, n), slice(args[0], n)) };
        map1::<I, K, A, R>(dst, a);
    }
}

pub(super) struct Two<K, A, R>(PhantomData<(K, A, R)>);
impl<K: Map2<A, R>, A: Copy, R> Body for Two<K, A, R> {
    #[inline(always)]
    unsafe fn run<I: Isa>(dst: *mut u8, args: [*const u8; 3], n: usize) {
        // SAFETY: the contract of `Kernel`.
        let (dst, a, b) = unsafe { (slice_mut(dst, n), slice(args[0], n), slice(args[1], n)) };
        map2::<I, K, A, R>(dst, a, b);
    }
}

#[inline(always)]
fn map1<I: Isa, K: Map1<A, R>, A: Copy, R>(dst: &mut [R], a: &[A]) {
    for (d, &a) in dst.iter_mut().zip(a) {
        *d = K::call::<I>(a);
    }
    if K::RARE && a.iter().fold(false, |any, &a| any | K::is_rare(a)) {
        for (d, &a) in dst.iter_mut().zip(a) {
            if K::is_rare(a) {
                *d = K::rare(a);
            }
        }
    }
}

#[inline(always)]
fn map2<I: Isa, K: Map2<A, R>, A: Copy, R>(dst: &mut [R], a: &[A], b: &[A]) {
    for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
        *d = K::call::<I>(a, b);
    }
    if K::RARE && a.iter().zip(b).fold(false, |any, (&a, &b)| any | K::is_rare(a, b)) {
        for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
            if K::is_rare(a, b) {
                *d = K::rare(a, b);
            }
        }
    }
}

/// # Safety
/// `ptr` must be valid for `n` elements during `'a`.
#[inline(always)]
pub(super) unsafe fn slice<'a, T>(ptr: *const u8, n: usize) -> &'a [T] {
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts(ptr.cast(), n) }
}

/// # Safety
/// `ptr` must be valid for writing `n` elements during `'a`, and nothing else may refer to them.
#[inline(always)]
pub(super) unsafe fn slice_mut<'a, T>(ptr: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts_mut(ptr.cast(), n) }
}

/// A table from unary functions to kernels over `$A`: `Name -> Result, |x| expression;`, where `I` in the expression is the
/// instruction set. `rare(condition) expression` names arguments that take a slow way.
macro_rules! unary_table {
    ($name:ident: $pick:ident $A:ty; $($op:ident -> $R:ty, |$x:pat_param| $body:expr $(, rare($cond:expr) $slow:expr)?;)*) => {
        fn $name(op: UnaryOp, level: Level) -> Option<Kernel> {
            Some(match op {
                $(UnaryOp::$op => {
                    struct K;
                    impl Map1<$A, $R> for K {
                        #[inline(always)]
                        fn call<I: Isa>($x: $A) -> $R { $body }
                        $(
                            const RARE: bool = true;
                            #[inline(always)]
                            fn is_rare($x: $A) -> bool { $cond }
                            #[inline(never)]
                            fn rare($x: $A) -> $R { $slow }
                        )?
                    }
                    $pick::<One<K, $A, $R>>(level)
                })*
                _ => return None,
            })
        }
    };
}

/// As `unary_table`, for functions of two elements of type `$A`.
macro_rules! binary_table {
    ($name:ident: $pick:ident $A:ty; $($op:ident -> $R:ty, |$x:ident, $y:ident| $body:expr $(, rare($cond:expr) $slow:expr)?;)*) => {
        fn $name(op: BinaryOp, level: Level) -> Option<Kernel> {
            Some(match op {
                $(BinaryOp::$op => {
                    struct K;
                    impl Map2<$A, $R> for K {
                        #[inline(always)]
                        fn call<I: Isa>($x: $A, $y: $A) -> $R { $body }
                        $(
                            const RARE: bool = true;
                            #[inline(always)]
                            fn is_rare($x: $A, $y: $A) -> bool { $cond }
                            #[inline(never)]
                            fn rare($x: $A, $y: $A) -> $R { $slow }
                        )?
                    }
                    $pick::<Two<K, $A, $R>>(level)
                })*
                _ => return None,
            })
        }
    };
}

pub(super) use {binary_table, unary_table};
