"""What MLX has as one operation and Pellucid builds from others, for programs that run under :mod:`pellucid.mlx`.

A name that :mod:`pellucid.core` has itself is taken from there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


class Group:
    """The processes that work together. Pellucid runs in one: its group has this process alone."""

    def rank(self) -> int:
        """This process's number."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def split(self, color: int, key: int = -1) -> Group:
        """Refused: one process cannot be split."""
        raise RuntimeError("[distributed] A group of one process cannot be split.")


def init(strict: bool = False, backend: str = "any", **_: Any) -> Group:
    """The group of this process alone; an error if ``strict``."""
    if strict:
        raise RuntimeError("[distributed] Pellucid has no distributed backend.")
    return Group()


def is_available(backend: str = "any") -> bool:
    """False: there is no distributed backend."""
    return False


_NAMES: dict[str, dict[str, Any]] = {
    "": {"compile": compile, "disable_compile": disable_compile, "enable_compile": enable_compile},
    "distributed": {"Group": Group, "init": init, "is_available": is_available},
}
