//! The Rust types that array elements can be read and written as.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex32;

use crate::array::Dtype;
use crate::op::Scalar;

/// A Rust type that is the element type of arrays.
///
/// `bool` is stored as one byte, 0 or 1; every byte but 0 reads as true.
pub trait Element:
    Copy + Send + Sync + Into<Scalar> + std::fmt::Debug + PartialEq + 'static + private::Sealed
{
    /// The matching element type.
    const DTYPE: Dtype;

    /// The type as it lies in memory: the same, but `u8` for `bool`.
    type Stored: Pod + Send + Sync;

    /// From memory.
    fn from_stored(stored: Self::Stored) -> Self;

    /// To memory.
    fn to_stored(self) -> Self::Stored;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),*) => {
        $(impl private::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: Dtype = Dtype::$dtype;
            type Stored = $ty;
            #[inline]
            fn from_stored(stored: $ty) -> $ty {
                stored
            }
            #[inline]
            fn to_stored(self) -> $ty {
                self
            }
        })*
    };
}

elements! {
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    f16 => Float16, bf16 => Bfloat16, f32 => Float32, f64 => Float64, Complex32 => Complex64
}

impl private::Sealed for bool {}
impl Element for bool {
    const DTYPE: Dtype = Dtype::Bool;
    type Stored = u8;

    #[inline]
    fn from_stored(stored: u8) -> bool {
        stored != 0
    }

    #[inline]
    fn to_stored(self) -> u8 {
        u8::from(self)
    }
}
