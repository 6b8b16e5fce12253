"""Writes docs/mlx-coverage.md: every name of the installed mlx, and whether Pellucid has it.

    python tools/coverage.py            writes the page
    python tools/coverage.py --check    exits with 1 if it is not current
"""

from __future__ import annotations

import pathlib
import sys
import types

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "mlx-coverage.md"

HEAD = """# What of MLX is there

Every public name of `mlx.core` {version}, read from the package itself, and whether `pellucid.core` has it. The page is
written by `crates/pellucid-python/tools/coverage.py`, and a test checks that it is current. A name that is missing
raises an `AttributeError` that says so. Each name that is there is compared with mlx in
`crates/pellucid-python/tests`.

| module | names | there | missing |
|---|---:|---:|---:|
"""


def public(thing: object) -> list[str]:
    """The names without the ones every module or class has."""
    return [n for n in dir(thing) if not (n.startswith("__") and n.endswith("__")) or n == "__version__"]


def special(kind: type) -> list[str]:
    """Special methods that the class adds to those of every object."""
    plain = {*dir(object), "__module__", "__init_subclass__", "__dict__", "__weakref__", "__nb_signature__", "__annotations__"}
    return [n for n in dir(kind) if n.startswith("__") and n.endswith("__") and n not in plain]


def sections() -> list[tuple[str, list[tuple[str, bool]]]]:
    """Each module or class with its names and whether they are there."""
    import mlx.core as theirs

    import pellucid.core as ours

    made = [("mlx.core", _names(public(theirs), ours))]
    for name in public(theirs):
        module = getattr(theirs, name)
        if isinstance(module, types.ModuleType):
            made.append((f"mlx.core.{name}", _names(public(module), getattr(ours, name, None))))
    made.append(("mlx.core.array", _names(public(theirs.array), ours.array)))
    made.append(("mlx.core.array, special methods", _names(special(theirs.array), ours.array)))
    return made


def _names(names: list[str], place: object) -> list[tuple[str, bool]]:
    return [(name, place is not None and hasattr(place, name)) for name in names]


def page() -> str:
    import mlx.core

    lines = [HEAD.format(version=mlx.core.__version__)]
    everything = sections()
    for title, names in everything:
        there = sum(known for _, known in names)
        lines.append(f"| `{title}` | {len(names)} | {there} | {len(names) - there} |\n")
    total, there = sum(len(n) for _, n in everything), sum(known for _, n in everything for _, known in n)
    lines.append(f"| all | {total} | {there} | {total - there} |\n")
    for title, names in everything:
        lines.append(f"\n## {title}\n\n| name | there |\n|---|---|\n")
        lines += [f"| `{name}` | {'yes' if known else 'no'} |\n" for name, known in names]
    return "".join(lines)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/mlx-coverage.md is not current; run python tools/coverage.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(text[: text.index("\n## ")])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
