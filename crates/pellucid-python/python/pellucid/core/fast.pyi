"""What models do all the time, computed in one go."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


def cross_entropy(logits: array, targets: array, *, stream: StreamOrDevice = None) -> array:
    """Cross entropy of logits with class indices, over the last axis."""

def cuda_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, shared_memory: int = 0) -> object:
    """Refused with a RuntimeError that shows the way: there is no CUDA here."""

def gated_delta_update(q: array, k: array, v: array, gamma: array, beta: array, initial_state: array | None = None, mask: array | None = None, stream: StreamOrDevice = None) -> list[array]:
    """The gated delta rule over all steps: readings and the last state."""

def layer_norm(x: array, weight: array | None, bias: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """Normalises the last axis to mean zero and variance one, then scales and shifts."""

def metal_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '', ensure_row_contiguous: bool = True, atomic_outputs: bool = False, compile_options: object | None = None) -> Callable[..., list[array]]:
    """A kernel in Metal's language, translated to WGSL when it is called, so that it runs on every GPU."""

def precompiled_cuda_kernel(*, name: str, compiled_source: bytes, inputs: Sequence[array | scalar], output_shapes: Sequence[Sequence[int]], output_dtypes: Sequence[Dtype], scalars: Sequence[scalar], grid: tuple[int, int, int], threadgroup: tuple[int, int, int], shared_memory: int = 0, init_value: float | None = None, ensure_row_contiguous: bool = False, stream: StreamOrDevice = None) -> list[array]:
    """Refused with a RuntimeError that shows the way: there is no CUDA here."""

def rms_norm(x: array, weight: array | None, eps: float, *, stream: StreamOrDevice = None) -> array:
    """Divides the last axis by the root of its mean square, then scales."""

def rope(a: array, dims: int, *, traditional: bool, base: float | None, scale: float, offset: int | array, freqs: array | None = None, stream: StreamOrDevice = None) -> array:
    """Rotary position encoding."""

def scaled_dot_product_attention(q: array, k: array, v: array, *, scale: float, mask: None | str | array = None, sinks: array | None = None, force_fused: bool = False, stream: StreamOrDevice = None) -> array:
    """Attention without keeping its scores: softmax(scale * q @ k.T + mask) @ v."""

def wgsl_kernel(name: str, input_names: Sequence[str], output_names: Sequence[str], source: str, header: str = '') -> Callable[..., list[array]]:
    """A kernel in WGSL, called as those of metal_kernel are: `id`, `local` and `group` say which invocation it is."""
