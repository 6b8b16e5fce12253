//! Kernels of the integer types and bool. Arithmetic wraps. Division by zero gives zero and a remainder by zero the
//! dividend, as MLX does; shifts use the low bits of the count (5 of them up to 32-bit types, 6 for 64-bit ones).

use super::division;
use super::isa::{Isa, Kernel, Level, Map1, Map2, One, Two, binary_table, scalar, unary_table, wide};
use crate::array::Dtype;
use crate::op::{BinaryOp, UnaryOp};

/// Kernels of bool and the integers.
pub(super) fn unary(op: UnaryOp, dtype: Dtype, level: Level) -> Option<Kernel> {
    use UnaryOp::*;
    match op {
        Ceil | Conjugate | Floor | Real | Round | Trunc if dtype == Dtype::Bool => {
            return to_bool(Real, level);
        }
        Ceil | Conjugate | Floor | Real | Round | Trunc => return super::cast::copy(dtype.size(), level),
        // Only as many bytes of the argument are looked at as there are elements, and none matters.
        Isinf | Isnan | Isneginf | Isposinf | Isfinite => return constant(op, level),
        _ => {}
    }
    match dtype {
        Dtype::Bool => to_bool(op, level),
        Dtype::Uint8 => bits_u8(op, level).or_else(|| unary_u8(op, level)),
        Dtype::Uint16 => bits_u16(op, level).or_else(|| unary_u16(op, level)),
        Dtype::Uint32 => bits_u32(op, level).or_else(|| unary_u32(op, level)),
        Dtype::Uint64 => bits_u64(op, level).or_else(|| unary_u64(op, level)),
        Dtype::Int8 => bits_u8(op, level).or_else(|| unary_i8(op, level)),
        Dtype::Int16 => bits_u16(op, level).or_else(|| unary_i16(op, level)),
        Dtype::Int32 => bits_u32(op, level).or_else(|| unary_i32(op, level)),
        Dtype::Int64 => bits_u64(op, level).or_else(|| unary_i64(op, level)),
        _ => None,
    }
}

/// Kernels of bool and the integers.
pub(super) fn binary(op: BinaryOp, dtype: Dtype, level: Level) -> Option<Kernel> {
    if let Some(kernel) = division::kernel(op, dtype, level) {
        return Some(kernel);
    }
    match dtype {
        Dtype::Bool => pair_bool(op, level),
        Dtype::Uint8 => {
            pair_bits_u8(op, level).or_else(|| pair_u8(op, level)).or_else(|| divide_u8(op, level))
        }
        Dtype::Uint16 => {
            pair_bits_u16(op, level).or_else(|| pair_u16(op, level)).or_else(|| divide_u16(op, level))
        }
        Dtype::Uint32 => {
            pair_bits_u32(op, level).or_else(|| pair_u32(op, level)).or_else(|| divide_u32(op, level))
        }
        Dtype::Uint64 => {
            pair_bits_u64(op, level).or_else(|| pair_u64(op, level)).or_else(|| divide_u64(op, level))
        }
        Dtype::Int8 => {
            pair_bits_u8(op, level).or_else(|| pair_i8(op, level)).or_else(|| divide_i8(op, level))
        }
        Dtype::Int16 => {
            pair_bits_u16(op, level).or_else(|| pair_i16(op, level)).or_else(|| divide_i16(op, level))
        }
        Dtype::Int32 => {
            pair_bits_u32(op, level).or_else(|| pair_i32(op, level)).or_else(|| divide_i32(op, level))
        }
        Dtype::Int64 => {
            pair_bits_u64(op, level).or_else(|| pair_i64(op, level)).or_else(|| divide_i64(op, level))
        }
        _ => None,
    }
}

unary_table! { constant: scalar u8;
    Isfinite -> u8, |_| 1;
    Isinf -> u8, |_| 0;
    Isnan -> u8, |_| 0;
    Isneginf -> u8, |_| 0;
    Isposinf -> u8, |_| 0;
}

unary_table! { to_bool: wide u8;
    Abs -> u8, |x| u8::from(x != 0);
    BitwiseInvert -> u8, |x| u8::from(x == 0);
    Imag -> u8, |_| 0;
    LogicalNot -> u8, |x| u8::from(x == 0);
    Real -> u8, |x| u8::from(x != 0);
    Sign -> u8, |x| u8::from(x != 0);
    Square -> u8, |x| u8::from(x != 0);
}

// The result is that of the integers 0 and 1, taken as a truth value.
binary_table! { pair_bool: wide u8;
    Add -> u8, |a, b| u8::from((a != 0) | (b != 0));
    BitwiseAnd -> u8, |a, b| u8::from((a != 0) & (b != 0));
    BitwiseOr -> u8, |a, b| u8::from((a != 0) | (b != 0));
    BitwiseXor -> u8, |a, b| u8::from((a != 0) ^ (b != 0));
    Equal -> u8, |a, b| u8::from((a != 0) == (b != 0));
    FloorDivide -> u8, |a, b| u8::from((a != 0) & (b != 0));
    Greater -> u8, |a, b| u8::from((a != 0) & (b == 0));
    GreaterEqual -> u8, |a, b| u8::from((a != 0) | (b == 0));
    LeftShift -> u8, |a, _b| u8::from(a != 0);
    Less -> u8, |a, b| u8::from((a == 0) & (b != 0));
    LessEqual -> u8, |a, b| u8::from((a == 0) | (b != 0));
    LogicalAnd -> u8, |a, b| u8::from((a != 0) & (b != 0));
    LogicalOr -> u8, |a, b| u8::from((a != 0) | (b != 0));
    LogicalXor -> u8, |a, b| u8::from((a != 0) ^ (b != 0));
    Maximum -> u8, |a, b| u8::from((a != 0) | (b != 0));
    Minimum -> u8, |a, b| u8::from((a != 0) & (b != 0));
    Multiply -> u8, |a, b| u8::from((a != 0) & (b != 0));
    NotEqual -> u8, |a, b| u8::from((a != 0) ^ (b != 0));
    Power -> u8, |a, b| u8::from((a != 0) | (b == 0));
    Remainder -> u8, |a, b| u8::from((a != 0) & (b == 0));
    RightShift -> u8, |a, b| u8::from((a != 0) & (b == 0));
    Subtract -> u8, |a, b| u8::from((a != 0) ^ (b != 0));
}

/// Functions whose bits do not depend on the sign: one kernel for the signed and the unsigned type.
macro_rules! bits {
    ($unary:ident, $binary:ident, $T:ident, $wide:ident) => {
        unary_table! { $unary: wide $T;
            BitwiseInvert -> $T, |x| !x;
            Imag -> $T, |_| 0;
            LogicalNot -> u8, |x| u8::from(x == 0);
            Negative -> $T, |x| x.wrapping_neg();
            Square -> $T, |x| x.wrapping_mul(x);
        }

        binary_table! { $binary: wide $T;
            Add -> $T, |a, b| a.wrapping_add(b);
            BitwiseAnd -> $T, |a, b| a & b;
            BitwiseOr -> $T, |a, b| a | b;
            BitwiseXor -> $T, |a, b| a ^ b;
            Equal -> u8, |a, b| u8::from(a == b);
            LeftShift -> $T, |a, b| ($wide::from(a) << ($wide::from(b) & ($wide::BITS as $wide - 1))) as $T;
            Multiply -> $T, |a, b| a.wrapping_mul(b);
            NotEqual -> u8, |a, b| u8::from(a != b);
            Subtract -> $T, |a, b| a.wrapping_sub(b);
        }
    };
}
bits!(bits_u8, pair_bits_u8, u8, u32);
bits!(bits_u16, pair_bits_u16, u16, u32);
bits!(bits_u32, pair_bits_u32, u32, u32);
bits!(bits_u64, pair_bits_u64, u64, u64);

macro_rules! ordered {
    ($unary:ident, $pair:ident, $divide:ident, $T:ident, $wide:ident, $abs:expr, $sign:expr, $floor:expr, $modulo:expr, $negative:expr) => {
        unary_table! { $unary: wide $T;
            Abs -> $T, |x| $abs(x);
            Sign -> $T, |x| $sign(x);
        }

        binary_table! { $pair: wide $T;
            Greater -> u8, |a, b| u8::from(a > b);
            GreaterEqual -> u8, |a, b| u8::from(a >= b);
            Less -> u8, |a, b| u8::from(a < b);
            LessEqual -> u8, |a, b| u8::from(a <= b);
            Maximum -> $T, |a, b| a.max(b);
            Minimum -> $T, |a, b| a.min(b);
            RightShift -> $T, |a, b| ($wide::from(a) >> ($wide::from(b) & ($wide::BITS as $wide - 1))) as $T;
        }

        binary_table! { $divide: scalar $T;
            FloorDivide -> $T, |a, b| if b == 0 { 0 } else { $floor(a, b) };
            // A negative exponent gives zero for every base, as in MLX.
            Power -> $T, |a, b| if $negative(b) { 0 } else {
                let (mut base, mut left, mut result): ($T, $T, $T) = (a, b, 1);
                while left != 0 {
                    if left & 1 != 0 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                result
            };
            Remainder -> $T, |a, b| if b == 0 { a } else { $modulo(a, b) };
        }
    };
}
macro_rules! unsigned {
    ($unary:ident, $pair:ident, $divide:ident, $T:ident, $wide:ident) => {
        ordered!(
            $unary,
            $pair,
            $divide,
            $T,
            $wide,
            |x: $T| x,
            |x: $T| $T::from(x != 0),
            |a: $T, b: $T| a / b,
            |a: $T, b: $T| a % b,
            |_: $T| false
        );
    };
}
macro_rules! signed {
    ($unary:ident, $pair:ident, $divide:ident, $T:ident, $wide:ident) => {
        ordered!(
            $unary,
            $pair,
            $divide,
            $T,
            $wide,
            |x: $T| x.wrapping_abs(),
            |x: $T| $T::from(x > 0) - $T::from(x < 0),
            |a: $T, b: $T| {
                let q = a.wrapping_div(b);
                // Rounded towards zero; one less where the true quotient is negative and not whole.
                q.wrapping_sub($T::from(((a < 0) != (b < 0)) & (a.wrapping_rem(b) != 0)))
            },
            |a: $T, b: $T| {
                let r = a.wrapping_rem(b);
                if (r != 0) & ((r < 0) != (b < 0)) { r.wrapping_add(b) } else { r }
            },
            |b: $T| b < 0
        );
    };
}
unsigned!(unary_u8, pair_u8, divide_u8, u8, u32);
unsigned!(unary_u16, pair_u16, divide_u16, u16, u32);
unsigned!(unary_u32, pair_u32, divide_u32, u32, u32);
unsigned!(unary_u64, pair_u64, divide_u64, u64, u64);
signed!(unary_i8, pair_i8, divide_i8, i8, i32);
signed!(unary_i16, pair_i16, divide_i16, i16, i32);
signed!(unary_i32, pair_i32, divide_i32, i32, i32);
signed!(unary_i64, pair_i64, divide_i64, i64, i64);
