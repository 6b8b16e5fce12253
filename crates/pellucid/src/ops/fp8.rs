//! Eight-bit floating point numbers (e4m3) in bytes: a sign, four bits of exponent, three of fraction, no infinities.

use std::sync::LazyLock;

use super::elementwise::{add, bitwise_and, bitwise_or, greater_equal, less, right_shift, subtract, where_};
use super::index::take;
use super::shape::view;
use super::{cast, constant};
use crate::array::{Array, Dtype, fail, ok};
use crate::error::Error;
use crate::op::Scalar;

/// The numbers that the bytes stand for.
static NUMBERS: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let (exponent, fraction) = ((byte >> 3) & 15, (byte & 7) as f32 / 8.0);
        let size = match (exponent, byte & 7) {
            (15, 7) => f32::NAN,
            (0, _) => fraction * 2f32.powi(-6),
            _ => (1.0 + fraction) * 2f32.powi(exponent as i32 - 7),
        };
        if byte & 128 == 0 { size } else { -size }
    })
});

/// The largest number, 448, as a byte. What is larger becomes it, and so does NaN, as in MLX.
const LARGEST: i64 = 0x7E;

/// Numbers rounded to the nearest of e4m3, ties to even, as bytes.
///
/// ```
/// use pellucid::{Array, Dtype, ops};
/// # fn main() -> pellucid::Result<()> {
/// let bytes = ops::to_fp8(&Array::from([0.3f32, -1.0, 1e6]));
/// assert_eq!(ops::from_fp8(&bytes, Dtype::Float32).to_vec::<f32>()?, [0.3125, -1.0, 448.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Dtype`] if the array is not of a real floating type.
#[track_caller]
pub fn to_fp8(x: &Array) -> Array {
    ok!(x);
    if !x.dtype().is_floating() {
        return fail(Error::dtype("to_fp8", format!("needs a floating type, not {}", x.dtype())));
    }
    let word = |value: i64| constant("to_fp8", Scalar::Int(value), Dtype::Uint32);
    let bits = view(&cast(x, Dtype::Float32), Dtype::Uint32);
    let size = bitwise_and(&bits, &word(0x7FFF_FFFF));
    let sign = right_shift(&bitwise_and(&bits, &word(0x8000_0000)), &word(24));
    // Below 2⁻⁶ the numbers are equally far apart: adding 2¹⁴ rounds to that distance, and leaves the number of steps
    // in the lowest bits of the sum.
    let steps = view(&add(&view(&size, Dtype::Float32), 16384.0), Dtype::Uint32);
    let small = subtract(&steps, &word(141 << 23));
    // Above, the fraction is rounded at its fourth bit, which may carry into the exponent.
    let odd = bitwise_and(&right_shift(&size, &word(20)), &word(1));
    let rounded = right_shift(&add(&add(&size, &odd), &word(0x7_FFFF)), &word(20));
    let large = subtract(&rounded, &word((127 - 7) << 3));
    let found = where_(&less(&size, &word(121 << 23)), &small, &large);
    let found = where_(&greater_equal(&size, &word(0x43E8_0000)), &word(LARGEST), &found);
    cast(&bitwise_or(&found, &sign), Dtype::Uint8)
}

/// The numbers of e4m3 that bytes stand for.
///
/// ```
/// use pellucid::prelude::*;
/// let packed = ops::to_fp8(&array![1.0, -2.0]);
/// assert_eq!(ops::from_fp8(&packed, Dtype::Float32).to_vec::<f32>().unwrap(), [1.0, -2.0]);
/// ```
///
/// # Errors
/// [`Error::Dtype`] if the array is not of bytes, or the type asked for is not a real floating one.
#[track_caller]
pub fn from_fp8(x: &Array, dtype: Dtype) -> Array {
    ok!(x);
    if x.dtype() != Dtype::Uint8 {
        return fail(Error::dtype("from_fp8", format!("needs uint8, not {}", x.dtype())));
    }
    if !dtype.is_floating() {
        return fail(Error::dtype("from_fp8", format!("gives floating types, not {dtype}")));
    }
    cast(&take(&Array::from(*NUMBERS), x, 0), dtype)
}
