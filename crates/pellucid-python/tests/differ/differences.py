"""Where Pellucid differs from mlx on purpose, and why.

Rows of `ELEMENTS` hold for single elements, rows of `CALLS` for whole calls. The library's own conformance suite has
the same list for the Rust functions, in `crates/pellucid/tests/conformance/differences.rs`.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Difference:
    functions: tuple[str, ...]
    holds: Callable[..., Any]
    why: str


ELEMENTS = [
    Difference(
        ("exp", "sigmoid", "logaddexp", "erfinv", "softmax", "expm1"),
        lambda dtype, ours, mlx: (mlx == 0) & (np.abs(ours) < _SMALLEST_NORMAL),
        "mlx gives zero where the result is below the normal numbers; here it is as exact as the type",
    ),
    Difference(
        ("round",),
        lambda dtype, ours, mlx: (dtype == "int8") & (ours == 127),
        "a number that does not fit becomes the nearest one that does; in mlx it wraps around",
    ),
    Difference(
        ("floor_divide", "divmod", "operator.floordiv", "builtin.divmod", "operator.ifloordiv"),
        lambda dtype, ours, mlx: np.full(np.shape(ours), dtype in ("float16", "bfloat16")) & (ours == -1) & (mlx == 0),
        "a tiny negative quotient rounds down to −1; mlx rounds it to −0 of the small type first",
    ),
    Difference(
        ("power", "pow", "operator.pow"),
        lambda dtype, ours, mlx: np.isnan(mlx) & (ours == 1) if dtype == "complex64" else np.zeros(np.shape(ours), bool),
        "a complex number to the power of zero is one, as it is for real numbers; in mlx 0^0 is NaN",
    ),
    Difference(
        ("power", "pow", "operator.pow"),
        lambda dtype, ours, mlx: np.isnan(ours) & np.isinf(np.real(mlx)) if dtype == "complex64" else np.zeros(np.shape(ours), bool),
        "zero to a complex power with a negative real part has no value; mlx gives inf+nan·i",
    ),
]

#: (function, a predicate on the call, why): calls whose outcome differs as a whole.
CALLS: list[tuple[str, Callable[..., bool], str]] = [
    (
        "nan_to_num",
        lambda item: bool(item.args) and getattr(item.args[0], "dtype", None) == "float64" and len(item.args) == 1,
        "mlx has no largest number of float64 at hand and refuses; there is no reason to",
    ),
]


def explained(function, dtype, ours, theirs):
    """A mask of the elements that are meant to differ."""
    mask = np.zeros(np.shape(ours), bool)
    for row in ELEMENTS:
        if function.removeprefix("array.") in row.functions:
            mask = mask | row.holds(dtype, ours, theirs)
    return mask


def of_call(item):
    """Why a call's whole outcome may differ; None if it may not."""
    for function, holds, why in CALLS:
        if function == item.function and holds(item):
            return why
    return None
