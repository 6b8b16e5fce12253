"""What MLX has as one operation and Pellucid builds from others, for programs that run under :mod:`pellucid.mlx`.

A name that :mod:`pellucid.core` has itself is taken from there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import core as mx


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


def layer_norm(x: Any, weight: Any, bias: Any, eps: float, *, stream: Any = None) -> Any:
    """Normalises the last axis to mean zero and variance one, then scales and shifts; computed in float32."""
    wide = x.astype(mx.float32, stream=stream)
    mean = mx.mean(wide, axis=-1, keepdims=True, stream=stream)
    centred = mx.subtract(wide, mean, stream=stream)
    variance = mx.mean(mx.square(centred, stream=stream), axis=-1, keepdims=True, stream=stream)
    return _scaled(x, centred, variance, weight, bias, eps, stream)


def rms_norm(x: Any, weight: Any, eps: float, *, stream: Any = None) -> Any:
    """Divides the last axis by the root of its mean square, then scales; computed in float32."""
    wide = x.astype(mx.float32, stream=stream)
    power = mx.mean(mx.square(wide, stream=stream), axis=-1, keepdims=True, stream=stream)
    return _scaled(x, wide, power, weight, None, eps, stream)


def _scaled(x: Any, wide: Any, power: Any, weight: Any, bias: Any, eps: float, stream: Any) -> Any:
    if x.ndim == 0:
        raise ValueError("[norm] Input must have at least 1 dimension but got input with 0 dimensions.")
    result = mx.multiply(wide, mx.rsqrt(mx.add(power, eps, stream=stream), stream=stream), stream=stream)
    if weight is not None:
        result = mx.multiply(result, weight, stream=stream)
    if bias is not None:
        result = mx.add(result, bias, stream=stream)
    kinds = [x, *(extra for extra in (weight, bias) if extra is not None)]
    return result.astype(mx.result_type(*kinds), stream=stream)


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
    "fast": {"layer_norm": layer_norm, "rms_norm": rms_norm},
    "distributed": {"Group": Group, "init": init, "is_available": is_available},
}
