"""Transposed convolutions, which go from a convolution's output back to the shape of its input."""

from __future__ import annotations

from pellucid import core as mx
from pellucid.nn.layers.convolution import Convolution, Size, each_axis


class ConvTranspose1d(Convolution):
    """Transposed convolution of ``(N, L, C)``."""

    _GROUPED = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        output_padding: int = 0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 1), 1, bias)
        self.padding = padding
        self.dilation = dilation
        self.stride = stride
        self.output_padding = output_padding

    def __call__(self, x: mx.array) -> mx.array:
        y = mx.conv_transpose1d(x, self.weight, self.stride, self.padding, self.dilation, self.output_padding)
        return self._with_bias(y)


class ConvTranspose2d(Convolution):
    """Transposed convolution of ``(N, H, W, C)``; the sizes are a number or one for each axis."""

    _GROUPED = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        output_padding: Size = 0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 2), 1, bias)
        self.padding = each_axis(padding, 2)
        self.stride = each_axis(stride, 2)
        self.dilation = dilation
        self.output_padding = each_axis(output_padding, 2)

    def __call__(self, x: mx.array) -> mx.array:
        y = mx.conv_transpose2d(x, self.weight, self.stride, self.padding, self.dilation, self.output_padding)
        return self._with_bias(y)


class ConvTranspose3d(Convolution):
    """Transposed convolution of ``(N, D, H, W, C)``; the sizes are a number or one for each axis."""

    _GROUPED = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        output_padding: Size = 0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, each_axis(kernel_size, 3), 1, bias)
        self.padding = each_axis(padding, 3)
        self.stride = each_axis(stride, 3)
        self.dilation = dilation
        self.output_padding = each_axis(output_padding, 3)

    def __call__(self, x: mx.array) -> mx.array:
        y = mx.conv_transpose3d(x, self.weight, self.stride, self.padding, self.dilation, self.output_padding)
        return self._with_bias(y)
