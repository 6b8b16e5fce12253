"""Linear algebra. Factors are unique only up to signs and order, so that their products are compared, and their own laws."""

import numpy as np

from differ.values import DTYPES, Arr, a_layout, call, random, rng

REAL = ["float32", "float64"]
BATCHES = [(), (3,), (2, 2), (0,)]


def regular(g, dtype, n, batch=(), layout="dense"):
    """Matrices far from singular."""
    a = g.uniform(-1, 1, (*batch, n, n)) + 3 * np.eye(n)
    return Arr(a.astype(dtype), dtype, layout)


def positive(g, dtype, n, batch=(), layout="dense"):
    a = g.uniform(-1, 1, (*batch, n, n))
    return Arr((a @ np.swapaxes(a, -1, -2) + np.eye(n)).astype(dtype), dtype, layout)


def hermitian(g, n, batch=()):
    a = g.uniform(-1, 1, (*batch, n, n)) + 1j * g.uniform(-1, 1, (*batch, n, n))
    return Arr((a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(n)).astype(np.complex64), "complex64")


def adjoint(mx, a):
    return mx.conj(mx.swapaxes(a, -1, -2))


def of_qr(mx, result, arguments):
    q, r = result
    return q @ r, mx.abs(r), adjoint(mx, q) @ q


def of_svd(mx, result, arguments):
    if isinstance(result, mx.array):
        return result
    u, s, v = result
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :]) @ v[..., :k, :], s, adjoint(mx, u) @ u, v @ adjoint(mx, v)


def of_eigh(mx, result, arguments):
    w, v = result
    return w, (v * w[..., None, :]) @ adjoint(mx, v), adjoint(mx, v) @ v


def ordered(mx, w):
    """Eigenvalues in an order of their own."""
    w = np.array(w)
    keys = np.round(w.real, 3) + 1j * np.round(w.imag, 3)
    return mx.array(np.take_along_axis(w, np.argsort(keys, axis=-1), -1))


def of_eigvals(mx, result, arguments):
    return ordered(mx, result)


def of_eig(mx, result, arguments):
    w, v = result
    a = arguments[0].astype(mx.complex64)
    return ordered(mx, w), mx.abs(a @ v - v * w[..., None, :]) < 1e-3, mx.sum(mx.abs(v) ** 2, axis=-2)


def of_lu(mx, result, arguments):
    p, l, u = result
    return mx.take_along_axis(l, p[..., None], axis=-2) @ u, l, u, p


def square():
    for name in ("inv", "tri_inv", "cholesky", "cholesky_inv"):
        g = rng("linalg." + name)
        full = "linalg." + name
        make = positive if name.startswith("cholesky") else regular
        for dtype in REAL:
            for n in (1, 2, 3, 5, 8, 20):
                for batch in BATCHES:
                    yield call(full, make(g, dtype, n, batch, a_layout(g)))
                    if name != "inv":
                        yield call(full, make(g, dtype, n, batch), upper=True)
        for dtype in DTYPES:
            if dtype not in REAL:
                yield call(full, random(g, dtype, (3, 3)))
        for shape in ((3,), (2, 3), (3, 2), ()):
            yield call(full, random(g, "float32", shape))
    yield call("linalg.inv", Arr(np.ones((2, 2), np.float32), "float32"))
    yield call("linalg.tri_inv", Arr(np.zeros((2, 2), np.float32), "float32"))


def systems():
    for name in ("solve", "solve_triangular"):
        g = rng("linalg." + name)
        full = "linalg." + name
        for dtype in REAL:
            for n in (1, 2, 5, 12):
                yield call(full, regular(g, dtype, n), random(g, dtype, (n,)))
                for columns in (1, 3):
                    yield call(full, regular(g, dtype, n, (), a_layout(g)), random(g, dtype, (n, columns), a_layout(g)))
                    yield call(full, regular(g, dtype, n, (2,)), random(g, dtype, (2, n, columns)))
        yield call(full, regular(g, "float32", 3), random(g, "float64", (3,)))
        yield call(full, random(g, "float32", (3,)), random(g, "float32", (3,)))
        yield call(full, random(g, "float32", (2, 3)), random(g, "float32", (3,)))
        yield call(full, regular(g, "float32", 3), random(g, "float32", (4, 1)))
        yield call(full, Arr(np.zeros((2, 2), np.float32), "float32"), random(g, "float32", (2,)))
        for dtype in ("int32", "float16", "complex64"):
            yield call(full, random(g, dtype, (2, 2)), random(g, dtype, (2,)))
    g = rng("upper")
    yield call("linalg.solve_triangular", regular(g, "float32", 4), random(g, "float32", (4, 2)), upper=True)


def decompositions():
    shapes = [(1, 1), (2, 2), (3, 5), (5, 3), (8, 8), (2, 4, 3), (2, 3, 3, 4), (0, 2, 2)]
    for name, after in (("qr", of_qr), ("svd", of_svd), ("pinv", None), ("lu", of_lu), ("lu_factor", None)):
        g = rng("linalg." + name)
        full = "linalg." + name
        for dtype in [*REAL, *(["complex64"] if name == "svd" else [])]:
            for shape in shapes:
                yield call(full, random(g, dtype, shape, a_layout(g)), after=after)
        for dtype in DTYPES:
            if dtype not in REAL and not (name == "svd" and dtype == "complex64"):
                yield call(full, random(g, dtype, (3, 3)))
        yield call(full, random(g, "float32", (3,)))
    g = rng("values")
    for dtype in (*REAL, "complex64"):
        for shape in shapes:
            yield call("linalg.svd", random(g, dtype, shape), False, after=of_svd)
    yield call("linalg.svd", Arr(np.full((2, 2), np.nan, np.float32), "float32"))
    yield call("linalg.pinv", Arr(np.ones((3, 2), np.float32), "float32"))


def eigenvalues():
    g = rng("eigen")
    for n in (1, 2, 3, 6, 15):
        for batch in ((), (2,), (0,)):
            for matrices in (positive(g, "float32", n, batch), positive(g, "float64", n, batch), hermitian(g, n, batch)):
                for triangle in ("L", "U"):
                    yield call("linalg.eigh", matrices, triangle, after=of_eigh)
                    yield call("linalg.eigvalsh", matrices, triangle)
        for dtype in (*REAL, "complex64"):
            for shape in ((n, n), (2, n, n)):
                yield call("linalg.eig", random(g, dtype, shape), after=of_eig)
                yield call("linalg.eigvals", random(g, dtype, shape), after=of_eigvals)
    for name in ("eigh", "eigvalsh", "eig", "eigvals"):
        for shape in ((3,), (2, 3)):
            yield call("linalg." + name, random(g, "float32", shape))
        for dtype in ("int32", "float16", "bool"):
            yield call("linalg." + name, random(g, dtype, (2, 2)))
    yield call("linalg.eigh", random(g, "float32", (3, 3)), "x")


def determinants():
    for name in ("det", "slogdet"):
        g = rng("linalg." + name)
        full = "linalg." + name
        for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "bool", "uint8"):
            for n in (1, 2, 3, 4, 6):
                yield call(full, random(g, dtype, (n, n)))
                yield call(full, random(g, dtype, (2, n, n), a_layout(g)))
        yield call(full, Arr(np.zeros((4, 4), np.float32), "float32"))
        for shape in ((3,), (2, 3), (0, 0), (0, 2, 2)):
            yield call(full, random(g, "float32", shape))
        yield call(full, random(g, "complex64", (2, 2)))


def norms():
    g = rng("linalg.norm")
    orders = [None, "fro", "nuc", np.inf, -np.inf, 0, 1, -1, 2, -2, 3, 0.5, "x"]
    for name in ("linalg.norm", "matrix_norm"):
        for order in orders:
            for shape, axis in (((5,), None), ((3, 4), None), ((3, 4), 1), ((3, 4), [0, 1]), ((2, 3, 4), [-1, 0]), ((2, 3, 4), None),
                                ((2, 3, 4), [1, 2]), ((2, 3, 4), -2)):
                for keepdims in (False, True):
                    yield call(name, random(g, "float32", shape, a_layout(g)), order, axis, keepdims)
    for dtype in ("int32", "bool", "float16", "float64", "complex64"):
        for order in (None, 1, 2, np.inf):
            yield call("linalg.norm", random(g, dtype, (4,)), order)
    yield call("linalg.norm", random(g, "float32", (2, 3, 4)), None, [0, 1, 2])
    yield call("linalg.norm", random(g, "float32", (2, 3)), None, 5)
    yield call("linalg.norm", random(g, "float32", ()))
    yield call("linalg.norm", random(g, "float32", (0,)))


def crosses():
    g = rng("linalg.cross")
    for dtype in ("int32", "float32", "float16", "complex64"):
        for a, b, axis in (((3,), (3,), -1), ((2,), (2,), -1), ((2,), (3,), -1), ((3,), (2,), -1), ((4, 3), (3,), -1), ((3, 2), (3, 2), 0),
                           ((2, 4), (3, 4), 0), ((4,), (4,), -1), ((3,), (3,), 2), ((2, 3), (4, 3), -1), ((2, 2), (2,), -1)):
            yield call("linalg.cross", random(g, dtype, a), random(g, dtype, b), axis)


def cases():
    for family in (square, systems, decompositions, eigenvalues, determinants, norms, crosses):
        yield from family()
