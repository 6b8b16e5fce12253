"""Groups of processes that work together: here, this one."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


class Group:
    """The processes that work together: this one. Made by init()."""

    def rank(self) -> int:
        """The number of this process in the group: 0."""

    def size(self) -> int:
        """How many processes the group has: 1."""

    def split(self, color: int, key: int = -1) -> Group:
        """Refused with a RuntimeError: a group of one process has no parts."""

def all_gather(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The arrays of all processes behind one another along the first axis: x."""

def all_max(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The largest over the processes: x."""

def all_min(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The smallest over the processes: x."""

def all_sum(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """The sum over the processes: x."""

def init(strict: bool = False, backend: str = 'any', *, all_gather_factory: Callable[[int, int], Callable[[bytes, int], bytes]] | None = None) -> Group:
    """The group of this process alone. With strict a RuntimeError, since no backend connects processes."""

def is_available(backend: str = 'any') -> bool:
    """Whether a backend connects several processes: False."""

def recv(shape: Sequence[int], dtype: Dtype, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Refused with a ValueError: there is no other process."""

def recv_like(x: array, src: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Refused with a ValueError: there is no other process."""

def send(x: array, dst: int, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """Refused with a ValueError: there is no other process."""

def sum_scatter(x: array, *, group: Group | None = None, stream: StreamOrDevice = None) -> array:
    """This process's part of the sum over the processes: x."""
