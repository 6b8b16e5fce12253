//! Kernels of `float32` and `float64`. The 16-bit types run the `float32` ones between two conversions.

use super::isa::{Isa, Kernel, Level, Map1, Map2, One, Two, binary_table, scalar, unary_table, wide};
use super::{double, math, math64};
use crate::op::{BinaryOp, UnaryOp};

pub(super) fn unary_f32(op: UnaryOp, level: Level) -> Option<Kernel> {
    exact_f32(op, level).or_else(|| smooth_f32(op, level))
}

pub(super) fn binary_f32(op: BinaryOp, level: Level) -> Option<Kernel> {
    pair_f32(op, level).or_else(|| smooth_pair_f32(op, level))
}

pub(super) fn unary_f64(op: UnaryOp, level: Level) -> Option<Kernel> {
    exact_f64(op, level).or_else(|| smooth_f64(op, level))
}

pub(super) fn binary_f64(op: BinaryOp, level: Level) -> Option<Kernel> {
    pair_f64(op, level).or_else(|| smooth_pair_f64(op, level))
}

/// Functions that are the same in both widths and exact or correctly rounded.
macro_rules! exact {
    ($unary:ident, $binary:ident, $T:ident) => {
        unary_table! { $unary: wide $T;
            Abs -> $T, |x| x.abs();
            Ceil -> $T, |x| x.ceil();
            Conjugate -> $T, |x| x;
            Floor -> $T, |x| x.floor();
            Imag -> $T, |_| 0.0;
            Isfinite -> u8, |x| u8::from(x.abs() < $T::INFINITY);
            Isinf -> u8, |x| u8::from(x.abs() == $T::INFINITY);
            Isnan -> u8, |x| u8::from(x != x);
            Isneginf -> u8, |x| u8::from(x == $T::NEG_INFINITY);
            Isposinf -> u8, |x| u8::from(x == $T::INFINITY);
            LogicalNot -> u8, |x| u8::from(x == 0.0);
            Negative -> $T, |x| -x;
            Real -> $T, |x| x;
            Round -> $T, |x| x.round_ties_even();
            Rsqrt -> $T, |x| 1.0 / x.sqrt();
            // Zero of a NaN, as in MLX.
            Sign -> $T, |x| (if x > 0.0 { 1.0 } else { 0.0 }) - (if x < 0.0 { 1.0 } else { 0.0 });
            Sqrt -> $T, |x| x.sqrt();
            Square -> $T, |x| x * x;
            Trunc -> $T, |x| x.trunc();
        }

        binary_table! { $binary: wide $T;
            Add -> $T, |a, b| a + b;
            Divide -> $T, |a, b| a / b;
            Equal -> u8, |a, b| u8::from(a == b);
            FloorDivide -> $T, |a, b| (a / b).floor();
            Greater -> u8, |a, b| u8::from(a > b);
            GreaterEqual -> u8, |a, b| u8::from(a >= b);
            Less -> u8, |a, b| u8::from(a < b);
            LessEqual -> u8, |a, b| u8::from(a <= b);
            // The second where the two compare equal or the second is NaN; the first NaN is kept by the second test.
            Maximum -> $T, |a, b| { let m = if a > b { a } else { b }; if a != a { a } else { m } };
            Minimum -> $T, |a, b| { let m = if a < b { a } else { b }; if a != a { a } else { m } };
            Multiply -> $T, |a, b| a * b;
            NotEqual -> u8, |a, b| u8::from(a != b);
            Subtract -> $T, |a, b| a - b;
        }
    };
}
exact!(exact_f32, pair_f32, f32);
exact!(exact_f64, pair_f64, f64);

unary_table! { smooth_f32: wide f32;
    Arccos -> f32, |x| math64::arccos::<I>(x);
    Arccosh -> f32, |x| math64::arccosh::<I>(x);
    Arcsin -> f32, |x| math64::arcsin::<I>(x);
    Arcsinh -> f32, |x| math64::arcsinh::<I>(x);
    Arctan -> f32, |x| math64::arctan::<I>(x);
    Arctanh -> f32, |x| math64::arctanh::<I>(x);
    Cos -> f32, |x| math::cos::<I>(x), rare(x.abs() >= math::TRIG_LIMIT) f64::from(x).cos() as f32;
    Cosh -> f32, |x| math64::cosh::<I>(x);
    Erf -> f32, |x| math::erf::<I>(x);
    Erfinv -> f32, |x| math64::erfinv::<I>(x);
    Exp -> f32, |x| math::exp::<I>(x);
    Expm1 -> f32, |x| math::expm1::<I>(x);
    Log -> f32, |x| math::log::<I>(x);
    Log10 -> f32, |x| math64::log10::<I>(x);
    Log1p -> f32, |x| math64::log1p::<I>(x);
    Log2 -> f32, |x| math64::log2::<I>(x);
    Sigmoid -> f32, |x| math::sigmoid::<I>(x);
    Sin -> f32, |x| math::sin::<I>(x), rare(x.abs() >= math::TRIG_LIMIT) f64::from(x).sin() as f32;
    Sinh -> f32, |x| math64::sinh::<I>(x);
    Tan -> f32, |x| math64::tan::<I>(x), rare(x.abs() >= math::TRIG_LIMIT) f64::from(x).tan() as f32;
    Tanh -> f32, |x| math::tanh::<I>(x);
}

binary_table! { smooth_pair_f32: wide f32;
    Arctan2 -> f32, |a, b| math64::arctan2::<I>(a, b);
    Logaddexp -> f32, |a, b| math64::logaddexp::<I>(a, b);
    Power -> f32, |a, b| math64::power::<I>(a, b);
    Remainder -> f32, |a, b| {
        // In f64 the quotient's product with b is exact, and a quotient that was rounded up shows as a wrong sign.
        let (wa, wb) = (f64::from(a), f64::from(b));
        let r = wa - f64::from((a / b).trunc()) * wb;
        let r = if (r != 0.0) & ((r < 0.0) != (a < 0.0)) { r + if a < 0.0 { -wb.abs() } else { wb.abs() } } else { r };
        let r = r.copysign(wa);
        if (r != 0.0) & ((r < 0.0) != (b < 0.0)) { r as f32 + b } else { r as f32 }
    }, rare((a / b).abs() >= 8_388_608.0 || !a.is_finite() || !b.is_finite()) double::remainder_f32(a, b);
}

// The standard library's inverse hyperbolic functions are formulas that lose digits where they cancel.
unary_table! { smooth_f64: scalar f64;
    Arccos -> f64, |x| x.acos();
    Arccosh -> f64, |x| double::arccosh(x);
    Arcsin -> f64, |x| x.asin();
    Arcsinh -> f64, |x| libm::asinh(x);
    Arctan -> f64, |x| x.atan();
    Arctanh -> f64, |x| libm::atanh(x);
    Cos -> f64, |x| x.cos();
    Cosh -> f64, |x| x.cosh();
    Erf -> f64, |x| libm::erf(x);
    Erfinv -> f64, |x| double::erfinv(x);
    Exp -> f64, |x| x.exp();
    Expm1 -> f64, |x| x.exp_m1();
    Log -> f64, |x| x.ln();
    Log10 -> f64, |x| x.log10();
    Log1p -> f64, |x| x.ln_1p();
    Log2 -> f64, |x| x.log2();
    Sigmoid -> f64, |x| double::sigmoid(x);
    Sin -> f64, |x| x.sin();
    Sinh -> f64, |x| x.sinh();
    Tan -> f64, |x| x.tan();
    Tanh -> f64, |x| x.tanh();
}

binary_table! { smooth_pair_f64: scalar f64;
    Arctan2 -> f64, |a, b| a.atan2(b);
    Logaddexp -> f64, |a, b| double::logaddexp(a, b);
    Power -> f64, |a, b| a.powf(b);
    Remainder -> f64, |a, b| double::remainder(a, b);
}
