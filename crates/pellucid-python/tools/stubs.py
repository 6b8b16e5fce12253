"""Writes the type stubs of `pellucid.core` from the module itself.

    python tools/stubs.py            writes python/pellucid/core/*.pyi
    python tools/stubs.py --check    exits with 1 if they are not current

A function's stub is the first line of its docstring, which is its signature; the rest is the text below it. What has no
signature of its own, such as attributes and operators, is in the tables here.
"""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
import sys
import types

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "python" / "pellucid" / "core"

HEADER = '''"""{doc}"""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

{imports}
'''
ALIASES = '''scalar: TypeAlias = bool | int | float | complex
file: TypeAlias = str | PathLike[str] | IO[bytes]
DLPackCompatible: TypeAlias = Any
capsule: TypeAlias = Any
StreamOrDevice: TypeAlias = Stream | ThreadLocalStream | Device | DeviceType | None
'''
SHARED = "from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar\n"

#: Types of attributes, by class.
ATTRIBUTES = {
    "array": {
        "T": "array", "mT": "array", "at": "ArrayAt", "dtype": "Dtype", "imag": "array", "itemsize": "int", "nbytes": "int",
        "ndim": "int", "real": "array", "shape": "tuple[int, ...]", "size": "int",
    },
    "Device": {"type": "DeviceType", "index": "int"},
    "DeviceType": {"name": "str", "value": "int"},
    "Dtype": {"size": "int"},
    "Stream": {"device": "Device", "index": "int", "label": "str | None"},
    "ThreadLocalStream": {"device": "Device"},
    "PrintOptions": {"precision": "int"},
    "finfo": {"min": "float", "max": "float", "eps": "float", "bits": "int", "smallest_normal": "float", "dtype": "Dtype"},
    "iinfo": {"min": "int", "max": "int", "bits": "int", "dtype": "Dtype"},
}
_OPERAND = "(self, other: scalar | array, /) -> array"
_BINARY = "add sub mul truediv floordiv mod and or xor lshift rshift matmul div pow".split()
#: Signatures of special methods, by class; those of `object` need none.
SPECIAL = {
    "array": {
        **{f"__{prefix}{name}__": _OPERAND for name in _BINARY for prefix in ("", "r", "i")},
        **{f"__{name}__": "(self, other: object, /) -> Any" for name in ("eq", "ne")},
        **{f"__{name}__": _OPERAND for name in ("lt", "le", "gt", "ge")},
        **{f"__{name}__": "(self) -> array" for name in ("neg", "pos", "abs", "invert", "copy")},
        "__divmod__": "(self, other: scalar | array, /) -> Any", "__rdivmod__": "(self, other: scalar | array, /) -> Any",
        "__pow__": "(self, other: scalar | array, mod: None = None, /) -> array",
        "__rpow__": "(self, other: scalar | array, mod: None = None, /) -> array",
        "__ipow__": "(self, other: scalar | array, mod: None = None, /) -> array",
        "__bool__": "(self) -> bool", "__int__": "(self) -> int", "__float__": "(self) -> float", "__index__": "(self) -> int",
        "__complex__": "(self) -> complex", "__bytes__": "(self) -> bytes", "__len__": "(self) -> int",
        "__getitem__": "(self, index: Any, /) -> array", "__setitem__": "(self, index: Any, value: Any, /) -> None",
        "__iter__": "(self) -> Iterator[array]", "__contains__": "(self, value: Any, /) -> bool",
        "__deepcopy__": "(self, memo: dict[int, Any], /) -> array", "__setstate__": "(self, state: Any, /) -> None",
        "__array_namespace__": "(self, *, api_version: str | None = None) -> Any", "__buffer__": "(self, flags: int, /) -> memoryview",
        "__array__": "(self, dtype: Any = None, copy: bool | None = None) -> Any",
        "__dlpack__": "(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any",
        "__dlpack_device__": "(self) -> tuple[int, int]", "__hash__": "(self) -> int",
        "__init__": "(self, val: Any, dtype: Dtype | None = None) -> None",
    },
    "ArrayAt": {"__getitem__": "(self, index: Any, /) -> ArrayAt"},
    "ArrayIterator": {"__iter__": "(self) -> ArrayIterator", "__next__": "(self) -> array"},
    "ArrayLike": {"__init__": "(self, obj: Any, /) -> None"},
    "Device": {"__init__": "(self, type: DeviceType, index: int = 0) -> None"},
    "Dtype": {"__hash__": "(self) -> int"},
    "_RandomState": {
        "__len__": "(self) -> int", "__getitem__": "(self, index: int, /) -> array",
        "__setitem__": "(self, index: int, value: array, /) -> None", "__iter__": "(self) -> Iterator[array]",
    },
    "PrintOptions": {"__init__": "(self, precision: int = -1) -> None"},
    "StreamContext": {"__init__": "(self, s: Stream | ThreadLocalStream | Device | DeviceType) -> None"},
    "finfo": {"__init__": "(self, dtype: Dtype) -> None"},
    "iinfo": {"__init__": "(self, dtype: Dtype) -> None"},
}
_BLOCK = {
    "__enter__": "(self) -> {enter}",
    "__exit__": "(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /) -> Any",
}
#: Signatures of methods whose docstring has none.
METHODS = {"set_label": "(self, label: str) -> None"}
#: Values without a type of their own in the module.
VALUES = {"newaxis": "None", "state": "_RandomState"}


def text_of(thing: object) -> tuple[str | None, str]:
    """The signature line of a docstring, if there is one, and the text below it."""
    doc = (getattr(thing, "__doc__", None) or "").strip()
    first, _, rest = doc.partition("\n")
    name = getattr(thing, "__name__", "")
    if re.match(rf"{re.escape(name)}\(.*\)( -> .+)?$", first):
        return first.removeprefix(name), rest.strip()
    return None, doc


def quoted(text: str, indent: str) -> str:
    lines = [line.rstrip() for line in text.replace("\\", "\\\\").replace('"""', "'''").split("\n")]
    return f'{indent}"""' + f"\n{indent}".join(lines) + '"""\n'


#: What a person writes for a reader, and what a type checker understands.
_WORDS = [
    (r"file \| str \| pathlib\.Path", "file"),
    (r"\blist \|", "list[Any] |"),
    (r"\bSequence \|", "Sequence[Any] |"),
    (r"(\*\*?(?:args|kwargs|operands|arrays_and_dtypes))(?=[,)])", r"\1: Any"),
]


def typed(signature: str) -> str:
    """The signature with every parameter annotated."""
    for pattern, replacement in _WORDS:
        signature = re.sub(pattern, replacement, signature)
    return signature


def function(name: str, thing: object, indent: str = "") -> str:
    signature, text = text_of(thing)
    signature = signature or METHODS.get(name)
    if signature is None:
        raise SystemExit(f"{name} has no signature in its docstring")
    if " -> " not in signature:
        signature += " -> None"
    line = f"{indent}def {name}{typed(signature)}:"
    try:
        ast.parse(line.strip() + " ...")
    except SyntaxError as error:
        raise SystemExit(f"the signature of {name} is not Python: {line.strip()}") from error
    return line + (f"\n{quoted(text, indent + '    ')}" if text else " ...\n")


def members(kind: type) -> list[str]:
    name, lines = kind.__name__, []
    attributes, special = ATTRIBUTES.get(name, {}), SPECIAL.get(name, {})
    for key in sorted(vars(kind), key=lambda key: (key.startswith("__"), key)):
        value = vars(kind)[key]
        if key in ("__dict__", "__weakref__"):
            continue
        if isinstance(value, (types.GetSetDescriptorType, property)):
            if key not in attributes:
                raise SystemExit(f"the type of {name}.{key} is not in the table of tools/stubs.py")
            lines += [f"    @property\n    def {key}(self) -> {attributes[key]}:\n{quoted(value.__doc__ or key, '        ')}"]
        elif key in special:
            lines.append(f"    def {key}{special[key]}: ...\n")
        elif key in _BLOCK:
            enter = name if name in ("Stream", "Device") else "Any"
            lines.append(f"    def {key}{_BLOCK[key].format(enter=enter)}: ...\n")
        elif isinstance(value, kind):
            lines.append(f"    {key}: {name}\n")
        elif not key.startswith("__") and callable(value):
            lines.append(function(key, value, "    "))
    if "__init__" in special and "__init__" not in vars(kind):
        lines.append(f"    def __init__{special['__init__']}: ...\n")
    return lines


def class_stub(name: str, kind: type) -> str:
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    body = members(kind)
    doc = quoted(text_of(kind)[1] or name, "    ")
    return f"class {name}{f'({bases})' if bases else ''}:\n{doc}" + ("\n" + "\n".join(body) if body else "")


def module_stub(module: types.ModuleType) -> str:
    names = [n for n in dir(module) if not (n.startswith("__") and n.endswith("__"))]
    top = module.__name__ == "pellucid.core"
    submodules = [n for n in names if isinstance(getattr(module, n), types.ModuleType)]
    imports = "\n".join(f"from pellucid.core import {n} as {n}" for n in submodules) if top else SHARED
    parts = [HEADER.format(doc=(module.__doc__ or module.__name__).strip().replace("\n", "\n"), imports=imports)]
    if top:
        parts.append("__version__: str\n\n" + ALIASES)
    for name in names:
        thing = getattr(module, name)
        if isinstance(thing, types.ModuleType):
            continue
        if isinstance(thing, type):
            parts.append(class_stub(name, thing))
        elif callable(thing) and not hasattr(type(thing), "__enter__") or isinstance(thing, types.BuiltinFunctionType):
            parts.append(function(name, thing))
        else:
            kind = VALUES.get(name, type(thing).__name__)
            parts.append(f"{name}: {kind}\n")
    return "\n".join(parts)


def written() -> dict[pathlib.Path, str]:
    """Each stub file and what should be in it."""
    core = importlib.import_module("pellucid.core")
    modules = {"__init__": core}
    modules |= {n: getattr(core, n) for n in dir(core) if isinstance(getattr(core, n), types.ModuleType)}
    return {FOLDER / f"{name}.pyi": module_stub(module) for name, module in modules.items()}


def main() -> int:
    stale = [path for path, text in written().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.name} is not current; run python tools/stubs.py")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
    print(f"{len(stale)} of {len(written())} stubs written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
