"""Fused operations: normalisations, rotary positions, attention, cross entropy, the gated delta rule."""

import numpy as np

from differ.values import INF, Arr, a_layout, call, random, rng

TYPES = ["float32", "float16", "bfloat16"]


def norms():
    g = rng("fast.layer_norm")
    for dtype in TYPES:
        for shape in ((3, 8), (2, 3, 31), (5,), (2, 130)):
            x = random(g, dtype, shape, a_layout(g))
            w, b = random(g, dtype, shape[-1:]), random(g, dtype, shape[-1:])
            for weight, bias in ((w, b), (w, None), (None, b), (None, None)):
                yield call("fast.layer_norm", x, weight, bias, 1e-5)
            for weight in (w, None):
                yield call("fast.rms_norm", x, weight, 1e-5)
    x = random(g, "float32", (2, 4))
    for name, more in (("fast.layer_norm", (None,)), ("fast.rms_norm", ())):
        yield call(name, x, random(g, "float32", (5,)), *more, 1e-5)
        yield call(name, x, random(g, "float32", (1, 4)), *more, 1e-5)
        yield call(name, random(g, "float32", ()), None, *more, 1e-5)
        yield call(name, random(g, "int32", (2, 4)), None, *more, 1e-5)
        yield call(name, random(g, "float16", (2, 4)), random(g, "float32", (4,)), *more, 1e-5)
        yield call(name, random(g, "float32", (0, 4)), None, *more, 1e-5)


def rope():
    g = rng("fast.rope")
    for dtype in TYPES:
        for traditional in (False, True):
            for shape, dims in (((2, 3, 8), 8), ((1, 2, 4, 16), 8), ((2, 1, 1, 6), 6)):
                for base, scale, offset in ((10000.0, 1.0, 0), (1e6, 0.5, 7)):
                    yield call("fast.rope", random(g, dtype, shape, a_layout(g)), dims, traditional=traditional, base=base,
                               scale=scale, offset=offset)
    x = random(g, "float32", (2, 3, 8))
    plain = {"traditional": False, "base": 10000.0, "scale": 1.0, "offset": 0}
    offsets = lambda *values: Arr(np.array(values, np.int32), "int32")  # noqa: E731
    yield call("fast.rope", x, 8, **{**plain, "offset": offsets(3, 40)})
    yield call("fast.rope", x, 8, **{**plain, "offset": offsets(1, 2, 3)})
    yield call("fast.rope", x, 8, **{**plain, "offset": random(g, "float32", ())})
    yield call("fast.rope", x, 8, **{**plain, "base": None}, freqs=random(g, "float32", (4,), low=1, high=9))
    yield call("fast.rope", x, 8, **{**plain, "base": None}, freqs=random(g, "float32", (3,), low=1, high=9))
    yield call("fast.rope", x, 8, **plain, freqs=random(g, "float32", (4,)))
    yield call("fast.rope", x, 8, **{**plain, "base": None})
    for dims in (0, -2, 3, 10):
        yield call("fast.rope", x, dims, **plain)
    yield call("fast.rope", random(g, "float32", (3, 8)), 8, **plain)
    yield call("fast.rope", random(g, "int32", (2, 3, 8)), 8, **plain)


def attention():
    name = "fast.scaled_dot_product_attention"
    g = rng(name)
    for dtype in TYPES:
        for batch, heads, shared, queries, keys, depth in ((1, 2, 2, 4, 4, 8), (2, 4, 1, 3, 7, 16), (1, 8, 2, 1, 43, 8), (1, 1, 1, 6, 4, 8)):
            q = random(g, dtype, (batch, heads, queries, depth), a_layout(g), -1, 1)
            k = random(g, dtype, (batch, shared, keys, depth), a_layout(g), -1, 1)
            v = random(g, dtype, (batch, shared, keys, depth), low=-1, high=1)
            additive = random(g, dtype, (queries, keys), low=-2, high=0)
            chosen = random(g, "bool", (batch, 1, queries, keys))
            for mask in (None, "causal", additive, chosen):
                yield call(name, q, k, v, scale=0.3, mask=mask)
            yield call(name, q, k, v, scale=0.3, sinks=random(g, dtype, (heads,), low=-1, high=1))
    q, k = random(g, "float32", (1, 2, 3, 8)), random(g, "float32", (1, 2, 5, 8))
    hidden = np.zeros((3, 5), np.float32)
    hidden[:, 2:] = -INF
    yield call(name, q, k, k, scale=0.3, mask=Arr(hidden, "float32"))
    yield call(name, q, k, k, scale=0.3, mask=Arr(np.array(True), "bool"))
    yield call(name, q, k, k, scale=0.3, mask=Arr(np.zeros((3, 5), bool), "bool"))
    for wrong in ("other", random(g, "float32", (3, 4)), random(g, "float32", (1, 1, 1, 3, 5))):
        yield call(name, q, k, k, scale=0.3, mask=wrong)
    yield call(name, q, k, k, scale=0.3, sinks=random(g, "float32", (3,)))
    yield call(name, q, random(g, "float32", (1, 2, 5, 4)), k, scale=0.3)
    yield call(name, random(g, "float32", (1, 3, 3, 8)), k, k, scale=0.3)
    yield call(name, random(g, "float32", (2, 3, 8)), k, k, scale=0.3)
    yield call(name, *(random(g, "int32", (1, 2, 3, 8)) for _ in range(3)), scale=0.3)
    half = [random(g, "float16", (1, 2, 3, 8)) for _ in range(3)]
    yield call(name, *half, scale=0.3, mask=random(g, "float32", (3, 3)))


def others():
    g = rng("fast.cross_entropy")
    for dtype in TYPES:
        logits = random(g, dtype, (3, 4, 9), a_layout(g))
        yield call("fast.cross_entropy", logits, Arr(g.integers(0, 9, (3, 4)).astype(np.int32), "int32"))
    logits = random(g, "float32", (2, 3))
    yield call("fast.cross_entropy", logits, Arr(np.array([0, 1, 2], np.int32), "int32"))
    yield call("fast.cross_entropy", logits, random(g, "float32", (2,)))
    yield call("fast.cross_entropy", random(g, "int32", (2, 3)), Arr(np.array([0, 1], np.int32), "int32"))
    name = "fast.gated_delta_update"
    for dtype in ("float32", "bfloat16"):
        q, k = (random(g, dtype, (2, 5, 1, 8), low=-0.5, high=0.5) for _ in range(2))
        v = random(g, dtype, (2, 5, 2, 6), low=-1, high=1)
        gamma, beta = (random(g, dtype, (2, 5, 2), low=0, high=1) for _ in range(2))
        yield call(name, q, k, v, gamma, beta)
        yield call(name, q, k, v, gamma, beta, random(g, "float32", (2, 2, 6, 8), low=-1, high=1))
        yield call(name, q, k, v, gamma, beta, mask=random(g, "bool", (2, 5)))


def cases():
    yield from norms()
    yield from rope()
    yield from attention()
    yield from others()
