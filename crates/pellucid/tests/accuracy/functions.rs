//! The functions under test, what they should give, and how far off they may be.

use pellucid::{Array, Device, ops};

use crate::ulp::Format;

// What the standard library computes by formulas of its own or lacks.
unsafe extern "C" {
    safe fn acosh(x: f64) -> f64;
    safe fn asinh(x: f64) -> f64;
    safe fn atanh(x: f64) -> f64;
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

/// A function of one argument.
pub struct Unary {
    pub name: &'static str,
    pub call: fn(&Array) -> Array,
    pub exact: fn(f64) -> f64,
    cpu: f64,
    gpu: f64,
}

/// A function of two arguments.
pub struct Binary {
    pub name: &'static str,
    pub call: fn(&Array, &Array) -> Array,
    pub exact: fn(f64, f64) -> f64,
    /// On the GPU, where there is only `float32`, digits cancel: errors count in units of the larger argument.
    cancels: bool,
    cpu: f64,
    gpu: f64,
}

/// What the `float32` result may be off; `float64` on the CPU as well. 16-bit floats are computed in `float32` and
/// rounded, which leaves little more than half a unit.
fn bound(format: Format, device: Device, cpu: f64, gpu: f64) -> f64 {
    match format {
        Format::Float16 | Format::Bfloat16 => 0.51,
        Format::Float64 => 2.0,
        Format::Float32 if device == Device::cpu() => cpu,
        Format::Float32 => gpu,
    }
}

impl Unary {
    pub fn bound(&self, format: Format, device: Device) -> f64 {
        bound(format, device, self.cpu, self.gpu)
    }
}

impl Binary {
    /// How large the units of the result are beside those in which its error counts.
    pub fn share(&self, format: Format, device: Device, (a, b): (f64, f64), want: f64) -> f64 {
        let counts = self.cancels && device != Device::cpu() && want.is_finite();
        if counts { format.spacing(want) / format.spacing(want.abs().max(a.max(b).abs())) } else { 1.0 }
    }

    pub fn bound(&self, format: Format, device: Device) -> f64 {
        bound(format, device, self.cpu, self.gpu)
    }
}

macro_rules! unary {
    ($($name:ident $exact:expr, $cpu:literal $gpu:literal;)*) => {
        pub const UNARY: &[Unary] =
            &[$(Unary { name: stringify!($name), call: |x| ops::$name(x), exact: $exact, cpu: $cpu, gpu: $gpu }),*];
    };
}

macro_rules! binary {
    ($($name:ident $exact:expr, $cpu:literal $gpu:literal $cancels:literal;)*) => {
        pub const BINARY: &[Binary] =
            &[$(Binary {
                name: stringify!($name),
                call: |a, b| ops::$name(a, b),
                exact: $exact,
                cancels: $cancels,
                cpu: $cpu,
                gpu: $gpu,
            }),*];
    };
}

unary! {
    arccos f64::acos, 2.0 4.0;
    arccosh |x| acosh(x), 2.0 4.0;
    arcsin f64::asin, 2.0 4.0;
    arcsinh |x| asinh(x), 2.0 4.0;
    arctan f64::atan, 2.0 4.0;
    arctanh |x| atanh(x), 2.0 4.0;
    cos f64::cos, 2.0 4.0;
    cosh f64::cosh, 2.0 4.0;
    erf |x| erf(x), 2.0 4.0;
    erfinv inverse_erf, 2.0 4.0;
    exp f64::exp, 2.0 4.0;
    expm1 f64::exp_m1, 2.0 4.0;
    log f64::ln, 2.0 4.0;
    log10 f64::log10, 2.0 4.0;
    log1p f64::ln_1p, 2.0 4.0;
    log2 f64::log2, 2.0 4.0;
    rsqrt |x| 1.0 / x.sqrt(), 2.0 4.0;
    sigmoid sigmoid, 2.0 4.0;
    sin f64::sin, 2.0 4.0;
    sinh f64::sinh, 2.0 4.0;
    sqrt f64::sqrt, 0.5 4.0;
    tan f64::tan, 2.0 4.0;
    tanh f64::tanh, 2.0 4.0;
}

binary! {
    arctan2 f64::atan2, 1.0 4.0 false;
    divide |a, b| a / b, 0.5 4.0 false;
    logaddexp logaddexp, 1.0 4.0 true;
    power f64::powf, 1.0 4.0 false;
    remainder remainder, 0.5 0.5 false;
}

fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    (if x >= 0.0 { 1.0 } else { e }) / (1.0 + e)
}

fn logaddexp(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let gap = if a == b { 0.0 } else { (a - b).abs() };
    a.max(b) + (-gap).exp().ln_1p()
}

/// With the divisor's sign.
fn remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// Newton's steps on the system's error function from a rough estimate; for large arguments on its complement.
fn inverse_erf(x: f64) -> f64 {
    let a = x.abs();
    if a == 0.0 || a.is_nan() {
        return x;
    }
    if a >= 1.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    let l = ((1.0 - a) * (1.0 + a)).ln();
    let t = 4.33 + 0.5 * l;
    let mut y = ((t * t - l / 0.147).sqrt() - t).sqrt();
    for _ in 0..6 {
        let error = if a > 0.5 { (1.0 - a) - erfc(y) } else { erf(y) - a };
        y -= error / (std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp());
    }
    y.copysign(x)
}
