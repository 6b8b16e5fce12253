//! Window functions: weights that fade a frame out towards its ends.

use super::creation::ones;
use super::elementwise::{abs, add, cos, divide, multiply, subtract};
use super::{cast, counting, zeros};
use crate::array::{Array, Dtype};

/// `f` of the positions `0, 1, …` of a window of `m` points and of its last position. A window of one point is 1.
#[track_caller]
fn window(m: usize, f: impl FnOnce(&Array, f64) -> Array) -> Array {
    match m {
        0 => zeros([0], Dtype::Float32),
        1 => ones([1], Dtype::Float32),
        _ => f(&cast(&counting(m), Dtype::Float32), (m - 1) as f64),
    }
}

/// A triangle: 0 at both ends, 1 in the middle.
///
/// ```
/// use pellucid::ops;
/// # fn main() -> pellucid::Result<()> {
/// assert_eq!(ops::bartlett(5).to_vec::<f32>()?, [0.0, 0.5, 1.0, 0.5, 0.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn bartlett(m: usize) -> Array {
    window(m, |n, last| {
        let distance = abs(&subtract(n, last / 2.0));
        subtract(1.0, divide(&multiply(&distance, 2.0), last))
    })
}

/// `a − b · cos(2πn / (m − 1)) + c · cos(4πn / (m − 1))`.
#[track_caller]
fn cosines(m: usize, a: f64, b: f64, c: f64) -> Array {
    use std::f64::consts::PI;
    window(m, |n, last| {
        let first = subtract(a, multiply(&cos(&multiply(n, 2.0 * PI / last)), b));
        if c == 0.0 { first } else { add(&first, multiply(&cos(&multiply(n, 4.0 * PI / last)), c)) }
    })
}

/// A cosine raised to be zero at both ends.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(ops::allclose(&ops::hanning(3), &array![0.0, 1.0, 0.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
#[track_caller]
pub fn hanning(m: usize) -> Array {
    cosines(m, 0.5, 0.5, 0.0)
}

/// A cosine raised to be nearly zero at both ends.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(ops::allclose(&ops::hamming(3), &array![0.08, 1.0, 0.08], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
#[track_caller]
pub fn hamming(m: usize) -> Array {
    cosines(m, 0.54, 0.46, 0.0)
}

/// The sum of two cosines, flatter at both ends.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(ops::allclose(&ops::blackman(3), &array![0.0, 1.0, 0.0], 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
#[track_caller]
pub fn blackman(m: usize) -> Array {
    cosines(m, 0.42, 0.5, 0.08)
}
