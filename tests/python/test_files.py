"""Files written by Pellucid are read by NumPy, MLX and safetensors, and the other way round, for every element type.

Runs with pytest or by itself: python tests/python/test_files.py
Needs numpy, mlx and safetensors, and `cargo build -p pellucid --example files` (or FILES=path of that program).
"""

import os
import pathlib
import subprocess
import tempfile

import mlx.core as mx
import numpy as np
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = os.environ.get("FILES", str(ROOT / "target/debug/examples/files"))
NUMPY_TYPES = "bool u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 c8".split()
MLX_TYPES = (
    "bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
)
SHAPES = [(), (1,), (5,), (2, 3), (0,), (3, 0, 2), (2, 1, 3, 2), (9, 8), (70, 41)]


def run(*arguments):
    done = subprocess.run([FILES, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(kind, shape, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 50
    if kind == "c8":
        values = values + 1j * rng.standard_normal(shape)
    if kind.startswith("u"):
        values = np.abs(values)
    return np.asarray(values > 0 if kind == "bool" else values).astype(kind)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def in_folder(test):
    def wrapped():
        with tempfile.TemporaryDirectory() as folder, mx.stream(mx.cpu):
            test(pathlib.Path(folder))

    wrapped.__name__ = test.__name__
    return wrapped


@in_folder
def test_npy_both_ways_with_numpy(folder):
    for kind in NUMPY_TYPES:
        for shape in SHAPES:
            a = numbers(kind, shape)
            for order in "<>":
                for layout in "CF":
                    np.save(folder / "in.npy", np.array(a, dtype=a.dtype.newbyteorder(order), order=layout))
                    run("convert", folder / "in.npy", folder / "out.npy")
                    assert same(np.load(folder / "out.npy"), a), (kind, shape, order, layout)
            # Byte for byte what NumPy writes.
            np.save(folder / "in.npy", a)
            assert (folder / "in.npy").read_bytes() == (folder / "out.npy").read_bytes(), (kind, shape)


@in_folder
def test_npy_both_ways_with_mlx(folder):
    for name in MLX_TYPES:
        for shape in SHAPES:
            a = mx.array(numbers("f4", shape)).astype(getattr(mx, name))
            mx.save(str(folder / "in.npy"), a)
            run("convert", folder / "in.npy", folder / "out.npy")
            b = mx.load(str(folder / "out.npy"))
            assert b.dtype == a.dtype and b.shape == a.shape and mx.array_equal(a, b), (name, shape)


@in_folder
def test_npz_both_ways(folder):
    arrays = {f"{kind}/{i}": numbers(kind, shape) for kind in NUMPY_TYPES for i, shape in enumerate(SHAPES)}
    for save in (np.savez, np.savez_compressed):
        save(folder / "in.npz", **arrays)
        run("convert", folder / "in.npz", folder / "out.npz")
        with np.load(folder / "out.npz") as out:
            assert sorted(out.files) == sorted(arrays)
            assert all(same(out[name], a) for name, a in arrays.items())
        assert set(mx.load(str(folder / "out.npz"))) == set(arrays)
    mx.savez(str(folder / "in.npz"), mx.arange(3), b=mx.ones((2, 2)))
    run("convert", folder / "in.npz", folder / "out.npz")
    out = mx.load(str(folder / "out.npz"))
    assert set(out) == {"arr_0", "b"} and mx.array_equal(out["arr_0"], mx.arange(3))


@in_folder
def test_safetensors_both_ways(folder):
    arrays = {f"{kind}.{i}": numbers(kind, shape) for kind in NUMPY_TYPES for i, shape in enumerate(SHAPES)}
    notes = {"format": "np", "quote": '"'}
    safetensors.numpy.save_file(arrays, folder / "in.safetensors", notes)
    run("convert", folder / "in.safetensors", folder / "out.safetensors")
    out = safetensors.numpy.load_file(folder / "out.safetensors")
    assert set(out) == set(arrays) and all(same(out[name], a) for name, a in arrays.items())
    with safetensors.safe_open(folder / "out.safetensors", "np") as f:
        assert f.metadata() == notes
    types = [name for name in MLX_TYPES if name != "float64"]  # MLX does not save it
    tensors = {f"{n}{i}": mx.array(numbers("f4", s)).astype(getattr(mx, n)) for n in types for i, s in enumerate(SHAPES)}
    mx.save_safetensors(str(folder / "in.safetensors"), tensors)
    run("convert", folder / "in.safetensors", folder / "out.safetensors")
    out = mx.load(str(folder / "out.safetensors"))
    assert set(out) == set(tensors)
    assert all(out[k].dtype == a.dtype and mx.array_equal(out[k], a) for k, a in tensors.items())


@in_folder
def test_printing_is_mlxs(folder):
    special = [0.0, -0.0, 1e10, 1e-10, 1 / 3, 123456.7, 1234567.8, 999999.9, 1e5, 1e-4, 1e-5, float("inf"), 3e38]
    rng = np.random.default_rng(3)
    for name in MLX_TYPES:
        cases = [mx.array(numbers("f4", shape)) for shape in SHAPES]
        cases += [mx.array(special[i : i + 6]) for i in range(len(special))] if "float" in name else []
        if name == "float32":
            bits = rng.integers(0, 2**32, (400, 5), dtype=np.uint32).view(np.float32)
            cases += [mx.array(np.where(np.isnan(row), np.float32("nan"), row)) for row in np.abs(bits)]
        for case in cases:
            a = case.astype(getattr(mx, name))
            mx.save(str(folder / "a.npy"), a)
            assert run("show", folder / "a.npy") == str(a) + "\n", (name, str(a))


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "passed")
