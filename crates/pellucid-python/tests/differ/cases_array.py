"""Arrays as Python objects: operators, attributes, conversions, iteration, text."""

import numpy as np

from differ.cases_elementwise import divisor, pairs
from differ.values import DTYPES, FLOATS, INF, INTEGERS, NAN, SOME, Arr, a_layout, broadcastable, call, random, rng, special

OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal",
}
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul".split()


def operators():
    for name, function in OPERATORS.items():
        path, g = "operator." + name, rng("operator." + name)
        for dtype in DTYPES:
            a, b = broadcastable(g)
            yield call(path, random(g, dtype, a, a_layout(g)), divisor(g, function, dtype, b, a_layout(g)))
        for dtype in SOME:
            for number in (True, 3, 1.5):
                yield call(path, random(g, dtype, (2, 3), low=1), number)
                # A number in front, with nothing on the right that would divide by zero.
                yield call(path, number, random(g, dtype, (2, 3), low=1, high=3) if dtype != "bool" else Arr(np.ones((2,), bool), dtype))
        yield call(path, random(g, "float32", (2, 3)), "text")
        yield call(path, "text", random(g, "float32", (2, 3)))
        yield call(path, random(g, "float32", (2, 3)), None)
        yield call(path, random(g, "float32", (2, 3)), random(g, "float32", (4,)))
        yield call(path, *pairs(function, "float32"))
    for name in ("neg", "pos", "invert"):
        g = rng("operator." + name)
        for dtype in DTYPES:
            yield call("operator." + name, random(g, dtype, (2, 3), a_layout(g)))
    g = rng("builtin.abs")
    for dtype in DTYPES:
        yield call("builtin.abs", random(g, dtype, (2, 3), a_layout(g)))
        yield call("builtin.divmod", random(g, dtype, (2, 3), low=1), divisor(g, "divmod", dtype, (3,)))


def in_place():
    for name in IN_PLACE:
        g = rng("operator." + name)
        plain = {"iand": "and_", "ior": "or_"}.get(name, name.removeprefix("i"))
        function = OPERATORS.get(plain, "matmul")
        for dtype in ("float32", "int32", "bool", "uint8"):
            if name == "imatmul":
                yield call("operator.imatmul", random(g, dtype, (3, 3), low=-1, high=1), random(g, dtype, (3, 3), low=-1, high=1))
                continue
            yield call("operator." + name, random(g, dtype, (2, 3), low=1), divisor(g, function, dtype, (3,)))
            yield call("operator." + name, random(g, dtype, (2, 3), low=1), 2)
        yield call("operator." + name, random(g, "int32", (2, 3), low=1), 1.5)
        yield call("operator." + name, random(g, "float32", (2, 3)), "text")


def attributes():
    g = rng("attributes")
    for dtype in DTYPES:
        a = random(g, dtype, (2, 3, 4), a_layout(g))
        for name in ("dtype", "itemsize", "nbytes", "ndim", "shape", "size", "real", "imag", "T", "mT"):
            yield call("get." + name, a)
        yield call("array.tolist", a)
        yield call("array.tolist", random(g, dtype, ()))
        yield call("array.item", random(g, dtype, ()))
        yield call("array.item", random(g, dtype, (1, 1)))
        yield call("array.__copy__", a)
        yield call("array.__deepcopy__", a, {})
    yield call("array.item", random(g, "float32", (2,)))
    for dtype in FLOATS:
        yield call("array.tolist", special(dtype))
    for shape in ((0,), (2, 0), (3,)):
        yield call("array.tolist", random(g, "int32", shape))


def conversions():
    g = rng("conversions")
    for name in ("bool", "int", "float", "complex", "len", "list", "iter", "bytes"):
        path = "builtin." + name
        for dtype in SOME:
            for shape in ((), (1,), (3,), (2, 3), (0,)):
                yield call(path, random(g, dtype, shape))
    for value in (NAN, INF):
        yield call("builtin.float", Arr(np.array(value, np.float32), "float32"))
    yield call("operator.index", random(g, "int32", ()))
    yield call("operator.index", random(g, "float32", ()))
    yield call("operator.index", random(g, "int32", (2,)))
    yield call("operator.contains", random(g, "int32", (2,)), 3)


def text():
    g = rng("text")
    for path in ("builtin.str", "builtin.repr"):
        for dtype in DTYPES:
            for shape in ((), (3,), (2, 3), (2, 2, 2), (0,), (2, 0), (1, 1)):
                low, high = (0, 3)
                a = random(g, dtype, shape, a_layout(g), low, high)
                # Short decimals: how many digits are printed is a matter of their own.
                data = np.round(a.data * 4) / 4 if a.data.dtype.kind in "fc" else a.data
                yield call(path, Arr(data.astype(a.data.dtype), dtype, a.layout))
            if dtype in INTEGERS or dtype == "bool":
                yield call(path, special(dtype))
        yield call(path, Arr(np.array([0.1, 1 / 3, 1e-8, 1e8, 123456.789, -0.0, NAN, INF, -INF], np.float32), "float32"))
        yield call(path, Arr(np.array([1.0, 2.5, -3.25], np.float32), "float32"))
        for size in (7, 1000, 1001):
            yield call(path, Arr(np.arange(size, dtype=np.int32), "int32"))
        yield call(path, Arr(np.arange(400, dtype=np.int32).reshape(20, 20), "int32"))
        yield call(path, Arr(np.arange(4000, dtype=np.int32).reshape(20, 10, 20), "int32"))
    for dtype in ("float32", "int32", "bool", "complex64"):
        for spec in ("", ".3f", "6", "wrong"):
            for shape in ((), (1,), (2, 2)):
                a = random(g, dtype, shape, low=0, high=3)
                data = np.round(a.data * 4) / 4 if a.data.dtype.kind in "fc" else a.data
                if spec == "wrong" and shape == ():
                    continue  # mlx ends the process.
                yield call("builtin.format", Arr(np.asarray(data).astype(a.data.dtype), dtype), spec)
    for precision in (0, 1, 3, 8):
        yield call("printed", precision)


def cases():
    yield from operators()
    yield from in_place()
    yield from attributes()
    yield from conversions()
    yield from text()
