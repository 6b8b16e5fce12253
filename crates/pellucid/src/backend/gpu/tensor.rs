//! What a GPU kernel sees of its inputs and its output, and how a launch reaches them.

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::check::Check;
use super::device::Gpu;
use super::kernel::Kernel;
use super::pipeline::Pipeline;
pub(super) use super::record::share_memory;
use super::record::{Bind, Dispatch, Recorder};
use super::transfer;
use crate::array::Dtype;
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::memory::{Buffer, Request};
use crate::stream::Stream;

/// An input: elements at `offset + strides · index` of the buffer, in elements.
#[derive(Clone, Debug)]
pub(crate) struct In<'a> {
    pub buffer: &'a Buffer,
    pub dtype: Dtype,
    pub shape: &'a [usize],
    pub strides: &'a [isize],
    pub offset: usize,
}

/// The output: row-major from the buffer's start. It may be the memory of an elementwise input with the same layout.
#[derive(Clone, Debug)]
pub(crate) struct Out<'a> {
    pub buffer: &'a Buffer,
    pub dtype: Dtype,
    pub shape: &'a [usize],
}

impl In<'_> {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The first and the last element that is reached, counted from the buffer's start.
    pub fn reach(&self) -> (usize, usize) {
        reach(self.offset, self.shape, self.strides)
    }
}

impl Out<'_> {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The lowest and highest position of elements at `offset + strides · index`.
pub(super) fn reach(offset: usize, shape: &[usize], strides: &[isize]) -> (usize, usize) {
    let (mut low, mut high) = (offset as isize, offset as isize);
    for (&d, &s) in shape.iter().zip(strides) {
        let way = s * (d as isize - 1).max(0);
        low += way.min(0);
        high += way.max(0);
    }
    (low.max(0) as usize, high.max(0) as usize)
}

/// A part of an input's buffer to bind, and the position of the buffer's element 0 relative to it: what is bound
/// begins at a multiple of 256 bytes.
pub(crate) struct Window<'a> {
    pub bind: Bind<'a>,
    /// Elements before the window.
    pub skipped: usize,
}

/// The part of a buffer that holds elements `low` to `high`; `None` if no binding is that large.
pub(super) fn window<'a>(
    gpu: &Gpu,
    buffer: &'a Buffer,
    dtype: Dtype,
    low: usize,
    high: usize,
) -> Option<Window<'a>> {
    let size = dtype.size();
    let start = (low * size) as u64 / 256 * 256;
    let end = (((high + 1) * size) as u64).next_multiple_of(4).min(buffer.bytes() as u64);
    let bytes = end.checked_sub(start)?;
    if bytes > gpu.largest_binding() || bytes == 0 {
        return None;
    }
    Some(Window { bind: Bind { buffer, start, bytes }, skipped: start as usize / size })
}

/// Where and for whom kernels are launched.
pub(crate) struct Context {
    pub gpu: &'static Gpu,
    pub stream: Stream,
    pub recorder: Arc<Mutex<Recorder>>,
    pub site: CallSite,
    /// The array that is made.
    pub op: u64,
}

impl Context {
    /// Memory for intermediate results.
    pub fn scratch(&self, bytes: usize) -> Result<Buffer> {
        let stream = self.stream.index() as u32;
        let request = Request { function: "eval", bytes: bytes.max(4), stream, site: self.site };
        transfer::allocate(self.gpu, request, self.op)
    }

    /// A kernel, compiled if it is new.
    pub fn pipeline<K: Kernel>(&self, kernel: &K) -> Result<Arc<Pipeline>> {
        self.gpu.pipelines.get(self.gpu, kernel)
    }

    pub fn launch(
        &self,
        pipeline: &Pipeline,
        binds: &[Bind],
        params: &[u32],
        groups: [u32; 3],
    ) -> Result<()> {
        let dispatch = Dispatch { pipeline, binds, params, groups };
        self.recorder.lock().launch(self.gpu, self.stream, &dispatch)
    }

    /// Launches a kernel that reports bad indices; its flag's number is put into parameter 1.
    pub fn launch_checked(
        &self,
        pipeline: &Pipeline,
        binds: &[Bind],
        params: &mut [u32],
        groups: [u32; 3],
        check: Arc<Check>,
    ) -> Result<()> {
        let mut recorder = self.recorder.lock();
        params[1] = recorder.flag(self.gpu, check)?;
        recorder.launch(self.gpu, self.stream, &Dispatch { pipeline, binds, params, groups })
    }

    /// A window on all that an input reaches.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is too large, which was to be checked before.
    pub fn window<'a>(&self, x: &In<'a>) -> Result<Window<'a>> {
        let (low, high) = x.reach();
        window(self.gpu, x.buffer, x.dtype, low, high)
            .ok_or_else(|| Error::internal("gpu", format!("no binding reaches all of {x:?}")))
    }
}

/// Whether an input lies in the same memory object as the output.
pub(super) fn shares(inputs: &[In], out: &Buffer) -> bool {
    inputs.iter().any(|x| share_memory(x.buffer, out))
}

/// Axes of several inputs, with neighbours joined where all of them allow it. The last list is never empty.
pub(super) struct Axes {
    pub shape: SmallVec<[usize; 6]>,
    /// For each input the strides of these axes.
    pub strides: SmallVec<[SmallVec<[isize; 6]>; 4]>,
}

impl Axes {
    pub fn new(shape: &[usize], inputs: &[&[isize]]) -> Axes {
        let mut axes =
            Axes { shape: SmallVec::new(), strides: inputs.iter().map(|_| SmallVec::new()).collect() };
        for d in (0..shape.len()).filter(|&d| shape[d] != 1) {
            let joins = axes.shape.last().is_some()
                && axes.strides.iter().zip(inputs).all(|(have, strides)| {
                    have.last().is_some_and(|&last| last == strides[d] * shape[d] as isize)
                });
            if joins {
                if let Some(last) = axes.shape.last_mut() {
                    *last *= shape[d];
                }
                for (have, strides) in axes.strides.iter_mut().zip(inputs) {
                    if let Some(last) = have.last_mut() {
                        *last = strides[d];
                    }
                }
            } else {
                axes.shape.push(shape[d]);
                for (have, strides) in axes.strides.iter_mut().zip(inputs) {
                    have.push(strides[d]);
                }
            }
        }
        axes
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// Writes the position on each of `rank` axes of the element number `from` as `{name}0`, `{name}1`, …; sizes of all
/// but the first axis are the parameters from `sizes` on.
pub(super) fn positions(text: &mut String, name: &str, from: &str, rank: usize, sizes: usize) {
    use std::fmt::Write;
    let _ = writeln!(text, "    var {name}_ = {from};");
    for d in (1..rank).rev() {
        let size = sizes + d - 1;
        let _ =
            writeln!(text, "    let {name}{d} = {name}_ % p.p{size};\n    {name}_ = {name}_ / p.p{size};");
    }
    if rank > 0 {
        let _ = writeln!(text, "    let {name}0 = {name}_;");
    }
}

/// The sum of positions times the parameters from `strides` on, after a leading term. Wraps for negative strides.
pub(super) fn position_sum(first: &str, name: &str, rank: usize, strides: usize) -> String {
    let mut text = first.to_owned();
    for d in 0..rank {
        text.push_str(&format!(" + {name}{d} * p.p{}", strides + d));
    }
    text
}
