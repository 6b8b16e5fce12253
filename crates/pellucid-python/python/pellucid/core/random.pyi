"""Random numbers from keys."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


class _RandomState:
    """The key that this thread's sequence goes on from, as a sequence of one array."""

    def __getitem__(self, index: int, /) -> array: ...

    def __iter__(self) -> Iterator[array]: ...

    def __len__(self) -> int: ...

    def __setitem__(self, index: int, value: array, /) -> None: ...

def bernoulli(p: scalar | array = 0.5, shape: Sequence[int] | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """True with a probability."""

def categorical(logits: array, axis: int = -1, shape: Sequence[int] | None = None, num_samples: int | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Positions along an axis, with probabilities given by their logarithms."""

def gumbel(shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the Gumbel distribution."""

def key(seed: int) -> array:
    """A key for random numbers."""

def laplace(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: float = 0.0, scale: float = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the Laplace distribution."""

def multivariate_normal(mean: array, cov: array, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers that are normal together, with these means and covariances."""

def normal(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array | None = None, scale: scalar | array | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the normal distribution."""

def permutation(x: int | array, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """The numbers below x, or the parts of an array along an axis, in random order."""

def randint(low: scalar | array, high: scalar | array, shape: Sequence[int] = [], dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Integers from one up to but not including another."""

def seed(seed: int) -> None:
    """Starts this thread's sequence of keys."""

def split(key: array, num: int = 2, stream: StreamOrDevice = None) -> array:
    """New keys from one."""

state: _RandomState

def truncated_normal(lower: scalar | array, upper: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the normal distribution that lie between two limits."""

def uniform(low: scalar | array = 0, high: scalar | array = 1, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers between two limits, all equally likely."""
