"""A small training run with everything that the viewer shows: three streams, fusion, waits, a NaN, a fallback."""

import hashlib

import numpy as np

from .writer import Writer, manifest, npy_bytes

ELEMENTWISE_WGSL = """// {label}
struct Shape {{ size: u32, stride_a: u32, stride_b: u32 }}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> shape: Shape;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    if (i >= shape.size) {{ return; }}
    let x = a[i * shape.stride_a];
    let y = b[i * shape.stride_b];
    out[i] = {body};
}}
"""


class Run:
    """Builds rows while it computes real values, so that statistics and tensors agree."""

    def __init__(self, slow=1.0):
        self.rng = np.random.default_rng(7)
        self.ops, self.launches, self.memory, self.sync, self.stats = [], [], [], [], []
        self.values, self.sources, self.regions, self.stack = {}, {}, [], []
        self.clock = {0: 20_000, 1: 30_000, 2: 1_000}
        self.next_id, self.next_launch, self.next_buffer = 100, 1, 1
        self.active = {"Device(gpu, 0)": 0, "Device(cpu, 0)": 0}
        self.cache, self.peak = dict(self.active), dict(self.active)
        self.slow, self.buffers, self.line = slow, {}, 10

    def region(self, name):
        run = self

        class Region:
            def __enter__(self):
                parent = run.stack[-1]["id"] if run.stack else None
                self.row = {"id": len(run.regions) + 1, "parent": parent, "name": name, "start_ns": max(run.clock.values()),
                            "end_ns": 0, "thread": "main"}
                run.regions.append(self.row)
                run.stack.append(self.row)

            def __exit__(self, *_):
                run.stack.pop()
                self.row["end_ns"] = max(run.clock.values())

        return Region()

    def _alloc(self, op, nbytes, time, device):
        size = (nbytes + 255) // 256 * 256
        event = "reuse" if self.cache[device] >= size and self.rng.random() < 0.6 else "allocate"
        if event == "reuse":
            self.cache[device] -= size
        self.active[device] += size
        self.peak[device] = max(self.peak[device], self.active[device])
        number, self.next_buffer = self.next_buffer, self.next_buffer + 1
        self._event(time, event, number, size, op, device)
        self.buffers[op] = (number, size, device)
        return number

    def _event(self, time, event, buffer, size, op, device):
        self.memory.append({"time_ns": int(time), "event": event, "buffer": buffer, "bytes": size, "op": op, "device": device,
                            "active": self.active[device], "cache": self.cache[device], "peak": self.peak[device]})

    def free(self, *ids):
        for op in ids:
            number, size, device = self.buffers.pop(op)
            self.active[device] -= size
            self.cache[device] += size
            self._event(max(self.clock.values()), "free", number, size, op, device)

    def evict(self, size):
        size = min(size, self.cache["Device(gpu, 0)"])
        self.cache["Device(gpu, 0)"] -= size
        self._event(max(self.clock.values()), "evict", 0, size, None, "Device(gpu, 0)")

    def op(self, name, value, inputs=(), op=None, stream=0, label=None, fallback=False, flops=None, ran=True, buffer=None):
        """Adds an operation; it runs only with `launch`."""
        value = np.asarray(value)
        number, self.next_id = self.next_id, self.next_id + 1
        self.values[number] = value
        device = "Device(cpu, 0)" if stream == 2 else "Device(gpu, 0)"
        read = sum(self.values[i].nbytes for i in inputs)
        self.line += 1
        self.ops.append({
            "id": number, "name": name, "op": op or f'{{"{name}":{{}}}}', "inputs": list(inputs), "outputs": [number],
            "shapes": [list(value.shape)], "dtypes": [str(value.dtype)], "device": device, "stream": stream, "launch": None,
            "call_site": f"examples/train.rs:{self.line % 60 + 12}", "label": label,
            "region": self.stack[-1]["id"] if self.stack else None, "flops": int(flops if flops is not None else value.size if ran else 0),
            "bytes": int(read + value.nbytes) if ran else 0, "fallback": fallback, "error": None, "buffer": buffer,
        })
        return number

    def input(self, value, label, stream=0):
        number = self.op("input", value, op='{"input":{}}', stream=stream, label=label, ran=False, flops=0)
        self.ops[-1]["buffer"] = self._alloc(number, self.values[number].nbytes, 0, "Device(gpu, 0)")
        self._stat(number)
        return number

    def view(self, name, value, source):
        number = self.op(name, value, [source], ran=False, flops=0)
        self.ops[-1]["buffer"] = self.buffers.get(source, (None,))[0]
        return number

    def launch(self, *ids, kernel=None, body="x + y", gap=2_000):
        """Runs operations together; earlier ones are fused into the last."""
        rows = [row for row in self.ops if row["id"] in ids]
        stream, device, last = rows[-1]["stream"], rows[-1]["device"], rows[-1]
        flops, moved = sum(r["flops"] for r in rows), sum(r["bytes"] for r in rows)
        gpu = device.startswith("Device(gpu") and not last["fallback"]
        work = max(flops / (1.1e12 if gpu else 4e10), moved / (9e10 if gpu else 8e9)) * 1e9 + (3_000 if gpu else 1_500)
        start = self.clock[stream] + gap
        for row in rows:
            for source in row["inputs"]:
                produced = next((l for l in reversed(self.launches) if source in l["ops"]), None)
                if produced and produced["stream"] != stream and produced["end_ns"] > start:
                    self.sync.append({"time_ns": int(start), "waiter": stream, "waited_for": produced["stream"],
                                      "duration_ns": int(produced["end_ns"] - start)})
                    start = produced["end_ns"] + 500
        end = start + work * self.slow * self.rng.uniform(0.9, 1.15)
        label = kernel or "+".join(r["name"] for r in rows) + " " + last["dtypes"][0]
        source = None
        if gpu:
            text = ELEMENTWISE_WGSL.format(label=label, body=body)
            source = f"kernels/{hashlib.sha256(text.encode()).hexdigest()[:16]}.wgsl"
            self.sources[source] = text
        number, self.next_launch = self.next_launch, self.next_launch + 1
        last["buffer"] = self._alloc(last["id"], self.values[last["id"]].nbytes, start, device)
        for row in rows:
            row["launch"] = number
            self._stat(row["id"])
        size = self.values[last["id"]].size
        self.launches.append({
            "id": number, "kernel": label, "source": source, "device": device, "stream": stream, "submission": number // 3,
            "grid": [max(1, size // 64), 1, 1], "enqueue_ns": max(0, int(start - gap - 5_000)), "start_ns": int(start), "end_ns": int(end),
            "timed_by": "gpu timestamp" if gpu else "host clock", "ops": [r["id"] for r in rows], "bytes": moved, "flops": flops,
        })
        self.clock[stream] = int(end)
        return last["id"]

    def host_wait(self, stream):
        before = [row for row in self.sync if row["waiter"] == -1]
        begin = before[-1]["time_ns"] + before[-1]["duration_ns"] + 9_000 if before else 60_000
        self.sync.append({"time_ns": int(begin), "waiter": -1, "waited_for": stream, "duration_ns": int(self.clock[stream] - begin)})

    def _stat(self, number):
        value = self.values[number].astype(np.float64)
        finite = value[np.isfinite(value)]
        some = finite.size > 0
        self.stats.append({
            "array": number, "op": number, "dtype": str(self.values[number].dtype), "size": value.size,
            "min": float(finite.min()) if some else None, "max": float(finite.max()) if some else None,
            "mean": float(finite.mean()) if some else None, "nan": int(np.isnan(value).sum()), "inf": int(np.isinf(value).sum()),
            "zero": int((value == 0).sum()), "hash": hashlib.sha256(self.values[number].tobytes()).hexdigest()[:16],
        })


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def train(run, layers, steps, changed):
    """Transformer-like layers; the last step divides by zero."""
    rng, f = run.rng, np.float32
    width, rows = 128, 96
    weights = [[run.input(rng.normal(0, 0.09, (width, width)).astype(f), f"layer {l} {n}") for n in ("wq", "wk", "w1")] for l in range(layers)]
    scale = run.input(np.asarray(np.sqrt(width), f), "scale")
    for step in range(steps):
        with run.region(f"step {step}"):
            with run.region("load"):
                raw = run.launch(run.op("random_bits", rng.integers(0, 255, (rows, width)).astype(np.uint32), stream=2))
                batch = run.launch(run.op("astype", run.values[raw].astype(f) / 128 - 1, [raw], '{"cast":{"dtype":"float32"}}', stream=2, label="batch"))
                wide = run.launch(run.op("sum", run.values[batch].astype(np.float64).sum(1), [batch], stream=0, fallback=True, label="checksum"), kernel="sum float64 (on the CPU)")
                x = run.launch(run.op("contiguous", run.values[batch], [batch], stream=1), kernel="copy float32")
                run.free(raw)
            for layer, (wq, wk, w1) in enumerate(weights):
                with run.region(f"layer {layer}"):
                    with run.region("attention"):
                        q = run.launch(run.op("matmul", run.values[x] @ run.values[wq], [x, wq], '"matmul"', flops=2 * rows * width * width), kernel="matmul float32 96x128x128")
                        k = run.launch(run.op("matmul", run.values[x] @ run.values[wk], [x, wk], '"matmul"', stream=1 if layer % 2 else 0, flops=2 * rows * width * width), kernel="matmul float32 96x128x128")
                        kt = run.view("transpose", run.values[k].T, k)
                        scores = run.launch(run.op("matmul", run.values[q] @ run.values[kt], [q, kt], '"matmul"', flops=2 * rows * rows * width), kernel="matmul float32 96x96x128")
                        scaled = run.op("divide", run.values[scores] / run.values[scale], [scores, scale], '{"binary":"divide"}')
                        probs = run.launch(scaled, run.op("softmax", softmax(run.values[scaled]), [scaled], '{"softmax":{"axes":[1],"precise":false}}', flops=10 * rows * rows), body="exp(x - y)")
                        mixed = run.launch(run.op("matmul", run.values[probs] @ run.values[x], [probs, x], '"matmul"', flops=2 * rows * rows * width, label=f"attention {layer}"), kernel="matmul float32 96x128x96")
                        run.free(q, k, scores)
                    with run.region("mlp"):
                        h = run.launch(run.op("matmul", run.values[mixed] @ run.values[w1], [mixed, w1], '"matmul"', flops=2 * rows * width * width), kernel="matmul float32 96x128x128")
                        t = run.op("tanh", np.tanh(run.values[h]), [h], '{"unary":"tanh"}', flops=8 * rows * width)
                        y = run.launch(t, run.op("add", run.values[t] + run.values[x], [t, x], '{"binary":"add"}', label="residual"), body="tanh(x) + y")
                        if changed and layer == 0:
                            y = run.launch(run.op("abs", np.abs(run.values[y]), [y], '{"unary":"abs"}'), body="abs(x)")
                        run.free(probs, mixed, h)
                        x = y
            with run.region("loss"):
                denominator = run.values[x].sum(0, keepdims=True)
                if step == steps - 1 and not changed:
                    denominator[0, 5] = 0
                    run.values[x][3, 5] = 0
                total = run.launch(run.op("sum", denominator, [x], '{"reduce":{"op":"sum","axes":[0],"keepdims":true}}'))
                with np.errstate(all="ignore"):
                    ratio = run.launch(run.op("divide", run.values[x] / run.values[total], [x, total], '{"binary":"divide"}', label="normalise"), body="x / y")
                    loss = run.launch(run.op("log", np.log(np.abs(run.values[ratio]).mean()), [ratio], '{"unary":"log"}', label="loss"), kernel="abs+mean+log float32")
                unused = run.launch(run.op("argmax", run.values[ratio].argmax(1).astype(np.uint32), [ratio], '{"arg_reduce":{"op":"argmax","axis":1,"keepdims":false}}', label="predictions"))
            run.host_wait(0)
            run.free(wide, batch, total, ratio, unused)
            run.evict(40_000)
        _ = loss


def write(path, changed=False, layers=3, steps=3):
    run = Run(slow=1.35 if changed else 1.0)
    train(run, layers, steps, changed)
    writer = Writer(path)
    half = len(run.ops) // 2
    writer.rows("ops", run.ops[:half])
    writer.rows("ops", run.ops[half:], 1)
    for name, rows in (("launches", sorted(run.launches, key=lambda l: l["end_ns"])), ("memory", run.memory), ("sync", run.sync), ("stats", run.stats)):
        writer.rows(name, rows)
    for name, text in sorted(run.sources.items()):
        writer.member(name, text)
    kept = {n: v for n, v in run.values.items() if any(r["id"] == n and (r["launch"] or r["name"] == "input") for r in run.ops)}
    for number, value in kept.items():
        writer.member(f"tensors/{number}.npy", npy_bytes(value))
    end = max(run.clock.values()) + 10_000
    writer.close(manifest(
        window={"start_unix_ns": 1763000000000000000, "duration_ns": int(end)},
        memory={"active_at_start": 0, "cache_at_start": 0, "active_at_end": run.active["Device(gpu, 0)"], "cache_at_end": run.cache["Device(gpu, 0)"], "peak": run.peak["Device(gpu, 0)"], "limit": 3 << 20},
        counts={"ops": len(run.ops), "inputs": sum(r["name"] == "input" for r in run.ops), "launches": len(run.launches), "memory": len(run.memory),
                "sync": len(run.sync), "stats": len(run.stats), "kernels": len(run.sources), "tensors": len(kept), "regions": len(run.regions)},
        regions=run.regions, sources=[{"file": "examples/train.rs", "path": "/home/me/a project/examples/train.rs", "parts": [
            {"first": 8, "lines": [f"    let step{i} = layer(&x, {i});" for i in range(8, 41)]},
            {"first": 44, "lines": [f"\tlet step{i} = loss(&x, {i}); // <b>not markup</b>" for i in range(44, 77)]},
        ]}], native=[{"kind": "gputrace", "path": "train.gputrace", "ok": False, "message": "there is no Metal on this system"}],
    ))
