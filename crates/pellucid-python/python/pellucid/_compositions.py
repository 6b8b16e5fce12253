"""What MLX has as one operation and Pellucid builds from others, for programs that run under :mod:`pellucid.mlx`.

A name that :mod:`pellucid.core` has itself is taken from there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _distributed


def names(module: str) -> dict[str, Any]:
    """The names of the module ``mlx.core.<module>``; those of ``mlx.core`` for an empty text."""
    return _NAMES.get(module, {})


def compile(
    fun: Callable[..., Any], inputs: object | None = None, outputs: object | None = None, shapeless: bool = False
) -> Callable[..., Any]:
    """Returns ``fun``: chains of operations are fused when they are evaluated, compiled or not."""
    if not callable(fun):
        raise TypeError(f"[compile] Expected a function, but received {type(fun).__name__}.")
    return fun


def disable_compile() -> None:
    """Does nothing: a compiled function is the function itself."""


def enable_compile() -> None:
    """Does nothing: a compiled function is the function itself."""


_NAMES: dict[str, dict[str, Any]] = {
    "": {"compile": compile, "disable_compile": disable_compile, "enable_compile": enable_compile},
    "distributed": {name: getattr(_distributed, name) for name in _distributed.__all__},
}
