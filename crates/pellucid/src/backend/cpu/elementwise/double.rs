//! Scalar functions of `f64` that neither the standard library nor `libm` has in this form.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// Remainder with the sign of the divisor; the sum is rounded where the signs differ, as in MLX.
pub(super) fn remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// As [`remainder`].
pub(super) fn remainder_f32(a: f32, b: f32) -> f32 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// `libm` gives numbers for arguments below one.
pub(super) fn arccosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

pub(super) fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    (if x >= 0.0 { 1.0 } else { e }) / (1.0 + e)
}

pub(super) fn logaddexp(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return a + std::f64::consts::LN_2;
    }
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

/// Inverse of the error function: Winitzki's estimate, made exact by Halley's steps.
pub(super) fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a == 0.0 || a.is_nan() {
        return x;
    }
    if a >= 1.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    const A: f64 = 0.147;
    let l = ((1.0 - a) * (1.0 + a)).ln();
    let t = 2.0 / (PI * A) + 0.5 * l;
    let mut y = ((t * t - l / A).sqrt() - t).sqrt();
    for _ in 0..4 {
        // In the tail the difference of complements keeps the digits that erf(y) − a would lose.
        let error = if y > 0.5 { (1.0 - a) - libm::erfc(y) } else { libm::erf(y) - a };
        let step = error / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}
