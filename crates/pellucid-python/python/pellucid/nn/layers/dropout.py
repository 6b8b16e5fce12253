"""Layers that drop values at random in training mode and do nothing in that of evaluation."""

from __future__ import annotations

from pellucid import core as mx
from pellucid.nn.layers.base import Module


class Dropout(Module):
    """Makes each element zero with probability ``p`` and scales the others so that the mean stays."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if p < 0 or p >= 1:
            raise ValueError(f"[{type(self).__name__}] The probability p must be in [0, 1), but is {p}.")
        self._p_1 = 1 - p

    def _extra_repr(self) -> str:
        return f"p={1 - self._p_1}"

    def _mask_shape(self, x: mx.array) -> list[int]:
        return list(x.shape)

    def __call__(self, x: mx.array) -> mx.array:
        if self._p_1 == 1 or not self.training:
            return x
        mask = mx.random.bernoulli(self._p_1, self._mask_shape(x))
        return (mask * x) * (1 / self._p_1)


class Dropout2d(Dropout):
    """Drops whole channels of images: ``(N, H, W, C)`` or ``(H, W, C)``."""

    _NDIMS = (3, 4)

    def _mask_shape(self, x: mx.array) -> list[int]:
        if x.ndim not in self._NDIMS:
            few, many = self._NDIMS
            raise ValueError(f"[{type(self).__name__}] The input must have {few} or {many} dimensions, but has {x.ndim}.")
        spatial = self._NDIMS[0] - 1
        batch = list(x.shape[: x.ndim - spatial - 1])
        return [*batch, *[1] * spatial, x.shape[-1]]


class Dropout3d(Dropout2d):
    """Drops whole channels of volumes: ``(N, D, H, W, C)`` or ``(D, H, W, C)``."""

    _NDIMS = (4, 5)
