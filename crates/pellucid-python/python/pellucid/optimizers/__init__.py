"""Optimizers and schedules with the names of ``mlx.optimizers``, for models of :mod:`pellucid.nn`."""

from pellucid.optimizers.optimizers import (
    SGD,
    AdaDelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Lion,
    MultiOptimizer,
    Muon,
    Optimizer,
    RMSprop,
    clip_grad_norm,
)
from pellucid.optimizers.schedulers import (
    cosine_decay,
    exponential_decay,
    join_schedules,
    linear_schedule,
    step_decay,
)

__all__ = [
    "SGD", "AdaDelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "MultiOptimizer", "Muon", "Optimizer",
    "RMSprop", "clip_grad_norm", "cosine_decay", "exponential_decay", "join_schedules", "linear_schedule", "step_decay",
]
