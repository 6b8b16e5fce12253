"""Arrays out of nothing, out of Python's numbers and NumPy's arrays; constants; element types."""

import numpy as np

from differ.values import DTYPES, FLOATS, INTEGERS, REALS, SOME, Arr, Dt, Module, Name, call, random, rng


def filled():
    for name in ("zeros", "ones", "empty"):
        # What an empty array holds is open, but mlx's are zeros and programs have come to rely on it.
        for shape in ((), (3,), (2, 3), 4, [2, 2], (0, 3)):
            yield call(name, shape)
        for dtype in DTYPES:
            yield call(name, (2, 3), Dt(dtype))
            yield call(name, (2,), dtype=Dt(dtype))
        yield call(name, (2, -3))
        yield call(name, "shape")
        yield call(name, (2, 3), dtype=None)
        yield call(name, 2.5)
    for name in ("zeros_like", "ones_like", "empty_like"):
        g = rng(name)
        for dtype in DTYPES:
            yield call(name, random(g, dtype, (2, 3)))
        yield call(name, random(g, "int32", (2, 3)), dtype=Dt("float32"))
    for value in (1, 2.5, True, -3):
        for dtype in (None, "int32", "float16", "complex64"):
            yield call("full", (2, 3), value, **({} if dtype is None else {"dtype": Dt(dtype)}))
    g = rng("full")
    yield call("full", (2, 3), random(g, "float32", (3,)))
    yield call("full", 3, random(g, "int8", ()))
    yield call("full", (2, 3), random(g, "float32", (4,)))
    yield call("full", (2, 2), 1j)
    for dtype in DTYPES:
        yield call("full_like", random(g, dtype, (2, 3)), 1)
        yield call("full_like", random(g, dtype, (2, 3)), 2.5, dtype=Dt("float32"))


def ranges():
    for args in [(5,), (2, 7), (0, 10, 3), (10, 0, -2), (5, 2), (2.5,), (0.0, 1.0, 0.25), (0, 1, 0.3), (1, 5, 2.0), (0,)]:
        yield call("arange", *args)
        for dtype in ("int32", "float32", "float16", "int64", "uint8"):
            if not (dtype == "uint8" and args[-1] == -2):
                yield call("arange", *args, dtype=Dt(dtype))
    yield call("arange", start=2, stop=9, step=3)
    yield call("arange", 3, dtype=None)
    yield call("arange", 0, 5, 0)
    yield call("arange", float("nan"))
    yield call("arange", float("inf"))
    yield call("arange", 3, dtype=Dt("bool"))
    yield call("arange")
    for args in [(0, 1), (0, 1, 5), (-2.5, 2.5, 11), (5, 0, 6), (3, 3, 4), (0, 10, 1), (0, 1, 0), (0, 1, 2)]:
        yield call("linspace", *args)
        for dtype in ("float16", "int32", "float32"):
            yield call("linspace", *args, dtype=Dt(dtype))
        yield call("linspace", *args, endpoint=False)
    yield call("linspace", 0, 1, -3)
    for n, m, k in [(3, None, 0), (3, 4, 1), (4, 2, -1), (0, None, 0), (2, 5, 7)]:
        yield call("eye", n, m, k)
        yield call("tri", n, m, k)
        for dtype in ("int32", "bool", "complex64"):
            yield call("eye", n, m, k, Dt(dtype))
            yield call("tri", n, m, k, dtype=Dt(dtype))
    for n in (0, 1, 3):
        yield call("identity", n)
        yield call("identity", n, Dt("int8"))
    for name in ("eye", "identity", "tri"):
        yield call(name, -1)
        yield call(name, "n")


PYTHON = [
    True, 3, 2.5, 1j, -7, [1, 2, 3], [1.5, 2], [True, False], [[1, 2], [3, 4]], ((1, 2), (3, 4)), [], [[], []], [1, 2.5, True],
    [1j, 2], [[1.0], [2.0]], 2**31, -(2**31), [2**40, 1], [True, 2], [[[1]]], (1,), [1 + 2j, 2.5],
]
REFUSED = [[1, [2, 3]], [[1, 2], [3]], "text", None, object, [1, "2"], {"a": 1}, [None]]


def from_python():
    for value in PYTHON:
        yield call("array", value)
        for dtype in ("float32", "int32", "complex64", "bool", "float16"):
            if dtype == "complex64" or "j" not in repr(value):
                yield call("array", value, Dt(dtype))
    for value in REFUSED:
        yield call("array", value)
    g = rng("array")
    yield call("array", [random(g, "float32", (2,)), random(g, "float32", (2,))])
    yield call("array", [random(g, "float32", (2,)), random(g, "float32", (3,))])
    yield call("array", random(g, "float32", (2, 3), "transposed"))
    yield call("array", random(g, "float32", (2, 3), "transposed"), dtype=Dt("int32"))
    yield call("array")
    yield call("array", [1], [2])


def from_numpy():
    g = rng("from_numpy")
    kinds = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64".split()
    for kind in kinds:
        data = g.integers(0, 5, (3, 4)).astype(kind)
        for made in (data, data.T, data[::2], data[:, ::-1], data[1:2, 1], np.asfortranarray(data), data[:0], data[1, 1]):
            yield call("array", made)
        yield call("asarray", data)
        yield call("asarray", data, dtype=Dt("float32"))
        yield call("array", data, Dt("float32"))
        yield call("array", np.broadcast_to(data[0], (3, 4)))
    yield call("array", np.arange(3).astype(">i4"))
    yield call("array", np.array(["a"]))
    yield call("array", np.array([1, 2], dtype=object))
    yield call("array", np.array([1 + 1j], np.complex128))
    yield call("array", np.float32(2.5))
    yield call("array", np.int64(3))
    yield call("asarray", [1, 2, 3])
    yield call("asarray", 2.5)
    yield call("asarray", random(g, "float32", (2, 3)))
    yield call("asarray", random(g, "float32", (2, 3)), copy=True)
    yield call("asarray", "no")


CATEGORIES = "complexfloating floating generic inexact integer number signedinteger unsignedinteger".split()


def types():
    names = [Dt(d) for d in DTYPES]
    groups = [Name(c) for c in CATEGORIES]
    for one in [*names, *groups]:
        for other in [*names[::3], *groups]:
            yield call("issubdtype", one, other)
    for dtype in names:
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
                     ("bool", "integral"), Dt("float32")):
            yield call("isdtype", dtype, kind)
        for to in names:
            yield call("can_cast", dtype, to)
        yield call("builtin.str", dtype)
        yield call("get.size", dtype)
    yield call("isdtype", Dt("float32"), "wrong kind")
    yield call("issubdtype", 1, 2)
    g = rng("can_cast")
    yield call("can_cast", random(g, "int32", (2,)), Dt("float32"))
    yield call("result_type", random(g, "int32", (2,)), Dt("float16"), random(g, "int64", ()))
    yield call("result_type")
    yield call("result_type", Dt("int8"))
    for dtype in FLOATS:
        yield call("finfo", Dt(dtype), after=lambda m, r, a: (r.min, r.max, r.eps, ("dtype", str(r.dtype).rpartition(".")[2])))
    for dtype in INTEGERS:
        yield call("iinfo", Dt(dtype), after=lambda m, r, a: (r.min, r.max, ("dtype", str(r.dtype).rpartition(".")[2])))
    yield call("finfo", Dt("int32"), after=lambda m, r, a: (r.min, r.max, r.eps))
    yield call("iinfo", Dt("float32"), after=lambda m, r, a: (r.min, r.max))
    yield call("finfo", Dt("complex64"), after=lambda m, r, a: (r.min, r.max, r.eps))
    for name in ("e", "euler_gamma", "inf", "nan", "newaxis", "pi"):
        yield call("get." + name, Module())


def cases():
    yield from filled()
    yield from ranges()
    yield from from_python()
    yield from from_numpy()
    yield from types()
