"""Rules of MLX at the edges of arguments: what lists, masks, sizes and numbers may be, and which errors there are."""

import itertools

import numpy as np
import pytest

TOO_LONG = 2**31


def test_lists_hold_arrays_numbers_and_numpy_scalars(mx):
    one = mx.array([3], mx.int8)
    assert mx.array([[one, [2.5]], [[4], one]]).tolist() == [[[3], [2.5]], [[4], [3]]]
    assert mx.array([mx.array(5, mx.float16), 2]).tolist() == [5, 2]
    assert mx.array([np.float32(1.5), np.int32(2)]).tolist() == [1.5, 2]
    made = mx.array([np.arange(3, dtype=np.int16), np.ones(3, np.int16)])
    assert made.dtype == mx.int16 and made.tolist() == [[0, 1, 2], [1, 1, 1]]


@pytest.mark.parametrize("first, second", itertools.permutations(["bool_", "uint8", "int16", "int64", "bfloat16", "complex64"], 2))
def test_a_list_of_arrays_is_their_stack(mx, first, second):
    parts = [mx.array([1], getattr(mx, first)), mx.array([0], getattr(mx, second))]
    made, stacked = mx.array(parts), mx.stack(parts)
    assert made.dtype == stacked.dtype and made.tolist() == stacked.tolist()


def test_uneven_lists_are_refused_in_mlx_s_words(mx):
    a = mx.array([1.0])
    for value in ([a, 1.0], [1.0, a], [[1, 2], [3]], [a, mx.array([1.0, 2.0])]):
        with pytest.raises(ValueError, match="Initialization encountered non-uniform length"):
            mx.array(value)


def test_gradients_pass_through_lists_of_arrays(mx):
    slope = mx.grad(lambda x: (3 * mx.array([x, mx.array([4.0])])).sum())
    assert slope(mx.array([1.0])).item() == 3


def test_integers_of_64_bits_and_no_more(mx):
    assert mx.array(2**64 - 2).item() == 2**64 - 2
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError):
            mx.array(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda mx: mx.zeros(TOO_LONG),
        lambda mx: mx.ones([3, TOO_LONG]),
        lambda mx: mx.full([TOO_LONG], 1.5),
        lambda mx: mx.reshape(mx.zeros(6), [TOO_LONG]),
        lambda mx: mx.broadcast_to(mx.zeros(1), [TOO_LONG]),
        lambda mx: mx.concatenate([mx.zeros(2**30)] * 2),
        lambda mx: mx.repeat(mx.zeros(2**30), 2),
        lambda mx: mx.kron(mx.zeros(2**16), mx.zeros(2**15)),
    ],
    ids="zeros ones full reshape broadcast_to concatenate repeat kron".split(),
)
def test_axes_have_31_bits(mx, make):
    with pytest.raises(OverflowError, match=str(TOO_LONG)):
        make(mx)


def test_negative_sizes_are_wrong_in_two_ways(mx):
    with pytest.raises(OverflowError, match=str(-TOO_LONG - 1)):
        mx.zeros([-TOO_LONG - 1])
    with pytest.raises(ValueError):
        mx.zeros([-1])


def test_positions_have_32_bits(mx):
    a = mx.arange(3)
    for key in (2**32, -(2**32), slice(2**32), slice(None, None, 2**33)):
        with pytest.raises(ValueError):
            a[key]
        with pytest.raises(ValueError):
            a[key] = 1


def test_ranges_that_are_too_long_are_refused(mx):
    for arguments in ((2**31,), (0, 2**40), (5, -(2**40), -1)):
        with pytest.raises(ValueError):
            mx.arange(*arguments)


@pytest.mark.parametrize("kind", ["list", "numpy", "array"])
def test_masks_are_lists_and_arrays_of_any_library(mx, kind):
    made = {"list": lambda m: m.tolist(), "numpy": lambda m: m, "array": mx.array}[kind]
    whole, rows = np.array([[True, False], [True, True]]), np.array([False, True])
    a = mx.array([[1, 2], [3, 4]])
    a[made(whole)] = mx.array([10, 20, 30])
    assert a.tolist() == [[10, 2], [20, 30]]
    a[made(rows)] = 7
    assert a.tolist() == [[10, 2], [7, 7]]
    with pytest.raises(ValueError):
        a[made(np.ones((1, 2), bool))] = 0


def test_a_single_truth_selects_all_and_an_empty_mask_nothing(mx):
    a = mx.array([1.0, 2.0])
    a[True] = 5.0
    assert a.tolist() == [5, 5]
    nothing = mx.zeros((0,))
    nothing[mx.zeros((0,), mx.bool_)] = mx.zeros((0,))
    assert nothing.shape == (0,)


def test_indices_of_an_empty_list_are_no_indices(mx):
    none = mx.array([])
    assert mx.put_along_axis(none, none, none, axis=None).shape == (0,)
    assert mx.take_along_axis(mx.zeros((0,)), none, axis=0).shape == (0,)


def test_arrays_can_be_subclassed(mx):
    class Named(mx.array):
        def total(self):
            return self.sum().item()

    named = Named([1, 2, 3], mx.float32)
    assert isinstance(named, mx.array) and named.total() == 6 and mx.exp(named).shape == (3,)


def test_what_cannot_be_computed_is_a_value_error_and_a_runtime_error(mx):
    singular = mx.linalg.inv(mx.array([[1.0, 3.0], [2.0, 6.0]]), stream=mx.cpu)
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind):
            mx.eval(singular)


def test_the_peak_is_zero_until_something_is_allocated(mx):
    kept = mx.zeros((1000,)) + 1
    mx.eval(kept)
    mx.reset_peak_memory()
    assert mx.get_peak_memory() == 0
    mx.eval(kept + 1)
    assert mx.get_peak_memory() >= 8000


def test_the_namespace_tells_what_it_has(mx):
    info = mx.__array_namespace_info__()
    assert info.default_device() == mx.default_device() and mx.Device(mx.cpu, 0) in info.devices()
    assert info.default_dtypes()["integral"] == mx.int32
    assert info.dtypes(device=mx.Device(mx.cpu), kind="real floating") == {"float32": mx.float32, "float64": mx.float64}
    assert "float64" not in info.dtypes(device=mx.Device(mx.gpu), kind="numeric")
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64"}
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    with pytest.raises(ValueError):
        info.dtypes(kind="whole")
    with pytest.raises(TypeError):
        info.dtypes(device="cpu")
