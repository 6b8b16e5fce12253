"""Functions of single elements: every function with every type, mixed types, plain numbers, casts, choices."""

import numpy as np

from differ.values import (
    DTYPES, FLOATS, INF, INTEGERS, NAN, ORDERED, REALS, SIGNED, SOME, Arr, Dt, a_layout, a_shape, broadcastable, call,
    elements, random, rng, special, storage,
)

UNARY = """abs acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_invert ceil conj
conjugate cos cosh degrees erf erfinv exp expm1 floor imag isfinite isinf isnan isneginf isposinf log log10 log1p log2
logical_not negative positive radians real reciprocal round rsqrt sigmoid sign sin sinh sqrt square stop_gradient tan
tanh trunc""".split()
METHODS = "abs conj cos exp log log10 log1p log2 reciprocal round rsqrt sin sqrt square".split()
BINARY = """add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor divide equal
floor_divide greater greater_equal left_shift less less_equal logaddexp logical_and logical_or logical_xor maximum
minimum multiply not_equal pow power remainder right_shift subtract""".split()
DIVISIONS = ("floor_divide", "remainder", "divmod")
SHIFTS = ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift")
POWERS = ("power", "pow")


def unary():
    for name in UNARY:
        g = rng(name)
        for dtype in DTYPES:
            yield call(name, special(dtype))
            yield call(name, random(g, dtype, a_shape(g, 1, 3), a_layout(g)))
        yield call(name, random(g, "float32", (2, 0, 3)))
        yield call(name, random(g, "float32", ()))
        yield call(name, random(g, "float32", (3, 4)), stream=None)
    for name in METHODS:
        g = rng("array." + name)
        for dtype in SOME:
            yield call("array." + name, random(g, dtype, a_shape(g, 1, 3), a_layout(g)))
    for dtype in ("int32", "float32", "float16", "complex64"):
        data = [1.25, -2.35, 126.7, 0.05, 5.5] if dtype != "int32" else [0, 4, 5, 15, 25, 26, 115, 126]
        for decimals in (-2, -1, 0, 1, 2):
            if dtype in ("int32", "float32") or decimals >= 0:
                yield call("round", Arr(np.array(data, dtype), dtype), decimals=decimals)
                yield call("array.round", Arr(np.array(data, dtype), dtype), decimals)
    for dtype in ORDERED:
        yield call("nan_to_num", special(dtype))
        yield call("nan_to_num", special(dtype), nan=1.0, posinf=100.0, neginf=-7.0)


def divisor(g, name, dtype, shape, layout="dense"):
    """The right side of a function, without what ends mlx's process: integers divided by zero."""
    if dtype in INTEGERS:
        if name in DIVISIONS:
            data = elements(g, dtype, shape, 1, 6)
            return Arr(np.where(data == 0, 1, data).astype(storage(dtype)), dtype, layout)
        if name in SHIFTS:
            return Arr(g.integers(0, np.iinfo(dtype).bits, shape).astype(dtype), dtype, layout)
        if name in POWERS:
            return Arr(g.integers(0, 5, shape).astype(dtype), dtype, layout)
    if dtype == "bool" and name in DIVISIONS:
        return Arr(np.ones(shape, bool), dtype, layout)
    return random(g, dtype, shape, layout)


def pairs(name, dtype):
    """A column and a row of special elements: every pair, by broadcasting."""
    some = special(dtype).data
    if dtype in INTEGERS:
        bits = np.iinfo(dtype).bits
        left, right = list(some), list(some)
        if name in DIVISIONS:
            left = [v for v in left if v == 0 or v != np.iinfo(dtype).min]
            right = [v for v in right if v != 0]
        elif name in POWERS:
            left, right = [0, 1, 2, 3, 5, *([-1, -2, -3] if dtype in SIGNED else [])], [0, 1, 2, 3, 4, 7]
        elif name in SHIFTS:
            right = [0, 1, 2, bits // 2, bits - 1]
    elif dtype in FLOATS:
        left = right = [0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -3.0, 10.0, 1000.0, INF, -INF, NAN]
    elif dtype == "complex64":
        left = right = [0j, 1 + 0j, 0.5 - 1j, -2.5 + 0.5j, 2j, -3 + 0j]
    else:
        left, right = [False, True], [True] if name in DIVISIONS else [False, True]
    kind = storage(dtype)
    return Arr(np.array(left, kind).reshape(-1, 1), dtype), Arr(np.array(right, kind), dtype)


def binary():
    for name in [*BINARY, "divmod"]:
        g = rng(name)
        for dtype in DTYPES:
            yield call(name, *pairs(name, dtype))
            a, b = broadcastable(g)
            yield call(name, random(g, dtype, a, a_layout(g)), divisor(g, name, dtype, b, a_layout(g)))
        for _ in range(10):
            left, right = (DTYPES[int(i)] for i in g.integers(0, len(DTYPES), 2))
            a, b = broadcastable(g)
            yield call(name, random(g, left, a, low=1), divisor(g, name, right, b))
        for number in (True, 2, 2.5):
            for dtype in SOME:
                yield call(name, random(g, dtype, (2, 3), low=1), number)
        yield call(name, 7, random(g, "int32", (3,), low=1, high=3))
        yield call(name, 7.5, 2)
        yield call(name, random(g, "float32", (2, 3)), random(g, "float32", (4,)))


def promotion():
    g = rng("promotion")
    for left in DTYPES:
        for right in DTYPES:
            a, b = random(g, left, (4,), low=0, high=3), random(g, right, (3, 1), low=0, high=3)
            for name in ("add", "divide", "maximum", "where"):
                yield call(name, a, b) if name != "where" else call(name, random(g, "bool", (4,)), a, b)
            yield call("result_type", a, b)
            yield call("result_type", Dt(left), Dt(right))


def casts():
    g = rng("astype")
    for source in DTYPES:
        for target in DTYPES:
            low = 0 if target.startswith("uint") or target == "bool" else -4
            a = random(g, source, a_shape(g, 1, 2), a_layout(g), low=low, high=9)
            yield call("astype", a, Dt(target))
            yield call("array.astype", a, Dt(target))
            if source in INTEGERS and target in INTEGERS:
                yield call("astype", special(source), Dt(target))
    for source in DTYPES:
        for target in DTYPES:
            yield call("view", random(g, source, (2, 8)), Dt(target))
    yield call("array.view", random(g, "float32", (3, 4)), Dt("int32"))
    yield call("view", random(g, "int8", (3, 3)), Dt("float32"))


def choosing():
    g = rng("where")
    for dtype in DTYPES:
        for _ in range(3):
            c, a, b = broadcastable(g, 3)
            yield call("where", random(g, "bool", c, a_layout(g)), random(g, dtype, a, a_layout(g)), random(g, dtype, b))
        yield call("where", random(g, "int32", (2, 3)), random(g, dtype, (2, 3)), 1)
        yield call("where", True, random(g, dtype, (2, 3)), 2.5)
    g = rng("clip")
    for dtype in REALS:
        a = random(g, dtype, (3, 4), a_layout(g), high=9)
        yield call("clip", a, 1, 3)
        yield call("clip", a, 2, None)
        yield call("clip", a, None, 2)
        yield call("clip", a, a_min=random(g, dtype, (4,)), a_max=random(g, dtype, (3, 1)))
        yield call("clip", a, 3, 1)
    yield call("clip", Arr(np.array([NAN, INF, -INF, 1], np.float32), "float32"), 0, 2)
    yield call("clip", random(g, "float32", (3,)), None, None)


def closeness():
    for dtype in DTYPES:
        a, b = pairs("equal", dtype)
        for name in ("isclose", "allclose", "array_equal"):
            for equal_nan in (False, True):
                yield call(name, a, b, equal_nan=equal_nan)
                yield call(name, a, a, equal_nan=equal_nan)
        yield call("isclose", a, b, rtol=0.5, atol=2.0)
        yield call("allclose", b, b, 0.1, 0.1)
    g = rng("array_equal")
    yield call("array_equal", random(g, "float32", (3,)), random(g, "float32", (4,)))
    yield call("array_equal", 1, random(g, "float32", ()))


def cases():
    yield from unary()
    yield from binary()
    yield from promotion()
    yield from casts()
    yield from choosing()
    yield from closeness()
