//! Where Pellucid differs from mlx on purpose, and why: the table of [`DIFFERENCES`] holds for single elements,
//! [`ACCEPTED`] for calls that mlx refuses.
//!
//! Beside these, the fixture asks NumPy where mlx is wrong or rough (see `recorder.py`): `float64` computed through
//! `float32`, `erf`, `softmax` of 16-bit types, `logsumexp` of bools, `isclose` of integers. And mlx has no defined answer where floats do not fit
//! an integer type (here: the nearest number that does, zero for NaN), where an index is out of range and where an
//! integer is divided by zero (here: errors and zero); those are in `bad_input.rs`.

use pellucid::Dtype;

use crate::compare::Number;

struct Difference {
    functions: &'static [&'static str],
    /// Whether what is here and in mlx differ in this way.
    holds: fn(dtype: Dtype, here: Number, mlx: Number) -> bool,
    #[allow(dead_code, reason = "for the reader")]
    why: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        functions: &["exp", "sigmoid", "logaddexp", "erfinv"],
        holds: |_, here, mlx| mlx.real() == 0.0 && here.real().abs() < f64::from(f32::MIN_POSITIVE),
        why: "mlx gives zero where the result is below the normal numbers; here it is as exact as the type",
    },
    Difference {
        functions: &["round"],
        holds: |dtype, here, _| dtype == Dtype::Int8 && here == Number::Whole(127),
        why: "a number that does not fit becomes the nearest one that does; in mlx it wraps around",
    },
    Difference {
        functions: &["floor_divide"],
        holds: |dtype, here, mlx| dtype.size() == 2 && here == Number::Real(-1.0) && mlx == Number::Real(0.0),
        why: "a tiny negative quotient rounds down to −1; mlx rounds it to −0 of the small type first",
    },
    Difference {
        functions: &["power"],
        holds: |_, here, mlx| matches!((here, mlx), (Number::Complex(a), Number::Complex(b)) if b.re.is_nan() && a == 1.0.into()),
        why: "a complex number to the power of zero is one, as it is for real numbers; in mlx 0^0 is NaN",
    },
    Difference {
        functions: &["power"],
        holds: |_, here, mlx| matches!((here, mlx), (Number::Complex(a), Number::Complex(b)) if a.re.is_nan() && b.re.is_infinite() && b.im.is_nan()),
        why: "zero to a complex power with a negative real part has no value; mlx gives inf+nan·i",
    },
];

/// Cases in which mlx refuses what works here, and why.
const ACCEPTED: &[(&str, &str)] = &[(
    "unary/nan_to_num/float64",
    "mlx 0.32 has no largest number of float64 at hand; there is no reason to refuse",
)];

/// True if a difference of one element is meant to be.
pub fn explained(function: &str, dtype: Dtype, here: Number, mlx: Number) -> bool {
    DIFFERENCES.iter().any(|d| d.functions.contains(&function) && (d.holds)(dtype, here, mlx))
}

/// True if a call that mlx refuses is meant to work here.
pub fn accepts_more(case: &str) -> bool {
    ACCEPTED.iter().any(|(name, _)| *name == case)
}
