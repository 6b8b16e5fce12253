//! Convolutions, channels last: inputs `[N, spatial…, C]`, weights `[O, spatial…, C / groups]`.

use smallvec::SmallVec;

use super::shape::reshape;
use super::{apply2, cast, shaped, slice_axis};
use crate::array::{Array, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::op::{ConvSpec, Dims, Op};

/// One number for all spatial axes, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerAxis(SmallVec<[i64; 3]>);

impl From<i64> for PerAxis {
    fn from(value: i64) -> PerAxis {
        PerAxis(SmallVec::from_slice(&[value]))
    }
}

impl<const N: usize> From<[i64; N]> for PerAxis {
    fn from(values: [i64; N]) -> PerAxis {
        PerAxis(SmallVec::from_slice(&values))
    }
}

impl From<&[i64]> for PerAxis {
    fn from(values: &[i64]) -> PerAxis {
        PerAxis(SmallVec::from_slice(values))
    }
}

impl PerAxis {
    fn get(&self, function: &'static str, what: &str, n: usize) -> Result<SmallVec<[i64; 4]>> {
        match self.0.as_slice() {
            &[all] => Ok(SmallVec::from_elem(all, n)),
            each if each.len() == n => Ok(SmallVec::from_slice(each)),
            each => {
                let message = format!("{what} has {} numbers for {n} spatial axes", each.len());
                Err(Error::argument(function, message))
            }
        }
    }

    fn positive(&self, function: &'static str, what: &str, n: usize) -> Result<Dims> {
        let positive = |v: i64| match usize::try_from(v) {
            Ok(v) if v > 0 && v <= i32::MAX as usize => Ok(v),
            _ => Err(Error::argument(function, format!("{what} must be positive and fit 32 bits, not {v}"))),
        };
        self.get(function, what, n)?.into_iter().map(positive).collect()
    }
}

/// How a kernel moves over an input.
///
/// ```
/// use pellucid::{Array, ops, ops::Conv};
/// # fn main() -> pellucid::Result<()> {
/// let x = Array::from([[[1.0f32], [2.0], [3.0], [4.0]]]);
/// let w = Array::from([[[1.0f32], [10.0]]]);
/// assert_eq!(ops::conv1d(&x, &w, &Conv::new()).to_vec::<f32>()?, [21.0, 32.0, 43.0]);
/// let every_other = Conv::new().stride(2).padding(1);
/// assert_eq!(ops::conv1d(&x, &w, &every_other).to_vec::<f32>()?, [10.0, 32.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Conv {
    stride: PerAxis,
    low: PerAxis,
    high: PerAxis,
    kernel_dilation: PerAxis,
    input_dilation: PerAxis,
    output_padding: PerAxis,
    groups: usize,
    flip: bool,
}

impl Default for Conv {
    fn default() -> Conv {
        Conv::new()
    }
}

impl Conv {
    /// Steps of one, no padding, no dilation, one group.
    pub fn new() -> Conv {
        let one = || PerAxis::from(1);
        Conv {
            stride: one(),
            low: 0.into(),
            high: 0.into(),
            kernel_dilation: one(),
            input_dilation: one(),
            output_padding: 0.into(),
            groups: 1,
            flip: false,
        }
    }

    /// Steps of the kernel; of the output for transposed convolutions.
    #[must_use]
    pub fn stride(self, stride: impl Into<PerAxis>) -> Conv {
        Conv { stride: stride.into(), ..self }
    }

    /// Zeros on both sides; negative numbers crop.
    #[must_use]
    pub fn padding(self, padding: impl Into<PerAxis>) -> Conv {
        let both = padding.into();
        Conv { low: both.clone(), high: both, ..self }
    }

    /// Zeros before and after each axis.
    #[must_use]
    pub fn padding_pair(self, low: impl Into<PerAxis>, high: impl Into<PerAxis>) -> Conv {
        Conv { low: low.into(), high: high.into(), ..self }
    }

    /// Distance of the kernel's taps.
    #[must_use]
    pub fn dilation(self, dilation: impl Into<PerAxis>) -> Conv {
        Conv { kernel_dilation: dilation.into(), ..self }
    }

    /// Distance of the input's elements, with zeros between them.
    #[must_use]
    pub fn input_dilation(self, dilation: impl Into<PerAxis>) -> Conv {
        Conv { input_dilation: dilation.into(), ..self }
    }

    /// Elements added after each axis of the result; for transposed convolutions.
    #[must_use]
    pub fn output_padding(self, padding: impl Into<PerAxis>) -> Conv {
        Conv { output_padding: padding.into(), ..self }
    }

    /// Groups of channels that do not see each other.
    #[must_use]
    pub fn groups(self, groups: usize) -> Conv {
        Conv { groups, ..self }
    }

    /// The kernel backwards, as convolutions are written in mathematics.
    #[must_use]
    pub fn flip(self, flip: bool) -> Conv {
        Conv { flip, ..self }
    }

    fn spec(&self, function: &'static str, n: usize) -> Result<ConvSpec> {
        Ok(ConvSpec {
            stride: self.stride.positive(function, "stride", n)?,
            low: self.low.get(function, "padding", n)?,
            high: self.high.get(function, "padding", n)?,
            kernel_dilation: self.kernel_dilation.positive(function, "dilation", n)?,
            input_dilation: self.input_dilation.positive(function, "input_dilation", n)?,
            groups: self.groups,
            flip: self.flip,
        })
    }
}

/// The number of spatial axes, which both inputs must have.
fn spatial(function: &'static str, x: &Array, w: &Array, wanted: Option<usize>) -> Result<usize> {
    let n = x.ndim().saturating_sub(2);
    let fits = x.ndim() == w.ndim() && wanted.map_or((1..=3).contains(&n), |wanted| n == wanted);
    if !fits {
        let count = wanted.map_or("one to three".to_owned(), |n| n.to_string());
        let message = format!(
            "an input [N, spatial…, C] and weights [O, spatial…, C / groups] with {count} spatial axes are needed, not shapes {} and {}",
            x.shape_ref(),
            w.shape_ref()
        );
        return Err(Error::shape(function, message));
    }
    for (array, what) in [(x, "input"), (w, "weights")] {
        if !array.dtype().is_floating() {
            return Err(Error::dtype(
                function,
                format!("the {what} must have a floating type, not {}", array.dtype()),
            ));
        }
    }
    Ok(n)
}

#[track_caller]
fn convolution(function: &'static str, x: &Array, w: &Array, conv: &Conv, axes: Option<usize>) -> Array {
    ok!(x, w);
    let n = ok!(spatial(function, x, w, axes));
    apply_spec(x, w, ok!(conv.spec(function, n)))
}

#[track_caller]
pub(crate) fn apply_spec(x: &Array, w: &Array, spec: ConvSpec) -> Array {
    let dtype = x.dtype().promote(w.dtype());
    apply2(Op::Conv(Box::new(spec)), cast(x, dtype), cast(w, dtype))
}

/// A convolution along one axis: `[N, L, C]` with `[O, K, C / groups]`.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 5, 1)), Array::ones((1, 3, 1)));
/// assert_eq!(ops::conv1d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [3.0, 3.0, 3.0]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] if the types are not floating.
#[track_caller]
pub fn conv1d(x: &Array, w: &Array, conv: &Conv) -> Array {
    convolution("conv1d", x, w, conv, Some(1))
}

/// A convolution along two axes: `[N, H, W, C]` with `[O, KH, KW, C / groups]`.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 3, 3, 1)), Array::ones((1, 2, 2, 1)));
/// assert_eq!(ops::conv2d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [4.0; 4]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv2d(x: &Array, w: &Array, conv: &Conv) -> Array {
    convolution("conv2d", x, w, conv, Some(2))
}

/// A convolution along three axes: `[N, D, H, W, C]` with `[O, KD, KH, KW, C / groups]`.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 2, 2, 2, 1)), Array::ones((1, 2, 2, 2, 1)));
/// assert_eq!(ops::conv3d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [8.0]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv3d(x: &Array, w: &Array, conv: &Conv) -> Array {
    convolution("conv3d", x, w, conv, Some(3))
}

/// A convolution along one to three axes.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 5, 1)), Array::ones((1, 3, 1)));
/// assert_eq!(ops::conv_general(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [3.0, 3.0, 3.0]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv_general(x: &Array, w: &Array, conv: &Conv) -> Array {
    convolution("conv_general", x, w, conv, None)
}

#[track_caller]
fn transposed(function: &'static str, x: &Array, w: &Array, conv: &Conv, n: usize) -> Array {
    ok!(x, w);
    ok!(spatial(function, x, w, Some(n)));
    let forward = ok!(conv.spec(function, n));
    let extra = ok!(conv.output_padding.get(function, "output_padding", n));
    let reach =
        |axis: usize| (w.shape()[axis + 1] as i64 - 1).saturating_mul(forward.kernel_dilation[axis] as i64);
    let low: SmallVec<[i64; 4]> = (0..n).map(|i| reach(i).saturating_sub(forward.low[i])).collect();
    let high = (0..n).map(|i| reach(i).saturating_sub(forward.high[i]).saturating_add(extra[i])).collect();
    let spec = ConvSpec {
        stride: Dims::from_elem(1, n),
        low,
        high,
        kernel_dilation: forward.kernel_dilation,
        input_dilation: forward.stride,
        groups: forward.groups,
        flip: true,
    };
    apply_spec(x, w, spec)
}

/// The transposed convolution along one axis: what a [`conv1d`] with these parameters does to cotangents.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 2, 1)), Array::ones((1, 2, 1)));
/// assert_eq!(ops::conv_transpose1d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [1.0, 2.0, 1.0]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv_transpose1d(x: &Array, w: &Array, conv: &Conv) -> Array {
    transposed("conv_transpose1d", x, w, conv, 1)
}

/// The transposed convolution along two axes.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 1, 1, 1)), Array::ones((1, 2, 2, 1)));
/// assert_eq!(ops::conv_transpose2d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [1.0; 4]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv_transpose2d(x: &Array, w: &Array, conv: &Conv) -> Array {
    transposed("conv_transpose2d", x, w, conv, 2)
}

/// The transposed convolution along three axes.
///
/// ```
/// use pellucid::prelude::*;
/// let (x, w) = (Array::ones((1, 1, 1, 1, 1)), Array::ones((1, 2, 2, 2, 1)));
/// assert_eq!(ops::conv_transpose3d(&x, &w, &ops::Conv::default()).to_vec::<f32>().unwrap(), [1.0; 8]);
/// ```
///
/// # Errors
/// As [`conv1d`].
#[track_caller]
pub fn conv_transpose3d(x: &Array, w: &Array, conv: &Conv) -> Array {
    transposed("conv_transpose3d", x, w, conv, 3)
}

/// Which part of a discrete convolution [`convolve`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvolveMode {
    /// Wherever the arrays overlap.
    Full,
    /// As many elements as the longer array has.
    Same,
    /// Where they overlap completely.
    Valid,
}

/// The discrete convolution of two arrays with one axis each.
///
/// ```
/// use pellucid::{Array, ops, ops::ConvolveMode};
/// # fn main() -> pellucid::Result<()> {
/// let (a, v) = (Array::from([1.0f32, 2.0, 3.0]), Array::from([0.0f32, 1.0, 0.5]));
/// assert_eq!(ops::convolve(&a, &v, ConvolveMode::Full).to_vec::<f32>()?, [0.0, 1.0, 2.5, 4.0, 1.5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if one is empty or has not one axis, [`Error::Dtype`] if one is not floating.
#[track_caller]
pub fn convolve(a: &Array, v: &Array, mode: ConvolveMode) -> Array {
    ok!(a, v);
    if a.ndim() != 1 || v.ndim() != 1 || a.size() == 0 || v.size() == 0 {
        let message = format!(
            "needs two arrays with one axis and one or more elements, not shapes {} and {}",
            a.shape_ref(),
            v.shape_ref()
        );
        return fail(Error::shape("convolve", message));
    }
    let (long, short) = if a.size() >= v.size() { (a, v) } else { (v, a) };
    let taps = short.size() as i64;
    let (low, high) = match mode {
        ConvolveMode::Full => (taps - 1, taps - 1),
        ConvolveMode::Valid => (0, 0),
        ConvolveMode::Same => (taps / 2, (taps - 1) / 2),
    };
    let x = shaped(long, Shape::from([1, long.size(), 1]));
    let w =
        shaped(&slice_axis(short, 0, short.size() - 1, short.size(), -1), Shape::from([1, short.size(), 1]));
    let result = convolution("convolve", &x, &w, &Conv::new().padding_pair(low, high), Some(1));
    reshape(&result, [-1])
}
