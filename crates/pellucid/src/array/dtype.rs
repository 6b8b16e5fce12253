//! Element types: their sizes, names, categories and the rule that promotes two of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The type of an array's elements.
///
/// ```
/// use pellucid::Dtype;
/// assert_eq!(Dtype::Float16.size(), 2);
/// assert_eq!(Dtype::Int32.promote(Dtype::Float16), Dtype::Float16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned 8-bit integer.
    Uint8,
    /// Unsigned 16-bit integer.
    Uint16,
    /// Unsigned 32-bit integer.
    Uint32,
    /// Unsigned 64-bit integer.
    Uint64,
    /// Signed 8-bit integer.
    Int8,
    /// Signed 16-bit integer.
    Int16,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// IEEE half precision.
    Float16,
    /// Brain float: the upper half of a `float32`.
    Bfloat16,
    /// IEEE single precision; the default for real numbers.
    Float32,
    /// IEEE double precision; CPU only.
    Float64,
    /// Two `float32`: real and imaginary part.
    Complex64,
}

/// The families of element types, from general to special, as MLX and NumPy name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DtypeCategory {
    /// Every type.
    Generic,
    /// Every type but bool.
    Number,
    /// Integers of either sign.
    Integer,
    /// Signed integers.
    SignedInteger,
    /// Unsigned integers.
    UnsignedInteger,
    /// Floating and complex types.
    Inexact,
    /// Real floating types.
    Floating,
    /// Complex types.
    ComplexFloating,
}

impl Dtype {
    /// Every element type, in the order of the promotion table.
    pub const ALL: [Dtype; 14] = [
        Dtype::Bool,
        Dtype::Uint8,
        Dtype::Uint16,
        Dtype::Uint32,
        Dtype::Uint64,
        Dtype::Int8,
        Dtype::Int16,
        Dtype::Int32,
        Dtype::Int64,
        Dtype::Float16,
        Dtype::Bfloat16,
        Dtype::Float32,
        Dtype::Float64,
        Dtype::Complex64,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::Bool | Dtype::Uint8 | Dtype::Int8 => 1,
            Dtype::Uint16 | Dtype::Int16 | Dtype::Float16 | Dtype::Bfloat16 => 2,
            Dtype::Uint32 | Dtype::Int32 | Dtype::Float32 => 4,
            Dtype::Uint64 | Dtype::Int64 | Dtype::Float64 | Dtype::Complex64 => 8,
        }
    }

    /// The name MLX prints, such as `float32`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::Uint8 => "uint8",
            Dtype::Uint16 => "uint16",
            Dtype::Uint32 => "uint32",
            Dtype::Uint64 => "uint64",
            Dtype::Int8 => "int8",
            Dtype::Int16 => "int16",
            Dtype::Int32 => "int32",
            Dtype::Int64 => "int64",
            Dtype::Float16 => "float16",
            Dtype::Bfloat16 => "bfloat16",
            Dtype::Float32 => "float32",
            Dtype::Float64 => "float64",
            Dtype::Complex64 => "complex64",
        }
    }

    /// True for the real floating types.
    pub const fn is_floating(self) -> bool {
        matches!(self, Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 | Dtype::Float64)
    }

    /// True for floating and complex types.
    pub const fn is_inexact(self) -> bool {
        self.is_floating() || self.is_complex()
    }

    /// True for `complex64`.
    pub const fn is_complex(self) -> bool {
        matches!(self, Dtype::Complex64)
    }

    /// True for integers of either sign; not for bool.
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// True for signed integers.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64)
    }

    /// True for unsigned integers; not for bool.
    pub const fn is_unsigned_integer(self) -> bool {
        matches!(self, Dtype::Uint8 | Dtype::Uint16 | Dtype::Uint32 | Dtype::Uint64)
    }

    /// True if this type belongs to the category.
    pub const fn is(self, category: DtypeCategory) -> bool {
        match category {
            DtypeCategory::Generic => true,
            DtypeCategory::Number => !matches!(self, Dtype::Bool),
            DtypeCategory::Integer => self.is_integer(),
            DtypeCategory::SignedInteger => self.is_signed_integer(),
            DtypeCategory::UnsignedInteger => self.is_unsigned_integer(),
            DtypeCategory::Inexact => self.is_inexact(),
            DtypeCategory::Floating => self.is_floating(),
            DtypeCategory::ComplexFloating => self.is_complex(),
        }
    }

    /// The type of a result computed from `self` and `other`, by MLX's table: within a family the larger wins, a
    /// signed and an unsigned integer meet in the next larger signed one, floating beats integer, and two different
    /// 16-bit floats meet in `float32`.
    pub fn promote(self, other: Dtype) -> Dtype {
        use Dtype::*;
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (a, b) if a == b => a,
            (Bool, b) => b,
            (a, b) if a.is_unsigned_integer() && b.is_unsigned_integer() => b,
            (a, b) if a.is_signed_integer() && b.is_signed_integer() => b,
            // A signed type that holds every value of the unsigned one; none does for uint64, as in MLX.
            (Uint64, b) if b.is_signed_integer() => Float32,
            (a, b) if a.is_unsigned_integer() && b.is_signed_integer() => {
                let wider = match a {
                    Uint8 => Int16,
                    Uint16 => Int32,
                    _ => Int64,
                };
                if b.size() > a.size() { b } else { wider }
            }
            (a, b) if a.is_integer() => b,
            (Float16, Bfloat16) => Float32,
            (_, b) => b,
        }
    }

    /// The floating type a function such as `sqrt` computes in: the type itself if inexact, else `float32`.
    pub const fn to_inexact(self) -> Dtype {
        if self.is_inexact() { self } else { Dtype::Float32 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(name: &str) -> Result<Dtype> {
        Dtype::ALL.into_iter().find(|d| d.name() == name).ok_or_else(|| {
            let known: Vec<_> = Dtype::ALL.iter().map(|d| d.name()).collect();
            Error::dtype("dtype", format!("{name:?} is not an element type; known are {}", known.join(", ")))
        })
    }
}
