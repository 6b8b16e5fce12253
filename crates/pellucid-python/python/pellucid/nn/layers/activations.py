"""Activations, as functions and as modules of the same name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module


def sigmoid(x: mx.array) -> mx.array:
    """``1 / (1 + exp(-x))``"""
    return mx.sigmoid(x)


def relu(x: mx.array) -> mx.array:
    """``max(x, 0)``"""
    return mx.maximum(x, 0)


def relu2(x: mx.array) -> mx.array:
    """``max(x, 0) ** 2``"""
    return mx.square(mx.maximum(x, 0))


def relu6(x: mx.array) -> mx.array:
    """``min(max(x, 0), 6)``"""
    return mx.minimum(mx.maximum(x, 0), 6.0)


def leaky_relu(x: mx.array, negative_slope: float = 0.01) -> mx.array:
    """``max(negative_slope * x, x)``"""
    return mx.maximum(negative_slope * x, x)


def prelu(x: mx.array, alpha: mx.array) -> mx.array:
    """``max(x, 0) + alpha * min(x, 0)``, with an ``alpha`` that is learnt."""
    return mx.maximum(0, x) + alpha * mx.minimum(0, x)


def elu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """``x`` where it is positive, otherwise ``alpha * (exp(x) - 1)``."""
    return mx.where(x > 0, x, alpha * (mx.exp(x) - 1))


def celu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``"""
    return mx.maximum(x, 0.0) + alpha * (mx.exp(mx.minimum(x, 0.0) / alpha) - 1)


def selu(x: mx.array) -> mx.array:
    """:func:`elu` with the factors that keep mean and variance through layers."""
    return elu(x, 1.67326) * 1.0507


def silu(x: mx.array) -> mx.array:
    """``x * sigmoid(x)``, also called swish."""
    return x * mx.sigmoid(x)


def gelu(x: mx.array) -> mx.array:
    """``x`` times the normal distribution's probability of less than ``x``."""
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def gelu_approx(x: mx.array) -> mx.array:
    """:func:`gelu` by a hyperbolic tangent."""
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_fast_approx(x: mx.array) -> mx.array:
    """:func:`gelu` by a sigmoid: ``x * sigmoid(1.702 * x)``."""
    return x * mx.sigmoid(1.702 * x)


def glu(x: mx.array, axis: int = -1) -> mx.array:
    """The first half of ``x`` along the axis, times the sigmoid of the second."""
    a, b = mx.split(x, indices_or_sections=2, axis=axis)
    return a * mx.sigmoid(b)


def softmax(x: mx.array, axis: int = -1) -> mx.array:
    """``exp(x)``, divided by its sum along the axis."""
    return mx.softmax(x, axis=axis)


def softmin(x: mx.array, axis: int = -1) -> mx.array:
    """``softmax(-x)``"""
    return mx.softmax(-x, axis=axis)


def log_softmax(x: mx.array, axis: int = -1) -> mx.array:
    """The logarithm of the softmax, computed without it."""
    return x - mx.logsumexp(x, axis=axis, keepdims=True)


def softplus(x: mx.array) -> mx.array:
    """``log(1 + exp(x))``"""
    return mx.logaddexp(x, 0)


def softsign(x: mx.array) -> mx.array:
    """``x / (1 + abs(x))``"""
    return mx.divide(x, 1 + mx.abs(x))


def softshrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """``x`` moved by ``lambd`` towards zero, and zero where it is closer than that."""
    return mx.where(mx.abs(x) > lambd, x - mx.sign(x) * lambd, 0)


def hard_shrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """``x``, and zero where it is closer to zero than ``lambd``."""
    return mx.where(mx.abs(x) > lambd, x, 0)


def hard_tanh(x: mx.array, min_val: float = -1.0, max_val: float = 1.0) -> mx.array:
    """``min(max(x, min_val), max_val)``"""
    return mx.minimum(mx.maximum(x, min_val), max_val)


def hardswish(x: mx.array) -> mx.array:
    """``x * min(max(x + 3, 0), 6) / 6``"""
    return x * mx.minimum(mx.maximum(x + 3, 0), 6) / 6


def log_sigmoid(x: mx.array) -> mx.array:
    """``log(sigmoid(x))``, for any ``x``."""
    return -softplus(-x)


def mish(x: mx.array) -> mx.array:
    """``x * tanh(softplus(x))``"""
    return x * mx.tanh(softplus(x))


def step(x: mx.array, threshold: float = 0.0) -> mx.array:
    """1 where ``x`` is above the threshold, otherwise 0."""
    return mx.where(x > threshold, 1, 0)


def tanh(x: mx.array) -> mx.array:
    """The hyperbolic tangent."""
    return mx.tanh(x)


def _module(name: str, function: Callable[..., Any]) -> type[Module]:
    """The module that applies a function without arguments of its own."""
    def call(self: Module, x: mx.array) -> mx.array:
        return function(x)

    text = f"Applies :func:`{function.__name__}`: {(function.__doc__ or '').strip()}"
    return type(name, (Module,), {"__call__": call, "__doc__": text, "__module__": __name__})


Sigmoid = _module("Sigmoid", sigmoid)
ReLU = _module("ReLU", relu)
ReLU2 = _module("ReLU2", relu2)
ReLU6 = _module("ReLU6", relu6)
SELU = _module("SELU", selu)
SiLU = _module("SiLU", silu)
Softmax = _module("Softmax", softmax)
Softmin = _module("Softmin", softmin)
LogSoftmax = _module("LogSoftmax", log_softmax)
Softplus = _module("Softplus", softplus)
Softsign = _module("Softsign", softsign)
HardTanh = _module("HardTanh", hard_tanh)
Hardswish = _module("Hardswish", hardswish)
LogSigmoid = _module("LogSigmoid", log_sigmoid)
Mish = _module("Mish", mish)
Tanh = _module("Tanh", tanh)


class GLU(Module):
    """Applies :func:`glu` along an axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, x: mx.array) -> mx.array:
        return glu(x, axis=self.axis)


class LeakyReLU(Module):
    """Applies :func:`leaky_relu` with a slope."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def __call__(self, x: mx.array) -> mx.array:
        return leaky_relu(x, self._negative_slope)


class ELU(Module):
    """Applies :func:`elu` with an ``alpha``."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return elu(x, self._alpha)


class CELU(Module):
    """Applies :func:`celu` with an ``alpha``."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return celu(x, self._alpha)


class Softshrink(Module):
    """Applies :func:`softshrink` with a ``lambd``."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return softshrink(x, self.lambd)


class HardShrink(Module):
    """Applies :func:`hard_shrink` with a ``lambd``."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return hard_shrink(x, self.lambd)


class Step(Module):
    """Applies :func:`step` with a threshold."""

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, x: mx.array) -> mx.array:
        return step(x, self.threshold)


class PReLU(Module):
    """Applies :func:`prelu`; its ``weight`` has one slope, or one for each feature."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.weight = mx.full([num_parameters], init)

    def __call__(self, x: mx.array) -> mx.array:
        return prelu(x, self.weight)


class GELU(Module):
    """Applies :func:`gelu`, or with ``approx`` of ``"precise"`` or ``"tanh"``, or of ``"fast"``, an approximation."""

    _KINDS = {"none": gelu, "precise": gelu_approx, "tanh": gelu_approx, "fast": gelu_fast_approx}

    def __init__(self, approx: str = "none") -> None:
        super().__init__()
        if approx not in self._KINDS:
            raise ValueError(f"[GELU] approx must be one of {list(self._KINDS)}, but is {approx!r}.")
        self._approx = approx

    def __call__(self, x: mx.array) -> mx.array:
        return GELU._KINDS[self._approx](x)
