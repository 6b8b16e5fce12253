"""Reductions, scans, sorting and searching."""

import numpy as np

from differ.values import (
    DTYPES, FLOATS, INF, INTEGERS, NAN, ORDERED, REALS, SOME, Arr, Dt, a_layout, call, distinct, random, rng, storage,
)

REDUCTIONS = "all any logsumexp max mean min minmax prod std sum var median count_nonzero".split()
METHODS = "all any logsumexp max mean min prod std sum var".split()
SCANS = "cummax cummin cumprod cumsum cumulative_prod cumulative_sum logcumsumexp".split()
SHAPES = [(), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)]
AXES = [None, 0, -1, (0, 1), [0, -1], ()]


def fits(axis, ndim):
    axes = [axis] if isinstance(axis, int) else list(axis or [])
    return all(-ndim <= a < ndim for a in axes) and len({a % max(ndim, 1) for a in axes}) == len(axes)


def reductions():
    for name in REDUCTIONS:
        g = rng(name)
        # A sum of several float16 elements is rounded after each addition by one package and at the end by another.
        for dtype in DTYPES:
            for shape in SHAPES:
                axis = AXES[int(g.integers(0, len(AXES)))]
                axis = axis if fits(axis, len(shape)) else None
                keep = {"keepdims": True} if g.random() < 0.4 else {}
                low, high = (1, 2) if name == "prod" else (-4, 4)
                yield call(name, random(g, dtype, shape, a_layout(g), low, high), axis=axis, **keep)
        for axis in AXES:
            yield call(name, random(g, "float32", (3, 4)), axis=axis)
            if name != "count_nonzero":
                yield call(name, random(g, "float32", (3, 4)), axis, True)
        yield call(name, Arr(np.array([[1, NAN, 2], [INF, 3, -INF]], np.float32), "float32"), axis=1)
        yield call(name, random(g, "float32", (5, 7)), axis=2)
        yield call(name, random(g, "float32", (5, 7)), axis=-3)
        yield call(name, random(g, "float32", (5, 7)), axis=(0, 0))
    for name in METHODS:
        g = rng("array." + name)
        for dtype in SOME:
            yield call("array." + name, random(g, dtype, (3, 4), a_layout(g), 1, 2))
            yield call("array." + name, random(g, dtype, (3, 4), a_layout(g), 1, 2), axis=-1, keepdims=True)
    for name in ("var", "std"):
        for ddof in (0, 1, 2):
            g = rng(name + "ddof")
            yield call(name, random(g, "float32", (4, 5)), axis=1, ddof=ddof)
            yield call("array." + name, random(g, "float32", (4, 5)), 1, False, ddof)


def empty_and_large():
    # Sums and products of nothing are not here: mlx may never return from them.
    for name in ("max", "min", "argmax", "argmin"):
        g = rng(name + "empty")
        yield call(name, random(g, "float32", (0,)))
        yield call(name, random(g, "float32", (2, 0, 3)), axis=1)
    for name in ("sum", "mean", "max", "logsumexp"):
        g = rng(name + "large")
        yield call(name, random(g, "float32", (100, 300), low=0, high=1))
        yield call(name, random(g, "float32", (100, 300), "transposed", 0, 1), axis=0)
        yield call(name, random(g, "int32", (1000,)))


def positions():
    for name in ("argmax", "argmin"):
        g = rng(name)
        for dtype in ORDERED:
            for axis in (None, 0, -1):
                yield call(name, distinct(g, dtype, (3, 4), a_layout(g)), axis=axis)
            yield call(name, distinct(g, dtype, (2, 3, 2), a_layout(g)), axis=1, keepdims=True)
            yield call("array." + name, distinct(g, dtype, (2, 3, 2)), 1)
        yield call(name, Arr(np.array([1, 3, 3, 1], np.int32), "int32"))
        yield call(name, random(g, "float32", (3,)), axis=1)


def scans():
    for name in SCANS:
        g = rng(name)
        dtypes = ORDERED if name.startswith(("cummax", "cummin", "log")) else DTYPES
        for dtype in dtypes:
            for reverse in (False, True):
                for inclusive in (False, True):
                    axis = [None, 0, 1, -1][int(g.integers(0, 4))]
                    low, high = (1, 2) if "prod" in name else (-4, 4)
                    a = random(g, dtype, (3, 4), a_layout(g), low, high)
                    yield call(name, a, axis=axis, reverse=reverse, inclusive=inclusive)
        yield call(name, random(g, "float32", (3,)), axis=1)
        yield call(name, random(g, "float32", (2, 3)), 0)
        if name in ("cumsum", "cumprod"):
            for target in ("int32", "float32", "int64"):
                yield call(name, random(g, "int8", (2, 3)), axis=1, dtype=Dt(target))
    for name in "cummax cummin cumprod cumsum logcumsumexp".split():
        g = rng("array." + name)
        yield call("array." + name, random(g, "float32", (3, 4), low=1, high=2), 1)
        yield call("array." + name, random(g, "int32", (3, 4), low=1, high=2), axis=0, reverse=True, inclusive=False)


def softmax_and_differences():
    g = rng("softmax")
    for dtype in ["int32", *FLOATS]:
        for axis in (None, 0, -1, (0, 1), [1]):
            yield call("softmax", random(g, dtype, (3, 4), a_layout(g)), axis=axis)
        yield call("softmax", random(g, dtype, (3, 4)), axis=-1, precise=True)
    yield call("softmax", Arr(np.array([[-INF, 0, 1], [-INF, -INF, 0]], np.float32), "float32"), axis=-1)
    yield call("softmax", random(g, "float32", (3,)), axis=1)
    g = rng("diff")
    for dtype in DTYPES:
        for n in (0, 1, 2, 3):
            yield call("diff", random(g, dtype, (3, 5), a_layout(g), 0, 9), n=n, axis=int(g.integers(-2, 2)))
    yield call("diff", random(g, "float32", (3, 5)), n=-1)
    yield call("diff", random(g, "float32", (3, 5)), axis=2)
    g = rng("trace")
    for dtype in DTYPES:
        yield call("trace", random(g, dtype, (3, 4), a_layout(g)))
        yield call("trace", random(g, dtype, (2, 3, 4), a_layout(g)), 1, 0, 2)
    yield call("trace", random(g, "int32", (3, 3)), dtype=Dt("float32"))
    yield call("trace", random(g, "int32", (3,)))


def ordered_around(module, parts, kth, axis):
    """A partition leaves the order on both sides open; here both are sorted."""
    size = parts.shape[axis]
    kth = kth + size if kth < 0 else kth
    return module.concatenate([module.sort(p, axis=axis) for p in module.split(parts, [kth, kth + 1], axis=axis)], axis=axis)


def partitions():
    for dtype in REALS:
        g = rng("partition" + dtype)
        for kth, axis in ((0, -1), (2, 0), (-1, 1), (3, None)):
            a = distinct(g, dtype, (4, 5), a_layout(g))

            def whole(module, result, arguments, kth=kth, axis=axis):
                return ordered_around(module, result, kth, 0 if axis is None else axis)

            def taken(module, result, arguments, kth=kth, axis=axis):
                source = arguments[0].flatten() if axis is None else arguments[0]
                place = 0 if axis is None else axis
                return ordered_around(module, module.take_along_axis(source, result, place), kth, place)

            yield call("partition", a, kth, axis, after=whole)
            yield call("argpartition", a, kth, axis, after=taken)

            def in_order(module, result, arguments, axis=axis):
                return module.sort(result, axis=0 if axis is None else axis)

            if kth > 0:
                yield call("topk", a, kth, axis, after=in_order)
    for name in ("partition", "argpartition", "topk"):
        g = rng(name)
        yield call(name, random(g, "float32", (4,)), 9)
        yield call(name, random(g, "float32", (4,)), 1, 3)
        yield call(name, random(g, "float32", (4,)))


def sorting():
    for name in ("sort", "argsort"):
        g = rng(name)
        for dtype in ORDERED:
            for axis in (-1, 0, None, 1):
                a = distinct(g, dtype, (4, 6), a_layout(g))
                if dtype == "bool" and name == "argsort":
                    continue
                yield call(name, a, axis=axis)
        yield call(name, distinct(g, "int32", (300,)))
        yield call(name, distinct(g, "float32", (5, 0, 2)), axis=0)
        yield call(name, random(g, "float32", (3,)), axis=1)
        yield call(name, distinct(g, "float32", (2, 3)), 0)
    g = rng("sort of special")
    for dtype in FLOATS:
        yield call("sort", Arr(np.array([3, NAN, -INF, 0, INF, 1], storage(dtype)), dtype))
    for name in ("searchsorted",):
        for dtype in ("int32", "float32", "float16", *INTEGERS[:2]):
            for side in ("left", "right"):
                ordered = Arr(np.array([0, 1, 1, 3, 5], storage(dtype)), dtype)
                yield call(name, ordered, random(g, dtype, (2, 4), low=0, high=6), side=side)
        yield call(name, Arr(np.array([0.0, 1.0], np.float32), "float32"), random(g, "float32", (3,)), side="middle")


def cases():
    yield from reductions()
    yield from empty_and_large()
    yield from positions()
    yield from scans()
    yield from softmax_and_differences()
    yield from partitions()
    yield from sorting()
