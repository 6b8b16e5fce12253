"""Schedules: functions of the step, to be given to an optimizer in the place of a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pellucid import core as mx

Schedule = Callable[[Any], Any]


def exponential_decay(init: float, decay_rate: float) -> Schedule:
    """``init * decay_rate ** step``"""
    return lambda step: init * decay_rate**step


def step_decay(init: float, decay_rate: float, step_size: int) -> Schedule:
    """``init``, multiplied by ``decay_rate`` after every ``step_size`` steps."""
    return lambda step: init * (decay_rate ** (step // step_size))


def cosine_decay(init: float, decay_steps: int, end: float = 0.0) -> Schedule:
    """From ``init`` to ``end`` in ``decay_steps`` steps along half a period of a cosine, and then ``end``."""
    def schedule(step: Any) -> mx.array:
        share = mx.minimum(step, decay_steps) * (math.pi / decay_steps)
        return end + 0.5 * (1.0 + mx.cos(share)) * (init - end)

    return schedule


def linear_schedule(init: float, end: float, steps: int) -> Schedule:
    """From ``init`` to ``end`` in ``steps`` equal steps, and then ``end``: to warm up, for example."""
    if steps < 1:
        raise ValueError(f"[linear_schedule] steps must be at least 1, but is {steps}.")
    return lambda step: mx.minimum(step, steps) * ((end - init) / steps) + init


def join_schedules(schedules: list[Schedule], boundaries: list[int]) -> Schedule:
    """One schedule after the other, each from its boundary on, counting steps from there.

    >>> warm = linear_schedule(0.0, 0.1, steps=10)
    >>> rate = join_schedules([warm, exponential_decay(0.1, 0.9)], [10])
    >>> round(rate(5).item(), 4), round(rate(10).item(), 4)
    (0.05, 0.1)
    """
    if not schedules:
        raise ValueError("[join_schedules] There must be at least 1 schedule.")
    if len(boundaries) != len(schedules) - 1:
        raise ValueError(f"[join_schedules] {len(schedules)} schedules need {len(schedules) - 1} boundaries, not {len(boundaries)}.")

    def schedule(step: Any) -> Any:
        value = schedules[0](step)
        for boundary, following in zip(boundaries, schedules[1:]):
            value = mx.where(step < boundary, value, following(step - boundary))
        return value

    return schedule
