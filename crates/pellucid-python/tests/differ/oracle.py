"""NumPy's answer, as a second opinion: where Pellucid and mlx differ in value, NumPy in double precision decides.

mlx computes several functions of float64 in float32, sums softmax in the type of the elements, and wraps integer
differences in `isclose`. A result that NumPy confirms is right; how often that happened is printed, by function.
"""

import math

import numpy as np

from differ.outcome import numpy_arguments


def _axis(value):
    return tuple(value) if isinstance(value, list) else value


def softmax(x, axis=None, precise=False):
    e = np.exp(x - np.max(x, axis=_axis(axis), keepdims=True))
    return e / np.sum(e, axis=_axis(axis), keepdims=True)


def logsumexp(x, axis=None, keepdims=False):
    axes = tuple(range(x.ndim)) if axis is None else _axis(axis)
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    result = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return result if keepdims else np.squeeze(result, axis=axes)


def logcumsumexp(x, axis=None, reverse=False, inclusive=True):
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    x = np.flip(x, axis) if reverse else x
    sums = np.logaddexp.accumulate(x, axis=axis)
    if not inclusive:
        first = np.full_like(np.take(sums, [0], axis), -np.inf)
        sums = np.concatenate([first, np.take(sums, range(x.shape[axis] - 1), axis)], axis)
    return np.flip(sums, axis) if reverse else sums


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    wide = [np.asarray(v).astype(object if np.asarray(v).dtype.kind in "iub" else np.asarray(v).dtype) for v in (a, b)]
    if all(v.dtype == object for v in wide):
        return (abs(wide[0] - wide[1]) <= atol + rtol * abs(wide[1])).astype(bool)
    return np.isclose(a, b, rtol, atol, equal_nan)


def sigmoid(x):
    x = np.asarray(x, np.float64)
    return np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x)))


def cross_entropy(logits, targets):
    logits = np.asarray(logits, np.float64)
    return logsumexp(logits, axis=-1) - np.take_along_axis(logits, np.asarray(targets)[..., None], -1)[..., 0]


def reduced(function):
    return lambda x, axis=None, keepdims=False, **k: function(x, axis=_axis(axis), keepdims=keepdims, **k)


def in_doubles(function):
    """Integers first become doubles, as both packages make floats of them."""
    return lambda *a, **k: function(*(np.asarray(v, np.float64) if np.asarray(v).dtype.kind in "iub" else v for v in a), **k)


_SAME = """arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan tanh
arctan2 logaddexp degrees radians""".split()
_OTHER_NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
                "atanh": "arctanh", "atan2": "arctan2", "pow": "power", "cumulative_sum": "cumsum",
                "cumulative_prod": "cumprod"}
FUNCTIONS = {
    "linalg.det": in_doubles(np.linalg.det),
    "linalg.solve": np.linalg.solve,
    "linalg.solve_triangular": lambda a, b, upper=False: np.linalg.solve(np.triu(a) if upper else np.tril(a), b),
    **{name: in_doubles(getattr(np, name)) for name in _SAME},
    "allclose": lambda *a, **k: isclose(*a, **k).all(),
    "fast.cross_entropy": cross_entropy,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "isclose": isclose,
    "logcumsumexp": in_doubles(logcumsumexp),
    "logsumexp": in_doubles(logsumexp),
    "mean": reduced(np.mean),
    "median": reduced(np.median),
    "power": np.power,
    "prod": reduced(np.prod),
    "reciprocal": in_doubles(lambda x: 1 / x),
    "rsqrt": in_doubles(lambda x: 1 / np.sqrt(x)),
    "sigmoid": sigmoid,
    "softmax": in_doubles(softmax),
    "std": reduced(np.std),
    "sum": reduced(np.sum),
    "var": reduced(np.var),
}


def answer(item, dtype):
    """NumPy's elements for a call, in the result's type; None where NumPy is not asked."""
    name = item.function.removeprefix("array.")
    known = FUNCTIONS.get(_OTHER_NAMES.get(name, name))
    if known is None or item.after is not None:
        return None
    arguments, keywords = numpy_arguments(item)
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(known(*arguments, **keywords))
            return result.astype({"bfloat16": np.float32}.get(dtype, dtype))
    except (TypeError, ValueError):
        return None
