"""Shapes and layouts: functions that move elements."""

import numpy as np

from differ.values import DTYPES, SOME, Arr, Dt, a_layout, a_shape, call, random, rng


def axes_of(name, *others):
    """Every axis of a three-dimensional array, and one that is not there."""
    g = rng(name)
    for axis in (0, 1, 2, -1, -3, 3, -4):
        yield call(name, random(g, "float32", (2, 3, 4), a_layout(g)), *others, axis=axis)


def reshaping():
    g = rng("reshape")
    for dtype in DTYPES:
        for shape in [(24,), (4, 6), (-1, 3), (2, -1, 2), (1, 24, 1), (-1,)]:
            yield call("reshape", random(g, dtype, (2, 3, 4), a_layout(g)), shape)
    for shape in [(5, 5), (-1, -1), (-1, 7), (0, -1), 24]:
        yield call("reshape", random(g, "float32", (2, 3, 4)), shape)
    for args in [((4, 6),), (4, 6), (-1,), ([24],)]:
        yield call("array.reshape", random(g, "float32", (2, 3, 4)), *args)
    yield call("reshape", random(g, "float32", (0, 3)), (3, 0))
    yield call("reshape", random(g, "float32", (0, 3)), (-1,))
    g = rng("flatten")
    for start, end in [(0, -1), (1, -1), (0, 1), (1, 2), (-2, -1), (1, 1), (2, 1), (3, 4), (-9, 9)]:
        yield call("flatten", random(g, "int32", (2, 3, 4), a_layout(g)), start, end)
        yield call("array.flatten", random(g, "int32", (2, 3, 4), a_layout(g)), start_axis=start, end_axis=end)
    yield call("flatten", random(g, "float32", ()))
    g = rng("unflatten")
    for axis, shape in [(0, (2, 3)), (0, (-1, 2)), (1, (2, 2)), (-1, (4, 1)), (0, (4, 2)), (5, (2, 3)), (0, ())]:
        yield call("unflatten", random(g, "float32", (6, 4), a_layout(g)), axis, shape)
    g = rng("squeeze")
    for axis in (None, 0, -1, (0, 2), [2, 0], 1, 5, (0, 0)):
        for name in ("squeeze", "array.squeeze"):
            yield call(name, random(g, "float32", (1, 3, 1), a_layout(g)), axis)
    g = rng("expand_dims")
    for axis in (0, 1, 2, -1, -3, (0, 3), (0, -1), [1, 2], 4, (0, 0)):
        yield call("expand_dims", random(g, "float32", (3, 4), a_layout(g)), axis)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        g = rng(name)
        for shape in [(), (3,), (2, 3), (2, 3, 4), (1, 2, 3, 4)]:
            yield call(name, random(g, "float32", shape))
        yield call(name, random(g, "float32", ()), random(g, "int32", (3,)))
        yield call(name)


def orders():
    g = rng("transpose")
    for name in ("transpose", "permute_dims", "array.transpose"):
        for dtype in SOME:
            yield call(name, random(g, dtype, (2, 3, 4), a_layout(g)))
        for axes in [(0, 2, 1), [2, 0, 1], (-1, 0, 1), (0, 1), (0, 0, 1), (0, 1, 3)]:
            yield call(name, random(g, "float32", (2, 3, 4), a_layout(g)), axes)
    yield call("array.transpose", random(g, "float32", (2, 3, 4)), 1, 2, 0)
    yield call("transpose", random(g, "float32", ()))
    for name in ("swapaxes", "array.swapaxes", "moveaxis", "array.moveaxis"):
        g = rng(name)
        for a in (-3, 0, 1, 2, 3):
            for b in (-1, 0, 1, -4):
                yield call(name, random(g, "float32", (2, 3, 4), a_layout(g)), a, b)
    g = rng("matrix_transpose")
    for shape in [(2, 3), (2, 3, 4), (3,), ()]:
        yield call("matrix_transpose", random(g, "float32", shape))
        yield call("get.mT", random(g, "float32", shape))
        yield call("get.T", random(g, "float32", shape))
    g = rng("flip")
    for axis in (None, 0, -1, (0, 1), [0, 2], 3):
        yield call("flip", random(g, "int32", (2, 3, 4), a_layout(g)), axis=axis)
    g = rng("roll")
    for shift, axis in [(1, None), (-2, None), (1, 0), (2, -1), ((1, 2), (0, 1)), (3, (0, 1)), (5, 2), (1, 7), ((1, 2), 0)]:
        yield call("roll", random(g, "float32", (2, 3, 4), a_layout(g)), shift, axis)
        yield call("roll", random(g, "bool", (2, 3, 4), a_layout(g)), shift, axis)
        yield call("roll", random(g, "int32", (2, 3, 4), a_layout(g)), shift=shift, axis=axis)
    g = rng("contiguous")
    for dtype in SOME:
        yield call("contiguous", random(g, dtype, (2, 3, 4), a_layout(g)))
        yield call("contiguous", random(g, dtype, (2, 3, 4), "transposed"), allow_col_major=True)


def broadcasting():
    g = rng("broadcast_to")
    for dtype in SOME:
        for source, target in [((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 1), (4, 2, 3)), ((0,), (2, 0))]:
            yield call("broadcast_to", random(g, dtype, source, a_layout(g)), target)
    for source, target in [((3,), (2,)), ((2, 3), (3,)), ((3,), (2, -1))]:
        yield call("broadcast_to", random(g, "float32", source), target)
    yield call("broadcast_to", 2.5, (2, 2))
    g = rng("broadcast_arrays")
    yield call("broadcast_arrays", random(g, "float32", (3,)), random(g, "int32", (2, 1)))
    yield call("broadcast_arrays", random(g, "float32", (3,)), random(g, "int32", (2, 1)), random(g, "bool", ()))
    yield call("broadcast_arrays", random(g, "float32", (3,)), random(g, "int32", (2,)))
    yield call("broadcast_arrays", random(g, "float32", (3,)))
    for shapes in [((3,), (2, 1)), ((1,), (5, 1), (4,)), ((2,), (3,)), ((),), ((0,), (1,)), ([2, 1], [1, 3])]:
        yield call("broadcast_shapes", *shapes)
    g = rng("meshgrid")
    for keywords in ({}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij"}, {"indexing": "zz"}):
        yield call("meshgrid", random(g, "float32", (2,)), random(g, "int32", (3,)), **keywords)
        yield call("meshgrid", random(g, "float32", (2,)), random(g, "float32", (3,)), random(g, "float32", (4,)), **keywords)
    g = rng("as_strided")
    for shape, strides, offset in [((2, 2), (1, 2), 0), ((3,), (2,), 1), ((4,), (0,), 2), (None, None, 0), ((6,), None, 0)]:
        yield call("as_strided", random(g, "int32", (3, 4)), shape, strides, offset)


def joining():
    for name in ("concatenate", "concat", "stack"):
        g = rng(name)
        for axis in (0, 1, -1, -2):
            for dtype in SOME:
                yield call(name, [random(g, dtype, (2, 3), a_layout(g)) for _ in range(3)], axis=axis)
        yield call(name, [random(g, "int32", (2, 3)), random(g, "float32", (2, 3))])
        yield call(name, (random(g, "int8", (2,)), random(g, "uint8", (2,))), 0)
        yield call(name, [random(g, "float32", (2, 3))], axis=5)
        yield call(name, [])
        yield call(name, [random(g, "float32", (2, 3)), random(g, "float32", (2, 4))], axis=0)
        yield call(name, [random(g, "float32", (2, 3)), random(g, "float32", (3,))])
    g = rng("concatenate more")
    yield call("concatenate", [random(g, "float32", (2, 3)), random(g, "float32", (2, 1))], axis=1)
    yield call("concatenate", [random(g, "float32", (2, 3)), random(g, "float32", (4,))], axis=None)
    yield call("concatenate", [random(g, "float32", (0, 3)), random(g, "float32", (2, 3))])
    yield call("concatenate", random(g, "float32", (2, 3)))
    g = rng("split")
    for name in ("split", "array.split"):
        for parts, axis in [(2, 0), (3, 1), ([1], 0), ([1, 3], 1), ([2, 2, 5], 1), (6, -1), ([], 0), ([-1], 1), (1, 0)]:
            yield call(name, random(g, "float32", (4, 6), a_layout(g)), parts, axis)
        for parts, axis in [(5, 0), (2, 2), (0, 0), (-2, 0)]:
            yield call(name, random(g, "float32", (4, 6)), parts, axis=axis)
    g = rng("unstack")
    for axis in (0, 1, -1, 2):
        yield call("unstack", random(g, "int32", (2, 3), a_layout(g)), axis=axis)


def repeating():
    g = rng("repeat")
    for repeats, axis in [(2, None), (3, 0), (1, 1), (2, -1), (0, 0), (2, 4), (-1, 0)]:
        for dtype in ("int32", "float16", "bool"):
            yield call("repeat", random(g, dtype, (2, 3), a_layout(g)), repeats, axis)
    g = rng("tile")
    for reps in (2, (2,), (2, 1), (1, 2, 3), [3, 1], (0, 1), 1):
        for shape in [(3,), (2, 3), ()]:
            yield call("tile", random(g, "int32", shape), reps)
    g = rng("pad")
    for width in (1, (1,), (1, 2), [(1, 2), (0, 3)], [(0, 0), (2, 1)], ((1, 0), (0, 1))):
        for mode in ("constant", "edge", "reflect", "symmetric"):
            yield call("pad", random(g, "int32", (3, 4), a_layout(g)), width, mode=mode)
        yield call("pad", random(g, "float32", (3, 4)), width, constant_values=2.5)
        yield call("pad", random(g, "float32", (3, 4)), width, "constant", random(g, "float32", ()))
    yield call("pad", random(g, "float32", (3, 4)), 1, mode="wrong")
    yield call("pad", random(g, "float32", (3, 4)), -1)
    yield call("pad", random(g, "float32", (3, 4)), [(1, 1)] * 3)
    for dtype in DTYPES:
        yield call("pad", random(g, dtype, (2, 3), a_layout(g)), [(1, 0), (0, 2)])


def diagonals():
    g = rng("diag")
    for k in (-2, -1, 0, 1, 2):
        for dtype in ("int32", "float32", "bool", "complex64"):
            yield call("diag", random(g, dtype, (3,)), k)
            yield call("diag", random(g, dtype, (3, 4), a_layout(g)), k)
            yield call("diagonal", random(g, dtype, (3, 4), a_layout(g)), k)
            for name in ("tril", "triu"):
                yield call(name, random(g, dtype, (3, 4), a_layout(g)), k)
        yield call("array.diag", random(g, "float32", (3, 3)), k=k)
        yield call("array.diagonal", random(g, "float32", (3, 3)), offset=k)
    for name in ("tril", "triu"):
        yield call(name, random(g, "float32", (2, 3, 4)), k=1)
        yield call(name, random(g, "float32", (3,)))
    yield call("diag", random(g, "float32", (2, 3, 4)))
    for axes in [(0, 1), (0, 2), (1, 2), (2, 0), (-1, -2), (0, 0), (0, 3)]:
        yield call("diagonal", random(g, "float32", (2, 3, 4), a_layout(g)), 0, *axes)
        yield call("diagonal", random(g, "float32", (2, 3, 4), a_layout(g)), 1, *axes)


def cases():
    yield from reshaping()
    yield from orders()
    yield from broadcasting()
    yield from joining()
    yield from repeating()
    yield from diagonals()
