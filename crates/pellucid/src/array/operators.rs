//! Operators on arrays and numbers: the named functions, spelt shorter.
//! Comparisons are named functions: `ops::less(&a, &b)`.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use half::{bf16, f16};
use num_complex::Complex32;

use super::Array;
use crate::ops::{self, Operand};

macro_rules! operators {
    ($($op:ident $method:ident $assign:ident $assign_method:ident $function:ident;)*) => {
        $(
            // Generic in the right side, so that the type of `&a + 1` is known before that of the `1`.
            operators!(@any $op $method $function Array);
            operators!(@any $op $method $function &Array);
            operators!(@number $op $method $function; bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f16 bf16 f32 f64 Complex32);

            impl<'b, B: Into<Operand<'b>>> $assign<B> for Array {
                #[doc = concat!("The same as [`ops::", stringify!($function), "`].")]
                #[track_caller]
                fn $assign_method(&mut self, other: B) {
                    *self = ops::$function(&*self, other);
                }
            }
        )*
    };
    (@any $op:ident $method:ident $function:ident $left:ty) => {
        impl<'b, B: Into<Operand<'b>>> $op<B> for $left {
            type Output = Array;

            #[doc = concat!("The same as [`ops::", stringify!($function), "`].")]
            #[track_caller]
            fn $method(self, other: B) -> Array {
                ops::$function(self, other)
            }
        }
    };
    (@number $op:ident $method:ident $function:ident; $($number:ident)*) => {
        $(
            operators!(@left $op $method $function $number Array);
            operators!(@left $op $method $function $number &Array);
        )*
    };
    (@left $op:ident $method:ident $function:ident $left:ident $right:ty) => {
        impl $op<$right> for $left {
            type Output = Array;

            #[doc = concat!("The same as [`ops::", stringify!($function), "`].")]
            #[track_caller]
            fn $method(self, other: $right) -> Array {
                ops::$function(self, other)
            }
        }
    };
}

operators! {
    Add add AddAssign add_assign add;
    Sub sub SubAssign sub_assign subtract;
    Mul mul MulAssign mul_assign multiply;
    Div div DivAssign div_assign divide;
    Rem rem RemAssign rem_assign remainder;
    BitAnd bitand BitAndAssign bitand_assign bitwise_and;
    BitOr bitor BitOrAssign bitor_assign bitwise_or;
    BitXor bitxor BitXorAssign bitxor_assign bitwise_xor;
    Shl shl ShlAssign shl_assign left_shift;
    Shr shr ShrAssign shr_assign right_shift;
}

macro_rules! unary_operators {
    ($($op:ident $method:ident $function:ident $ty:ty;)*) => {
        $(impl $op for $ty {
            type Output = Array;

            #[doc = concat!("The same as [`ops::", stringify!($function), "`].")]
            #[track_caller]
            #[allow(clippy::needless_borrow, reason = "one body for values and references")]
            fn $method(self) -> Array {
                ops::$function(&self)
            }
        })*
    };
}

unary_operators! {
    Neg neg negative Array;
    Neg neg negative &Array;
    Not not bitwise_invert Array;
    Not not bitwise_invert &Array;
}
