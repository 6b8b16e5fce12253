"""Bad arguments, the same for every function: nothing, too much, wrong types, unknown names, wrong streams."""

from differ import cases_create, cases_elementwise, cases_index, cases_products, cases_reduce, cases_shape
from differ.values import Call, Dt, Name, call, random, rng

_TABLES = (cases_elementwise, cases_reduce, cases_shape, cases_index, cases_create, cases_products)
_SPECIAL = ("set", "at.", "get.", "operator.", "builtin.", "array.", "random.", "seeded", "printed")


def good_calls():
    """One call of each function that both packages accept, in plain arrays."""
    seen = {}
    for table in _TABLES:
        for item in table.cases():
            if not item.function.startswith(_SPECIAL) and item.function not in seen and item.function != "array":
                seen[item.function] = item
    return seen


def cases():
    for name, item in good_calls().items():
        g = rng("bad " + name)
        variadic = name in ("broadcast_arrays", "broadcast_shapes", "atleast_1d", "atleast_2d", "atleast_3d", "result_type", "meshgrid")
        if not variadic:
            yield call(name)
            yield Call(name, (*item.args, *[random(g, "float32", (2,))] * 8), item.kwargs, item.after)
        yield Call(name, item.args, {**item.kwargs, "no_such_keyword": 1}, item.after)
        if item.args:
            yield Call(name, ("text", *item.args[1:]), item.kwargs, item.after)
            yield Call(name, (object(), *item.args[1:]), item.kwargs, item.after)
            yield Call(name, (None, *item.args[1:]), item.kwargs, item.after)
            yield Call(name, (Dt("float32"), *item.args[1:]), item.kwargs, item.after)
            yield Call(name, ({}, *item.args[1:]), item.kwargs, item.after)
        if name not in ("broadcast_shapes", "issubdtype", "isdtype", "can_cast", "result_type", "finfo", "iinfo", "asarray"):
            yield Call(name, item.args, {**item.kwargs, "stream": "cpu"}, item.after)
            yield Call(name, item.args, {**item.kwargs, "stream": 3}, item.after)
            yield Call(name, item.args, {**item.kwargs, "stream": Name("cpu")}, item.after)
