"""`pellucid.utils` beside `mlx.utils`, and the group of one process."""

from collections import namedtuple
from types import SimpleNamespace

import pytest

pytest.importorskip("mlx.utils")

from side_by_side import OURS, THEIRS, raised  # noqa: E402

GROUPS = tuple(SimpleNamespace(mx=p.mx, distributed=p.mx.distributed) for p in (OURS, THEIRS))

TREE = [1, (2, 3), {"a": 4, "b": [], "c": {"d": None}}]
CALLS = {
    "flatten": lambda u: u.tree_flatten(TREE),
    "flatten a leaf": lambda u: u.tree_flatten(3),
    "flatten into a dictionary": lambda u: u.tree_flatten(TREE, destination={}),
    "flatten behind others": lambda u: u.tree_flatten([1], destination=[("x", 5)]),
    "flatten below a path": lambda u: u.tree_flatten(TREE, prefix=".x"),
    "flatten tuples as leaves": lambda u: u.tree_flatten(TREE, is_leaf=lambda x: isinstance(x, tuple)),
    "unflatten": lambda u: u.tree_unflatten([("0", 1), ("1.0", 2), ("1.1", 3), ("2.a", 4)]),
    "unflatten with gaps": lambda u: u.tree_unflatten({"0": 1, "3": 3}),
    "unflatten out of order": lambda u: u.tree_unflatten([("1", 1), ("0", 2), ("10", 4)]),
    "unflatten one leaf": lambda u: u.tree_unflatten([("", 3)]),
    "unflatten nothing": lambda u: u.tree_unflatten([]),
    "unflatten numbers and names": lambda u: u.tree_unflatten([("a.0", 1), ("a.b", 2)]),
    "unflatten a leaf above others": lambda u: u.tree_unflatten([("a", 1), ("a.b", 2)]),
    "map": lambda u: u.tree_map(lambda x: (x,), TREE),
    "map two": lambda u: u.tree_map(lambda a, b: (a, b), {"a": [1]}, {"a": [2], "b": 3}),
    "map with leaves": lambda u: u.tree_map(str, TREE, is_leaf=lambda x: isinstance(x, tuple)),
    "map with paths": lambda u: u.tree_map_with_path(lambda p, x: (p, x), TREE),
    "map with paths below": lambda u: u.tree_map_with_path(lambda p, x: (p, x), TREE, path="z"),
    "map a leaf with its path": lambda u: u.tree_map_with_path(lambda p, x: (p, x), 3),
    "reduce": lambda u: u.tree_reduce(lambda a, x: a + [x], [1, (2, 3), {"a": 4}], []),
    "reduce from the first": lambda u: u.tree_reduce(lambda a, x: a + x, [1, (2, 3), {"a": 4}]),
    "reduce nothing": lambda u: u.tree_reduce(lambda a, x: a + x, []),
    "merge": lambda u: u.tree_merge({"a": [1, {}], "c": 1}, {"a": [{}, {"b": 2}], "d": 4}),
    "merge by a function": lambda u: u.tree_merge({"a": 1}, {"a": 2}, lambda a, b: a + b),
    "merge lists of two lengths": lambda u: u.tree_merge([1], [None, 2]),
    "merge a tuple and a list": lambda u: u.tree_merge((1, None), [None, 2]),
    "merge with nothing": lambda u: [u.tree_merge(1, {}), u.tree_merge([], 3), u.tree_merge(None, 3)],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_tree_becomes_what_it_becomes_in_mlx(name):
    assert CALLS[name](OURS.utils) == CALLS[name](THEIRS.utils)


@pytest.mark.parametrize("make", [
    lambda p: p.utils.tree_flatten([], destination=3),
    lambda p: p.utils.tree_merge({"a": 1}, {"a": 2}),
    lambda p: p.utils.tree_map(lambda *x: x, [1, 2], [1]),
    lambda p: p.utils.tree_map(lambda *x: x, {"a": 3}, {}),
])
def test_bad_trees_raise_what_mlx_raises(make):
    assert raised(OURS, make) is raised(THEIRS, make)


def test_a_named_tuple_stays_one():
    Pair = namedtuple("Pair", "a b")
    assert OURS.utils.tree_map(lambda x: x + 1, Pair(1, 2)) == Pair(2, 3)
    assert OURS.utils.tree_map_with_path(lambda p, x: p, Pair(1, 2)) == Pair("0", "1")


@pytest.fixture
def distributed():
    return OURS.mx.distributed


def test_the_group_has_this_process_alone(distributed):
    group = distributed.init()
    assert (group.rank(), group.size(), distributed.is_available()) == (0, 1, False)
    assert isinstance(group, distributed.Group)


@pytest.mark.parametrize("name", ["all_sum", "all_max", "all_min", "all_gather", "sum_scatter"])
def test_what_is_done_over_the_group_returns_its_argument(distributed, name):
    done = getattr(distributed, name)
    x = OURS.mx.array([1.0, 2.0])
    assert done(x).tolist() == done(x, group=distributed.init(), stream=OURS.mx.cpu).tolist() == [1.0, 2.0]
    theirs = getattr(THEIRS.mx.distributed, name)
    assert done(3.0).tolist() == theirs(3.0).tolist()


@pytest.mark.parametrize("make", [
    lambda p: p.distributed.send(p.mx.zeros(2), 1),
    lambda p: p.distributed.recv((2,), p.mx.float32, 1),
    lambda p: p.distributed.recv_like(p.mx.zeros(2), 1),
    lambda p: p.distributed.init().split(0),
    lambda p: p.distributed.init(strict=True),
    lambda p: p.distributed.init(backend="post"),
    lambda p: p.distributed.Group(),
    lambda p: p.distributed.all_sum("a"),
])
def test_what_needs_another_process_raises_what_mlx_raises(make):
    ours, theirs = GROUPS
    assert raised(ours, make) is raised(theirs, make)


def test_something_else_than_a_group_is_refused(distributed):
    with pytest.raises(TypeError, match="Group"):
        distributed.all_sum(OURS.mx.zeros(1), group=3)
