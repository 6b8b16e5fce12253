//! Inputs of functions that take arrays and plain numbers, and the type they meet in.

use half::{bf16, f16};
use num_complex::Complex32;

use super::{cast, constant};
use crate::array::{Array, Dtype};
use crate::error::{Error, Result};
use crate::op::Scalar;

/// An input that is an array or a number.
///
/// A number takes the type of the array it meets, as in MLX: an integer takes any number type, a real number turns
/// integers into `float32`, a complex one gives `complex64`.
///
/// ```
/// use pellucid::{Array, Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([1u8, 2]);
/// assert_eq!(ops::add(&a, 1).dtype(), Dtype::Uint8);
/// assert_eq!(ops::add(0.5, &a).dtype(), Dtype::Float32);
/// assert!(ops::add(&a, 300).check().is_err()); // does not fit
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Operand<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Borrowed(&'a Array),
    Owned(Array),
    Number(Scalar),
}

/// A limit of [`clip`](super::clip): an array, a number, or `None`.
#[derive(Clone, Debug)]
pub struct Limit<'a>(pub(super) Option<Operand<'a>>);

impl<'a> Operand<'a> {
    #[inline]
    pub(crate) fn array(&self) -> Option<&Array> {
        match &self.0 {
            Kind::Borrowed(a) => Some(a),
            Kind::Owned(a) => Some(a),
            Kind::Number(_) => None,
        }
    }

    /// The type it has on its own.
    pub(crate) fn dtype(&self) -> Dtype {
        match &self.0 {
            Kind::Borrowed(a) => a.dtype(),
            Kind::Owned(a) => a.dtype(),
            Kind::Number(v) => v.dtype(),
        }
    }

    /// The type it and another input meet in.
    pub(crate) fn promote(&self, other: &Operand) -> Dtype {
        match (&self.0, &other.0) {
            (Kind::Number(v), Kind::Number(_)) => v.dtype().promote(other.dtype()),
            (Kind::Number(v), _) => v.dtype_beside(other.dtype()).promote(other.dtype()),
            (_, Kind::Number(v)) => v.dtype_beside(self.dtype()).promote(self.dtype()),
            _ => self.dtype().promote(other.dtype()),
        }
    }

    /// The input as an array of this type; a number becomes a single element.
    #[track_caller]
    pub(crate) fn to_array(&self, function: &'static str, dtype: Dtype) -> Array {
        match &self.0 {
            Kind::Number(v) => constant(function, *v, dtype),
            Kind::Borrowed(a) => cast(a, dtype),
            Kind::Owned(a) => cast(a, dtype),
        }
    }

    /// The number as it is, or the array in this type, for functions that convert numbers themselves.
    pub(crate) fn number(&self) -> Option<Scalar> {
        match self.0 {
            Kind::Number(v) => Some(v),
            _ => None,
        }
    }

    /// The shape; a number has none.
    pub(crate) fn shape(&self) -> crate::array::Shape {
        self.array().map_or_else(Default::default, |a| a.shape_ref().clone())
    }
}

/// The value as the type holds it. Integers must fit; reals lose precision as a cast would.
pub(super) fn fit(function: &'static str, value: Scalar, dtype: Dtype) -> Result<Scalar> {
    let wide = match value {
        Scalar::Int(v) => i128::from(v),
        Scalar::Uint(v) => i128::from(v),
        // A number of the program is a `float32` unless it meets `float64`, as in MLX.
        Scalar::Float(v) if matches!(dtype, Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32) => {
            return Ok(Scalar::Float(f64::from(v as f32)));
        }
        Scalar::Float(v) if dtype == Dtype::Bool => return Ok(Scalar::Bool(v != 0.0)),
        Scalar::Complex(re, im) if dtype == Dtype::Bool => return Ok(Scalar::Bool(re != 0.0 || im != 0.0)),
        other => return Ok(other),
    };
    let (low, high) = match dtype {
        Dtype::Bool => return Ok(Scalar::Bool(wide != 0)),
        Dtype::Uint8 => (0, i128::from(u8::MAX)),
        Dtype::Uint16 => (0, i128::from(u16::MAX)),
        Dtype::Uint32 => (0, i128::from(u32::MAX)),
        Dtype::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Dtype::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Dtype::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Dtype::Int64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        // MLX wraps negative numbers into `uint64`.
        Dtype::Uint64 => (i128::from(i64::MIN), i128::from(u64::MAX)),
        _ => return Ok(value),
    };
    if (low..=high).contains(&wide) {
        Ok(value)
    } else {
        Err(Error::argument(function, format!("the number {wide} does not fit {dtype} ({low} to {high})")))
    }
}

impl<'a> From<&'a Array> for Operand<'a> {
    fn from(a: &'a Array) -> Operand<'a> {
        Operand(Kind::Borrowed(a))
    }
}

impl From<Array> for Operand<'_> {
    fn from(a: Array) -> Self {
        Operand(Kind::Owned(a))
    }
}

impl<'a> From<&'a Operand<'_>> for Operand<'a> {
    fn from(other: &'a Operand<'_>) -> Operand<'a> {
        match &other.0 {
            Kind::Borrowed(a) => Operand(Kind::Borrowed(a)),
            Kind::Owned(a) => Operand(Kind::Borrowed(a)),
            Kind::Number(v) => Operand(Kind::Number(*v)),
        }
    }
}

impl<'a> From<Option<Operand<'a>>> for Limit<'a> {
    fn from(limit: Option<Operand<'a>>) -> Limit<'a> {
        Limit(limit)
    }
}

impl<'a> From<&'a Array> for Limit<'a> {
    fn from(a: &'a Array) -> Limit<'a> {
        Limit(Some(a.into()))
    }
}

macro_rules! numbers {
    ($($ty:ty $(as $via:ty)?),*) => {
        $(impl From<$ty> for Operand<'_> {
            fn from(v: $ty) -> Self {
                Operand(Kind::Number(Scalar::from(v $(as $via)?)))
            }
        }
        impl From<$ty> for Limit<'_> {
            fn from(v: $ty) -> Self {
                Limit(Some(v.into()))
            }
        })*
    };
}
numbers! {
    bool, i8, i16, i32, i64, u8, u16, u32, u64, usize as u64, isize as i64, f16, bf16, f32, f64, Complex32, Scalar
}
