"""Initialisers: functions that return an array with the shape of the one they get.

>>> import pellucid.core as mx
>>> import pellucid.nn as nn
>>> nn.init.constant(0.5)(mx.zeros((2, 2))).tolist()
[[0.5, 0.5], [0.5, 0.5]]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from pellucid import core as mx

Initializer = Callable[[mx.array], mx.array]
Scaled = Callable[..., mx.array]
Mode = Literal["fan_in", "fan_out"]


def constant(value: float, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Every element is ``value``."""
    return lambda a: mx.full(a.shape, value, dtype=dtype)


def normal(mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Elements from a normal distribution."""
    return lambda a: mx.random.normal(shape=a.shape, scale=std, loc=mean, dtype=dtype)


def uniform(low: float = 0.0, high: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Elements evenly from ``[low, high)``."""
    return lambda a: mx.random.uniform(low, high, a.shape, dtype=dtype)


def identity(dtype: mx.Dtype = mx.float32) -> Initializer:
    """The identity matrix."""
    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(f"[identity] The array must be a square matrix, but has shape {a.shape}.")
        return mx.eye(n=a.shape[0], dtype=dtype)

    return initializer


def _fans(a: mx.array) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if a.ndim < 2:
        raise ValueError(f"[init] The array must have at least 2 dimensions, but has {a.ndim}.")
    receptive = math.prod(a.shape[1:-1])
    return a.shape[-1] * receptive, a.shape[0] * receptive


def glorot_normal(dtype: mx.Dtype = mx.float32) -> Scaled:
    """Normal, with a variance of 2 by the sum of inputs and outputs."""
    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        return mx.random.normal(shape=a.shape, scale=gain * math.sqrt(2.0 / sum(_fans(a))), dtype=dtype)

    return initializer


def glorot_uniform(dtype: mx.Dtype = mx.float32) -> Scaled:
    """Uniform, with a variance of 2 by the sum of inputs and outputs."""
    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        limit = gain * math.sqrt(6.0 / sum(_fans(a)))
        return mx.random.uniform(-limit, limit, a.shape, dtype=dtype)

    return initializer


def _fan(a: mx.array, mode: str) -> int:
    fans = dict(zip(("fan_in", "fan_out"), _fans(a)))
    if mode not in fans:
        raise ValueError(f"[init] mode must be fan_in or fan_out, but is {mode!r}.")
    return fans[mode]


def he_normal(dtype: mx.Dtype = mx.float32) -> Scaled:
    """Normal, with a standard deviation of ``gain`` by the root of the inputs or outputs."""
    def initializer(a: mx.array, mode: Mode = "fan_in", gain: float = 1.0) -> mx.array:
        return mx.random.normal(shape=a.shape, scale=gain / math.sqrt(_fan(a, mode)), dtype=dtype)

    return initializer


def he_uniform(dtype: mx.Dtype = mx.float32) -> Scaled:
    """Uniform, with a standard deviation of ``gain`` by the root of the inputs or outputs."""
    def initializer(a: mx.array, mode: Mode = "fan_in", gain: float = 1.0) -> mx.array:
        limit = gain * math.sqrt(3.0 / _fan(a, mode))
        return mx.random.uniform(-limit, limit, a.shape, dtype=dtype)

    return initializer


def sparse(sparsity: float, mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """Normal, with the share ``sparsity`` of each column, at random places, set to zero."""
    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError(f"[sparse] The array must have 2 dimensions, but has {a.ndim}.")
        rows, columns = a.shape
        zeros = int(math.ceil(sparsity * columns))
        order = mx.argsort(mx.random.uniform(shape=a.shape), axis=1)
        values = mx.random.normal(shape=a.shape, scale=std, loc=mean, dtype=dtype)
        values[mx.arange(rows).reshape(rows, 1), order[:, :zeros]] = 0
        return values

    return initializer


def orthogonal(gain: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """A matrix whose rows or columns, whichever are fewer, are orthogonal and as long as ``gain``."""
    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError(f"[orthogonal] The array must have 2 dimensions, but has {a.ndim}.")
        rows, columns = a.shape
        side = max(rows, columns)
        q, r = mx.linalg.qr(mx.random.normal(shape=(side, side)), stream=mx.cpu)
        # With the signs of the diagonal, the result is evenly distributed over all rotations.
        q = q * mx.sign(mx.diag(r))
        return (q[:rows, :columns] * gain).astype(dtype)

    return initializer
