"""Traces are read by software that is not ours: zipfile, pyarrow, NumPy, pandas and DuckDB.

Runs with pytest: `cargo xtask test --only trace-tests`, or by hand after `cargo build -p pellucid-trace --examples`
(or with EXAMPLES=folder of these programs).
"""

import io
import json
import os
import pathlib
import re
import zipfile

import numpy as np
from trace_tools import FOLDER, ROOT, TABLES, read_tables, sample


def tables():
    return read_tables(sample()[0])


def test_every_member_is_read_and_the_manifest_counts_are_exact():
    path, counts = sample()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[-1] == "manifest.json"
        # Sizes and checksums stand in front of each member: no data descriptors.
        assert all(info.flag_bits & 8 == 0 for info in archive.infolist())
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format"] == "pltrace" and manifest["version"] == 2
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
