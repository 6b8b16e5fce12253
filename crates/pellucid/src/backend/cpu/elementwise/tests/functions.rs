//! Every function on every type it takes, against a scalar definition.

use super::*;

/// Values that are something in every type: small, negative, fractional, large.
fn sample(dtype: Dtype) -> Vec<Scalar> {
    let mut v: Vec<Scalar> = [0, 1, 2, 3, 5, 7, 12, 31, 100, 127, -1, -2, -3, -7, -100, -128]
        .into_iter()
        .map(Scalar::Int)
        .collect();
    if dtype.is_inexact() {
        v.extend([0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.9, 0.99, 10.25, -10.75].map(Scalar::Float));
        v.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(Scalar::Float));
    }
    if dtype.is_complex() {
        v.extend(
            [(1.0, 2.0), (1.0, -2.0), (-0.5, 0.25), (3.0, 4.0), (0.0, -1.5)]
                .map(|(a, b)| Scalar::Complex(a, b)),
        );
    }
    if dtype.is_unsigned_integer() || dtype == Dtype::Bool {
        v.retain(|s| s.to_f64() >= 0.0);
    }
    v
}

/// All pairs of sample values.
fn pairs(dtype: Dtype) -> (Tensor, Tensor) {
    let s = sample(dtype);
    let (a, b): (Vec<Scalar>, Vec<Scalar>) = s.iter().flat_map(|&a| s.iter().map(move |&b| (a, b))).unzip();
    (Tensor::cast_of(&a, dtype), Tensor::cast_of(&b, dtype))
}

/// A whole number wrapped into an integer type, as `values` shows it.
fn wrap(v: i128, dtype: Dtype) -> Complex64 {
    let v = match dtype {
        Dtype::Bool => i128::from(v != 0),
        Dtype::Uint8 => i128::from(v as u8),
        Dtype::Uint16 => i128::from(v as u16),
        Dtype::Uint32 => i128::from(v as u32),
        Dtype::Uint64 => i128::from(v as u64),
        Dtype::Int8 => i128::from(v as i8),
        Dtype::Int16 => i128::from(v as i16),
        Dtype::Int32 => i128::from(v as i32),
        _ => i128::from(v as i64),
    };
    Complex64::new(v as f64, 0.0)
}

/// Equal, both NaN, or within a few units of the type's precision.
fn assert_close(got: Complex64, want: Complex64, dtype: Dtype, what: &str) {
    let tolerance = match dtype {
        Dtype::Float16 => 1.5e-3,
        Dtype::Bfloat16 => 1.2e-2,
        Dtype::Float32 | Dtype::Complex64 => 1e-6,
        Dtype::Float64 => 1e-14,
        _ => 0.0,
    };
    let largest = match dtype {
        Dtype::Float16 => 65504.0,
        Dtype::Float64 => f64::MAX,
        _ => f64::from(f32::MAX),
    };
    // Below the smallest normal number the spacing no longer shrinks.
    let floor = if dtype == Dtype::Float16 { 6.2e-5 } else { 1e-7 };
    // Parts of a complex result are as exact as its magnitude allows.
    let scale = want.re.abs().max(want.im.abs());
    for (g, w) in [(got.re, want.re), (got.im, want.im)] {
        let same = g == w
            || g.is_nan() && w.is_nan()
            || g.is_infinite() && g.signum() == w.signum() && w.abs() > largest;
        let near = (g - w).abs() <= tolerance * scale.max(floor);
        assert!(same || near, "{what} = {got}, not {want}");
    }
}

fn real_unary(op: UnaryOp, x: f64) -> f64 {
    use UnaryOp::*;
    match op {
        Abs => x.abs(),
        Arccos => x.acos(),
        Arccosh => x.acosh(),
        Arcsin => x.asin(),
        Arcsinh => x.asinh(),
        Arctan => x.atan(),
        Arctanh => x.atanh(),
        Ceil => x.ceil(),
        Conjugate | Real => x,
        Cos => x.cos(),
        Cosh => x.cosh(),
        Erf => libm::erf(x),
        Erfinv => double::erfinv(x),
        Exp => x.exp(),
        Expm1 => x.exp_m1(),
        Floor => x.floor(),
        Imag => 0.0,
        Isfinite => f64::from(u8::from(x.is_finite())),
        Isinf => f64::from(u8::from(x.is_infinite())),
        Isnan => f64::from(u8::from(x.is_nan())),
        Isneginf => f64::from(u8::from(x == f64::NEG_INFINITY)),
        Isposinf => f64::from(u8::from(x == f64::INFINITY)),
        Log => x.ln(),
        Log10 => x.log10(),
        Log1p => x.ln_1p(),
        Log2 => x.log2(),
        LogicalNot => f64::from(u8::from(x == 0.0)),
        Negative => -x,
        Round => x.round_ties_even(),
        Rsqrt => 1.0 / x.sqrt(),
        Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Sign if x == 0.0 || x.is_nan() => 0.0,
        Sign => x.signum(),
        Sin => x.sin(),
        Sinh => x.sinh(),
        Sqrt => x.sqrt(),
        Square => x * x,
        Tan => x.tan(),
        Tanh => x.tanh(),
        Trunc => x.trunc(),
        BitwiseInvert => unreachable!("integers only"),
    }
}

fn integer_unary(op: UnaryOp, x: i128, dtype: Dtype) -> i128 {
    use UnaryOp::*;
    match op {
        Abs => x.abs(),
        BitwiseInvert if dtype == Dtype::Bool => 1 - x,
        BitwiseInvert => !x,
        Ceil | Conjugate | Floor | Real | Round | Trunc => x,
        Imag | Isinf | Isnan | Isneginf | Isposinf => 0,
        Isfinite => 1,
        LogicalNot => i128::from(x == 0),
        Negative => -x,
        Sign => x.signum(),
        Square => x * x,
        other => unreachable!("{} computes in float32", other.name()),
    }
}

fn complex_unary(op: UnaryOp, x: Complex64) -> Complex64 {
    use UnaryOp::*;
    let truth = |b: bool| Complex64::new(f64::from(u8::from(b)), 0.0);
    let one = Complex64::new(1.0, 0.0);
    match op {
        Abs => Complex64::new(x.norm(), 0.0),
        Arccos => x.acos(),
        Arccosh => x.acosh(),
        Arcsin => x.asin(),
        Arcsinh => x.asinh(),
        Arctan => x.atan(),
        Arctanh => x.atanh(),
        Ceil => Complex64::new(x.re.ceil(), x.im.ceil()),
        Conjugate => x.conj(),
        Cos => x.cos(),
        Cosh => x.cosh(),
        Exp => x.exp(),
        Expm1 => x.exp() - 1.0,
        Floor => Complex64::new(x.re.floor(), x.im.floor()),
        Imag => Complex64::new(x.im, 0.0),
        Isfinite => truth(x.is_finite()),
        Isinf => truth(x.is_infinite()),
        Isnan => truth(x.is_nan()),
        Isneginf => truth(x.re == f64::NEG_INFINITY && x.im == 0.0),
        Isposinf => truth(x.re == f64::INFINITY && x.im == 0.0),
        Log => x.ln(),
        Log10 => x.ln() / std::f64::consts::LN_10,
        Log1p => (x + 1.0).ln(),
        Log2 => x.ln() / std::f64::consts::LN_2,
        LogicalNot => truth(x == Complex64::ZERO),
        Negative => -x,
        Real => Complex64::new(x.re, 0.0),
        Round => Complex64::new(x.re.round_ties_even(), x.im.round_ties_even()),
        Rsqrt => one / x.sqrt(),
        Sigmoid => one / (one + (-x).exp()),
        Sign if x == Complex64::ZERO => x,
        Sign => x / x.norm(),
        Sin => x.sin(),
        Sinh => x.sinh(),
        Sqrt => x.sqrt(),
        Square => x * x,
        Tan => x.tan(),
        Tanh => x.tanh(),
        Trunc => Complex64::new(x.re.trunc(), x.im.trunc()),
        Erf | Erfinv | BitwiseInvert => unreachable!("not for complex numbers"),
    }
}

#[test]
fn every_unary_function_gives_its_definition_on_every_type() {
    for &op in UnaryOp::ALL {
        for dtype in Dtype::ALL.into_iter().filter(|&d| op.compute_dtype(d) == Some(d)) {
            let x = Tensor::cast_of(&sample(dtype), dtype);
            let y = unary(op, &x);
            for (v, got) in x.values().into_iter().zip(y.values()) {
                let what = format!("{} of {v} as {dtype}", op.name());
                if dtype.is_complex() {
                    // Infinities are checked one by one below; here the definition is only as good as its formula.
                    let exact = matches!(
                        op,
                        UnaryOp::Isinf
                            | UnaryOp::Isnan
                            | UnaryOp::Isfinite
                            | UnaryOp::Isposinf
                            | UnaryOp::Isneginf
                    );
                    let pole =
                        v.norm() == 0.0 || v == Complex64::new(1.0, 0.0) || v == Complex64::new(-1.0, 0.0);
                    let overflow = v.re.abs() > 80.0;
                    // The definition loses the sign of zero, which decides on the cuts; a test of its own is below.
                    let cut = op.name().starts_with("arc") && (v.re == 0.0 || v.im == 0.0);
                    if exact || v.is_finite() && !pole && !overflow && !cut {
                        assert_close(got, complex_unary(op, v), dtype, &what);
                    }
                } else if dtype.is_floating() {
                    assert_close(got, Complex64::new(real_unary(op, v.re), 0.0), dtype, &what);
                } else {
                    let want = wrap(integer_unary(op, v.re as i128, dtype), op.result_dtype(dtype));
                    assert_eq!(got, want, "{what}");
                }
            }
        }
    }
}

/// Expected values are NumPy's.
#[test]
fn inverse_functions_take_the_side_of_the_cut_that_the_sign_of_zero_says() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, PI};
    let c = Complex64::new;
    let table = [
        (UnaryOp::Arccos, c(2.5, 0.0), c(0.0, -1.5667992369724109)),
        (UnaryOp::Arccos, c(-3.0, 0.0), c(PI, -1.762747174039086)),
        (UnaryOp::Arcsin, c(2.5, 0.0), c(FRAC_PI_2, 1.5667992369724109)),
        (UnaryOp::Arctanh, c(2.5, 0.0), c(0.42364893019360184, FRAC_PI_2)),
        (UnaryOp::Arccosh, c(-3.0, 0.0), c(1.762747174039086, PI)),
        (UnaryOp::Arccosh, c(0.5, 0.0), c(0.0, FRAC_PI_3)),
    ];
    // f(conj x) = conj f(x), and the circular functions turn into the hyperbolic ones by a quarter turn.
    for (op, x, want) in table {
        for (x, want) in [(x, want), (x.conj(), want.conj())] {
            let x32 = Complex32::new(x.re as f32, x.im as f32);
            let got = unary(op, &Tensor::of(&[x32])).values()[0];
            assert_close(got, want, Dtype::Complex64, &format!("{} of {x}", op.name()));
        }
    }
    let turned = [
        (UnaryOp::Arcsinh, c(0.0, 3.0), c(1.762747174039086, FRAC_PI_2)),
        (UnaryOp::Arctan, c(0.0, 3.0), c(FRAC_PI_2, 0.34657359027997264)),
    ];
    for (op, x, want) in turned {
        for (re, im) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            let x32 = Complex32::new((x.re * re) as f32, (x.im * im) as f32);
            let got = unary(op, &Tensor::of(&[x32])).values()[0];
            assert_close(
                got,
                c(want.re * re, want.im * im),
                Dtype::Complex64,
                &format!("{} of {x32}", op.name()),
            );
        }
    }
}

fn real_binary(op: BinaryOp, a: f64, b: f64, dtype: Dtype) -> f64 {
    use BinaryOp::*;
    let truth = |t: bool| f64::from(u8::from(t));
    match op {
        Add => a + b,
        Arctan2 => a.atan2(b),
        Divide => a / b,
        Equal => truth(a == b),
        // The quotient is rounded to the type before it is rounded down: 1 // 0.1 is 10.
        FloorDivide if dtype != Dtype::Float64 => f64::from((a / b) as f32).floor(),
        FloorDivide => (a / b).floor(),
        Greater => truth(a > b),
        GreaterEqual => truth(a >= b),
        Less => truth(a < b),
        LessEqual => truth(a <= b),
        Logaddexp => double::logaddexp(a, b),
        Maximum if a.is_nan() || b.is_nan() => f64::NAN,
        Minimum if a.is_nan() || b.is_nan() => f64::NAN,
        Maximum => a.max(b),
        Minimum => a.min(b),
        Multiply => a * b,
        NotEqual => truth(a != b),
        Power => a.powf(b),
        Remainder => double::remainder(a, b),
        Subtract => a - b,
        other => unreachable!("{} is for integers", other.name()),
    }
}

fn integer_binary(op: BinaryOp, a: i128, b: i128, dtype: Dtype) -> i128 {
    use BinaryOp::*;
    let count = b & if dtype.size() == 8 { 63 } else { 31 };
    match op {
        Add => a + b,
        BitwiseAnd | LogicalAnd => a & b,
        BitwiseOr | LogicalOr => a | b,
        BitwiseXor | LogicalXor => a ^ b,
        Equal => i128::from(a == b),
        FloorDivide if b == 0 => 0,
        FloorDivide => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        Greater => i128::from(a > b),
        GreaterEqual => i128::from(a >= b),
        LeftShift => a << count,
        Less => i128::from(a < b),
        LessEqual => i128::from(a <= b),
        Maximum => a.max(b),
        Minimum => a.min(b),
        Multiply => a * b,
        NotEqual => i128::from(a != b),
        Power if b < 0 => 0,
        Power => (0..b).fold(1i128, |p, _| (p * a) as i64 as i128),
        Remainder if b == 0 => a,
        Remainder => a - b * integer_binary(FloorDivide, a, b, dtype),
        RightShift => a >> count,
        Subtract => a - b,
        other => unreachable!("{} computes in float32", other.name()),
    }
}

fn complex_binary(op: BinaryOp, a: Complex64, b: Complex64) -> Complex64 {
    use BinaryOp::*;
    let truth = |t: bool| Complex64::new(f64::from(u8::from(t)), 0.0);
    let less = |a: Complex64, b: Complex64| a.re < b.re || a.re == b.re && a.im < b.im;
    match op {
        Add => a + b,
        Divide | FloorDivide => a / b,
        Equal => truth(a == b),
        Greater => truth(less(b, a)),
        GreaterEqual => truth(a == b || less(b, a)),
        Less => truth(less(a, b)),
        LessEqual => truth(a == b || less(a, b)),
        Logaddexp => (a.exp() + b.exp()).ln(),
        Maximum => {
            if less(a, b) {
                b
            } else {
                a
            }
        }
        Minimum => {
            if less(b, a) {
                b
            } else {
                a
            }
        }
        Multiply => a * b,
        NotEqual => truth(a != b),
        Power => a.powc(b),
        Subtract => a - b,
        other => unreachable!("{} is not for complex numbers", other.name()),
    }
}

#[test]
fn every_binary_function_gives_its_definition_on_every_type() {
    for &op in BinaryOp::ALL {
        for dtype in Dtype::ALL.into_iter().filter(|&d| op.compute_dtype(d) == Some(d)) {
            if op == BinaryOp::Remainder && dtype.is_complex() {
                continue; // Refused, see `a_program_that_does_not_fit_is_an_error`.
            }
            let (a, b) = pairs(dtype);
            let y = binary(op, &a, &b).values();
            for ((a, b), got) in a.values().into_iter().zip(b.values()).zip(y) {
                let what = format!("{} of {a} and {b} as {dtype}", op.name());
                if dtype.is_complex() {
                    let smooth = matches!(op, BinaryOp::Logaddexp | BinaryOp::Power);
                    let tame = a.norm() > 0.0 && b.norm() > 0.0 && a.norm() < 13.0 && b.norm() < 13.0;
                    if a.is_finite() && b.is_finite() && (tame || !smooth && b.norm() > 0.0) {
                        let want = complex_binary(op, a, b);
                        let branch = smooth && want.im.abs() > 3.1;
                        if !branch || op == BinaryOp::Power {
                            assert_close(got, want, dtype, &what);
                        }
                    }
                } else if dtype.is_floating() {
                    assert_close(got, Complex64::new(real_binary(op, a.re, b.re, dtype), 0.0), dtype, &what);
                } else {
                    let want =
                        wrap(integer_binary(op, a.re as i128, b.re as i128, dtype), op.result_dtype(dtype));
                    assert_eq!(got, want, "{what}");
                }
            }
        }
    }
}

#[test]
fn integer_arithmetic_wraps_and_never_traps() {
    let a = Tensor::of(&[i32::MIN, i32::MIN, i32::MAX, 5, i32::MIN]);
    let b = Tensor::of(&[-1, 0, 1, 0, i32::MIN]);
    assert_eq!(binary(BinaryOp::FloorDivide, &a, &b).to_vec::<i32>(), [i32::MIN, 0, i32::MAX, 0, 1]);
    assert_eq!(binary(BinaryOp::Remainder, &a, &b).to_vec::<i32>(), [0, i32::MIN, 0, 5, 0]);
    assert_eq!(binary(BinaryOp::Add, &a, &b).to_vec::<i32>(), [i32::MAX, i32::MIN, i32::MIN, 5, 0]);
    assert_eq!(unary(UnaryOp::Abs, &a).to_vec::<i32>()[0], i32::MIN);
    assert_eq!(unary(UnaryOp::Negative, &a).to_vec::<i32>()[0], i32::MIN);
    let (a, b) = (Tensor::of(&[100i8, 1, -100]), Tensor::of(&[33i8, 70, 9]));
    assert_eq!(binary(BinaryOp::LeftShift, &a, &b).to_vec::<i8>(), [-56, 64, 0]);
    assert_eq!(binary(BinaryOp::RightShift, &a, &b).to_vec::<i8>(), [50, 0, -1]);
}

#[test]
fn conversions_saturate_wrap_and_take_truth_and_real_parts() {
    let x =
        Tensor::of(&[1.9f32, -1.9, 300.0, -300.0, 1e10, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
    assert_eq!(cast(&x, Dtype::Int8).to_vec::<i8>(), [1, -1, 127, -128, 127, 0, 127, -128, 0]);
    assert_eq!(cast(&x, Dtype::Uint8).to_vec::<u8>(), [1, 0, 255, 0, 255, 0, 255, 0, 0]);
    assert_eq!(
        cast(&x, Dtype::Int64).to_vec::<i64>(),
        [1, -1, 300, -300, 10_000_000_000, 0, i64::MAX, i64::MIN, 0]
    );
    assert_eq!(
        cast(&x, Dtype::Bool).to_vec::<bool>(),
        [true, true, true, true, true, true, true, true, false]
    );
    assert_eq!(cast(&Tensor::of(&[-1i32, 256, 65_537]), Dtype::Uint8).to_vec::<u8>(), [255, 0, 1]);
    assert_eq!(cast(&Tensor::of(&[u64::MAX]), Dtype::Int32).to_vec::<i32>(), [-1]);
    assert_eq!(cast(&Tensor::of(&[u64::MAX]), Dtype::Float64).to_vec::<f64>(), [u64::MAX as f64]);
    let c = Tensor::of(&[Complex32::new(1.5, 2.0), Complex32::new(0.0, 1.0), Complex32::new(0.0, 0.0)]);
    assert_eq!(cast(&c, Dtype::Float16).to_vec::<f16>(), [1.5, 0.0, 0.0].map(f16::from_f32));
    assert_eq!(cast(&c, Dtype::Bool).to_vec::<bool>(), [true, true, false]);
    // Any byte but zero is a true bool, and becomes a one.
    let mut odd = Tensor::of(&[0u8, 1, 2, 255]);
    odd.dtype = Dtype::Bool;
    for dtype in Dtype::ALL {
        let y = cast(&odd, dtype).values();
        assert_eq!(y.iter().map(|v| v.re).collect::<Vec<_>>(), [0.0, 1.0, 1.0, 1.0], "{dtype}");
    }
}

#[test]
fn every_pair_of_types_converts() {
    let small = [0.0, 1.0, 2.0, 100.0].map(Scalar::Float);
    for from in Dtype::ALL {
        for to in Dtype::ALL {
            let x = Tensor::cast_of(&small, from);
            let want =
                x.values().into_iter().map(|v| if to == Dtype::Bool { wrap(v.re as i128, to) } else { v });
            assert_eq!(cast(&x, to).values(), want.collect::<Vec<_>>(), "{from} to {to}");
        }
    }
}

#[test]
fn sixteen_bit_floats_round_to_nearest_even() {
    let x = Tensor::of(&[1.0f32, 1.003_906_2, 1.011_718_8, 65_504.0, 1e6, f32::NAN, 1e-8, f32::MAX]);
    let bf = cast(&x, Dtype::Bfloat16).to_vec::<bf16>();
    let h = cast(&x, Dtype::Float16).to_vec::<f16>();
    for ((x, bf), h) in x.to_vec::<f32>().into_iter().zip(bf).zip(h) {
        assert!(bf == bf16::from_f32(x) || bf.is_nan() && x.is_nan(), "{x} became {bf}");
        assert!(h == f16::from_f32(x) || h.is_nan() && x.is_nan(), "{x} became {h}");
    }
}

#[test]
fn maximum_and_minimum_let_nan_win() {
    let n = f32::NAN;
    let (a, b) = (Tensor::of(&[n, 1.0, n, 2.0]), Tensor::of(&[1.0, n, n, 1.0]));
    for op in [BinaryOp::Maximum, BinaryOp::Minimum] {
        let y = binary(op, &a, &b).to_vec::<f32>();
        assert!(y[..3].iter().all(|v| v.is_nan()), "{y:?}");
    }
    let c = |re: f32, im: f32| Complex32::new(re, im);
    let (a, b) = (
        Tensor::of(&[c(n, 0.0), c(0.0, 1.0), c(1.0, 2.0)]),
        Tensor::of(&[c(0.0, 1.0), c(0.0, n), c(1.0, 3.0)]),
    );
    let y = binary(BinaryOp::Maximum, &a, &b).to_vec::<Complex32>();
    assert!(y[0].re.is_nan() && y[1].im.is_nan());
    assert_eq!(y[2], c(1.0, 3.0));
}

#[test]
fn complex_functions_are_defined_at_zero_and_infinity() {
    let c = |re: f32, im: f32| Complex32::new(re, im);
    let inf = f32::INFINITY;
    let one = |op, x| unary(op, &Tensor::of(&[x])).to_vec::<Complex32>()[0];
    assert_eq!(one(UnaryOp::Log, c(0.0, 0.0)), c(-inf, 0.0));
    assert_eq!(one(UnaryOp::Log, c(inf, 1.0)), c(inf, 0.0));
    assert_eq!(one(UnaryOp::Sqrt, c(-1.0, 0.0)), c(0.0, 1.0));
    assert_eq!(one(UnaryOp::Sqrt, c(inf, 1.0)), c(inf, 0.0));
    assert_eq!(one(UnaryOp::Exp, c(inf, 1.0)), c(inf, inf));
    assert_eq!(one(UnaryOp::Exp, c(-inf, 1.0)), c(0.0, 0.0));
    assert_eq!(one(UnaryOp::Tanh, c(inf, 1.0)).re, 1.0);
    assert_eq!(one(UnaryOp::Log1p, c(-1.0, 0.0)), c(-inf, 0.0));
    let two = |op, a, b| binary(op, &Tensor::of(&[a]), &Tensor::of(&[b])).to_vec::<Complex32>()[0];
    assert_eq!(two(BinaryOp::Divide, c(1.0, 1.0), c(inf, 0.0)), c(0.0, 0.0));
    assert_eq!(two(BinaryOp::Divide, c(inf, 0.0), c(1.0, 1.0)), c(inf, -inf));
    assert_eq!(two(BinaryOp::Divide, c(1e30, 1e30), c(1e30, 0.0)), c(1.0, 1.0));
    assert_eq!(two(BinaryOp::Divide, c(1.0, 0.0), c(0.0, 0.0)).re, inf);
    assert_eq!(two(BinaryOp::Power, c(0.0, 0.0), c(0.0, 0.0)), c(1.0, 0.0));
    assert_eq!(two(BinaryOp::Power, c(0.0, 0.0), c(2.0, 0.0)), c(0.0, 0.0));
}
