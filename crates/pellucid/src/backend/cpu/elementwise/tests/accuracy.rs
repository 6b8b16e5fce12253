//! The `float32` functions against `f64` ones over the whole range, in units in the last place.

use super::*;
use crate::backend::cpu::elementwise::double;

/// The distance between floats, counted in representable numbers around the true value.
fn ulp_error(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got == rounded || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() || got.is_infinite() || rounded.is_infinite() {
        return f64::INFINITY;
    }
    let spacing = f64::from(f32::from_bits((rounded.abs().to_bits() & 0x7f80_0000).max(0x0080_0000)));
    (f64::from(got) - want).abs() / (spacing * f64::from(f32::EPSILON))
}

/// Every 997th float, and the edges.
fn samples() -> Vec<f32> {
    let edges =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 1e-45, -1e-45];
    let dense = (-20_000..20_000).map(|i| i as f32 / 1000.0);
    (0..=u32::MAX / 997).map(|i| f32::from_bits(i * 997)).chain(dense).chain(edges).collect()
}

fn worst_at(level: Level, op: UnaryOp, x: &Tensor, want: &[f64]) -> (f64, f32) {
    let program = single(Func::Unary(op), Dtype::Float32, Dtype::Float32, &[Dtype::Float32]);
    let mut y = Tensor::zeros(Dtype::Float32, &x.shape);
    run_at(level, &program, &[x.input()], &mut y.out()).expect("valid");
    let mut worst = (0.0, 0.0);
    for ((x, y), w) in x.to_vec::<f32>().into_iter().zip(y.to_vec::<f32>()).zip(want) {
        let error = ulp_error(y, *w);
        if error > worst.0 {
            worst = (error, x);
        }
    }
    worst
}

fn reference(op: UnaryOp) -> fn(f64) -> f64 {
    match op {
        UnaryOp::Arccos => f64::acos,
        UnaryOp::Arccosh => double::arccosh,
        UnaryOp::Arcsin => f64::asin,
        UnaryOp::Arcsinh => libm::asinh,
        UnaryOp::Arctan => f64::atan,
        UnaryOp::Arctanh => libm::atanh,
        UnaryOp::Cos => f64::cos,
        UnaryOp::Cosh => f64::cosh,
        UnaryOp::Erf => libm::erf,
        UnaryOp::Erfinv => double::erfinv,
        UnaryOp::Exp => f64::exp,
        UnaryOp::Expm1 => f64::exp_m1,
        UnaryOp::Log => f64::ln,
        UnaryOp::Log10 => f64::log10,
        UnaryOp::Log1p => f64::ln_1p,
        UnaryOp::Log2 => f64::log2,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Sigmoid => double::sigmoid,
        UnaryOp::Sin => f64::sin,
        UnaryOp::Sinh => f64::sinh,
        UnaryOp::Sqrt => f64::sqrt,
        UnaryOp::Tan => f64::tan,
        UnaryOp::Tanh => f64::tanh,
        other => unreachable!("{} is exact", other.name()),
    }
}

const SMOOTH: [UnaryOp; 23] = [
    UnaryOp::Arccos,
    UnaryOp::Arccosh,
    UnaryOp::Arcsin,
    UnaryOp::Arcsinh,
    UnaryOp::Arctan,
    UnaryOp::Arctanh,
    UnaryOp::Cos,
    UnaryOp::Cosh,
    UnaryOp::Erf,
    UnaryOp::Erfinv,
    UnaryOp::Exp,
    UnaryOp::Expm1,
    UnaryOp::Log,
    UnaryOp::Log10,
    UnaryOp::Log1p,
    UnaryOp::Log2,
    UnaryOp::Rsqrt,
    UnaryOp::Sigmoid,
    UnaryOp::Sin,
    UnaryOp::Sinh,
    UnaryOp::Sqrt,
    UnaryOp::Tan,
    UnaryOp::Tanh,
];

#[test]
fn smooth_functions_stay_within_two_units_in_the_last_place() {
    let samples = samples();
    let x = Tensor::of(&samples);
    let mut failed = Vec::new();
    for op in SMOOTH {
        let f = reference(op);
        let want: Vec<f64> = samples.iter().map(|&x| f(f64::from(x))).collect();
        for level in Level::available() {
            let (error, at) = worst_at(level, op, &x, &want);
            println!("{:8} {level:?}: {error:.3} ULP at {at:e}", op.name());
            if error > 2.0 {
                failed.push(format!("{} {level:?}: {error} ULP at {at:e}", op.name()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn functions_of_two_arguments_stay_within_one_unit_in_the_last_place() {
    let edges =
        [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 2.5, 1e-40, 1e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let mut pairs: Vec<(f32, f32)> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).collect();
    // A fixed sequence that wanders over the whole range of both arguments.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for _ in 0..200_000 {
        pairs.push((f32::from_bits(next()), f32::from_bits(next())));
        let small = |n: u32| n as f32 / u32::MAX as f32 * 40.0 - 20.0;
        pairs.push((small(next()), small(next())));
    }
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    let (ta, tb) = (Tensor::of(&a), Tensor::of(&b));
    type Reference = fn(f64, f64) -> f64;
    let cases: [(BinaryOp, Reference); 4] = [
        (BinaryOp::Arctan2, f64::atan2),
        (BinaryOp::Power, f64::powf),
        (BinaryOp::Logaddexp, double::logaddexp),
        (BinaryOp::Divide, |a, b| a / b),
    ];
    for (op, f) in cases {
        let y = binary(op, &ta, &tb).to_vec::<f32>();
        let mut worst = (0.0, 0.0, 0.0);
        for ((&a, &b), y) in a.iter().zip(&b).zip(y) {
            let error = ulp_error(y, f(f64::from(a), f64::from(b)));
            if error > worst.0 {
                worst = (error, a, b);
            }
        }
        println!("{}: {:.3} ULP at {:?}", op.name(), worst.0, (worst.1, worst.2));
        assert!(worst.0 <= 1.0, "{}: {worst:?}", op.name());
    }
    let y = binary(BinaryOp::Remainder, &ta, &tb).to_vec::<f32>();
    for ((&a, &b), y) in a.iter().zip(&b).zip(y) {
        let want = double::remainder_f32(a, b);
        assert!(y.to_bits() == want.to_bits() || y.is_nan() && want.is_nan(), "{a} % {b} = {y}, not {want}");
    }
}

#[test]
fn the_sign_of_zero_survives() {
    use UnaryOp::*;
    let x = Tensor::of(&[-0.0f32]);
    for op in [
        Arcsin, Arcsinh, Arctan, Arctanh, Erf, Erfinv, Expm1, Log1p, Sin, Sinh, Sqrt, Tan, Tanh, Ceil, Round,
        Trunc,
    ] {
        let y = unary(op, &x).to_vec::<f32>()[0];
        assert!(y == 0.0 && y.is_sign_negative(), "{} of -0 is {y}", op.name());
    }
}

#[test]
fn the_inverse_error_function_of_float64_inverts_to_the_last_digits() {
    for i in 1..400 {
        let y = f64::from(i) * 0.01;
        let x = libm::erf(y);
        // One step of x moves y by the inverse of the slope; no inverse can do better than that.
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp();
        let tolerance = 1e-14 * y + 4.0 * f64::EPSILON / slope;
        assert!((double::erfinv(x) - y).abs() <= tolerance, "erfinv({x}) = {}, not {y}", double::erfinv(x));
    }
}
