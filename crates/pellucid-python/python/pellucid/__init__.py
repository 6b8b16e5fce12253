"""Pellucid: arrays with MLX's semantics on any GPU, and a record of everything that runs.

``pellucid.core`` has the names of ``mlx.core``::

    import pellucid.core as mx

Models are built from :mod:`pellucid.nn` and trained with :mod:`pellucid.optimizers`.

Beside them, :func:`capture` writes a trace of what a block of code runs, :func:`view` shows it in the browser,
:mod:`pellucid.trace` reads it as tables and arrays, and :mod:`pellucid.mlx` runs programs written for MLX.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["__version__", "capture", "core", "mlx", "nn", "optimizers", "trace", "utils", "view"]

_MODULES = ("core", "mlx", "nn", "optimizers", "trace", "utils")
_FUNCTIONS = {"capture": "pellucid._capture", "view": "pellucid._view"}


def __getattr__(name: str) -> Any:
    # Nothing is imported before it is used: a program that only wants the arrays does not wait for the rest.
    if name == "mlx":
        raise AttributeError("write `import pellucid.mlx`: it changes what `import mlx.core` means, so it is never implied")
    if name in _MODULES:
        return importlib.import_module(f"pellucid.{name}")
    if name in _FUNCTIONS:
        found = getattr(importlib.import_module(_FUNCTIONS[name]), name)
    elif name == "__version__":
        from importlib.metadata import version

        found = version("pellucid")
    else:
        raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
