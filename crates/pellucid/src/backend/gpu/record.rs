//! Recording: each stream collects its launches and hands them to the queue together, when a batch ends or enough has
//! been collected.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;

use super::check::Check;
use super::clock::{MOST_PASSES, Stamps, Timed};
use super::device::{Gpu, debugging};
use super::pipeline::Pipeline;
use super::wgsl::ROW;
use crate::error::{Error, Result};
use crate::memory::{Buffer, Memory};
use crate::observe::{Binding, Dispatched, Times, Watch};
use crate::stream::Stream;

/// A submission holds at most this many launches: enough that its cost is small beside theirs, few enough that the GPU
/// starts early.
const MOST_LAUNCHES: u32 = 64;
/// And touches at most this many bytes, since what it reads and writes stays allocated until it is submitted.
const MOST_BYTES: u64 = 512 << 20;
/// Parameters that are too large for immediates lie in slots of this size, the alignment that every device accepts.
const SLOT: usize = 256;
const SLOTS: usize = 256;
/// Launches of a submission that may report bad indices.
const FLAGS: usize = MOST_LAUNCHES as usize;

/// A part of a buffer as a kernel sees it.
#[derive(Clone, Copy)]
pub(crate) struct Bind<'a> {
    pub buffer: &'a Buffer,
    /// Bytes from the buffer's start, a multiple of 256.
    pub start: u64,
    /// Bytes, a multiple of 4.
    pub bytes: u64,
}

/// One launch of a kernel.
pub(crate) struct Dispatch<'a> {
    pub pipeline: &'a Pipeline,
    /// The output, then the inputs.
    pub binds: &'a [Bind<'a>],
    pub params: &'a [u32],
    pub groups: [u32; 3],
}

/// Workgroups for `count` invocations' groups in one dimension, folded where a row is too short.
pub(crate) fn folded(groups: u64) -> [u32; 3] {
    if groups <= 65_535 { [groups as u32, 1, 1] } else { [ROW, groups.div_ceil(u64::from(ROW)) as u32, 1] }
}

/// The launches of one stream that have not been submitted.
#[derive(Default)]
pub(crate) struct Recorder {
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    /// Buffers the commands use; their memory may be handed out again only after the submission.
    held: HashMap<u64, Buffer>,
    launches: u32,
    bytes: u64,
    params: Option<wgpu::Buffer>,
    slots: Vec<u8>,
    flags: Option<wgpu::Buffer>,
    checks: Vec<Arc<Check>>,
    /// The submission made last.
    latest: u64,
    /// Why a submission in this batch failed.
    failed: Option<Error>,
    /// The observed launch that is being recorded.
    watched: Option<Watched>,
    /// Where the times of observed passes go.
    stamps: Option<Stamps>,
    /// Passes of the present commands that have a place there.
    passes: u32,
    /// Observed launches whose times are those of the next submission, and who wants to know.
    untimed: Option<(Watch, Vec<u64>)>,
}

/// What is seen of a launch while it is recorded.
struct Watched {
    /// Whether it is timed by itself.
    each: bool,
    /// What it has given the GPU so far.
    dispatched: Vec<Dispatched>,
    /// The arrays that buffers belong to: buffer, array, role.
    arrays: Vec<(u64, u64, &'static str)>,
    /// Submissions of nothing but this launch.
    timed: Vec<(u64, Timed)>,
}

impl Watched {
    /// Notes a kernel that was launched.
    fn add(&mut self, dispatch: &Dispatch) {
        let binding = |(i, bind): (usize, &Bind)| {
            // The first binding is written; the others are read first of all.
            let role = if i == 0 { "output" } else { "input" };
            let of_buffer = || self.arrays.iter().filter(|(buffer, ..)| *buffer == bind.buffer.id());
            let found = of_buffer().find(|(.., known)| *known == role).or_else(|| of_buffer().next());
            let (array, role) = found.map_or((0, "scratch"), |&(_, array, role)| (array, role));
            Binding { role, array, buffer: bind.buffer.id(), offset: bind.start, bytes: bind.bytes }
        };
        let bindings = dispatch.binds.iter().enumerate().map(binding).collect();
        self.dispatched.push(Dispatched {
            kernel: dispatch.pipeline.label.as_str().into(),
            source: dispatch.pipeline.source.clone(),
            grid: dispatch.groups,
            workgroup: dispatch.pipeline.workgroup,
            bindings,
            constants: dispatch.params.to_vec(),
        });
    }
}

static RECORDERS: LazyLock<RwLock<HashMap<usize, Arc<Mutex<Recorder>>>>> = LazyLock::new(RwLock::default);

/// The recorder of a stream.
pub(crate) fn recorder(stream: Stream) -> Arc<Mutex<Recorder>> {
    if let Some(known) = RECORDERS.read().get(&stream.index()) {
        return known.clone();
    }
    RECORDERS.write().entry(stream.index()).or_default().clone()
}

/// Submits the launches of every stream that use this buffer.
pub(crate) fn flush_users(gpu: &'static Gpu, buffer: &Buffer) -> Result<()> {
    let all: Vec<_> = RECORDERS.read().values().cloned().collect();
    for recorder in all {
        let mut recorder = recorder.lock();
        if recorder.holds(buffer) {
            recorder.flush(gpu);
        }
    }
    Ok(())
}

impl Recorder {
    /// Whether unsubmitted commands use this buffer.
    pub fn holds(&self, buffer: &Buffer) -> bool {
        self.held.contains_key(&buffer.id())
    }

    /// Records a launch. The kernel sees everything recorded or submitted before.
    pub fn launch(&mut self, gpu: &'static Gpu, stream: Stream, dispatch: &Dispatch) -> Result<()> {
        if self.passes >= MOST_PASSES {
            self.flush(gpu);
        }
        let pipeline = dispatch.pipeline;
        debug_assert_eq!(dispatch.binds.len() as u32, pipeline.buffers);
        debug_assert!(dispatch.params.len() + 1 == pipeline.params || pipeline.params == 0);
        let mut words: SmallVec<[u8; 128]> = SmallVec::new();
        words.extend(dispatch.params.iter().chain(&[0]).flat_map(|p| p.to_le_bytes()));
        let slot =
            if pipeline.immediates || pipeline.params == 0 { None } else { Some(self.slot(gpu, &words)?) };
        let mut entries: SmallVec<[wgpu::BindGroupEntry; 8]> = SmallVec::new();
        for (binding, bind) in dispatch.binds.iter().enumerate() {
            entries.push(wgpu::BindGroupEntry { binding: binding as u32, resource: resource(bind)? });
        }
        if let (true, Some(flags)) = (pipeline.flags, &self.flags) {
            entries.push(wgpu::BindGroupEntry {
                binding: pipeline.buffers,
                resource: flags.as_entire_binding(),
            });
        }
        if let (Some(slot), Some(params)) = (slot, &self.params) {
            let size = std::num::NonZeroU64::new(words.len() as u64);
            let resource =
                wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: params, offset: slot, size });
            let binding = pipeline.buffers + u32::from(pipeline.flags);
            entries.push(wgpu::BindGroupEntry { binding, resource });
        }
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&pipeline.label),
            layout: &pipeline.layout,
            entries: &entries,
        });
        drop(entries);
        let grouped = debugging();
        if self.times_each() {
            // A pass for each kernel has stamps of its own.
            self.pass = None;
        }
        let pass = self.pass(gpu, stream);
        if grouped {
            pass.push_debug_group(&pipeline.label);
        }
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        if pipeline.immediates {
            pass.set_immediates(0, &words);
        }
        let [x, y, z] = dispatch.groups;
        pass.dispatch_workgroups(x, y, z);
        if grouped {
            pass.pop_debug_group();
        }
        for bind in dispatch.binds {
            if let Entry::Vacant(place) = self.held.entry(bind.buffer.id()) {
                self.bytes += bind.buffer.bytes() as u64;
                place.insert(bind.buffer.clone());
            }
        }
        self.launches += 1;
        match &mut self.watched {
            // An observed launch is submitted as a whole.
            Some(watched) => watched.add(dispatch),
            None => self.flush_if_full(gpu),
        }
        Ok(())
    }

    fn flush_if_full(&mut self, gpu: &'static Gpu) {
        if self.launches >= MOST_LAUNCHES || self.bytes >= MOST_BYTES {
            self.flush(gpu);
        }
    }

    /// An observed launch begins. One that is timed by itself is not submitted with what came before.
    pub fn watch(&mut self, gpu: &'static Gpu, observer: &Watch) {
        let each = observer.times_each_launch();
        if each {
            self.flush(gpu);
        }
        self.watched = Some(Watched { each, dispatched: Vec::new(), arrays: Vec::new(), timed: Vec::new() });
    }

    /// Tells which array a buffer belongs to, if a launch is observed that uses it.
    pub fn name(&mut self, buffer: &Buffer, array: u64, role: &'static str) {
        if let Some(watched) = &mut self.watched {
            watched.arrays.push((buffer.id(), array, role));
        }
    }

    /// Whether the launch that is being recorded is timed by itself.
    fn times_each(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.each)
    }

    /// The observed launch ends: what it launched and, if it is timed by itself, its submissions.
    pub fn unwatch(&mut self, gpu: &'static Gpu) -> (Vec<Dispatched>, TimedSubmissions) {
        if self.times_each() {
            self.flush(gpu);
        }
        let watched = self.watched.take().map(|watched| (watched.dispatched, watched.timed));
        let (dispatched, timed) = watched.unwrap_or_default();
        (dispatched, TimedSubmissions(timed))
    }

    /// An observed launch has been recorded; its times are those of its submission. If another thread that needed one of
    /// its arrays has submitted it already, they are those from `started` to that submission's end.
    pub fn await_times(&mut self, gpu: &'static Gpu, observer: &Watch, launch: u64, started: Instant) {
        if self.encoder.is_some() {
            self.untimed.get_or_insert_with(|| (observer.clone(), Vec::new())).1.push(launch);
            self.flush_if_full(gpu);
        } else {
            let observer = observer.clone();
            gpu.submissions.when_finished(self.latest, move || {
                let by = "gpu submission";
                observer.timed(&[launch], Times { started, ended: Instant::now(), by });
            });
        }
    }

    /// The number of a flag for a launch that follows, which tells `check` when the GPU is done.
    pub fn flag(&mut self, gpu: &'static Gpu, check: Arc<Check>) -> Result<u32> {
        if self.flags.is_none() {
            let usage =
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
            self.flags = Some(small_buffer(gpu, "flags", (FLAGS * 4) as u64, usage)?);
        }
        // The flag belongs to the launch that follows, which must not find that there is no room for its parameters.
        if self.slots.len() + 8 * SLOT > SLOT * SLOTS || self.passes + 8 > MOST_PASSES {
            self.flush(gpu);
        }
        self.checks.push(check);
        Ok(self.checks.len() as u32 - 1)
    }

    fn pass(&mut self, gpu: &Gpu, stream: Stream) -> &mut wgpu::ComputePass<'static> {
        let encoder = self.encoder.get_or_insert_with(|| {
            let label = stream.label();
            gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(&label) })
        });
        if self.pass.is_none() && self.watched.is_some() {
            if self.passes == 0 {
                self.stamps = gpu.clock.stamps(gpu);
            }
            self.passes += 1;
        }
        let (stamps, first) = (self.stamps.as_ref().filter(|_| self.watched.is_some()), 2 * self.passes);
        self.pass.get_or_insert_with(|| {
            let label = stream.label();
            let timestamp_writes = stamps.map(|stamps| wgpu::ComputePassTimestampWrites {
                query_set: &stamps.set,
                beginning_of_pass_write_index: Some(first - 2),
                end_of_pass_write_index: Some(first - 1),
            });
            let description = wgpu::ComputePassDescriptor { label: Some(&label), timestamp_writes };
            encoder.begin_compute_pass(&description).forget_lifetime()
        })
    }

    /// A place for parameters that do not fit immediates; they are written when the commands are submitted.
    fn slot(&mut self, gpu: &'static Gpu, words: &[u8]) -> Result<u64> {
        let size = words.len().next_multiple_of(SLOT);
        if self.slots.len() + size > SLOT * SLOTS {
            self.flush(gpu);
        }
        if self.params.is_none() {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            self.params = Some(small_buffer(gpu, "parameters", (SLOT * SLOTS) as u64, usage)?);
        }
        let start = self.slots.len();
        self.slots.extend_from_slice(words);
        self.slots.resize(start + size, 0);
        Ok(start as u64)
    }

    /// Submits what was recorded. A failure is kept for the end of the batch.
    pub fn flush(&mut self, gpu: &'static Gpu) {
        self.pass = None;
        let checks = std::mem::take(&mut self.checks);
        if let Some(mut encoder) = self.encoder.take() {
            if let (false, Some(params)) = (self.slots.is_empty(), &self.params) {
                gpu.queue.write_buffer(params, 0, &self.slots);
            }
            let staging = match self.read_flags(gpu, &mut encoder, checks.len()) {
                Ok(staging) => staging,
                Err(error) => {
                    self.failed = Some(error);
                    None
                }
            };
            let stamps = self.stamps.take();
            let passes = std::mem::take(&mut self.passes);
            if let Some(stamps) = &stamps {
                stamps.resolve(&mut encoder, passes);
            }
            let (timed, submitted) = (Timed::new(stamps, passes), Instant::now());
            match gpu.submissions.submit(gpu, encoder) {
                Ok(number) => {
                    self.latest = number;
                    self.time(gpu, number, timed);
                    if let Some(staging) = staging {
                        gpu.submissions.when_finished(number, move || tell(gpu, &staging, &checks));
                    }
                }
                Err(error) => {
                    self.failed = Some(error);
                    checks.iter().for_each(|check| check.resolve(None));
                    if let Some((observer, launches)) = self.untimed.take() {
                        observer.timed(&launches, Times::until_now(submitted));
                    }
                }
            }
        }
        self.slots.clear();
        self.held.clear();
        (self.launches, self.bytes) = (0, 0);
    }

    /// Has the times of a submission told to the observer, or kept for [`Recorder::unwatch`].
    fn time(&mut self, gpu: &'static Gpu, number: u64, timed: Timed) {
        if let Some((observer, launches)) = self.untimed.take() {
            gpu.submissions.when_finished(number, move || {
                observer.timed(&launches, gpu.clock.read(gpu, timed).0);
            });
        } else if let Some(watched) = self.watched.as_mut().filter(|watched| watched.each) {
            watched.timed.push((number, timed));
        } else {
            gpu.submissions.when_finished(number, move || gpu.clock.release(timed));
        }
    }

    /// Whether an observed launch is being recorded.
    pub fn is_watched(&self) -> bool {
        self.watched.is_some()
    }

    /// The submission made last.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// Clears the flags before the commands of this submission and copies them out after.
    fn read_flags(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        count: usize,
    ) -> Result<Option<wgpu::Buffer>> {
        let Some(flags) = self.flags.as_ref().filter(|_| count > 0) else { return Ok(None) };
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = small_buffer(gpu, "flags to read", (FLAGS * 4) as u64, usage)?;
        gpu.queue.write_buffer(flags, 0, &[0xff; FLAGS * 4]);
        encoder.copy_buffer_to_buffer(flags, 0, &staging, 0, (FLAGS * 4) as u64);
        Ok(Some(staging))
    }

    /// Submits the rest of a batch; returns the submission that completes it.
    ///
    /// # Errors
    /// Why a submission of the batch failed.
    pub fn end_batch(&mut self, gpu: &'static Gpu) -> Result<u64> {
        self.flush(gpu);
        match self.failed.take() {
            Some(error) => Err(error),
            // A batch of nothing but views is complete when everything before it is.
            None => Ok(self.latest.max(gpu.submissions.latest())),
        }
    }
}

/// Submissions that are timed together.
pub(crate) struct TimedSubmissions(Vec<(u64, Timed)>);

impl TimedSubmissions {
    /// Waits for the GPU; from the begin of the first to the end of the last, if there was one, and when each of their
    /// passes began.
    pub fn wait(self, gpu: &'static Gpu) -> (Option<Times>, Vec<Instant>) {
        let mut starts = Vec::new();
        let times = self.0.into_iter().map(|(number, timed)| {
            gpu.submissions.wait(number);
            let (times, of_passes) = gpu.clock.read(gpu, timed);
            starts.extend(of_passes);
            times
        });
        let times = times.reduce(|first, last| Times {
            started: first.started.min(last.started),
            ended: first.ended.max(last.ended),
            by: last.by,
        });
        (times, starts)
    }
}

fn small_buffer(gpu: &Gpu, label: &str, size: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer> {
    let description = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    let made = gpu.guarded(|| gpu.device.create_buffer(&description));
    made.map_err(|error| Error::device("gpu", gpu.id, error))
}

/// Tells checks what their launches found.
fn tell(gpu: &'static Gpu, staging: &wgpu::Buffer, checks: &[Arc<Check>]) {
    let found = super::transfer::mapped(gpu, staging, |bytes| {
        let word =
            |i: usize| bytes.get(i * 4..i * 4 + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        (0..checks.len()).map(|i| word(i).filter(|&at| at != u32::MAX)).collect::<Vec<_>>()
    });
    // Without an answer the device was lost, which fails everything anyway.
    let found = found.unwrap_or_default();
    for (i, check) in checks.iter().enumerate() {
        check.resolve(found.get(i).copied().flatten());
    }
}

/// The wgpu buffer a piece of memory lies in, and where.
fn place(buffer: &Buffer) -> Result<(&wgpu::Buffer, u64)> {
    match buffer.place() {
        Some((Memory::Gpu(memory, _), offset)) => Ok((memory, offset)),
        _ => Err(Error::internal("gpu", format!("{buffer:?} is not in a GPU's memory"))),
    }
}

fn resource<'a>(bind: &Bind<'a>) -> Result<wgpu::BindingResource<'a>> {
    let (buffer, offset) = place(bind.buffer)?;
    let size = std::num::NonZeroU64::new(bind.bytes);
    Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: offset + bind.start, size }))
}

/// Whether two pieces lie in one wgpu buffer, which then must be writable in all bindings of a launch.
pub(crate) fn share_memory(a: &Buffer, b: &Buffer) -> bool {
    match (a.place(), b.place()) {
        (Some((Memory::Gpu(a, _), _)), Some((Memory::Gpu(b, _), _))) => a == b,
        _ => false,
    }
}
