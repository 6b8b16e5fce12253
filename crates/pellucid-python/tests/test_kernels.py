"""Kernels of the user: Metal's language, translated, and WGSL."""

import numpy as np
import pytest


@pytest.fixture
def gpu(request, mx):
    if request.config.getoption("--subject") == "mlx.core":
        pytest.skip("Pellucid's own")
    if not mx.is_available(mx.gpu):
        pytest.skip("no GPU, not even one in software")
    return mx.gpu


def launch(kernel, inputs, shape, dtype, stream, grid=None, group=(8, 1, 1), **more):
    return kernel(inputs=inputs, output_shapes=[shape], output_dtypes=[dtype], grid=grid or (int(np.prod(shape)), 1, 1),
                  threadgroup=group, stream=stream, **more)[0]


def test_a_kernel_of_metal_runs_on_any_gpu(mx, gpu):
    kernel = mx.fast.metal_kernel("halves", ["x"], ["out"], "uint i = thread_position_in_grid.x;\nout[i] = x[i] / 2;")
    for dtype in (mx.float32, mx.float16, mx.bfloat16):
        x = mx.arange(10).astype(dtype)
        out = launch(kernel, [x], (10,), dtype, gpu)
        assert out.dtype == dtype and mx.array_equal(out, x / 2)
    whole = launch(kernel, [mx.arange(-3, 7)], (10,), mx.int32, gpu)
    assert whole.tolist() == [-1, -1, 0, 0, 0, 1, 1, 2, 2, 3]


def test_the_same_name_with_another_text_is_another_kernel(mx, gpu):
    x = mx.arange(4, dtype=mx.float32)
    texts = ("out[thread_position_in_grid.x] = x[thread_position_in_grid.x] * 3.0f;", "out[thread_position_in_grid.x] = 7;")
    a, b = (launch(mx.fast.metal_kernel("same", ["x"], ["out"], text), [x], (4,), mx.float32, gpu) for text in texts)
    mx.eval(a, b)
    assert a.tolist() == [0, 3, 6, 9] and b.tolist() == [7] * 4


def test_templates_values_and_several_outputs(mx, gpu):
    text = """
        uint i = thread_position_in_grid.x;
        T scaled = x[i] * by;
        if (twice) { scaled += scaled; }
        wide[i] = scaled + N;
        small[i] = int(scaled) & 3;
    """
    kernel = mx.fast.metal_kernel("both", ["x", "by"], ["wide", "small"], text)
    x = mx.array([0.5, 1.5, 2.5])
    for twice in (False, True):
        wide, small = kernel(
            inputs=[x, 2.0], template=[("T", mx.float32), ("twice", twice), ("N", 10)], grid=(3, 1, 1), threadgroup=(3, 1, 1),
            output_shapes=[(3,), (3,)], output_dtypes=[mx.float32, mx.uint8], stream=gpu,
        )
        by = 4 if twice else 2
        assert wide.tolist() == [0.5 * by + 10, 1.5 * by + 10, 2.5 * by + 10]
        assert small.tolist() == [int(v * by) & 3 for v in (0.5, 1.5, 2.5)] and small.dtype == mx.uint8


def test_strides_threadgroup_memory_loops_and_functions(mx, gpu):
    header = "template <typename U>\nU squared(U v) { return v * v; }\nconstant constexpr int LANES = 4;"
    text = """
        threadgroup float parts[LANES];
        uint row = threadgroup_position_in_grid.x, lane = thread_position_in_threadgroup.x;
        const device float* here = x + row * x_strides[0];
        float sum = 0;
        for (int i = lane; i < x_shape[1]; i += LANES) {  // every fourth element
            if (isnan(here[i])) continue;
            sum += squared(here[i]);
        }
        parts[lane] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) {
            float all = 0;
            for (uint k = 0; k < LANES; ++k) all += parts[k];
            out[row] = metal::precise::sqrt(all);
        }
    """
    x = np.arange(30, dtype=np.float32).reshape(3, 10)
    x[1, 4] = np.nan
    # The kernel is given a view that is not row-major, and sees it as if it were.
    given = mx.array(np.ascontiguousarray(x.T)).T
    kernel = mx.fast.metal_kernel("norms", ["x"], ["out"], text, header=header)
    out = launch(kernel, [given], (3,), mx.float32, gpu, grid=(12, 1, 1), group=(4, 1, 1))
    np.testing.assert_allclose(np.array(out), np.sqrt(np.nansum(x * x, axis=1)), rtol=1e-6)


def test_what_cannot_be_translated_shows_the_way(mx, gpu):
    kernel = mx.fast.metal_kernel("sums", ["x"], ["out"], "float s = x[0];\nout[0] = simd_sum(s);")
    with pytest.raises(ValueError, match=r"(?s)line 2 of its source: simd_sum is not translated.*wgsl_kernel\(\"sums\", \[\"x\"\], \[\"out\"\]"):
        launch(kernel, [mx.ones((4,))], (4,), mx.float32, gpu)
    atomic = mx.fast.metal_kernel("sums", ["x"], ["out"], "", atomic_outputs=True)
    with pytest.raises(ValueError, match="atomic"):
        launch(atomic, [mx.ones((4,))], (4,), mx.float32, gpu)
    for options in ({"math_mode": "precise"}, {"unknown": "value"}):
        with pytest.raises(ValueError, match="math_mode"):
            mx.fast.metal_kernel("sums", ["x"], ["out"], "out[0] = x[0];", compile_options=options)
    good = mx.fast.metal_kernel("sums", ["x"], ["out"], "out[0] = x[0];", compile_options={"math_mode": "fast"})
    assert launch(good, [mx.ones((1,))], (1,), mx.float32, gpu).item() == 1
    with pytest.raises(ValueError, match="takes 1 arrays and makes 1, not 2 and 1"):
        launch(good, [mx.ones((1,)), 3], (1,), mx.float32, gpu)
    with pytest.raises(ValueError, match="complex64"):
        launch(good, [mx.ones((1,)).astype(mx.complex64)], (1,), mx.float32, gpu)
    with pytest.raises(ValueError, match="outputs begin as zeros"):
        launch(good, [mx.ones((1,))], (1,), mx.float32, gpu, init_value=2)


def test_a_kernel_of_wgsl_is_called_the_same_way(mx, gpu, capsys):
    kernel = mx.fast.wgsl_kernel("triple", ["x"], ["out"], "if (id.x < arrayLength(&out)) { out[id.x] = x[id.x] * f32(N); }")
    out = launch(kernel, [mx.array([1.0, 2.0])], (2,), mx.float32, gpu, template=[("N", 3)], verbose=True)
    assert out.tolist() == [3, 6]
    assert "const N: i32 = 3;" in capsys.readouterr().out
    wrong = mx.fast.wgsl_kernel("wrong", ["x"], ["out"], "out[0] = z;")
    with pytest.raises(ValueError, match="line 1, column 10"):
        launch(wrong, [mx.ones((2,))], (2,), mx.float32, gpu)
