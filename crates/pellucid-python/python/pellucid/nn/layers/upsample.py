"""Changes of the spatial size of ``(N, spatial…, C)`` by a factor, one axis after the other.

Each position of the result is a sum of a few elements of the input, its taps, with weights. Which ones, and how much
they count, depends only on the sizes; it is computed here and then applied with operations on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module

Taps = list[list[tuple[int, float]]]


def _positions(size: int, scale: float, align_corners: bool) -> list[float]:
    """Where each position of the result lies in the input."""
    count = int(scale * size)
    if align_corners:
        step = (size - 1) / (count - 1) if count > 1 else 0.0
        return [i * step for i in range(count)]
    # The middle of the result lies on the middle of the input, whatever was cut off to a whole number.
    return [(i - (count - 1) / 2) / scale + (size - 1) / 2 for i in range(count)]


def _nearest(size: int, scale: float) -> list[int]:
    """The element for each position: the closest when the input grows, the first it covers when it shrinks."""
    count = int(scale * size)
    if count < size:
        return [i * size // count for i in range(count)]
    return [min(max(round((i + 0.5) * size / count - 0.5), 0), size - 1) for i in range(count)]


def _tent(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def _cubic(a: float) -> Callable[[float], float]:
    def kernel(distance: float) -> float:
        t = abs(distance)
        if t <= 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0

    return kernel


def _linear_taps(size: int, scale: float, align_corners: bool) -> Taps:
    taps = []
    for position in _positions(size, scale, align_corners):
        position = min(max(position, 0.0), size - 1)
        low = math.floor(position)
        share = position - low
        taps.append([(low, 1 - share), (min(low + 1, size - 1), share)])
    return taps


def _cubic_taps(size: int, scale: float, align_corners: bool) -> Taps:
    kernel, taps = _cubic(-0.75), []
    for position in _positions(size, scale, align_corners):
        low = math.floor(position)
        near = range(low - 1, low + 3)
        taps.append([(min(max(i, 0), size - 1), kernel(position - i)) for i in near])
    return taps


def _smooth_taps(size: int, scale: float, kernel: Callable[[float], float], reach: float) -> Taps:
    """The kernel as wide as the step between positions, so that nothing is skipped when the input shrinks."""
    shrink, taps = min(scale, 1.0), []
    for position in _positions(size, scale, False):
        first = max(math.floor(position - reach / shrink), 0)
        last = min(math.ceil(position + reach / shrink), size - 1)
        weights = [(i, kernel((i - position) * shrink)) for i in range(first, last + 1)]
        total = sum(weight for _, weight in weights)
        taps.append([(i, weight / total) for i, weight in weights])
    most = max(map(len, taps), default=0)
    return [row + [(0, 0.0)] * (most - len(row)) for row in taps]


def _apply(x: mx.array, axis: int, taps: Taps) -> mx.array:
    shape = [1] * x.ndim
    shape[axis] = len(taps)
    result = None
    for tap in zip(*taps):
        picked = mx.take(x, mx.array([i for i, _ in tap], dtype=mx.uint32), axis=axis)
        part = picked * mx.array([weight for _, weight in tap], dtype=mx.float32).reshape(shape)
        result = part if result is None else result + part
    return result


class Upsample(Module):
    """Scales the spatial axes by ``scale_factor``, a number or one for each axis.

    ``mode`` is ``"nearest"``, ``"linear"`` or ``"cubic"``. With ``align_corners`` the first and last elements of input
    and result lie on each other. With ``antialias`` a result that is smaller is made of all elements of the input.
    """

    def __init__(
        self, scale_factor: float | tuple[float, ...], mode: str = "nearest", align_corners: bool = False, antialias: bool = False
    ) -> None:
        super().__init__()
        if mode not in ("nearest", "linear", "cubic"):
            raise ValueError(f"[Upsample] mode must be nearest, linear or cubic, but is {mode!r}.")
        if antialias and mode == "nearest":
            raise ValueError("[Upsample] antialias needs the mode linear or cubic: the nearest element is not smoothed.")
        if antialias and align_corners:
            raise ValueError("[Upsample] antialias works with align_corners=False only.")
        single = not isinstance(scale_factor, (list, tuple))
        self.scale_factor: Any = float(scale_factor) if single else tuple(map(float, scale_factor))
        self.mode = mode
        self.align_corners = align_corners
        self.antialias = antialias

    def _extra_repr(self) -> str:
        smooth = ", antialias=True" if self.antialias else ""
        return f"scale_factor={self.scale_factor}, mode={self.mode!r}, align_corners={self.align_corners}{smooth}"

    def _taps(self, size: int, scale: float) -> Taps:
        if self.antialias:
            kernel, reach = (_tent, 1.0) if self.mode == "linear" else (_cubic(-0.5), 2.0)
            return _smooth_taps(size, scale, kernel, reach)
        make = _linear_taps if self.mode == "linear" else _cubic_taps
        return make(size, scale, self.align_corners)

    def __call__(self, x: mx.array) -> mx.array:
        axes = x.ndim - 2
        if axes <= 0:
            raise ValueError(f"[Upsample] The input must have at least 3 dimensions, one of them spatial, but has {x.ndim}.")
        scales = self.scale_factor if isinstance(self.scale_factor, tuple) else (self.scale_factor,) * axes
        if len(scales) != axes:
            raise ValueError(f"[Upsample] There are {len(scales)} scale factors for {axes} spatial dimensions.")
        for axis, scale in enumerate(scales, 1):
            size = x.shape[axis]
            if self.mode == "nearest":
                x = mx.take(x, mx.array(_nearest(size, scale), dtype=mx.uint32), axis=axis)
            else:
                x = _apply(x, axis, self._taps(size, scale))
        return x
