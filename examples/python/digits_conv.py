"""A convolutional network that reads handwritten digits.

    python examples/python/digits_conv.py [--seed N] [--capture step.pltrace]
"""

from __future__ import annotations

import common
import pellucid.core as mx
import pellucid.nn as nn
import pellucid.optimizers as optim

EPOCHS, BATCH = 8, 64


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(4 * 32, 10))

    def __call__(self, x: mx.array) -> mx.array:
        return self.classifier(self.features(x[..., None]).flatten(1))


def main() -> float:
    chosen = common.arguments("A convolutional network on handwritten digits.")
    images, labels, test_images, test_labels = common.digits()
    model = ConvNet()
    steps = EPOCHS * (len(labels) // BATCH)
    optimizer = optim.AdamW(optim.cosine_decay(1e-2, steps), weight_decay=0.01)
    loss_and_grad = nn.value_and_grad(model, lambda x, y: nn.losses.cross_entropy(model(x), y, reduction="mean"))
    # Dropout draws random numbers, so their state belongs to what a step changes.
    state = [model.state, optimizer.state, mx.random.state]

    def step(x: mx.array, y: mx.array) -> mx.array:
        loss, grads = loss_and_grad(x, y)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(step, inputs=state, outputs=state)
    bar = common.Bar("convolutions", EPOCHS)
    for epoch in range(EPOCHS):
        for batch in common.batches(len(labels), BATCH):
            loss = compiled(images[batch], labels[batch])
            mx.eval(loss, state)
        bar.advance(f"loss {loss.item():.4f}")
    model.eval()
    accuracy = (model(test_images).argmax(axis=1) == test_labels).astype(mx.float32).mean().item()
    model.train()
    with common.captured(chosen.capture):
        mx.eval(step(images[:BATCH], labels[:BATCH]), state)
    print(f"accuracy {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    main()
