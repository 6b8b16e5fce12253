"""Random numbers: a key gives the same ones as in mlx, and so does a seed."""

import numpy as np

from differ.values import FLOATS, INTEGERS, Arr, Dt, call, random, rng


def key(seed):
    """A key as an array, as `random.key` makes it."""
    return Arr(np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32), "uint32")


def keys():
    for seed in (0, 1, 42, 2**31, 2**32 + 7, 2**63, 2**64 - 1):
        yield call("random.key", seed)
    yield call("random.key", -1)
    yield call("random.key", 1.5)
    for number in (1, 2, 3, 7):
        yield call("random.split", key(number), number)
    yield call("random.split", key(5))
    yield call("random.split", Arr(np.array([1], np.uint32), "uint32"))


def distributions():
    for seed in (1, 2**40 + 3):
        for shape in ((), (3,), (2, 5), (4, 4, 3), [7], (0, 2)):
            for name in ("uniform", "normal", "gumbel", "laplace"):
                yield call("random." + name, shape=shape, key=key(seed))
            yield call("random.bernoulli", 0.3, shape, key=key(seed))
            yield call("random.randint", -5, 9, shape, key=key(seed))
            yield call("random.truncated_normal", -1.0, 2.0, shape, key=key(seed))
        for dtype in FLOATS:
            for name in ("uniform", "normal", "gumbel", "laplace"):
                yield call("random." + name, shape=(2, 3), dtype=Dt(dtype), key=key(seed))
            yield call("random.truncated_normal", -1.0, 2.0, (2, 3), Dt(dtype), key=key(seed))
        for dtype in INTEGERS:
            yield call("random.randint", 0, 9, (5,), Dt(dtype), key=key(seed))
    yield call("random.uniform", -2, 5, (3, 3), key=key(9))
    yield call("random.normal", (4,), loc=2.0, scale=0.5, key=key(9))
    yield call("random.laplace", (4,), loc=2.0, scale=0.5, key=key(9))
    g = rng("random")
    yield call("random.uniform", random(g, "float32", (3,), low=-2, high=0), random(g, "float32", (3,), low=1, high=2), (2, 3), key=key(3))
    yield call("random.normal", (2, 3), loc=random(g, "float32", (3,)), scale=random(g, "float32", (2, 1), low=1, high=2), key=key(3))
    yield call("random.bernoulli", random(g, "float32", (3, 4), low=0, high=1), key=key(4))
    yield call("random.bernoulli", key=key(4))
    yield call("random.randint", random(g, "int32", (3,), low=-9, high=-5), random(g, "int32", (3,), low=5, high=9), (2, 3), key=key(3))


def choices():
    g = rng("random.categorical")
    logits = random(g, "float32", (3, 6))
    yield call("random.categorical", logits, key=key(1))
    yield call("random.categorical", logits, axis=0, key=key(1))
    yield call("random.categorical", logits, num_samples=5, key=key(2))
    yield call("random.categorical", logits, shape=(4, 3), key=key(2))
    yield call("random.categorical", logits, shape=(4, 3), num_samples=2, key=key(2))
    yield call("random.categorical", logits, axis=4, key=key(2))
    row = random(g, "float32", (1, 40))
    flat, column = Arr(row.data[0], "float32"), Arr(row.data.T.copy(), "float32")
    impossible = Arr(np.full((1, 5), -np.inf, np.float32), "float32")
    for seed in range(4):
        yield call("random.categorical", row, key=key(seed))
        yield call("random.categorical", flat, key=key(seed))
        yield call("random.categorical", row, num_samples=3, key=key(seed))
        yield call("random.categorical", column, axis=0, shape=(2, 1), key=key(seed))
        yield call("random.categorical", impossible, key=key(seed))
    for x in (10, random(g, "int32", (7,)), random(g, "float32", (4, 3))):
        yield call("random.permutation", x, key=key(6))
    yield call("random.permutation", random(g, "float32", (4, 3)), axis=1, key=key(6))
    yield call("random.permutation", random(g, "float32", (4, 3)), axis=2, key=key(6))
    yield call("random.permutation", "x", key=key(6))


def seeded():
    """The state that `seed` sets is advanced in the same way."""
    for seed in (0, 7, 2**33):
        yield call("seeded", seed)


def refused():
    yield call("random.uniform", shape="x")
    yield call("random.uniform", shape=(2, 3), dtype=Dt("int32"), key=key(1))
    yield call("random.normal", shape=(2, 3), dtype=Dt("int32"), key=key(1))
    yield call("random.randint", 0, 5, (2,), Dt("float32"), key=key(1))
    yield call("random.randint", 0, 5, (2,), Dt("bool"), key=key(1))
    yield call("random.uniform", shape=(2, -3), key=key(1))
    yield call("random.uniform", shape=(2, 3), key=Arr(np.array([1.0, 2.0], np.float32), "float32"))
    yield call("random.uniform", Arr(np.zeros((4,), np.float32), "float32"), 1, (2, 3), key=key(1))
    yield call("random.bernoulli", Arr(np.zeros((4,), np.float32), "float32"), (2, 3), key=key(1))
    yield call("random.bernoulli", 1j, (2, 3), key=key(1))
    yield call("random.truncated_normal", shape=(2,), key=key(1))


def cases():
    yield from keys()
    yield from distributions()
    yield from choices()
    yield from seeded()
    yield from refused()
