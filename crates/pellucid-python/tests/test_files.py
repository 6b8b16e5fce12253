"""Files written by one are read by the other: Pellucid, mlx and NumPy."""

import io
import pathlib
import subprocess
import sys

import numpy as np
import pytest

KINDS = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64".split()

@pytest.fixture
def pellucid_only(request):
    if request.config.getoption("--subject") != "pellucid.core":
        pytest.skip("about Pellucid")


MLX = """
import os, sys, mlx.core as mx
source, target = sys.argv[1:]
arrays = mx.load(source)
if isinstance(arrays, dict):
    save = mx.save_safetensors if target.endswith("safetensors") else mx.savez
    save(target, arrays) if save is mx.save_safetensors else save(target, **arrays)
else:
    mx.save(target, arrays)
os._exit(0)  # mlx's own end of the process fails now and then.
"""


def through_mlx(source, target):
    """mlx reads the one file and writes the other, in a process of its own."""
    subprocess.run([sys.executable, "-c", MLX, str(source), str(target)], check=True, timeout=60)
    return target


def named(mx):
    return {kind: (mx.arange(6).reshape(2, 3) % 2).astype(mx.bool_ if kind == "bool" else getattr(mx, kind)) for kind in KINDS}


def same(ours, theirs):
    return ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_npy_goes_to_mlx_and_numpy_and_back(mx, tmp_path, kind):
    a = named(mx)[kind]
    mx.save(str(tmp_path / "a.npy"), a)
    loaded = np.load(tmp_path / "a.npy")
    assert loaded.dtype == np.dtype(kind) and loaded.tolist() == a.tolist()
    assert same(mx.load(str(through_mlx(tmp_path / "a.npy", tmp_path / "b.npy"))), a)
    np.save(tmp_path / "c.npy", np.asfortranarray(loaded))
    assert same(mx.load(str(tmp_path / "c.npy")), a)


@pytest.mark.parametrize("name", ["savez", "savez_compressed"])
def test_npz_goes_to_mlx_and_numpy_and_back(mx, tmp_path, name):
    arrays = named(mx)
    getattr(mx, name)(str(tmp_path / "a.npz"), mx.ones((2,)), **arrays)
    with np.load(tmp_path / "a.npz") as loaded:
        assert loaded["arr_0"].tolist() == [1, 1]
        assert all(loaded[kind].tolist() == a.tolist() for kind, a in arrays.items())
    back = mx.load(str(through_mlx(tmp_path / "a.npz", tmp_path / "b.npz")))
    assert all(same(back[kind], a) for kind, a in arrays.items())


def test_safetensors_goes_to_mlx_and_back_with_its_metadata(mx, tmp_path):
    arrays = {kind: a for kind, a in named(mx).items() if kind not in ("float64",)}
    arrays["bfloat16"] = mx.array([1.0, 2.5]).astype(mx.bfloat16)
    mx.save_safetensors(str(tmp_path / "a.safetensors"), arrays, {"made": "here"})
    back = mx.load(str(through_mlx(tmp_path / "a.safetensors", tmp_path / "b.safetensors")))
    assert back.keys() == arrays.keys() and all(same(back[kind], a) for kind, a in arrays.items())
    _, metadata = mx.load(str(tmp_path / "a.safetensors"), return_metadata=True)
    assert metadata["made"] == "here"


def test_paths_and_open_files_are_taken(mx, tmp_path):
    a = mx.arange(5)
    mx.save(tmp_path / "a.npy", a)
    assert same(mx.load(tmp_path / "a.npy"), a)
    with open(tmp_path / "b.npy", "wb") as out:
        mx.save(out, a)
    with open(tmp_path / "b.npy", "rb") as source:
        assert same(mx.load(source, format="npy"), a)


def test_a_path_without_ending_gets_one(mx, tmp_path):
    mx.save(str(tmp_path / "a"), mx.arange(3))
    assert (tmp_path / "a.npy").exists()
    mx.savez(str(tmp_path / "b"), mx.arange(3))
    assert (tmp_path / "b.npz").exists()


def test_what_cannot_be_read_is_refused(mx, tmp_path):
    (tmp_path / "a.npy").write_bytes(b"not an array")
    (tmp_path / "a.safetensors").write_bytes(b"\xff" * 40)
    for wrong in ("missing.npy", "a.npy", "a.safetensors"):
        with pytest.raises((RuntimeError, ValueError, OSError)):
            mx.eval(mx.load(str(tmp_path / wrong)))
    with pytest.raises((ValueError, RuntimeError)):
        mx.load(str(tmp_path / "a.npy"), format="wrong")
    with pytest.raises((TypeError, ValueError)):
        mx.load(3)
    with pytest.raises(TypeError):
        mx.save(str(tmp_path / "x.npy"), "text")
    with pytest.raises((TypeError, ValueError)):
        mx.save_safetensors(str(tmp_path / "x.safetensors"), [mx.ones((2,))])


def test_a_failed_save_leaves_no_file(mx, tmp_path):
    bad = mx.arange(3)
    with pytest.raises((RuntimeError, OSError, ValueError)):
        mx.save(str(pathlib.Path(tmp_path) / "no" / "folder" / "a.npy"), bad)
    assert list(tmp_path.iterdir()) == []


class Slow(io.RawIOBase):
    """A file that takes and gives a few bytes at a time, as pipes and sockets do."""

    def __init__(self, content=b""):
        self.content, self.at = bytearray(content), 0

    def write(self, data):
        self.content += bytes(data[:1000])
        return min(len(data), 1000)

    def read(self, size=-1):
        piece = bytes(self.content[self.at : self.at + min(size, 777)])
        self.at += len(piece)
        return piece


class Stuck(io.RawIOBase):
    def write(self, data):
        return None


class Silent:
    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))


def test_files_that_take_and_give_little_at_a_time_get_everything(mx):
    a = mx.arange(5000)
    slow = Slow()
    mx.save(slow, a)
    assert same(mx.load(io.BytesIO(bytes(slow.content))), a)
    assert same(mx.load(Slow(slow.content)), a)
    silent = Silent()
    mx.savez(silent, a=a)
    assert same(mx.load(io.BytesIO(b"".join(silent.parts)))["a"], a)
    with pytest.raises(OSError):
        mx.save(Stuck(), a)


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limit")
def test_a_full_disk_is_an_error_and_nothing_is_printed(mx, tmp_path, request):
    code = f"""
import resource, signal
import {request.config.getoption("--subject")} as mx
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for save in (mx.savez, mx.savez_compressed):
    try:
        save({str(tmp_path / "a.npz")!r}, mx.random.normal((100, 1000)), b=mx.random.normal((100, 1000)))
    except (RuntimeError, OSError) as error:
        print("refused")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("refused\nrefused\n", "")
    assert list(tmp_path.iterdir()) == []


def test_gguf_files_go_both_ways(pellucid_only, mx, tmp_path):
    import mlx.core as theirs

    def content(m):
        arrays = {"x": m.arange(6).reshape(2, 3).astype(m.float32), "h": m.ones((2,)).astype(m.float16), "i": m.array([1, -2], dtype=m.int8)}
        notes = {"name": "tiny", "list": ["a", "bc"], "numbers": m.array([1, 2, 3]), "one": m.array(2.5), "yes": m.array(True)}
        return arrays, notes

    for writer, reader in ((mx, theirs), (theirs, mx), (mx, mx)):
        path = str(tmp_path / "model.gguf")
        arrays, notes = content(writer)
        writer.save_gguf(path, arrays, notes)
        found, metadata = reader.load(path, return_metadata=True)
        assert sorted(found) == sorted(arrays)
        for name, array in arrays.items():
            assert str(found[name].dtype).split(".")[-1] == str(array.dtype).split(".")[-1]
            assert np.array_equal(np.array(found[name]), np.array(array))
        assert metadata["name"] == "tiny" and metadata["list"] == ["a", "bc"]
        assert np.array(metadata["numbers"]).tolist() == [1, 2, 3] and float(np.array(metadata["one"])) == 2.5


def test_packed_arrays_of_mlx_are_read_and_multiplied(pellucid_only, mx, tmp_path):
    import mlx.core as theirs

    w = theirs.random.normal((8, 128))
    for mode in ("affine", "mxfp4", "mxfp8", "nvfp4"):
        names = dict(zip(("w", "scales", "biases"), theirs.quantize(w, mode=mode)))
        path = str(tmp_path / f"{mode}.safetensors")
        theirs.save_safetensors(path, names)
        ours = mx.load(path)
        x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(2, 128)
        found = mx.quantized_matmul(mx.array(x), ours["w"], ours["scales"], ours.get("biases"), mode=mode)
        expected = theirs.quantized_matmul(theirs.array(x), names["w"], names["scales"], names.get("biases"), mode=mode)
        assert np.allclose(np.array(found), np.array(expected), atol=1e-3)
