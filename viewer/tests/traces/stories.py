"""Small traces, each with one story to tell: where a NaN came from, what was slow, what is missing."""

import numpy as np

from .hostile import launch, op
from .writer import Writer, manifest, npy_bytes

INPUT = '{"input":{}}'
LOG, ADD, VIEW = '{"unary":"log"}', '{"binary":"add"}', '{"transpose":{"axes":[1,0]}}'
CPU, GPU = "Device(cpu, 0)", "Device(gpu, 0)"


def stat(array, nan=0, inf=0):
    return {"array": array, "op": array, "dtype": "float32", "size": 4, "min": 0.5, "max": 1.5, "mean": 1.0, "nan": nan, "inf": inf, "zero": 0, "hash": f"{array:016x}"}


def event(time, kind, buffer, active, size=16, array=None, device=CPU):
    return {"time_ns": time, "event": kind, "buffer": buffer, "bytes": size, "op": array, "device": device, "active": active, "cache": 0, "peak": active}


def wait(time, waiter, waited_for, duration):
    return {"time_ns": time, "waiter": waiter, "waited_for": waited_for, "duration_ns": duration}


def given(number, **changes):
    return op(number, name="input", op=INPUT, launch=None, flops=0, bytes=0, **changes)


def view(number, source):
    return op(number, [source], name="transpose", op=VIEW, launch=None, flops=0, bytes=0)


def write(path, ops, launches, stats=(), memory=(), sync=(), **changes):
    writer = Writer(path)
    tables = {"ops": ops, "launches": sorted(launches, key=lambda row: row["end_ns"]), "memory": list(memory), "sync": list(sync), "stats": list(stats)}
    for name, rows in tables.items():
        writer.rows(name, rows)
    counts = {name: len(rows) for name, rows in tables.items()} | {"inputs": sum(row["name"] == "input" for row in ops), "kernels": 0, "tensors": 0, "regions": 0}
    data = {"mode": "stats", "window": {"start_unix_ns": 0, "duration_ns": 100_000_000}, "counts": counts,
            "streams": [{"index": n, "device": CPU, "label": f"stream {n}"} for n in range(3)]}
    writer.close(manifest(**(data | changes)))


def chain(count, name="log", **changes):
    """One input, then each operation reads the one before."""
    ops = [given(1)] + [op(n, [n - 1], name=name, op=LOG, launch=n, **changes) for n in range(2, count + 2)]
    return ops, [launch(n, [n]) for n in range(2, count + 2)]


def nan_fused(path):
    ops = [given(1), op(2, [1], name="log", op=LOG, launch=2), op(3, [2], name="add", launch=2), op(4, [3], name="log", op=LOG, launch=4), op(5, [1], launch=5)]
    write(path, ops, [launch(2, [2, 3], kernel="log+add float32"), launch(4, [4]), launch(5, [5])], [stat(1), stat(3, nan=2), stat(4, nan=2), stat(5)])


def nan_view(path):
    """The array after the maker is a view, which has no figures and is not to be blamed."""
    ops = [given(1), op(2, [1], name="log", op=LOG, launch=2), view(3, 2), op(4, [3], launch=4), view(5, 1), op(6, [5], launch=6)]
    write(path, ops, [launch(2, [2]), launch(4, [4]), launch(6, [6])], [stat(1), stat(2, nan=1), stat(4, nan=1), stat(6)])


def nan_given(path):
    ops, launches = chain(3)
    write(path, ops, launches, [stat(n, nan=1) for n in range(1, 5)])


def nan_mask(path):
    mask = op(2, name="full", op='{"full":{"shape":[2,2],"value":{"float":"-inf"},"dtype":"float32"}}', launch=None, flops=0, bytes=0)
    write(path, [given(1), mask, op(3, [1, 2], launch=3)], [launch(3, [3])], [stat(1), stat(3, inf=4)])


def nan_many(path):
    ops = [given(1)] + [op(n, [1], name="log", op=LOG, launch=n) for n in range(2, 152)]
    write(path, ops, [launch(n, [n]) for n in range(2, 152)], [stat(1)] + [stat(n, nan=1) for n in range(2, 152)])


def inf_only(path):
    ops, launches = chain(2, name="exp")
    write(path, ops, launches, [stat(1), stat(2, inf=3), stat(3, inf=3)])


def two_devices(path):
    ops = [given(1), op(2, [1], device=CPU, launch=2), op(3, [2], device=GPU, stream=1, launch=3), op(4, [3], device=GPU, stream=1, launch=4)]
    launches = [launch(2, [2]), launch(3, [3], device=GPU, stream=1, timed_by="gpu timestamp"), launch(4, [4], device=GPU, stream=1, timed_by="gpu timestamp")]
    memory = [event(100, "allocate", 1, 64, 64, 2), event(200, "allocate", 1, 4096, 4096, 3, GPU), event(9000, "free", 1, 0, 4096, 3, GPU)]
    write(path, ops, launches, [stat(n) for n in range(1, 5)], memory, [wait(2500, 1, 0, 400)])


def held_before(path):
    ops, launches = chain(2)
    memory = [event(1, "allocate", 7, 1_000_016, 16, 2), event(2, "free", 3, 500_016, 500_000), event(3, "allocate", 8, 500_032, 16, 3)]
    start = {"active_at_start": 1_000_000, "cache_at_start": 0, "active_at_end": 500_032, "cache_at_end": 0, "peak": 1_000_016, "limit": 0}
    write_with(path, ops, launches, memory, start)


def write_with(path, ops, launches, events, totals):
    writer = Writer(path)
    for name, rows in (("ops", ops), ("launches", launches), ("memory", events)):
        writer.rows(name, rows)
    counts = {"ops": len(ops), "inputs": 1, "launches": len(launches), "memory": len(events), "sync": 0, "stats": 0, "kernels": 0, "tensors": 0, "regions": 0}
    writer.close(manifest(mode="timeline", window={"start_unix_ns": 0, "duration_ns": 100_000_000}, counts=counts, memory=totals))


def fallbacks(path):
    ops = [given(1)] + [op(n, [1], device=CPU, launch=n, fallback=True) for n in range(2, 6)]
    write(path, ops, [launch(n, [n]) for n in range(2, 6)])


def waits(path):
    ops = [given(1), op(2, [1], launch=2), op(3, [1], stream=1, launch=3), op(4, [1], launch=4)]
    launches = [launch(2, [2]), launch(3, [3], stream=1), launch(4, [4], start_ns=60_000, end_ns=61_000, enqueue_ns=50_000)]
    write(path, ops, launches, sync=[wait(2900, -1, 0, 40_000), wait(4000, 0, 1, 900)])


def repeats(path):
    write(path, [given(1)] + [op(n, [1], launch=n) for n in range(2, 8)], [launch(n, [n]) for n in range(2, 8)])


def slow_first(path):
    ops = [given(1)] + [op(n, [1], name="log", op=LOG, launch=n) for n in range(2, 30)]
    launches = [launch(n, [n], start_ns=n * 1_000_000, end_ns=n * 1_000_000 + (900_000 if n in (2, 17) else 10_000)) for n in range(2, 30)]
    write(path, ops, launches)


def needle(path):
    """One NaN among four million elements."""
    values = np.linspace(-1, 1, 2048 * 2048, dtype=np.float32).reshape(2048, 2048)
    values[1021, 1499] = np.nan
    row = given(1, shapes=[[2048, 2048]])
    found = stat(1, nan=1) | {"size": values.size}
    counts = {"ops": 1, "inputs": 1, "launches": 0, "memory": 0, "sync": 0, "stats": 1, "kernels": 0, "tensors": 1, "regions": 0}
    writer = Writer(path, level=1)
    writer.rows("ops", [row])
    writer.rows("stats", [found])
    writer.member("tensors/1.npy", npy_bytes(values))
    writer.close(manifest(mode="full", window={"start_unix_ns": 0, "duration_ns": 1000}, counts=counts))


KINDS = {
    "needle": needle,
    "clean": lambda path: write(path, *chain(8), [stat(n) for n in range(1, 10)]),
    "nan_fused": nan_fused, "nan_view": nan_view, "nan_given": nan_given, "nan_mask": nan_mask, "nan_many": nan_many, "inf_only": inf_only,
    "two_devices": two_devices, "held_before": held_before, "fallbacks": fallbacks, "waits": waits, "repeats": repeats, "slow_first": slow_first,
    "no_memory": lambda path: write(path, *chain(3), [stat(n) for n in range(1, 5)]),
    "no_stats": lambda path: write(path, *chain(3), mode="timeline"),
    "empty": lambda path: write(path, [], []),
    "one_launch": lambda path: write(path, *chain(1)),
    "truncated": lambda path: write(path, *chain(4), truncated=True, left_out=["tensors: the file reached its limit"]),
    "partial": lambda path: write(path, *chain(4), partial=True),
    "deep": lambda path: write(path, *chain(3000)),
}
