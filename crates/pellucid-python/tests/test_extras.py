"""The small classes: iterators, updates, options of printing, what offers an array."""

import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture
def pellucid_only(request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("Pellucid's own")


def test_array_classes_have_the_names_of_mlx(mx):
    a = mx.arange(3)
    assert isinstance(iter(a), mx.ArrayIterator)
    assert isinstance(a.at, mx.ArrayAt) and isinstance(a.at[0], mx.ArrayAt)


def test_an_object_that_offers_an_array_is_taken(mx):
    class Offers:
        def __mlx_array__(self):
            return mx.array([1.0, 2.0])

    assert mx.ArrayLike(Offers()) is not None
    assert mx.add(Offers(), 1).tolist() == [2.0, 3.0]


def test_options_of_printing_are_set_and_put_back(mx):
    assert isinstance(mx.get_printoptions(), mx.PrintOptions)
    before = mx.get_printoptions().precision
    mx.set_printoptions(precision=2)
    assert mx.get_printoptions().precision == 2
    assert str(mx.array([1 / 3])) == "array([0.33], dtype=float32)"
    with mx.printoptions(precision=4):
        assert mx.get_printoptions().precision == 4
    assert mx.get_printoptions().precision == 2
    mx.set_printoptions(precision=before)


def test_numpy_functions_take_arrays(mx):
    a = mx.array([1.0, 4.0])
    assert np.sqrt(a).tolist() == [1, 2]
    assert (np.array([1.0, 1.0]) + np.array(a)).tolist() == [2, 5]


def test_arrays_are_kept_apart_in_sets_and_dictionaries(mx):
    a, b = mx.array(1), mx.array(1)
    assert len({a: 1, b: 2}) == 2 and hash(a) == hash(a)


def test_an_invalid_axis_is_a_value_error_and_an_index_error(pellucid_only, mx):
    a = mx.ones((2, 3))
    for refused in (lambda: mx.sum(a, axis=5), lambda: mx.expand_dims(a, -9), lambda: a.squeeze(7), lambda: mx.sort(a, axis=2)):
        for kind in (ValueError, IndexError):
            with pytest.raises(kind):
                refused()


def test_a_name_that_is_not_there_says_so(pellucid_only, mx):
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        mx.nonsense


def test_importing_mlx_is_never_implied(pellucid_only):
    code = "import pellucid\ntry:\n    pellucid.mlx\nexcept AttributeError as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("write `import pellucid.mlx`"), done.stderr
