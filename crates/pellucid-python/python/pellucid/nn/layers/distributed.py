"""Linear layers whose weights are divided among the processes of a group.

A group of Pellucid has one process (see `pellucid.core.distributed`), which therefore holds all the weights: these
layers have the names, shapes and checks that programs for several processes rely on, and compute as ordinary ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module
from pellucid.nn.layers.quantized import QuantizedLinear, quantized_product, quantized_repr, set_quantized
from pellucid.utils import tree_map_with_path

Group = mx.distributed.Group
Segments = int | list[Any]


def sum_gradients(group: Group) -> Callable[[mx.array], mx.array]:
    """The function that returns its argument and whose gradient is summed over the group."""
    return lambda x: mx.distributed.all_sum(x, group=group)


def _check_sharding(sharding: str) -> None:
    if sharding not in ("all-to-sharded", "sharded-to-all"):
        raise ValueError(f"[sharding] It must be all-to-sharded or sharded-to-all, but is {sharding!r}.")


def _check_segments(array: mx.array, segments: Segments, axis: int) -> None:
    """Refuses segments, of which each process gets an equal part, that do not divide the axis."""
    if isinstance(segments, int):
        mx.split(array, segments, axis=axis)
    elif all(isinstance(point, float) for point in segments):
        mx.split(array, [int(point * array.shape[axis]) for point in segments], axis=axis)
    else:
        mx.split(array, list(segments), axis=axis)


def _shard(parameters: dict[str, Any], predicate: Callable[[str, mx.array], Any]) -> Any:
    """Each parameter's part for this process, which is the whole, after a check of what ``predicate`` asks for."""
    def part(path: str, array: Any) -> Any:
        answer = predicate(path, array) if isinstance(array, mx.array) else None
        if answer is not None:
            axis, segments = answer if isinstance(answer, tuple) else (answer, 1)
            _check_segments(array, segments, axis)
        return array

    return tree_map_with_path(part, parameters)


def _predicate(sharding: str, segments: Segments) -> Callable[[str, mx.array], Any]:
    def outputs(path: str, array: mx.array) -> Any:
        return (max(array.ndim - 2, 0), segments) if path.endswith("bias") is False else (-1, segments)

    def inputs(path: str, array: mx.array) -> Any:
        return None if path.endswith("bias") else (-1, segments)

    return outputs if sharding == "all-to-sharded" else inputs


def shard_inplace(
    module: Module,
    sharding: str | Callable[[str, mx.array], Any],
    *,
    segments: Segments = 1,
    group: Group | None = None,
) -> None:
    """Keeps of each parameter the part that belongs to this process.

    ``sharding`` is ``"all-to-sharded"``, ``"sharded-to-all"``, or a function of path and array that returns None, an
    axis, or an axis and segments.
    """
    if isinstance(sharding, str):
        _check_sharding(sharding)
        sharding = _predicate(sharding, segments)
    module.update(_shard(module.parameters(), sharding))


def shard_linear(module: Module, sharding: str, *, segments: Segments = 1, group: Group | None = None) -> Module:
    """The layer, quantised or not, that has this process's part of a linear layer's weights."""
    _check_sharding(sharding)
    to_sharded = sharding == "all-to-sharded"
    if isinstance(module, QuantizedLinear):
        quantized = QuantizedAllToShardedLinear if to_sharded else QuantizedShardedToAllLinear
        return quantized.from_quantized_linear(module, segments=segments, group=group)
    plain = AllToShardedLinear if to_sharded else ShardedToAllLinear
    return plain.from_linear(module, segments=segments, group=group)


class _Sharded(Module):
    """What the linear layers of a group share."""

    _SHARDING = ""

    def _take(self, layer: Module, segments: Segments) -> None:
        self.update_from(_shard(layer.parameters(), _predicate(self._SHARDING, segments)))

    def update_from(self, parameters: dict[str, Any]) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)


class _ShardedLinear(_Sharded):
    def __init__(self, input_dims: int, output_dims: int, bias: bool = True, group: Group | None = None) -> None:
        super().__init__()
        scale = math.sqrt(1 / input_dims)
        self.group = group or mx.distributed.init()
        self.weight = mx.random.uniform(-scale, scale, (output_dims, input_dims))
        if bias:
            self.bias = mx.random.uniform(-scale, scale, (output_dims,))

    def _extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"input_dims={inputs}, output_dims={outputs}, bias={'bias' in self}"

    @classmethod
    def from_linear(cls, linear_layer: Module, *, segments: Segments = 1, group: Group | None = None) -> Any:
        """The layer with this process's part of a linear layer's weights."""
        outputs, inputs = linear_layer.weight.shape
        layer = cls(inputs, outputs, "bias" in linear_layer, group)
        layer._take(linear_layer, segments)
        return layer


class AllToShardedLinear(_ShardedLinear):
    """A linear layer of which each process computes a part of the outputs from the whole input."""

    _SHARDING = "all-to-sharded"

    def __call__(self, x: mx.array) -> mx.array:
        x = sum_gradients(self.group)(x)
        return mx.addmm(self["bias"], x, self["weight"].T) if "bias" in self else x @ self["weight"].T


class ShardedToAllLinear(_ShardedLinear):
    """A linear layer of which each process has a part of the input; the parts of the result are summed."""

    _SHARDING = "sharded-to-all"

    def __call__(self, x: mx.array) -> mx.array:
        y = mx.distributed.all_sum(x @ self["weight"].T, group=self.group)
        return y + self["bias"] if "bias" in self else y


class _QuantizedShardedLinear(_Sharded):
    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        bias: bool = True,
        group_size: int = 64,
        bits: int = 4,
        mode: str = "affine",
        group: Group | None = None,
    ) -> None:
        super().__init__()
        self.group_size = group_size
        self.bits = bits
        self.mode = mode
        self.group = group or mx.distributed.init()
        scale = math.sqrt(1 / input_dims)
        set_quantized(self, mx.random.uniform(-scale, scale, (output_dims, input_dims)))
        if bias:
            self.bias = mx.zeros((output_dims,))
        self.freeze()

    def unfreeze(self, *args: Any, **kwargs: Any) -> Module:
        """As for every module, but what is quantised stays frozen."""
        super().unfreeze(*args, **kwargs)
        return self.freeze(recurse=False)

    def _extra_repr(self) -> str:
        return quantized_repr(self)

    @classmethod
    def from_quantized_linear(
        cls, quantized_linear_layer: Module, *, segments: Segments = 1, group: Group | None = None
    ) -> Any:
        """The layer with this process's part of a quantised linear layer's weights."""
        source = quantized_linear_layer
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer.group_size, layer.bits, layer.mode = source.group_size, source.bits, source.mode
        layer.group = group or mx.distributed.init()
        layer._take(source, segments)
        return layer.freeze()


class QuantizedAllToShardedLinear(_QuantizedShardedLinear):
    """An :class:`AllToShardedLinear` with quantised weights."""

    _SHARDING = "all-to-sharded"

    def __call__(self, x: mx.array) -> mx.array:
        y = quantized_product(self, sum_gradients(self.group)(x))
        return y + self["bias"] if "bias" in self else y


class QuantizedShardedToAllLinear(_QuantizedShardedLinear):
    """A :class:`ShardedToAllLinear` with quantised weights."""

    _SHARDING = "sharded-to-all"

    def __call__(self, x: mx.array) -> mx.array:
        y = mx.distributed.all_sum(quantized_product(self, x), group=self.group)
        return y + self["bias"] if "bias" in self else y


class FullyShardedModule(Module):
    """A module whose parameters are divided among the processes and gathered when it is called.

    With ``compute_dtype`` it computes with parameters cast to that type, while those it keeps have their own.
    """

    def __init__(self, module: Module, group: Group | None = None, compute_dtype: mx.Dtype | None = None) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise AttributeError(f"[FullyShardedModule] Expected a module, not {type(module).__name__}.")
        self.module = module
        self.group = group or mx.distributed.init()
        self.compute_dtype = compute_dtype

    def _extra_repr(self) -> str:
        local = self.module.filter_and_map(lambda m, k, v: isinstance(v, mx.array) and m.valid_parameter_filter(m, k, v))
        return f"num_sharded_params={len(local)}"

    def _gathered_call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.compute_dtype is None:
            return fn(*args, **kwargs)
        kept = self.module.parameters()
        try:
            self.module.set_dtype(self.compute_dtype)
            return fn(*args, **kwargs)
        finally:
            self.module.update(kept)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._gathered_call(self.module, *args, **kwargs)

    def as_linear(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own ``as_linear``, with gathered parameters."""
        return self._gathered_call(self.module.as_linear, *args, **kwargs)


def fully_shard(module: Module, *, group: Group | None = None, compute_dtype: mx.Dtype | None = None) -> Module:
    """Divides the parameters of a module among the group; with one process, the module itself."""
    return module
