"""Groups of processes that work together, with MLX's names: ``pellucid.core.distributed``.

Pellucid computes in one process, so every group has this process alone. What adds or gathers over the group returns
its argument; what needs a second process says that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "Group", "all_gather", "all_max", "all_min", "all_sum", "init", "is_available", "recv", "recv_like", "send", "sum_scatter",
]

_BACKENDS = ("any", "mpi", "nccl", "jaccl", "ring")


class Group:
    """The processes that work together: this one."""

    def __new__(cls) -> Group:
        raise TypeError("[distributed] A Group is made by distributed.init().")

    def rank(self) -> int:
        """rank(self) -> int

        The number of this process in the group: 0.
        """
        return 0

    def size(self) -> int:
        """size(self) -> int

        How many processes the group has: 1.
        """
        return 1

    def split(self, color: int, key: int = -1) -> Group:
        """split(self, color: int, key: int = -1) -> Group

        Refused with a RuntimeError: a group of one process has no parts.
        """
        raise RuntimeError("[distributed] A group of one process cannot be split.")


_GROUP = object.__new__(Group)


def _check(name: str, backend: str) -> None:
    if backend not in _BACKENDS:
        raise ValueError(f"[distributed] {name} knows the backends {', '.join(_BACKENDS)}, but not {backend!r}.")


def init(
    strict: bool = False,
    backend: str = "any",
    *,
    all_gather_factory: Callable[[int, int], Callable[[bytes, int], bytes]] | None = None,
) -> Group:
    """init(strict: bool = False, backend: str = 'any', *, all_gather_factory: Callable[[int, int], Callable[[bytes, int], bytes]] | None = None) -> Group

    The group of this process alone. With ``strict`` a RuntimeError, since no backend connects processes.
    """
    _check("init", backend)
    if strict:
        raise RuntimeError("[distributed] No backend could be started: Pellucid computes in one process.")
    return _GROUP


def is_available(backend: str = "any") -> bool:
    """is_available(backend: str = 'any') -> bool

    Whether a backend connects several processes: False.
    """
    return False


def _array(x: Any, group: Group | None) -> Any:
    from pellucid import core

    if group is not None and not isinstance(group, Group):
        raise TypeError(f"[distributed] A group must be a Group, not {type(group).__name__}.")
    return x if isinstance(x, core.array) else core.array(x)


def all_sum(x: Any, *, group: Group | None = None, stream: Any = None) -> Any:
    """all_sum(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    The sum over the processes: ``x``.
    """
    return _array(x, group)


def all_max(x: Any, *, group: Group | None = None, stream: Any = None) -> Any:
    """all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    The largest over the processes: ``x``.
    """
    return _array(x, group)


def all_min(x: Any, *, group: Group | None = None, stream: Any = None) -> Any:
    """all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    The smallest over the processes: ``x``.
    """
    return _array(x, group)


def all_gather(x: Any, *, group: Group | None = None, stream: Any = None) -> Any:
    """all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    The arrays of all processes behind one another along the first axis: ``x``.
    """
    return _array(x, group)


def sum_scatter(x: Any, *, group: Group | None = None, stream: Any = None) -> Any:
    """sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    This process's part of the sum over the processes: ``x``.
    """
    return _array(x, group)


def send(x: Any, dst: int, *, group: Group | None = None, stream: Any = None) -> Any:
    """send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    Refused with a ValueError: there is no other process.
    """
    raise ValueError(f"[send] The group has this process alone; there is no process {dst} to send to.")


def recv(shape: Sequence[int], dtype: Any, src: int, *, group: Group | None = None, stream: Any = None) -> Any:
    """recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    Refused with a ValueError: there is no other process.
    """
    raise ValueError(f"[recv] The group has this process alone; there is no process {src} to receive from.")


def recv_like(x: Any, src: int, *, group: Group | None = None, stream: Any = None) -> Any:
    """recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array

    Refused with a ValueError: there is no other process.
    """
    raise ValueError(f"[recv_like] The group has this process alone; there is no process {src} to receive from.")
