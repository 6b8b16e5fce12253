"""Memory is shared with NumPy and others where that is possible; copies and pickles are what they say."""

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest

KINDS = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64".split()


def dtype(mx, name):
    return mx.bool_ if name == "bool" else getattr(mx, name)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_buffer_protocol_shares_memory(mx, kind):
    a = mx.ones((3, 4), dtype=dtype(mx, kind))
    view = memoryview(a)
    assert view.shape == (3, 4) and view.itemsize == np.dtype(kind).itemsize
    shared = np.asarray(view)
    assert shared.dtype == np.dtype(kind) and (shared == 1).all()
    assert address(shared) == address(np.array(a, copy=False))


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_arrays_come_and_go_unchanged(mx, kind):
    data = np.arange(12).reshape(3, 4).astype(kind)
    assert np.array_equal(np.array(mx.array(data, dtype=dtype(mx, kind))), data)
    assert np.array(mx.array(data.T, dtype=dtype(mx, kind))).tolist() == data.T.tolist()


def test_a_view_of_an_array_is_read_by_its_strides(mx):
    a = mx.arange(12).reshape(3, 4)
    for part, expected in ((a.T, np.arange(12).reshape(3, 4).T), (a[:, ::2], np.arange(12).reshape(3, 4)[:, ::2])):
        assert np.array_equal(np.array(part), expected)
        assert memoryview(part).tolist() == expected.tolist()


def test_a_shared_view_keeps_the_memory_alive(mx):
    shared = np.asarray(memoryview(mx.arange(1000)))
    gc.collect()
    for _ in range(20):
        mx.eval(mx.zeros((1000,)) + 7)
    assert np.array_equal(shared, np.arange(1000))


def test_array_with_a_type_converts(mx):
    a = mx.array([1.5, 2.5])
    assert np.array(a, dtype=np.int32).tolist() == [1, 2]
    assert a.__array__().tolist() == [1.5, 2.5]


def test_bfloat16_goes_out_as_ml_dtypes_or_not_at_all(mx):
    a = mx.array([1.0, 2.5]).astype(mx.bfloat16)
    assert np.array(a.astype(mx.float32)).tolist() == [1.0, 2.5]
    back = np.array(a.view(mx.uint16)).view(ml_dtypes.bfloat16)
    assert back.astype(np.float32).tolist() == [1.0, 2.5]
    assert mx.array(np.array([1.0, 2.5], ml_dtypes.bfloat16)).dtype == mx.bfloat16


def test_dlpack_shares_memory_in_both_directions(mx):
    data = np.arange(8, dtype=np.float32)
    there = mx.from_dlpack(data)
    assert there.tolist() == data.tolist()
    a = mx.arange(8).astype(mx.float32)
    mx.eval(a)
    back = np.from_dlpack(a)
    assert address(back) == address(np.asarray(memoryview(a)))
    assert a.__dlpack_device__()[0] == 1


def test_dlpack_refuses_what_it_cannot_do(mx):
    with pytest.raises((TypeError, AttributeError)):
        mx.from_dlpack(object())
    with pytest.raises((TypeError, AttributeError)):
        mx.from_dlpack("text")


def test_a_dlpack_array_with_copy_is_another_one(mx):
    data = np.arange(4, dtype=np.int32)
    copied = mx.from_dlpack(data, copy=True)
    data[0] = 100
    assert copied.tolist() == [0, 1, 2, 3]


def test_an_array_made_from_numpy_does_not_follow_it(mx):
    data = np.arange(4, dtype=np.int32)
    made = mx.array(data)
    data[0] = 100
    assert made.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [*KINDS, "bfloat16"])
def test_pickles_and_copies_are_equal(mx, kind):
    a = (mx.arange(6).reshape(2, 3) % 2).astype(dtype(mx, kind))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(a, protocol))
        assert back.dtype == a.dtype and back.tolist() == a.tolist()
    for other in (copy.copy(a), copy.deepcopy(a), mx.array(a)):
        other[0, 0] = 1
        assert a.tolist()[0][0] == 0 and other.tolist()[0][0] == 1


def test_dtypes_devices_and_nested_arrays_are_pickled(mx):
    for name in KINDS:
        assert pickle.loads(pickle.dumps(dtype(mx, name))) == dtype(mx, name)
    tree = {"w": [mx.ones((2,)), mx.zeros((1,))]}
    assert pickle.loads(pickle.dumps(tree))["w"][0].tolist() == [1, 1]


def test_trees_are_evaluated(mx):
    tree = {"a": mx.ones((2,)) + 1, "b": [mx.zeros((1,)), (mx.ones((1,)),)]}
    assert mx.eval(tree, 3, None, "text") is None
    assert mx.async_eval(tree) is None


def test_a_graph_is_drawn(mx, tmp_path):
    a = mx.ones((2,))
    mx.export_to_dot(str(tmp_path / "graph.dot"), mx.exp(a + 1), a=a)
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph") and "exp" in text.lower()
    with pytest.raises(ValueError):
        mx.export_to_dot(3, a)


def test_depends_returns_the_inputs(mx):
    a, b = mx.ones((2,)), mx.zeros((2,))
    assert mx.depends(a, b).tolist() == [1, 1]
    first, second = mx.depends([a, b], [a + b])
    assert first.tolist() == [1, 1] and second.tolist() == [0, 0]
