"""Products of matrices and vectors."""

from differ.values import DTYPES, FLOATS, SOME, a_layout, call, random, rng

INEXACT = [*FLOATS, "complex64"]
SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
    ((1, 3, 4), (2, 4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((1, 1), (1, 1)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((17, 33), (33, 9)),
]
REFUSED = [((3, 4), (5, 4)), ((), (3,)), ((3,), ()), ((4,), (5,)), ((2, 3, 4), (3, 4, 5))]


def matmul():
    for name in ("matmul", "operator.matmul"):
        g = rng(name)
        for dtype in INEXACT:
            for a, b in SHAPES:
                yield call(name, random(g, dtype, a, a_layout(g), -1, 1), random(g, dtype, b, a_layout(g), -1, 1))
        for a, b in REFUSED:
            yield call(name, random(g, "float32", a), random(g, "float32", b))
        for dtype in ("int32", "bool", "uint8"):
            yield call(name, random(g, dtype, (2, 3)), random(g, dtype, (3, 2)))
        yield call(name, random(g, "float16", (2, 3)), random(g, "float32", (3, 2)))
        yield call(name, random(g, "int32", (2, 3)), random(g, "float32", (3, 2)))


def addmm():
    g = rng("addmm")
    for dtype in INEXACT:
        for shape in ((3, 5), (5,), (3, 1), ()):
            yield call("addmm", random(g, dtype, shape, low=-1, high=1), random(g, dtype, (3, 4), a_layout(g), -1, 1),
                       random(g, dtype, (4, 5), a_layout(g), -1, 1))
        yield call("addmm", random(g, dtype, (2, 3, 5), low=-1, high=1), random(g, dtype, (2, 3, 4), low=-1, high=1),
                   random(g, dtype, (4, 5), low=-1, high=1), alpha=0.5, beta=2.0)
    yield call("addmm", random(g, "float32", (7,)), random(g, "float32", (3, 4)), random(g, "float32", (4, 5)))
    yield call("addmm", random(g, "int32", (5,)), random(g, "int32", (3, 4)), random(g, "int32", (4, 5)))


def others():
    g = rng("inner")
    for dtype in INEXACT:
        yield call("inner", random(g, dtype, (4,), low=-1, high=1), random(g, dtype, (4,), low=-1, high=1))
        yield call("inner", random(g, dtype, (3, 4), low=-1, high=1), random(g, dtype, (2, 4), low=-1, high=1))
        yield call("outer", random(g, dtype, (3,)), random(g, dtype, (4,)))
        yield call("outer", random(g, dtype, (2, 3)), random(g, dtype, (4,)))
        yield call("vecdot", random(g, dtype, (3, 4), low=-1, high=1), random(g, dtype, (3, 4), low=-1, high=1))
        yield call("vecdot", random(g, dtype, (3, 4), low=-1, high=1), random(g, dtype, (3, 1), low=-1, high=1), axis=0)
        for axes in (1, 2, [[1], [0]], [[0, 1], [1, 0]], 0):
            yield call("tensordot", random(g, dtype, (3, 3), low=-1, high=1), random(g, dtype, (3, 3), low=-1, high=1), axes)
        yield call("tensordot", random(g, dtype, (2, 3, 4), low=-1, high=1), random(g, dtype, (4, 3), low=-1, high=1), axes=[[2, 1], [0, 1]])
    for dtype in SOME:
        yield call("kron", random(g, dtype, (2, 3)), random(g, dtype, (3, 2)))
        yield call("kron", random(g, dtype, (2,)), random(g, dtype, (2, 2)))
        yield call("outer", random(g, dtype, (2,)), random(g, dtype, (2,)))
        yield call("inner", random(g, dtype, (2, 3)), random(g, dtype, ()))
    for name in ("inner", "vecdot", "tensordot"):
        yield call(name, random(g, "float32", (3, 4)), random(g, "float32", (2, 5)))
        yield call(name, random(g, "int32", (3, 3)), random(g, "int32", (3, 3)))
    yield call("vecdot", random(g, "float32", (3, 4)), random(g, "float32", (3, 4)), axis=5)
    yield call("tensordot", random(g, "float32", (3, 4)), random(g, "float32", (4, 3)), 5)
    yield call("tensordot", random(g, "float32", (3, 4)), random(g, "float32", (4, 3)), -1)
    yield call("einsum", "ij,jk->ik", random(g, "float32", (3, 4)), random(g, "float32", (4, 2)))


def cases():
    yield from matmul()
    yield from addmm()
    yield from others()
