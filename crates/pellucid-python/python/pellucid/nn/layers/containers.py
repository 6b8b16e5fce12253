"""Modules that hold others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.nn.layers.base import Module


class Sequential(Module):
    """Calls modules and functions one after the other, each with the result of the one before."""

    def __init__(self, *modules: Callable[[Any], Any]) -> None:
        super().__init__()
        self.layers = list(modules)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x
