"""Layers, losses and initialisers with the names of ``mlx.nn``: checkpoints of models written for it load.

A model is a :class:`Module`; :func:`value_and_grad` gives the gradients of a loss in its parameters, with which an
optimizer of :mod:`pellucid.optimizers` updates it.
"""

from pellucid.nn import init, losses
from pellucid.nn.layers import *  # noqa: F403
from pellucid.nn.layers import __all__ as _layers
from pellucid.nn.utils import average_gradients, value_and_grad

__all__ = [*_layers, "average_gradients", "init", "losses", "value_and_grad"]
