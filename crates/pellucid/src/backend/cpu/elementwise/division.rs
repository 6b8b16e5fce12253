//! Quotients and remainders of integers of up to 32 bits, computed in floats, which processors divide by the vector.
//!
//! A quotient that is no integer is further from the next one than floats of twice the integers' width can be off, so
//! that rounding it down gives the exact result.

use super::isa::{Isa, Kernel, Level, Map2, Two, binary_table, wide};
use crate::array::Dtype;
use crate::op::BinaryOp;

/// The kernel for a level that can round vectors of floats down; division by zero is as in [`super::integer`].
pub(super) fn kernel(op: BinaryOp, dtype: Dtype, level: Level) -> Option<Kernel> {
    if cfg!(target_arch = "x86_64") && level == Level::Base {
        return None;
    }
    match dtype {
        Dtype::Uint8 => pair_u8(op, level),
        Dtype::Uint16 => pair_u16(op, level),
        Dtype::Uint32 => pair_u32(op, level),
        Dtype::Int8 => pair_i8(op, level),
        Dtype::Int16 => pair_i16(op, level),
        Dtype::Int32 => pair_i32(op, level),
        _ => None,
    }
}

/// The quotient rounded down, modulo 2³²; zero for a divisor of zero.
macro_rules! quotient {
    ($name:ident, $F:ident, $round:literal) => {
        #[inline(always)]
        fn $name(a: $F, b: $F) -> u32 {
            let zero = b == 0.0;
            let q = (a / if zero { 1.0 } else { b }).floor();
            let q = if zero { 0.0 } else { q };
            // The sum has the integer in its last bits, a negative one as its complement.
            const ROUND: $F = $round;
            (q + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as u32
        }
    };
}
quotient!(quotient_f32, f32, 12_582_912.0);
quotient!(quotient_f64, f64, 6_755_399_441_055_744.0);

macro_rules! pair {
    ($name:ident, $T:ident, $quotient:ident) => {
        binary_table! { $name: wide $T;
            FloorDivide -> $T, |a, b| $quotient(a.into(), b.into()) as $T;
            Remainder -> $T, |a, b| a.wrapping_sub(($quotient(a.into(), b.into()) as $T).wrapping_mul(b));
        }
    };
}
pair!(pair_u8, u8, quotient_f32);
pair!(pair_u16, u16, quotient_f32);
pair!(pair_u32, u32, quotient_f64);
pair!(pair_i8, i8, quotient_f32);
pair!(pair_i16, i16, quotient_f32);
pair!(pair_i32, i32, quotient_f64);
