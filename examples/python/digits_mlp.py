"""A network of three linear layers that reads handwritten digits.

    python examples/python/digits_mlp.py [--seed N] [--capture step.pltrace]
"""

from __future__ import annotations

import common
import pellucid.core as mx
import pellucid.nn as nn
import pellucid.optimizers as optim

EPOCHS, BATCH, NOISE = 20, 64, 0.15


class MLP(nn.Module):
    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        self.layers = [nn.Linear(64, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 10)]

    def __call__(self, x: mx.array) -> mx.array:
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = nn.relu(layer(x))
        return self.layers[-1](x)


def main() -> float:
    chosen = common.arguments("An MLP on handwritten digits.")
    images, labels, test_images, test_labels = common.digits()
    model = MLP()
    steps = EPOCHS * (len(labels) // BATCH)
    optimizer = optim.AdamW(optim.cosine_decay(3e-3, steps), weight_decay=0.01)

    def loss_of(x: mx.array, y: mx.array) -> mx.array:
        # Pixels that are never twice the same and labels that are never quite certain: less is learnt by heart.
        x = x + NOISE * mx.random.normal(x.shape)
        return nn.losses.cross_entropy(model(x), y, label_smoothing=0.1, reduction="mean")

    loss_and_grad = nn.value_and_grad(model, loss_of)
    # The noise is random, so the state of the random numbers belongs to what a step changes.
    state = [model.state, optimizer.state, mx.random.state]

    def step(x: mx.array, y: mx.array) -> mx.array:
        loss, grads = loss_and_grad(x, y)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(step, inputs=state, outputs=state)
    bar = common.Bar("MLP", EPOCHS)
    for epoch in range(EPOCHS):
        for batch in common.batches(len(labels), BATCH):
            loss = compiled(images[batch], labels[batch])
            mx.eval(loss, state)
        bar.advance(f"loss {loss.item():.4f}")
    accuracy = (model(test_images).argmax(axis=1) == test_labels).astype(mx.float32).mean().item()
    with common.captured(chosen.capture):
        mx.eval(step(images[:BATCH], labels[:BATCH]), state)
    print(f"accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
