"""The same model in Pellucid and in the published mlx: made from one description, with the same parameters.

`OURS` and `THEIRS` have the modules of either. Values go from one to the other through NumPy.
"""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest


def _package(name):
    parts = {part: importlib.import_module(f"{name}.{part}") for part in ("nn", "optimizers", "utils")}
    return SimpleNamespace(mx=importlib.import_module(f"{name}.core"), **parts)


OURS, THEIRS = _package("pellucid"), _package("mlx")
# mlx would call a C++ compiler for every activation.
THEIRS.mx.disable_compile()
BOTH = (OURS, THEIRS)


def moved(package, tree):
    """The tree with its NumPy arrays as those of the package."""
    return package.utils.tree_map(lambda leaf: package.mx.array(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)


def plain(package, tree):
    """The tree with the package's arrays as those of NumPy."""
    return package.utils.tree_map(lambda leaf: np.array(leaf) if isinstance(leaf, package.mx.array) else leaf, tree)


def drawn(*shape, seed=0):
    """Floats that are neither special nor regular."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def same(ours, theirs, rtol=2e-5, atol=2e-6, what=""):
    """Both trees have the same leaves at the same places."""
    ours, theirs = OURS.utils.tree_flatten(ours), OURS.utils.tree_flatten(theirs)
    assert [path for path, _ in ours] == [path for path, _ in theirs], what
    for (path, a), (_, b) in zip(ours, theirs):
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype and a.shape == b.shape, (what, path, a.dtype, b.dtype, a.shape, b.shape)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"{what} {path}")
        else:
            assert a == b, (what, path)


def twins(make):
    """`make(nn)` in both packages, with the parameters of mlx's."""
    ours, theirs = make(OURS.nn), make(THEIRS.nn)
    ours.update(moved(OURS, plain(THEIRS, theirs.parameters())))
    return ours, theirs


def raised(package, make):
    """The type of the exception that `make(package)` raises."""
    with pytest.raises(Exception) as caught:
        make(package)
    return caught.type
