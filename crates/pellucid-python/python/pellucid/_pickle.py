"""What pickles of arrays and element types are restored with: pickle wants functions that it can import by name."""

from __future__ import annotations

from typing import Any


def restore_array(*parts: Any) -> Any:
    """An array from what its ``__reduce__`` gave."""
    from pellucid import core

    return core._restore(*parts)


def restore_dtype(name: str) -> Any:
    """An element type by its name."""
    from pellucid import core

    return getattr(core, "bool_" if name == "bool" else name)
