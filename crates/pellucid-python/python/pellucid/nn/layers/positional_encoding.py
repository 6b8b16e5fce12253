"""Ways to tell a model where in a sequence an element is."""

from __future__ import annotations

import math

from pellucid import core as mx
from pellucid.nn.layers.base import Module


class RoPE(Module):
    """Rotates pairs of the first ``dims`` features by angles that grow with the position (see ``mx.fast.rope``)."""

    def __init__(self, dims: int, traditional: bool = False, base: float = 10000, scale: float = 1.0) -> None:
        super().__init__()
        self.dims = dims
        self.traditional = traditional
        self.base = base
        self.scale = scale

    def _extra_repr(self) -> str:
        return f"{self.dims}, traditional={self.traditional}"

    def __call__(self, x: mx.array, offset: int = 0) -> mx.array:
        return mx.fast.rope(
            x, self.dims, traditional=self.traditional, base=self.base, scale=self.scale, offset=offset
        )


class SinusoidalPositionalEncoding(Module):
    """Sines and cosines of the position with ``dims / 2`` frequencies from ``max_freq`` down to ``min_freq``."""

    def __init__(
        self,
        dims: int,
        min_freq: float = 0.0001,
        max_freq: float = 1,
        scale: float | None = None,
        cos_first: bool = False,
        full_turns: bool = False,
    ) -> None:
        super().__init__()
        share = 1 - mx.arange(0, dims // 2) / (dims // 2 - 1)
        low, high = math.log(min_freq), math.log(max_freq)
        # The underscore keeps the frequencies out of the parameters.
        self._sigmas = mx.exp(share * (high - low) + low)
        if full_turns:
            self._sigmas = self._sigmas * (2 * math.pi)
        self.scale = scale or (2 / dims) ** 0.5
        self.cos_first = cos_first

    def __call__(self, x: mx.array) -> mx.array:
        angles = x[..., None] * self._sigmas
        parts = [mx.cos(angles), mx.sin(angles)] if self.cos_first else [mx.sin(angles), mx.cos(angles)]
        y = mx.concatenate(parts, axis=-1)
        return y * self.scale if self.scale != 1 else y


class ALiBi(Module):
    """Subtracts from attention scores ``(N, heads, queries, keys)`` the distance times a slope for each head."""

    @staticmethod
    def create_alibi_matrix(
        q_sequence_length: int,
        k_sequence_length: int,
        num_heads: int,
        offset: int = 0,
        dtype: mx.Dtype = mx.float32,
    ) -> mx.array:
        """What is added to the scores of the queries from ``offset`` on."""
        queries = mx.arange(offset, q_sequence_length)
        keys = mx.arange(0, k_sequence_length)
        distance = -mx.abs(mx.expand_dims(queries[:, None] - keys[None, :], axis=(0, 1)))
        return (distance * ALiBi.create_alibi_slope(num_heads=num_heads)).astype(dtype)

    @staticmethod
    def create_alibi_slope(num_heads: int, dtype: mx.Dtype = mx.float32) -> mx.array:
        """The slopes: powers of the ``num_heads``-th root of 1/256."""
        root = (2**8) ** (1 / num_heads)
        slopes = mx.power(root, -mx.arange(1, num_heads + 1, dtype=dtype))
        return mx.expand_dims(slopes, axis=(-1, -2))

    def __call__(self, attention_scores: mx.array, offset: int = 0, mask: mx.array | None = None) -> mx.array:
        added = self.create_alibi_matrix(
            q_sequence_length=attention_scores.shape[-2] + offset,
            k_sequence_length=attention_scores.shape[-1],
            num_heads=attention_scores.shape[1],
            offset=offset,
            dtype=attention_scores.dtype,
        )
        return attention_scores + (added if mask is None else added + mask)
