"""Gradients of models, recomputation, and what processes that train together need."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from pellucid import core as mx
from pellucid.utils import tree_map, tree_reduce

if TYPE_CHECKING:
    from pellucid.nn.layers.base import Module


def value_and_grad(model: Module, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that returns what ``fn`` returns and the gradient of it in the model's trainable parameters.

    >>> import pellucid.core as mx
    >>> import pellucid.nn as nn
    >>> model = nn.Linear(2, 1)
    >>> loss, grads = nn.value_and_grad(model, lambda x: model(x).sum())(mx.ones((3, 2)))
    >>> grads["bias"].tolist()
    [3.0]
    """
    def with_parameters(parameters: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        model.update(parameters)
        return fn(*args, **kwargs)

    differentiated = mx.value_and_grad(with_parameters)

    @wraps(fn)
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        parameters = model.trainable_parameters()
        try:
            return differentiated(parameters, *args, **kwargs)
        finally:
            # The parameters of the trace, which hold on to its arrays, do not stay in the model.
            model.update(parameters)

    return value_and_gradient


def checkpoint(module: Module, fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The module, or ``fn`` that uses it, with intermediate results computed again for the gradient instead of kept."""
    fn = module if fn is None else fn

    def with_parameters(parameters: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        module.update(parameters)
        return fn(*args, **kwargs)

    saving = mx.checkpoint(with_parameters)

    @wraps(fn)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        parameters = module.trainable_parameters()
        try:
            return saving(parameters, *args, **kwargs)
        finally:
            module.update(parameters)

    return checkpointed


def average_gradients(
    gradients: Any,
    group: mx.distributed.Group | None = None,
    all_reduce_size: int = 32 * 1024**2,
    communication_stream: mx.Stream | None = None,
) -> Any:
    """The mean of the gradients over the processes of the group: with one process, the gradients."""
    return gradients


def clip_grad_norm_sharded(gradients: Any, max_norm: float, group: mx.distributed.Group | None = None) -> tuple[Any, mx.array]:
    """Scales gradients that are divided among the group so that their norm is at most ``max_norm``; also the norm."""
    square = tree_reduce(lambda total, g: total + mx.sum(mx.square(g)), gradients, mx.array(0.0))
    norm = mx.sqrt(mx.distributed.all_sum(square, group=group))
    scale = mx.minimum(max_norm / (norm + 1e-6), 1.0)
    return tree_map(lambda g: g * scale.astype(g.dtype), gradients), norm
