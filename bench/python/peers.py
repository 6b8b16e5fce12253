"""Runs the cases of the benchmark on one peer: `python peers.py numpy`, `torch` or `mlx`.

It speaks the protocol that bench/protocol/src/lib.rs describes.
"""

import math
import os
import sys
import time


class Numpy:
    """NumPy: eager, one thread for all but products of matrices."""

    def __init__(self):
        import numpy as np

        self.np = np
        self.version = np.__version__
        self.random = np.random.default_rng(0)

    def numbers(self, *shape, dtype=None):
        array = self.random.random(shape, dtype=self.np.float32)
        return array if dtype is None else array.astype(dtype)

    def done(self, _result):
        pass

    def add(self, n):
        a, b = self.numbers(n), self.numbers(n)
        return lambda: a + b

    tiny = add

    def tanh_mul_add(self, n):
        a, b, c = self.numbers(n), self.numbers(n), self.numbers(n)
        return lambda: self.np.tanh(a * b + c)

    def sum(self, n):
        a = self.numbers(n)
        return lambda: a.sum()

    def _softmax(self, a):
        powers = self.np.exp(a - a.max(axis=-1, keepdims=True))
        powers /= powers.sum(axis=-1, keepdims=True)
        return powers

    def softmax(self, rows, columns):
        a = self.numbers(rows, columns)
        return lambda: self._softmax(a)

    def sum_columns(self, rows, columns):
        a = self.numbers(rows, columns)
        return lambda: a.sum(axis=0)

    def argmax(self, rows, columns):
        a = self.numbers(rows, columns)
        return lambda: a.argmax(axis=-1)

    def cumsum(self, rows, columns):
        a = self.numbers(rows, columns)
        return lambda: a.cumsum(axis=-1)

    def normal(self, n):
        return lambda: self.random.standard_normal(n, dtype=self.np.float32)

    def sort(self, n):
        a = self.numbers(n)
        return lambda: self.np.sort(a)

    def matmul(self, n):
        a, b = self.numbers(n, n), self.numbers(n, n)
        return lambda: a @ b

    def matmul_batched(self, batch, n):
        a, b = self.numbers(batch, n, n), self.numbers(batch, n, n)
        return lambda: a @ b

    def matmul_transposed(self, n):
        a, b = self.numbers(n, n), self.numbers(n, n)
        return lambda: a @ b.T

    def matmul_f16(self, n):
        a, b = self.numbers(n, n, dtype="float16"), self.numbers(n, n, dtype="float16")
        return lambda: a @ b

    def add_strided(self, n):
        a, b = self.numbers(n, n), self.numbers(n, n)
        return lambda: a + b.T

    def gather(self, table, width, count):
        rows = self.numbers(table, width)
        indices = self.random.integers(0, table, count, dtype="int32")
        return lambda: self.np.take(rows, indices, axis=0)

    def concatenate(self, rows, columns):
        a, b = self.numbers(rows, columns), self.numbers(rows, columns)
        return lambda: self.np.concatenate([a, b], axis=1)

    def _layer_norm(self, x, weight, bias):
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / self.np.sqrt(spread + 1e-5) * weight + bias

    def layer_norm(self, rows, columns):
        x, weight, bias = self.numbers(rows, columns), self.numbers(columns), self.numbers(columns)
        return lambda: self._layer_norm(x, weight, bias)

    def _linear(self, inputs, outputs):
        weight, bias = self.numbers(inputs, outputs) / self.np.float32(inputs), self.numbers(outputs)
        return lambda x: x @ weight + bias

    def _relu(self, x):
        return self.np.maximum(x, 0)

    def _gelu(self, x):
        return 0.5 * x * (1 + self.np.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    def mlp(self, batch, inputs, hidden, outputs):
        first, second, third = (
            self._linear(inputs, hidden),
            self._linear(hidden, hidden),
            self._linear(hidden, outputs),
        )
        x = self.numbers(batch, inputs)
        return lambda: third(self._relu(second(self._relu(first(x)))))

    def _attention(self, parts, head):
        """Attention over [3, batch, heads, tokens, head]."""
        q, k, v = parts
        return self._softmax((q @ k.swapaxes(-1, -2)) / self.np.float32(math.sqrt(head))) @ v

    def _parts(self, x, batch, tokens, heads, head):
        return x.reshape(batch, tokens, 3, heads, head).transpose(2, 0, 3, 1, 4)

    def _joined(self, x, batch, tokens, width):
        return x.swapaxes(1, 2).reshape(batch, tokens, width)

    def transformer_block(self, batch, tokens, width, heads):
        norms = [(self.numbers(width), self.numbers(width)) for _ in range(2)]
        qkv, out = self._linear(width, 3 * width), self._linear(width, width)
        up, down = self._linear(width, 4 * width), self._linear(4 * width, width)
        x, head = self.numbers(batch, tokens, width), width // heads

        def forward():
            parts = self._parts(qkv(self._layer_norm(x, *norms[0])), batch, tokens, heads, head)
            mixed = self._joined(self._attention(parts, head), batch, tokens, width)
            y = x + out(mixed)
            return y + down(self._gelu(up(self._layer_norm(y, *norms[1]))))

        return forward

    def chain(self, links, n):
        a, b = self.numbers(n), self.numbers(n)

        def run():
            x = a
            for _ in range(links):
                x = x + b
            return x

        return run


class Torch(Numpy):
    """PyTorch on the CPU: eager, all cores."""

    def __init__(self):
        import torch

        self.torch = torch
        self.functional = torch.nn.functional
        torch.set_num_threads(os.cpu_count() or 1)
        torch.set_grad_enabled(False)
        self.version = torch.__version__

    def numbers(self, *shape, dtype=None):
        return self.torch.rand(*shape, dtype=self.torch.float32).to(dtype or self.torch.float32)

    def tanh_mul_add(self, n):
        a, b, c = self.numbers(n), self.numbers(n), self.numbers(n)
        return lambda: self.torch.tanh(a * b + c)

    def _softmax(self, a):
        return self.torch.softmax(a, -1)

    def normal(self, n):
        return lambda: self.torch.randn(n)

    def sort(self, n):
        a = self.numbers(n)
        return lambda: self.torch.sort(a)

    def _half(self, n, dtype):
        a, b = self.numbers(n, n, dtype=dtype), self.numbers(n, n, dtype=dtype)
        return lambda: a @ b

    def matmul_f16(self, n):
        return self._half(n, self.torch.float16)

    def matmul_bf16(self, n):
        return self._half(n, self.torch.bfloat16)

    def gather(self, table, width, count):
        rows, indices = self.numbers(table, width), self.torch.randint(0, table, (count,))
        return lambda: self.torch.index_select(rows, 0, indices)

    def concatenate(self, rows, columns):
        a, b = self.numbers(rows, columns), self.numbers(rows, columns)
        return lambda: self.torch.cat([a, b], 1)

    def _layer_norm(self, x, weight, bias):
        return self.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)

    def _linear(self, inputs, outputs):
        # As torch.nn.Linear keeps it.
        weight, bias = self.numbers(outputs, inputs) / inputs, self.numbers(outputs)
        return lambda x: self.functional.linear(x, weight, bias)

    def _relu(self, x):
        return self.functional.relu(x)

    def _gelu(self, x):
        return self.functional.gelu(x, approximate="tanh")

    def _parts(self, x, batch, tokens, heads, head):
        return x.reshape(batch, tokens, 3, heads, head).permute(2, 0, 3, 1, 4)

    def _attention(self, parts, head):
        q, k, v = parts
        return self.functional.scaled_dot_product_attention(q, k, v)


class Mlx(Numpy):
    """MLX on its CPU device: lazy; `eval` waits for the result."""

    def __init__(self):
        import mlx.core as mx

        self.np = mx
        mx.set_default_device(mx.cpu)
        self.version = mx.__version__

    def numbers(self, *shape, dtype=None):
        array = self.np.random.uniform(shape=shape).astype(dtype or self.np.float32)
        self.np.eval(array)
        return array

    def done(self, result):
        self.np.eval(result)

    def _softmax(self, a):
        return self.np.softmax(a, axis=-1)

    def normal(self, n):
        return lambda: self.np.random.normal((n,))

    def _half(self, n, dtype):
        a, b = self.numbers(n, n, dtype=dtype), self.numbers(n, n, dtype=dtype)
        return lambda: a @ b

    def matmul_f16(self, n):
        return self._half(n, self.np.float16)

    def matmul_bf16(self, n):
        return self._half(n, self.np.bfloat16)

    def gather(self, table, width, count):
        rows, indices = self.numbers(table, width), self.np.random.randint(0, table, (count,))
        self.np.eval(indices)
        return lambda: self.np.take(rows, indices, axis=0)

    def _layer_norm(self, x, weight, bias):
        return self.np.fast.layer_norm(x, weight, bias, 1e-5)

    def _linear(self, inputs, outputs):
        weight, bias = self.numbers(inputs, outputs) / inputs, self.numbers(outputs)
        self.np.eval(weight)
        return lambda x: self.np.addmm(bias, x, weight)

    def _attention(self, parts, head):
        return self.np.fast.scaled_dot_product_attention(*parts, scale=1 / math.sqrt(head))


PEERS = {"numpy": Numpy, "torch": Torch, "mlx": Mlx}
# Methods of the classes above that are not operations.
HELPERS = {"numbers", "done"}


def build(peer, operation, sizes):
    """The work of a case, or None if the peer has no such operation."""
    if operation.startswith("_") or operation in HELPERS or not callable(getattr(peer, operation, None)):
        return None
    return getattr(peer, operation)(*sizes)


def repeat(peer, work, seconds, repeats):
    times, start = [], time.perf_counter()
    while not times or (len(times) < repeats and time.perf_counter() - start < seconds):
        begin = time.perf_counter()
        result = work()
        peer.done(result)
        times.append((time.perf_counter() - begin) * 1e3)
        del result
    return times


def main():
    peer = PEERS[sys.argv[1]]()
    print("ready", peer.version, flush=True)
    current, work = None, None
    for line in sys.stdin:
        try:
            _run, seconds, repeats, operation, *sizes = line.split()
            if current != (operation, sizes):
                work = None
                work = build(peer, operation, [int(size) for size in sizes])
                current = (operation, sizes)
            if work is None:
                print("none", flush=True)
                continue
            times = repeat(peer, work, float(seconds), int(repeats))
            print("ms", *(f"{ms:.7f}" for ms in times), flush=True)
        except Exception as error:  # Whatever a peer cannot do ends the case, not the runner.
            print("error", str(error).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
