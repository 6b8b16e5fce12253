//! Kernels of `complex64`. Everything beyond addition and multiplication is computed with two `f64`, so that squares do
//! not overflow and the result is rounded once. Order is lexicographic: real part, then imaginary part.

use num_complex::{Complex32, Complex64};

use super::isa::{Isa, Kernel, Level, Map1, Map2, One, Two, binary_table, scalar, unary_table, wide};
use crate::op::{BinaryOp, UnaryOp};

pub(super) fn unary(op: UnaryOp, level: Level) -> Option<Kernel> {
    exact(op, level).or_else(|| smooth(op, level))
}

pub(super) fn binary(op: BinaryOp, level: Level) -> Option<Kernel> {
    pair(op, level).or_else(|| smooth_pair(op, level))
}

fn up(x: Complex32) -> Complex64 {
    Complex64::new(f64::from(x.re), f64::from(x.im))
}

fn down(x: Complex64) -> Complex32 {
    Complex32::new(x.re as f32, x.im as f32)
}

#[inline(always)]
fn less(a: Complex32, b: Complex32) -> bool {
    (a.re < b.re) | ((a.re == b.re) & (a.im < b.im))
}

#[inline(always)]
fn is_nan(a: Complex32) -> bool {
    a.re.is_nan() | a.im.is_nan()
}

#[inline(always)]
fn each(x: Complex32, f: impl Fn(f32) -> f32) -> Complex32 {
    Complex32::new(f(x.re), f(x.im))
}

/// The quotient with C's rules: a number over zero is infinite, a finite one over infinity is zero.
fn divide(a: Complex64, b: Complex64) -> Complex64 {
    let norm = b.re * b.re + b.im * b.im;
    let q = Complex64::new((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm);
    if !q.re.is_nan() || !q.im.is_nan() {
        return q;
    }
    let unit = |v: f64| (if v.is_infinite() { 1.0f64 } else { 0.0 }).copysign(v);
    if norm == 0.0 && (!a.re.is_nan() || !a.im.is_nan()) {
        let infinity = f64::INFINITY.copysign(b.re);
        Complex64::new(infinity * a.re, infinity * a.im)
    } else if (a.re.is_infinite() || a.im.is_infinite()) && b.re.is_finite() && b.im.is_finite() {
        let (re, im) = (unit(a.re), unit(a.im));
        Complex64::new(f64::INFINITY * (re * b.re + im * b.im), f64::INFINITY * (im * b.re - re * b.im))
    } else if (b.re.is_infinite() || b.im.is_infinite()) && a.re.is_finite() && a.im.is_finite() {
        let (re, im) = (unit(b.re), unit(b.im));
        Complex64::new(0.0 * (a.re * re + a.im * im), 0.0 * (a.im * re - a.re * im))
    } else {
        q
    }
}

fn exp(x: Complex64) -> Complex64 {
    let (sin, cos) = x.im.sin_cos();
    let m = x.re.exp();
    if x.im == 0.0 || m == 0.0 && x.im.is_infinite() {
        // The imaginary part stays zero however large the factor; a factor of zero leaves nothing of the angle.
        return Complex64::new(m, if x.im == 0.0 { x.im } else { 0.0 });
    }
    Complex64::new(m * cos, m * sin)
}

fn log(x: Complex64) -> Complex64 {
    Complex64::new(x.re.hypot(x.im).ln(), x.im.atan2(x.re))
}

/// Near one, |1 + x|² − 1 = 2·re + re² + im² keeps the digits that the modulus loses.
fn log1p(x: Complex64) -> Complex64 {
    let y = Complex64::new(1.0 + x.re, x.im);
    let re = if x.re.abs() < 0.5 && x.im.abs() < 0.5 {
        0.5 * (2.0 * x.re + x.re * x.re + x.im * x.im).ln_1p()
    } else {
        y.re.hypot(y.im).ln()
    };
    Complex64::new(re, y.im.atan2(y.re))
}

fn sqrt(x: Complex64) -> Complex64 {
    if x.re == 0.0 && x.im == 0.0 {
        return Complex64::new(0.0, x.im);
    }
    if x.im.is_infinite() {
        return Complex64::new(f64::INFINITY, x.im);
    }
    let m = x.re.hypot(x.im);
    let big = ((m + x.re.abs()) * 0.5).sqrt();
    let small = if x.im == 0.0 { 0.0 } else { x.im.abs() / (2.0 * big) };
    if x.re >= 0.0 {
        Complex64::new(big, small.copysign(x.im))
    } else {
        Complex64::new(small, big.copysign(x.im))
    }
}

/// exp(x) − 1: (e^re − 1)·cos(im) − 2·sin²(im/2), nothing cancels near zero.
fn expm1(x: Complex64) -> Complex64 {
    let (sin, cos) = x.im.sin_cos();
    let half = (0.5 * x.im).sin();
    Complex64::new(x.re.exp_m1() * cos - 2.0 * half * half, x.re.exp() * sin)
}

fn tanh(x: Complex64) -> Complex64 {
    if x.re.abs() > 20.0 {
        // One to the last bit of an f32; the general form would divide two infinities.
        return Complex64::new(
            1.0f64.copysign(x.re),
            4.0 * x.im.sin() * x.im.cos() * (-2.0 * x.re.abs()).exp(),
        );
    }
    let d = (2.0 * x.re).cosh() + (2.0 * x.im).cos();
    Complex64::new((2.0 * x.re).sinh() / d, (2.0 * x.im).sin() / d)
}

fn sinh(x: Complex64) -> Complex64 {
    let (sin, cos) = x.im.sin_cos();
    Complex64::new(x.re.sinh() * cos, if x.im == 0.0 { x.im } else { x.re.cosh() * sin })
}

fn cosh(x: Complex64) -> Complex64 {
    let (sin, cos) = x.im.sin_cos();
    Complex64::new(
        x.re.cosh() * cos,
        if x.im == 0.0 || x.re == 0.0 { x.im * x.re.signum() * 0.0 } else { x.re.sinh() * sin },
    )
}

/// f(i·x) / i turns a hyperbolic function into the circular one.
fn times_i(x: Complex64) -> Complex64 {
    Complex64::new(-x.im, x.re)
}

fn over_i(x: Complex64) -> Complex64 {
    Complex64::new(x.im, -x.re)
}

/// Kahan's formula ("Branch cuts for complex elementary functions", 1987): on the cuts, the sign of zero decides the side.
fn arcsin(x: Complex64) -> Complex64 {
    if x.re.is_infinite() || x.im.is_infinite() {
        let unit = |v: f64| f64::from(u8::from(v.is_infinite()));
        let re = unit(x.re).atan2(unit(x.im)).copysign(x.re);
        return Complex64::new(re, f64::INFINITY.copysign(x.im));
    }
    let (low, high) = (sqrt(Complex64::new(1.0 - x.re, -x.im)), sqrt(Complex64::new(1.0 + x.re, x.im)));
    let re = x.re.atan2(low.re * high.re - low.im * high.im);
    Complex64::new(re, (low.re * high.im - low.im * high.re).asinh())
}

/// See [`arcsin`].
fn arccos(x: Complex64) -> Complex64 {
    if x.re.is_infinite() || x.im.is_infinite() {
        let other = arcsin(x);
        return Complex64::new(std::f64::consts::FRAC_PI_2 - other.re, -other.im);
    }
    let (low, high) = (sqrt(Complex64::new(1.0 - x.re, -x.im)), sqrt(Complex64::new(1.0 + x.re, x.im)));
    Complex64::new(2.0 * low.re.atan2(high.re), (high.re * low.im - high.im * low.re).asinh())
}

fn arccosh(x: Complex64) -> Complex64 {
    let other = arccos(x);
    Complex64::new(other.im.abs(), other.re.copysign(x.im))
}

/// See [`arcsin`]. Parts that come from `f32` have squares in `f64`.
fn arctanh(x: Complex64) -> Complex64 {
    if x.re.is_infinite() || x.im.is_infinite() {
        return Complex64::new(0f64.copysign(x.re), std::f64::consts::FRAC_PI_2.copysign(x.im));
    }
    let re = x.re.abs();
    let length = (4.0 * re / ((1.0 - re) * (1.0 - re) + x.im * x.im)).ln_1p();
    let angle = (2.0 * x.im).atan2((1.0 - re) * (1.0 + re) - x.im * x.im);
    Complex64::new((0.25 * length).copysign(x.re), 0.5 * angle)
}

fn power(a: Complex64, b: Complex64) -> Complex64 {
    if b.re == 0.0 && b.im == 0.0 {
        return Complex64::new(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 && b.im == 0.0 && b.re > 0.0 {
        return Complex64::new(0.0, 0.0);
    }
    exp(b * log(a))
}

fn logaddexp(a: Complex64, b: Complex64) -> Complex64 {
    let high = a.re.max(b.re);
    if high == f64::NEG_INFINITY {
        return Complex64::new(high, 0.0);
    }
    if high == f64::INFINITY {
        return if a.re == high { a } else { b };
    }
    log(exp(a - high) + exp(b - high)) + high
}

unary_table! { exact: wide Complex32;
    Abs -> f32, |x| (f64::from(x.re) * f64::from(x.re) + f64::from(x.im) * f64::from(x.im)).sqrt() as f32;
    Ceil -> Complex32, |x| each(x, f32::ceil);
    Conjugate -> Complex32, |x| Complex32::new(x.re, -x.im);
    Floor -> Complex32, |x| each(x, f32::floor);
    Imag -> f32, |x| x.im;
    Isfinite -> u8, |x| u8::from((x.re.abs() < f32::INFINITY) & (x.im.abs() < f32::INFINITY));
    Isinf -> u8, |x| u8::from((x.re.abs() == f32::INFINITY) | (x.im.abs() == f32::INFINITY));
    Isnan -> u8, |x| u8::from(is_nan(x));
    Isneginf -> u8, |x| u8::from((x.re == f32::NEG_INFINITY) & (x.im == 0.0));
    Isposinf -> u8, |x| u8::from((x.re == f32::INFINITY) & (x.im == 0.0));
    LogicalNot -> u8, |x| u8::from((x.re == 0.0) & (x.im == 0.0));
    Negative -> Complex32, |x| Complex32::new(-x.re, -x.im);
    Real -> f32, |x| x.re;
    Round -> Complex32, |x| each(x, f32::round_ties_even);
    Square -> Complex32, |x| x * x;
    Trunc -> Complex32, |x| each(x, f32::trunc);
}

unary_table! { smooth: scalar Complex32;
    Arccos -> Complex32, |x| down(arccos(up(x)));
    Arccosh -> Complex32, |x| down(arccosh(up(x)));
    Arcsin -> Complex32, |x| down(arcsin(up(x)));
    Arcsinh -> Complex32, |x| down(over_i(arcsin(times_i(up(x)))));
    Arctan -> Complex32, |x| down(over_i(arctanh(times_i(up(x)))));
    Arctanh -> Complex32, |x| down(arctanh(up(x)));
    Cos -> Complex32, |x| down(cosh(times_i(up(x))));
    Cosh -> Complex32, |x| down(cosh(up(x)));
    Exp -> Complex32, |x| down(exp(up(x)));
    Expm1 -> Complex32, |x| down(expm1(up(x)));
    Log -> Complex32, |x| down(log(up(x)));
    Log10 -> Complex32, |x| down(log(up(x)) * std::f64::consts::LOG10_E);
    Log1p -> Complex32, |x| down(log1p(up(x)));
    Log2 -> Complex32, |x| down(log(up(x)) * std::f64::consts::LOG2_E);
    Rsqrt -> Complex32, |x| down(divide(Complex64::new(1.0, 0.0), sqrt(up(x))));
    Sigmoid -> Complex32, |x| {
        let one = Complex64::new(1.0, 0.0);
        let x = up(x);
        // The exponential that cannot overflow.
        down(if x.re >= 0.0 { divide(one, one + exp(-x)) } else { let e = exp(x); divide(e, one + e) })
    };
    Sign -> Complex32, |x| {
        let (x, m) = (up(x), up(x).norm());
        down(if m == 0.0 { x } else { x / m })
    };
    Sin -> Complex32, |x| down(over_i(sinh(times_i(up(x)))));
    Sinh -> Complex32, |x| down(sinh(up(x)));
    Sqrt -> Complex32, |x| down(sqrt(up(x)));
    Tan -> Complex32, |x| down(over_i(tanh(times_i(up(x)))));
    Tanh -> Complex32, |x| down(tanh(up(x)));
}

binary_table! { pair: wide Complex32;
    Add -> Complex32, |a, b| a + b;
    Equal -> u8, |a, b| u8::from((a.re == b.re) & (a.im == b.im));
    Greater -> u8, |a, b| u8::from(less(b, a));
    GreaterEqual -> u8, |a, b| u8::from(less(b, a) | ((a.re == b.re) & (a.im == b.im)));
    Less -> u8, |a, b| u8::from(less(a, b));
    LessEqual -> u8, |a, b| u8::from(less(a, b) | ((a.re == b.re) & (a.im == b.im)));
    Maximum -> Complex32, |a, b| if is_nan(a) { a } else if is_nan(b) | less(a, b) { b } else { a };
    Minimum -> Complex32, |a, b| if is_nan(a) { a } else if is_nan(b) | less(b, a) { b } else { a };
    Multiply -> Complex32, |a, b| a * b;
    NotEqual -> u8, |a, b| u8::from((a.re != b.re) | (a.im != b.im));
    Subtract -> Complex32, |a, b| a - b;
}

binary_table! { smooth_pair: scalar Complex32;
    Divide -> Complex32, |a, b| down(divide(up(a), up(b)));
    // Complex numbers have no floor; MLX gives the quotient.
    FloorDivide -> Complex32, |a, b| down(divide(up(a), up(b)));
    Logaddexp -> Complex32, |a, b| down(logaddexp(up(a), up(b)));
    Power -> Complex32, |a, b| down(power(up(a), up(b)));
}
