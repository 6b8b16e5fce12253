"""Devices, streams and memory: the names of MLX with its types, its text and its errors."""

import pytest


@pytest.fixture
def pellucid_only(request):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("Pellucid's own")


def test_devices_compare_and_print_as_in_mlx(mx):
    assert str(mx.cpu) == "DeviceType.cpu" and mx.cpu.name == "cpu"
    device = mx.Device(mx.cpu)
    assert repr(device) == "Device(cpu, 0)" and device == mx.cpu and device.type == mx.cpu
    assert mx.Device(mx.cpu, 1) != mx.cpu and device != "cpu"
    assert mx.is_available(mx.cpu) and not mx.is_available(mx.Device(mx.cpu, 7))
    assert mx.device_count(mx.cpu) == 1
    assert {"device_name", "architecture"} <= set(mx.device_info(mx.cpu))
    with pytest.raises(TypeError):
        mx.device_count("cpu")


def test_streams_compare_and_print_as_in_mlx(mx):
    first, second = mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)
    assert first != second and first == first and first != 3
    assert first.device == mx.Device(mx.cpu) and repr(first).startswith("Stream(Device(cpu, 0), ")
    assert not isinstance(mx.new_thread_local_stream(mx.cpu), mx.Stream)
    assert repr(mx.new_thread_local_stream(mx.cpu)).startswith("ThreadLocalStream(Device(cpu, 0), ")
    assert isinstance(mx.new_thread_unsafe_stream(mx.cpu), mx.Stream)
    with pytest.raises(TypeError):
        mx.Stream()


def test_a_block_sets_the_stream_and_puts_it_back(mx):
    before, stream = mx.default_stream(mx.default_device()), mx.new_stream(mx.cpu)
    assert isinstance(mx.stream(stream), mx.StreamContext)
    with mx.stream(stream) as nothing:
        assert nothing is None and mx.default_stream(mx.cpu) == stream
    assert mx.default_stream(mx.default_device()) == before
    with pytest.raises(KeyError), mx.stream(stream):
        raise KeyError
    assert mx.default_stream(mx.default_device()) == before
    for wrong in (None, "cpu", 3):
        with pytest.raises(TypeError):
            mx.stream(wrong)


def test_defaults_are_set(mx):
    device = mx.default_device()
    mx.set_default_device(mx.cpu)
    stream, own = mx.default_stream(mx.cpu), mx.new_stream(mx.cpu)
    mx.set_default_stream(own)
    assert mx.default_stream(mx.cpu) == own
    mx.set_default_stream(stream)
    mx.set_default_device(device)
    with pytest.raises(TypeError):
        mx.set_default_device("cpu")
    with pytest.raises(TypeError):
        mx.default_stream(3)


def test_a_missing_gpu_is_a_value_error(mx):
    if mx.is_available(mx.gpu):
        pytest.skip("there is a GPU")
    for refused in (mx.set_default_device, mx.default_stream, mx.new_stream, mx.synchronize):
        with pytest.raises(ValueError):
            refused(mx.gpu)
    with pytest.raises(ValueError):
        mx.zeros((2,), stream=mx.gpu)


def test_synchronize_takes_a_stream_a_device_or_nothing(mx):
    stream = mx.new_stream(mx.cpu)
    a = mx.add(mx.ones((3,)), 1, stream=stream)
    mx.async_eval(a)
    for argument in ((), (stream,), (mx.cpu,), (mx.Device(mx.cpu),), (None,)):
        assert mx.synchronize(*argument) is None
    with pytest.raises(TypeError):
        mx.synchronize("cpu")


def test_operations_take_streams_and_devices(mx):
    a = mx.ones((2,))
    for stream in (None, mx.cpu, mx.Device(mx.cpu), mx.new_stream(mx.cpu), mx.new_thread_local_stream(mx.cpu)):
        assert mx.add(a, a, stream=stream).tolist() == [2, 2]


def test_clearing_the_streams_leaves_the_thread_usable(mx, pellucid_only):
    mx.clear_streams()
    assert (mx.ones((2,)) + 1).tolist() == [2, 2]


def test_the_older_forms_of_the_notes_work(mx, pellucid_only):
    with mx.default_device(mx.cpu):
        assert mx.default_device() == mx.cpu
    stream = mx.new_stream()
    with stream:
        assert mx.default_stream(stream.device) == stream
    with mx.new_stream():
        assert mx.ones((2,)).tolist() == [1, 1]


def test_memory_is_counted(mx):
    mx.synchronize()
    before = mx.get_active_memory()
    a = mx.zeros((1 << 20,), dtype=mx.float32) + 1
    mx.eval(a)
    assert mx.get_active_memory() >= before + (1 << 22)
    assert mx.get_peak_memory() >= before + (1 << 22)
    assert mx.get_array_buffer_size(a) >= 1 << 22
    mx.reset_peak_memory()
    del a
    mx.synchronize()
    assert mx.get_active_memory() < before + (1 << 22)
    mx.clear_cache()
    assert mx.get_cache_memory() == 0


def test_limits_are_set_and_give_the_previous_one(mx):
    for name in ("set_memory_limit", "set_cache_limit"):
        change = getattr(mx, name)
        before = change(1 << 28)
        assert change(before) == 1 << 28
        for wrong in (-1, 1.5, "x", None):
            with pytest.raises((TypeError, OverflowError)):
                change(wrong)
    assert mx.get_memory_limit() > 0
    assert isinstance(mx.set_wired_limit(0), int)


def test_the_size_of_a_lazy_array_is_refused(mx):
    with pytest.raises(ValueError):
        mx.get_array_buffer_size(mx.ones((3,)) + 1)


def test_the_metal_names_are_those_of_the_module(mx):
    assert mx.metal.get_active_memory() == mx.get_active_memory()
    assert isinstance(mx.metal.is_available(), bool) and isinstance(mx.metal.device_info(), dict)
    with pytest.raises(TypeError):
        mx.metal.start_capture()
    with pytest.raises(TypeError):
        mx.metal.start_capture(3)
