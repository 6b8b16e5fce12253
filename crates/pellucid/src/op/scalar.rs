//! One number of any element type, as an operation carries it.

use std::hash::{Hash, Hasher};

use num_complex::Complex32;
use serde::{Deserialize, Serialize};

use crate::array::Dtype;

/// A number written in the program, such as the `1` of `x + 1`.
///
/// It takes the type of the array it meets, as in MLX: an integer takes any type, a real number turns integers into
/// `float32`, a complex one gives `complex64`. Two are equal if they are of one kind and have the same bits: NaN is equal
/// to itself, 0 and −0 differ.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A real number.
    Float(#[serde(with = "float_text")] f64),
    /// A complex number.
    Complex(#[serde(with = "float_text")] f64, #[serde(with = "float_text")] f64),
}

impl Scalar {
    /// The type a scalar has on its own: bool, `int32`, `float32` or `complex64`; an integer beyond 32 bits has 64.
    pub fn dtype(self) -> Dtype {
        match self {
            Scalar::Bool(_) => Dtype::Bool,
            Scalar::Int(v) if i32::try_from(v).is_err() => Dtype::Int64,
            Scalar::Uint(v) if v > i64::MAX as u64 => Dtype::Uint64,
            Scalar::Uint(v) if v > i32::MAX as u64 => Dtype::Int64,
            Scalar::Int(_) | Scalar::Uint(_) => Dtype::Int32,
            Scalar::Float(_) => Dtype::Float32,
            Scalar::Complex(..) => Dtype::Complex64,
        }
    }

    /// The type it takes next to an array of type `other`.
    pub fn dtype_beside(self, other: Dtype) -> Dtype {
        match self {
            Scalar::Bool(_) => other,
            Scalar::Int(_) | Scalar::Uint(_) if other == Dtype::Bool => self.dtype(),
            Scalar::Int(_) | Scalar::Uint(_) => other,
            Scalar::Float(_) => other.to_inexact(),
            Scalar::Complex(..) => Dtype::Complex64,
        }
    }

    /// A number's kind and bits: equal for the same value, NaN included.
    pub(crate) fn bits(self) -> (u8, u64, u64) {
        match self {
            Scalar::Bool(v) => (0, u64::from(v), 0),
            Scalar::Int(v) => (1, v as u64, 0),
            Scalar::Uint(v) => (2, v, 0),
            Scalar::Float(v) => (3, v.to_bits(), 0),
            Scalar::Complex(re, im) => (4, re.to_bits(), im.to_bits()),
        }
    }

    /// The real value, rounded to `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(v) => f64::from(u8::from(v)),
            Scalar::Int(v) => v as f64,
            Scalar::Uint(v) => v as f64,
            Scalar::Float(v) | Scalar::Complex(v, _) => v,
        }
    }

    /// The value as an integer, truncated and wrapped into 64 bits.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(v) => i64::from(v),
            Scalar::Int(v) => v,
            Scalar::Uint(v) => v as i64,
            // Saturating, NaN to zero: never undefined.
            Scalar::Float(v) | Scalar::Complex(v, _) => v as i64,
        }
    }

    /// The value as a complex number.
    pub fn to_complex(self) -> Complex32 {
        match self {
            Scalar::Complex(re, im) => Complex32::new(re as f32, im as f32),
            other => Complex32::new(other.to_f64() as f32, 0.0),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

/// A real parameter of an operation, compared by its bits: NaN is equal to itself, 0 and −0 differ.
///
/// ```
/// use pellucid::op::Float;
/// assert_eq!(Float(f64::NAN), Float(f64::NAN));
/// assert_ne!(Float(0.0), Float(-0.0));
/// ```
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Float(#[serde(with = "float_text")] pub f64);

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

macro_rules! from_number {
    ($($variant:ident($wide:ty): $($ty:ty),*;)*) => {
        $($(impl From<$ty> for Scalar {
            fn from(v: $ty) -> Scalar {
                Scalar::$variant(<$wide>::from(v))
            }
        })*)*
    };
}
from_number! {
    Bool(bool): bool;
    Int(i64): i8, i16, i32, i64, u8, u16, u32;
    Uint(u64): u64;
    Float(f64): f32, f64, half::f16, half::bf16;
}

impl From<Complex32> for Scalar {
    fn from(v: Complex32) -> Scalar {
        Scalar::Complex(f64::from(v.re), f64::from(v.im))
    }
}

/// JSON has no infinities and no NaN; they are written as text so that an operation survives the way to a file.
pub(super) mod float_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        if v.is_finite() { s.serialize_f64(*v) } else { s.serialize_str(&v.to_string()) }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Repr {
            Number(f64),
            Text(String),
        }
        match Repr::deserialize(d)? {
            Repr::Number(v) => Ok(v),
            Repr::Text(t) => t.parse().map_err(|_| D::Error::custom(format!("{t:?} is not a number"))),
        }
    }
}
