"""Programs written for MLX run unchanged: `python -m pellucid.mlx` and `import pellucid.mlx`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def only_pellucid(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")


def python(*arguments, folder=None, good=True):
    # Without its compiler, mlx needs no minute to call g++ for each activation.
    environment = {**os.environ, "MLX_DISABLE_COMPILE": "1"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    if good:
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert done.returncode != 0
    return done.stderr


def under(code):
    return python("-m", "pellucid.mlx", "-c", code)


def test_a_script_runs_with_its_arguments(tmp_path):
    (tmp_path / "helper.py").write_text("import mlx.core as mx\nvalue = mx.arange(3)\n")
    (tmp_path / "script.py").write_text(
        "import sys\nimport mlx.core as mx\nfrom helper import value\n"
        "if __name__ == '__main__':\n    print(sys.argv[1:], value.tolist(), mx.add(1, 2).item(), mx.array.__module__)\n"
    )
    printed = python("-m", "pellucid.mlx", tmp_path / "script.py", "--flag", "x")
    assert printed.startswith("['--flag', 'x'] [0, 1, 2] 3 ")


def test_a_module_runs(tmp_path):
    (tmp_path / "program.py").write_text("import sys, mlx.core as mx\nprint(sys.argv[1:], mx.ones(2).tolist())\n")
    assert python("-m", "pellucid.mlx", "-m", "program", "a", folder=tmp_path) == "['a'] [1.0, 1.0]\n"


def test_the_names_of_mlx_are_those_of_pellucid():
    printed = under(
        "import mlx.core as mx, pellucid.core as px\n"
        "import mlx.core.random, mlx.core.metal\n"
        "from mlx.core import array, matmul\n"
        "print(mx.array is px.array, matmul is px.matmul, mx.random.uniform is px.random.uniform, mx.float32 is px.float32)"
    )
    assert printed == "True True True True\n"


@pytest.mark.parametrize("name", ["fast.cpu_kernel", "distributed.broadcast"])
def test_a_missing_name_says_so(name):
    error = python("-m", "pellucid.mlx", "-c", f"import mlx.core as mx; mx.{name}", good=False)
    assert f"AttributeError: mlx.core.{name} is not implemented in Pellucid" in error


def test_kernels_for_cuda_are_refused_as_on_mlx_without_it():
    code = "import mlx.core as mx\nprint(mx.cuda.is_available())\nmx.fast.cuda_kernel('double', ['x'], ['y'], '')"
    for how in ([], ["-m", "pellucid.mlx"]):
        assert "RuntimeError: [cuda_kernel]" in python(*how, "-c", code, good=False)
    assert under("import mlx.core as mx; print(mx.cuda.is_available())") == "False\n"


def test_hasattr_tells_what_is_there():
    printed = under("import mlx.core as mx; print(hasattr(mx, 'add'), hasattr(mx.fast, 'cpu_kernel'), hasattr(mx.fft, 'fft'))")
    assert printed == "True False True\n"


def test_it_must_come_before_mlx():
    error = python("-c", "import mlx.core\nimport pellucid.mlx", good=False)
    assert "ImportError" in error and "before" in error


def test_mlx_core_works_where_no_mlx_is_installed(tmp_path):
    # An interpreter that sees Pellucid, and nothing else that is installed.
    import pellucid

    (tmp_path / "pellucid").symlink_to(next(iter(pellucid.__path__)), target_is_directory=True)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import pellucid.mlx, mlx.core as mx\nprint((mx.arange(3) + 1).tolist())\n"
        "import mlx.nn as nn, mlx.optimizers as optim\nfrom mlx.utils import tree_flatten\n"
        "print(nn.Linear(2, 3)(mx.ones((1, 2))).shape, optim.SGD(0.1).step.item(), tree_flatten([1]))"
    )
    assert python("-S", "-c", code) == "[1, 2, 3]\n(1, 3) 0 [('0', 1)]\n"


def test_no_arguments_give_help():
    assert "python -m pellucid.mlx script.py" in python("-m", "pellucid.mlx", good=False)
    assert "script.py" in python("-m", "pellucid.mlx", "--help")
    assert "there is no file" in python("-m", "pellucid.mlx", "missing.py", good=False)


NETWORK = """
import json, sys
import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map

mx.random.seed(3)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.Tanh(), nn.RMSNorm(4))
model.eval()
x = mx.random.normal((5, 8))
mx.eval(model.parameters(), x)
out = {"result": model(x).tolist(), "parameters": {k: v.shape for k, v in tree_flatten(model.parameters())}}
for name in "gelu silu softplus leaky_relu elu log_softmax hardswish mish".split():
    out[name] = getattr(nn, name)(x).tolist()
embedding = nn.Embedding(10, 4)
out["embedding"] = embedding(mx.array([1, 5, 9])).tolist()
out["doubled"] = tree_map(lambda a: a * 2, {"a": mx.ones(2)})["a"].tolist()
for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
    out[name] = getattr(nn.losses, name)(x, x * 0.5).tolist()
out["cross_entropy"] = nn.losses.cross_entropy(x, mx.array([0, 1, 2, 3, 4])).tolist()
sys.stdout.write(json.dumps(out))
sys.stdout.flush()
import os
os._exit(0)
"""


@pytest.mark.parametrize("files", [[], ["--installed"]], ids=["ours", "installed"])
def test_networks_of_mlx_nn_give_what_they_give_on_mlx(files):
    ours, theirs = json.loads(python("-m", "pellucid.mlx", *files, "-c", NETWORK)), json.loads(python("-c", NETWORK))
    assert ours["parameters"] == theirs["parameters"]
    for name in theirs:
        if name != "parameters":
            np.testing.assert_allclose(ours[name], theirs[name], rtol=2e-5, atol=2e-6, err_msg=name)


def test_the_files_of_an_installed_mlx_are_used_if_asked_for(monkeypatch):
    code = "import mlx.nn, mlx.nn.layers.base as base, mlx.utils; print(mlx.nn.Module.__module__, base.Module is mlx.nn.Module)"
    assert under(code) == "pellucid.nn.layers.base True\n"
    assert python("-m", "pellucid.mlx", "--installed", "-c", code) == "mlx.nn.layers.base True\n"
    monkeypatch.setenv("PELLUCID_MLX", "installed")
    assert under(code) == "mlx.nn.layers.base True\n"


def test_a_class_and_its_parameters_are_saved_and_loaded(tmp_path):
    printed = under(
        "import mlx.core as mx, mlx.nn as nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.layers = [nn.Linear(3, 3) for _ in range(2)]\n"
        "    def __call__(self, x):\n"
        "        for layer in self.layers: x = nn.relu(layer(x))\n        return x\n"
        "a, b, x = Net(), Net(), mx.ones((1, 3))\n"
        f"a.save_weights({str(tmp_path / 'w.safetensors')!r})\n"
        f"b.load_weights({str(tmp_path / 'w.safetensors')!r})\n"
        "print(mx.array_equal(a(x), b(x)).item(), len(a.trainable_parameters()['layers']))"
    )
    assert printed == "True 2\n"
