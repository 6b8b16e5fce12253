//! Which frequency is where.

use super::{Array, Axes, Error, Result, ok, resolve_axis};
use crate::array::Dtype;
use crate::ops::assemble::{concatenate, roll};
use crate::ops::elementwise::multiply;
use crate::ops::{cast, counting};

fn check(name: &'static str, n: usize, d: f64) -> Result<()> {
    if n == 0 {
        return Err(Error::argument(name, "the number of samples must be positive, but is 0"));
    }
    if d == 0.0 {
        return Err(Error::argument(name, "the distance of samples must not be zero"));
    }
    Ok(())
}

/// The frequency of each element of an [`fft`](super::fft()) of `n` samples at distance `d`, in cycles per unit of it.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fft;
/// assert_eq!(fft::fftfreq(4, 1.0).to_vec::<f32>().unwrap(), [0.0, 0.25, -0.5, -0.25]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if there are no samples or they have no distance.
#[track_caller]
pub fn fftfreq(n: usize, d: f64) -> Array {
    ok!(check("fftfreq", n, d));
    let half = n.div_ceil(2);
    let up = cast(&counting(half), Dtype::Float32);
    let down = crate::ops::subtract(&cast(&counting(n - half), Dtype::Float32), (n - half) as f64);
    multiply(&concatenate(&[&up, &down], 0), 1.0 / (n as f64 * d))
}

/// The frequency of each element of an [`rfft`](super::rfft) of `n` samples at distance `d`.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fft;
/// assert_eq!(fft::rfftfreq(4, 1.0).to_vec::<f32>().unwrap(), [0.0, 0.25, 0.5]);
/// ```
///
/// # Errors
/// [`Error::Argument`] if there are no samples or they have no distance.
#[track_caller]
pub fn rfftfreq(n: usize, d: f64) -> Array {
    ok!(check("rfftfreq", n, d));
    multiply(&cast(&counting(n / 2 + 1), Dtype::Float32), 1.0 / (n as f64 * d))
}

/// Each axis turned by half its size, or by the rest for the way back.
#[track_caller]
fn shifted(name: &'static str, a: &Array, axes: Axes, back: bool) -> Array {
    ok!(a);
    let axes: Vec<usize> = match axes {
        Axes::All => (0..a.ndim()).collect(),
        Axes::List(list) => {
            let resolved: Result<_> = list.iter().map(|&axis| resolve_axis(name, axis, a.ndim())).collect();
            ok!(resolved)
        }
    };
    axes.iter().fold(a.clone(), |a, &axis| {
        let size = a.shape()[axis];
        let shift = if back { size.div_ceil(2) } else { size / 2 };
        roll(&a, &[shift as i64], axis as i64)
    })
}

/// The frequency zero moved to the middle of the axes.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fft;
/// assert_eq!(fft::fftshift(&array![0, 1, 2, 3], ..).to_vec::<i32>().unwrap(), [2, 3, 0, 1]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist.
#[track_caller]
pub fn fftshift(a: &Array, axes: impl Into<Axes>) -> Array {
    shifted("fftshift", a, axes.into(), false)
}

/// The way back from [`fftshift`].
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fft;
/// assert_eq!(fft::ifftshift(&array![2, 3, 0, 1], ..).to_vec::<i32>().unwrap(), [0, 1, 2, 3]);
/// ```
///
/// # Errors
/// [`Error::Axis`] if an axis does not exist.
#[track_caller]
pub fn ifftshift(a: &Array, axes: impl Into<Axes>) -> Array {
    shifted("ifftshift", a, axes.into(), true)
}
