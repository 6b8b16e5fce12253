"""Calls that end MLX's process, never return or give garbage: here they raise, or give the defined result. MLX is not asked."""

import subprocess
import sys

import numpy as np
import pytest

#: (what is run, what it must raise)
REFUSED = [
    ("mx.ones(3)[-10].item()", IndexError),
    ("mx.ones(3)[10].item()", IndexError),
    ("mx.eval(mx.ones((2, 3))[5])", IndexError),
    ("mx.eval(mx.ones((2, 3))[:, 7])", IndexError),
    ("mx.eval(mx.take(mx.ones(3), mx.array([10**9])))", IndexError),
    ("mx.eval(mx.take(mx.ones(3), mx.array([-4])))", IndexError),
    ("mx.eval(mx.ones((3, 3))[mx.array([0, 3])])", IndexError),
    ("mx.eval(mx.take_along_axis(mx.ones((2, 2)), mx.array([[5]]), axis=1))", IndexError),
    ("mx.eval(mx.put_along_axis(mx.ones((2, 2)), mx.array([[5]]), mx.array([[1.0]]), axis=1))", IndexError),
    ("set_item(mx.ones(3), 5, 1)", IndexError),
    ("set_item(mx.ones(3), mx.array([7]), 1)", IndexError),
    ("set_item(mx.ones(4), mx.array([True] * 4), mx.array([1.0, 2.0]))", (ValueError, RuntimeError)),
    ("mx.eval(mx.zeros((1 << 20, 1 << 20)))", (RuntimeError, MemoryError)),
    ("mx.eval(mx.zeros((1 << 31, 1 << 31, 1 << 31)))", (ValueError, OverflowError, RuntimeError)),
    ("format(mx.array(2.5), 'wrong')", ValueError),
    ("mx.ones(3)[::0]", ValueError),
    ("mx.ones((2, 3)).reshape()", (TypeError, ValueError)),
    ("mx.as_strided(mx.ones(3), (10,), (4,))", ValueError),
    ("mx.arange(10**30)", (ValueError, OverflowError)),
    ("mx.zeros(2**63)", (ValueError, OverflowError)),
    ("mx.array([1.0]).astype('float32')", TypeError),
    ("mx.set_memory_limit(-1)", (TypeError, OverflowError)),
    ("mx.set_default_device(mx.Device(mx.cpu, 3))", (ValueError, IndexError)),
]

#: Every argument that is a list of integers, with `{n}` in its place.
INTEGERS = [
    "mx.zeros({n})",
    "mx.ones({n})",
    "mx.full({n}, 1)",
    "a.reshape({n})",
    "a.reshape(*{n})",
    "mx.reshape(a, {n})",
    "mx.unflatten(a, 0, {n})",
    "mx.transpose(a, {n})",
    "a.transpose({n})",
    "mx.permute_dims(a, {n})",
    "mx.squeeze(a, {n})",
    "a.squeeze({n})",
    "mx.expand_dims(a, {n})",
    "mx.broadcast_to(a, {n})",
    "mx.broadcast_shapes({n}, (1,))",
    "mx.flip(a, {n})",
    "mx.as_strided(a, {n}, (1,))",
    "mx.as_strided(a, (1,), {n})",
    "mx.tile(a, {n})",
    "mx.roll(a, {n})",
    "mx.roll(a, 1, {n})",
    "mx.pad(a, {n})",
    "mx.pad(a, [{n}])",
    "mx.split(a, {n})",
    "mx.tensordot(a, a, {n})",
    "mx.tensordot(a, a, [{n}, [0]])",
    "mx.sum(a, {n})",
    "a.sum({n})",
    "mx.mean(a, {n})",
    "mx.softmax(a, {n})",
    "mx.logsumexp(a, {n})",
    "mx.slice(a, mx.array([0]), {n}, (1,))",
    "mx.slice(a, mx.array([0]), (0,), {n})",
    "mx.slice_update(a, a, mx.array([0]), {n})",
    "mx.random.normal({n})",
    "mx.random.uniform(shape={n})",
    "mx.random.randint(0, 5, {n})",
    "mx.random.categorical(a, shape={n})",
    "mx.random.bernoulli(0.5, {n})",
    "mx._restore(b'', {n}, mx.float32)",
]


def set_item(a, at, value):
    a[at] = value
    a.tolist()


@pytest.mark.parametrize("code, error", REFUSED, ids=[code for code, _ in REFUSED])
def test_is_refused(code, error, mx, request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("this would end the process")
    with pytest.raises(error):
        eval(code, {"mx": mx, "set_item": set_item})


NUMBERS = ["range(2**40)", "range(2**62)", "range(2**70)", "[1] * 5_000_000", "(1,) * 1_000"]
#: Python itself makes a tuple of `*range(…)`, and an array can be divided at a thousand positions.
POSSIBLE = ["a.reshape(*{n})", "mx.split(a, {n})"]


@pytest.mark.parametrize(
    "code, numbers", [(c, n) for c in INTEGERS for n in NUMBERS if c not in POSSIBLE or ("split" in c) == ("range" in n)]
)
def test_lists_of_integers_are_bounded_before_anything_is_made_of_them(code, numbers, mx, request):
    only_here(request)
    with pytest.raises((ValueError, TypeError, IndexError, OverflowError)):
        eval(code.format(n=numbers), {"mx": mx, "a": mx.ones(4)})


def test_an_array_is_divided_at_many_positions(mx):
    assert len(mx.split(mx.ones(4), (1,) * 1_000)) == 1_001


def test_the_bound_on_axes_holds_everywhere_and_all_that_are_allowed_work(mx, request):
    only_here(request)
    a = mx.ones((1,) * 64)
    nested = a.tolist()
    assert str(nested) == "[" * 64 + "1.0" + "]" * 64
    assert mx.array(nested).ndim == 64 and np.array(a).ndim == 64
    assert mx.sum(a).item() == 1 and mx.squeeze(a).ndim == 0
    with pytest.raises(ValueError, match="64 at most"):
        mx.array([nested])
    with pytest.raises(ValueError, match="64 at most"):
        mx.ones((1,) * 65)
    with pytest.raises(ValueError, match="64 at most"):
        a[None]


def only_here(request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("mlx may never return")


def test_reductions_of_nothing_are_defined(mx, request):
    only_here(request)
    empty = mx.zeros((0,))
    assert mx.sum(empty).item() == 0 and mx.prod(empty).item() == 1
    assert mx.all(empty).item() is True and mx.any(empty).item() is False
    assert np.array_equal(np.array(mx.sum(mx.zeros((2, 0, 3)), axis=1)), np.zeros((2, 3)))
    assert mx.sum(mx.zeros((2, 0, 3)), axis=0).shape == (0, 3)


def test_integers_divided_by_zero_give_zero_and_leave_all(mx, request):
    only_here(request)
    a, zero = mx.array([7, -7, 0]), mx.array([0, 0, 0])
    assert mx.floor_divide(a, zero).tolist() == [0, 0, 0]
    assert mx.remainder(a, zero).tolist() == [7, -7, 0]
    least = mx.array([-(2**31)])
    assert mx.floor_divide(least, mx.array([-1])).dtype == mx.int32


def test_a_failed_array_keeps_its_error_and_others_are_not_touched(mx, request):
    only_here(request)
    bad = mx.take(mx.ones(3), mx.array([99]))
    good = mx.ones(3) + 1
    for _ in range(2):
        with pytest.raises(IndexError, match="99"):
            bad.tolist()
    assert good.tolist() == [2, 2, 2]
    with pytest.raises(IndexError):
        mx.eval(bad + 1)


def test_a_deep_graph_is_no_deeper_than_a_flat_one(request):
    name = request.config.getoption("--subject")
    code = f"import {name} as mx\na = mx.zeros((2,))\nfor _ in range(200_000): a = a + 1\nprint(a.tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[200000.0, 200000.0]\n"


def test_deeply_nested_lists_are_refused(mx, request):
    only_here(request)
    nested = 1.0
    for _ in range(5000):
        nested = [nested]
    with pytest.raises((ValueError, RecursionError)):
        mx.array(nested)
