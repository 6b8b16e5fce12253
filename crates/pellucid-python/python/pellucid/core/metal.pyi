"""Captures, and memory under its older names."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


def clear_cache() -> None:
    """Gives all cached memory back to the system."""

def device_info() -> dict[str, str | int]:
    """What is known about the GPU; empty if there is none. The same as mx.device_info(mx.gpu)."""

def get_active_memory() -> int:
    """Bytes held by live arrays."""

def get_cache_memory() -> int:
    """Bytes kept for reuse."""

def get_peak_memory() -> int:
    """The most bytes that live arrays held at one time."""

def is_available() -> bool:
    """True if there is a GPU that is reached through Metal."""

def reset_peak_memory() -> None:
    """Restarts the peak from what is active now."""

def set_cache_limit(limit: int) -> int:
    """Sets how many bytes the cache may keep and returns the previous limit."""

def set_memory_limit(limit: int, *, relaxed: bool = True) -> int:
    """Sets the memory limit and returns the previous one. An allocation beyond it evicts the cache, then waits for running
    work; if nothing is left to wait for, it goes ahead if relaxed, and raises RuntimeError if not."""

def set_wired_limit(limit: int) -> int:
    """Accepted for programs written for MLX on Metal. Memory is not wired here: returns 0 and changes nothing."""

def start_capture(path: str) -> None:
    """Starts a capture of everything that runs, into a file that must not exist yet. It works on every device."""

def stop_capture() -> None:
    """Ends the capture and writes the rest of the file. Without a capture it does nothing, as in MLX."""
