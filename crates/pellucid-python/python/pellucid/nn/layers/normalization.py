"""Layers that bring activations to mean zero and variance one, or to a mean square of one."""

from __future__ import annotations

from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module


class LayerNorm(Module):
    """Normalises the last axis; with ``affine`` it is then scaled by ``weight`` and, with ``bias``, shifted."""

    def __init__(self, dims: int, eps: float = 1e-5, affine: bool = True, bias: bool = True) -> None:
        super().__init__()
        if affine:
            self.weight = mx.ones((dims,))
            if bias:
                self.bias = mx.zeros((dims,))
        self.eps = eps
        self.dims = dims

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.layer_norm(x, self.get("weight"), self.get("bias"), self.eps)


class RMSNorm(Module):
    """Divides the last axis by the root of its mean square and scales it by ``weight``."""

    def __init__(self, dims: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = mx.ones((dims,))
        self.eps = eps

    def _extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, self["weight"], self.eps)


class InstanceNorm(Module):
    """Normalises each channel of each sample over its spatial axes."""

    def __init__(self, dims: int, eps: float = 1e-5, affine: bool = False) -> None:
        super().__init__()
        if affine:
            self.weight = mx.ones((dims,))
            self.bias = mx.zeros((dims,))
        self.dims = dims
        self.eps = eps

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        axes = tuple(range(1, x.ndim - 1))
        mean = mx.mean(x, axis=axes, keepdims=True)
        variance = mx.var(x, axis=axes, keepdims=True)
        x = (x - mean) * mx.rsqrt(variance + self.eps)
        return self.weight * x + self.bias if "weight" in self else x


class GroupNorm(Module):
    """Normalises the channels in groups, over their spatial axes.

    Channels whose numbers have the same remainder belong together; with ``pytorch_compatible``, neighbours do.
    """

    def __init__(
        self, num_groups: int, dims: int, eps: float = 1e-5, affine: bool = True, pytorch_compatible: bool = False
    ) -> None:
        super().__init__()
        if affine:
            self.bias = mx.zeros((dims,))
            self.weight = mx.ones((dims,))
        self.num_groups = num_groups
        self.dims = dims
        self.eps = eps
        self.pytorch_compatible = pytorch_compatible

    def _extra_repr(self) -> str:
        settings = f"eps={self.eps}, affine={'weight' in self}, pytorch_compatible={self.pytorch_compatible}"
        return f"{self.num_groups}, {self.dims}, {settings}"

    def _neighbours(self, x: mx.array) -> mx.array:
        size = x.shape[-1] // self.num_groups
        groups = x.reshape(x.shape[0], -1, self.num_groups, size).transpose(0, 2, 1, 3)
        flat = mx.fast.layer_norm(groups.reshape(x.shape[0], self.num_groups, -1), None, None, self.eps)
        return flat.reshape(groups.shape).transpose(0, 2, 1, 3).reshape(x.shape)

    def _remainders(self, x: mx.array) -> mx.array:
        groups = x.reshape(x.shape[0], -1, self.num_groups)
        mean = mx.mean(groups, axis=1, keepdims=True)
        variance = mx.var(groups, axis=1, keepdims=True)
        return ((groups - mean) * mx.rsqrt(variance + self.eps)).reshape(x.shape)

    def __call__(self, x: mx.array) -> mx.array:
        x = self._neighbours(x) if self.pytorch_compatible else self._remainders(x)
        return self.weight * x + self.bias if "weight" in self else x


class BatchNorm(Module):
    """Normalises each channel over the batch and its spatial axes: ``(N, C)``, ``(N, L, C)`` or ``(N, H, W, C)``.

    In training mode the statistics of the batch are used and, with ``track_running_stats``, kept as moving averages,
    which are used in the mode of evaluation. The averages are parameters that are never trained.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = mx.ones((num_features,))
            self.bias = mx.zeros((num_features,))
        if track_running_stats:
            self.running_mean = mx.zeros((num_features,))
            self.running_var = mx.ones((num_features,))
            self.freeze(keys=["running_mean", "running_var"], recurse=False)

    def unfreeze(self, *args: Any, **kwargs: Any) -> Module:
        """As for every module, but the moving averages stay frozen."""
        super().unfreeze(*args, **kwargs)
        if self.track_running_stats:
            self.freeze(keys=["running_mean", "running_var"], recurse=False)
        return self

    def _extra_repr(self) -> str:
        tracked = f"affine={'weight' in self}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {tracked}"

    def _track(self, x: mx.array, axes: tuple[int, ...], mean: mx.array) -> None:
        variance = mx.var(x, axis=axes, ddof=1)
        keep = 1 - self.momentum
        self.running_mean = keep * self.running_mean + self.momentum * mean
        self.running_var = keep * self.running_var + self.momentum * variance

    def __call__(self, x: mx.array) -> mx.array:
        if x.ndim < 2 or x.ndim > 4:
            raise ValueError(f"[BatchNorm] The input must have 2, 3 or 4 dimensions, but has {x.ndim}.")
        if self.training or not self.track_running_stats:
            axes = tuple(range(x.ndim - 1))
            mean, variance = mx.mean(x, axis=axes), mx.var(x, axis=axes)
            if self.training and self.track_running_stats:
                self._track(x, axes, mean)
        else:
            mean, variance = self.running_mean, self.running_var
        x = (x - mean) * mx.rsqrt(variance + self.eps)
        return self.weight * x + self.bias if "weight" in self else x
