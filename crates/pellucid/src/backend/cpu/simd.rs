//! Running one generic loop with the widest instructions the machine has.
//!
//! A kernel is a plain loop in an `#[inline(always)]` method; [`dispatch`] compiles it once for the baseline and once
//! for AVX2 and picks at run time. There is no AVX-512 copy: these loops wait for memory long before they run out of
//! 256-bit arithmetic, and every further level compiles every kernel once more.
//!
//! Both copies give the same bits: Rust never contracts `a * b + c` into one rounding by itself.

/// A loop that gains from wide instructions. `run` must be `#[inline(always)]`, else it stays at the baseline.
pub(crate) trait Kernel {
    /// What the loop computes.
    type Output;

    /// The loop.
    fn run(self) -> Self::Output;
}

/// Runs the kernel with the widest instructions there are.
///
/// # Cost
/// One relaxed atomic load and one call: a few nanoseconds, so hand over blocks, not elements.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx2() {
            // SAFETY: the features were just detected.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}
