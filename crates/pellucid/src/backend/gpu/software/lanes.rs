//! How many invocations a software adapter runs side by side, which its driver does not tell.

use crate::array::Dtype;
use crate::backend::gpu::device::Gpu;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::record::{Bind, Dispatch, Recorder};
use crate::backend::gpu::transfer;
use crate::backend::gpu::wgsl::Text;
use crate::error::Result;
use crate::stream::Stream;
use crate::{call_site::CallSite, memory::Request};

/// The size of a subgroup, asked for by a kernel until there is an answer; 0 without one.
#[track_caller]
pub(super) fn lanes(gpu: &'static Gpu, stream: Stream) -> u32 {
    if let Some(&known) = gpu.lanes.get() {
        return known;
    }
    let answer = if gpu.has(wgpu::Features::SUBGROUP) { ask(gpu, stream) } else { Ok(0) };
    match answer {
        Ok(size) => *gpu.lanes.get_or_init(|| size),
        // There may be room for the question later.
        Err(_) => 0,
    }
}

#[track_caller]
fn ask(gpu: &'static Gpu, stream: Stream) -> Result<u32> {
    let pipeline = gpu.pipelines.get(gpu, &Lanes)?;
    let request =
        Request { function: "gpu", bytes: 4, stream: stream.index() as u32, site: CallSite::here() };
    let answer = transfer::allocate(gpu, request, 0)?;
    let binds = [Bind { buffer: &answer, start: 0, bytes: 4 }];
    let mut recorder = Recorder::default();
    recorder.launch(
        gpu,
        stream,
        &Dispatch { pipeline: &pipeline, binds: &binds, params: &[], groups: [1, 1, 1] },
    )?;
    recorder.end_batch(gpu)?;
    let host = transfer::download(&answer)?;
    // SAFETY: four bytes of a buffer that nobody writes any more.
    Ok(unsafe { host.ptr().cast::<u32>().read_unaligned() })
}

/// Writes the size of a subgroup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lanes;

impl Kernel for Lanes {
    fn label(&self) -> String {
        "lanes".to_owned()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(false);
        text.output(Dtype::Uint32);
        text.body.push_str(
            "@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) li: u32, @builtin(subgroup_size) size: u32) {
    if (li == 0u) { out[0] = size; }
}
",
        );
        text
    }
}
