"""Layers whose weights are stored in few bits. `quantize` turns the layers of a model into them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.nn.layers.base import Module
from pellucid.utils import tree_map_with_path

#: Elements that share a scale, and bits of an element, where they are not given.
_DEFAULTS = {"affine": (64, 4), "mxfp4": (32, 4), "nvfp4": (16, 4), "mxfp8": (32, 8)}


def _settings(mode: str, group_size: int | None, bits: int | None) -> tuple[int, int]:
    if mode not in _DEFAULTS:
        raise ValueError(f"[quantize] mode must be one of {', '.join(_DEFAULTS)}, but is {mode!r}.")
    default_group, default_bits = _DEFAULTS[mode]
    return group_size or default_group, bits or default_bits


def quantize(
    model: Module,
    group_size: int | None = None,
    bits: int | None = None,
    *,
    mode: str = "affine",
    quantize_input: bool = False,
    class_predicate: Callable[[str, Module], bool | dict[str, Any]] | None = None,
) -> None:
    """Replaces the layers of ``model`` that have a ``to_quantized`` by what it returns.

    ``class_predicate`` gets the path and the layer and says which: it may return the arguments of ``to_quantized``
    instead of True.
    """
    wanted = class_predicate or (lambda path, module: hasattr(module, "to_quantized"))

    def replaced(path: str, module: Any) -> Any:
        # Places without a module hold an empty dictionary, as in every tree of modules.
        if not isinstance(module, Module) or not (answer := wanted(path, module)):
            return module
        if not hasattr(module, "to_quantized"):
            raise ValueError(f"[quantize] {path} is a {type(module).__name__}, which cannot be quantized.")
        if isinstance(answer, dict):
            return module.to_quantized(**answer)
        if not isinstance(answer, bool):
            raise ValueError(f"[quantize] class_predicate must return a bool or a dictionary, not {type(answer).__name__}.")
        arguments: dict[str, Any] = {"group_size": group_size, "bits": bits, "mode": mode}
        if quantize_input:
            arguments["quantize_input"] = True
        return module.to_quantized(**arguments)

    leaves = tree_map_with_path(replaced, model.leaf_modules(), is_leaf=Module.is_module)
    model.update_modules(leaves)


def set_quantized(module: Module, weight: mx.array) -> None:
    """Puts the quantised form of ``weight`` into a module that has ``group_size``, ``bits`` and ``mode``."""
    module.weight, module.scales, *biases = mx.quantize(weight, module.group_size, module.bits, mode=module.mode)
    if biases:
        module.biases = biases[0]


def quantized_product(module: Module, x: mx.array) -> mx.array:
    """``x @ weight.T`` of a module with quantised weights."""
    return mx.quantized_matmul(
        x,
        module["weight"],
        scales=module["scales"],
        biases=module.get("biases"),
        transpose=True,
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
    )


def quantized_repr(module: Module) -> str:
    """The settings, for the text of a linear layer."""
    outputs, packed = module.weight.shape
    sizes = f"input_dims={packed * 32 // module.bits}, output_dims={outputs}, bias={'bias' in module}"
    return f"{sizes}, group_size={module.group_size}, bits={module.bits}, mode={module.mode}"


class QuantizedEmbedding(Module):
    """An :class:`Embedding` whose rows are quantised; they are frozen."""

    def __init__(
        self, num_embeddings: int, dims: int, group_size: int | None = None, bits: int | None = None, mode: str = "affine"
    ) -> None:
        super().__init__()
        self.group_size, self.bits = _settings(mode, group_size, bits)
        self.mode = mode
        set_quantized(self, mx.random.normal(shape=(num_embeddings, dims), scale=math.sqrt(1 / dims)))
        self.num_embeddings = num_embeddings
        self.dims = dims
        self.freeze()

    def __call__(self, x: mx.array) -> mx.array:
        return mx.dequantize(
            self["weight"][x],
            scales=self["scales"][x],
            biases=self["biases"][x] if "biases" in self else None,
            group_size=self.group_size,
            bits=self.bits,
            mode=self.mode,
        )

    def as_linear(self, x: mx.array) -> mx.array:
        """``x @ weight.T``: the scores of all tokens, where input and output share their weights."""
        return quantized_product(self, x)

    def _extra_repr(self) -> str:
        settings = f"group_size={self.group_size}, bits={self.bits}, mode={self.mode}"
        return f"{self.num_embeddings}, {self.dims}, {settings}"

    @classmethod
    def from_embedding(
        cls, embedding_layer: Module, group_size: int | None = None, bits: int | None = None, mode: str = "affine"
    ) -> QuantizedEmbedding:
        """The quantised form of an embedding."""
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer.num_embeddings, layer.dims = embedding_layer.weight.shape
        layer.group_size, layer.bits = _settings(mode, group_size, bits)
        layer.mode = mode
        set_quantized(layer, embedding_layer.weight)
        return layer.freeze()


class QuantizedLinear(Module):
    """A :class:`Linear` whose weights are quantised; its parameters are frozen."""

    def __init__(
        self,
        input_dims: int,
        output_dims: int,
        bias: bool = True,
        group_size: int | None = None,
        bits: int | None = None,
        mode: str = "affine",
    ) -> None:
        super().__init__()
        self.group_size, self.bits = _settings(mode, group_size, bits)
        self.mode = mode
        scale = math.sqrt(1 / input_dims)
        set_quantized(self, mx.random.uniform(-scale, scale, (output_dims, input_dims)))
        if bias:
            self.bias = mx.zeros((output_dims,))
        self.freeze()

    def _extra_repr(self) -> str:
        return quantized_repr(self)

    def __call__(self, x: mx.array) -> mx.array:
        y = quantized_product(self, x)
        return y + self["bias"] if "bias" in self else y

    @classmethod
    def from_linear(
        cls, linear_layer: Module, group_size: int | None = None, bits: int | None = None, mode: str = "affine"
    ) -> QuantizedLinear:
        """The quantised form of a linear layer."""
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer.group_size, layer.bits = _settings(mode, group_size, bits)
        layer.mode = mode
        set_quantized(layer, linear_layer.weight)
        if "bias" in linear_layer:
            layer.bias = linear_layer.bias
        return layer.freeze()


class QQLinear(Module):
    """A linear layer without bias that quantises its input as well, in a mode of floating point.

    In training mode the weights are ordinary numbers; in that of evaluation they are stored quantised.
    """

    def __init__(
        self, input_dims: int, output_dims: int, group_size: int | None = None, bits: int | None = None, mode: str = "nvfp4"
    ) -> None:
        super().__init__()
        self.group_size, self.bits = _settings(mode, group_size, bits)
        self.mode = mode
        scale = math.sqrt(1 / input_dims)
        self.weight = mx.random.uniform(-scale, scale, (output_dims, input_dims))
        self._quantized = False

    def _extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        inputs = inputs * 32 // self.bits if self._quantized else inputs
        settings = f"group_size={self.group_size}, bits={self.bits}, mode={self.mode}"
        return f"input_dims={inputs}, output_dims={outputs}, {settings}"

    def quantize(self) -> None:
        """Stores the weights quantised."""
        if not self._quantized:
            set_quantized(self, self.weight)
            self._quantized = True

    def dequantize(self) -> None:
        """Makes ordinary numbers of weights that are quantised."""
        if self._quantized:
            self.weight = mx.dequantize(
                self.weight, scales=self.scales, group_size=self.group_size, bits=self.bits, mode=self.mode
            )
            del self.scales
            self._quantized = False

    def _set_training_mode(self, mode: bool) -> None:
        super()._set_training_mode(mode)
        if mode:
            self.dequantize()
        else:
            self.quantize()

    def __call__(self, x: mx.array) -> mx.array:
        return mx.qqmm(
            x, self["weight"], scales=self.get("scales"), group_size=self.group_size, bits=self.bits, mode=self.mode
        )

    @classmethod
    def from_linear(
        cls, linear_layer: Module, group_size: int | None = None, bits: int | None = None, mode: str = "nvfp4"
    ) -> QQLinear:
        """The form of a linear layer, which must have no bias, that quantises its input."""
        if "bias" in linear_layer:
            raise NotImplementedError("[QQLinear] A bias is not supported.")
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer.group_size, layer.bits = _settings(mode, group_size, bits)
        layer.mode = mode
        layer.weight = linear_layer.weight
        layer._quantized = False
        layer.train(linear_layer.training)
        return layer
