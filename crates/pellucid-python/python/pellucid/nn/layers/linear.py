"""Linear maps of the last axis."""

from __future__ import annotations

import math
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module
from pellucid.nn.layers.quantized import QQLinear, QuantizedLinear


class Identity(Module):
    """Returns its argument; whatever it is made with is ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __call__(self, x: mx.array) -> mx.array:
        return x


class Linear(Module):
    """``x @ weight.T + bias``. Both begin uniform within one over the square root of ``input_dims``."""

    def __init__(self, input_dims: int, output_dims: int, bias: bool = True) -> None:
        super().__init__()
        scale = math.sqrt(1 / input_dims)
        self.weight = mx.random.uniform(-scale, scale, (output_dims, input_dims))
        if bias:
            self.bias = mx.random.uniform(-scale, scale, (output_dims,))

    def _extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"input_dims={inputs}, output_dims={outputs}, bias={'bias' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        if "bias" in self:
            return mx.addmm(self["bias"], x, self["weight"].T)
        return x @ self["weight"].T

    def to_quantized(
        self, group_size: int | None = None, bits: int | None = None, mode: str = "affine", quantize_input: bool = False
    ) -> Module:
        """A :class:`QuantizedLinear` of these weights; with ``quantize_input`` a :class:`QQLinear`."""
        if not quantize_input:
            return QuantizedLinear.from_linear(self, group_size, bits, mode)
        if mode not in ("nvfp4", "mxfp8"):
            raise ValueError(f"[Linear] Inputs are quantized in the modes nvfp4 and mxfp8 only, not in {mode}.")
        return QQLinear.from_linear(self, group_size, bits, mode)


class Bilinear(Module):
    """``x1 @ weight[i] @ x2 + bias[i]`` for each output ``i``; ``weight`` is ``(output_dims, input2_dims, input1_dims)``."""

    def __init__(self, input1_dims: int, input2_dims: int, output_dims: int, bias: bool = True) -> None:
        super().__init__()
        scale = math.sqrt(1 / input1_dims)
        self.weight = mx.random.uniform(-scale, scale, (output_dims, input2_dims, input1_dims))
        if bias:
            self.bias = mx.random.uniform(-scale, scale, (output_dims,))

    def _extra_repr(self) -> str:
        outputs, second, first = self.weight.shape
        return f"input1_dims={first}, input2_dims={second}, output_dims={outputs}, bias={'bias' in self}"

    def __call__(self, x1: mx.array, x2: mx.array) -> mx.array:
        outputs, second, first = self.weight.shape
        # One product gives x1 with every row of every weight; another adds up over the rows.
        rows = (x1.reshape(-1, first) @ self.weight.reshape(-1, first).T).reshape(-1, outputs, second)
        y = (rows @ x2.reshape(-1, second, 1)).squeeze(-1).reshape(*x1.shape[:-1], outputs)
        return y + self.bias if "bias" in self else y
