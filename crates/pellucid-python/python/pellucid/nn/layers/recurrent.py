"""Recurrent layers. They take ``(…, L, D)`` and return the hidden state after each of the ``L`` steps."""

from __future__ import annotations

import math
from collections.abc import Callable

from pellucid import core as mx
from pellucid.nn.layers.activations import tanh
from pellucid.nn.layers.base import Module


def _weights(hidden_size: int, *shape: int) -> mx.array:
    scale = 1 / math.sqrt(hidden_size)
    return mx.random.uniform(-scale, scale, shape)


def _project(x: mx.array, weight: mx.array, bias: mx.array | None) -> mx.array:
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


class RNN(Module):
    """``h = nonlinearity(x @ Wxh.T + h @ Whh.T + bias)``"""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Callable[[mx.array], mx.array] | None = None,
    ) -> None:
        super().__init__()
        nonlinearity = nonlinearity or tanh
        if not callable(nonlinearity):
            raise ValueError(f"[RNN] nonlinearity must be a function, but is {nonlinearity!r}.")
        self.nonlinearity = nonlinearity
        self.hidden_size = hidden_size
        self.Wxh = _weights(hidden_size, hidden_size, input_size)
        self.Whh = _weights(hidden_size, hidden_size, hidden_size)
        if bias:
            self.bias = _weights(hidden_size, hidden_size)

    def _extra_repr(self) -> str:
        settings = f"nonlinearity={self.nonlinearity}, bias={'bias' in self}"
        return f"input_dims={self.Wxh.shape[1]}, hidden_size={self.hidden_size}, {settings}"

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        x = _project(x, self.Wxh, self.get("bias"))
        all_hidden = []
        for i in range(x.shape[-2]):
            step = x[..., i, :]
            hidden = self.nonlinearity(step if hidden is None else mx.addmm(step, hidden, self.Whh.T))
            all_hidden.append(hidden)
        return mx.stack(all_hidden, axis=-2)


class GRU(Module):
    """A layer of gated recurrent units: a reset gate, an update gate and a candidate, in this order in the weights."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.Wx = _weights(hidden_size, 3 * hidden_size, input_size)
        self.Wh = _weights(hidden_size, 3 * hidden_size, hidden_size)
        if bias:
            self.b = _weights(hidden_size, 3 * hidden_size)
            self.bhn = _weights(hidden_size, hidden_size)

    def _extra_repr(self) -> str:
        return f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size}, bias={'b' in self}"

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        x = _project(x, self.Wx, self.get("b"))
        gates, candidates = x[..., : -self.hidden_size], x[..., -self.hidden_size :]
        all_hidden = []
        for i in range(x.shape[-2]):
            hidden = self._step(gates[..., i, :], candidates[..., i, :], hidden)
            all_hidden.append(hidden)
        return mx.stack(all_hidden, axis=-2)

    def _step(self, gates: mx.array, candidate: mx.array, hidden: mx.array | None) -> mx.array:
        before = None
        if hidden is not None:
            projected = hidden @ self.Wh.T
            gates = gates + projected[..., : -self.hidden_size]
            before = projected[..., -self.hidden_size :]
        if "bhn" in self:
            before = self.bhn if before is None else before + self.bhn
        reset, update = mx.split(mx.sigmoid(gates), 2, axis=-1)
        candidate = mx.tanh(candidate if before is None else candidate + reset * before)
        new = (1 - update) * candidate
        return new if hidden is None else new + update * hidden


class LSTM(Module):
    """A layer of long short-term memory: input, forget, cell and output gates, in this order in the weights.

    It returns the hidden states and the cell states.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.Wx = _weights(hidden_size, 4 * hidden_size, input_size)
        self.Wh = _weights(hidden_size, 4 * hidden_size, hidden_size)
        if bias:
            self.bias = _weights(hidden_size, 4 * hidden_size)

    def _extra_repr(self) -> str:
        return f"input_dims={self.Wx.shape[1]}, hidden_size={self.hidden_size}, bias={'bias' in self}"

    def __call__(
        self, x: mx.array, hidden: mx.array | None = None, cell: mx.array | None = None
    ) -> tuple[mx.array, mx.array]:
        x = _project(x, self.Wx, self.get("bias"))
        all_hidden, all_cell = [], []
        for i in range(x.shape[-2]):
            gates = x[..., i, :] if hidden is None else mx.addmm(x[..., i, :], hidden, self.Wh.T)
            enter, keep, new, show = mx.split(gates, 4, axis=-1)
            entered = mx.sigmoid(enter) * mx.tanh(new)
            cell = entered if cell is None else mx.sigmoid(keep) * cell + entered
            hidden = mx.sigmoid(show) * mx.tanh(cell)
            all_hidden.append(hidden)
            all_cell.append(cell)
        return mx.stack(all_hidden, axis=-2), mx.stack(all_cell, axis=-2)
