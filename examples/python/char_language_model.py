"""A language model of characters that learns a short story by heart.

    python examples/python/char_language_model.py [--seed N] [--capture step.pltrace]
"""

from __future__ import annotations

import common
import pellucid.core as mx
import pellucid.nn as nn
import pellucid.optimizers as optim
from llama import Llama, continued, loss_of, windows

STEPS, BATCH, LENGTH = 200, 8, 40


def main() -> float:
    chosen = common.arguments("A language model of characters.")
    text, known = common.characters("lighthouse.txt")
    model = Llama(len(known))
    warmup = optim.linear_schedule(1e-4, 5e-3, steps=20)
    optimizer = optim.AdamW(optim.join_schedules([warmup, optim.cosine_decay(5e-3, STEPS - 20, 1e-4)], [20]), weight_decay=0.01)
    loss_and_grad = nn.value_and_grad(model, lambda tokens: loss_of(model, tokens))
    state = [model.state, optimizer.state]

    def step(tokens: mx.array) -> mx.array:
        loss, grads = loss_and_grad(tokens)
        grads, _ = optim.clip_grad_norm(grads, 1.0)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(step, inputs=state, outputs=state)
    bar = common.Bar("language model", STEPS)
    for number in range(STEPS):
        loss = compiled(windows(text, BATCH, LENGTH))
        mx.eval(loss, state)
        bar.advance(f"loss {loss.item():.3f}")
    prompt = "The keeper "
    written = continued(model, mx.array([known.index(c) for c in prompt]), LENGTH - len(prompt), temperature=0.3)
    with common.captured(chosen.capture):
        mx.eval(step(windows(text, BATCH, LENGTH)), state)
    print(prompt + "".join(known[token] for token in written))
    print(f"loss {loss.item():.4f}")
    return loss.item()


if __name__ == "__main__":
    main()
