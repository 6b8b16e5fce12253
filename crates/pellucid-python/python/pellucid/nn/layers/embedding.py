"""Vectors for the numbers of tokens."""

from __future__ import annotations

import math

from pellucid import core as mx
from pellucid.nn.layers.base import Module
from pellucid.nn.layers.quantized import QuantizedEmbedding


class Embedding(Module):
    """The row of ``weight`` for each index; the rows begin normal with a deviation of one over the root of ``dims``."""

    def __init__(self, num_embeddings: int, dims: int) -> None:
        super().__init__()
        self.weight = mx.random.normal(shape=(num_embeddings, dims), scale=math.sqrt(1 / dims))

    def _extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"

    def __call__(self, x: mx.array) -> mx.array:
        return self["weight"][x]

    def as_linear(self, x: mx.array) -> mx.array:
        """``x @ weight.T``: the scores of all tokens, where input and output share their weights."""
        return x @ self["weight"].T

    def to_quantized(
        self, group_size: int | None = None, bits: int | None = None, mode: str = "affine", quantize_input: bool = False
    ) -> Module:
        """A :class:`QuantizedEmbedding` of these rows."""
        if quantize_input:
            raise ValueError("[Embedding] The input is a number of a row, which is not quantized.")
        return QuantizedEmbedding.from_embedding(self, group_size, bits, mode)
