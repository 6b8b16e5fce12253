"""Fourier transforms."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


def fft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The discrete Fourier transform along one axis."""

def fft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The discrete Fourier transform along two axes."""

def fftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None) -> array:
    """The frequency of each element of a transform of n samples at distance d."""

def fftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The discrete Fourier transform along several axes, all if none is given."""

def fftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """The frequency zero moved to the middle of the axes."""

def ifft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The inverse discrete Fourier transform along one axis."""

def ifft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The inverse discrete Fourier transform along two axes."""

def ifftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The inverse discrete Fourier transform along several axes, all if none is given."""

def ifftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """The way back from fftshift."""

def irfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """Real samples from the frequencies that are not negative along one axis."""

def irfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """Real samples from the frequencies that are not negative along two axes."""

def irfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """Real samples from the frequencies that are not negative along several axes, all if none is given."""

def istft(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, norm: str = 'backward', onesided: bool | None = None, length: int | None = None, stream: StreamOrDevice = None) -> array:
    """The signal whose stft this is."""

def rfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The frequencies that are not negative of real samples along one axis."""

def rfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The frequencies that are not negative of real samples along two axes."""

def rfftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None) -> array:
    """The frequency of each element of a transform of n real samples at distance d."""

def rfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The frequencies that are not negative of real samples along several axes, all if none is given."""

def stft(x: array, n_fft: int = 2048, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, stream: StreamOrDevice = None) -> array:
    """Transforms of overlapping frames of the last axis."""
