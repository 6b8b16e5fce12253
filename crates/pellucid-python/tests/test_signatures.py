"""Functions take what mlx's take: the same parameters in the same order, by position or by name, with the same defaults."""

import ast
import inspect
import types

import pytest

#: Parameters that mlx does not have: of older pages, or where every function of a family takes the same.
MORE = {
    "new_stream": {"device"},  # It may be left out, as in the notes on streams.
    "set_memory_limit": {"relaxed"},
    "metal.set_memory_limit": {"relaxed"},
    "std": {"correction"},
    "var": {"correction"},
    "cummax": {"dtype"},
    "cummin": {"dtype"},
    "logcumsumexp": {"dtype"},
    "save_gguf": {"metadata"},  # Optional in mlx too, although its signature does not say so.
}


def parameters(function):
    """(name, how it is passed, default) of each parameter, from the signature that the docstring begins with."""
    first = function.__doc__.strip().partition("\n")[0].removeprefix("def ").replace(" : ", ": ")
    given = ast.parse(f"def {first}: ...").body[0].args
    plain = [(a.arg, "position") for a in given.posonlyargs] + [(a.arg, "both") for a in given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + [ast.unparse(d) for d in given.defaults]
    found = [(name, how, default) for (name, how), default in zip(plain, defaults)]
    found += [(given.vararg.arg, "many", None)] if given.vararg else []
    found += [(a.arg, "name", d and ast.unparse(d)) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    return found + ([(given.kwarg.arg, "many names", None)] if given.kwarg else [])


@pytest.fixture
def pairs(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")
    import mlx.core as theirs

    import pellucid.core as ours

    modules = ("random", "metal", "fast", "fft", "linalg", "distributed", "cuda")
    places = [("", ours, theirs), *((f"{name}.", getattr(ours, name), getattr(theirs, name)) for name in modules)]
    return [
        (prefix + name, getattr(here, name), getattr(there, name))
        for prefix, here, there in places
        for name in dir(here)
        # What mlx says of this one is not Python.
        if not name.startswith("_") and name != "precompiled_cuda_kernel" and hasattr(there, name) and isinstance(getattr(here, name), types.BuiltinFunctionType)
    ]


def test_parameters_are_those_of_mlx(pairs):
    assert len(pairs) > 200
    for name, ours, theirs in pairs:
        more = MORE.get(name, set())
        here = [p for p in parameters(ours) if p[0] not in more]
        there = [p for p in parameters(theirs) if p[0] not in more]
        assert here == there, name


def test_python_knows_the_signatures(pairs):
    for name, ours, _ in pairs:
        if name != "default_device":  # It takes a device to be used as a block, which the signature of mlx does not show.
            assert list(inspect.signature(ours).parameters) == [p[0] for p in parameters(ours)], name
