"""Compares the two outcomes of a call, and counts."""

from collections import Counter

import numpy as np

from differ import differences, oracle, tolerance
from differ.outcome import Array, Outcome
from differ.values import Arr

#: Comparisons made in this run, by function.
COMPARED: Counter = Counter()
#: Results that NumPy confirmed where mlx differs, by function.
SETTLED: Counter = Counter()
#: Comparisons that differ on purpose, by reason.
EXCUSED: Counter = Counter()
#: Functions whose cases were not run, with the reason.
SKIPPED: dict = {}
#: How often mlx stood still.
RESTARTS = 0


def compare(item, ours: Outcome, theirs: Outcome):
    """A sentence that says what is wrong; None if the outcomes agree."""
    COMPARED[item.function] += 1
    failed = theirs.error is not None or ours.error is not None
    problem = _errors(ours, theirs) if failed else _values(item, ours.value, theirs.value, "the result")
    if problem is not None and (why := differences.of_call(item, ours, theirs)) is not None:
        EXCUSED[why] += 1
        return None
    return problem


def _errors(ours, theirs):
    if ours.error is None:
        return f"gives {ours}, but mlx raises {theirs}"
    if theirs.error is None:
        return f"raises {ours}, but mlx gives {theirs}"
    if isinstance(ours.error, type(theirs.error)):
        return None
    return f"raises {ours}, but mlx raises {theirs}"


def _values(item, ours, theirs, where):
    if isinstance(theirs, Array):
        return _arrays(item, ours, theirs, where)
    if isinstance(theirs, (list, tuple)) and not (theirs and theirs[0] == "dtype"):
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return f"{where} is {ours!r}, in mlx {theirs!r}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if (problem := _values(item, a, b, f"item {i} of {where}")) is not None:
                return problem
        return None
    if isinstance(theirs, dict):
        if not isinstance(ours, dict) or ours.keys() != theirs.keys():
            return f"{where} is {ours!r}, in mlx {theirs!r}"
        return next((p for k in theirs if (p := _values(item, ours[k], theirs[k], f"{where}[{k!r}]"))), None)
    if type(ours) is not type(theirs):
        return f"{where} is {ours!r} ({type(ours).__name__}), in mlx {theirs!r} ({type(theirs).__name__})"
    both_nan = isinstance(theirs, float) and ours != ours and theirs != theirs
    return None if ours == theirs or both_nan else f"{where} is {ours!r}, in mlx {theirs!r}"


def _arrays(item, ours, theirs, where):
    if not isinstance(ours, Array):
        return f"{where} is {ours!r}, in mlx {theirs!r}"
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{where} is {ours.dtype}{list(ours.shape)}, in mlx {theirs.dtype}{list(theirs.shape)}"
    magnitude = largest(item)
    apart = tolerance.wrong(item.function, ours.dtype, ours.elements, theirs.elements, magnitude)
    if not apart.any():
        return None
    known = oracle.answer(item, ours.dtype)
    if known is not None and known.shape == ours.shape:
        apart = apart & tolerance.wrong(item.function, ours.dtype, ours.elements, known, magnitude)
        if not apart.any():
            SETTLED[item.function] += 1
            return None
    apart, reasons = differences.explain(item.function, ours.dtype, ours.elements, theirs.elements, apart)
    if not apart.any():
        EXCUSED.update(reasons)
        return None
    places = np.argwhere(apart)
    some = [f"{list(map(int, at))}: {ours.elements[tuple(at)]!r}, in mlx {theirs.elements[tuple(at)]!r}" for at in places[:4]]
    return f"{len(places)} of {apart.size} elements of {where} ({ours.dtype}) differ: {'; '.join(some)}"


def largest(item):
    """The largest finite element of the inputs."""
    top = 0.0
    for value in [*item.args, *item.kwargs.values()]:
        for part in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(part, Arr) and part.data.size and part.data.dtype.kind in "fc":
                sizes = np.abs(part.data.astype(np.complex128))
                sizes = sizes[np.isfinite(sizes)]
                top = max(top, float(sizes.max()) if sizes.size else 0.0)
    return top
