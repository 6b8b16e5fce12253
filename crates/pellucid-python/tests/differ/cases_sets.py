"""Einstein sums, chosen and masked products, windows, places, different elements, eight-bit numbers."""

import numpy as np

from differ.cases_random import key
from differ.values import FLOATS, INF, NAN, ORDERED, SOME, Arr, Dt, a_layout, call, random, rng

SUMS = [
    ("ij,jk->ik", (3, 4), (4, 2)), ("ij,jk", (3, 4), (4, 2)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij", (3, 4)), ("ba", (3, 4)),
    ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij,ij->ij", (3, 4), (3, 4)), ("ij,ij->", (3, 4), (3, 4)), ("...j,jk->...k", (2, 3, 4), (4, 5)),
    ("ij,kl->ijkl", (2, 3), (3, 2)), ("ij , jk -> ik", (3, 4), (4, 2)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ab,bc,cd->ad", (3, 4), (4, 2), (2, 5)), ("i,j,k->ijk", (2,), (3,), (2,)), ("iJ,Jk", (3, 4), (4, 2)), ("ij,jk->kij", (3, 4), (4, 2)),
    ("ij,j->ij", (3, 4), (1,)), ("ij,jk->ik", (3, 4), (1, 2)), (",ij->ij", (), (3, 4)), ("iij->ij", (2, 2, 3)), ("iij->j", (2, 2, 3)),
    ("...i,...i->...", (2, 3, 4), (3, 4)), ("i...->...", (3, 4)), ("ij...,jk...->ik...", (2, 3, 4), (3, 2, 4)), ("abcd,cdef->abef", (2, 3, 2, 2), (2, 2, 3, 2)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ab,ac,ad->bcd", (4, 2), (4, 3), (4, 2)), ("ijk,ilm,njm,nlk,abc->", (2, 3, 2), (2, 2, 3), (2, 3, 3), (2, 2, 2), (2, 2, 2)),
    ("ij->i", (0, 3)), ("ij,jk->ik", (2, 0), (0, 3)), ("a,a,a->", (4,), (4,), (4,)), ("ab,b->", (3, 4), (4,)),
]
REFUSED = [
    ("ij", (3, 4), (4, 2)), ("ijk", (3, 4)), ("ij->ii", (3, 4)), ("ij,jk->iz", (3, 4), (4, 2)), ("ij,j", (3, 4), (3,)), ("ij,1k", (3, 4), (4, 2)),
    ("ij->ik", (3, 4)), ("", ()), ("i..j", (3, 4)), ("ij,jk", (3, 4)),
]


def einsums():
    g = rng("einsum")
    for text, *shapes in SUMS:
        for dtype in ("float32", "float16", "complex64"):
            yield call("einsum", text, *(random(g, dtype, shape, a_layout(g), -1, 1) for shape in shapes))
    for text, *shapes in REFUSED:
        yield call("einsum", text, *(random(g, "float32", shape) for shape in shapes))
    yield call("einsum", "ij")
    yield call("einsum", "ij->j", random(g, "int32", (3, 4)))
    yield call("einsum", "i,i->", random(g, "int32", (3,)), random(g, "int32", (3,)))
    yield call("einsum", "ij,jk->ik", random(g, "float16", (3, 4)), random(g, "float32", (4, 2)))
    for text, *shapes in (("ij->ji", (3, 4)), ("ij,jk->ik", (3, 4), (4, 2)), ("ij,jk,kl->il", (2, 10), (10, 30), (30, 3))):
        yield call("einsum_path", text, *(random(g, "float32", shape) for shape in shapes), after=lambda mx, r, a: len(r[0]))
    for shapes in (((5, 8), (8, 3), (3, 7)), ((5, 8), (8, 10), (10, 7))):
        yield call("einsum_path", "ij,jk,kl", *(random(g, "float32", shape) for shape in shapes), after=lambda mx, r, a: r[0])
    yield call("einsum_path", "ij,jk->ik", random(g, "float32", (3, 4)), random(g, "float32", (4, 2)))
    yield call("einsum_path", "ij", random(g, "float32", (3, 4)), random(g, "float32", (4, 2)))


def indices(*values):
    return Arr(np.array(values, np.int32), "int32")


def products():
    g = rng("gather_mm")
    a, b = random(g, "float32", (4, 2, 3), a_layout(g)), random(g, "float32", (3, 3, 5), a_layout(g))
    for lhs, rhs in ((None, indices(0, 2, 1, 1)), (indices(0, 3, 3), None), (indices(0, 3), indices(2, 0)), (indices([0], [3]), indices(2, 0, 1))):
        yield call("gather_mm", a, b, lhs, rhs)
    yield call("gather_mm", a, random(g, "float32", (4, 3, 2)))
    yield call("gather_mm", random(g, "float32", (3,)), b, None, indices(0, 1))
    yield call("gather_mm", random(g, "float16", (1, 3)), b, None, indices(0, 1), sorted_indices=True)
    yield call("gather_mm", a, b, None, Arr(np.array([0.5]), "float32"))
    yield call("gather_mm", random(g, "int32", (4, 2, 3)), random(g, "int32", (3, 3, 5)), None, indices(0))
    yield call("gather_mm", a, random(g, "float32", (2, 4, 2)), None, indices(0, 1, 1, 0))
    for dtype in ("float32", "float16", "float64"):
        yield call("segmented_mm", random(g, dtype, (2, 6)), random(g, dtype, (6, 3)), indices([0, 2], [2, 6], [3, 3]))
    yield call("segmented_mm", random(g, "float32", (2, 6), "transposed"), random(g, "float32", (6, 3)), indices([[0, 1]], [[1, 6]]))
    yield call("segmented_mm", random(g, "float32", (2, 6)), random(g, "float32", (6, 3)), Arr(np.zeros((0, 2), np.uint32), "uint32"))
    yield call("segmented_mm", random(g, "float32", (2, 6)), random(g, "float32", (6, 3)), indices(0, 2, 3))
    yield call("segmented_mm", random(g, "float32", (2, 2, 6)), random(g, "float32", (6, 3)), indices([0, 2]))
    yield call("segmented_mm", random(g, "int32", (2, 6)), random(g, "int32", (6, 3)), indices([0, 2]))
    yield call("segmented_mm", random(g, "float32", (2, 6)), random(g, "float32", (6, 3)), random(g, "float32", (1, 2)))


def masked():
    g = rng("block_masked_mm")
    for m, k, n in ((64, 96, 32), (40, 50, 33), (32, 32, 32)):
        blocks = [-(-size // 32) for size in (m, k, n)]
        shapes = {"mask_out": (blocks[0], blocks[2]), "mask_lhs": (blocks[0], blocks[1]), "mask_rhs": (blocks[1], blocks[2])}
        a, b = random(g, "float32", (m, k), low=-1, high=1), random(g, "float32", (2, k, n), low=-1, high=1)
        for names in ((), ("mask_out",), ("mask_lhs", "mask_rhs"), ("mask_out", "mask_lhs", "mask_rhs")):
            for dtype in ("bool", "float32"):
                yield call("block_masked_mm", a, b, 32, **{name: random(g, dtype, shapes[name]) for name in names})
    yield call("block_masked_mm", random(g, "float32", (64, 64)), random(g, "float32", (64, 64)), 32, random(g, "bool", (3, 3)))
    yield call("block_masked_mm", random(g, "float32", (3, 4)), random(g, "float32", (5, 4)))


def hadamard():
    g = rng("hadamard_transform")
    for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 40, 64, 128, 160, 448, 1024, 4096):
        yield call("hadamard_transform", random(g, "float32", (2, n), a_layout(g)))
    for dtype in ("float16", "bfloat16", "int32", "bool"):
        yield call("hadamard_transform", random(g, dtype, (8,)))
    yield call("hadamard_transform", random(g, "float32", (8,)), 2.0)
    for shape in ((6,), (7,), (36,), (0,), (0, 4), ()):
        yield call("hadamard_transform", random(g, "float32", shape))


def places():
    g = rng("searchsorted")
    for dtype in ORDERED:
        sorted_one = Arr(np.sort(random(g, dtype, (20,)).data), dtype)
        for side in ("left", "right"):
            yield call("searchsorted", sorted_one, random(g, dtype, (4, 5), a_layout(g)), side)
    yield call("searchsorted", Arr(np.array([1.0, 2.0, INF, NAN], np.float32), "float32"), Arr(np.array([NAN, INF, 0.0, -INF], np.float32), "float32"))
    yield call("searchsorted", Arr(np.arange(9, dtype=np.int32), "int32"), random(g, "float32", (5,)))
    yield call("searchsorted", random(g, "float32", (0,)), random(g, "float32", (5,)))
    yield call("searchsorted", random(g, "float32", (5,)), random(g, "float32", (0, 3)))
    for shape in ((), (2, 3)):
        yield call("searchsorted", random(g, "float32", shape), random(g, "float32", (3,)))
    yield call("searchsorted", random(g, "float32", (3,)), 2.0)
    yield call("searchsorted", random(g, "float32", (3,)), random(g, "float32", (3,)), "middle")


def different():
    g = rng("unique")
    for dtype in SOME:
        for shape in ((), (1,), (12,), (3, 4)):
            for size in (0, 1, 4, 20):
                yield call("unique", random(g, dtype, shape, a_layout(g)), size, True, True, True)
    yield call("unique", random(g, "int32", (6,)), 8, fill_value=9)
    yield call("unique", random(g, "int32", (6,)), 8, fill_value=1.5)
    yield call("unique", Arr(np.array([1.0, NAN, NAN, -0.0, 0.0], np.float32), "float32"), 6, True, True, True)
    for size, fill in ((3, None), (0, None), (3, 2.0)):
        yield call("unique", random(g, "float32", (0,)), size, fill_value=fill)
    yield call("unique", random(g, "float32", (3,)), -1)
    yield call("unique", random(g, "float32", (3,)))


def numbers():
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        for m in (-1, 0, 1, 2, 3, 8, 33):
            yield call(name, m)
        yield call(name, 2.5)
    g = rng("to_fp8")
    for dtype in ("float32", "float16", "bfloat16"):
        yield call("to_fp8", random(g, dtype, (50,), a_layout(g), -500, 500))
        yield call("to_fp8", random(g, dtype, (50,), "dense", -0.05, 0.05))
    edges = [0.0, -0.0, 448.0, 464.0, 465.0, 1e9, INF, -INF, 2.0**-6, 2.0**-9, 2.0**-10, 1.1 * 2.0**-10, 0.0625, 1.0625, 1.1875, 17.0]
    yield call("to_fp8", Arr(np.array(edges, np.float32), "float32"))
    yield call("to_fp8", random(g, "int32", (3,)))
    yield call("to_fp8", random(g, "complex64", (3,)))
    every = Arr(np.arange(256, dtype=np.uint8), "uint8")
    for dtype in ("bfloat16", "float16", "float32"):
        yield call("from_fp8", every, Dt(dtype))
    yield call("from_fp8", every)
    yield call("from_fp8", every, Dt("int32"))
    yield call("from_fp8", random(g, "int32", (3,)))


def normals():
    g = rng("multivariate_normal")
    cov = Arr(np.array([[2.0, 0.5], [0.5, 1.0]], np.float32), "float32")
    for mean, shape in (((2,), [3]), ((3, 2), []), ((2,), []), ((1, 2), [4, 3])):
        yield call("random.multivariate_normal", random(g, "float32", mean), cov, shape, key=key(7))
    for mean, covariance in (((2,), (3, 3)), ((2,), (2, 3)), ((), (2, 2)), ((2,), (2,))):
        yield call("random.multivariate_normal", random(g, "float32", mean), random(g, "float32", covariance), key=key(7))
    yield call("random.multivariate_normal", random(g, "float32", (4, 2)), cov, [3], key=key(7))
    yield call("random.multivariate_normal", random(g, "float32", (2,)), cov, [3], Dt("float16"), key=key(7))


def cases():
    for family in (einsums, products, masked, hadamard, places, different, numbers, normals):
        yield from family()
