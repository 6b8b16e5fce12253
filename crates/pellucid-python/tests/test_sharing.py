"""Elements of other libraries stay where they are: by address, in both directions, as long as somebody holds them."""

import array as arrays
import gc
import io
import mmap
import threading
import weakref

import numpy as np
import pytest

# Types that arrays and NumPy have in common and that can be shared; bytes of bool are not known to be 0 or 1.
SHARED = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 complex64".split()


def address(a):
    return np.asarray(a).__array_interface__["data"][0]


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize("make", ["array", "asarray", "from_dlpack"])
def test_numpy_arrays_are_taken_without_a_copy(mx, make, kind):
    data = np.arange(24).reshape(4, 6).astype(kind)
    for part in (data, data.T, data[1:3, ::2], np.broadcast_to(data[0], (3, 6))):
        shared = getattr(mx, make)(part, copy=False)
        assert shared.dtype == getattr(mx, kind) and shared.tolist() == part.tolist()
        assert address(shared) == address(part) and memoryview(shared).strides == part.strides


def test_what_the_owner_writes_is_seen_and_nothing_writes_to_it(mx):
    data = np.arange(5, dtype=np.float32)
    shared = mx.asarray(data)
    data[1] = 100
    assert shared.tolist() == [0, 100, 2, 3, 4]
    for change in (lambda: -mx.abs(shared + 1), lambda: mx.cumsum(shared), lambda: shared.at[0].add(7)):
        mx.eval(change())
    changed = mx.asarray(data)
    changed += 1
    changed[0] = 9
    mx.eval(changed)
    assert changed.tolist() == [9, 101, 3, 4, 5] and data.tolist() == [0, 100, 2, 3, 4]


def test_copies_are_made_where_they_are_asked_for_or_needed(mx):
    data = np.arange(3, dtype=np.int32)
    copies = [mx.array(data), mx.array(data, copy=True), mx.asarray(data, copy=True), mx.from_dlpack(data, copy=True)]
    copies += [mx.asarray(data, dtype=mx.float32), mx.asarray(data.astype(np.float64)[:]), mx.asarray(data > 0)]
    data[:] = 77
    assert [c.tolist() for c in copies] == [[0, 1, 2]] * 6 + [[False, True, True]]


def unaligned():
    """Four numbers at an odd address."""
    raw = np.zeros(17, np.uint8)
    return np.ndarray((4,), np.int32, raw, offset=1 - raw.ctypes.data % 2)


@pytest.mark.parametrize(
    "value",
    [np.arange(3.0), np.ones(3, bool), np.zeros(2, np.complex128), [1, 2], 3.5, unaligned()],
    ids=["float64", "bool", "complex128", "list", "number", "unaligned"],
)
def test_a_copy_that_is_not_wanted_is_an_error(mx, value):
    for make in (mx.array, mx.asarray):
        with pytest.raises(ValueError):
            make(value, copy=False)
    if isinstance(value, np.ndarray):
        with pytest.raises(ValueError):
            mx.from_dlpack(value, copy=False)


def test_another_dtype_needs_a_copy_and_an_array_is_its_own(mx):
    with pytest.raises(ValueError):
        mx.asarray(np.arange(3, dtype=np.int32), dtype=mx.float32, copy=False)
    a = mx.array([1, 2])
    for options in ({"copy": False}, {"copy": False, "dtype": mx.float32}):
        with pytest.raises(ValueError):
            mx.asarray(a, **options)
    assert mx.asarray(a).tolist() == mx.asarray(a, copy=True).tolist() == [1, 2]


def test_buffers_of_all_kinds_are_read(mx):
    assert mx.array(b"Hello").tolist() == list(b"Hello")
    assert mx.array(memoryview(b"abcdef")[::2]).tolist() == list(b"ace")
    assert mx.asarray(bytearray([1, 2, 3])).tolist() == [1, 2, 3]
    assert mx.asarray(arrays.array("d", [1.5, 2.5]), dtype=mx.float64).tolist() == [1.5, 2.5]
    with mmap.mmap(-1, 4096) as pages:
        pages[:3] = b"xyz"
        shared = mx.asarray(pages)
        assert shared.shape == (4096,) and shared[:3].tolist() == list(b"xyz")
        del shared
        gc.collect()


def test_the_source_lives_as_long_as_the_array_and_no_longer(mx):
    class Source(np.ndarray):
        pass

    source = np.arange(1000, dtype=np.int32).view(Source)
    gone = weakref.ref(source)
    shared = mx.asarray(source, copy=False)
    part, later = shared[10:20], shared + 1
    del source, shared
    gc.collect()
    assert gone() is not None and part.tolist() == list(range(10, 20)) and later[999].item() == 1000
    del part, later
    gc.collect()
    assert gone() is None


def test_sources_are_let_go_by_any_thread(mx):
    sources = [np.full(256, i, np.float32) for i in range(64)]
    watched = [weakref.ref(source) for source in sources]
    totals = [None] * 64

    def work(first):
        for i in range(first, 64, 4):
            shared = mx.asarray(sources[i], copy=False)
            sources[i] = None
            with mx.stream(mx.new_stream(mx.cpu)):
                totals[i] = (shared * 2).sum().item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What other threads let go of is given back with the next call.
    mx.eval(mx.zeros((1,)))
    gc.collect()
    assert totals == [512.0 * i for i in range(64)]
    assert all(watch() is None for watch in watched)


def test_exported_elements_can_be_written_where_that_has_a_meaning(mx):
    a = mx.array([1.0, 2.0, 3.0])
    view = np.array(a, copy=False)
    view[0] = 10
    np.asarray(memoryview(a[1:]))[1] = 30
    assert a.tolist() == [10, 2, 30]
    np.from_dlpack(a)
    assert not np.asarray(mx.broadcast_to(a, (2, 3))).flags.writeable
    fixed = np.arange(3, dtype=np.float32)
    fixed.flags.writeable = False
    assert not np.asarray(mx.asarray(fixed, copy=False)).flags.writeable
    assert np.asarray(mx.asarray(fixed, copy=True)).flags.writeable
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(24)).readinto(mx.broadcast_to(a, (2, 3)))


def test_a_bfloat16_array_of_ml_dtypes_is_shared(mx):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.array([1.5, 2.5], ml_dtypes.bfloat16)
    shared = mx.asarray(data)
    assert shared.dtype == mx.bfloat16
    data[0] = 4
    assert shared.tolist() == [4, 2.5]
