//! Exponentials of numbers that are not positive, as softmax and logsumexp need them: without branches and tables, so
//! that loops over them become vector instructions, and with the same bits on every machine.

use std::ops::Add;

use num_complex::{Complex32, Complex64};

use super::accumulator::Acc;

/// A type with exponentials.
pub(crate) trait Exp: Acc {
    /// eˣ for x ≤ 0 (complex: real part ≤ 0), within 2 units in the last place.
    fn exp_negative(self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn recip(self) -> Self;
    fn ln(self) -> Self;
    /// True for ±∞ on the real axis.
    fn is_infinite(self) -> bool;
    /// log(eᵃ + eᵇ) without overflow.
    fn log_add_exp(self, other: Self) -> Self;
    /// log 0.
    const LOG_ZERO: Self;
}

impl Exp for f32 {
    #[inline(always)]
    fn exp_negative(self) -> f32 {
        const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest integer in the last bits
        // Below this even the smallest subnormal number rounds to zero. NaN passes.
        let x = if self < -105.0 { -105.0 } else { self };
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        // ln 2 in two parts, the first with so few bits that n times it is exact.
        let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
        let mut p = 1.987_569_1e-4_f32;
        for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = p * r + c;
        }
        let p = (p * (r * r) + r) + 1.0;
        // 2ⁿ as 2ⁿ⁺⁶⁴ · 2⁻⁶⁴, since 2⁻¹⁵⁰ itself is not a float. The last bits of `shifted` are n; the others leave.
        let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add((127 + 64) << 23));
        p * power * f32::from_bits((127 - 64) << 23)
    }
    #[inline(always)]
    fn sub(self, other: f32) -> f32 {
        self - other
    }
    #[inline(always)]
    fn recip(self) -> f32 {
        1.0 / self
    }
    #[inline(always)]
    fn ln(self) -> f32 {
        f32::ln(self)
    }
    #[inline(always)]
    fn is_infinite(self) -> bool {
        f32::is_infinite(self)
    }
    #[inline(always)]
    fn log_add_exp(self, other: f32) -> f32 {
        let (high, low) = (Acc::max(self, other), Acc::min(self, other));
        // One of them alone decides; their difference could be no number.
        if high.is_infinite() || low == f32::NEG_INFINITY {
            return high;
        }
        high + low.sub(high).exp_negative().ln_1p()
    }
    const LOG_ZERO: f32 = f32::NEG_INFINITY;
}

impl Exp for f64 {
    #[inline(always)]
    fn exp_negative(self) -> f64 {
        const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2⁵²
        let x = if self < -746.0 { -746.0 } else { self };
        let shifted = x * std::f64::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = (x - n * 6.931_457_519_531_25e-1) - n * 1.428_606_820_309_417_2e-6;
        let rr = r * r;
        // The quotient (Q + rP) / (Q − rP), which is eʳ to the last bits for |r| ≤ ½ ln 2.
        let p = ((1.261_771_930_748_105_9e-4 * rr + 3.029_944_077_074_419_6e-2) * rr + 1.0) * r;
        let q = ((3.001_985_051_386_644_6e-6 * rr + 2.524_483_403_496_841e-3) * rr
            + 2.272_655_482_081_550_3e-1)
            * rr
            + 2.0;
        let e = 1.0 + 2.0 * (p / (q - p));
        // As above, with 2ⁿ⁺⁵¹² · 2⁻⁵¹².
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add((1023 + 512) << 52));
        e * power * f64::from_bits((1023 - 512) << 52)
    }
    #[inline(always)]
    fn sub(self, other: f64) -> f64 {
        self - other
    }
    #[inline(always)]
    fn recip(self) -> f64 {
        1.0 / self
    }
    #[inline(always)]
    fn ln(self) -> f64 {
        f64::ln(self)
    }
    #[inline(always)]
    fn is_infinite(self) -> bool {
        f64::is_infinite(self)
    }
    #[inline(always)]
    fn log_add_exp(self, other: f64) -> f64 {
        let (high, low) = (Acc::max(self, other), Acc::min(self, other));
        // One of them alone decides; their difference could be no number.
        if high.is_infinite() || low == f64::NEG_INFINITY {
            return high;
        }
        high + low.sub(high).exp_negative().ln_1p()
    }
    const LOG_ZERO: f64 = f64::NEG_INFINITY;
}

impl Exp for Complex32 {
    #[inline(always)]
    fn exp_negative(self) -> Complex32 {
        Complex32::exp(self)
    }
    #[inline(always)]
    fn sub(self, other: Complex32) -> Complex32 {
        self - other
    }
    #[inline(always)]
    fn recip(self) -> Complex32 {
        self.inv()
    }
    #[inline(always)]
    fn ln(self) -> Complex32 {
        Complex32::ln(self)
    }
    #[inline(always)]
    fn is_infinite(self) -> bool {
        self.re.is_infinite()
    }
    #[inline(always)]
    fn log_add_exp(self, other: Complex32) -> Complex32 {
        let (high, low) = (Acc::max(self, other), Acc::min(self, other));
        if high.is_nan() {
            return Complex32::new(f32::NAN, f32::NAN);
        }
        if high.re.is_infinite() || low.re == f32::NEG_INFINITY {
            return high;
        }
        // In double precision: where the sum is nearly zero, its logarithm shows every digit that is lost.
        let wide = |v: Complex32| Complex64::new(v.re.into(), v.im.into());
        let sum = wide(high) + (wide(low) - wide(high)).exp().add(1.0).ln();
        Complex32::new(sum.re as f32, sum.im as f32)
    }
    const LOG_ZERO: Complex32 = Complex32::new(f32::NEG_INFINITY, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_exponentials_are_within_two_units_in_the_last_place() {
        for i in 0..2_000_000 {
            let x = -(i as f32) * 5.4e-5;
            let exact = f64::from(x).exp();
            let unit = f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
            let error = (f64::from(x.exp_negative()) - exact).abs() / unit;
            assert!(error <= 2.0, "exp({x}) is {error} units off");
        }
        assert_eq!(0.0f32.exp_negative(), 1.0);
        assert_eq!((-103.0f32).exp_negative(), f32::from_bits(1));
        assert_eq!(f32::NEG_INFINITY.exp_negative(), 0.0);
        assert!(f32::NAN.exp_negative().is_nan());
    }

    #[test]
    fn double_precision_exponentials_are_within_two_units_in_the_last_place() {
        for i in 0..400_000 {
            let x = -(i as f64) * 1.77e-3;
            let exact = x.exp();
            let unit = f64::from_bits(exact.to_bits() + 1) - exact;
            let error = (x.exp_negative() - exact).abs() / unit;
            assert!(error <= 2.0, "exp({x}) is {error} units off");
        }
        assert_eq!(0.0f64.exp_negative(), 1.0);
        assert_eq!(f64::NEG_INFINITY.exp_negative(), 0.0);
        assert!(f64::NAN.exp_negative().is_nan());
    }
}
