//! Window functions.
#![expect(non_snake_case, reason = "the argument is called M in MLX")]

use pellucid::ops;
use pyo3::prelude::*;

use crate::args::Int;

/// The number of points; none if it is negative.
fn points(m: Int) -> usize {
    usize::try_from(m.0).unwrap_or(0)
}

crate::ops::functions! {
    bartlett(M, *, stream = None) [M: Int]
        "(M: int, *, stream: StreamOrDevice = None)" "array"
        "The Bartlett window of so many points."
        => ops::bartlett(points(M));
    blackman(M, *, stream = None) [M: Int]
        "(M: int, *, stream: StreamOrDevice = None)" "array"
        "The Blackman window of so many points."
        => ops::blackman(points(M));
    hamming(M, *, stream = None) [M: Int]
        "(M: int, *, stream: StreamOrDevice = None)" "array"
        "The Hamming window of so many points."
        => ops::hamming(points(M));
    hanning(M, *, stream = None) [M: Int]
        "(M: int, *, stream: StreamOrDevice = None)" "array"
        "The Hanning window of so many points."
        => ops::hanning(points(M));
}
