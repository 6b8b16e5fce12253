//! A made-up capture of a small network, the same on every run: several streams, fused launches, views, memory,
//! regions, kernels, tensors, a NaN, and one example of each thing that the summary remarks on.

use std::sync::Arc;

use pellucid_trace::schema::{DeviceInfo, MemoryTotals, Region, Roof, StreamInfo, Window};
use pellucid_trace::{Launch, Manifest, Memory, Op, Stats, Sync, Tensor, Writer, hash};

const CPU: &str = "Device(cpu, 0)";
const GPU: &str = "Device(gpu, 0)";
/// Elements of one activation.
const N: u64 = 64;

/// Writes layers to a trace and keeps the books.
pub struct Network<'a> {
    writer: &'a Writer,
    pub manifest: Manifest,
    next_array: u64,
    next_launch: u64,
    next_buffer: u64,
    /// Time at which each stream is free.
    free_at: [i64; 3],
    active: u64,
    peak: u64,
    region: Option<u32>,
    /// Launches are written by end time.
    ended: Vec<Launch>,
    texts: [Arc<str>; 2],
    /// Writes figures and elements of arrays, too.
    pub with_data: bool,
}

/// One operation to record.
struct Step<'a> {
    name: &'a str,
    json: &'a str,
    inputs: &'a [u64],
    shape: &'a [u64],
}

/// An operation with a square result.
fn op<'a>(name: &'a str, json: &'a str, inputs: &'a [u64]) -> Step<'a> {
    Step { name, json, inputs, shape: &[N, N] }
}

impl<'a> Network<'a> {
    pub fn new(writer: &'a Writer) -> Self {
        let stream = |index: u32| StreamInfo {
            index,
            device: if index == 2 { CPU.into() } else { GPU.into() },
            label: format!("stream {index}"),
        };
        let device = |device: &str, kind: &str| DeviceInfo {
            device: device.into(),
            kind: kind.into(),
            name: format!("a {kind}"),
            backend: if kind == "gpu" { "vulkan".into() } else { "cpu".into() },
            roof: Some(Roof { bytes_per_second: 1e10, flops_per_second: 1e11 }),
            ..DeviceInfo::default()
        };
        let manifest = Manifest {
            writer: "pellucid-trace example".into(),
            devices: vec![device(CPU, "cpu"), device(GPU, "gpu")],
            streams: (0..3).map(stream).collect(),
            ..Manifest::default()
        };
        writer.draft(&manifest);
        Self {
            writer,
            manifest,
            next_array: 1,
            next_launch: 1,
            next_buffer: 1,
            free_at: [1_000; 3],
            active: 0,
            peak: 0,
            region: None,
            ended: Vec::new(),
            texts: [CPU.into(), GPU.into()],
            with_data: true,
        }
    }

    /// The whole capture.
    pub fn run(mut self, layers: u64) -> Manifest {
        let x = self.input("x", &[N, N]);
        let mut h = x;
        let weights: Vec<u64> = (0..layers.min(4)).map(|i| self.input(&format!("w{i}"), &[N, N])).collect();
        for layer in 0..layers {
            h = self.layer(layer, h, weights[(layer % 4) as usize]);
        }
        self.wait(-1, 0);
        while !self.ended.is_empty() {
            self.emit();
        }
        let end = self.free_at.iter().max().copied().unwrap_or(0) + 1_000;
        self.manifest.window = Window { start_unix_ns: 1_700_000_000_000_000_000, duration_ns: end };
        self.manifest.memory =
            MemoryTotals { active_at_end: self.active, peak: self.peak, ..MemoryTotals::default() };
        self.manifest
    }

    fn layer(&mut self, layer: u64, x: u64, w: u64) -> u64 {
        let id = layer as u32 + 1;
        let start_ns = self.free_at[0];
        self.region = Some(id);
        let wt = self.view(op("transpose", r#"{"transpose":{"axes":[1,0]}}"#, &[w]));
        let product = self.launch(0, &[op("matmul", r#""matmul""#, &[x, wt])], 40_000);
        // One launch of two operations; the second reads the first.
        let inner = self.next_array;
        let (sum, tanh) = ([product, x], [inner]);
        let fused = [op("add", r#"{"binary":"add"}"#, &sum), op("tanh", r#"{"unary":"tanh"}"#, &tanh)];
        let fused = self.launch(0, &fused, 8_000);
        // Two elementwise launches that could have been one.
        let squared = self.launch(0, &[op("square", r#"{"unary":"square"}"#, &[fused])], 6_000);
        let scaled = self.launch(0, &[op("multiply", r#"{"binary":"multiply"}"#, &[squared, fused])], 6_000);
        self.free(squared);
        if layer.is_multiple_of(3) {
            // A copy, a result nobody reads, and work on another stream.
            let flat = Step {
                name: "reshape",
                json: r#"{"reshape":{"shape":[4096]}}"#,
                inputs: &[scaled],
                shape: &[N * N],
            };
            self.launch(0, &[flat], 5_000);
            let dead = self.launch(0, &[op("exp", r#"{"unary":"exp"}"#, &[scaled])], 6_000);
            self.free(dead);
            self.wait(1, 0);
            let other = self.launch(1, &[op("softmax", r#"{"softmax":{"axis":1}}"#, &[scaled])], 12_000);
            self.wait(0, 1);
            self.wait(2, 1);
            self.launch(2, &[op("fft", r#"{"fft":{}}"#, &[other])], 9_000);
        }
        if layer % 5 == 4 {
            self.wait(-1, 0);
        }
        let end_ns = self.free_at[0];
        let region = Region {
            id,
            parent: None,
            name: format!("layer {layer}"),
            start_ns,
            end_ns,
            thread: "main".into(),
        };
        self.manifest.regions.push(region);
        self.region = None;
        scaled
    }

    fn input(&mut self, label: &str, shape: &[u64]) -> u64 {
        let step = Step { name: "input", json: r#"{"input":{}}"#, inputs: &[], shape };
        let row = Op { label: Some(label.into()), ..self.row(&step, 0, None) };
        let id = row.id;
        self.writer.op(row);
        self.data(id, shape, id == 1);
        id
    }

    fn view(&mut self, step: Step) -> u64 {
        let row = self.row(&step, 0, None);
        let id = row.id;
        self.writer.op(row);
        id
    }

    fn row(&mut self, step: &Step, stream: u32, launch: Option<u64>) -> Op {
        let id = self.next_array;
        self.next_array += 1;
        let bytes = 4 * step.shape.iter().product::<u64>() * (1 + step.inputs.len() as u64);
        Op {
            id,
            name: step.name.into(),
            op: step.json.into(),
            inputs: step.inputs.to_vec(),
            outputs: vec![id],
            shapes: vec![step.shape.to_vec()],
            dtypes: vec!["float32".into()],
            device: self.texts[usize::from(stream < 2)].clone(),
            stream,
            launch,
            call_site: format!("src/net.rs:{}", 10 + step.name.len()).into(),
            label: None,
            region: self.region,
            flops: if launch.is_none() { 0 } else { step.shape.iter().product::<u64>() },
            bytes: if launch.is_none() { 0 } else { bytes },
            fallback: step.name == "fft",
            error: None,
            buffer: launch.map(|_| self.next_buffer),
            family: None,
            fallback_reason: None,
        }
    }

    /// Runs the steps in one launch; returns the last one's output.
    fn launch(&mut self, stream: usize, steps: &[Step], duration: i64) -> u64 {
        let id = self.next_launch;
        self.next_launch += 1;
        let start_ns = self.free_at[stream] + 500;
        let rows: Vec<Op> = steps.iter().map(|step| self.row(step, stream as u32, Some(id))).collect();
        let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
        let kernel = format!("{} float32", names.join("+"));
        let text = format!("// {kernel}\n@compute @workgroup_size(64)\nfn main() {{}}\n");
        let source = (stream < 2).then(|| self.writer.kernel(&text, "wgsl"));
        let output = rows.last().map_or(0, |row| row.id);
        self.allocate(output, start_ns - 100);
        let launch = Launch {
            id,
            kernel: kernel.into(),
            source,
            device: self.texts[usize::from(stream < 2)].clone(),
            stream: stream as u32,
            submission: id / 4,
            grid: vec![N as u32, 1, 1],
            enqueue_ns: start_ns - 400,
            start_ns,
            end_ns: start_ns + duration,
            timed_by: if stream < 2 { "gpu timestamp".into() } else { "host clock".into() },
            ops: rows.iter().map(|row| row.id).collect(),
            bytes: rows.iter().map(|row| row.bytes).sum(),
            flops: rows.iter().map(|row| row.flops).sum(),
        };
        rows.into_iter().for_each(|row| self.writer.op(row));
        self.ended.push(launch);
        if self.ended.len() > 32 {
            self.emit();
        }
        self.free_at[stream] = start_ns + duration;
        self.data(output, steps.last().map_or(&[], |step| step.shape), output.is_multiple_of(7));
        output
    }

    /// Hands on the launch that ended first.
    fn emit(&mut self) {
        let first = (0..self.ended.len()).min_by_key(|i| self.ended[*i].end_ns);
        if let Some(i) = first {
            self.writer.launch(self.ended.remove(i));
        }
    }

    fn allocate(&mut self, op: u64, time_ns: i64) {
        self.active += 4 * N * N;
        self.peak = self.peak.max(self.active);
        let buffer = self.next_buffer;
        self.next_buffer += 1;
        self.memory("allocate", buffer, Some(op), time_ns);
    }

    /// Frees the buffer made last for `op`; numbers of buffers follow the launches.
    fn free(&mut self, op: u64) {
        self.active -= 4 * N * N;
        let buffer = self.next_buffer - 1;
        self.memory("free", buffer, Some(op), self.free_at[0]);
    }

    fn memory(&self, event: &str, buffer: u64, op: Option<u64>, time_ns: i64) {
        self.writer.memory(Memory {
            time_ns,
            event: event.into(),
            buffer,
            bytes: 4 * N * N,
            op,
            device: self.texts[1].clone(),
            active: self.active,
            cache: 0,
            peak: self.peak,
        });
    }

    fn wait(&mut self, waiter: i32, waited_for: u32) {
        let end = self.free_at[waited_for as usize];
        let from = if waiter < 0 { end - 2_000 } else { self.free_at[waiter as usize].min(end) };
        self.writer.sync(Sync { time_ns: from, waiter, waited_for, duration_ns: end - from });
        if waiter >= 0 {
            self.free_at[waiter as usize] = end.max(self.free_at[waiter as usize]);
        }
    }

    /// Figures and elements of an array; `spoiled` ones have a NaN, array 7 nothing else.
    fn data(&self, array: u64, shape: &[u64], spoiled: bool) {
        if !self.with_data {
            return;
        }
        let size = shape.iter().product::<u64>();
        let mut values: Vec<f32> =
            (0..size).map(|i| ((i * 37 + array * 11) % 101) as f32 / 10.0 - 5.0).collect();
        if spoiled {
            values[3] = f32::NAN;
        }
        if array == 7 {
            values.fill(f32::NAN);
        }
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let finite: Vec<f64> =
            values.iter().filter(|value| value.is_finite()).map(|value| f64::from(*value)).collect();
        let some = !finite.is_empty();
        self.writer.stats(Stats {
            array,
            op: array,
            dtype: "float32".into(),
            size,
            min: finite.iter().copied().reduce(f64::min),
            max: finite.iter().copied().reduce(f64::max),
            mean: some.then(|| finite.iter().sum::<f64>() / finite.len() as f64),
            nan: size - finite.len() as u64,
            inf: 0,
            zero: finite.iter().filter(|value| **value == 0.0).count() as u64,
            hash: hash(&bytes).into(),
        });
        let data = Box::new(bytes);
        self.writer.tensor(Tensor { array, dtype: "float32", shape: shape.to_vec(), data });
    }
}
