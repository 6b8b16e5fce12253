//! Scalar functions of `f64` that the standard library lacks or has in another form.

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

/// The standard library's overflows for arguments whose square does.
pub(super) fn arcsinh(x: f64) -> f64 {
    if x.abs() > 1e150 && x.is_finite() {
        (x.abs().ln() + std::f64::consts::LN_2).copysign(x)
    } else {
        x.asinh()
    }
}

/// As [`arcsinh`].
pub(super) fn arccosh(x: f64) -> f64 {
    if x > 1e150 && x.is_finite() { x.ln() + std::f64::consts::LN_2 } else { x.acosh() }
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

/// Error function: its series near zero, one minus the complement beyond.
pub(super) fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() {
        return x;
    }
    if a > 2.5 {
        return (1.0 - erfc_tail(a.min(30.0))).copysign(x);
    }
    // e^(−x²)·Σ 2ⁿ x^(2n+1) / (2n+1)!!: all terms positive, nothing cancels.
    let z = x * x;
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= 2.0 * z / f64::from(2 * n + 1);
        sum += term;
        if term.abs() < 1e-18 * sum.abs() {
            break;
        }
    }
    FRAC_2_SQRT_PI * (-z).exp() * sum
}

/// 1 − erf(x) for x ≥ 2, by its continued fraction from the far end.
fn erfc_tail(x: f64) -> f64 {
    let mut f = x;
    for k in (1..=80).rev() {
        f = x + 0.5 * f64::from(k) / f;
    }
    (-x * x).exp() / (f * PI.sqrt())
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
        let error = if y > 2.0 { (1.0 - a) - erfc_tail(y) } else { erf(y) - a };
        let step = error / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}
