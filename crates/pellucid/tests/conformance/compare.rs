//! When a result counts as mlx's: the one place for tolerances.
//!
//! Integers, bools and elements that only moved must be equal, with the sign of zero. Real numbers that were computed
//! may differ by the last bits of their type, complex ones by as much of their magnitude.

use num_complex::Complex64;
use pellucid::{Array, Dtype};

use crate::differences;

/// Functions whose results are defined to the last bit: those that move elements, and those IEEE 754 fixes.
const EXACT: &[&str] = &[
    "abs",
    "add",
    "arange",
    "argpartition",
    "as_strided",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "ceil",
    "clip",
    "concatenate",
    "conjugate",
    "contiguous",
    "cummax",
    "cummin",
    "diag",
    "diagonal",
    "divide",
    "expand_dims",
    "eye",
    "flatten",
    "floor",
    "full",
    "identity",
    "imag",
    "index",
    "max",
    "maximum",
    "meshgrid",
    "min",
    "minimum",
    "minmax",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "negative",
    "ones",
    "ones_like",
    "pad",
    "partition",
    "positive",
    "put_along_axis",
    "random_uniform",
    "real",
    "repeat",
    "reshape",
    "roll",
    "sign",
    "slice_fill",
    "slice_update",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "subtract",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "topk",
    "transpose",
    "tri",
    "tril",
    "triu",
    "trunc",
    "unflatten",
    "unstack",
    "view",
    "where",
    "zeros",
    "zeros_like",
];

/// Functions with a logarithm at the end: where the result is near zero, its error is that of a number near one.
const LOGARITHMS: &[&str] = &["logsumexp", "logcumsumexp", "logaddexp", "random_gumbel"];

/// Sums of a few terms near one, which cancel at the ends of the window.
const WINDOWS: &[&str] = &["bartlett", "blackman", "hamming", "hanning"];

/// Functions that add up many terms, which may cancel: the error of a small element is that of the largest.
const SUMS: &[&str] =
    &["einsum", "fft", "fftn", "hadamard_transform", "ifft", "ifftn", "irfft", "irfftn", "rfft", "rfftn"];

/// How far a result may be from mlx's, in units of the last bit of its type.
fn units(function: &str, dtype: Dtype) -> f64 {
    match (function, dtype) {
        (name, _) if EXACT.contains(&name) && !dtype.is_complex() => 0.0,
        (_, Dtype::Float16 | Dtype::Bfloat16) => 1.0,
        // mlx's own exponential is off by ten units for large numbers.
        ("exp", _) => 16.0,
        // mlx computes it in float32, and NumPy does not have it.
        ("erfinv", Dtype::Float64) => 8.0 * f64::from(f32::EPSILON) / f64::EPSILON,
        _ => 8.0,
    }
}

/// The last bit of a number near one.
fn last_bit(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 => half::f16::EPSILON.into(),
        Dtype::Bfloat16 => half::bf16::EPSILON.into(),
        Dtype::Float32 | Dtype::Complex64 => f32::EPSILON.into(),
        Dtype::Float64 => f64::EPSILON,
        _ => 0.0,
    }
}

/// Fails with a message unless `result` is what mlx gave, or differs from it on purpose.
pub fn compare(function: &str, result: &Array, expected: &Array) -> Result<(), String> {
    if result.dtype() != expected.dtype() || result.shape() != expected.shape() {
        let (here, there) = (result.shape_ref(), expected.shape_ref());
        return Err(format!("is {} {here}, in mlx {} {there}", result.dtype(), expected.dtype()));
    }
    if let Err(error) = result.eval() {
        return Err(format!("failed: {error}"));
    }
    let dtype = result.dtype();
    let (here, there) = (elements(result), elements(expected));
    let limit = units(function, dtype) * last_bit(dtype);
    let least = match function {
        name if LOGARITHMS.contains(&name) || WINDOWS.contains(&name) => 1.0,
        name if SUMS.contains(&name) => there.iter().map(|v| v.size()).fold(0.0, f64::max),
        _ => 0.0,
    };
    let mut wrong = Vec::new();
    for (i, (&a, &b)) in here.iter().zip(&there).enumerate() {
        if !is_close(a, b, dtype, limit, least) && !differences::explained(function, dtype, a, b) {
            wrong.push(format!("element {i} is {}, in mlx {}", a.text(), b.text()));
        }
    }
    match wrong.len() {
        0 => Ok(()),
        n => Err(format!(
            "{} ({n} of {} differ by more than {limit:e})",
            wrong[..n.min(6)].join("; "),
            here.len()
        )),
    }
}

/// One element, wide enough for every type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Whole(i128),
    Real(f64),
    Complex(Complex64),
}

impl Number {
    pub fn real(self) -> f64 {
        match self {
            Number::Whole(v) => v as f64,
            Number::Real(v) => v,
            Number::Complex(v) => v.re,
        }
    }

    fn size(self) -> f64 {
        match self {
            Number::Whole(v) => v.unsigned_abs() as f64,
            Number::Real(v) => v.abs(),
            Number::Complex(v) => v.norm(),
        }
    }

    fn text(self) -> String {
        match self {
            Number::Whole(v) => v.to_string(),
            Number::Real(v) => format!("{v:?}"),
            Number::Complex(v) => format!("{:?}{:+?}i", v.re, v.im),
        }
    }
}

pub fn elements(a: &Array) -> Vec<Number> {
    macro_rules! read {
        ($ty:ty, $make:expr) => {
            a.to_vec::<$ty>().unwrap().into_iter().map($make).collect()
        };
    }
    match a.dtype() {
        Dtype::Bool => read!(bool, |v| Number::Whole(v.into())),
        Dtype::Uint8 => read!(u8, |v| Number::Whole(v.into())),
        Dtype::Uint16 => read!(u16, |v| Number::Whole(v.into())),
        Dtype::Uint32 => read!(u32, |v| Number::Whole(v.into())),
        Dtype::Uint64 => read!(u64, |v| Number::Whole(v.into())),
        Dtype::Int8 => read!(i8, |v| Number::Whole(v.into())),
        Dtype::Int16 => read!(i16, |v| Number::Whole(v.into())),
        Dtype::Int32 => read!(i32, |v| Number::Whole(v.into())),
        Dtype::Int64 => read!(i64, |v| Number::Whole(v.into())),
        Dtype::Float16 => read!(half::f16, |v| Number::Real(v.into())),
        Dtype::Bfloat16 => read!(half::bf16, |v| Number::Real(v.into())),
        Dtype::Float32 => read!(f32, |v| Number::Real(v.into())),
        Dtype::Float64 => read!(f64, Number::Real),
        Dtype::Complex64 => {
            read!(num_complex::Complex32, |v| { Number::Complex(Complex64::new(v.re.into(), v.im.into())) })
        }
    }
}

fn is_close(a: Number, b: Number, dtype: Dtype, limit: f64, least: f64) -> bool {
    match (a, b) {
        (Number::Real(a), Number::Real(b)) => close(a, b, b.abs().max(least), dtype, limit),
        (Number::Complex(a), Number::Complex(b)) => {
            let size = b.re.abs().max(b.im.abs()).max(least);
            close(a.re, b.re, size, dtype, limit) && close(a.im, b.im, size, dtype, limit)
        }
        _ => a == b,
    }
}

/// Close relative to `size`. Below the normal numbers of the type, the spacing of the subnormal ones counts.
fn close(a: f64, b: f64, size: f64, dtype: Dtype, limit: f64) -> bool {
    if limit == 0.0 {
        return (a == b && a.is_sign_negative() == b.is_sign_negative()) || (a.is_nan() && b.is_nan());
    }
    let smallest = match dtype {
        Dtype::Float16 => f64::from(half::f16::MIN_POSITIVE),
        Dtype::Float64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= limit * size.max(smallest)
}
