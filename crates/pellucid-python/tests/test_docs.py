"""The examples of docs/python.md run, in order, in one folder."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    return tmp_path_factory.mktemp("docs")


def examples():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("number", range(len(examples())))
def test_an_example_runs(number, folder):
    done = subprocess.run([sys.executable, "-c", examples()[number]], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout, "it shows nothing"


def test_there_are_examples():
    assert len(examples()) >= 6


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target
