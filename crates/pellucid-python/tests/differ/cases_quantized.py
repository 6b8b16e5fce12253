"""Packed numbers: the bytes are compared, not only what they stand for."""

import numpy as np

from differ.values import Arr, Dt, a_layout, call, random, rng

MODES = [("affine", bits, group) for bits in (1, 2, 3, 4, 5, 6, 8) for group in (32, 64, 128)]
MODES += [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]
TYPES = ["float32", "float16", "bfloat16"]


def parts(g, mode, bits, group, shape, dtype):
    """Words, scales and biases that nobody packed: any bits are codes."""
    *lead, last = shape
    words = Arr(g.integers(0, 2**32, (*lead, last * bits // 32), dtype=np.uint64).astype(np.uint32), "uint32")
    if mode != "affine":
        exponents = g.integers(110, 130, (*lead, last // group)) if group == 32 else g.integers(0, 120, (*lead, last // group))
        return [words, Arr(exponents.astype(np.uint8), "uint8")]
    return [words, random(g, dtype, (*lead, last // group), low=-1, high=1), random(g, dtype, (*lead, last // group), low=-1, high=1)]


def packing():
    g = rng("quantize")
    for mode, bits, group in MODES:
        for dtype in TYPES:
            yield call("quantize", random(g, dtype, (3, 256), a_layout(g)), group, bits, mode)
            yield call("dequantize", *parts(g, mode, bits, group, (3, 256), dtype), group_size=group, bits=bits, mode=mode)
        yield call("quantize", random(g, "float32", (2, 2, 128)), group, bits, mode)
        yield call("quantize", Arr(np.zeros((1, 128), np.float32), "float32"), group, bits, mode)
        yield call("quantize", Arr(np.full((1, 128), -3.5, np.float32), "float32"), group, bits, mode)
        yield call("quantize", random(g, "float32", (1, 128), low=1e-9, high=2e-9), group, bits, mode)
        yield call("quantize", random(g, "float32", (1, 128), low=1e4, high=1e6), group, bits, mode)
    # Groups of 16 numbers in 4 bits are two words, so an odd number of them is possible.
    for width in (16, 48, 80):
        yield call("quantize", random(g, "float32", (3, width)), mode="nvfp4")
        yield call("dequantize", *parts(g, "nvfp4", 4, 16, (3, width), "float32"), mode="nvfp4")
    w = random(g, "float32", (2, 128))
    yield call("quantize", w)
    yield call("quantize", w, mode="nvfp4")
    yield call("quantize", w, mode="nvfp4", global_scale=Arr(np.array(3.0, np.float32), "float32"))
    yield call("quantize", w, global_scale=Arr(np.array(3.0, np.float32), "float32"))
    for wrong in ({"group_size": 48}, {"bits": 7}, {"mode": "other"}, {"mode": "mxfp4", "group_size": 64}, {"mode": "nvfp4", "bits": 8}):
        yield call("quantize", w, **wrong)
    yield call("quantize", random(g, "float32", (128,)))
    yield call("quantize", random(g, "float32", (2, 100)))
    yield call("quantize", random(g, "int32", (2, 128)))
    yield call("quantize", random(g, "float32", (0, 64)))
    affine = parts(g, "affine", 4, 64, (2, 128), "float32")
    yield call("dequantize", *affine, dtype=Dt("float16"))
    for dtype in ("int32", "bool", "complex64", "float64"):
        yield call("dequantize", *affine, dtype=Dt(dtype))
        yield call("dequantize", *parts(g, "mxfp4", 4, 32, (2, 128), "float32"), mode="mxfp4", dtype=Dt(dtype))
    yield call("dequantize", *affine[:2])
    yield call("dequantize", *affine, bits=8)
    yield call("dequantize", *parts(g, "mxfp4", 4, 32, (2, 128), "float32"), random(g, "float32", (2, 4)), mode="mxfp4")
    yield call("dequantize", random(g, "int32", (2, 16)), *affine[1:])


def products():
    g = rng("quantized_matmul")
    for mode, bits, group in MODES:
        for dtype in TYPES:
            for rows in (1, 3, 9):
                x = random(g, dtype, (rows, 256), a_layout(g), -1, 1)
                yield call("quantized_matmul", x, *parts(g, mode, bits, group, (10, 256), dtype), group_size=group, bits=bits, mode=mode)
        x = random(g, "float32", (2, 3, 10), low=-1, high=1)
        yield call("quantized_matmul", x, *parts(g, mode, bits, group, (10, 128), "float32"), transpose=False, group_size=group, bits=bits, mode=mode)
    for rows in (1, 9):
        x = random(g, "float32", (rows, 48), low=-1, high=1)
        yield call("quantized_matmul", x, *parts(g, "nvfp4", 4, 16, (10, 48), "float32"), mode="nvfp4")
    affine = parts(g, "affine", 4, 64, (4, 128), "float32")
    yield call("quantized_matmul", random(g, "float32", (128,), low=-1, high=1), *affine)
    yield call("quantized_matmul", random(g, "float16", (2, 128), low=-1, high=1), *affine)
    yield call("quantized_matmul", random(g, "float32", (2, 64), low=-1, high=1), *affine)
    yield call("quantized_matmul", random(g, "float32", (2, 128), low=-1, high=1), *affine, transpose=False)
    yield call("quantized_matmul", random(g, "float32", (2, 128), low=-1, high=1), *affine[:2])
    batch = parts(g, "affine", 4, 64, (2, 4, 128), "float32")
    yield call("quantized_matmul", random(g, "float32", (2, 3, 128), low=-1, high=1), *batch)
    yield call("quantized_matmul", random(g, "float32", (5, 1, 3, 128), low=-1, high=1), *batch)
    index = lambda *values: Arr(np.array(values, np.uint32), "uint32")  # noqa: E731
    x = random(g, "float32", (2, 3, 128), low=-1, high=1)
    yield call("gather_qmm", x, *batch, lhs_indices=index(0, 0, 1), rhs_indices=index(1, 0, 1))
    yield call("gather_qmm", x, *batch, rhs_indices=index(1, 0))
    yield call("gather_qmm", x, *batch)
    yield call("gather_qmm", x, *batch, rhs_indices=random(g, "float32", (2,)))
    row = random(g, "float32", (1, 128), low=-1, high=1)
    for mode, bits, group in MODES[-3:]:
        yield call("qqmm", row, *parts(g, mode, bits, group, (4, 128), "float32"), mode=mode)
    yield call("gather_qqmm", x, *parts(g, "nvfp4", 4, 16, (2, 4, 128), "float32"), rhs_indices=index(1, 0))


def cases():
    yield from packing()
    yield from products()
