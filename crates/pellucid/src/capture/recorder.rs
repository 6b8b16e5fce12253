//! The observer that writes what it sees to a trace.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use pellucid_trace as trace;
use pellucid_trace::{Mode, Writer};
use smallvec::SmallVec;

use super::kernel::{kernel_name, listing, parts};
use super::stats::look_at;
use super::{CaptureError, Options, Summary, facts};
use crate::array::{Array, Dtype, Facts, HostView, Shape, State, Value};
use crate::backend::gpu;
use crate::call_site::CallSite;
use crate::error::Result;
use crate::eval::{Member, Step};
use crate::memory;
use crate::observe::{Dispatched, Launch, MemoryAction, MemoryEvent, Observer, Outcome, Times, WaitEvent};
use crate::op::{Arg, Op, Spec};
use crate::region;
use crate::stream::{Stream, streams};

/// Writes launches, memory and waits to a trace, from any thread.
pub(super) struct Recorder {
    writer: Writer,
    mode: Mode,
    /// Set when the window opens. Without a lock: it is read inside the allocator.
    window: OnceLock<Window>,
    known: Mutex<Known>,
    ops: AtomicU64,
    launches: AtomicU64,
    dispatches: AtomicU64,
}

/// The time that all others are counted from, and the figures of memory then.
struct Window {
    start: Instant,
    unix: i64,
    active: u64,
    cache: u64,
    /// The number of the first region that belongs to it.
    first_region: u32,
}

/// What has been written before: arrays by number, and texts that repeat.
#[derive(Default)]
struct Known {
    arrays: HashSet<u64>,
    texts: HashMap<&'static str, Arc<str>>,
    /// Operations without parameters as JSON, by name.
    json: HashMap<&'static str, Arc<str>>,
    sites: HashMap<CallSite, Arc<str>>,
    devices: HashMap<crate::Device, Arc<str>>,
    /// Launches that a GPU has not finished, by number.
    untimed: HashMap<u64, (trace::Launch, Vec<trace::Dispatch>)>,
    /// Where the last launch of each stream ended.
    ends: HashMap<u32, i64>,
}

impl Known {
    fn text(&mut self, text: &'static str) -> Arc<str> {
        self.texts.entry(text).or_insert_with(|| text.into()).clone()
    }

    fn site(&mut self, site: CallSite) -> Arc<str> {
        self.sites.entry(site).or_insert_with(|| site.to_string().into()).clone()
    }

    fn device(&mut self, device: crate::Device) -> Arc<str> {
        self.devices.entry(device).or_insert_with(|| device.to_string().into()).clone()
    }
}

impl Recorder {
    pub fn create(function: &'static str, path: &Path, options: &Options) -> Result<Recorder> {
        let written = trace::Options {
            mode: options.mode,
            max_bytes: options.max_bytes.unwrap_or(u64::MAX),
            ..trace::Options::default()
        };
        let writer = Writer::create(path, written).map_err(|e| CaptureError::from(e).into_error(function))?;
        Ok(Recorder {
            writer,
            mode: options.mode,
            window: OnceLock::new(),
            known: Mutex::default(),
            ops: AtomicU64::new(0),
            launches: AtomicU64::new(0),
            dispatches: AtomicU64::new(0),
        })
    }

    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Opens the window: times count from here.
    pub fn open(&self) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
        let (active, cache) = (memory::get_active_memory(), memory::get_cache_memory());
        let first_region = region::clear();
        self.window.get_or_init(|| Window { start: Instant::now(), unix, active, cache, first_region });
        self.writer.draft(&self.manifest());
    }

    fn manifest(&self) -> trace::Manifest {
        let since = |t: Instant| self.since(t);
        let now = Instant::now();
        let unopened = Window { start: now, unix: 0, active: 0, cache: 0, first_region: 0 };
        let start = self.window.get().unwrap_or(&unopened);
        let region = |r: region::Region| trace::schema::Region {
            id: r.id,
            parent: self.region(r.parent),
            name: r.name.to_string(),
            start_ns: since(r.entered),
            end_ns: since(r.left.unwrap_or(now)),
            thread: r.thread,
        };
        trace::Manifest {
            writer: format!("pellucid {}", env!("CARGO_PKG_VERSION")),
            program: facts::program(),
            machine: facts::machine(),
            devices: facts::devices(&streams()),
            streams: facts::streams(&streams()),
            window: trace::schema::Window { start_unix_ns: start.unix, duration_ns: since(now) },
            memory: trace::schema::MemoryTotals {
                active_at_start: start.active,
                cache_at_start: start.cache,
                active_at_end: memory::get_active_memory(),
                cache_at_end: memory::get_cache_memory(),
                peak: memory::get_peak_memory(),
                limit: memory::get_memory_limit(),
            },
            regions: region::regions().into_iter().map(region).collect(),
            ..trace::Manifest::default()
        }
    }

    /// Completes the file.
    pub fn finish(
        &self,
        function: &'static str,
        partial: bool,
        native: Option<trace::schema::NativeCapture>,
    ) -> Result<Summary> {
        for (_, text) in gpu::sources_to_show() {
            self.writer.kernel(&text, "wgsl");
        }
        let native = native.into_iter().collect();
        let manifest = trace::Manifest { partial, native, ..self.manifest() };
        let duration = self.window.get().map_or(Duration::ZERO, |w| w.start.elapsed());
        let written = self.writer.finish(manifest).map_err(|e| CaptureError::from(e).into_error(function))?;
        Ok(Summary {
            path: written.path,
            bytes: written.bytes,
            ops: self.ops.load(Ordering::Relaxed),
            launches: self.launches.load(Ordering::Relaxed),
            duration,
            truncated: written.truncated,
            left_out: written.left_out,
            native: None,
        })
    }

    fn since(&self, time: Instant) -> i64 {
        self.window.get().map_or(0, |w| time.saturating_duration_since(w.start).as_nanos() as i64)
    }

    /// A region, if it belongs to this window. An array may have been asked for in one of an earlier capture.
    fn region(&self, id: u32) -> Option<u32> {
        let first = self.window.get().map_or(1, |w| w.first_region);
        (id != 0 && id >= first).then_some(id)
    }

    /// Writes an array that the window reads but did not make, the first time it is read.
    ///
    /// Rows are handed to the writer while what is known is locked, here and below: whoever finds an array known may
    /// write a row that names it, which must come later.
    fn input(&self, array: &Array, value: &Value) {
        let mut known = self.known.lock();
        if !known.arrays.insert(array.id()) {
            return;
        }
        let buffer = Some(value.buffer().id());
        let row = trace::Op { buffer, ..self.input_row(&mut known, array) };
        self.writer.op(row);
        drop(known);
        let keep = matches!(self.mode, Mode::Replay | Mode::Full);
        self.elements(array.id(), array.id(), array.shape_ref(), array.dtype(), value, keep);
    }

    fn input_row(&self, known: &mut Known, array: &Array) -> trace::Op {
        let (name, json) = (known.text("input"), known.text("{\"input\":{}}"));
        self.row(known, array, (name, "input"), json, Vec::new())
    }

    /// Figures of an array that an operation made and, if asked for, its elements.
    fn elements(&self, id: u64, op: u64, shape: &Shape, dtype: Dtype, value: &Value, keep: bool) {
        if self.mode == Mode::Timeline {
            return;
        }
        // Memory that cannot be read (a lost GPU) has no figures.
        let Ok(view) = HostView::of(value, shape, dtype) else { return };
        let mut bytes = Vec::with_capacity(if keep { view.bytes() } else { 0 });
        let f = look_at(&view, dtype, |part| {
            if keep {
                bytes.extend_from_slice(part);
            }
        });
        let name = self.known.lock().text(dtype.name());
        self.writer.stats(trace::Stats {
            array: id,
            op,
            dtype: name,
            size: shape.elements() as u64,
            min: f.min,
            max: f.max,
            mean: f.mean,
            nan: f.nan,
            inf: f.inf,
            zero: f.zero,
            hash: format!("{:016x}", f.hash).into(),
        });
        if keep {
            let shape = shape.iter().map(|&d| d as u64).collect();
            self.writer.tensor(trace::Tensor {
                array: id,
                dtype: dtype.name(),
                shape,
                data: Box::new(bytes),
            });
        }
    }

    /// Writes a launch that ran from `start` to `end`, and its dispatches. Times of two clocks meet in a stream: none
    /// begins before the one before it has ended. A dispatch runs until the next one begins.
    fn launched(&self, known: &mut Known, timed: Timed) {
        let Timed { row, dispatches, start, end, starts, by } = timed;
        let last = known.ends.entry(row.stream).or_insert(0);
        let start_ns = start.max(*last);
        let end_ns = end.max(start_ns);
        *last = end_ns;
        let timed_by = known.text(by);
        let mut begun = start_ns;
        for (i, dispatch) in dispatches.into_iter().enumerate() {
            let ended = starts.get(i + 1).map_or(end_ns, |&next| next.clamp(begun, end_ns));
            let timed_by = timed_by.clone();
            self.writer.dispatch(trace::Dispatch { start_ns: begun, end_ns: ended, timed_by, ..dispatch });
            begun = ended;
        }
        self.writer.launch(trace::Launch { start_ns, end_ns, timed_by, ..row });
    }

    /// The rows of what a launch gave a GPU, but for their times.
    fn dispatches(&self, known: &mut Known, launch: u64, op: u64, outcome: &Outcome) -> Vec<trace::Dispatch> {
        let nothing = known.text("");
        let row = |d: &Dispatched| trace::Dispatch {
            id: self.dispatches.fetch_add(1, Ordering::Relaxed) + 1,
            launch,
            op,
            kernel: d.kernel.clone(),
            source: Some(self.writer.kernel(&d.source, "wgsl")),
            grid: d.grid.to_vec(),
            workgroup: d.workgroup.to_vec(),
            roles: d.bindings.iter().map(|b| known.text(b.role)).collect(),
            arrays: d.bindings.iter().map(|b| b.array).collect(),
            buffers: d.bindings.iter().map(|b| b.buffer).collect(),
            offsets: d.bindings.iter().map(|b| b.offset).collect(),
            sizes: d.bindings.iter().map(|b| b.bytes).collect(),
            constants: d.constants.clone(),
            start_ns: 0,
            end_ns: 0,
            timed_by: nothing.clone(),
        };
        outcome.dispatches.iter().map(row).collect()
    }

    /// The row of an array, without what only its launch knows.
    fn row(
        &self,
        known: &mut Known,
        array: &Array,
        (name, family): (Arc<str>, &'static str),
        op: Arc<str>,
        inputs: Vec<u64>,
    ) -> trace::Op {
        trace::Op {
            id: array.id(),
            name,
            op,
            inputs,
            outputs: vec![array.id()],
            shapes: vec![array.shape().iter().map(|&d| d as u64).collect()],
            dtypes: vec![known.text(array.dtype().name())],
            device: known.device(array.stream().device()),
            stream: array.stream().index() as u32,
            launch: None,
            call_site: known.site(array.call_site()),
            label: array.label_text().map(Arc::from),
            region: self.region(array.0.region()),
            flops: 0,
            bytes: 0,
            fallback: false,
            error: None,
            buffer: None,
            family: Some(known.text(family)),
            fallback_reason: None,
        }
    }

    /// The row of an operation that was run, viewed or failed.
    fn member(&self, known: &mut Known, member: &Member) -> trace::Op {
        let (array, work) = (&member.array, &member.work);
        let inputs = work.inputs.iter().map(Array::id).collect();
        let shapes: Vec<_> = work.inputs.iter().map(Array::shape_ref).collect();
        let bytes = work.inputs.iter().map(Array::nbytes).sum::<usize>() + member.nbytes();
        let name = match &work.op {
            Op::Custom(kernel) => format!("custom {}", kernel.name).into(),
            op => known.text(op.name()),
        };
        let json = json(known, &work.op);
        let facts = facts(member);
        trace::Op {
            id: facts[0].id,
            outputs: facts.iter().map(|f| f.id).collect(),
            shapes: facts.iter().map(|f| f.spec.shape.iter().map(|&d| d as u64).collect()).collect(),
            dtypes: facts.iter().map(|f| known.text(f.spec.dtype.name())).collect(),
            flops: work.op.flops(&shapes, &facts[0].spec.shape),
            bytes: bytes as u64,
            ..self.row(known, array, (name, work.op.family().name()), json, inputs)
        }
    }

    /// Numbers that were written into the program instead of being computed. What they are is read from there: the
    /// arrays may have been taken by another thread meanwhile.
    fn constants(&self, known: &mut Known, step: &Step) -> Vec<trace::Op> {
        let mut rows = Vec::new();
        let Some(program) = &step.program else { return rows };
        for (member, instr) in step.members.iter().zip(&program.instrs) {
            for (input, arg) in member.work.inputs.iter().zip(instr.args()) {
                let Arg::Const(number) = arg else { continue };
                let constant = program.consts.get(usize::from(*number));
                if let Some(&(value, dtype)) = constant.filter(|_| known.arrays.insert(input.id())) {
                    let op = Op::Full { shape: Shape::default(), dtype, value };
                    let (name, json) = (known.text(op.name()), json(known, &op));
                    rows.push(self.row(known, input, (name, op.family().name()), json, Vec::new()));
                }
            }
        }
        rows
    }

    /// Writes the inputs of a step that did not run because one of them has failed.
    fn inputs_of_failed(&self, step: &Step) {
        for &input in &step.inputs {
            let array = step.input(input);
            let found = match &*array.0.state.lock() {
                State::Ready(value) | State::Enqueued(value, _) => Ok(value.clone()),
                State::Failed(failure) => Err(failure.error().to_string()),
                _ => continue,
            };
            match found {
                Ok(value) => self.input(array, &value),
                Err(error) => {
                    let mut known = self.known.lock();
                    if known.arrays.insert(array.id()) {
                        let row = self.input_row(&mut known, array);
                        self.writer.op(trace::Op { error: Some(error.into()), ..row });
                    }
                }
            }
        }
    }
}

/// All results of an operation, also those that nobody holds.
fn facts(member: &Member) -> SmallVec<[Facts; 2]> {
    let array = &member.array;
    match member.shared() {
        Some(shared) => shared.facts().into(),
        None => {
            let spec = Spec { shape: array.shape_ref().clone(), dtype: array.dtype() };
            SmallVec::from_iter([Facts { id: array.id(), spec }])
        }
    }
}

/// An operation as JSON. Those without parameters are made once.
fn json(known: &mut Known, op: &Op) -> Arc<str> {
    let make = || serde_json::to_string(op).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}")).into();
    let plain = matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Divmod | Op::Select | Op::Matmul);
    if plain { known.json.entry(op.name()).or_insert_with(make).clone() } else { make() }
}

impl Observer for Recorder {
    fn memory(&self, event: &MemoryEvent) {
        let action = match event.action {
            MemoryAction::Allocate => "allocate",
            MemoryAction::Reuse => "reuse",
            MemoryAction::Free => "free",
            MemoryAction::Evict => "evict",
        };
        let (action, device) = {
            let mut known = self.known.lock();
            (known.text(action), known.device(event.device))
        };
        self.writer.memory(trace::Memory {
            time_ns: self.since(Instant::now()),
            event: action,
            buffer: event.buffer,
            bytes: event.bytes,
            op: (event.op != 0).then_some(event.op),
            device,
            active: event.active,
            cache: event.cache,
            peak: event.peak,
        });
    }

    fn before(&self, launch: &Launch, inputs: &[Value]) {
        for (&input, value) in launch.step.inputs.iter().zip(inputs) {
            self.input(launch.step.input(input), value);
        }
    }

    fn after(&self, launch: &Launch, outcome: &Outcome) {
        let (step, last) = (launch.step, launch.step.last());
        let ran = matches!(outcome.result, Ok((_, true, _)));
        let error: Option<Arc<str>> = outcome.result.err().map(|e| e.to_string().into());
        if error.is_some() {
            self.inputs_of_failed(step);
        }
        let mut known = self.known.lock();
        let mut rows = self.constants(&mut known, step);
        let first = rows.len();
        rows.extend(step.members.iter().map(|m| self.member(&mut known, m)));
        let (mut flops, mut ids) = (0u64, Vec::with_capacity(step.members.len()));
        for row in &mut rows[first..] {
            row.launch = ran.then_some(launch.id);
            row.error.clone_from(&error);
            row.fallback = outcome.fallback.is_some();
            row.fallback_reason = outcome.fallback.map(|why| known.text(why));
            flops = flops.saturating_add(row.flops);
            ids.push(row.id);
        }
        if let (Some(row), Ok((values, _, _))) = (rows.last_mut(), outcome.result) {
            row.buffer = values.first().map(|value| value.buffer().id());
        }
        let (device, nothing) = (known.device(launch.stream.device()), known.text(""));
        self.ops.fetch_add((rows.len() - first) as u64, Ordering::Relaxed);
        for (i, row) in rows.into_iter().enumerate() {
            // A constant that chains have read has its row when it is computed for its own sake.
            if i < first || known.arrays.insert(row.id) {
                known.arrays.extend(&row.outputs);
                self.writer.op(row);
            }
        }
        drop(known);
        if !ran {
            return;
        }
        self.launches.fetch_add(1, Ordering::Relaxed);
        let read: usize = step.inputs.iter().map(|&i| step.input(i).nbytes()).sum();
        let mut known = self.known.lock();
        let dispatches = self.dispatches(&mut known, launch.id, facts(last)[0].id, outcome);
        let source = match (dispatches.last(), &step.program) {
            (Some(last), _) => last.source.clone(),
            (None, Some(program)) if outcome.dispatches.is_empty() => {
                Some(self.writer.kernel(&listing(program, &last.work.op), "txt"))
            }
            (None, _) => None,
        };
        let grid = dispatches.last().map_or(Vec::new(), |last| last.grid.clone());
        let row = trace::Launch {
            id: launch.id,
            kernel: kernel_name(step).into(),
            source,
            device,
            stream: launch.stream.index() as u32,
            submission: launch.batch,
            grid,
            enqueue_ns: self.since(launch.enqueued),
            start_ns: 0,
            end_ns: 0,
            timed_by: nothing,
            ops: ids,
            bytes: (read + last.nbytes()) as u64,
            flops,
        };
        match outcome.times {
            Some(t) => {
                let (start, end) = (self.since(t.started), self.since(t.ended));
                let starts = outcome.starts.iter().map(|&start| self.since(start)).collect();
                self.launched(&mut known, Timed { row, dispatches, start, end, starts, by: t.by });
            }
            None => drop(known.untimed.insert(row.id, (row, dispatches))),
        }
        drop(known);
        if let Ok((values, _, _)) = outcome.result {
            let facts = facts(last);
            for (Facts { id, spec }, value) in facts.iter().zip(values) {
                let keep = self.mode == Mode::Full;
                self.elements(*id, facts[0].id, &spec.shape, spec.dtype, value, keep);
            }
        }
    }

    /// Each launch gets a part of the time, by what it moves and computes, and each dispatch a part of that.
    fn timed(&self, launches: &[u64], times: Times) {
        let mut known = self.known.lock();
        let rows: Vec<_> = launches.iter().filter_map(|id| known.untimed.remove(id)).collect();
        let (start, end) = (self.since(times.started), self.since(times.ended));
        let shares = parts(start, end, rows.iter().map(|(row, _)| row.bytes as f64 + row.flops as f64));
        for ((row, dispatches), (start, end)) in rows.into_iter().zip(shares) {
            let bound = |dispatch: &trace::Dispatch| dispatch.sizes.iter().sum::<u64>() as f64;
            let starts = parts(start, end, dispatches.iter().map(bound)).iter().map(|part| part.0).collect();
            let by = "gpu submission";
            self.launched(&mut known, Timed { row, dispatches, start, end, starts, by });
        }
    }

    fn times_each_launch(&self) -> bool {
        self.mode != Mode::Timeline
    }

    fn wait(&self, event: &WaitEvent) {
        let index = |s: Stream| s.index() as i32;
        let (start, end) = (self.since(event.started), self.since(event.ended));
        self.writer.sync(trace::Sync {
            time_ns: start,
            waiter: event.waiter.map_or(-1, index),
            waited_for: event.waited_for.index() as u32,
            duration_ns: end - start,
        });
    }
}

/// A launch whose times are known.
struct Timed {
    row: trace::Launch,
    dispatches: Vec<trace::Dispatch>,
    start: i64,
    end: i64,
    /// When each dispatch began; they are divided evenly if there are none.
    starts: Vec<i64>,
    by: &'static str,
}
