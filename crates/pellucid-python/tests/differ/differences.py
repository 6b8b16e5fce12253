"""Where Pellucid differs from mlx on purpose, and why.

Rows of `ELEMENTS` hold for single elements, rows of `CALLS` for whole calls; a row that no case needs fails the suite.
The library's own conformance suite has such a list for the Rust functions, in
`crates/pellucid/tests/conformance/differences.rs`.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


@dataclass(frozen=True)
class Difference:
    functions: tuple[str, ...]
    holds: Callable[..., Any]
    why: str


ELEMENTS = [
    Difference(
        ("logaddexp",),
        lambda dtype, ours, mlx: np.isclose(np.abs(np.imag(ours) - np.imag(mlx)), 2 * np.pi) & np.isclose(np.real(ours), np.real(mlx)),
        "the imaginary part of a logarithm lies between −π and π; in mlx it may be one turn away",
    ),
]


@dataclass(frozen=True)
class CallDifference:
    """`holds(item, ours, theirs)`: whether the two outcomes of a call differ in the way that `why` gives."""

    functions: tuple[str, ...]
    holds: Callable[..., Any]
    why: str


def _no_axes(item, ours, theirs):
    """A reduction over no axes at all, or of a single element."""
    values = [*item.args[1:2], item.kwargs.get("axis", 0)]
    return item.args[0].data.ndim == 0 or () in values


def _accident(item, ours, theirs):
    out = isinstance(theirs.error, SystemError) or "std::bad_cast" in str(theirs.error)
    return out and isinstance(ours.error, (TypeError, ValueError, OverflowError))


def _gives(ours, theirs):
    return ours.error is None and theirs.error is not None


CALLS = [
    CallDifference(
        ("quantize", "dequantize"),
        lambda item, ours, theirs: _gives(ours, theirs) and "[reshape]" in str(theirs.error),
        "mlx packs groups of sixteen in pairs only; here their number may be odd",
    ),
    CallDifference(
        ("operator.getitem", "set"),
        lambda item, ours, theirs: _gives(ours, theirs)
        and any(text in str(theirs.error) for text in ("using the given type", "boolean indices")),
        "mlx takes no lists as positions; here they are positions or masks, as in NumPy",
    ),
    CallDifference(
        ("gather_qqmm",),
        lambda item, ours, theirs: _gives(ours, theirs) and "NYI" in str(theirs.error),
        "mlx has gather_qqmm on GPUs alone",
    ),
    CallDifference(
        ("conv3d", "conv_general", "conv_transpose3d"),
        lambda item, ours, theirs: _gives(ours, theirs) and "groups != 1" in str(theirs.error),
        "mlx has no groups along three axes",
    ),
    CallDifference(
        ("conv_general",),
        lambda item, ours, theirs: "the kernel spans" in str(ours.error) and theirs.error is None,
        "a kernel that does not fit into the input is a ValueError; with a stride, mlx rounds the number of places where it "
        "fits, which is negative, up to one",
    ),
    CallDifference(
        (),
        _accident,
        "mlx lets C++ exceptions out as a RuntimeError (std::bad_cast) or SystemError; here a wrong type is a TypeError and a "
        "wrong value a ValueError or OverflowError",
    ),
    CallDifference(
        ("nan_to_num",),
        lambda item, ours, theirs: _gives(ours, theirs) and item.args[0].dtype == "float64",
        "mlx has no largest number of float64 at hand and refuses; there is no reason to",
    ),
    CallDifference(
        ("sum", "prod", "array.sum", "array.prod"),
        lambda item, ours, theirs: theirs.error is None and ours.error is None and _no_axes(item, ours, theirs)
        and np.array_equal(ours.value.elements, theirs.value.elements),
        "mlx does not widen small integers if there is nothing to add; here the type never depends on the axes",
    ),
    CallDifference(
        ("median",), lambda item, ours, theirs: _gives(ours, theirs) and _no_axes(item, ours, theirs),
        "mlx refuses a median over no axes by an accident of flatten; here it is the array itself",
    ),
    CallDifference(
        ("array", "asarray"), lambda item, ours, theirs: _gives(ours, theirs) and "negative strides" in str(theirs.error),
        "mlx refuses NumPy's reversed views; here they are copied",
    ),
    CallDifference(
        ("linalg.solve", "linalg.inv", "linalg.tri_inv", "linalg.solve_triangular"),
        lambda item, ours, theirs: isinstance(ours.error, ValueError) and "singular" in str(ours.error),
        "a singular matrix is a ValueError that names it; mlx raises a RuntimeError with LAPACK's number, or not at all",
    ),
    CallDifference(
        ("linalg.svd",),
        lambda item, ours, theirs: "NaN" in str(ours.error),
        "a matrix with NaN is a ValueError that names it; mlx raises a RuntimeError with LAPACK's number, or gives what "
        "happened to be in memory",
    ),
    CallDifference(
        ("linalg.det", "linalg.slogdet"),
        lambda item, ours, theirs: _gives(ours, theirs) and item.args[0].dtype in ("float16", "bfloat16"),
        "mlx refuses determinants of 16-bit types from four rows on; here all sizes are computed in float32",
    ),
    CallDifference(
        ("linalg.eigh",),
        lambda item, ours, theirs: isinstance(ours.error, ValueError) and item.args[1:] == ("x",),
        "mlx takes any word that is not U for the lower triangle; here only L and U are triangles",
    ),
    CallDifference(
        ("linalg.eig",),
        lambda item, ours, theirs: item.args[0].dtype == "complex64" and theirs.error is None
        and np.all(ours.value[1].elements),
        "mlx's eigenvectors of complex matrices do not satisfy their equation; Pellucid's do",
    ),
    CallDifference(
        ("hadamard_transform",),
        lambda item, ours, theirs: isinstance(ours.error, ValueError) and item.args[0].data.shape == (36,),
        "mlx takes 36 for a size it has a matrix for, and returns something else; here it is refused",
    ),
    CallDifference(
        ("segmented_mm",),
        lambda item, ours, theirs: item.args[0].dtype == "float16" and theirs.error is None,
        "mlx multiplies segments of float16 wrongly from the second row on",
    ),
    CallDifference(
        ("softmax",),
        lambda item, ours, theirs: theirs.error is None and item.args[0].dtype == "int32" and ours.value.dtype == "float32"
        and theirs.value.dtype == "int32",
        "mlx gives the softmax of integers as integers unless the last axis alone is meant; here it is always float32",
    ),
    CallDifference(
        ("concatenate", "concat"),
        lambda item, ours, theirs: isinstance(ours.error, IndexError) and len(item.args[0]) == 1,
        "mlx does not look at the axis if there is one array; here an invalid axis is always an error",
    ),
    CallDifference(
        ("set", "at.add", "at.subtract", "at.multiply", "at.divide", "at.maximum", "at.minimum"),
        lambda item, ours, theirs: item.args[1] is None and _gives(ours, theirs),
        "`a[None]` has one axis more; mlx forgets it when it writes and refuses an update of that very shape",
    ),
    CallDifference(
        ("set",),
        lambda item, ours, theirs: _gives(ours, theirs) and str(theirs.error).startswith("[reshape]"),
        "mlx loses an axis of the update if index arrays stand on both sides of a slice; NumPy agrees with Pellucid",
    ),
]


def explain(function, dtype, ours, theirs, apart):
    """The elements of the mask `apart` that are not meant to differ, and why the others are."""
    reasons = []
    for row in ELEMENTS:
        if function.removeprefix("array.") in row.functions and apart.any():
            meant = apart & row.holds(dtype, ours, theirs)
            if meant.any():
                reasons.append(row.why)
                apart = apart & ~meant
    return apart, reasons


def of_call(item, ours, theirs):
    """Why the outcome of a call differs; None if it should not."""
    for row in CALLS:
        if (item.function in row.functions or not row.functions) and row.holds(item, ours, theirs):
            return row.why
    return None
