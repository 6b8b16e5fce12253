"""What the array API standard asks a namespace about itself."""

from __future__ import annotations

from typing import Any

# The kinds of element types, by the names that arrays of the standard have. The 16-bit types are not among them.
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64",),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class NamespaceInfo:
    """The devices and element types that there are, and what the functions can do with them."""

    def __init__(self, most_axes: int) -> None:
        self._most_axes = most_axes

    def capabilities(self) -> dict[str, Any]:
        """What depends on the library: masks select nothing, because the number of elements would not be known."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": self._most_axes}

    def default_device(self) -> Any:
        """The device that operations run on unless they name another one."""
        from pellucid import core

        return core.default_device()

    def devices(self) -> tuple[Any, ...]:
        """All devices."""
        from pellucid import core

        return tuple(core.Device(kind, i) for kind in (core.cpu, core.gpu) for i in range(core.device_count(kind)))

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The element types that numbers of Python become."""
        from pellucid import core

        _check_device(device)
        return {
            "real floating": core.float32,
            "complex floating": core.complex64,
            "integral": core.int32,
            "indexing": core.int32,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The element types of a device, of one kind or of several; GPUs have no ``float64``."""
        from pellucid import core

        _check_device(device)
        on_gpu = (core.default_device() if device is None else device) == core.gpu
        kinds = tuple(_KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        names: list[str] = []
        for wanted in kinds:
            for single in _UNIONS.get(wanted, (wanted,)):
                if single not in _KINDS:
                    raise ValueError(f"[dtypes] {wanted!r} is no kind; there are {[*_KINDS, *_UNIONS]}")
                names += [name for name in _KINDS[single] if name not in names]
        return {
            name: core.bool_ if name == "bool" else getattr(core, name)
            for name in names
            if not (on_gpu and name == "float64")
        }


def _check_device(device: Any) -> None:
    from pellucid import core

    if device is not None and not isinstance(device, core.Device):
        raise TypeError(f"expected a Device, not {type(device).__name__}")
