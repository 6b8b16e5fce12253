"""The examples of the pages that Pellucid started from run as they stand, only the import line changed."""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow.ipc
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
IMPORT = "import mlx.core as mx\n"


@pytest.fixture(scope="module")
def package(request):
    name = request.config.getoption("--subject")
    if name != "pellucid.core":
        pytest.skip("the examples are run with Pellucid only")
    return name


def run(code, folder, *options):
    done = subprocess.run([sys.executable, *options, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def example(name, package):
    text = (HERE / "seeds" / name).read_text()
    assert text.count(IMPORT) == 1
    return text.replace(IMPORT, f"import {package} as mx\n")


def command():
    """The `pellucid` command of this build, if there is one."""
    named = os.environ.get("PELLUCID_COMMAND")
    built = [ROOT / "target" / profile / "pellucid" for profile in ("debug", "release")]
    return named or next((str(path) for path in built if path.exists()), None) or shutil.which("pellucid")


def table(archive, name):
    chunks = sorted(member for member in archive.namelist() if member.startswith(name + "/"))
    return [row for chunk in chunks for row in pyarrow.ipc.open_stream(archive.read(chunk)).read_all().to_pylist()]


def test_devices_and_streams(package, tmp_path):
    printed = run(example("devices_and_streams.py", package), tmp_path).split("\n")
    assert printed[0] in ("Device(cpu, 0)", "Device(gpu, 0)")
    assert printed[1] == "(2048, 2048)"


@pytest.fixture(scope="module")
def captured(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("capture")
    run(example("metal_debugger.py", package), folder)
    return folder / "mlx_trace.gputrace"


def test_the_capture_example_writes_a_file_that_others_read(captured):
    with zipfile.ZipFile(captured) as archive:
        assert archive.testzip() is None
        ops, launches = table(archive, "ops"), table(archive, "launches")
        adds = [op for op in ops if op["name"] == "add"]
        assert len(adds) == 10
        assert all(op["shapes"] == [[512, 512]] and op["dtypes"] == ["float32"] for op in adds)
        assert {op["launch"] for op in adds} <= {launch["id"] for launch in launches}
        inputs = [op for op in ops if '"input"' in op["op"]]
        assert len(inputs) == 2
        for op in inputs:
            elements = np.load(io.BytesIO(archive.read(f"tensors/{op['id']}.npy")))
            assert elements.shape == (512, 512) and 0 <= elements.min() and elements.max() < 1


def test_the_captured_operations_name_the_line_of_the_program(captured):
    with zipfile.ZipFile(captured) as archive:
        adds = [op for op in table(archive, "ops") if op["name"] == "add"]
    assert {op["call_site"] for op in adds} == {"<string>:14"}


def test_the_command_summarises_the_capture(captured):
    pellucid = command()
    if pellucid is None:
        pytest.skip("the pellucid command is not built; PELLUCID_COMMAND names it")
    done = subprocess.run([pellucid, "summary", captured], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "add" in done.stdout


def test_every_name_of_the_metal_pages_is_there_and_callable(mx):
    for name in (HERE / "seeds" / "metal_names.txt").read_text().split():
        assert callable(getattr(mx.metal, name)), name


def test_the_older_pages_memory_limit_takes_relaxed(package, mx):
    before = mx.metal.set_memory_limit(1 << 30, relaxed=True)
    assert mx.metal.set_memory_limit(before, relaxed=False) == 1 << 30
    assert mx.set_memory_limit(before) == before


def test_a_second_capture_to_the_same_path_is_refused(captured, mx):
    with pytest.raises(RuntimeError, match="exists"):
        mx.metal.start_capture(str(captured))
