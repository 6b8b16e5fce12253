"""CUDA, which is not used here."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


def is_available() -> bool:
    """Whether CUDA can be used: False. NVIDIA's GPUs are reached through Vulkan, see gpu."""
