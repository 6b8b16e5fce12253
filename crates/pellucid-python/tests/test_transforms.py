"""Transforms of functions give what the published mlx gives: values, structures, types and kinds of errors."""

from __future__ import annotations

import functools
import gc
import math
import random
import weakref

import mlx.core
import numpy as np
import pellucid.core
import pytest

import transform_more  # noqa: F401 - adds its cases
from transform_cases import CASES


@pytest.fixture(autouse=True)
def mlx_compiles():
    """Tests of layers switch mlx's compilation off in this process."""
    mlx.core.enable_compile()
    yield
    mlx.core.disable_compile()


def plain(value):
    """A result without the library it came from: arrays become their type and elements."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return ("array", str(value.dtype).rsplit(".", 1)[-1], tuple(value.shape), value.tolist())
    if isinstance(value, tuple):
        return (type(value).__name__, [plain(item) for item in value])
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return (type(value).__name__, {key: plain(item) for key, item in value.items()})
    return value


def close(a, b, tolerance=1e-5):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(close(a[key], b[key], tolerance) for key in a)
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        if a != a or b != b:
            return a != a and b != b
        return a == b or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    return a == b


def outcome(case, mx):
    try:
        return "value", plain(case(mx))
    except Exception as error:  # noqa: BLE001 - the kind of error is what is compared
        return "error", error


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_transforms_do_what_those_of_mlx_do(case):
    kind, expected = outcome(case, mlx.core)
    found_kind, found = outcome(case, pellucid.core)
    assert found_kind == kind, f"{found!r} instead of {expected!r}"
    if kind == "error":
        assert isinstance(found, type(expected)), f"{found!r} instead of {expected!r}"
    else:
        assert close(found, expected), f"{found} instead of {expected}"


UNARY = ["sin", "cos", "tanh", "exp", "sigmoid", "square", "abs", "erf", "arctan", "negative"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "arctan2", "logaddexp"]


def program(seed):
    """A random function of two matrices, the same for every library."""
    rng = random.Random(seed)
    steps = []
    for _ in range(rng.randint(3, 9)):
        kind = rng.choice(["unary", "unary", "binary", "binary", "reduce", "layout", "matmul", "index", "softmax"])
        steps.append((kind, rng.random(), rng.random(), rng.random()))

    def f(mx, a, b):
        values = [a, b]
        for kind, x, y, z in steps:
            left, right = values[int(x * len(values))], values[int(y * len(values))]
            if kind == "unary":
                made = getattr(mx, UNARY[int(z * len(UNARY))])(mx.clip(left, -3, 3))
            elif kind == "binary":
                made = getattr(mx, BINARY[int(z * len(BINARY))])(left, right)
            elif kind == "reduce":
                op = [mx.sum, mx.mean, mx.max, mx.logsumexp, mx.var][int(z * 5)]
                made = op(left, axis=int(x * 10) % 2, keepdims=True) + right * 0.5
            elif kind == "layout":
                made = mx.transpose(left) if z < 0.5 else mx.flatten(left)[::-1].reshape(3, 3)
            elif kind == "matmul":
                made = mx.matmul(left, right) * 0.3
            elif kind == "index":
                made = mx.take(left, mx.array([2, 0, 0]), axis=int(z * 2)) + right
            else:
                made = mx.softmax(left, axis=int(z * 2)) if z < 0.6 else mx.cumsum(left, axis=0) * 0.3
            values.append(made)
        return values[-1]

    return f


@pytest.mark.parametrize("block", range(20))
def test_random_programs_have_the_gradients_of_mlx(block):
    for seed in range(block * 16, block * 16 + 16):
        f, rng = program(seed), np.random.default_rng(seed)
        data = [rng.normal(size=(3, 3)).astype(np.float32) for _ in range(3)]

        def results(mx):
            a, b, w = (mx.array(x) for x in data)
            loss = lambda a, b: (f(mx, a, b) * w).sum()  # noqa: E731
            both = mx.value_and_grad(loss, argnums=(0, 1))(a, b)
            lanes = mx.vmap(mx.grad(lambda a, b: mx.tanh(f(mx, a, b)).sum()), in_axes=(0, None))(mx.stack([a, w]), b)
            tangent = mx.jvp(lambda a: f(mx, a, b), [a], [w])[1]
            second = mx.grad(lambda a: (mx.grad(loss)(a, b) * w).sum())(a)
            return [*both, lanes, tangent, second]

        expected, found = (plain(results(mx)) for mx in (mlx.core, pellucid.core))
        assert close(found, expected, 2e-3), f"program {seed}: {found} instead of {expected}"
        # Of itself: mlx compiles a C++ program for each function.
        mx = pellucid.core
        a, b = mx.array(data[0]), mx.array(data[1])
        slope = mx.grad(lambda a, b: f(mx, a, b).sum())
        assert close(plain(mx.compile(slope)(a, b)), plain(slope(a, b))), f"program {seed}, compiled"


@pytest.mark.parametrize("make", ["grad", "value_and_grad", "vmap", "compile", "checkpoint", "custom_function"])
def test_transformed_functions_can_be_collected(make):
    mx = pellucid.core

    class Owner:
        pass

    owner = Owner()
    owner.f = getattr(mx, make)(lambda x: (owner, x * 2)[1])
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None


def test_transformed_functions_can_be_wrapped_and_be_methods():
    mx = pellucid.core

    @functools.wraps(mx.compile(lambda x: x))
    def f(x):
        return x

    assert f(mx.array(1.0)).item() == 1.0

    class Model:
        scale = 3.0

        @mx.compile
        def __call__(self, x):
            return x

        @mx.checkpoint
        def block(self, x):
            return mx.sin(x) * self.scale

    slope = mx.grad(lambda x: Model().block(x))(mx.array(0.0))
    assert math.isclose(slope.item(), 3.0)


def test_a_rule_that_raises_is_heard():
    mx = pellucid.core

    @mx.custom_function
    def f(x):
        return x * 2

    @f.vjp
    def _(primals, cotangent, output):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        mx.grad(f)(mx.array(1.0))
    # Nothing is left half-traced.
    assert mx.grad(lambda x: x * x)(mx.array(3.0)).item() == 6.0


def test_a_function_that_raises_leaves_its_containers_as_they_were():
    mx = pellucid.core
    x = mx.array(1.0)
    tree = {"a": [x]}

    def f(tree):
        raise RuntimeError("stop")

    for transform in (mx.grad, mx.vmap, mx.compile):
        with pytest.raises((RuntimeError, ValueError)):
            transform(f)(tree)
        assert tree["a"][0] is x


def test_a_function_that_is_recorded_again_and_again_says_why():
    mx = pellucid.core
    f = mx.compile(lambda x, rate: x * rate)
    with pytest.warns(UserWarning, match="recorded 16 times"):
        for step in range(20):
            f(mx.array(1.0), 0.1 * step)


def test_dropout_under_checkpoint_is_the_same_on_the_way_back():
    mx = pellucid.core
    mx.random.seed(0)
    block = mx.checkpoint(lambda x: x * mx.random.bernoulli(0.5, x.shape))
    value, slope = mx.value_and_grad(lambda x: block(x).sum())(mx.ones(100))
    assert value.item() == slope.sum().item()


def test_compilation_can_be_turned_off():
    mx = pellucid.core
    runs = []
    f = mx.compile(lambda x: (runs.append(1), x * 2)[1])
    f(mx.array(1.0))
    f(mx.array(2.0))
    assert len(runs) == 1
    mx.disable_compile()
    try:
        assert f(mx.array(3.0)).item() == 6.0
        assert len(runs) == 2
    finally:
        mx.enable_compile()
    f(mx.array(4.0))
    assert len(runs) == 2


def test_a_collection_while_a_function_is_made_sees_nothing_half_made():
    mx, before = pellucid.core, gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            f = mx.compile(lambda x: x + 1)
            g = mx.grad(mx.custom_function(lambda x: x * x))
    finally:
        gc.set_threshold(*before)
    assert (f(mx.array(1.0)).item(), g(mx.array(3.0)).item()) == (2.0, 6.0)
