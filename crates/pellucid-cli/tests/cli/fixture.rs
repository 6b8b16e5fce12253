//! A small trace with known rows and known times: what is printed of it is always the same.

use std::path::Path;

use pellucid::op::Op as Operation;
use pellucid::{Array, Dtype, capture};
use pellucid_trace::schema::{DeviceInfo, Machine, MemoryTotals, Program, Region, StreamInfo, Window};
use pellucid_trace::{Launch, Manifest, Memory, Op, Options, Stats, Sync, Tensor, Writer};

use crate::alone;

const CPU: &str = "Device(cpu, 0)";

/// A row that ran, or a view if it has no launch.
pub fn op(id: u64, name: &str, op: &str, inputs: &[u64], shape: &[u64], launch: Option<u64>) -> Op {
    let elements: u64 = shape.iter().copied().fold(1, u64::saturating_mul);
    Op {
        id,
        name: name.into(),
        op: op.into(),
        inputs: inputs.to_vec(),
        outputs: vec![id],
        shapes: vec![shape.to_vec()],
        dtypes: vec!["float32".into()],
        device: CPU.into(),
        stream: 0,
        launch,
        call_site: format!("src/model.rs:{}", 10 + id).into(),
        label: None,
        region: None,
        flops: elements,
        bytes: elements.saturating_mul(4 * (inputs.len() as u64 + 1)),
        fallback: false,
        error: None,
        buffer: launch,
        family: None,
        fallback_reason: None,
    }
}

pub fn input(id: u64, shape: &[u64]) -> Op {
    op(id, "input", "{\"input\":{}}", &[], shape, None)
}

pub fn launch(id: u64, kernel: &str, start_ns: i64, end_ns: i64, ops: &[u64]) -> Launch {
    Launch {
        id,
        kernel: kernel.into(),
        source: None,
        device: CPU.into(),
        stream: 0,
        submission: id,
        grid: Vec::new(),
        enqueue_ns: start_ns - 1_000,
        start_ns,
        end_ns,
        timed_by: "host clock".into(),
        ops: ops.to_vec(),
        bytes: 48,
        flops: 16,
    }
}

pub fn stats(id: u64, array: &Array) -> Stats {
    let f = capture::figures(array).unwrap();
    Stats {
        array: id,
        op: id,
        dtype: array.dtype().name().into(),
        size: array.size() as u64,
        min: f.min,
        max: f.max,
        mean: f.mean,
        nan: f.nan,
        inf: f.inf,
        zero: f.zero,
        hash: format!("{:016x}", f.hash).into(),
    }
}

pub fn tensor(id: u64, array: &Array) -> Tensor {
    let shape = array.shape().iter().map(|&d| d as u64).collect();
    Tensor { array: id, dtype: array.dtype().name(), shape, data: Box::new(array.to_bytes().unwrap()) }
}

pub fn manifest(duration_ns: i64) -> Manifest {
    Manifest {
        writer: "pellucid 0.1.0".into(),
        program: Program { name: "model".into(), args: vec!["--steps".into(), "1".into()], pid: 42 },
        machine: Machine {
            os: "linux".into(),
            arch: "x86_64".into(),
            cpu: "Example CPU".into(),
            cores: 4,
            memory_bytes: 8 << 30,
        },
        devices: vec![DeviceInfo { device: CPU.into(), kind: "cpu".into(), ..DeviceInfo::default() }],
        streams: vec![StreamInfo { index: 0, device: CPU.into(), label: "stream 0".into() }],
        window: Window { start_unix_ns: 0, duration_ns },
        memory: MemoryTotals { limit: 4 << 30, peak: 128, ..MemoryTotals::default() },
        ..Manifest::default()
    }
}

fn apply(op: &str, inputs: &[&Array]) -> Array {
    let op: Operation = serde_json::from_str(op).unwrap();
    let inputs: Vec<Array> = inputs.iter().map(|&a| a.clone()).collect();
    Array::apply(op, &inputs)
}

/// A product, then a multiplication fused with a tanh, then a view. `slower` stretches the product.
pub fn write(path: &Path, slower: i64) {
    let _alone = alone();
    let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let b = Array::from([[1.0f32, 0.0], [0.0, 1.0]]);
    assert_eq!(a.dtype(), Dtype::Float32);
    let product = apply("\"matmul\"", &[&a, &b]);
    let square = apply("{\"binary\":\"multiply\"}", &[&product, &product]);
    let tanh = apply("{\"unary\":\"tanh\"}", &[&square]);
    let w = Writer::create(path, Options::default()).unwrap();
    w.op(Op { label: Some("weights".into()), ..input(1, &[2, 2]) });
    w.op(input(2, &[2, 2]));
    w.op(Op { region: Some(1), flops: 16, ..op(3, "matmul", "\"matmul\"", &[1, 2], &[2, 2], Some(1)) });
    w.op(Op { buffer: None, ..op(4, "multiply", "{\"binary\":\"multiply\"}", &[3, 3], &[2, 2], Some(2)) });
    w.op(op(5, "tanh", "{\"unary\":\"tanh\"}", &[4], &[2, 2], Some(2)));
    w.op(op(6, "reshape", "{\"reshape\":{\"shape\":[4]}}", &[5], &[4], None));
    w.launch(launch(1, "matmul float32", 10_000, 60_000 + slower, &[3]));
    let source = w.kernel("in0: float32\nr0: float32 = multiply(in0, in0)\nr1: float32 = tanh(r0)\n", "txt");
    let start = 75_000 + slower;
    w.launch(Launch {
        source: Some(source),
        ..launch(2, "multiply+tanh float32", start, start + 25_000, &[4, 5])
    });
    for (id, array) in [(1, &a), (2, &b), (3, &product), (5, &tanh)] {
        w.stats(stats(id, array));
    }
    w.tensor(tensor(1, &a));
    w.tensor(tensor(2, &b));
    let memory = |time_ns, buffer, active| Memory {
        time_ns,
        event: "allocate".into(),
        buffer,
        bytes: 64,
        op: Some(if buffer == 1 { 3 } else { 5 }),
        device: CPU.into(),
        active,
        cache: 0,
        peak: active,
    };
    w.memory(memory(9_000, 1, 64));
    w.memory(memory(74_000, 2, 128));
    w.sync(Sync { time_ns: 5_000, waiter: -1, waited_for: 0, duration_ns: 100_000 });
    let region = Region {
        id: 1,
        parent: None,
        name: "layer 1".into(),
        start_ns: 0,
        end_ns: 90_000,
        thread: "main".into(),
    };
    w.finish(Manifest { regions: vec![region], ..manifest(200_000 + slower) }).unwrap();
}
