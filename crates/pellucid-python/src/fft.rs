//! Fourier transforms: `pellucid.core.fft`.

use pellucid::fft::{Frames, Norm};
use pellucid::ops::PadMode;
use pellucid::{Array, Axes, fft as transform};
use pyo3::prelude::*;

use crate::args::{Arr, Count, IntList, Ints, SizeList, axes as all_or};
use crate::ops::argument;

fn sizes(given: &Option<SizeList>) -> Option<&[usize]> {
    given.as_ref().map(|sizes| sizes.0.as_slice())
}

/// The axes of a transform; `None` means all of them, where two are the default as well.
fn all_axes(given: Option<IntList>) -> Axes {
    given.map_or(Axes::All, |axes| Axes::from(axes.0))
}

/// How MLX names the ways to continue a signal.
fn pad_mode(name: &str) -> pellucid::Result<PadMode> {
    match name {
        "reflect" => Ok(PadMode::Reflect),
        "constant" => Ok(PadMode::Constant),
        "edge" => Ok(PadMode::Edge),
        other => Err(argument("stft", format!("pad_mode is reflect, constant or edge, not {other:?}"))),
    }
}

/// How a signal is cut into frames.
fn frames<'a>(
    n_fft: usize,
    hop: Option<Count>,
    win_length: Option<Count>,
    window: &'a Option<Arr>,
    center: bool,
    norm: Norm,
    onesided: Option<bool>,
) -> Frames<'a> {
    let window = window.as_deref();
    Frames {
        hop: hop.map(|n| n.0),
        win_length: win_length.map(|n| n.0),
        window,
        center,
        norm,
        onesided,
        ..Frames::new(n_fft)
    }
}

/// The number of samples that a transform with so many frequencies had.
fn samples(given: Option<Count>, s: &Array, onesided: Option<bool>) -> usize {
    let bins = s.shape().iter().rev().nth(1).copied().unwrap_or(1);
    let inferred = if onesided.unwrap_or(true) { 2 * bins.saturating_sub(1) } else { bins };
    given.map_or(inferred, |n| n.0)
}

crate::ops::functions! {
    fft(a, n = None, axis = -1, norm = "backward", stream = None) [a: Arr, n: Option<Count>, axis: i64, norm: &str]
        "(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The discrete Fourier transform along one axis."
        => norm.parse().map(|norm| transform::fft(&a, n.map(|n| n.0), axis, norm));
    fft2(a, s = None, axes = Some(IntList(vec![-2, -1])), norm = "backward", stream = None) as "(a, s=None, axes=[-2, -1], norm='backward', stream=None)"
        [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The discrete Fourier transform along two axes."
        => norm.parse().map(|norm| transform::fft2(&a, sizes(&s), all_axes(axes), norm));
    fftn(a, s = None, axes = None, norm = "backward", stream = None) [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The discrete Fourier transform along several axes, all if none is given."
        => norm.parse().map(|norm| transform::fftn(&a, sizes(&s), all_axes(axes), norm));
    ifft(a, n = None, axis = -1, norm = "backward", stream = None) [a: Arr, n: Option<Count>, axis: i64, norm: &str]
        "(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The inverse discrete Fourier transform along one axis."
        => norm.parse().map(|norm| transform::ifft(&a, n.map(|n| n.0), axis, norm));
    ifft2(a, s = None, axes = Some(IntList(vec![-2, -1])), norm = "backward", stream = None) as "(a, s=None, axes=[-2, -1], norm='backward', stream=None)"
        [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The inverse discrete Fourier transform along two axes."
        => norm.parse().map(|norm| transform::ifft2(&a, sizes(&s), all_axes(axes), norm));
    ifftn(a, s = None, axes = None, norm = "backward", stream = None) [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The inverse discrete Fourier transform along several axes, all if none is given."
        => norm.parse().map(|norm| transform::ifftn(&a, sizes(&s), all_axes(axes), norm));
    rfft(a, n = None, axis = -1, norm = "backward", stream = None) [a: Arr, n: Option<Count>, axis: i64, norm: &str]
        "(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The frequencies that are not negative of real samples along one axis."
        => norm.parse().map(|norm| transform::rfft(&a, n.map(|n| n.0), axis, norm));
    rfft2(a, s = None, axes = Some(IntList(vec![-2, -1])), norm = "backward", stream = None) as "(a, s=None, axes=[-2, -1], norm='backward', stream=None)"
        [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The frequencies that are not negative of real samples along two axes."
        => norm.parse().map(|norm| transform::rfft2(&a, sizes(&s), all_axes(axes), norm));
    rfftn(a, s = None, axes = None, norm = "backward", stream = None) [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "The frequencies that are not negative of real samples along several axes, all if none is given."
        => norm.parse().map(|norm| transform::rfftn(&a, sizes(&s), all_axes(axes), norm));
    irfft(a, n = None, axis = -1, norm = "backward", stream = None) [a: Arr, n: Option<Count>, axis: i64, norm: &str]
        "(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "Real samples from the frequencies that are not negative along one axis."
        => norm.parse().map(|norm| transform::irfft(&a, n.map(|n| n.0), axis, norm));
    irfft2(a, s = None, axes = Some(IntList(vec![-2, -1])), norm = "backward", stream = None) as "(a, s=None, axes=[-2, -1], norm='backward', stream=None)"
        [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "Real samples from the frequencies that are not negative along two axes."
        => norm.parse().map(|norm| transform::irfft2(&a, sizes(&s), all_axes(axes), norm));
    irfftn(a, s = None, axes = None, norm = "backward", stream = None) [a: Arr, s: Option<SizeList>, axes: Option<IntList>, norm: &str]
        "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None)" "array"
        "Real samples from the frequencies that are not negative along several axes, all if none is given."
        => norm.parse().map(|norm| transform::irfftn(&a, sizes(&s), all_axes(axes), norm));
    fftfreq(n, d = 1.0, stream = None) [n: Count, d: f64]
        "(n: int, d: float = 1.0, stream: StreamOrDevice = None)" "array"
        "The frequency of each element of a transform of n samples at distance d."
        => transform::fftfreq(n.0, d);
    rfftfreq(n, d = 1.0, stream = None) [n: Count, d: f64]
        "(n: int, d: float = 1.0, stream: StreamOrDevice = None)" "array"
        "The frequency of each element of a transform of n real samples at distance d."
        => transform::rfftfreq(n.0, d);
    fftshift(a, axes = None, stream = None) [a: Arr, axes: Option<Ints>]
        "(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None)" "array"
        "The frequency zero moved to the middle of the axes."
        => transform::fftshift(&a, all_or(axes));
    ifftshift(a, axes = None, stream = None) [a: Arr, axes: Option<Ints>]
        "(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None)" "array"
        "The way back from fftshift."
        => transform::ifftshift(&a, all_or(axes));
    stft(x, n_fft = Count(2048), hop_length = None, win_length = None, window = None, center = true, pad_mode = "reflect", norm = "backward", onesided = None, stream = None)
        as "(x, n_fft=2048, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', norm='backward', onesided=None, stream=None)"
        [x: Arr, n_fft: Count, hop_length: Option<Count>, win_length: Option<Count>, window: Option<Arr>, center: bool, pad_mode: &str, norm: &str, onesided: Option<bool>]
        "(x: array, n_fft: int = 2048, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, stream: StreamOrDevice = None)" "array"
        "Transforms of overlapping frames of the last axis."
        => norm.parse().and_then(|norm| {
            let frames = frames(n_fft.0, hop_length, win_length, &window, center, norm, onesided);
            Ok(transform::stft(&x, &frames, self::pad_mode(pad_mode)?))
        });
    istft(stft_matrix, n_fft = None, hop_length = None, win_length = None, window = None, center = true, norm = "backward", onesided = None, length = None, stream = None)
        [stft_matrix: Arr, n_fft: Option<Count>, hop_length: Option<Count>, win_length: Option<Count>, window: Option<Arr>, center: bool, norm: &str, onesided: Option<bool>, length: Option<Count>]
        "(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, norm: str = 'backward', onesided: bool | None = None, length: int | None = None, stream: StreamOrDevice = None)" "array"
        "The signal whose stft this is."
        => norm.parse().map(|norm| {
            let n_fft = samples(n_fft, &stft_matrix, onesided);
            let frames = frames(n_fft, hop_length, win_length, &window, center, norm, onesided);
            transform::istft(&stft_matrix, &frames, length.map(|n| n.0))
        });
}
