"""LoRA: a small Llama that has learnt a story learns recipes, by small matrices beside its frozen weights.

    python examples/python/lora_llama.py [--seed N] [--capture step.pltrace]
"""

from __future__ import annotations

import math

import common
import pellucid.core as mx
import pellucid.nn as nn
import pellucid.optimizers as optim
from llama import Llama, continued, loss_of, pieces, windows
from pellucid.utils import tree_flatten

BASE_STEPS, LORA_STEPS, BATCH, LENGTH, RANK = 120, 100, 8, 40, 8


class LoRALinear(nn.Module):
    """A linear layer that stays as it is, plus the product of two thin matrices, which learns."""

    def __init__(self, linear: nn.Linear, rank: int = RANK, scale: float = 4.0) -> None:
        super().__init__()
        outputs, inputs = linear.weight.shape
        self.linear, self.scale = linear, scale
        bound = 1 / math.sqrt(inputs)
        self.lora_a = mx.random.uniform(-bound, bound, (inputs, rank))
        # Zeros: before the first step the model is the one it was.
        self.lora_b = mx.zeros((rank, outputs))

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear(x) + self.scale * ((x @ self.lora_a) @ self.lora_b)

    def fused(self) -> nn.Linear:
        """The ordinary layer that computes the same."""
        outputs, inputs = self.linear.weight.shape
        made = nn.Linear(inputs, outputs, bias=False)
        made.weight = self.linear.weight + self.scale * (self.lora_a @ self.lora_b).T
        return made


def train(model: Llama, text: mx.array, steps: int, rate: float, what: str, capture: str | None = None) -> None:
    optimizer = optim.Adam(optim.cosine_decay(rate, steps))
    loss_and_grad = nn.value_and_grad(model, lambda tokens: loss_of(model, tokens))
    state = [model.state, optimizer.state]

    def step(tokens: mx.array) -> mx.array:
        loss, grads = loss_and_grad(tokens)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(step, inputs=state, outputs=state)
    bar = common.Bar(what, steps)
    for _ in range(steps):
        loss = compiled(windows(text, BATCH, LENGTH))
        mx.eval(loss, state)
        bar.advance(f"loss {loss.item():.3f}")
    with common.captured(capture):
        if capture:
            mx.eval(step(windows(text, BATCH, LENGTH)), state)


def main() -> tuple[float, float]:
    chosen = common.arguments("LoRA on a small Llama.")
    story, known = common.characters("lighthouse.txt")
    recipes, _ = common.characters("recipes.txt")
    lines = pieces(recipes, LENGTH)
    model = Llama(len(known))
    train(model, story, BASE_STEPS, 5e-3, "story")
    before = loss_of(model, lines).item()

    model.freeze()
    for block in model.layers:
        for part, names in ((block.self_attn, "q_proj k_proj v_proj o_proj"), (block.mlp, "gate_proj up_proj down_proj")):
            for name in names.split():
                layer = LoRALinear(getattr(part, name))
                layer.linear.freeze()
                setattr(part, name, layer)
    learning, all_of_it = (sum(v.size for _, v in tree_flatten(tree)) for tree in (model.trainable_parameters(), model.parameters()))
    print(f"{learning} of {all_of_it} parameters learn")
    train(model, recipes, LORA_STEPS, 5e-3, "recipes", chosen.capture)
    after = loss_of(model, lines).item()

    with_lora = model(lines)
    for block in model.layers:
        for part in (block.self_attn, block.mlp):
            part.update_modules({name: layer.fused() for name, layer in part.children().items() if isinstance(layer, LoRALinear)})
    difference = mx.abs(model(lines) - with_lora).max().item()
    print(f"fused into the weights, the outputs differ by {difference:.1e}")

    prompt = "bread: take "
    written = continued(model, mx.array([known.index(c) for c in prompt]), LENGTH - len(prompt))
    print(prompt + "".join(known[token] for token in written))
    print(f"loss {before:.4f} to {after:.4f}")
    return before, after


if __name__ == "__main__":
    main()
