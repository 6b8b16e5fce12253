"""Convolutions: strides, paddings, dilations, groups and flips, and what is refused."""

from differ.values import a_layout, call, random, rng

#: mlx computes float64 in float32, or not at all.
FLOATING = ["float32", "float16", "bfloat16"]


def plain():
    for name, axes in (("conv1d", 1), ("conv2d", 2), ("conv3d", 3)):
        g = rng(name)
        for dtype in FLOATING:
            for groups, inputs, outputs in ((1, 3, 4), (2, 4, 6), (4, 4, 4), (1, 1, 1)):
                for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)):
                    size = tuple(int(n) for n in g.integers(5, 9, axes))
                    kernel = tuple(int(n) for n in g.integers(1, 4, axes))
                    x = random(g, dtype, (2, *size, inputs), a_layout(g), -1, 1)
                    w = random(g, dtype, (outputs, *kernel, inputs // groups), a_layout(g), -1, 1)
                    yield call(name, x, w, stride, padding, dilation, groups)
        x, w = random(g, "float32", (1, *[6] * axes, 2)), random(g, "float32", (3, *[2] * axes, 2))
        if axes > 1:
            yield call(name, x, w, stride=tuple(range(1, axes + 1)), padding=tuple(range(axes)))
        yield call(name, x, random(g, "float32", (3, *[2] * axes, 3)))
        yield call(name, x, w, groups=3)
        yield call(name, x, random(g, "float32", (3, *[9] * axes, 2)))
        yield call(name, x, w, stride=0)
        yield call(name, x, w, dilation=0)
        yield call(name, random(g, "int32", (1, *[6] * axes, 2)), random(g, "int32", (3, *[2] * axes, 2)))
        yield call(name, random(g, "float32", (6, 2)), w)
        yield call(name, random(g, "float16", (1, *[6] * axes, 2)), w)
        yield call(name, random(g, "float32", (0, *[6] * axes, 2)), w)


def general():
    g = rng("conv_general")
    for _ in range(200):
        axes = int(g.integers(1, 4))
        groups = int(g.integers(1, 3))
        inputs, outputs = groups * int(g.integers(1, 4)), groups * int(g.integers(1, 4))
        size = tuple(int(n) for n in g.integers(3, 8, axes))
        kernel = tuple(int(n) for n in g.integers(1, 4, axes))
        each = lambda low, high: [int(n) for n in g.integers(low, high, axes)]  # noqa: E731
        x = random(g, "float32", (2, *size, inputs), a_layout(g), -1, 1)
        w = random(g, "float32", (outputs, *kernel, inputs // groups), a_layout(g), -1, 1)
        yield call("conv_general", x, w, stride=each(1, 4), padding=(each(0, 4), each(0, 4)), kernel_dilation=each(1, 3),
                   input_dilation=each(1, 4), groups=groups, flip=bool(g.integers(0, 2)))
    x, w = random(g, "float32", (1, 6, 2)), random(g, "float32", (3, 2, 2))
    yield call("conv_general", x, w, padding=2)
    yield call("conv_general", x, w, padding=([1], [2]))
    yield call("conv_general", x, w, padding=([1, 1], [2]))
    yield call("conv_general", x, w, stride=[1, 2])
    yield call("conv_general", x, w, input_dilation=0)
    yield call("conv_general", random(g, "float32", (1, 3, 3, 3, 3, 2)), random(g, "float32", (2, 2, 2, 2, 2, 2)))


def transposed():
    for name, axes in (("conv_transpose1d", 1), ("conv_transpose2d", 2), ("conv_transpose3d", 3)):
        g = rng(name)
        for dtype in ("float32", "float16"):
            for stride, padding, dilation, extra in ((1, 0, 1, 0), (2, 1, 1, 1), (3, 0, 2, 2), (2, 2, 2, 0)):
                for groups in (1, 2):
                    size = tuple(int(n) for n in g.integers(3, 7, axes))
                    kernel = tuple(int(n) for n in g.integers(2, 4, axes))
                    x = random(g, dtype, (2, *size, 4), a_layout(g), -1, 1)
                    w = random(g, dtype, (6, *kernel, 4 // groups), a_layout(g), -1, 1)
                    yield call(name, x, w, stride, padding, dilation, extra, groups)
        yield call(name, random(g, "float32", (1, *[4] * axes, 2)), random(g, "float32", (3, *[2] * axes, 3)))


def one_axis_named():
    """Convolutions along one axis take more of them, with one stride, padding and dilation for all; the others do not."""
    g = rng("conv1d of more axes")
    for axes in (2, 3):
        x = random(g, "float32", (1, *[5] * axes, 4), a_layout(g), -1, 1)
        w = random(g, "float32", (2, *[3] * axes, 4), low=-1, high=1)
        for arguments in ((), (2, 1), (2, 1, 2)):
            yield call("conv1d", x, w, *arguments)
            yield call("conv_transpose1d", x, w, *arguments)
    yield call("conv1d", random(g, "float32", (1, 5, 5, 2), low=-1, high=1), random(g, "float32", (2, 3, 3, 1), low=-1, high=1), groups=2)
    yield call("conv2d", random(g, "float32", (1, 5, 2)), random(g, "float32", (2, 3, 2)))
    yield call("conv3d", random(g, "float32", (1, 5, 5, 2)), random(g, "float32", (2, 3, 3, 2)))
    yield call("conv1d", random(g, "float32", (5, 2)), random(g, "float32", (3, 2)))


def convolve():
    g = rng("convolve")
    for dtype in FLOATING:
        for a, v in ((5, 3), (3, 5), (4, 4), (1, 1), (7, 2), (9, 1)):
            for mode in ("full", "same", "valid"):
                yield call("convolve", random(g, dtype, (a,), a_layout(g), -1, 1), random(g, dtype, (v,), low=-1, high=1), mode=mode)
    yield call("convolve", random(g, "float32", (3,)), random(g, "float32", (3,)), mode="most")
    yield call("convolve", random(g, "float32", (3, 1)), random(g, "float32", (3,)))
    yield call("convolve", random(g, "float32", (0,)), random(g, "float32", (3,)))
    yield call("convolve", random(g, "int32", (3,)), random(g, "int32", (3,)))


def cases():
    yield from plain()
    yield from general()
    yield from transposed()
    yield from one_axis_named()
    yield from convolve()
