"""Captures from Python, and what `pellucid.trace` reads out of them."""

import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

pellucid = pytest.importorskip("pellucid")
ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.fixture(autouse=True)
def only_pellucid(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    import pellucid.core as mx

    path = tmp_path_factory.mktemp("trace") / "run.pltrace"
    small = mx.array([1.0, 2.5, -3.0]).astype(mx.bfloat16)
    a = mx.arange(12, dtype=mx.float32).reshape(3, 4)
    mx.eval(a, small)
    with pellucid.capture(path, mode="full") as block:
        stream = mx.new_stream(mx.cpu)
        mx.eval(mx.exp(a) @ a.T, mx.add(a, 1, stream=stream), small + small)
    return block


@pytest.fixture
def trace(captured):
    with captured.trace() as opened:
        yield opened


def test_the_summary_says_what_was_written(captured, trace):
    summary = captured.summary
    assert pathlib.Path(summary["path"]) == pathlib.Path(captured.path)
    assert summary["bytes"] == pathlib.Path(captured.path).stat().st_size
    assert summary["launches"] == trace.manifest["counts"]["launches"] >= 4
    assert summary["truncated"] is False and summary["left_out"] == []


def test_every_table_is_read_by_pyarrow_pandas_and_polars(trace):
    counts = trace.manifest["counts"]
    for name, table in (("ops", trace.ops), ("launches", trace.launches), ("memory", trace.allocations),
                        ("sync", trace.waits), ("stats", trace.stats)):
        assert table.num_rows == counts[name]
        assert len(trace.pandas(name)) == len(trace.polars(name)) == counts[name]
        assert trace.polars(name).columns == list(trace.pandas(name).columns)
    assert trace.pandas("allocations").equals(trace.pandas("memory"))
    with pytest.raises(KeyError, match="launches"):
        trace.arrow("nothing")


def test_tensors_are_numpy_arrays(trace):
    ops = trace.ops.to_pylist()
    added = next(op for op in ops if op["name"] == "add" and op["dtypes"] == ["float32"])
    assert np.array_equal(trace.tensor(added["id"]), np.arange(12, dtype=np.float32).reshape(3, 4) + 1)
    assert added["id"] in trace.tensors and len(trace.tensors) == trace.manifest["counts"]["tensors"]
    with pytest.raises(KeyError, match="full"):
        trace.tensor(10**9)


def test_bfloat16_has_its_type_or_is_float32(trace, monkeypatch):
    doubled = next(op for op in trace.ops.to_pylist() if op["name"] == "add" and op["dtypes"] == ["bfloat16"])
    tensor = trace.tensor(doubled["id"])
    assert tensor.dtype == ml_dtypes.bfloat16 and tensor.astype(float).tolist() == [2, 5, -6]
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    tensor = trace.tensor(doubled["id"])
    assert tensor.dtype == np.float32 and tensor.tolist() == [2, 5, -6]


def test_a_missing_package_is_named(trace, monkeypatch):
    for package, use in (("pyarrow", lambda: trace.ops), ("pandas", lambda: trace.pandas("ops")), ("polars", lambda: trace.polars("ops"))):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(ImportError, match=f"pip install {package}"):
                use()


def test_call_sites_are_lines_of_this_file(trace):
    sites = {op["call_site"] for op in trace.ops.to_pylist() if '"input"' not in op["op"]}
    lines = pathlib.Path(__file__).read_text().split("\n")
    for site in sites:
        file, _, line = site.rpartition(":")
        assert pathlib.Path(file).name == "test_trace.py" and "mx.eval(" in lines[int(line) - 1], site


def test_the_summary_page_shows_kernels_and_escapes_everything(captured, tmp_path):
    hostile = tmp_path / "<script>alert(1)<%2fscript>.pltrace"
    with zipfile.ZipFile(captured.path) as source, zipfile.ZipFile(hostile, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                manifest["program"]["name"] = "<img src=x onerror=alert(1)>"
                manifest["mode"] = {"<b>": "</td><script>"}
                manifest["devices"][0]["name"] = "\"><svg onload='x'>"
                manifest["left_out"] = ["<iframe>"]
                manifest["counts"]["ops"] = "<h1>"
                manifest["window"]["duration_ns"] = "<h1>"
                data = json.dumps(manifest).encode()
            target.writestr(name, data)
    page = pellucid.trace.open(hostile)._repr_html_()
    for tag in ("<script", "<img", "<svg", "<iframe", "<h1", "<b>", "onerror=alert(1)>"):
        assert tag not in page
    good = pellucid.trace.open(captured.path)._repr_html_()
    assert "matmul" in good and "launches" in good and good.startswith("<div") and good.endswith("</div>")


def test_the_summary_page_needs_only_numpy(captured):
    code = (
        "import sys\nfor p in ('pyarrow', 'pandas', 'polars', 'ml_dtypes'): sys.modules[p] = None\n"
        f"import pellucid.trace\ntrace = pellucid.trace.open({captured.path!r})\n"
        "print('pip install pyarrow' in trace._repr_html_(), trace.manifest['mode'], len(trace.kernels) >= 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True full True\n", done.stderr


def test_what_is_not_a_trace_is_refused(tmp_path):
    (tmp_path / "text").write_text("no trace")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("other.txt", "x")
    for name, manifest in (("newer", {"format": "pltrace", "version": 3}), ("other", {"format": "x", "version": 1}), ("list", [])):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("manifest.json", json.dumps(manifest))
    for name in ("text", "zip", "newer", "other", "list"):
        with pytest.raises(pellucid.trace.TraceError):
            pellucid.trace.open(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        pellucid.trace.open(tmp_path / "missing")


def test_a_block_that_raises_still_completes_its_file(mx, tmp_path):
    with pytest.raises(ZeroDivisionError), pellucid.capture(tmp_path / "a.pltrace"):
        mx.eval(mx.ones((2,)) + 1)
        raise ZeroDivisionError
    assert pellucid.trace.open(tmp_path / "a.pltrace").ops.num_rows >= 1
    assert not mx._is_capturing()


def test_captures_are_refused_where_they_cannot_work(mx, tmp_path):
    with pytest.raises(ValueError, match="timeline"):
        pellucid.capture(tmp_path / "a", mode="everything")
    with pytest.raises(RuntimeError), pellucid.capture(tmp_path / "no" / "folder"):
        pass
    with pellucid.capture(tmp_path / "a"):
        with pytest.raises(RuntimeError), pellucid.capture(tmp_path / "b"):
            pass
    with pytest.raises(RuntimeError), pellucid.capture(tmp_path / "a"):
        pass
    assert not (tmp_path / "b").exists()


def test_the_view_is_one_page_with_viewer_and_trace(captured, tmp_path):
    page = pellucid.view(captured.path, browse=False)
    text = page.read_text()
    assert '<script type="application/octet-stream" id="trace" data-name="run.pltrace">' in text
    assert "<!-- trace -->" not in text
    with pytest.raises(FileNotFoundError):
        pellucid.view(tmp_path / "missing.pltrace")


def test_the_view_starts_the_command_where_there_is_one(captured, tmp_path, monkeypatch):
    program = tmp_path / "pellucid"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n")
    program.chmod(0o755)
    monkeypatch.setenv("PELLUCID_COMMAND", str(program))
    assert pellucid.view(captured.path).wait(timeout=30) == 0
