"""A trace's summary as HTML, for notebooks. Every text of the file is escaped: a trace may come from anywhere."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pellucid.trace import Trace

_MOST = 10


def page(trace: Trace) -> str:
    """What ran, for how long and on what, with the kernels that took most of the time."""
    parts = ['<div class="pellucid-trace">', f"<h4>{_text(trace.path)}</h4>", _facts(trace.manifest)]
    try:
        parts += [_kernels(trace), _streams(trace)]
    except ImportError as error:
        parts.append(f"<p>Kernels are not shown: {_text(error)}.</p>")
    except Exception as error:  # A damaged table must not hide the rest.
        parts.append(f"<p>Kernels cannot be read: {_text(error)}</p>")
    notes = _listed(trace.manifest.get("left_out"))
    if trace.manifest.get("partial") is True:
        notes = ["The capture did not end by itself.", *notes]
    parts += [f"<p>{_text(note)}</p>" for note in notes]
    return "".join([*parts, "</div>"])


def _facts(manifest: dict[str, Any]) -> str:
    counts, window = _dictionary(manifest.get("counts")), _dictionary(manifest.get("window"))
    memory, program = _dictionary(manifest.get("memory")), _dictionary(manifest.get("program"))
    devices = [_dictionary(device).get("name", "?") for device in _listed(manifest.get("devices"))]
    rows = [
        ("program", program.get("name", "?")),
        ("devices", ", ".join(str(device) for device in devices)),
        ("mode", manifest.get("mode", "?")),
        ("window", _duration(window.get("duration_ns"))),
        ("operations", counts.get("ops", 0)),
        ("launches", counts.get("launches", 0)),
        ("peak memory", _bytes(memory.get("peak"))),
    ]
    return _table((), rows)


def _kernels(trace: Trace) -> str:
    times: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for kernel, start, end, moved in trace._rows("launches", "kernel", "start_ns", "end_ns", "bytes"):
        entry = times[kernel]
        entry[0] += 1
        entry[1] += max(end - start, 0)
        entry[2] += moved
    first = sorted(times.items(), key=lambda item: -item[1][1])[:_MOST]
    rows = [
        (name, count, _duration(time), f"{moved / time:.2f} GB/s" if time else "")
        for name, (count, time, moved) in first
    ]
    return _table(("kernel", "launches", "time", "moved"), rows) if rows else "<p>Nothing ran.</p>"


def _streams(trace: Trace) -> str:
    busy: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for stream, device, start, end in trace._rows("launches", "stream", "device", "start_ns", "end_ns"):
        entry = busy[stream, device]
        entry[0] += 1
        entry[1] += max(end - start, 0)
    rows = [(index, device, count, _duration(time)) for (index, device), (count, time) in sorted(busy.items())]
    return _table(("stream", "device", "launches", "busy"), rows) if rows else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["<table>"]
    if head:
        lines.append("<thead><tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in head) + "</tr></thead>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>")
    return "".join([*lines, "</table>"])


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)


def _dictionary(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _duration(value: object) -> str:
    if not isinstance(value, (int, float)):
        return "?"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} ns"


def _bytes(value: object) -> str:
    if not isinstance(value, (int, float)):
        return "?"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value} B"
