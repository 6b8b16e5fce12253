"""Transforms of functions give what the published mlx gives: values, structures, types and kinds of errors."""

from __future__ import annotations

import functools
import gc
import inspect
import math
import random
import weakref
from collections import namedtuple

import mlx.core
import numpy as np
import pellucid.core
import pytest

Pair = namedtuple("Pair", "u v")


class TupleOfOurs(tuple):
    pass


class DictOfOurs(dict):
    pass


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


CASES = []


def case(f):
    CASES.append(f)
    return f


@case
def argnums_are_sorted(mx):
    return mx.grad(lambda x, y: x * x * y, argnums=(1, 0))(mx.array(2.0), mx.array(3.0))


@case
def one_argnum_in_a_list_gives_one_gradient(mx):
    return mx.grad(lambda x, y: x * x * y, argnums=[0])(mx.array(2.0), mx.array(3.0))


@case
def a_negative_argnum_is_refused(mx):
    return mx.grad(lambda x: x, argnums=-1)


@case
def an_argnum_given_twice_is_refused(mx):
    return mx.grad(lambda x: x, argnums=(1, 1))


@case
def no_argnums_at_all_are_refused(mx):
    return mx.grad(lambda x: x, argnums=())


@case
def argnums_are_integers(mx):
    return mx.grad(lambda x: x, argnums=("a",))


@case
def an_argnum_beyond_the_arguments_is_refused(mx):
    return mx.grad(lambda x: x, argnums=2)(mx.array(1.0))


@case
def an_argument_by_keyword_is_not_positional(mx):
    return mx.grad(lambda x: x)(x=mx.array(1.0))


@case
def argnames_give_a_dictionary(mx):
    return mx.grad(lambda x, y: x * y * y, argnames="y")(mx.array(2.0), y=mx.array(3.0))


@case
def argnums_and_argnames_together(mx):
    f = mx.grad(lambda x, y, z: x * y * y * z, argnums=0, argnames=["z", "y"])
    return f(mx.array(2.0), y=mx.array(3.0), z=mx.array(5.0))


@case
def a_missing_argname_is_refused(mx):
    return mx.grad(lambda x, y: x * y, argnames="y")(mx.array(1.0), mx.array(2.0))


@case
def grad_refuses_a_tuple(mx):
    return mx.grad(lambda x: (x, x))(mx.array(1.0))


@case
def value_and_grad_returns_what_else_the_function_returns(mx):
    return mx.value_and_grad(lambda x: (x * x, {"a": x * 3, "b": "s"}))(mx.array(2.0))


@case
def value_and_grad_refuses_a_list(mx):
    return mx.value_and_grad(lambda x: [x * x])(mx.array(2.0))


@case
def value_and_grad_refuses_a_string(mx):
    return mx.value_and_grad(lambda x: "a")(mx.array(2.0))


@case
def value_and_grad_refuses_an_empty_tuple(mx):
    return mx.value_and_grad(lambda x: ())(mx.array(2.0))


@case
def value_and_grad_refuses_a_tuple_that_does_not_begin_with_an_array(mx):
    return mx.value_and_grad(lambda x: ("a", x))(mx.array(2.0))


@case
def a_result_that_is_no_scalar_is_refused(mx):
    return mx.grad(lambda x: x)(mx.array([[1.0]]))


@case
def integers_have_gradients_of_their_own_type(mx):
    return mx.grad(lambda x: mx.sin(x))(mx.array(3)), mx.grad(lambda x: x * 2)(mx.array(3))


@case
def a_sum_of_truth_values_has_an_integer_gradient(mx):
    return mx.grad(lambda x: x.sum())(mx.array([True, False]))


@case
def a_truth_value_has_no_slope(mx):
    return mx.grad(lambda x: x > 1)(mx.array(3.0))


@case
def other_arguments_pass(mx):
    return mx.grad(lambda x, s: x * x)(mx.array(3.0), "hello")


@case
def a_number_in_a_differentiated_tree_is_refused(mx):
    return mx.grad(lambda d: d["a"] * 2)({"a": mx.array(1.0), "b": 1.0})


@case
def trees_keep_their_classes(mx):
    tree = Pair(mx.array(2.0), [mx.array(3.0), {"k": mx.array(4.0), "none": []}])
    return (
        mx.grad(lambda t: t.u * t.v[0] * t.v[1]["k"])(tree),
        mx.grad(lambda t: t[0] * t[1])(TupleOfOurs([mx.array(2.0), mx.array(3.0)])),
        mx.grad(lambda t: t["a"] * 2)(DictOfOurs(a=mx.array(2.0))),
    )


@case
def the_function_sees_the_callers_own_containers(mx):
    seen = []

    def f(t):
        seen.append((type(t[0]).__name__, type(t).__name__))
        return t[0]["a"] * 2

    mx.grad(f)((DictOfOurs(a=mx.array(1.0)),))
    return seen


@case
def names_documents_and_signatures_stay(mx):
    def foo(x, y=3):
        "documented"
        return x

    g = mx.grad(foo)
    return g.__name__, g.__doc__, str(inspect.signature(g)), type(g).__name__


@case
def evaluation_inside_keeps_the_graph(mx):
    def f(x):
        y = x * x
        mx.eval(y)
        y.tolist()
        return (y * x).sum() if y > 1 else y.sum()

    return mx.grad(f)(mx.array(2.0))


@case
def async_eval_inside_is_refused(mx):
    def f(x):
        y = x * x
        mx.async_eval(y)
        return y

    return mx.grad(f)(mx.array(2.0))


@case
def what_escapes_from_a_gradient_is_an_array(mx):
    kept = {}

    def f(x):
        kept["y"] = x * 2
        return x

    mx.grad(f)(mx.array(2.0))
    return kept["y"]


@case
def evaluation_of_a_lane_is_refused(mx):
    return mx.vmap(lambda x: x * x.item())(mx.ones(3))


@case
def a_lane_that_escapes_has_no_elements(mx):
    kept = {}

    def f(x):
        kept["y"] = x * 2
        return x

    mx.vmap(f)(mx.ones(3))
    return kept["y"].tolist()


@case
def updates_in_place_leave_the_callers_array_alone(mx):
    def f(x):
        x[0] = 5.0
        x += 1
        return (x * x).sum()

    x = mx.array([1.0, 2.0, 3.0])
    return mx.grad(f)(x), x


@case
def every_writer_of_a_place_gets_its_cotangent(mx):
    def f(v):
        x = mx.zeros(3)
        x[mx.array([1, 1])] = v
        return (x * mx.array([1.0, 2.0, 3.0])).sum()

    return mx.grad(f)(mx.array([5.0, 6.0]))


@case
def stop_gradient_stops(mx):
    return (
        mx.grad(lambda x: x * mx.stop_gradient(x))(mx.array(3.0)),
        mx.grad(mx.grad(lambda x: x * x * mx.stop_gradient(x)))(mx.array(3.0)),
        mx.vjp(lambda x: (x * 2, mx.stop_gradient(x)), [mx.array(2.0)], [mx.array(1.0)]),
    )


@case
def casts_are_straight_through(mx):
    return mx.grad(lambda x: x.astype(mx.int32).astype(mx.float32))(mx.array(2.5))


@case
def vjp_of_several_results(mx):
    return mx.vjp(lambda x, y: (x * y, x + y), [mx.array(2.0), mx.array(3.0)], [mx.array(1.0), mx.array(10.0)])


@case
def too_few_cotangents_are_refused(mx):
    return mx.vjp(lambda x: (x, x), [mx.array(2.0)], [mx.array(1.0)])


@case
def more_cotangents_than_results_are_left_alone(mx):
    return mx.vjp(lambda x: x, [mx.array(2.0)], [mx.array(1.0), mx.array(1.0)])


@case
def a_cotangent_has_the_shape_of_its_result(mx):
    return mx.vjp(lambda x: x, [mx.array([2.0])], [mx.array(1.0)])


@case
def primals_are_arrays(mx):
    return mx.vjp(lambda x: x, [2.0], [mx.array(1.0)])


@case
def an_unused_primal_has_zeros(mx):
    return mx.vjp(lambda x, y: x, [mx.array(2.0), mx.array([1, 2])], [mx.array(1.0)])


@case
def jvp_counts_its_tangents(mx):
    return mx.jvp(lambda x: x, [mx.array(2.0)], [])


@case
def jvp_looks_at_shapes(mx):
    return mx.jvp(lambda x: x, [mx.array(2.0)], [mx.array([1.0])])


@case
def jvp_of_something_else_is_zero(mx):
    return mx.jvp(lambda x: mx.array([1, 2]), [mx.array(2.0)], [mx.array(1.0)])


@case
def jvp_of_comparisons_has_the_tangents_type(mx):
    return mx.jvp(lambda x: (x > 1, x == 1, x <= 1), [mx.array([1.0, 2.0])], [mx.array([1.0, 1.0])])


@case
def jvp_of_reductions_of_integers(mx):
    x, t = mx.array([3, 0, 2]), mx.array([1, 2, 3])
    return [mx.jvp(f, [x], [t]) for f in (mx.sum, mx.prod, mx.min, mx.max)]


@case
def powers_at_their_edges(mx):
    return mx.grad(lambda x: (x - 1.0) ** x)(mx.array(1.0)), mx.grad(lambda x: x**2)(mx.array(0.0))


@case
def running_products_with_zeros(mx):
    rows = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 3.0, 4.0], [1.0, 0.0, 0.0, 4.0])
    return [
        mx.grad(lambda x: mx.cumprod(x, reverse=reverse, inclusive=inclusive).sum())(mx.array(row))
        for reverse in (False, True)
        for inclusive in (False, True)
        for row in rows
    ]


@case
def running_extremes_belong_to_the_latest(mx):
    weights = mx.array([1.0, 10.0])
    return [
        mx.grad(lambda x: (op(x, reverse=reverse, inclusive=inclusive)[1:3] * weights).sum())(
            mx.array([1.0, 3.0, 3.0, 2.0])
        )
        for op in (mx.cummax, mx.cummin)
        for reverse in (False, True)
        for inclusive in (False, True)
    ]


@case
def order_and_ties(mx):
    return (
        mx.grad(lambda x: (mx.sort(x) * mx.array([1.0, 2.0, 3.0])).sum())(mx.array([3.0, 1.0, 2.0])),
        mx.grad(lambda x: (mx.topk(x, 2) * mx.array([1.0, 2.0])).sum())(mx.array([3.0, 1.0, 2.0])),
        mx.grad(lambda x: x.max())(mx.array([2.0, 2.0, 1.0])),
        mx.grad(lambda x: mx.maximum(x, 2.0).sum())(mx.array([2.0, 3.0, 1.0])),
    )


@case
def complex_numbers(mx):
    z = mx.array([3 + 4j])
    return (
        mx.grad(lambda z: mx.abs(z).sum())(z),
        mx.grad(lambda z: mx.real(z * z).sum())(z),
        mx.grad(lambda z: mx.imag(mx.exp(z * 0.1)).sum())(z),
    )


@case
def sixteen_bit_gradients_keep_their_type(mx):
    types = (mx.float16, mx.bfloat16, mx.float32)
    return [mx.grad(lambda x: (x + x).sum())(mx.array([1.0, 2.0]).astype(t)) for t in types]


@case
def vmap_without_axes_is_refused(mx):
    return mx.vmap(lambda x: x, in_axes=None)


@case
def vmap_of_nothing_mapped_is_refused(mx):
    return mx.vmap(lambda x: x, in_axes=(None,))(mx.ones(3))


@case
def vmap_looks_at_axes(mx):
    return mx.vmap(lambda x: x, in_axes=2)(mx.ones(3))


@case
def vmap_of_a_scalar_is_refused(mx):
    return mx.vmap(lambda x: x)(mx.array(3.0))


@case
def vmap_of_sizes_that_differ_is_refused(mx):
    return mx.vmap(lambda x, y: x + y)(mx.ones(2), mx.ones(3))


@case
def vmap_takes_no_keywords(mx):
    return mx.vmap(lambda x: x)(x=mx.ones(2))


@case
def vmap_axes_are_a_prefix_of_the_arguments(mx):
    return mx.vmap(lambda x, y: x + y, in_axes=[0, 0])(mx.ones(2), mx.ones(2))


@case
def vmap_looks_at_output_axes(mx):
    return mx.vmap(lambda x: x, out_axes=3)(mx.ones((2, 2)))


@case
def vmap_repeats_what_does_not_depend_on_lanes(mx):
    return mx.vmap(lambda x: mx.array([1.0, 2.0]))(mx.ones(3))


@case
def vmap_takes_arrays_only(mx):
    return mx.vmap(lambda x, y: x)(mx.ones(3), 2.0)


@case
def vmap_of_vjp_gives_rows_of_the_jacobian(mx):
    return mx.vmap(lambda g: mx.vjp(lambda x: x * x, [mx.array([1.0, 2.0])], [g])[1][0])(mx.eye(2))


@case
def compile_takes_trees_of_constants(mx):
    return mx.compile(lambda x, y: x)(mx.ones(1), {1, 2})


@case
def evaluation_inside_of_compile_is_refused(mx):
    return mx.compile(lambda x: x * x.item())(mx.array(2.0))


@case
def an_argument_that_is_also_captured_is_refused(mx):
    x = mx.array([1, 2, 3]) + 2
    return mx.compile(lambda a: a + x + 1)(x)


@case
def compiled_state_is_read_and_written(mx):
    state = {"y": mx.array(2)}

    def f(x):
        z = x + state["y"]
        state["y"] = z + 1
        return z

    compiled = mx.compile(f, inputs=state, outputs=state)
    return compiled(mx.array(1)), dict(state), compiled(mx.array(1)), dict(state)


@case
def a_new_key_of_the_state_is_recorded(mx):
    state, traces = {"y": mx.array(2)}, []

    def f(x):
        traces.append(1)
        state["z"] = state.get("z", mx.array(0)) + x
        return x

    compiled = mx.compile(f, inputs=state, outputs=state)
    for _ in range(3):
        compiled(mx.array(1))
    return dict(state), len(traces)


@case
def constants_are_part_of_the_key(mx):
    traces = []

    def f(x, s, n=1):
        traces.append(1)
        return x * 2 if s == "a" else x + n

    compiled = mx.compile(f)
    x = mx.array(1)
    return compiled(x, "a"), compiled(x, "b"), compiled(x, "a"), compiled(x, "b", n=2), len(traces)


@case
def random_numbers_follow_the_state(mx):
    mx.random.seed(3)
    f = mx.compile(lambda: mx.random.uniform(shape=(2,)), inputs=mx.random.state, outputs=mx.random.state)
    return f(), f(), mx.random.uniform(shape=(2,))


@case
def compile_and_grad_in_any_order(mx):
    return mx.grad(mx.compile(mx.sin))(mx.array(1.0)), mx.compile(mx.grad(mx.sin))(mx.array(1.0))


@case
def shapeless_functions_are_recorded_once(mx):
    traces = []

    def f(x):
        traces.append(1)
        return mx.softmax(x * 2, axis=-1).sum(axis=-1)

    compiled = mx.compile(f, shapeless=True)
    return compiled(mx.ones((2, 3))), compiled(mx.ones((4, 5))), len(traces)


@case
def shapeless_means_count_what_they_get(mx):
    f = mx.compile(lambda x: x.mean(axis=-1), shapeless=True)
    return f(mx.ones((2, 3))), f(mx.ones((4, 5)))


@case
def shapeless_reshapes_infer_one_size(mx):
    f = mx.compile(lambda x: x.reshape(-1), shapeless=True)
    return f(mx.ones((2, 3))), f(mx.ones((4, 5)))


@case
def shapeless_reshapes_to_numbers_are_refused(mx):
    f = mx.compile(lambda x: x.reshape(x.shape[0] * x.shape[1]), shapeless=True)
    f(mx.ones((2, 3)))
    return f(mx.ones((4, 5)))


@case
def shapeless_gradients(mx):
    f = mx.compile(mx.grad(lambda x: (mx.exp(x) * x).mean()), shapeless=True)
    return f(mx.ones((2, 3))), f(mx.ones((4, 5)))


@case
def custom_functions_use_their_rules(mx):
    @mx.custom_function
    def f(x, y):
        return mx.sin(x) * y

    results = [f(mx.array(1.0), mx.array(2.0))]

    @f.vjp
    def _(primals, cotangent, output):
        x, y = primals
        return cotangent * mx.cos(x) * y * 3, cotangent * output

    results.append(mx.grad(f, argnums=(0, 1))(mx.array(1.0), mx.array(2.0)))

    @f.jvp
    def _(primals, tangents):
        return tangents[0] + tangents[1]

    results.append(mx.jvp(f, [mx.array(1.0), mx.array(2.0)], [mx.array(1.0), mx.array(5.0)]))

    @f.vmap
    def _(inputs, axes):
        return inputs[0] + inputs[1], axes[0]

    results.append(mx.vmap(f)(mx.ones(2), mx.ones(2)))
    return results


@case
def a_custom_vmap_returns_results_and_axes(mx):
    @mx.custom_function
    def f(x):
        return x

    @f.vmap
    def _(inputs, axes):
        return inputs

    return mx.vmap(f)(mx.ones(2))


@case
def checkpoints_take_trees_and_keywords(mx):
    f = mx.checkpoint(lambda d, k=None: d["a"] * k)
    return mx.grad(lambda x, y: f({"a": x}, k=y).sum(), argnums=(0, 1))(mx.array([1.0, 2.0]), mx.array([3.0, 4.0]))


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
