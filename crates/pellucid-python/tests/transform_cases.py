"""What transforms of functions are asked to do, the same for every library: each case is a function of the module."""

from __future__ import annotations

import inspect
from collections import namedtuple

Pair = namedtuple("Pair", "u v")


class TupleOfOurs(tuple):
    pass


class DictOfOurs(dict):
    pass


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


@case
def products_with_chosen_packed_matrices_pass_gradients_on(mx):
    x = (mx.arange(2 * 3 * 64) % 7).reshape(2, 3, 64) / 7
    words, scales, biases = mx.quantize(((mx.arange(3 * 32 * 64) * 37) % 101).reshape(3, 32, 64) / 50 - 1)
    left, right = (mx.array(list, mx.uint32) for list in ([1, 0, 1], [2, 0, 2]))

    def product(x, scales, biases):
        return mx.gather_qmm(x, words, scales, biases, left, right)

    return mx.vjp(product, [x, scales, biases], [mx.ones((3, 3, 32))])
