"""Traces with very many launches, made from arrays at once rather than row by row."""

import numpy as np
import pyarrow as pa

from .writer import Writer, manifest, schema

KERNELS = [
    ("matmul", '"matmul"', "matmul float32", 22_000, 4_000_000), ("add", '{"binary":"add"}', "add+tanh float32", 4_000, 20_000),
    ("softmax", '{"softmax":{"axes":[1],"precise":false}}', "softmax float32", 9_000, 90_000),
    ("sum", '{"reduce":{"op":"sum","axes":[1],"keepdims":false}}', "sum float32", 5_000, 30_000),
    ("take", '{"take":{"axis":0}}', "take float32", 3_000, 0),
]


def lists(values, per_row, kind):
    rows = len(values) // per_row
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * per_row, pa.int32()), pa.array(values, kind))


def pick(choices, which):
    return pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), pa.array(choices, pa.utf8())).cast(pa.utf8())


def write(path, count=1_000_000, chunk=250_000, streams=4):
    rng = np.random.default_rng(3)
    ids = np.arange(1, count + 1, dtype=np.uint64)
    which = rng.choice(len(KERNELS), count, p=[0.2, 0.45, 0.1, 0.15, 0.1])
    stream = (np.minimum(rng.geometric(0.5, count) - 1, streams - 1) if streams < 10 else np.arange(count) % streams).astype(np.uint32)
    duration = (np.array([k[3] for k in KERNELS])[which] * rng.uniform(0.6, 1.6, count)).astype(np.int64)
    start = np.zeros(count, np.int64)
    for s in range(streams):
        rows = np.flatnonzero(stream == s)
        gaps = rng.integers(300, 3_000, len(rows)) + (rng.random(len(rows)) < 0.001) * 4_000_000
        before = np.concatenate([[0], np.cumsum(duration[rows] + gaps)[:-1]])
        start[rows] = before + gaps
    order = np.argsort(start + duration, kind="stable")
    which, stream, start, duration = which[order], stream[order], start[order], duration[order]
    first = np.maximum(ids.astype(np.int64) - rng.integers(1, 40, count), 1)
    second = np.maximum(ids.astype(np.int64) - rng.integers(1, 4, count), 1)
    inputs = np.stack([first, second], 1)
    inputs[0] = 0
    flops = np.array([k[4] for k in KERNELS], np.uint64)[which]
    sizes = np.full(count, 65_536, np.uint64)
    site = pick([f"src/model.rs:{n}" for n in range(20, 420)], rng.integers(0, 400, count))
    text = lambda column: pick([k[column] for k in KERNELS], which)
    none = lambda kind: pa.nulls(count, kind)
    offsets = np.arange(count + 1, dtype=np.int32) * 2 - 2
    offsets[0] = 0
    ops = pa.table([
        pa.array(ids), text(0), text(1), pa.ListArray.from_arrays(pa.array(offsets), pa.array(inputs[1:].reshape(-1), pa.uint64())),
        lists(ids, 1, pa.uint64()), pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), lists(np.tile([128, 128], count), 2, pa.uint64())),
        pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), pick(["float32"], np.zeros(count, np.int32))),
        pick(["Device(gpu, 0)"], np.zeros(count, np.int32)), pa.array(stream), pa.array(ids), site, none(pa.utf8()),
        pa.array((np.arange(count) * 50 // count + 1).astype(np.uint32)), pa.array(flops), pa.array(sizes),
        pa.array(np.zeros(count, bool)), none(pa.utf8()), pa.array(ids),
    ], names=schema("ops").names)
    launches = pa.table([
        pa.array(ids), text(2), none(pa.utf8()), pick(["Device(gpu, 0)"], np.zeros(count, np.int32)), pa.array(stream),
        pa.array(ids // 8), lists(np.tile(np.array([256, 1, 1], np.uint32), count), 3, pa.uint32()), pa.array(np.maximum(start - 9_000, 0)),
        pa.array(start), pa.array(start + duration), pick(["gpu timestamp"], np.zeros(count, np.int32)), lists(ids, 1, pa.uint64()),
        pa.array(sizes), pa.array(flops),
    ], names=schema("launches").names)
    live = 64
    alive = np.minimum(np.arange(1, count + 1), live) * 65_536
    lives = np.stack([ids, np.maximum(ids.astype(np.int64) - live, 0)], 1)[: count // 4]
    memory_rows = len(lives)
    memory = pa.table([
        pa.array(np.sort(start)[:: 4][:memory_rows]), pick(["allocate", "reuse"], (np.arange(memory_rows) > live).astype(np.int32)), pa.array(ids[:memory_rows]),
        pa.array(sizes[:memory_rows]), pa.array(ids[:memory_rows]), pick(["Device(gpu, 0)"], np.zeros(memory_rows, np.int32)),
        pa.array(alive[:memory_rows].astype(np.uint64)), pa.array((rng.integers(0, 40, memory_rows) * 65_536).astype(np.uint64)),
        pa.array(np.maximum.accumulate(alive[:memory_rows]).astype(np.uint64)),
    ], names=schema("memory").names)
    ops, launches, memory = (table.cast(schema(name)) for name, table in (("ops", ops), ("launches", launches), ("memory", memory)))
    writer = Writer(path, level=1)
    for name, table in (("ops", ops), ("launches", launches), ("memory", memory)):
        for number, begin in enumerate(range(0, table.num_rows, chunk)):
            writer.table(name, table.slice(begin, chunk).combine_chunks(), number)
    end = int((start + duration).max())
    regions = [{"id": n + 1, "parent": None, "name": f"step {n}", "start_ns": end * n // 50, "end_ns": end * (n + 1) // 50, "thread": "main"} for n in range(50)]
    writer.close(manifest(
        mode="timeline", window={"start_unix_ns": 0, "duration_ns": end}, regions=regions,
        streams=[{"index": s, "device": "Device(gpu, 0)", "label": f"stream {s}"} for s in range(streams)],
        memory={"active_at_start": 0, "cache_at_start": 0, "active_at_end": 0, "cache_at_end": 0, "peak": live * 65_536, "limit": 1 << 30},
        counts={"ops": count, "inputs": 0, "launches": count, "memory": memory_rows, "sync": 0, "stats": 0, "kernels": 0, "tensors": 0, "regions": 50},
    ))
