"""Fourier transforms: every length, axis, norm and type, and what is refused."""

import numpy as np

from differ.values import DTYPES, Arr, a_layout, call, random, rng

ONE = ["fft", "ifft", "rfft", "irfft"]
NORMS = ["backward", "ortho", "forward"]


def one_axis():
    for name in ONE:
        g = rng("fft." + name)
        for dtype in DTYPES:
            yield call("fft." + name, random(g, dtype, (3, 8)))
        for n in (1, 2, 3, 4, 5, 7, 8, 16, 17, 30, 60, 64, 97, 128, 243, 256, 1000, 1024):
            if name == "irfft" and n == 1:
                continue
            yield call("fft." + name, random(g, "complex64" if name in ("fft", "ifft", "irfft") else "float32", (2, n), a_layout(g)))
        for n in (1, 3, 8, 11, 20):
            for axis in (0, 1, -1, -3):
                yield call("fft." + name, random(g, "float32", (4, 8, 3), a_layout(g)), n, axis)
        for norm in NORMS:
            yield call("fft." + name, random(g, "float32", (2, 9)), norm=norm)
            yield call("fft." + name, random(g, "float32", (2, 10)), n=7, axis=0, norm=norm)
        for shape in ((0, 4), (2, 0, 6)):
            yield call("fft." + name, random(g, "float32", shape))
        yield call("fft." + name, random(g, "float32", (4,)), norm="other")
        yield call("fft." + name, random(g, "float32", (4,)), 0)
        yield call("fft." + name, random(g, "float32", (4,)), -2)
        yield call("fft." + name, random(g, "float32", (4,)), axis=3)
        yield call("fft." + name, random(g, "float32", ()))
        yield call("fft." + name, random(g, "float32", (0,)))
        yield call("fft." + name, [1.0, 2.0])
    yield call("fft.irfft", random(rng("irfft1"), "float32", (3, 1)))
    yield call("fft.fft", Arr(np.array([1.0, np.nan, 2.0, 3.0], np.float32), "float32"))


def many_axes():
    for name in ONE:
        for many in ("2", "n"):
            g = rng("fft." + name + many)
            full = "fft." + name + many
            for shape in ((3, 4), (2, 5, 6), (1, 2, 3, 4), (7, 2)):
                yield call(full, random(g, "float32", shape, a_layout(g)))
                yield call(full, random(g, "complex64", shape, a_layout(g)), norm="ortho")
            for axes in ([0, 1], [1, 0], [-1], [0, 2], [2, 0, 1], []):
                yield call(full, random(g, "complex64", (4, 3, 6), a_layout(g)), axes=axes)
            yield call(full, random(g, "float32", (4, 5)), [3, 6], [0, 1])
            yield call(full, random(g, "float32", (4, 5)), s=(6, 4), axes=(1, 0), norm="forward")
            for s, axes in (([2], [0, 1]), ([2, 2], [1, 1]), ([0, 2], [0, 1]), ([-1, 2], [0, 1]), ([2, 2], [0, 7])):
                yield call(full, random(g, "float32", (4, 5)), s, axes)
            yield call(full, random(g, "float32", (4, 5)), s=[2, 3])
            yield call(full, random(g, "float32", (4,)))
            # No axes said is all of them, also where two are the default; a single number has none.
            yield call(full, random(g, "complex64", (2, 3, 4)), axes=None)
            yield call(full, random(g, "float32", ()))
            yield call(full, random(g, "float32", ()), axes=[])


def frequencies():
    g = rng("fftshift")
    for name in ("fft.fftfreq", "fft.rfftfreq"):
        for n in (1, 2, 5, 8, 0, -3):
            for d in (1.0, 0.5, 0.0):
                yield call(name, n, d)
    for name in ("fft.fftshift", "fft.ifftshift"):
        for shape in ((), (5,), (4, 3), (2, 3, 5), (0, 3)):
            yield call(name, random(g, "int32", shape))
        for axes in (0, -1, [0, 1], [1], [0, 0], 5, []):
            yield call(name, random(g, "float32", (4, 3)), axes)


def frames():
    g = rng("fft.stft")
    signal = random(g, "float32", (40,))
    window = random(g, "float32", (8,), low=0.5, high=1)
    for arguments in (
        {"n_fft": 8}, {"n_fft": 8, "hop_length": 3}, {"n_fft": 7, "hop_length": 2}, {"n_fft": 8, "win_length": 5},
        {"n_fft": 8, "window": window}, {"n_fft": 12, "window": window, "hop_length": 5}, {"n_fft": 8, "center": False},
        {"n_fft": 8, "onesided": False}, {"n_fft": 8, "norm": "ortho"}, {"n_fft": 8, "pad_mode": "constant"},
        {"n_fft": 8, "pad_mode": "edge"}, {"n_fft": 16, "hop_length": 1},
    ):
        yield call("fft.stft", signal, **arguments)
        yield call("fft.stft", random(g, "float32", (2, 3, 20), a_layout(g)), **arguments)
        back = {k: v for k, v in arguments.items() if k != "pad_mode"}
        bins = arguments["n_fft"] if arguments.get("onesided") is False else arguments["n_fft"] // 2 + 1
        spectrum = random(g, "complex64", (2, bins, 6), a_layout(g))
        for length in (None, 10, 100):
            yield call("fft.istft", spectrum, **back, length=length)
    for dtype in ("int32", "float16", "float64", "complex64"):
        yield call("fft.stft", random(g, dtype, (20,)), 8)
    yield call("fft.istft", random(g, "complex64", (5, 7)))
    for arguments in ({"n_fft": 0}, {"n_fft": 8, "hop_length": 0}, {"n_fft": 4, "win_length": 8}, {"n_fft": 64, "center": False},
                      {"n_fft": 8, "window": random(g, "float32", (2, 4))}, {"n_fft": 8, "pad_mode": "x"}, {"n_fft": 8, "norm": "x"}):
        yield call("fft.stft", signal, **arguments)
    yield call("fft.stft", random(g, "float32", ()), 8)
    yield call("fft.istft", random(g, "complex64", (5,)), 8)


def cases():
    yield from one_axis()
    yield from many_axes()
    yield from frequencies()
    yield from frames()
