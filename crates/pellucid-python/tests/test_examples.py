"""The programs of examples/python reach what they promise, from their fixed seeds."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"
#: What each prints last, and what its numbers must be.
EXAMPLES = {
    "digits_mlp": (r"accuracy (\S+)", lambda accuracy: accuracy > 0.97),
    "digits_conv": (r"accuracy (\S+)", lambda accuracy: accuracy > 0.98),
    "digits_autoencoder": (r"explained (\S+)", lambda part: part > 0.75),
    "char_language_model": (r"loss (\S+)", lambda loss: loss < 1.6),
    "lora_llama": (r"loss (\S+) to (\S+)", lambda before, after: after < 2.2 < 2.8 < before),
}


@pytest.fixture(scope="module")
def printed(request, tmp_path_factory):
    """What the examples print, and the folder with their traces: two run at a time."""
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    folder = tmp_path_factory.mktemp("examples")
    found, waiting, running = {}, list(EXAMPLES), {}
    while waiting or running:
        while waiting and len(running) < min(2, os.cpu_count() or 1):
            name = waiting.pop(0)
            command = [sys.executable, str(FOLDER / f"{name}.py"), "--capture", str(folder / f"{name}.pltrace")]
            running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        name, process = next(iter(running.items()))
        output, errors = process.communicate(timeout=300)
        del running[name]
        assert process.returncode == 0, f"{name}: {errors}"
        assert errors == "", "a bar is for terminals"
        found[name] = output
    return found, folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_reaches_what_it_promises(printed, name):
    pattern, good = EXAMPLES[name]
    numbers = re.fullmatch(pattern, printed[0][name].strip().splitlines()[-1])
    assert numbers and good(*map(float, numbers.groups())), printed[0][name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_captures_a_step(printed, name):
    from pellucid import trace

    counts = trace.open(printed[1] / f"{name}.pltrace").manifest["counts"]
    assert counts["launches"] > 20


def test_every_example_is_run():
    helpers = {"common", "llama"}
    assert {path.stem for path in FOLDER.glob("*.py")} - helpers == set(EXAMPLES)


def test_lora_says_how_little_learns_and_that_it_can_be_fused(printed):
    text = printed[0]["lora_llama"]
    learning, everything = map(int, re.search(r"(\d+) of (\d+) parameters learn", text).groups())
    assert learning * 4 < everything
    assert float(re.search(r"differ by (\S+)", text).group(1)) < 1e-3
