"""A captured program is read and computed again by software that is not ours: zipfile, pyarrow and NumPy.

Runs with pytest. Needs numpy, pyarrow and `cargo build -p pellucid --example metal_capture` (or EXAMPLES=folder of it).
"""

import functools
import io
import json
import os
import pathlib
import subprocess
import tempfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = pathlib.Path(os.environ.get("EXAMPLES", ROOT / "target/debug/examples"))
FOLDER = tempfile.TemporaryDirectory()
TABLES = "ops launches memory sync stats".split()

# Sums and functions differ in their last bits; the rest must be the same to the bit.
ROUNDED = {"matmul", "softmax", "tanh", "sum"}
RELATIVE = 2e-5


@functools.cache
def captured(device):
    path = pathlib.Path(FOLDER.name) / f"{device} ü.pltrace"
    environment = {**os.environ, "PELLUCID_DEVICE": device}
    done = subprocess.run([EXAMPLES / "metal_capture", path], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        members = {name: archive.read(name) for name in archive.namelist()}
    return members


def table(members, name):
    chunks = sorted(member for member in members if member.startswith(name + "/"))
    assert chunks, f"no table {name}"
    return pa.concat_tables(pyarrow.ipc.open_stream(members[chunk]).read_all() for chunk in chunks).to_pylist()


def compute(op, inputs):
    """What an operation means, in NumPy."""
    ((kind, given),) = op.items() if isinstance(op, dict) else [(op, None)]
    match kind:
        case "binary":
            return {"add": np.add, "multiply": np.multiply}[given](*inputs)
        case "unary":
            return {"tanh": np.tanh}[given](*inputs)
        case "matmul":
            return inputs[0] @ inputs[1]
        case "softmax":
            axes = tuple(given["axes"])
            e = np.exp(inputs[0] - inputs[0].max(axis=axes, keepdims=True))
            return e / e.sum(axis=axes, keepdims=True)
        case "reduce":
            assert given["op"] == "sum"
            return inputs[0].sum(axis=tuple(given["axes"]), keepdims=given["keepdims"])
        case "full":
            ((_, value),) = given["value"].items()
            return np.full(given["shape"], value, given["dtype"])
        case "broadcast":
            return np.broadcast_to(inputs[0], given["shape"])
    raise AssertionError(f"the program has no {kind}")


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_every_result_is_computed_again_from_the_recorded_inputs(device):
    members = captured(device)
    arrays, checked = {}, set()
    stats = {row["array"]: row for row in table(members, "stats")}
    for row in table(members, "ops"):
        (array,) = row["outputs"]
        if row["name"] == "input":
            arrays[array] = np.load(io.BytesIO(members[f"tensors/{array}.npy"]))
        else:
            arrays[array] = compute(json.loads(row["op"]), [arrays[i] for i in row["inputs"]])
        made = arrays[array]
        assert list(made.shape) == row["shapes"][0] and made.dtype == row["dtypes"][0], row
        if array not in stats:
            continue
        figures, values = stats[array], made.astype(np.float64)
        tolerance = RELATIVE if row["name"] in ROUNDED else 0
        for name, value in {"min": values.min(), "max": values.max(), "mean": values.mean()}.items():
            assert np.isclose(figures[name], value, rtol=max(tolerance, 1e-12), atol=tolerance), (row["name"], name)
        assert (figures["nan"], figures["inf"], figures["size"]) == (0, 0, made.size)
        checked.add(row["name"])
    assert {"input", "add", "matmul", "softmax", "sum"} <= checked


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_the_counts_are_those_of_the_program(device):
    members = captured(device)
    tables = {name: table(members, name) for name in TABLES}
    names = [row["name"] for row in tables["ops"]]
    assert [names.count(n) for n in ("add", "matmul", "softmax", "multiply", "tanh", "sum")] == [11, 1, 1, 1, 1, 1]
    # Ten sums, a product, a softmax, the chain and the sum over it.
    assert len(tables["launches"]) == 14
    assert len({row["stream"] for row in tables["launches"]}) == 3
    # The default stream waits for both others.
    between = [row for row in tables["sync"] if row["waiter"] >= 0]
    assert len({(row["waiter"], row["waited_for"]) for row in between}) == 2
    manifest = json.loads(members["manifest.json"])
    assert manifest["counts"]["launches"] == 14 and not manifest["partial"] and not manifest["truncated"]


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_times_fit_the_window_and_their_stream(device):
    members = captured(device)
    window = json.loads(members["manifest.json"])["window"]["duration_ns"]
    launches = table(members, "launches")
    expected = {"cpu": {"host clock"}, "gpu": {"gpu timestamp", "gpu submission"}}[device]
    assert {row["timed_by"] for row in launches} <= expected
    for stream in {row["stream"] for row in launches}:
        own = [row for row in launches if row["stream"] == stream]
        assert sum(row["end_ns"] - row["start_ns"] for row in own) <= window
        assert all(a["end_ns"] <= b["start_ns"] for a, b in zip(own, own[1:]))
        assert all(0 <= row["enqueue_ns"] <= row["end_ns"] <= window for row in own)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_memory_rows_add_up(device):
    members = captured(device)
    manifest = json.loads(members["manifest.json"])["memory"]
    active = manifest["active_at_start"]
    for row in table(members, "memory"):
        if row["event"] in ("allocate", "reuse"):
            active += row["bytes"]
        elif row["event"] == "free":
            active -= row["bytes"]
        assert row["active"] == active, row
    assert active == manifest["active_at_end"]
