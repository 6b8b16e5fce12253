"""Writes the members of a `.pltrace` file: a ZIP of Arrow IPC streams, JSON and NumPy files."""

import io
import json
import zipfile

import numpy as np
import pyarrow as pa

U64, I64, U32, I32, F64, TEXT = pa.uint64(), pa.int64(), pa.uint32(), pa.int32(), pa.float64(), pa.utf8()
# Columns that may hold nulls; no others do, and no element of a list.
NULLABLE = {"ops": {"launch", "label", "region", "error", "buffer"}, "launches": {"source"}, "memory": {"op"}, "stats": {"min", "max", "mean"}}


def list_(kind):
    return pa.list_(pa.field("item", kind, nullable=False))


SCHEMAS = {
    "ops": [
        ("id", U64), ("name", TEXT), ("op", TEXT), ("inputs", list_(U64)), ("outputs", list_(U64)),
        ("shapes", list_(list_(U64))), ("dtypes", list_(TEXT)), ("device", TEXT), ("stream", U32),
        ("launch", U64), ("call_site", TEXT), ("label", TEXT), ("region", U32), ("flops", U64), ("bytes", U64),
        ("fallback", pa.bool_()), ("error", TEXT), ("buffer", U64),
    ],
    "launches": [
        ("id", U64), ("kernel", TEXT), ("source", TEXT), ("device", TEXT), ("stream", U32), ("submission", U64),
        ("grid", list_(U32)), ("enqueue_ns", I64), ("start_ns", I64), ("end_ns", I64), ("timed_by", TEXT),
        ("ops", list_(U64)), ("bytes", U64), ("flops", U64),
    ],
    "memory": [
        ("time_ns", I64), ("event", TEXT), ("buffer", U64), ("bytes", U64), ("op", U64), ("device", TEXT),
        ("active", U64), ("cache", U64), ("peak", U64),
    ],
    "sync": [("time_ns", I64), ("waiter", I32), ("waited_for", U32), ("duration_ns", I64)],
    "stats": [
        ("array", U64), ("op", U64), ("dtype", TEXT), ("size", U64), ("min", F64), ("max", F64), ("mean", F64),
        ("nan", U64), ("inf", U64), ("zero", U64), ("hash", TEXT),
    ],
}


def schema(name):
    return pa.schema([pa.field(column, kind, nullable=column in NULLABLE.get(name, ())) for column, kind in SCHEMAS[name]])


def stream_bytes(table):
    """One Arrow IPC stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def npy_bytes(array):
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.ascontiguousarray(array), version=(1, 0))
    return sink.getvalue()


class Writer:
    """Members in order; `manifest.json` comes last."""

    def __init__(self, path, level=6):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level)

    def member(self, name, data):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)

    def rows(self, name, rows, chunk=0):
        if rows:
            self.member(f"{name}/{chunk:06}.arrow", stream_bytes(pa.Table.from_pylist(rows, schema(name))))

    def table(self, name, table, chunk=0):
        self.member(f"{name}/{chunk:06}.arrow", stream_bytes(table))

    def close(self, manifest):
        self.member("manifest.json", json.dumps(manifest, indent=1))
        self.zip.close()


def manifest(**changes):
    """A manifest with every key, to be adjusted."""
    base = {
        "format": "pltrace", "version": 1, "writer": "pellucid 0.1.0",
        "program": {"name": "train", "args": ["--steps", "3"], "pid": 4711},
        "machine": {"os": "linux", "arch": "x86_64", "cpu": "Example CPU", "cores": 8, "memory_bytes": 16 << 30},
        "devices": [
            {"device": "Device(gpu, 0)", "type": "gpu", "index": 0, "name": "Example GPU", "architecture": "example",
             "backend": "vulkan", "driver": "example 1.0", "memory_bytes": 8 << 30, "features": ["timestamps", "subgroups"],
             "roof": {"bytes_per_second": 2.0e11, "flops_per_second": 4.0e12}},
            {"device": "Device(cpu, 0)", "type": "cpu", "index": 0, "name": "Example CPU", "architecture": "x86_64",
             "backend": "cpu", "driver": "", "memory_bytes": 16 << 30, "features": ["avx2"],
             "roof": {"bytes_per_second": 2.0e10, "flops_per_second": 1.0e11}},
        ],
        "streams": [
            {"index": 0, "device": "Device(gpu, 0)", "label": "main"},
            {"index": 1, "device": "Device(gpu, 0)", "label": "prefetch"},
            {"index": 2, "device": "Device(cpu, 0)", "label": "data"},
        ],
        "mode": "full", "window": {"start_unix_ns": 1763000000000000000, "duration_ns": 0},
        "memory": {"active_at_start": 0, "cache_at_start": 0, "active_at_end": 0, "cache_at_end": 0, "peak": 0, "limit": 0},
        "counts": {}, "truncated": False, "left_out": [], "partial": False, "native": [], "regions": [],
    }
    base.update(changes)
    return base
