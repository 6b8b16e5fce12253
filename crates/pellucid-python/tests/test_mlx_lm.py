"""mlx-lm, unchanged, on Pellucid and on MLX: the same tokens, log-probabilities and losses.

`lm_program.py` is run in three processes: on MLX, on Pellucid, and on Pellucid with the Python files of the installed MLX.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("mlx_lm")

PROGRAM = pathlib.Path(__file__).with_name("lm_program.py")
#: How the program is run: on what, and with whose Python files.
RUNS = {"mlx": [], "pellucid": ["-m", "pellucid.mlx"], "installed": ["-m", "pellucid.mlx", "--installed"]}
#: How far log-probabilities may be apart, by the type of the weights. Logits go up to 16: a unit in the last place of
#: theirs is 0.008 in float16 and 0.06 in bfloat16, and every layer adds some.
CLOSE = {"float32": 1e-4, "float16": 0.1, "bfloat16": 0.6, "4 bits": 1e-4, "4 bits of bfloat16": 1.2}


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    # Without its compiler, mlx needs no minute to call g++. Nothing is to be downloaded.
    environment = {**os.environ, "MLX_DISABLE_COMPILE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    started = {}
    for name, how in RUNS.items():
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, *how, str(PROGRAM), str(folder)]
        output = (folder / "printed.txt").open("w")
        started[name] = folder, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    read = {}
    for name, (folder, process) in started.items():
        code = process.wait(timeout=300)
        assert code == 0, f"{name}: {code}\n{(folder / 'printed.txt').read_text()[-3000:]}"
        read[name] = json.loads((folder / "out.json").read_text())
    return read


@pytest.fixture(params=["pellucid", "installed"])
def both(runs, request):
    """What came out on Pellucid and on MLX."""
    return runs[request.param], runs["mlx"]


def same(ours, theirs, close=1e-4):
    """The same tree, its numbers with a fraction within a distance."""
    assert type(ours) is type(theirs)
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            same(ours[key], theirs[key], close)
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], float):
        np.testing.assert_allclose(ours, theirs, rtol=min(close, 1e-2), atol=close)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b, close)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)
    else:
        assert ours == theirs


def test_each_run_has_the_packages_it_is_to_have(runs):
    packages = {name: (run["package"].partition(".")[0], run["nn"].partition(".")[0]) for name, run in runs.items()}
    assert packages == {"mlx": ("mlx", "mlx"), "pellucid": ("pellucid", "pellucid"), "installed": ("pellucid", "mlx")}


@pytest.mark.parametrize("kind", CLOSE)
def test_the_likeliest_tokens_are_those_of_mlx(both, kind):
    ours, theirs = (run["greedy"][kind] for run in both)
    assert ours["tokens"] == theirs["tokens"] and len(set(ours["tokens"])) > 5
    same(ours["best"], theirs["best"], CLOSE[kind])


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_types_are_no_further_from_float32_than_on_mlx(both, kind):
    exact = np.array(both[1]["greedy"]["float32"]["best"])
    ours, theirs = (np.sqrt(np.mean((np.array(run["greedy"][kind]["best"]) - exact) ** 2)) for run in both)
    assert ours < 1.2 * theirs, (ours, theirs)


@pytest.mark.parametrize("kind", ["temperature", "nucleus", "k", "least", "all", "penalties"])
def test_drawn_tokens_are_those_of_mlx(both, kind):
    ours, theirs = (run["sampled"][kind] for run in both)
    assert ours["tokens"] == theirs["tokens"] and len(set(ours["tokens"])) > 5
    same(ours["best"], theirs["best"])


def test_a_conversation_goes_on_from_a_cache_and_its_file(both):
    ours, theirs = (run["cached"] for run in both)
    same(ours, theirs)
    assert ours["metadata"] == {"model": "tiny"} and ours["trimmed"] == 5
    # A window of 16 tokens forgets what a whole cache remembers.
    assert ours["rotating"]["tokens"] != both[0]["greedy"]["float32"]["tokens"]


def test_a_cache_of_few_bits_gives_what_it_gives_on_mlx(both):
    same(*(run["packed cache"] for run in both), 1e-3)


def test_many_prompts_at_once_give_what_each_gives_alone_and_on_mlx(both):
    ours, theirs = (run["batched"] for run in both)
    same(ours, theirs)
    assert [len(answer["tokens"]) for answer in ours] == [12, 5, 9, 12, 3]
    assert ours[0]["tokens"] == both[0]["greedy"]["float32"]["tokens"][:12]


def test_a_draft_is_taken_and_refused_where_it_is_on_mlx(both):
    ours, theirs = (run["drafted"] for run in both)
    assert ours == theirs
    assert [token for token, _ in ours] == both[0]["greedy"]["float32"]["tokens"][:16]
    assert {draft for _, draft in ours} == {True, False}


@pytest.mark.parametrize("kind,count", [
    ("LoRA", 20), ("LoRA on 4 bits, with dropout", 6), ("DoRA, accumulated and recomputed", 6), ("everything", 5)])
def test_training_has_the_losses_of_mlx(both, kind, count):
    ours, theirs = (run["training"][kind] for run in both)
    same(ours, theirs, 1e-3)
    assert len(ours["losses"]) == count and ours["validation"][-1] < ours["validation"][0]


def test_a_model_is_packed_saved_and_loaded(both):
    ours, theirs = (run["converted"] for run in both)
    assert {key: ours[key] for key in ("configuration", "files", "types")} == {
        key: theirs[key] for key in ("configuration", "files", "types")}
    assert ours["steps"]["tokens"] == theirs["steps"]["tokens"]
    same(ours["steps"]["best"], theirs["steps"]["best"], CLOSE["4 bits of bfloat16"])
