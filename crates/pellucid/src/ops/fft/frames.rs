//! Transforms of short pieces of a signal, and the signal from them.

use super::{Array, Error, Norm, Result, fail, fft, ifft, irfft, ok, resized, rfft};
use crate::array::{Dtype, Shape};
use crate::ops::elementwise::{divide, greater, multiply, real, square, where_};
use crate::ops::pad::{PadMode, PadWidth, pad};
use crate::ops::reduce::sum;
use crate::ops::shape::{as_strided, broadcast_to, contiguous, expand_dims, swapaxes};
use crate::ops::{cast, ones, shaped, slice_axis};

/// How a signal is cut into frames.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    /// Samples of a frame, and of its transform.
    pub n_fft: usize,
    /// Samples between the starts of frames; a quarter of a frame if not given.
    pub hop: Option<usize>,
    /// Samples of the window; a frame if not given.
    pub win_length: Option<usize>,
    /// What the middle of a frame is multiplied with; ones if not given.
    pub window: Option<&'a Array>,
    /// Whether frames are centred at the positions they stand for, with padding at both ends.
    pub center: bool,
    /// Where the factor goes.
    pub norm: Norm,
    /// Whether only frequencies that are not negative are there; if not given, for a real signal.
    pub onesided: Option<bool>,
}

impl Frames<'_> {
    /// Frames of so many samples, everything else by default.
    pub fn new(n_fft: usize) -> Frames<'static> {
        Frames {
            n_fft,
            hop: None,
            win_length: None,
            window: None,
            center: true,
            norm: Norm::Backward,
            onesided: None,
        }
    }

    fn hop(&self) -> usize {
        self.hop.unwrap_or(self.n_fft / 4)
    }

    fn check(&self, name: &'static str) -> Result<()> {
        let wrong = |message: String| Err(Error::argument(name, message));
        if self.n_fft == 0 {
            return wrong("n_fft must be positive, but is 0".to_owned());
        }
        if self.hop() == 0 {
            return wrong(format!("hop_length must be positive, but is 0 (n_fft is {})", self.n_fft));
        }
        if let Some(window) = self.window
            && window.ndim() != 1
        {
            return wrong(format!("the window must have one axis, but its shape is {}", window.shape_ref()));
        }
        let length = self.window.map_or(self.win_length.unwrap_or(self.n_fft), Array::size);
        if length == 0 || length > self.n_fft {
            return wrong(format!(
                "a window of {length} samples does not fit frames of {} samples",
                self.n_fft
            ));
        }
        Ok(())
    }

    /// The window with zeros on both sides up to the length of a frame.
    #[track_caller]
    fn full_window(&self) -> Array {
        let window = match self.window {
            Some(window) => cast(window, Dtype::Float32),
            None => ones([self.win_length.unwrap_or(self.n_fft)], Dtype::Float32),
        };
        ok!(&window);
        let missing = self.n_fft - window.size();
        let low = missing / 2;
        pad(&window, PadWidth::from((low, missing - low)), PadMode::Constant, 0)
    }
}

/// Transforms of overlapping frames of the last axis: `[…, frequencies, frames]`.
///
/// ```
/// use pellucid::fft::{Frames, istft, stft};
/// use pellucid::{Array, fft::Norm, ops::PadMode};
/// # fn main() -> pellucid::Result<()> {
/// let x = Array::from_vec((0..32).map(|i| (i % 5) as f32).collect::<Vec<_>>(), [32]);
/// let frames = Frames::new(8);
/// let s = stft(&x, &frames, PadMode::Reflect);
/// assert_eq!(s.shape(), [5, 17]);
/// let back = istft(&s, &frames, None).to_vec::<f32>()?;
/// assert!((back[7] - 2.0).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if there is no axis or it is shorter than a frame, [`Error::Argument`] if sizes are not positive or
/// the window does not fit.
#[track_caller]
pub fn stft(x: &Array, frames: &Frames, mode: PadMode) -> Array {
    let name = "stft";
    ok!(x);
    ok!(frames.check(name));
    if x.ndim() == 0 {
        return fail(Error::shape(name, "needs one or more axes, but the input is a single element"));
    }
    let complex = x.dtype().is_complex();
    let mut x = cast(x, if complex { Dtype::Complex64 } else { Dtype::Float32 });
    let (n, hop, last) = (frames.n_fft, frames.hop(), x.ndim() - 1);
    if frames.center {
        let mut widths = vec![(0, 0); x.ndim()];
        widths[last] = (n / 2, n / 2);
        x = pad(&x, PadWidth::from(widths), mode, 0);
        ok!(&x);
    }
    let length = x.shape()[last];
    if length < n {
        let message = format!("a signal of {length} samples is shorter than a frame of {n}");
        return fail(Error::shape(name, message));
    }
    let count = 1 + (length - n) / hop;
    let batch: usize = x.shape()[..last].iter().product();
    let strides = [length as isize, hop as isize, 1];
    let cut = as_strided(&contiguous(&x), [batch, count, n], Some(&strides), 0);
    let weighted = multiply(&cut, &frames.full_window());
    let onesided = frames.onesided.unwrap_or(!complex);
    let found =
        if onesided { rfft(&weighted, None, -1, frames.norm) } else { fft(&weighted, None, -1, frames.norm) };
    ok!(&found);
    let bins = found.shape()[2];
    let shape: Shape = x.shape()[..last].iter().copied().chain([count, bins]).collect();
    swapaxes(&shaped(&found, shape), -1, -2)
}

/// The signal whose [`stft`] this is: frames are transformed back, weighted, added where they overlap, and divided by
/// the sum of the squared windows. `length` crops the signal or continues it with zeros.
///
/// ```
/// use pellucid::prelude::*;
/// use pellucid::fft::{Frames, istft, stft};
/// let (x, frames) = (Array::ones(32), Frames::new(8));
/// let back = istft(&stft(&x, &frames, ops::PadMode::Reflect), &frames, None);
/// assert!(ops::allclose(&back, 1.0, 1e-5, 1e-6, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`] if there are fewer than two axes, [`Error::Argument`] as for [`stft`].
#[track_caller]
pub fn istft(s: &Array, frames: &Frames, length: impl Into<Option<usize>>) -> Array {
    let (name, length) = ("istft", length.into());
    ok!(s);
    ok!(frames.check(name));
    if s.ndim() < 2 {
        let message =
            format!("needs two or more axes (frequencies, frames), but the shape is {}", s.shape_ref());
        return fail(Error::shape(name, message));
    }
    let (n, hop) = (frames.n_fft, frames.hop());
    let lead: Shape = s.shape()[..s.ndim() - 2].iter().copied().collect();
    let count = s.shape()[s.ndim() - 1];
    let columns = swapaxes(&cast(s, Dtype::Complex64), -1, -2);
    if count == 0 {
        return fail(Error::shape(name, format!("shape {} has no frames", s.shape_ref())));
    }
    let pieces = if frames.onesided.unwrap_or(true) {
        irfft(&columns, n, -1, frames.norm)
    } else {
        real(&ifft(&columns, n, -1, frames.norm))
    };
    let window = frames.full_window();
    let pieces = shaped(&pieces, Shape::from([lead.elements(), count, n]));
    let signal = overlap(&multiply(&pieces, &window), hop);
    let squares = broadcast_to(&expand_dims(&square(&window), [0, 1]), [1, count, n]);
    let weights = overlap(&squares, hop);
    let wide = greater(&weights, 1e-11);
    let mut result = where_(&wide, divide(&signal, &where_(&wide, &weights, 1.0)), &signal);
    ok!(&result);
    let total = result.shape()[1];
    if frames.center {
        let start = (n / 2).min(total);
        let end = if length.is_some() { total } else { total.saturating_sub(n / 2).max(start) };
        result = slice_axis(&result, 1, start, end - start, 1);
    }
    if let Some(length) = length {
        result = resized(&result, 1, length);
    }
    ok!(&result);
    let shape: Shape = lead.iter().copied().chain([result.shape()[1]]).collect();
    shaped(&result, shape)
}

/// Frames `[batch, frames, n]` added up where they overlap: `[batch, samples]`.
///
/// Each frame is a row of blocks as long as a step. A view in which block `r` of frame `f` stands beside block `r − 1`
/// of the next one makes it a sum over one axis, however many frames overlap.
#[track_caller]
fn overlap(pieces: &Array, hop: usize) -> Array {
    ok!(pieces);
    let &[batch, count, n] = pieces.shape() else {
        return fail(Error::internal("istft", format!("frames of shape {}", pieces.shape_ref())));
    };
    let blocks = n.div_ceil(hop);
    let (row, more) = (blocks * hop, blocks - 1);
    let widths = vec![(0, 0), (more, more), (0, row - n)];
    let wide = contiguous(&pad(pieces, PadWidth::from(widths), PadMode::Constant, 0));
    let (row_step, frames) = (row as isize, count + more);
    let strides = [(count + 2 * more) as isize * row_step, row_step, hop as isize - row_step, 1];
    let aligned = as_strided(&wide, [batch, frames, blocks, hop], Some(&strides), more * row);
    let samples = shaped(&sum(&aligned, 2, false), Shape::from([batch, frames * hop]));
    slice_axis(&samples, 1, 0, (count - 1) * hop + n, 1)
}
