"""Losses. ``reduction`` says whether all values are returned (``"none"``), their mean or their sum."""

from __future__ import annotations

import math
from typing import Literal

from pellucid import core as mx

Reduction = Literal["none", "mean", "sum"]

_REDUCTIONS = {"none": lambda loss: loss, "mean": mx.mean, "sum": mx.sum}


def _reduce(loss: mx.array, reduction: str) -> mx.array:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"[loss] reduction must be one of {tuple(_REDUCTIONS)}, but is {reduction!r}.")
    return _REDUCTIONS[reduction](loss)


def _same_shape(name: str, first: str, a: mx.array, second: str, b: mx.array) -> None:
    if a.shape != b.shape:
        raise ValueError(f"[{name}] The shape {a.shape} of {first} is not the shape {b.shape} of {second}.")


def cross_entropy(
    logits: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    axis: int = -1,
    label_smoothing: float = 0.0,
    reduction: Reduction = "none",
) -> mx.array:
    """The cross entropy of logits with targets: numbers of classes, or probabilities in the shape of the logits.

    ``weights`` are factors of the losses. ``label_smoothing`` mixes the targets with the uniform distribution.
    """
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"[cross_entropy] label_smoothing must be in [0, 1), but is {label_smoothing}.")
    probabilities = targets.ndim == logits.ndim
    rest = list(logits.shape)
    rest.pop(axis)
    if targets.shape != (logits.shape if probabilities else tuple(rest)):
        raise ValueError(f"[cross_entropy] Targets of shape {targets.shape} do not fit logits of shape {logits.shape}.")
    if probabilities:
        # Measured from the largest logit, which also settles what targets that do not add up to one mean.
        top = mx.stop_gradient(mx.max(logits, axis=axis, keepdims=True))
        score = mx.sum((logits - top) * targets, axis=axis) + top.squeeze(axis)
    else:
        score = mx.take_along_axis(logits, mx.expand_dims(targets, axis), axis).squeeze(axis)
    if label_smoothing > 0:
        score = (1 - label_smoothing) * score + label_smoothing * mx.mean(logits, axis=axis)
    loss = mx.logsumexp(logits, axis=axis) - score
    if weights is not None:
        _same_shape("cross_entropy", "weights", weights, "the losses", loss)
        loss = loss * weights
    return _reduce(loss, reduction)


def binary_cross_entropy(
    inputs: mx.array,
    targets: mx.array,
    weights: mx.array | None = None,
    with_logits: bool = True,
    reduction: Reduction = "mean",
) -> mx.array:
    """The cross entropy of yes or no, from logits or, without ``with_logits``, from probabilities."""
    _same_shape("binary_cross_entropy", "inputs", inputs, "targets", targets)
    if with_logits:
        loss = mx.logaddexp(0.0, inputs) - inputs * targets
    else:
        yes = mx.clip(mx.log(inputs), -100, None)
        no = mx.clip(mx.log(1 - inputs), -100, None)
        loss = -(targets * yes + (1 - targets) * no)
    if weights is not None:
        _same_shape("binary_cross_entropy", "weights", weights, "the losses", loss)
        loss = loss * weights
    return _reduce(loss, reduction)


def l1_loss(predictions: mx.array, targets: mx.array, reduction: Reduction = "mean") -> mx.array:
    """``abs(predictions - targets)``"""
    _same_shape("l1_loss", "predictions", predictions, "targets", targets)
    return _reduce(mx.abs(predictions - targets), reduction)


def mse_loss(predictions: mx.array, targets: mx.array, reduction: Reduction = "mean") -> mx.array:
    """``(predictions - targets) ** 2``"""
    _same_shape("mse_loss", "predictions", predictions, "targets", targets)
    return _reduce(mx.square(predictions - targets), reduction)


def nll_loss(inputs: mx.array, targets: mx.array, axis: int = -1, reduction: Reduction = "none") -> mx.array:
    """The negative of the input, a logarithm of a probability, at the number of the target's class."""
    loss = -mx.take_along_axis(inputs, mx.expand_dims(targets, axis), axis).squeeze(axis)
    return _reduce(loss, reduction)


def gaussian_nll_loss(
    inputs: mx.array,
    targets: mx.array,
    vars: mx.array,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> mx.array:
    """The negative logarithm of the density of targets in normal distributions; ``full`` adds its constant."""
    _same_shape("gaussian_nll_loss", "inputs", inputs, "targets", targets)
    _same_shape("gaussian_nll_loss", "inputs", inputs, "vars", vars)
    vars = mx.maximum(vars, eps)
    loss = 0.5 * (mx.log(vars) + mx.square(targets - inputs) / vars)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def kl_div_loss(inputs: mx.array, targets: mx.array, axis: int = -1, reduction: Reduction = "none") -> mx.array:
    """The divergence of distributions along the axis, both given as logarithms of probabilities."""
    return _reduce(mx.sum(mx.exp(targets) * (targets - inputs), axis=axis), reduction)


def smooth_l1_loss(
    predictions: mx.array, targets: mx.array, beta: float = 1.0, reduction: Reduction = "mean"
) -> mx.array:
    """The square of small errors and the size of large ones; ``beta`` is where one becomes the other."""
    _same_shape("smooth_l1_loss", "predictions", predictions, "targets", targets)
    error = mx.abs(predictions - targets)
    return _reduce(mx.where(error < beta, 0.5 * mx.square(error) / beta, error - 0.5 * beta), reduction)


def triplet_loss(
    anchors: mx.array,
    positives: mx.array,
    negatives: mx.array,
    axis: int = -1,
    p: int = 2,
    margin: float = 1.0,
    eps: float = 1e-6,
    reduction: Reduction = "none",
) -> mx.array:
    """How much farther anchors are from positives than from negatives, plus the margin, and zero if that is negative."""
    def distance(a: mx.array, b: mx.array) -> mx.array:
        return mx.power(mx.sum(mx.power(mx.abs(a - b), p), axis=axis) + eps, 1 / p)

    loss = mx.maximum(distance(anchors, positives) - distance(anchors, negatives) + margin, 0)
    return _reduce(loss, reduction)


def hinge_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """``max(1 - inputs * targets, 0)`` for targets of 1 and -1."""
    return _reduce(mx.maximum(1 - inputs * targets, 0), reduction)


def huber_loss(inputs: mx.array, targets: mx.array, delta: float = 1.0, reduction: Reduction = "none") -> mx.array:
    """Half the square of errors up to ``delta``, and beyond that a straight line."""
    error = mx.abs(inputs - targets)
    small = mx.minimum(error, delta)
    return _reduce(0.5 * mx.square(small) + delta * (error - small), reduction)


def log_cosh_loss(inputs: mx.array, targets: mx.array, reduction: Reduction = "none") -> mx.array:
    """The logarithm of the hyperbolic cosine of the error."""
    error = inputs - targets
    return _reduce(mx.logaddexp(error, -error) - math.log(2), reduction)


def cosine_similarity_loss(
    x1: mx.array, x2: mx.array, axis: int = 1, eps: float = 1e-8, reduction: Reduction = "none"
) -> mx.array:
    """The cosine of the angle between vectors along the axis."""
    def norm(x: mx.array) -> mx.array:
        return mx.sqrt(mx.sum(mx.square(x), axis=axis))

    return _reduce(mx.sum(x1 * x2, axis=axis) / mx.maximum(norm(x1) * norm(x2), eps), reduction)


def margin_ranking_loss(
    inputs1: mx.array, inputs2: mx.array, targets: mx.array, margin: float = 0.0, reduction: Reduction = "none"
) -> mx.array:
    """How far the order of two inputs is from the wanted one, 1 for the first above the second and -1 otherwise."""
    _same_shape("margin_ranking_loss", "inputs1", inputs1, "inputs2", inputs2)
    _same_shape("margin_ranking_loss", "inputs1", inputs1, "targets", targets)
    return _reduce(mx.maximum(0, -targets * (inputs1 - inputs2) + margin), reduction)
