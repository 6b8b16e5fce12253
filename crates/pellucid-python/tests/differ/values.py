"""Inputs: random or special elements of every type, in several layouts, made alike for both packages."""

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
UNSIGNED = [d for d in DTYPES if d.startswith("uint")]
SIGNED = [d for d in DTYPES if d.startswith("int")]
INTEGERS = UNSIGNED + SIGNED
FLOATS = [d for d in DTYPES if "float" in d]
REALS = INTEGERS + FLOATS
ORDERED = ["bool", *REALS]
#: One type of each kind, where all fourteen would only repeat the same code.
SOME = ["bool", "uint8", "int32", "float16", "float32", "complex64"]
INF, NAN = float("inf"), float("nan")

# Subnormals and the ends of the range, by type.
_EDGES = {
    "float16": [6e-8, 6e-5, 65504.0, -65504.0],
    "bfloat16": [1e-40, 1.2e-38, 3.38e38, -3.38e38],
    "float32": [1e-45, 1e-40, 1.2e-38, 3.4028235e38, -3.4028235e38, 16777217.0],
    "float64": [5e-324, 1e-310, 2.3e-308, 1.7976931348623157e308, -1e300, 9007199254740993.0],
}
_PLAIN = [0.0, -0.0, 0.25, 0.5, -0.5, 0.75, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.2, 10.0, -10.0, 80.0, -80.0, 1000.0]


@dataclass(frozen=True)
class Arr:
    """An array, described: both packages make it from the same elements."""

    data: Any
    dtype: str
    layout: str = "dense"

    def __repr__(self):
        text = np.array2string(self.data, threshold=24, edgeitems=4, max_line_width=10**6).replace("\n", "")
        return f"{self.dtype}{list(self.data.shape)}{'' if self.layout == 'dense' else ' ' + self.layout} {text}"


@dataclass(frozen=True)
class Dt:
    """An element type by its name."""

    name: str

    def __repr__(self):
        return f"mx.{self.name}"


@dataclass(frozen=True)
class Name:
    """Something that each package has under this name, such as `cpu`."""

    name: str

    def __repr__(self):
        return f"mx.{self.name}"


@dataclass(frozen=True)
class Module:
    """The package itself, for its constants."""

    def __repr__(self):
        return "mx"


@dataclass(frozen=True)
class Call:
    """One comparison: a function, and what it is called with."""

    function: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    #: Applied to the result on both sides, e.g. to sort what has no defined order.
    after: Any = None

    def __repr__(self):
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.function}({', '.join(parts)})"


def call(function, *args, after=None, **kwargs):
    return Call(function, args, kwargs, after)


def rng(name):
    """A generator of its own for each function, so that adding cases to one leaves the others as they were."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def storage(dtype):
    """NumPy's type that holds the elements; bfloat16 is rounded on both sides by the packages."""
    return {"bfloat16": np.float32, "bool": np.bool_}.get(dtype) or np.dtype(dtype)


def special(dtype):
    """The elements where functions go wrong: zeros, ends of the range, infinities, not a number."""
    if dtype == "bool":
        values = [False, True]
    elif dtype == "complex64":
        parts = [0.0, 0.5, -1.0, 2.5, -3.0]
        values = [complex(re, im) for re in parts for im in parts]
    elif dtype in FLOATS:
        values = [*_PLAIN, 1e-3, -1e-3, 1e4, *_EDGES[dtype], INF, -INF, NAN]
    else:
        info = np.iinfo(dtype)
        values = sorted({0, 1, 2, 3, 7, 63, 100, info.max - 1, info.max, *([-1, -2, -100, info.min] if info.min else [])})
    return Arr(np.array(values, storage(dtype)), dtype)


def random(generator, dtype, shape, layout="dense", low=-4.0, high=4.0):
    """Random elements in a moderate range."""
    return Arr(elements(generator, dtype, shape, low, high), dtype, layout)


def elements(generator, dtype, shape, low=-4.0, high=4.0):
    kind = storage(dtype)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in UNSIGNED:
        return generator.integers(max(0, int(low)), int(high) + 5, shape).astype(kind)
    if dtype in SIGNED:
        return generator.integers(int(low), int(high) + 1, shape).astype(kind)
    if dtype == "complex64":
        return (generator.uniform(low, high, shape) + 1j * generator.uniform(low, high, shape)).astype(kind)
    data = generator.uniform(low, high, shape)
    # bfloat16 keeps eight bits: elements it can hold exactly keep the comparison about the function.
    return rounded_to_bfloat16(data) if dtype == "bfloat16" else data.astype(kind)


def rounded_to_bfloat16(data):
    bits = np.asarray(data, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def distinct(generator, dtype, shape, layout="dense"):
    """Elements that all differ, for functions whose order of equal ones is open."""
    size = int(np.prod(shape))
    kind = storage(dtype)
    if dtype == "bool":
        return random(generator, dtype, shape, layout)
    steps = generator.permutation(size)
    if dtype not in UNSIGNED:
        steps = steps - size // 2
    data = steps * (0.5 if dtype in FLOATS else 1)
    return Arr(data.reshape(shape).astype(kind), dtype, layout)


SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (1, 5, 1), (2, 0, 3), (4, 1, 2, 3)]
LAYOUTS = ["dense", "transposed", "strided", "reversed", "offset"]


def a_shape(generator, smallest=0, largest=3, empty=False):
    count = int(generator.integers(smallest, largest + 1))
    shape = [int(n) for n in generator.integers(1, 6, count)]
    if empty and shape and generator.random() < 0.1:
        shape[int(generator.integers(0, len(shape)))] = 0
    return tuple(shape)


def a_layout(generator):
    return LAYOUTS[int(generator.integers(0, len(LAYOUTS)))]


def broadcastable(generator, count=2, largest=3):
    """Shapes that broadcast together."""
    whole = [int(n) for n in generator.integers(1, 5, int(generator.integers(0, largest + 1)))]
    shapes = []
    for _ in range(count):
        shape = [1 if generator.random() < 0.3 else n for n in whole]
        shapes.append(tuple(shape[int(generator.integers(0, len(shape) + 1)) :]) if generator.random() < 0.4 else tuple(shape))
    return shapes
