//! Errors in units in the last place.

use pellucid::Dtype;

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl Format {
    pub fn dtype(self) -> Dtype {
        match self {
            Format::Float16 => Dtype::Float16,
            Format::Bfloat16 => Dtype::Bfloat16,
            Format::Float32 => Dtype::Float32,
            Format::Float64 => Dtype::Float64,
        }
    }

    /// Bits of the mantissa with the first, the smallest exponent of a normal number, and the first exponent beyond.
    fn shape(self) -> (i32, i32, i32) {
        match self {
            Format::Float16 => (11, -14, 16),
            Format::Bfloat16 => (8, -126, 128),
            Format::Float32 => (24, -126, 128),
            Format::Float64 => (53, -1022, 1024),
        }
    }

    pub fn smallest_normal(self) -> f64 {
        f64::powi(2.0, self.shape().1)
    }

    /// The distance between neighbours in the binade of a number.
    pub fn spacing(self, value: f64) -> f64 {
        let (bits, low, high) = self.shape();
        let exponent = if value == 0.0 { low } else { value.abs().log2().floor() as i32 };
        // The logarithm may round up next to a power of two.
        let exponent = if f64::powi(2.0, exponent) > value.abs() { exponent - 1 } else { exponent };
        let step = exponent.clamp(low, high - 1) - (bits - 1);
        // In two factors: the smallest step of a double is subnormal.
        f64::powi(2.0, step / 2) * f64::powi(2.0, step - step / 2)
    }
}

/// How far `got` is from `want + rest`. Infinity stands for the first power of two that the format lacks; where one of
/// the two is NaN and the other is not, or a zero has the wrong sign, nothing is close enough.
pub fn error_in_units(format: Format, got: f64, want: f64, rest: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == 0.0 && (got.is_sign_negative() != want.is_sign_negative()) {
        return f64::INFINITY;
    }
    if got == want {
        return rest.abs() / format.spacing(if want.is_infinite() { 1.0 } else { want });
    }
    let beyond = f64::powi(2.0, format.shape().2.min(1023));
    if format == Format::Float64 && (got.is_infinite() || want.is_infinite()) {
        // A double has no room for the number beyond: only the largest is a neighbour of infinity.
        return if got.abs().min(want.abs()) == f64::MAX && got.signum() == want.signum() {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let inside = |v: f64| v.clamp(-beyond, beyond);
    let (got, want) = if format == Format::Float64 { (got, want) } else { (inside(got), inside(want)) };
    ((got - want) - rest).abs() / format.spacing(want)
}

/// The largest error seen, and where.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    pub error: f64,
    pub place: String,
}

impl Worst {
    pub fn note(&mut self, error: f64, arguments: &[f64], got: f64, want: f64) {
        if error > self.error {
            let text: Vec<String> = arguments.iter().map(|a| format!("{a:e}")).collect();
            *self = Worst { error, place: format!("({}) = {got:e}, not {want:e}", text.join(", ")) };
        }
    }

    pub fn merge(&mut self, other: Worst) {
        if other.error > self.error {
            *self = other;
        }
    }
}
