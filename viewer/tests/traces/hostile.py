"""Traces that want to do harm or are simply broken. The viewer shows an error for each, or plain text for the first."""

import copy
import json
import struct
import zipfile
import zlib

import pyarrow as pa

from . import sample
from .writer import Writer, manifest, schema, stream_bytes

SCRIPT = '<script>alert("owned")</script><img src=x onerror=alert(1)>'
HANDLER = '" onmouseover="alert(2)" x="${alert(3)}'


def op(number, inputs=(), name="add", **changes):
    row = {
        "id": number, "name": name, "op": '{"binary":"add"}', "inputs": list(inputs), "outputs": [number], "shapes": [[2, 2]],
        "dtypes": ["float32"], "device": "Device(cpu, 0)", "stream": 0, "launch": number, "call_site": "a.rs:1", "label": None,
        "region": None, "flops": 4, "bytes": 48, "fallback": False, "error": None, "buffer": None,
    }
    return row | changes


def launch(number, ops, **changes):
    row = {
        "id": number, "kernel": "add float32", "source": None, "device": "Device(cpu, 0)", "stream": 0, "submission": 1,
        "grid": [1, 1, 1], "enqueue_ns": 0, "start_ns": number * 1000, "end_ns": number * 1000 + 800, "timed_by": "host clock",
        "ops": list(ops), "bytes": 48, "flops": 4,
    }
    return row | changes


def simple(path, ops=None, launches=None, change=None, counts=None, extra=()):
    ops = [op(1, name="input", op='{"input":{}}', launch=None), op(2, [1])] if ops is None else ops
    launches = [launch(2, [2])] if launches is None else launches
    writer = Writer(path)
    writer.rows("ops", ops)
    writer.rows("launches", launches)
    for name, data in extra:
        writer.member(name, data)
    data = manifest(counts={"ops": len(ops), "launches": len(launches)} | (counts or {}), window={"start_unix_ns": 0, "duration_ns": 10_000})
    writer.close(change(data) if change else data)


def script(path):
    """Markup in every text of an otherwise valid trace."""
    kernel = "kernels/00000000000000aa.wgsl"
    rows = [
        op(1, name="input", op='{"input":{}}', launch=None, label=SCRIPT),
        op(2, [1], name=SCRIPT, label=HANDLER, call_site=SCRIPT, error=SCRIPT, region=1, op=json.dumps({SCRIPT: HANDLER})),
    ]

    def change(data):
        data["program"] = {"name": SCRIPT, "args": [HANDLER], "pid": 1}
        data["regions"] = [{"id": 1, "parent": None, "name": SCRIPT, "start_ns": 0, "end_ns": 9000, "thread": SCRIPT}]
        data["streams"][0]["label"] = SCRIPT
        data["devices"][0]["name"] = SCRIPT
        data["left_out"] = [SCRIPT]
        data["writer"] = SCRIPT
        return data

    simple(path, rows, [launch(2, [2], kernel=SCRIPT, source=kernel, timed_by=HANDLER)], change, {"kernels": 1, "regions": 1},
           [(kernel, f"// {SCRIPT}\nfn main() {{ let a = \"{HANDLER}\"; }}\n")])


def wrong_types(path):
    writer = Writer(path)
    bad = schema("ops").set(0, pa.field("id", pa.utf8()))
    row = op(1) | {"id": SCRIPT}
    writer.member("ops/000000.arrow", stream_bytes(pa.Table.from_pylist([row], bad)))
    writer.close(manifest(counts={"ops": 1}))


def missing_column(path):
    writer = Writer(path)
    writer.member("ops/000000.arrow", stream_bytes(pa.Table.from_pylist([op(1)], schema("ops")).drop_columns(["inputs"])))
    writer.close(manifest(counts={"ops": 1}))


def no_manifest(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ops/000000.arrow", b"x")


def cut_short(path):
    sample.write(path)
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])


def flipped_bits(path):
    sample.write(path)
    with open(path, "r+b") as file:
        file.seek(300)
        file.write(b"\xff" * 64)


def bomb(path):
    """A member that claims a gigabyte of zeros for each of its megabytes."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    data = zeros * 3000 + squeeze.flush()
    name, size = b"ops/000000.arrow", 3000 << 20
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, 0, len(data), size, len(name), 0) + name + data
    text = json.dumps(manifest(counts={"ops": 1})).encode()
    other = b"manifest.json"
    second = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 0, zlib.crc32(text), len(text), len(text), len(other), 0) + other + text
    entry = lambda n, method, crc, packed, full, at: struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, method, 0, 0, crc, packed, full, len(n), 0, 0, 0, 0, 0, at) + n
    directory = entry(name, 8, 0, len(data), size, 0) + entry(other, 0, zlib.crc32(text), len(text), len(text), len(local))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 2, 2, len(directory), len(local) + len(second), 0)
    with open(path, "wb") as file:
        file.write(local + second + directory + end)


def lying_size(path):
    """More bytes come out than the directory says."""
    sample.write(path)
    with open(path, "r+b") as file:
        data = file.read()
        at = data.index(b"PK\x01\x02")
        file.seek(at + 24)
        file.write(struct.pack("<I", 1000))


def bad_offsets(path):
    """List offsets that point outside of the file."""
    rows = [op(1), op(2, [1]), op(3, [1, 2]), op(4, [1, 2, 3])]
    data = bytearray(stream_bytes(pa.Table.from_pylist(rows, schema("ops"))))
    at = data.index(struct.pack("<5i", 0, 0, 1, 3, 6))
    data[at: at + 20] = struct.pack("<5i", 0, 0, 1, 900_000_000, 2_000_000_000)
    writer = Writer(path)
    writer.member("ops/000000.arrow", bytes(data))
    writer.close(manifest(counts={"ops": 4}))


def newer(data):
    return data | {"version": 3}


def manifest_types(data):
    data = copy.deepcopy(data)
    data["streams"] = {"a": SCRIPT}
    data["window"] = SCRIPT
    return data


def text_file(path):
    with open(path, "w") as file:
        file.write(SCRIPT * 100)


KINDS = {
    "script": script,
    "wrong_types": wrong_types,
    "missing_column": missing_column,
    "no_manifest": no_manifest,
    "cut_short": cut_short,
    "flipped_bits": flipped_bits,
    "bomb": bomb,
    "lying_size": lying_size,
    "bad_offsets": bad_offsets,
    "text_file": text_file,
    "newer": lambda path: simple(path, change=newer),
    "manifest_types": lambda path: simple(path, change=manifest_types),
    "cycle": lambda path: simple(path, [op(1, [2]), op(2, [1])], [launch(2, [1, 2])]),
    "unknown_ids": lambda path: simple(path, [op(1, [77]), op(2, [1], launch=99)], [launch(2, [2, 55])]),
    "twice": lambda path: simple(path, [op(1), op(1)], [launch(1, [1])]),
    "fewer_rows": lambda path: simple(path, counts={"ops": 500}),
    "missing_member": lambda path: simple(path, counts={"stats": 12}),
}
