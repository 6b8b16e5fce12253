"""Pooling: the largest or the mean of each window over the spatial axes of ``(N, spatial…, C)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module


def _windows(x: mx.array, window: list[int], stride: list[int]) -> mx.array:
    """A view of ``(N, positions…, window…, C)`` into the elements of ``x``."""
    spatial = x.shape[1:-1]
    if len(spatial) != len(window):
        raise ValueError(
            f"[pooling] The input needs {len(window)} spatial dimensions ({len(window) + 2} in total), "
            f"but has {x.ndim} dimensions."
        )
    counts = [(size - w) // s + 1 for size, w, s in zip(spatial, window, stride)]
    if min(counts) <= 0:
        raise ValueError(f"[pooling] A window of {tuple(window)} does not fit into the spatial dimensions {spatial}.")
    if window == stride and all(size == n * w for size, n, w in zip(spatial, counts, window)):
        # Windows that tile the input are a reshape, whose gradient adds up nothing.
        axes = len(window)
        tiles = x.reshape(x.shape[0], *(d for pair in zip(counts, window) for d in pair), x.shape[-1])
        order = [0, *range(1, 2 * axes, 2), *range(2, 2 * axes + 1, 2), 2 * axes + 1]
        return tiles.transpose(order)
    strides = [1]
    for size in reversed(x.shape[1:]):
        strides.insert(0, strides[0] * size)
    steps = [strides[1 + i] * s for i, s in enumerate(stride)]
    shape = (x.shape[0], *counts, *window, x.shape[-1])
    return mx.as_strided(x, shape, (strides[0], *steps, *strides[1:-1], strides[-1]))


class _Pool(Module):
    """What all pooling layers share."""

    _AXES = 0
    _REDUCTION: Callable[..., Any]
    _PADDING_VALUE = 0.0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self._kernel_size = self._sizes("kernel_size", kernel_size)
        self._stride = self._kernel_size if stride is None else self._sizes("stride", stride)
        padding = self._sizes("padding", 0 if padding is None else padding)
        self._padding = [(p, p) for p in padding]

    def _sizes(self, name: str, value: Any) -> list[int]:
        if isinstance(value, int):
            return [value] * self._AXES
        if isinstance(value, (list, tuple)) and len(value) == self._AXES and all(isinstance(v, int) for v in value):
            return list(value)
        count = f"{self._AXES} integers" if self._AXES > 1 else "1 integer"
        raise ValueError(f"[{type(self).__name__}] {name} must be an integer or a tuple of {count}, but is {value!r}.")

    def _extra_repr(self) -> str:
        padding = tuple(low for low, _ in self._padding)
        return f"kernel_size={tuple(self._kernel_size)}, stride={tuple(self._stride)}, padding={padding}"

    def __call__(self, x: mx.array) -> mx.array:
        if any(low > 0 for low, _ in self._padding):
            x = mx.pad(x, [(0, 0), *self._padding, (0, 0)], constant_values=self._PADDING_VALUE)
        windows = _windows(x, self._kernel_size, self._stride)
        return type(self)._REDUCTION(windows, axis=tuple(range(-1 - self._AXES, -1)))


class _MaxPool(_Pool):
    _REDUCTION = staticmethod(mx.max)
    _PADDING_VALUE = -float("inf")


class _AvgPool(_Pool):
    _REDUCTION = staticmethod(mx.mean)


class MaxPool1d(_MaxPool):
    """The largest element of each window of ``(N, L, C)``; the stride is the window unless it is given."""

    _AXES = 1


class AvgPool1d(_AvgPool):
    """The mean of each window of ``(N, L, C)``; padding counts as zeros."""

    _AXES = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of ``(N, H, W, C)``; the stride is the window unless it is given."""

    _AXES = 2


class AvgPool2d(_AvgPool):
    """The mean of each window of ``(N, H, W, C)``; padding counts as zeros."""

    _AXES = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of ``(N, D, H, W, C)``; the stride is the window unless it is given."""

    _AXES = 3


class AvgPool3d(_AvgPool):
    """The mean of each window of ``(N, D, H, W, C)``; padding counts as zeros."""

    _AXES = 3
