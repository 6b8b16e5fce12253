"""A small Llama: the language model of two examples."""

from __future__ import annotations

from typing import Any

import pellucid.core as mx
import pellucid.nn as nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(width, width, bias=False))
        self.rope = nn.RoPE(width // heads)

    def __call__(self, x: mx.array, cache: Cache | None) -> mx.array:
        q, k, v = (
            mx.unflatten(project(x), -1, (self.heads, -1)).swapaxes(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        offset = cache.offset if cache else 0
        q, k = self.rope(q, offset), self.rope(k, offset)
        if cache is not None:
            k, v = cache.extended(k, v)
        mask = "causal" if x.shape[1] > 1 else None
        out = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale, mask=mask)
        return self.o_proj(out.swapaxes(1, 2).flatten(-2))


class MLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(nn.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(width, heads), MLP(width, 3 * width)
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width), nn.RMSNorm(width)

    def __call__(self, x: mx.array, cache: Cache | None) -> mx.array:
        x = x + self.self_attn(self.input_layernorm(x), cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Cache:
    """The keys and values of what was read already."""

    def __init__(self) -> None:
        self.offset = 0
        self.kept: tuple[mx.array, mx.array] | None = None

    def extended(self, k: mx.array, v: mx.array) -> tuple[mx.array, mx.array]:
        if self.kept is not None:
            k, v = (mx.concatenate(pair, axis=2) for pair in zip(self.kept, (k, v)))
        self.kept, self.offset = (k, v), k.shape[2]
        return k, v


class Llama(nn.Module):
    def __init__(self, vocabulary: int, width: int = 48, heads: int = 3, layers: int = 2) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, width)
        self.layers = [Block(width, heads) for _ in range(layers)]
        self.norm = nn.RMSNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def __call__(self, tokens: mx.array, caches: list[Cache] | None = None) -> mx.array:
        x = self.embed_tokens(tokens)
        for layer, cache in zip(self.layers, caches or [None] * len(self.layers)):
            x = layer(x, cache)
        return self.lm_head(self.norm(x))


def loss_of(model: Any, tokens: mx.array) -> mx.array:
    """How badly each token is foretold from those before it."""
    return nn.losses.cross_entropy(model(tokens[:, :-1]), tokens[:, 1:], reduction="mean")


def windows(text: mx.array, count: int, length: int) -> mx.array:
    """``count`` random pieces of the text."""
    starts = mx.random.randint(0, len(text) - length, (count, 1))
    return text[starts + mx.arange(length + 1)]


def pieces(text: mx.array, length: int) -> mx.array:
    """The whole text in pieces that follow one another; what fills none at the end is left out."""
    count = len(text) // (length + 1)
    return text[: count * (length + 1)].reshape(count, length + 1)


def continued(model: Llama, prompt: mx.array, count: int, temperature: float = 0.0) -> list[int]:
    """What the model writes after the prompt."""
    caches = [Cache() for _ in model.layers]
    tokens, given = [], prompt[None]
    for _ in range(count):
        logits = model(given, caches)[:, -1]
        given = (mx.random.categorical(logits / temperature) if temperature else logits.argmax(axis=-1))[:, None]
        tokens.append(given.item())
    return tokens
