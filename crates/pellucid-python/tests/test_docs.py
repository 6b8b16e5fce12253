"""The examples of docs/python.md, docs/learning.md and docs/functions.md run, in order, in one folder."""

import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
PAGES = [DOCS / "python.md", DOCS / "learning.md", DOCS / "functions.md"]


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    return tmp_path_factory.mktemp("docs")


def examples():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    return [example for text in texts for example in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)]


@pytest.mark.parametrize("number", range(len(examples())))
def test_an_example_runs(number, folder):
    done = subprocess.run([sys.executable, "-c", examples()[number]], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout, "it shows nothing"


def test_there_are_examples():
    assert len(examples()) >= 10


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (DOCS / target).exists(), target
