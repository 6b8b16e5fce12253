"""Runs programs written for MLX on Pellucid.

``import pellucid.mlx``, before anything of MLX, makes ``import mlx.core as mx`` resolve to :mod:`pellucid.core`, and
``mlx.nn``, ``mlx.optimizers`` and ``mlx.utils`` to Pellucid's modules of these names. MLX need not be installed; if it
is, its library is not loaded. With ``PELLUCID_MLX=installed`` in the environment, or ``--installed`` on the command
line, the Python files of the installed MLX are used for these three, and they run on Pellucid.

From the command line, for programs that are not to be changed::

    python -m pellucid.mlx script.py arguments…
    python -m pellucid.mlx -m module arguments…
    python -m pellucid.mlx -c "import mlx.core as mx; print(mx.arange(3))"
    python -m pellucid.mlx --installed script.py arguments…

A name that Pellucid does not have raises an ``AttributeError`` that says so.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

# MLX's modules of native code: all of them are answered here, whether or not Pellucid has something for them.
_NATIVE = ("core", "core.cuda", "core.distributed", "core.fast", "core.fft", "core.linalg", "core.metal", "core.random")

# MLX's packages of Python files, for which Pellucid has its own.
_PYTHON = ("nn", "optimizers", "utils")


def _uses_installed() -> bool:
    return os.environ.get("PELLUCID_MLX", "") == "installed"


class _Stand(ModuleType):
    """A module of MLX's, with the names that Pellucid has for it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise AttributeError(f"{self.__name__}.{name} is not implemented in Pellucid")

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of Pellucid>"


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        # An empty namespace where no MLX is installed is an ordinary module.
        return ModuleType(spec.name) if spec.name == "mlx" else _Stand(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "mlx":
            return
        from pellucid import core

        name = module.__name__.removeprefix("mlx.core").removeprefix(".")
        ours = getattr(core, name, None) if name else core
        names = {k: v for k, v in vars(ours).items() if _is_public(k)} if ours is not None else {}
        if not name:
            for submodule in _NATIVE[1:]:
                names.pop(submodule.removeprefix("core."), None)
        vars(module).update(names)
        module.__doc__ = getattr(ours, "__doc__", None)
        if not name:
            _import_submodules()


class _Alias(importlib.abc.Loader):
    """Gives one of Pellucid's modules under MLX's name: the module itself, so that its classes are the same."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module("pellucid" + name.removeprefix("mlx"))


def _is_public(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return not dunder or name in ("__version__", "__array_namespace_info__")


def _import_submodules() -> None:
    """`mx.random` works after `import mlx.core` alone."""
    for name in _NATIVE[1:]:
        importlib.import_module(f"mlx.{name}")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "mlx" and importlib.machinery.PathFinder.find_spec("mlx") is None:
            return importlib.machinery.ModuleSpec("mlx", _Loader(), is_package=True)
        if fullname.startswith("mlx.") and fullname.removeprefix("mlx.") in _NATIVE:
            return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=fullname == "mlx.core")
        first, _, below = fullname.partition(".")
        if first == "mlx" and below.partition(".")[0] in _PYTHON and not _uses_installed():
            if importlib.util.find_spec(f"pellucid.{below}") is not None:
                return importlib.machinery.ModuleSpec(fullname, _Alias())
        return None


def install() -> None:
    """Makes ``import mlx.core`` resolve to Pellucid. Importing this module does it; calling it again does nothing."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("mlx.core")
    if loaded is not None and not isinstance(loaded, _Stand):
        raise ImportError("mlx.core of MLX is loaded already; `import pellucid.mlx` must come before it")
    sys.meta_path.insert(0, _Finder())


def main(arguments: list[str]) -> None:
    """Runs a script, a module or a text as Python would, with MLX's place taken."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stdout if arguments else sys.stderr)
        raise SystemExit(0 if arguments else 2)
    if arguments[0] == "--installed":
        # In the environment, programs that this one starts find it as well.
        os.environ["PELLUCID_MLX"] = "installed"
        return main(arguments[1:])
    what, *rest = arguments
    if what in ("-m", "-c") and not rest:
        raise SystemExit(f"error: {what} needs something to run")
    if what == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif what == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        if not os.path.exists(what):
            raise SystemExit(f"error: there is no file {what!r}")
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(what))
        runpy.run_path(what, run_name="__main__")


if __name__ == "__main__":
    # Run as a program this file is called `__main__`; the one that is imported as `pellucid.mlx` does the work.
    from pellucid.mlx import main as run

    run(sys.argv[1:])
else:
    install()
