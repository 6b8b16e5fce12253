//! Discrete Fourier transforms of any length, along one axis or several.
//!
//! Results are `complex64` or `float32`, whatever the input is. Axes are cropped or padded with zeros at their ends to
//! the sizes asked for.
//!
//! ```
//! use pellucid::fft::{self, Norm};
//! use pellucid::Array;
//! # fn main() -> pellucid::Result<()> {
//! let x = Array::from([1.0f32, 2.0, 3.0, 4.0]);
//! let back = fft::irfft(&fft::rfft(&x, None, -1, Norm::Backward), 4, -1, Norm::Backward);
//! assert_eq!(back.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok(())
//! # }
//! ```

mod frames;
mod frequencies;

pub use frames::{Frames, istft, stft};
pub use frequencies::{fftfreq, fftshift, ifftshift, rfftfreq};

use super::{apply, cast, constant, slice_axis};
use crate::array::{Array, Axes, Dtype, Inputs, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::op::{Dims, FftKind, FftSpec, Float, Op, Scalar};

/// Where the factor 1 / n goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// To the inverse transform.
    #[default]
    Backward,
    /// Its square root to both.
    Ortho,
    /// To the forward transform.
    Forward,
}

impl Norm {
    /// The factor of a transform of `n` samples in all.
    fn scale(self, inverse: bool, n: f64) -> f64 {
        match (self, inverse) {
            (Norm::Backward, false) | (Norm::Forward, true) => 1.0,
            (Norm::Backward, true) | (Norm::Forward, false) => 1.0 / n,
            (Norm::Ortho, _) => 1.0 / n.sqrt(),
        }
    }
}

impl std::str::FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Norm> {
        match name {
            "backward" => Ok(Norm::Backward),
            "ortho" => Ok(Norm::Ortho),
            "forward" => Ok(Norm::Forward),
            other => {
                Err(Error::argument("fft", format!("norm is backward, ortho or forward, not {other:?}")))
            }
        }
    }
}

/// What the sides of a transform are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    Complex { inverse: bool },
    Real,
    Hermitian,
}

/// `a` with `n` elements along an axis: cropped, or padded with zeros at the end.
#[track_caller]
fn resized(a: &Array, axis: usize, n: usize) -> Array {
    ok!(a);
    let size = a.shape()[axis];
    if n <= size {
        return slice_axis(a, axis, 0, n, 1);
    }
    let mut high = Dims::from_elem(0, a.ndim());
    high[axis] = n - size;
    let zero = constant("fft", Scalar::Int(0), a.dtype());
    let inputs: Inputs = [a.clone(), zero].into_iter().collect();
    Array::from_op(Op::Pad { low: Dims::from_elem(0, a.ndim()), high }, inputs)
}

/// The axes of a transform and the number of samples along each.
fn plan(
    name: &'static str,
    a: &Array,
    sides: Sides,
    sizes: Option<&[usize]>,
    axes: &Axes,
) -> Result<Vec<(usize, usize)>> {
    let axes: Vec<usize> = match axes {
        Axes::All if sizes.is_some() => {
            return Err(Error::argument(name, "the axes must be given if their sizes are"));
        }
        Axes::All => (0..a.ndim()).collect(),
        Axes::List(list) => {
            list.iter().map(|&axis| resolve_axis(name, axis, a.ndim())).collect::<Result<_>>()?
        }
    };
    if let Some(&twice) =
        axes.iter().enumerate().find_map(|(i, axis)| axes[..i].contains(axis).then_some(axis))
    {
        return Err(Error::argument(name, format!("axis {twice} is given twice in {axes:?}")));
    }
    if let Some(sizes) = sizes
        && sizes.len() != axes.len()
    {
        return Err(Error::argument(
            name,
            format!("{} sizes are given for {} axes", sizes.len(), axes.len()),
        ));
    }
    let size = |i: usize, axis: usize| match sizes {
        Some(sizes) => sizes[i],
        None if sides == Sides::Hermitian && i + 1 == axes.len() => 2 * a.shape()[axis].saturating_sub(1),
        None => a.shape()[axis],
    };
    if a.ndim() == 0 {
        return Err(Error::argument(name, "an array without axes has nothing to transform; give it one"));
    }
    let planned: Vec<(usize, usize)> =
        axes.iter().enumerate().map(|(i, &axis)| (axis, size(i, axis))).collect();
    match planned.iter().find(|&&(_, n)| n == 0) {
        Some((axis, _)) => {
            let message = format!("axis {axis} of shape {} has no samples to transform", a.shape_ref());
            Err(Error::argument(name, message))
        }
        None => Ok(planned),
    }
}

#[track_caller]
fn transform(
    name: &'static str,
    a: &Array,
    sides: Sides,
    sizes: Option<&[usize]>,
    axes: Axes,
    norm: Norm,
) -> Array {
    ok!(a);
    let planned = ok!(plan(name, a, sides, sizes, &axes));
    let Some(&(last, last_n)) = planned.last() else { return a.clone() };
    let inverse = matches!(sides, Sides::Complex { inverse: true } | Sides::Hermitian);
    let total: f64 = planned.iter().map(|&(_, n)| n as f64).product();
    let scale = norm.scale(inverse, total);
    let mut x = cast(a, if sides == Sides::Real { Dtype::Float32 } else { Dtype::Complex64 });
    for &(axis, n) in &planned {
        let half = sides == Sides::Hermitian && axis == last;
        x = resized(&x, axis, if half { n / 2 + 1 } else { n });
    }
    let one =
        |x: &Array, kind, axis, n, scale| apply(Op::Fft(FftSpec { kind, axis, n, scale: Float(scale) }), x);
    let kind = if inverse { FftKind::Inverse } else { FftKind::Forward };
    let others = &planned[..planned.len() - 1];
    match sides {
        // The innermost axis first: it reads the input as it lies.
        Sides::Complex { .. } => {
            x = one(&x, kind, last, last_n, scale);
            others.iter().rev().fold(x, |x, &(axis, n)| one(&x, kind, axis, n, 1.0))
        }
        Sides::Real => {
            x = one(&x, FftKind::Real, last, last_n, scale);
            others.iter().rev().fold(x, |x, &(axis, n)| one(&x, kind, axis, n, 1.0))
        }
        Sides::Hermitian => {
            x = others.iter().fold(x, |x, &(axis, n)| one(&x, kind, axis, n, 1.0));
            one(&x, FftKind::Hermitian, last, last_n, scale)
        }
    }
}

const FORWARD: Sides = Sides::Complex { inverse: false };
const INVERSE: Sides = Sides::Complex { inverse: true };

macro_rules! transforms {
    ($($one:ident $two:ident $many:ident $sides:expr, $what:literal;)*) => {
        $(#[doc = concat!($what, " along one axis, of `n` samples or as many as there are.")]
        ///
        /// ```
        /// use pellucid::{fft, prelude::*};
        #[doc = concat!("fft::", stringify!($one), "(&Array::ones(4), None, -1, fft::Norm::Backward).eval().unwrap();")]
        /// ```
        ///
        /// # Errors
        /// [`Error::Axis`] if the axis does not exist, [`Error::Argument`] if there are no samples.
        #[track_caller]
        pub fn $one(a: &Array, n: impl Into<Option<usize>>, axis: i64, norm: Norm) -> Array {
            let n = n.into();
            transform(stringify!($one), a, $sides, n.as_ref().map(std::slice::from_ref), Axes::from(axis), norm)
        }

        #[doc = concat!($what, " along two axes, by default the last two.")]
        ///
        /// ```
        /// use pellucid::{fft, prelude::*};
        #[doc = concat!("fft::", stringify!($two), "(&Array::ones((4, 4)), None, None, fft::Norm::Backward).eval().unwrap();")]
        /// ```
        ///
        /// # Errors
        /// As for the transform along many axes.
        #[track_caller]
        pub fn $two(a: &Array, sizes: Option<&[usize]>, axes: impl Into<Option<Axes>>, norm: Norm) -> Array {
            let axes = axes.into().unwrap_or_else(|| Axes::from([-2i64, -1]));
            transform(stringify!($two), a, $sides, sizes, axes, norm)
        }

        #[doc = concat!($what, " along several axes, by default all; the last one named is the one that may be half.")]
        ///
        /// ```
        /// use pellucid::{fft, prelude::*};
        #[doc = concat!("fft::", stringify!($many), "(&Array::ones((2, 2, 2)), None, .., fft::Norm::Backward).eval().unwrap();")]
        /// ```
        ///
        /// # Errors
        /// [`Error::Axis`] if an axis does not exist, [`Error::Argument`] if one is given twice or has no samples, or if
        /// the numbers of sizes and axes differ.
        #[track_caller]
        pub fn $many(a: &Array, sizes: Option<&[usize]>, axes: impl Into<Axes>, norm: Norm) -> Array {
            transform(stringify!($many), a, $sides, sizes, axes.into(), norm)
        })*
    };
}
transforms! {
    fft fft2 fftn FORWARD, "The discrete Fourier transform";
    ifft ifft2 ifftn INVERSE, "The inverse of the discrete Fourier transform";
    rfft rfft2 rfftn Sides::Real, "The frequencies that are not negative of real samples";
    irfft irfft2 irfftn Sides::Hermitian, "Real samples from the frequencies that are not negative";
}
