"""Reading and writing parts of arrays. Indices are always in range: mlx does not check them, and may end the process."""

import numpy as np

from differ.values import DTYPES, SOME, Arr, a_layout, a_shape, call, random, rng

S = slice


def indices(g, size, shape, dtype="int32"):
    low = 0 if dtype.startswith("u") else -size
    return Arr(g.integers(low, size, shape).astype(dtype), dtype)


def plain_indices(g):
    """What stands between the brackets, for an array of shape (4, 5, 6)."""
    yield from [0, -1, 3, (1, 2), (1, 2, 3), (-1, -2, -3), None, (None, 0), (0, None, 1), Ellipsis, (Ellipsis, 0)]
    yield from [(0, Ellipsis), (0, Ellipsis, 1), (None, Ellipsis, None), (), (Ellipsis, None, 2)]
    yield from [S(None), S(1, 3), S(None, None, 2), S(None, None, -1), S(3, 0, -2), S(-2, None), S(2, 2), S(10, 20)]
    yield from [(S(1, 3), S(None, None, 2)), (S(None), 2), (2, S(None), S(None, None, -1)), (S(None), S(None), S(1, -1))]
    yield from [(S(0, 3), None, S(2)), (Ellipsis, S(None, None, 3)), (S(-3, -1), Ellipsis, S(4, 1, -1))]
    yield indices(g, 4, (3,))
    yield indices(g, 4, (2, 3), "uint32")
    yield indices(g, 4, ())
    yield (indices(g, 4, (3,)), indices(g, 5, (3,)))
    yield (indices(g, 4, (2, 1)), indices(g, 5, (3,), "int64"))
    yield (S(None), indices(g, 5, (2, 2)))
    yield (S(None), S(1, 3), indices(g, 6, (4,)))
    yield (indices(g, 4, (3,)), S(None), indices(g, 6, (3,)))
    yield (0, indices(g, 5, (3,)))
    yield (indices(g, 4, (2,)), 1)
    yield (indices(g, 4, (2,)), None, S(None, None, 2))
    yield (Ellipsis, indices(g, 6, (2,), "int16"))
    yield (None, indices(g, 4, (2,)), Ellipsis)


def other_indices():
    """Python's and NumPy's own: lists, bools, masks."""
    yield from [[0, 1], [[0, 1], [2, 3]], True, np.int64(2), (np.int32(1), S(np.int64(1), 3)), [], (S(None), [0, 2])]
    yield from [np.array([0, 2]), (0, np.array([1, 1])), (S(None), np.array([[0], [1]]))]
    yield Arr(np.array([True, False, True, False]), "bool")
    yield (S(None), Arr(np.array([True, False, True, False, True]), "bool"))


def refused_indices():
    yield from [(0, 0, 0, 0), (Ellipsis, Ellipsis), "text", 1.5, (0, "a"), S("a", None), (1.0, 2)]
    yield Arr(np.array([0.0, 1.0], np.float32), "float32")


def reading():
    g = rng("operator.getitem")
    for at in plain_indices(g):
        yield call("operator.getitem", random(g, "float32", (4, 5, 6), a_layout(g)), at)
    for at in [*refused_indices(), *other_indices()]:
        yield call("operator.getitem", random(g, "float32", (4, 5, 6)), at)
    for dtype in DTYPES:
        a = random(g, dtype, (4, 5), a_layout(g))
        for at in (1, (S(None), 2), S(None, None, -2), indices(g, 4, (3,))):
            yield call("operator.getitem", a, at)
    yield call("operator.getitem", random(g, "float32", ()), None)
    yield call("operator.getitem", random(g, "float32", ()), Ellipsis)
    yield call("operator.getitem", random(g, "float32", ()), 0)


def update_for(g, at, dtype):
    """A value that fits: the part's own shape, one that broadcasts, or a number."""
    part = np.zeros((4, 5, 6))[as_numpy(at)]
    choice = int(g.integers(0, 4))
    if choice == 0:
        return 2
    shape = part.shape if choice < 3 else part.shape[1:]
    return random(g, dtype, shape)


def as_numpy(at):
    if isinstance(at, Arr):
        return at.data
    return tuple(as_numpy(a) for a in at) if isinstance(at, tuple) else at


def unique(at):
    """Whether no element is written twice, so that the order of writes does not matter."""
    place = np.arange(120).reshape(4, 5, 6)[as_numpy(at)]
    return len(np.unique(place)) == place.size


def writing():
    g = rng("set")
    for dtype in ("float32", "int32", "bfloat16", "bool"):
        for at in plain_indices(g):
            if unique(at):
                yield call("set", random(g, dtype, (4, 5, 6), a_layout(g)), at, update_for(g, at, dtype))
    for dtype in DTYPES:
        yield call("set", random(g, dtype, (4, 5)), (S(1, 3), S(None, None, 2)), 1)
        yield call("set", random(g, dtype, (4, 5)), S(None), random(g, dtype, (5,)))
        yield call("set", random(g, dtype, (4, 5)), -1, random(g, dtype, (1, 5)))
    for at in other_indices():
        yield call("set", random(g, "float32", (4, 5, 6)), at, 2)
    mask = Arr(np.arange(20).reshape(4, 5) % 3 == 0, "bool")
    yield call("set", random(g, "float32", (4, 5)), mask, 9)
    yield call("set", random(g, "float32", (4, 5)), mask, random(g, "float32", (7,)))
    yield call("set", random(g, "int32", (4,)), S(None), 2.7)
    yield call("set", random(g, "float32", (4,)), 0, random(g, "float32", (2,)))
    yield call("set", random(g, "float32", (4, 5)), S(0, 2), random(g, "float32", (3, 5)))
    yield call("set", random(g, "float32", (4, 5)), "text", 1)
    yield call("set", random(g, "float32", (4, 5)), (0, 0, 0), 1)
    yield call("set", random(g, "float32", (4, 5)), 0, "text")


def adding_at():
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        g = rng("at." + name)
        for at in plain_indices(g):
            if unique(at):
                yield call("at." + name, random(g, "float32", (4, 5, 6)), at, update_for(g, at, "float32"))
        yield call("at." + name, random(g, "float32", (4,)), Arr(np.array([1, 1, 1]), "int32"), 2.0)


def taking():
    g = rng("take")
    for dtype in DTYPES:
        a = random(g, dtype, (4, 5), a_layout(g))
        yield call("take", a, indices(g, 20, (3,)))
        yield call("take", a, indices(g, 4, (2, 2)), 0)
        yield call("take", a, indices(g, 5, (3,), "uint8"), axis=1)
        yield call("take", a, 2, axis=-1)
        yield call("take", a, indices(g, 4, ()), axis=0)
    yield call("take", random(g, "float32", (3,)), indices(g, 3, (2,)), axis=1)
    yield call("take", random(g, "float32", (3,)), random(g, "float32", (2,)))
    yield call("take", random(g, "float32", (2, 0)), Arr(np.zeros((0,), np.int32), "int32"), axis=0)
    g = rng("take_along_axis")
    for dtype in SOME:
        a = random(g, dtype, (4, 5), a_layout(g))
        yield call("take_along_axis", a, indices(g, 4, (2, 5)), axis=0)
        yield call("take_along_axis", a, indices(g, 5, (4, 3), "uint32"), axis=1)
        yield call("take_along_axis", a, indices(g, 5, (1, 3)), axis=-1)
        yield call("take_along_axis", a, indices(g, 20, (7,)), axis=None)
        yield call("put_along_axis", a, permutation(g, 5, 4), random(g, dtype, (4, 5)), axis=1)
        yield call("put_along_axis", a, permutation(g, 20), random(g, dtype, (20,)), axis=None)
        yield call("put_along_axis", a, permutation(g, 5, 4), random(g, dtype, ()), axis=-1)
    for name, values in (("take_along_axis", []), ("put_along_axis", [random(g, "float32", (2,))])):
        yield call(name, random(g, "float32", (3,)), indices(g, 3, (2, 2)), *values, axis=0)
        yield call(name, random(g, "float32", (3,)), indices(g, 3, (2,)), *values, axis=1)


def permutation(g, size, rows=None):
    """Each index once, so that the order of writes does not matter."""
    if rows is None:
        return Arr(g.permutation(size).astype(np.int32), "int32")
    return Arr(np.stack([g.permutation(size) for _ in range(rows)]).astype(np.int32), "int32")


def moving_windows():
    g = rng("slice")
    starts = Arr(np.array([1, 2], np.int32), "int32")
    for dtype in SOME:
        yield call("slice", random(g, dtype, (4, 5), a_layout(g)), starts, (0, 1), (2, 3))
        yield call("slice_update", random(g, dtype, (4, 5)), random(g, dtype, (2, 3)), starts, (0, 1))
    one = Arr(np.array([1], np.int32), "int32")
    yield call("slice", random(g, "float32", (4, 5)), one, [1], [4, 2])
    yield call("slice", random(g, "float32", (4, 5)), one, (0, 1), (2, 3))
    yield call("slice", random(g, "float32", (4, 5)), one, (2,), (2, 3))
    yield call("slice_update", random(g, "float32", (4, 5)), random(g, "float32", (2, 5)), one, axes=(0,))
    yield call("slice_update", random(g, "float32", (4, 5)), random(g, "float32", (2, 5)), one, axes=(0, 1))


def cases():
    yield from reading()
    yield from writing()
    yield from adding_at()
    yield from taking()
    yield from moving_windows()
