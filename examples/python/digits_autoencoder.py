"""An autoencoder that squeezes the 64 pixels of a digit into 8 numbers and draws the digit from them.

    python examples/python/digits_autoencoder.py [--seed N] [--capture step.pltrace]
"""

from __future__ import annotations

import common
import pellucid.core as mx
import pellucid.nn as nn
import pellucid.optimizers as optim

EPOCHS, BATCH = 30, 64


class Autoencoder(nn.Module):
    def __init__(self, code: int = 8, hidden: int = 96) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.GELU(), nn.Linear(hidden, code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.GELU(), nn.Linear(hidden, 64))

    def __call__(self, x: mx.array) -> mx.array:
        return mx.sigmoid(self.decoder(self.encoder(x)))


def drawn(image: mx.array) -> list[str]:
    """An image as lines of characters."""
    return ["".join(" .:*#"[min(int(v * 5), 4)] * 2 for v in row) for row in image.reshape(8, 8).tolist()]


def main() -> float:
    chosen = common.arguments("An autoencoder of handwritten digits.")
    images, _, test, _ = common.digits()
    images, test = images.flatten(1), test.flatten(1)
    model = Autoencoder()
    steps = EPOCHS * (len(images) // BATCH)
    optimizer = optim.Adam(optim.cosine_decay(5e-3, steps))
    loss_and_grad = nn.value_and_grad(model, lambda x: nn.losses.mse_loss(model(x), x))
    state = [model.state, optimizer.state]

    def step(x: mx.array) -> mx.array:
        loss, grads = loss_and_grad(x)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(step, inputs=state, outputs=state)
    bar = common.Bar("autoencoder", EPOCHS)
    for epoch in range(EPOCHS):
        for batch in common.batches(len(images), BATCH):
            loss = compiled(images[batch])
            mx.eval(loss, state)
        bar.advance(f"loss {loss.item():.4f}")
    # What is left unexplained, as a part of what the images differ by from the mean image.
    error = (mx.square(model(test) - test).mean() / mx.square(test - images.mean(axis=0)).mean()).item()
    with common.captured(chosen.capture):
        mx.eval(step(images[:BATCH]), state)
    for before, after in zip(drawn(test[3]), drawn(model(test[3:4]))):
        print(before, "|", after)
    print(f"explained {1 - error:.4f}")
    return 1 - error


if __name__ == "__main__":
    main()
