"""Trees: nested lists, tuples and dictionaries, such as the parameters of a model or the state of an optimizer.

A place in a tree is written as a path, ``"layers.0.weight"``; with paths a tree becomes a flat list and back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

__all__ = ["tree_flatten", "tree_map", "tree_map_with_path", "tree_merge", "tree_reduce", "tree_unflatten"]

Leaf = Callable[[Any], bool] | None


def _like(sequence: Any, items: list[Any]) -> Any:
    """The items as a sequence of the same type; a named tuple takes them one by one."""
    kind = type(sequence)
    return kind(*items) if hasattr(sequence, "_fields") else kind(items)


def tree_map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Leaf = None) -> Any:
    """Calls ``fn`` with every leaf of ``tree`` and what is at the same place of ``rest``; the results form a tree alike.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    if is_leaf is not None and is_leaf(tree):
        return fn(tree, *rest)
    if isinstance(tree, dict):
        return {key: tree_map(fn, child, *(other[key] for other in rest), is_leaf=is_leaf) for key, child in tree.items()}
    if isinstance(tree, (list, tuple)):
        found = [tree_map(fn, child, *(other[i] for other in rest), is_leaf=is_leaf) for i, child in enumerate(tree)]
        return _like(tree, found)
    return fn(tree, *rest)


def tree_map_with_path(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Leaf = None, path: Any = None) -> Any:
    """As :func:`tree_map`; ``fn`` gets the path of the leaf before the leaf itself.

    >>> tree_map_with_path(lambda path, leaf: path, {"x": [1, 2]})
    {'x': ['x.0', 'x.1']}
    """
    def child_of(key: Any, child: Any) -> Any:
        below = f"{path}.{key}" if path else str(key)
        return tree_map_with_path(fn, child, *(other[key] for other in rest), is_leaf=is_leaf, path=below)

    if is_leaf is not None and is_leaf(tree):
        return fn(path, tree, *rest)
    if isinstance(tree, dict):
        return {key: child_of(key, child) for key, child in tree.items()}
    if isinstance(tree, (list, tuple)):
        return _like(tree, [child_of(i, child) for i, child in enumerate(tree)])
    return fn(path, tree, *rest)


def tree_flatten(
    tree: Any, prefix: str = "", is_leaf: Leaf = None, destination: list[tuple[str, Any]] | dict[str, Any] | None = None
) -> Any:
    """The leaves with their paths, as pairs; in ``destination``, a list or a dictionary, if one is given.

    The paths begin with ``prefix`` without its first character, which is taken for the dot.

    >>> tree_flatten({"x": [1, 2]})
    [('x.0', 1), ('x.1', 2)]
    """
    if destination is None:
        destination = []
    if not isinstance(destination, (list, dict)):
        raise ValueError(f"[tree_flatten] The destination must be a list or a dictionary, not {type(destination).__name__}.")

    def walk(node: Any, path: str) -> None:
        inner = is_leaf is None or not is_leaf(node)
        if inner and isinstance(node, dict):
            for key, child in node.items():
                walk(child, f"{path}.{key}")
        elif inner and isinstance(node, (list, tuple)):
            for i, child in enumerate(node):
                walk(child, f"{path}.{i}")
        elif isinstance(destination, dict):
            destination[path[1:]] = node
        else:
            destination.append((path[1:], node))

    walk(tree, prefix)
    return destination


def tree_unflatten(tree: list[tuple[str, Any]] | dict[str, Any]) -> Any:
    """The tree whose leaves have these paths: the inverse of :func:`tree_flatten`.

    Keys that are all numbers make a list, in which places without a leaf hold an empty dictionary.

    >>> tree_unflatten([("x.0", 1), ("x.1", 2)])
    {'x': [1, 2]}
    """
    pairs = list(tree.items()) if isinstance(tree, dict) else list(tree)
    if len(pairs) == 1 and pairs[0][0] == "":
        return pairs[0][1]
    below: dict[str, list[tuple[str, Any]]] = {}
    for path, leaf in pairs:
        key, _, rest = path.partition(".")
        below.setdefault(key, []).append((rest, leaf))
    if not all(key.isdecimal() for key in below):
        return {key: tree_unflatten(children) for key, children in below.items()}
    numbered = {int(key): children for key, children in below.items()}
    length = max(numbered, default=-1) + 1
    return [tree_unflatten(numbered[i]) if i in numbered else {} for i in range(length)]


def tree_reduce(fn: Callable[[Any, Any], Any], tree: Any, initializer: Any = None, is_leaf: Leaf = None) -> Any:
    """Folds the leaves from left to right, starting from ``initializer`` or else from the first leaf.

    >>> tree_reduce(lambda total, leaf: total + leaf, {"x": [1, 2], "y": 3}, 0)
    6
    """
    result = initializer
    for _, leaf in tree_flatten(tree, is_leaf=is_leaf):
        result = leaf if result is None else fn(result, leaf)
    return result


def _is_nothing(tree: Any) -> bool:
    return tree is None or (isinstance(tree, (dict, list, tuple)) and not tree)


def tree_merge(tree_a: Any, tree_b: Any, merge_fn: Callable[[Any, Any], Any] | None = None) -> Any:
    """One tree with the leaves of both; where both have one, ``merge_fn`` decides. None and empty trees are no leaves.

    >>> tree_merge({"x": 1}, {"x": None, "y": 2})
    {'x': 1, 'y': 2}
    """
    if _is_nothing(tree_a):
        return tree_b
    if _is_nothing(tree_b):
        return tree_a
    if isinstance(tree_a, dict) and isinstance(tree_b, dict):
        merged = dict(tree_b)
        for key, child in tree_a.items():
            merged[key] = tree_merge(child, tree_b[key], merge_fn) if key in tree_b else child
        return merged
    if isinstance(tree_a, (list, tuple)) and isinstance(tree_b, (list, tuple)):
        return _like(tree_a, [tree_merge(a, b, merge_fn) for a, b in zip_longest(tree_a, tree_b)])
    if merge_fn is None:
        raise ValueError("[tree_merge] Both trees have a leaf at the same place and there is no merge_fn to choose.")
    return merge_fn(tree_a, tree_b)
