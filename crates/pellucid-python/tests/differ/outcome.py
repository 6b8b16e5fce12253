"""Runs a call with one of the two packages and keeps what came out: values, or an exception's type."""

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from differ.values import Arr, Call, Dt, Module, Name, storage


@dataclass
class Array:
    """A result that is an array, away from the package that made it."""

    dtype: str
    elements: np.ndarray

    @property
    def shape(self):
        return self.elements.shape

    def __repr__(self):
        text = np.array2string(self.elements, threshold=24, edgeitems=4, max_line_width=10**6).replace("\n", "")
        return f"{self.dtype}{list(self.shape)} {text}"


@dataclass
class Outcome:
    """What a call gave: a value, or an error."""

    value: Any = None
    error: BaseException | None = None

    def __repr__(self):
        return repr(self.value) if self.error is None else f"{type(self.error).__name__}: {first_line(self.error)}"


def first_line(error):
    return (str(error).splitlines() or [""])[0][:160]


def dtype_of(module, name):
    return module.bool_ if name == "bool" else getattr(module, name)


def build(module, spec):
    """The array that the description stands for."""
    data, dtype = spec.data, dtype_of(module, spec.dtype)
    if spec.layout == "transposed" and data.ndim > 1:
        return module.swapaxes(plain(module, np.swapaxes(data, 0, -1).copy(), dtype), 0, -1)
    if spec.layout == "strided" and data.ndim and data.shape[-1]:
        doubled = np.repeat(data, 2, axis=-1)
        return plain(module, doubled, dtype)[..., ::2]
    if spec.layout == "reversed" and data.ndim and data.size:
        return plain(module, data[::-1].copy(), dtype)[::-1]
    if spec.layout == "offset" and data.ndim and data.size:
        longer = np.concatenate([data[:1], data], axis=0)
        return plain(module, longer, dtype)[1:]
    return plain(module, data, dtype)


def plain(module, data, dtype):
    if dtype == module.bfloat16:
        return module.array(np.asarray(data, np.float32)).astype(module.bfloat16)
    return module.array(data, dtype=dtype)


def realize(module, value):
    """Descriptions inside of lists, tuples, dictionaries and slices become what they stand for."""
    if isinstance(value, Arr):
        return build(module, value)
    if isinstance(value, Dt):
        return dtype_of(module, value.name)
    if isinstance(value, Module):
        return module
    if isinstance(value, Name):
        return getattr(module, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(realize(module, v) for v in value)
    if isinstance(value, dict):
        return {k: realize(module, v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(realize(module, v) for v in (value.start, value.stop, value.step)))
    return value


def replaced(module):
    """`a[at] = value` as a function: the array after the assignment."""

    def set_item(a, at, value):
        copy = module.array(a)
        copy[at] = value
        return copy

    return set_item


def updated(name):
    return lambda a, at, value: getattr(a.at[at], name)(value)


def seeded(module):
    """Numbers drawn without a key after a seed."""

    def draw(seed):
        module.random.seed(seed)
        return [module.random.uniform(shape=(3,)), module.random.randint(0, 100, (4,)), module.random.normal((2, 2))]

    return draw


def printed(module):
    def show(precision):
        with module.printoptions(precision=precision):
            inside = str(module.array([1 / 3, 2.0, -1e-3], dtype=module.float32))
        return inside, str(module.array([1 / 3], dtype=module.float32))

    return show


_BUILTINS = {
    "len": len, "abs": abs, "bool": bool, "int": int, "float": float, "complex": complex, "str": str, "repr": repr,
    "list": list, "divmod": divmod, "iter": lambda a: list(iter(a)), "bytes": bytes,
    "format": format,
}


def function(module, path):
    """`add`, `random.normal`, `array.sum` (a method), `operator.add` (the operator itself)."""
    own = {"set": replaced, "seeded": seeded, "printed": printed}.get(path)
    if own is not None:
        return own(module)
    if path.startswith("at."):
        return updated(path.removeprefix("at."))
    if path.startswith("operator."):
        return getattr(operator, path.removeprefix("operator."))
    if path.startswith("builtin."):
        return _BUILTINS[path.removeprefix("builtin.")]
    if path.startswith("get."):
        return operator.attrgetter(path.removeprefix("get."))
    if path.startswith("array."):
        name = path.removeprefix("array.")
        return lambda first, *args, **kwargs: getattr(first, name)(*args, **kwargs)
    return operator.attrgetter(path)(module)


def detach(module, value):
    """A result without the package: arrays as NumPy's, types by name, the rest as it is."""
    if isinstance(value, module.array):
        kind = str(value.dtype).rpartition(".")[2]
        readable = value.astype(module.float32) if kind == "bfloat16" else value
        return Array(kind, np.array(readable))
    if isinstance(value, module.Dtype):
        return ("dtype", str(value).rpartition(".")[2])
    if isinstance(value, (list, tuple)):
        return type(value)(detach(module, v) for v in value)
    if isinstance(value, dict):
        return {k: detach(module, v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    # An object of the package: what it is called, as far as the two can be compared.
    return f"<{type(value).__name__}>"


def run(module, item: Call):
    """Calls and evaluates; an exception is a result like another."""
    arguments = [realize(module, a) for a in item.args]
    keywords = {k: realize(module, v) for k, v in item.kwargs.items()}
    try:
        result = function(module, item.function)(*arguments, **keywords)
        if item.after is not None:
            result = item.after(module, result, arguments)
        return Outcome(value=detach(module, result))
    except (ValueError, TypeError, IndexError, RuntimeError, OverflowError, AttributeError, KeyError,
            NotImplementedError, BufferError, SystemError, MemoryError) as error:
        return Outcome(error=error)


def numpy_arguments(item: Call):
    """The same arguments for NumPy, in the widest type of each kind; None where there are none."""

    def wide(value):
        if isinstance(value, Arr):
            data = value.data.astype(storage(value.dtype))
            if np.iscomplexobj(data):
                return data.astype(np.complex128)
            return data.astype(np.float64) if data.dtype.kind == "f" else data
        if isinstance(value, (list, tuple)):
            return type(value)(wide(v) for v in value)
        return value

    return [wide(a) for a in item.args], {k: wide(v) for k, v in item.kwargs.items()}
