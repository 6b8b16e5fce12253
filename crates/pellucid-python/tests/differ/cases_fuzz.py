"""Random indices, random assignments: what stands between the brackets is drawn part by part."""

import numpy as np

from differ.cases_index import as_numpy
from differ.values import Arr, a_layout, call, random, rng

READS, WRITES = 400, 300


def a_slice(g, size):
    low, high = -size - 2, size + 3
    ends = [None if g.random() < 0.3 else int(g.integers(low, high)) for _ in range(2)]
    step = None if g.random() < 0.5 else int(g.choice([-3, -2, -1, 1, 2, 3]))
    return slice(*ends, step)


def an_index(g, shape, arrays=True):
    """A valid index of an array of this shape."""
    parts, used_array = [], None
    for size in shape[: int(g.integers(0, len(shape) + 1))]:
        if g.random() < 0.15:
            parts.append(None)
        kind = g.random()
        if kind < 0.3 and size:
            parts.append(int(g.integers(-size, size)))
        elif kind < 0.5 and arrays and size:
            used_array = used_array or tuple(int(n) for n in g.integers(1, 4, int(g.integers(1, 3))))
            parts.append(Arr(g.integers(-size, size, used_array).astype(np.int32), "int32"))
        else:
            parts.append(a_slice(g, size))
    if g.random() < 0.2:
        # An ellipsis stands for the axes that are left, so it may only come last here.
        parts.append(Ellipsis)
    if len(parts) == 1 and g.random() < 0.5:
        return parts[0]
    return tuple(parts)


def a_shape(g):
    return tuple(int(n) for n in g.integers(1, 6, int(g.integers(1, 5))))


def cases():
    g = rng("fuzz")
    for _ in range(READS):
        shape = a_shape(g)
        yield call("operator.getitem", random(g, "int32", shape, a_layout(g)), an_index(g, shape))
    made = 0
    while made < WRITES:
        shape = a_shape(g)
        at = an_index(g, shape)
        place = np.arange(int(np.prod(shape))).reshape(shape)[as_numpy(at)]
        if len(np.unique(place)) != place.size or at is None or place.size == 0:
            continue  # Written twice: which write counts is open. Nothing written: mlx refuses by an accident.
        made += 1
        update = 7 if g.random() < 0.3 else random(g, "int32", np.shape(place)[int(g.integers(0, np.ndim(place) + 1)) :])
        yield call("set", random(g, "int32", shape, a_layout(g)), at, update)
