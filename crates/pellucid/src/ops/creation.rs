//! New arrays from nothing but numbers.

use super::elementwise::{add, divide, equal, multiply, subtract};
use super::shape::broadcast_to;
use super::{cast, constant, counting, filled, operand::Operand, shaped, signed};
use crate::array::{Array, Dtype, Inputs, Shape, Sizes, fail, ok};
use crate::error::{Error, Result};
use crate::op::{Op, Scalar};
use crate::transform::{Refit, is_shapeless, noted};

/// An array of zeros.
///
/// ```
/// use pellucid::{Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = ops::zeros([2, 3], Dtype::Float32);
/// assert_eq!(a.shape(), &[2, 3]);
/// assert_eq!(ops::full(2, 7, None).to_vec::<i32>()?, [7, 7]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn zeros(shape: impl Into<Sizes>, dtype: Dtype) -> Array {
    filled("zeros", ok!(shape.into().shape("zeros")), Scalar::Int(0), dtype)
}

/// An array of ones.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::ones(2, Dtype::Int32).to_vec::<i32>().unwrap(), [1, 1]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn ones(shape: impl Into<Sizes>, dtype: Dtype) -> Array {
    filled("ones", ok!(shape.into().shape("ones")), Scalar::Int(1), dtype)
}

/// An array filled with a number, or with an array that broadcasts to the shape. Without a type, that of the value.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::full(2, 7, Dtype::Float32).to_vec::<f32>().unwrap(), [7.0, 7.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses or the value does not broadcast, [`Error::Argument`] if
/// an integer does not fit the type.
#[track_caller]
pub fn full<'a>(
    shape: impl Into<Sizes>,
    value: impl Into<Operand<'a>>,
    dtype: impl Into<Option<Dtype>>,
) -> Array {
    let value = value.into();
    let dtype = dtype.into().unwrap_or(value.dtype());
    match value.number() {
        Some(number) => filled("full", ok!(shape.into().shape("full")), converted(number, dtype), dtype),
        None => broadcast_to(&value.to_array("full", dtype), shape),
    }
}

/// A real number in an integer type, by the rules of a cast: it loses its fraction and saturates, NaN is zero.
fn converted(value: Scalar, dtype: Dtype) -> Scalar {
    let (Scalar::Float(v) | Scalar::Complex(v, _)) = value else { return value };
    match dtype {
        Dtype::Uint8 => Scalar::Int((v as u8).into()),
        Dtype::Uint16 => Scalar::Int((v as u16).into()),
        Dtype::Uint32 => Scalar::Int((v as u32).into()),
        Dtype::Uint64 => Scalar::Uint(v as u64),
        Dtype::Int8 => Scalar::Int((v as i8).into()),
        Dtype::Int16 => Scalar::Int((v as i16).into()),
        Dtype::Int32 => Scalar::Int((v as i32).into()),
        Dtype::Int64 => Scalar::Int(v as i64),
        _ => value,
    }
}

/// Makes an array in the shape of another one: a function that is recorded for arrays of any size finds it again.
#[track_caller]
fn like(a: &Array, make: impl FnOnce() -> Array) -> Array {
    if is_shapeless() { noted(Refit::Like(a.clone()), make) } else { make() }
}

/// Zeros with the shape and type of an array.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::zeros_like(&array![1, 2]).to_vec::<i32>().unwrap(), [0, 0]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn zeros_like(a: &Array) -> Array {
    ok!(a);
    like(a, || zeros(a.shape_ref(), a.dtype()))
}

/// Ones with the shape and type of an array.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::ones_like(&array![5, 6]).to_vec::<i32>().unwrap(), [1, 1]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn ones_like(a: &Array) -> Array {
    ok!(a);
    like(a, || ones(a.shape_ref(), a.dtype()))
}

/// A value with the shape of an array, and its type unless another is given.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::full_like(&array![5, 6], 3, None).to_vec::<i32>().unwrap(), [3, 3]);
/// ```
///
/// # Errors
/// As for [`full`].
#[track_caller]
pub fn full_like<'a>(a: &Array, value: impl Into<Operand<'a>>, dtype: impl Into<Option<Dtype>>) -> Array {
    ok!(a);
    like(a, || full(a.shape_ref(), value, dtype.into().unwrap_or(a.dtype())))
}

/// Zeros, by MLX's other name.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::empty((2, 3), Dtype::Float32).shape(), [2, 3]);
/// ```
///
/// # Errors
/// As for [`zeros`].
#[track_caller]
pub fn empty(shape: impl Into<Sizes>, dtype: Dtype) -> Array {
    zeros(shape, dtype)
}

/// Zeros like an array, by MLX's other name.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::empty_like(&array![1, 2]).shape(), [2]);
/// ```
///
/// # Errors
/// None that depends on the array.
#[track_caller]
pub fn empty_like(a: &Array) -> Array {
    zeros_like(a)
}

/// Numbers from `start` in steps of `step`, up to but not including `stop`.
///
/// Without a type, integers give `int32` (`int64` if one of them needs it) and reals `float32`. In an integer type with
/// a fractional start or step, the first two values lose their fractions and all others continue at their distance.
///
/// ```
/// use pellucid::ops;
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::arange(0, 10, 3, None).to_vec::<i32>()?, [0, 3, 6, 9]);
/// assert_eq!(ops::arange(0.0, 1.0, 0.5, None).to_vec::<f32>()?, [0.0, 0.5]);
/// assert!(ops::arange(0, 10, 0, None).check().is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if the step is zero, a number is NaN, the range is infinite or too long; [`Error::Dtype`] for
/// bool.
#[track_caller]
pub fn arange(
    start: impl Into<Scalar>,
    stop: impl Into<Scalar>,
    step: impl Into<Scalar>,
    dtype: impl Into<Option<Dtype>>,
) -> Array {
    let (start, stop, step) = (start.into(), stop.into(), step.into());
    let own = start.dtype().promote(stop.dtype()).promote(step.dtype());
    let dtype = dtype.into().unwrap_or(if own == Dtype::Bool { Dtype::Int32 } else { own });
    if dtype == Dtype::Bool {
        return fail(Error::dtype("arange", "bool has no steps; use a number type"));
    }
    let len = ok!(arange_len(start, stop, step));
    // Of integers only the first two values are rounded, not the step itself.
    let step = if len <= 1 && !step.to_f64().is_finite() { Scalar::Int(0) } else { step };
    Array::from_op(Op::Arange { start, step, len, dtype }, Inputs::new())
}

fn arange_len(start: Scalar, stop: Scalar, step: Scalar) -> Result<usize> {
    let name = "arange";
    let text = || format!("(start {}, stop {}, step {})", start.to_f64(), stop.to_f64(), step.to_f64());
    if step.to_f64() == 0.0 {
        return Err(Error::argument(name, format!("the step must not be zero {}", text())));
    }
    if let (Some(a), Some(b), Some(d)) = (integer(start), integer(stop), integer(step)) {
        let len = if (b > a) == (d > 0) { (b - a).abs().div_ceil_unsigned(d.abs()) } else { 0 };
        return usize::try_from(len).map_err(|_| Error::argument(name, format!("too long {}", text())));
    }
    let (a, b, d) = (start.to_f64(), stop.to_f64(), step.to_f64());
    if a.is_nan() || b.is_nan() || d.is_nan() || a.is_infinite() || b.is_infinite() {
        return Err(Error::argument(name, format!("start and stop must be finite, step not NaN {}", text())));
    }
    if d.is_infinite() {
        return Ok(usize::from(if d > 0.0 { a < b } else { a > b }));
    }
    let len = ((b - a) / d).ceil().max(0.0);
    // The size of the elements is checked with the shape; this keeps the conversion exact.
    if len < isize::MAX as f64 {
        Ok(len as usize)
    } else {
        Err(Error::argument(name, format!("too long {}", text())))
    }
}

fn integer(value: Scalar) -> Option<i128> {
    match value {
        Scalar::Bool(v) => Some(i128::from(v)),
        Scalar::Int(v) => Some(i128::from(v)),
        Scalar::Uint(v) => Some(i128::from(v)),
        Scalar::Float(_) | Scalar::Complex(..) => None,
    }
}

trait DivCeil {
    fn div_ceil_unsigned(self, by: Self) -> Self;
}

impl DivCeil for i128 {
    /// Division of non-negative numbers, rounded up.
    fn div_ceil_unsigned(self, by: i128) -> i128 {
        self / by + i128::from(self % by != 0)
    }
}

/// `num` numbers from `start` to `stop`, evenly spaced; `stop` is the last one if `endpoint`.
///
/// ```
/// use pellucid::{Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::linspace(0.0, 1.0, 5, true, Dtype::Float32).to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn linspace(start: f64, stop: f64, num: usize, endpoint: bool, dtype: Dtype) -> Array {
    let compute = if dtype == Dtype::Float64 { dtype } else { Dtype::Float32 };
    if num <= 1 {
        return cast(&full(num, start, compute), dtype);
    }
    let count = cast(&counting(num), compute);
    let part = divide(&count, (num - usize::from(endpoint)) as f64);
    let from_start = multiply(subtract(1.0, &part), start);
    cast(&add(from_start, multiply(&part, stop)), dtype)
}

/// Ones on the diagonal `k`, zeros elsewhere; `n` rows and `m` columns (`n` if not given).
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::eye(2, 3, 1, Dtype::Int32).to_vec::<i32>().unwrap(), [0, 1, 0, 0, 0, 1]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn eye(n: usize, m: impl Into<Option<usize>>, k: i64, dtype: Dtype) -> Array {
    let (rows, columns) = grid("eye", n, m.into().unwrap_or(n), k);
    cast(&equal(rows, columns), dtype)
}

/// Row numbers moved by `k` as a column, and column numbers as a row.
#[track_caller]
pub(super) fn grid(function: &'static str, n: usize, m: usize, k: i64) -> (Array, Array) {
    ok!(Shape::from([n, m]).check(function, 8));
    // Diagonals further out are as empty as the first one outside.
    let k = k.clamp(-ok!(signed(function, n)), ok!(signed(function, m)));
    let wide = if i32::try_from(n.saturating_add(m)).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    let rows = shaped(&cast(&counting(n), wide), Shape::from([n, 1]));
    let rows = add(&rows, &constant(function, Scalar::Int(k), wide));
    (rows, cast(&counting(m), wide))
}

/// The square array with ones on the diagonal.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::identity(2, Dtype::Int32).to_vec::<i32>().unwrap(), [1, 0, 0, 1]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn identity(n: usize, dtype: Dtype) -> Array {
    eye(n, n, 0, dtype)
}
