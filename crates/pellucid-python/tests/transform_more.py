"""More of what transforms are asked to do: second derivatives of orders, trees of axes, sizes that change."""

from __future__ import annotations

from transform_cases import case


def second(mx, f, x):
    """The gradient of a weighted gradient."""
    weights = mx.arange(1, x.size + 1).reshape(x.shape).astype(mx.float32)
    return mx.grad(lambda x: (mx.grad(lambda x: (f(x) ** 2).sum())(x) * weights).sum())(x)


@case
def an_order_is_constant_for_second_derivatives(mx):
    x = mx.array([3.0, 1.0, 2.0, 5.0])
    functions = [mx.sort, lambda x: mx.partition(x, 2), lambda x: mx.topk(x, 2), lambda x: mx.sort(x.reshape(2, 2), axis=0)]
    return [second(mx, f, x).sum() for f in functions]


@case
def running_extremes_have_second_derivatives(mx):
    x = mx.array([3.0, 1.0, 4.0, 1.5])
    return [second(mx, lambda x: scan(x, axis=0, reverse=reverse, inclusive=inclusive)[1:3], x)
            for scan in (mx.cummax, mx.cummin) for reverse in (False, True) for inclusive in (False, True)]


@case
def axes_of_one_argument_need_no_tuple(mx):
    tree = {"a": mx.array([[1.0, 2.0], [3.0, 4.0]]), "b": (mx.array([5.0, 6.0]), mx.array([[1.0, 2.0], [3.0, 5.0]]))}
    f = lambda tree: tree["a"] * tree["b"][0] + tree["b"][1]
    return [mx.vmap(f, in_axes={"a": 1, "b": (0, 0)})(tree), mx.vmap(f, in_axes={"a": 0, "b": 0})(tree),
            mx.vmap(lambda pair: pair[0] + pair[1], in_axes=[0, None])([mx.array([1.0, 2.0]), mx.array(3.0)])]


@case
def axes_that_are_no_prefix_of_one_argument_are_refused(mx):
    return mx.vmap(lambda tree: tree["a"], in_axes={"a": 0, "b": ((0, 0), 0)})({"a": mx.ones(2), "b": (mx.ones(2), mx.ones(2))})


@case
def arrays_like_an_argument_follow_its_size(mx):
    functions = [mx.compile(f, shapeless=True) for f in (mx.zeros_like, mx.ones_like, lambda x: mx.full_like(x, 3))]
    return [f(x) for f in functions for x in (mx.zeros((1, 1, 4)), mx.zeros((2, 2, 3)))]


@case
def positions_that_are_replaced_stay_where_they_are(mx):
    def f(x):
        x[2] = mx.array([7.0])
        return x * 2

    g = mx.compile(f, shapeless=True)
    return [g(mx.zeros(n)) for n in (4, 6, 5)]


@case
def a_batch_of_matrices_is_compiled_for_any_size(mx):
    calls = []
    f = mx.vmap(lambda x, y: calls.append(0) or x @ y, in_axes=(0, 1))
    g = mx.compile(f, shapeless=True)
    shapes = [((2, 3, 1, 4, 5), (1, 2, 5, 6)), ((3, 2, 1, 4, 5), (2, 3, 5, 6))]
    return [g(mx.ones(a), mx.ones(b)) for a, b in shapes], len(calls)


@case
def a_constant_that_waits_for_an_argument_is_refused(mx):
    x = mx.array([1.0, 2.0]) + mx.array([1.0, 2.0])
    waits = x * 3
    return mx.compile(lambda a: a + waits)(x)
