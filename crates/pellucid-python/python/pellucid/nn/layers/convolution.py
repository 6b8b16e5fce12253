"""Convolutions, with the channels last: ``(N, spatial…, C)``."""

from __future__ import annotations

import math

from pellucid import core as mx
from pellucid.nn.layers.base import Module

Size = int | tuple[int, ...]


def each_axis(value: Size, axes: int) -> tuple[int, ...]:
    """One number for each spatial axis."""
    return (value,) * axes if isinstance(value, int) else tuple(value)


class Convolution(Module):
    """What all convolutions share: a ``weight`` of ``(out, kernel…, in / groups)`` and a ``bias`` that begins at zero."""

    def __init__(self, in_channels: int, out_channels: int, kernel: tuple[int, ...], groups: int, bias: bool) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError(
                f"[{type(self).__name__}] The {in_channels} input channels cannot be divided into {groups} groups."
            )
        scale = math.sqrt(1 / (in_channels // groups * math.prod(kernel)))
        self.weight = mx.random.uniform(-scale, scale, (out_channels, *kernel, in_channels // groups))
        if bias:
            self.bias = mx.zeros((out_channels,))

    _GROUPED = True

    def _extra_repr(self) -> str:
        kernel = self.weight.shape[1:-1]
        inputs = self.weight.shape[-1] * (self.groups if self._GROUPED else 1)
        text = f"{inputs}, {self.weight.shape[0]}, kernel_size={kernel if len(kernel) > 1 else kernel[0]}"
        names = ["stride", "padding", "dilation", *(["groups"] if self._GROUPED else []), "output_padding"]
        settings = "".join(f", {name}={getattr(self, name)}" for name in names if hasattr(self, name))
        return f"{text}{settings}, bias={'bias' in self}"

    def _with_bias(self, y: mx.array) -> mx.array:
        return y + self.bias if "bias" in self else y


class Conv1d(Convolution):
    """Convolution of ``(N, L, C)``."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 1), groups, bias)
        self.padding = padding
        self.dilation = dilation
        self.stride = stride
        self.groups = groups

    def __call__(self, x: mx.array) -> mx.array:
        return self._with_bias(mx.conv1d(x, self.weight, self.stride, self.padding, self.dilation, self.groups))


class Conv2d(Convolution):
    """Convolution of ``(N, H, W, C)``; the sizes are a number or one for each axis."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 2), groups, bias)
        self.padding = each_axis(padding, 2)
        self.stride = each_axis(stride, 2)
        self.dilation = dilation
        self.groups = groups

    def __call__(self, x: mx.array) -> mx.array:
        return self._with_bias(mx.conv2d(x, self.weight, self.stride, self.padding, self.dilation, self.groups))


class Conv3d(Convolution):
    """Convolution of ``(N, D, H, W, C)``; the sizes are a number or one for each axis."""

    _GROUPED = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 3), 1, bias)
        self.padding = each_axis(padding, 3)
        self.stride = each_axis(stride, 3)
        self.dilation = dilation

    def __call__(self, x: mx.array) -> mx.array:
        return self._with_bias(mx.conv3d(x, self.weight, self.stride, self.padding, self.dilation))
