"""The optimizers. Each keeps, for every parameter, a dictionary of arrays in the parameter's own type."""

from __future__ import annotations

import math
from typing import Any

from pellucid import core as mx
from pellucid.optimizers.base import MultiOptimizer, Optimizer, Schedule
from pellucid.utils import tree_map, tree_reduce

__all__ = [
    "SGD", "AdaDelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "MultiOptimizer", "Muon", "Optimizer",
    "RMSprop", "clip_grad_norm",
]

Rate = float | Schedule
State = dict[str, Any]


def _require(holds: bool, owner: object, what: str, value: float) -> None:
    if not holds:
        raise ValueError(f"[{type(owner).__name__}] {what}, but it is {value}.")


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, dampening of it, and Nesterov's look ahead."""

    def __init__(
        self,
        learning_rate: Rate,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("[SGD] nesterov needs a momentum above zero and a dampening of zero.")
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.dampening = dampening
        self.nesterov = nesterov

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        if self.weight_decay != 0:
            gradient = gradient + self.weight_decay * parameter
        rate = self.learning_rate.astype(gradient.dtype)
        if self.momentum <= 0:
            return parameter - rate * gradient
        moved = (1 - self.dampening) * gradient if self.dampening > 0 else gradient
        velocity = self.momentum * state["v"] + moved
        state["v"] = velocity
        return parameter - rate * (gradient + self.momentum * velocity if self.nesterov else velocity)


class RMSprop(Optimizer):
    """Divides the gradient by the root of a moving average of its square."""

    def __init__(self, learning_rate: Rate, alpha: float = 0.99, eps: float = 1e-8) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.alpha = alpha
        self.eps = eps
        _require(alpha >= 0, self, "alpha must be at least 0", alpha)
        _require(eps >= 0, self, "eps must be at least 0", eps)

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        state["v"] = self.alpha * state["v"] + (1 - self.alpha) * mx.square(gradient)
        return parameter - rate * gradient / (mx.sqrt(state["v"]) + self.eps)


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its squares."""

    def __init__(self, learning_rate: Rate, eps: float = 1e-8) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.eps = eps
        _require(eps >= 0, self, "eps must be at least 0", eps)

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        state["v"] = state["v"] + mx.square(gradient)
        return parameter - rate * gradient / (mx.sqrt(state["v"]) + self.eps)


class AdaDelta(Optimizer):
    """Scales the gradient by the ratio of the sizes of past updates and past gradients."""

    def __init__(self, learning_rate: Rate, rho: float = 0.9, eps: float = 1e-6) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.rho = rho
        self.eps = eps
        _require(rho >= 0, self, "rho must be at least 0", rho)
        _require(eps >= 0, self, "eps must be at least 0", eps)

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["v"] = mx.zeros_like(parameter)
        state["u"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        state["v"] = self.rho * state["v"] + (1 - self.rho) * mx.square(gradient)
        update = mx.sqrt(state["u"] + self.eps) / mx.sqrt(state["v"] + self.eps) * gradient
        state["u"] = self.rho * state["u"] + (1 - self.rho) * mx.square(update)
        return parameter - rate * update


class Adam(Optimizer):
    """Moving averages of the gradient, divided by the root of that of its square.

    ``bias_correction`` makes up for averages that begin at zero.
    """

    def __init__(
        self, learning_rate: Rate, betas: list[float] = [0.9, 0.999], eps: float = 1e-8, bias_correction: bool = False
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.betas = betas
        self.eps = eps
        self.bias_correction = bias_correction
        for i, beta in enumerate(betas, 1):
            _require(0 <= beta < 1, self, f"beta{i} must be in [0, 1)", beta)
        _require(eps >= 0, self, "eps must be at least 0", eps)

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["m"] = mx.zeros_like(parameter)
        state["v"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        b1, b2 = self.betas
        m = b1 * state["m"] + (1 - b1) * gradient
        v = b2 * state["v"] + (1 - b2) * mx.square(gradient)
        state["m"], state["v"] = m, v
        if not self.bias_correction:
            return parameter - rate * m / (mx.sqrt(v) + self.eps)
        first = (rate / (1 - b1**self.step)).astype(gradient.dtype)
        second = mx.rsqrt(1 - b2**self.step).astype(gradient.dtype)
        return parameter - first * m / (mx.sqrt(v) * second + self.eps)


class AdamW(Adam):
    """:class:`Adam` with weights that decay apart from the gradient."""

    def __init__(
        self,
        learning_rate: Rate,
        betas: list[float] = [0.9, 0.999],
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        bias_correction: bool = False,
    ) -> None:
        super().__init__(learning_rate=learning_rate, betas=betas, eps=eps, bias_correction=bias_correction)
        self.weight_decay = weight_decay

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        return super().apply_single(gradient, parameter * (1 - rate * self.weight_decay), state)


class Adamax(Adam):
    """:class:`Adam` with a decaying largest size of the gradient instead of a root of squares."""

    def __init__(self, learning_rate: Rate, betas: list[float] = [0.9, 0.999], eps: float = 1e-8) -> None:
        super().__init__(learning_rate, betas, eps)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        b1, b2 = self.betas
        state["m"] = b1 * state["m"] + (1 - b1) * gradient
        state["v"] = mx.maximum(b2 * state["v"], mx.abs(gradient))
        return parameter - rate * state["m"] / (state["v"] + self.eps)


class Lion(Optimizer):
    """Steps of one size in the direction of the sign of a moving average."""

    def __init__(self, learning_rate: Rate, betas: list[float] = [0.9, 0.99], weight_decay: float = 0.0) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.betas = betas
        self.weight_decay = weight_decay

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["m"] = mx.zeros_like(parameter)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self.learning_rate.astype(gradient.dtype)
        b1, b2 = self.betas
        direction = mx.sign(b1 * state["m"] + (1 - b1) * gradient)
        state["m"] = b2 * state["m"] + (1 - b2) * gradient
        if self.weight_decay > 0:
            parameter = (1 - rate * self.weight_decay) * parameter
        return parameter - rate * direction


def _root_mean_square(x: mx.array) -> mx.array:
    return mx.sqrt(mx.mean(mx.square(x)))


class Adafactor(Optimizer):
    """Keeps, for matrices, the squares of gradients as one number for each row and column.

    With ``relative_step`` the learning rate follows from the step, growing slowly from zero with ``warmup_init``; with
    ``scale_parameter`` it is relative to the size of the parameter.
    """

    def __init__(
        self,
        learning_rate: Rate | None = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = -0.8,
        beta_1: float | None = None,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
    ) -> None:
        super().__init__()
        if learning_rate is not None:
            self._maybe_schedule("learning_rate", learning_rate)
        self.eps = eps
        self.clip_threshold = clip_threshold
        self.decay_rate = decay_rate
        self.beta_1 = beta_1
        self.weight_decay = weight_decay
        self.scale_parameter = scale_parameter
        self.relative_step = relative_step
        self.warmup_init = warmup_init

    def init_single(self, parameter: mx.array, state: State) -> None:
        if parameter.ndim >= 2:
            shape = parameter.shape
            state["exp_avg_sq_row"] = mx.zeros(shape[:-1], dtype=parameter.dtype)
            state["exp_avg_sq_col"] = mx.zeros(shape[:-2] + shape[-1:], dtype=parameter.dtype)
        else:
            state["exp_avg_sq"] = mx.zeros_like(parameter)
        if self.beta_1 is not None:
            state["exp_avg"] = mx.zeros_like(parameter)

    def _rate(self, size: mx.array) -> mx.array:
        if self.relative_step:
            most = 1e-6 * self.step if self.warmup_init else 1e-2
            rate = mx.minimum(most, mx.rsqrt(self.step))
        else:
            rate = self.learning_rate
        rate = rate.astype(size.dtype)
        return mx.maximum(self.eps[1], size) * rate if self.scale_parameter else rate

    def _scaled(self, gradient: mx.array, state: State) -> mx.array:
        """The gradient by the root of the average of its squares, of which a matrix has only rows and columns."""
        keep = 1.0 - (self.step**self.decay_rate).astype(gradient.dtype)
        square = mx.square(gradient) + self.eps[0]
        if gradient.ndim < 2:
            state["exp_avg_sq"] = keep * state["exp_avg_sq"] + (1 - keep) * square
            return mx.rsqrt(state["exp_avg_sq"]) * gradient
        row = keep * state["exp_avg_sq_row"] + (1 - keep) * mx.mean(square, axis=-1)
        col = keep * state["exp_avg_sq_col"] + (1 - keep) * mx.mean(square, axis=-2)
        state["exp_avg_sq_row"], state["exp_avg_sq_col"] = row, col
        rows = mx.rsqrt(row / mx.mean(row, axis=-1, keepdims=True))
        return (mx.expand_dims(rows, -1) @ mx.expand_dims(mx.rsqrt(col), -2)) * gradient

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        rate = self._rate(_root_mean_square(parameter))
        update = self._scaled(gradient, state)
        update = update / mx.maximum(1.0, _root_mean_square(update) / self.clip_threshold)
        update = rate * update
        if self.beta_1 is not None:
            update = self.beta_1 * state["exp_avg"] + (1 - self.beta_1) * update
            state["exp_avg"] = update
        if self.weight_decay != 0:
            parameter = parameter + parameter * (-self.weight_decay * rate)
        return parameter - update


class Muon(Optimizer):
    """Momentum whose matrices are made nearly orthogonal. Meant for weights of two or more dimensions, not embeddings."""

    #: The polynomial of the iteration, steep at zero so that small singular values grow fast.
    _COEFFICIENTS = (3.4445, -4.7750, 2.0315)

    def __init__(
        self,
        learning_rate: Rate,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
        nesterov: bool = True,
        ns_steps: int = 5,
    ) -> None:
        super().__init__()
        self._maybe_schedule("learning_rate", learning_rate)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.ns_steps = ns_steps

    def init_single(self, parameter: mx.array, state: State) -> None:
        state["v"] = mx.zeros_like(parameter)

    def _orthogonal(self, x: mx.array) -> mx.array:
        """Brings all singular values near one by a Newton-Schulz iteration."""
        a, b, c = self._COEFFICIENTS
        tall = x.shape[-2] > x.shape[-1]
        x = x.T if tall else x
        x = x / (mx.sqrt(mx.sum(mx.square(x), keepdims=True)) + 1e-7)
        for _ in range(self.ns_steps):
            gram = x @ x.T
            polynomial = mx.addmm(b * gram, gram, gram, beta=1.0, alpha=c)
            x = mx.addmm(a * x, polynomial, x, beta=1.0, alpha=1.0)
        return x.T if tall else x

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: State) -> mx.array:
        if self.weight_decay != 0:
            gradient = gradient + self.weight_decay * parameter
        velocity = self.momentum * state["v"] + (1 - self.momentum) * gradient
        state["v"] = velocity
        update = gradient * (1 - self.momentum) + velocity * self.momentum if self.nesterov else velocity
        rate = self.learning_rate.astype(gradient.dtype)
        if update.ndim >= 2:
            # A convolution's weights are a matrix of outputs by everything else.
            shape = update.shape
            update = self._orthogonal(update.reshape(shape[0], -1) if len(shape) > 2 else update)
            rate = rate * math.sqrt(max(1.0, update.shape[-2] / update.shape[-1]))
            update = update.reshape(shape)
        return parameter - rate * update


def clip_grad_norm(grads: Any, max_norm: float) -> tuple[Any, mx.array]:
    """The gradients, scaled so that their norm as one vector is at most ``max_norm``; and the norm they had.

    >>> import pellucid.core as mx
    >>> clipped, norm = clip_grad_norm({"w": mx.array([3.0, 4.0])}, 1.0)
    >>> norm.item()
    5.0
    """
    square = tree_reduce(lambda total, g: total + mx.sum(mx.square(g)), grads, mx.array(0.0))
    norm = mx.sqrt(square)
    scale = mx.minimum(max_norm / (norm + 1e-6), 1.0)
    return tree_map(lambda g: g * scale.astype(g.dtype), grads), norm
