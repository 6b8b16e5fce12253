"""Functions in files: `export_function`, `exporter`, `FunctionExporter` and `import_function` do what those of the
published mlx do."""

from __future__ import annotations

import gc
import os
import weakref

import mlx.core
import pellucid.core
import pytest

from test_transforms import close, outcome


def again(mx, path, fun, *args, **kwargs):
    mx.export_function(path, fun, *args, **kwargs)
    return mx.import_function(path)


def line(x, y, z=None):
    out = x * 2 + y
    return out if z is None else out - z


def no_inputs(mx, path):
    return again(mx, path, lambda: mx.zeros((2, 3)))()


def positions(mx, path):
    a, b = mx.array([1.0, 2.0]), mx.array([3.0, 4.0])
    f = again(mx, path, line, a, b)
    return f(a, b), f((b, a)), f([b, b])


def keywords_by_name(mx, path):
    a, b = mx.array(1.0), mx.array(5.0)
    f = again(mx, path, lambda x, y: x - y, x=a, y=a)
    return f(y=a, x=b), f({"x": a, "y": b})


def both(mx, path):
    a, z = mx.array([1, 2]), mx.array([5, 5])
    f = again(mx, path, line, (a, a), {"z": z})
    return f(a, a, z=z), f((a, a), {"z": z})


def several_results(mx, path):
    x = mx.array([1.0, -2.0])
    return again(mx, path, lambda x: [mx.abs(x), x.sum()], x)(x)


def constants(mx, path):
    weight = mx.arange(6, dtype=mx.float32).reshape(2, 3)
    x = mx.ones((1, 2))
    return again(mx, path, lambda x: mx.softmax(x @ weight + 1.5, axis=-1), x)(x)


def several_traces(mx, path):
    with mx.exporter(path, line) as exporter:
        exporter(mx.array([1]), mx.array([2]))
        exporter(mx.array([1]), mx.array([2]), z=mx.array([3]))
    f = mx.import_function(path)
    return f(mx.array([4]), mx.array([5])), f(mx.array([4]), mx.array([5]), z=mx.array([6]))


def random_numbers(mx, path):
    mx.random.seed(5)
    f = again(mx, path, lambda: mx.random.uniform(shape=(3,)))
    mx.random.seed(5)
    return [f(), mx.random.uniform(shape=(3,))]


def a_gradient(mx, path):
    x = mx.array([1.0, 2.0])
    return again(mx, path, mx.grad(lambda x: (x * x * x).sum()), x)(x)


def a_compiled_function(mx, path):
    x = mx.array([1.0, 2.0])
    return again(mx, path, mx.compile(lambda x: mx.exp(x) + mx.exp(x)), x)(x)


def differentiated_mapped_and_compiled(mx, path):
    x = mx.array([1.0, 2.0])
    f = again(mx, path, lambda x: mx.sin(x) * x, x)
    slope = mx.grad(lambda x: f(x)[0].sum())(x)
    return slope, mx.vmap(lambda x: f(x)[0])(mx.stack([x, x + 1])), mx.compile(lambda x: f(x)[0] + 1)(x)


def scattered(mx, path):
    x, i, u = mx.zeros((4, 2)), mx.array([0, 2]), mx.ones((2, 2))
    return again(mx, path, lambda x, i, u: x.at[i].add(u), x, i, u)(x, i, u)


def metadata(mx, path):
    x = mx.array(1.0)
    mx.export_function(path, lambda x: x + 1, x, metadata="ünï {\"a\": 1}")
    first = mx.import_function(path, return_metadata=True)[1]
    mx.export_function(path, lambda x: x + 1, x)
    return first, mx.import_function(path, return_metadata=True)[1]


def text_as_input(mx, path):
    mx.export_function(path, lambda x: x, "hi")


def nested_input(mx, path):
    mx.export_function(path, lambda x: x[0][0], [[mx.array(1.0)]])


def tuple_and_keyword(mx, path):
    mx.export_function(path, lambda x, y: x, (mx.array(1.0),), y=mx.array(1.0))


def number_as_result(mx, path):
    mx.export_function(path, lambda: (mx.zeros(2), 1))


def dictionary_as_result(mx, path):
    mx.export_function(path, lambda: {"a": mx.zeros(2)})


def evaluated_inside(mx, path):
    mx.export_function(path, lambda x: mx.array(x.tolist()), mx.array([1.0]))


def twice_the_same(mx, path):
    with mx.exporter(path, lambda x: x) as exporter:
        exporter(mx.array(1.0))
        exporter(mx.array(2.0))


def after_the_end(mx, path):
    with mx.exporter(path, lambda x: x) as exporter:
        exporter(mx.array(1.0))
    exporter(mx.array(1))


def other_shape(mx, path):
    again(mx, path, line, mx.array([1.0]), mx.array([1.0]))(mx.array([1.0, 2.0]), mx.array([1.0]))


def other_dtype(mx, path):
    again(mx, path, line, mx.array([1.0]), mx.array([1.0]))(mx.array([1]), mx.array([1.0]))


def other_rank(mx, path):
    again(mx, path, lambda x: x + 1, mx.array([1.0]), shapeless=True)(mx.array([[1.0]]))


def position_for_keyword(mx, path):
    x = mx.array([1.0])
    again(mx, path, line, x, x, z=x)(x, x, x)


def other_keyword(mx, path):
    x = mx.array([1.0])
    again(mx, path, line, x, x, z=x)(x, x, y=x)


def number_for_array(mx, path):
    again(mx, path, lambda x: x, mx.array([1.0]))(1.0)


def no_file(mx, path):
    mx.import_function(path)


def no_folder(mx, path):
    mx.export_function(path + "/none/f", lambda x: x, mx.array(1.0))


def metadata_for_a_callback(mx, path):
    mx.export_function(lambda event: None, lambda x: x, mx.array(1.0), metadata="a")


def metadata_that_is_no_text(mx, path):
    mx.export_function(path, lambda x: x, mx.array(1.0), metadata={"a": 1})


CASES = [case for case in list(globals().values()) if getattr(case, "__code__", None) and case.__code__.co_varnames[:2] == ("mx", "path")
         and case.__name__ != "again"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_functions_in_files_do_what_those_of_mlx_do(case, tmp_path):
    kind, expected = outcome(lambda mx: case(mx, str(tmp_path / "theirs")), mlx.core)
    found_kind, found = outcome(lambda mx: case(mx, str(tmp_path / "ours")), pellucid.core)
    assert found_kind == kind, f"{found!r} instead of {expected!r}"
    if kind == "error":
        assert isinstance(found, type(expected)), f"{found!r} instead of {expected!r}"
    else:
        assert close(found, expected), f"{found} instead of {expected}"


def events(mx, fun, *args, **kwargs):
    seen = []
    mx.export_function(seen.append, fun, *args, **kwargs)
    return seen


def told(mx, fun, *args):
    """Names and arguments of the primitives of a function, with the names of dtypes for dtypes."""
    plain = lambda argument: str(argument) if type(argument).__name__ == "Dtype" else argument
    return [(e["name"], [plain(a) for a in e["arguments"]]) for e in events(mx, fun, *args) if e["type"] == "primitive"]


PRIMITIVES = [
    lambda mx, x: mx.log(mx.abs(x - x)).astype(mx.int32), lambda mx, x: mx.log2(x), lambda mx, x: mx.log10(x),
    lambda mx, x: mx.rsqrt(x), lambda mx, x: mx.sqrt(x), lambda mx, x: mx.arctan2(x, x), lambda mx, x: mx.logaddexp(x, x),
    lambda mx, x: mx.erfinv(x), lambda mx, x: mx.equal(x, x), lambda mx, x: mx.where(x > x, x, x), lambda mx, x: x.T,
    lambda mx, x: mx.concatenate([x, x], axis=1), lambda mx, x: mx.sum(x, axis=1, keepdims=True),
    lambda mx, x: mx.min(x, axis=(0, 1), keepdims=True), lambda mx, x: mx.argmin(x, axis=1, keepdims=True),
    lambda mx, x: mx.cumprod(x, axis=0, reverse=True), lambda mx, x: mx.sort(x), lambda mx, x: mx.argsort(x, axis=0),
    lambda mx, x: mx.softmax(x, axis=-1, precise=True), lambda mx, x: x @ x, lambda mx, x: mx.addmm(x, x, x, 2.0, 3.0),
    lambda mx, x: mx.fft.fft(x.astype(mx.complex64)), lambda mx, x: mx.view(x, mx.int32), lambda mx, x: x[1:, ::2],
    lambda mx, x: mx.take_along_axis(x, mx.argsort(x), axis=1), lambda mx, x: mx.divmod(x, x)[0],
    lambda mx, x: mx.bitwise_xor(x.astype(mx.int32), x.astype(mx.int32)), lambda mx, x: mx.searchsorted(x.reshape(16), x, side="right"),
]


@pytest.mark.parametrize("number", range(len(PRIMITIVES)))
def test_a_callback_hears_the_names_and_arguments_of_mlx(number):
    fun = PRIMITIVES[number]
    expected, found = (told(mx, lambda x: fun(mx, x), mx.ones((4, 4))) for mx in (mlx.core, pellucid.core))
    assert found == expected


def test_a_callback_hears_inputs_keywords_outputs_and_constants():
    mx = pellucid.core
    constant = mx.array([1.0, 2.0])
    first, *rest = events(mx, lambda x, y: (x + constant, y * 3), mx.array([1.0, 2.0]), y=mx.array([1.0, 3.0]))
    assert first == {"type": "inputs", "inputs": [("A", (2,), mx.float32), ("B", (2,), mx.float32)]}
    assert [event["type"] for event in rest] == ["keyword_inputs", "outputs", "constants", "primitive", "primitive"]
    assert rest[0]["keywords"] == [("y", "B")]
    assert [entry[1:] for entry in rest[1]["outputs"]] == [((2,), mx.float32)] * 2
    assert sorted((array.tolist() for _, array in rest[2]["constants"]), key=str) == [3.0, [1.0, 2.0]]
    names = {name for name, *_ in rest[1]["outputs"]}
    assert {event["outputs"][0][0] for event in rest[3:]} == names


def test_a_callback_that_raises_ends_the_export():
    def stop(event):
        raise KeyError(event["type"])

    with pytest.raises(KeyError, match="inputs"):
        pellucid.core.export_function(stop, lambda x: x, pellucid.core.array(1.0))


def test_constants_are_stored_once(tmp_path):
    mx = pellucid.core
    path = tmp_path / "f"
    constant = mx.zeros((16, 2048))
    with mx.exporter(path, lambda *args: constant + sum(args)) as exporter:
        for count in range(5):
            exporter(*[mx.array(1)] * count)
    assert os.path.getsize(path) < constant.nbytes + 8192
    assert mx.import_function(path)(mx.array(1), mx.array(2))[0].max().item() == 3


def test_a_message_lists_what_can_be_called(tmp_path):
    mx = pellucid.core
    f = again(mx, str(tmp_path / "f"), line, mx.array([1.0]), mx.array([1.0]), z=mx.array([1.0]))
    with pytest.raises(ValueError, match=r"2 positional inputs and 1 keyword inputs[^$]*\"z\": \(1\) float32[^$]*Called with 1 positional"):
        f(mx.array([1, 2]))


def test_what_nobody_closed_is_written_when_it_is_let_go(tmp_path):
    mx = pellucid.core
    path = str(tmp_path / "f")
    exporter = mx.exporter(path, lambda x: x + 1)
    exporter(mx.array(1))
    del exporter
    gc.collect()
    assert mx.import_function(path)(mx.array(1))[0].item() == 2


def test_an_exporter_in_a_cycle_is_collected(tmp_path):
    class Holder:
        pass

    holder = Holder()
    holder.exporter = pellucid.core.exporter(str(tmp_path / "f"), lambda x: holder)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_other_files_are_refused(tmp_path):
    mx = pellucid.core
    text = tmp_path / "text"
    text.write_text("not a function")
    with pytest.raises(RuntimeError, match=r"\[import_function\]"):
        mx.import_function(str(text))
    mx.save_safetensors(str(tmp_path / "w"), {"w": mx.array([1.0])})
    with pytest.raises(RuntimeError, match="no function"):
        mx.import_function(str(tmp_path / "w.safetensors"))


def test_the_import_outlives_a_file_that_is_written_again(tmp_path):
    mx = pellucid.core
    path = str(tmp_path / "f")
    weight = mx.full((64, 64), 2.0)
    f = again(mx, path, lambda x: x + weight, mx.array(1.0))
    mx.export_function(path, lambda x: x * 0, mx.array(1.0))
    assert f(mx.array(1.0))[0].sum().item() == 64 * 64 * 3


def test_sizes_of_a_function_of_any_size_are_those_of_its_arguments(tmp_path):
    # mlx ends the process in both.
    mx = pellucid.core
    f = again(mx, str(tmp_path / "mean"), lambda x: x.mean(axis=0, keepdims=True) + mx.exp(x), mx.ones((2, 3)), shapeless=True)
    assert [a.shape for a in (*f(mx.array([[1.0, 2.0]])), *f(mx.ones((4, 2))))] == [(1, 2), (4, 2)]
    f = again(mx, str(tmp_path / "f"), lambda x: x + mx.ones_like(x), mx.ones((2, 3)), shapeless=True)
    assert f(mx.array([[1.0, 2.0]]))[0].tolist() == [[2.0, 3.0]]
