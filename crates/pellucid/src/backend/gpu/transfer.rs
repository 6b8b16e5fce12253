//! Memory of GPUs, and copies between it and the host's.

use std::sync::Arc;
use std::time::Duration;

use super::device::{Gpu, gpu};
use super::record;
use super::software;
use crate::array::Mirror;
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::memory::{self, Buffer, Demand, Memory, Provider, Request};

/// Where the memory of one GPU comes from.
struct GpuMemory(usize);

impl Provider for GpuMemory {
    fn allocate(&self, bytes: usize) -> Result<Memory, String> {
        let gpu = gpu(self.0).map_err(|error| error.to_string())?;
        let mut usage =
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        usage.set(wgpu::BufferUsages::UNIFORM, software::has_tiles(gpu));
        let buffer = gpu.guarded(|| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("array"),
                size: bytes as u64,
                usage,
                mapped_at_creation: false,
            })
        })?;
        Ok(Memory::Gpu(buffer, self.0))
    }

    /// Bindings begin at multiples of 256 bytes on every device.
    fn slot_sizes(&self) -> &'static [usize] {
        &[256, 512, 1024, 2048, 4096]
    }

    fn largest(&self) -> u64 {
        gpu(self.0).map_or(0, |gpu| gpu.limits.max_buffer_size / 16384 * 16384)
    }

    fn budget(&self) -> u64 {
        gpu(self.0).map_or(0, |gpu| gpu.info.memory_size / 10 * 8)
    }
}

/// Makes the memory of a GPU known to the allocator; more than once is harmless.
pub(super) fn register(gpu: &Gpu) {
    memory::register(gpu.id, Arc::new(GpuMemory(gpu.id.index())));
}

/// Memory of a GPU.
pub(crate) fn allocate(gpu: &Gpu, request: Request, op: u64) -> Result<Buffer> {
    // Kernels write whole words.
    let bytes = request.bytes.next_multiple_of(4);
    Buffer::allocate(Demand { request: Request { bytes, ..request }, device: gpu.id, op })
}

/// The copy in `cell`, made and kept there if there is none; without a cell just made.
pub(crate) fn mirror(cell: Option<&Mirror>, make: impl FnOnce() -> Result<Buffer>) -> Result<Buffer> {
    let Some(cell) = cell else { return make() };
    if let Some(copy) = cell.get() {
        return Ok(copy.clone());
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made).clone())
}

/// A copy of host memory on a GPU; commands recorded later see it.
#[track_caller]
pub(crate) fn upload(from: &Buffer, index: usize) -> Result<Buffer> {
    let gpu = gpu(index)?;
    let request = Request { function: "upload", bytes: from.bytes(), stream: 0, site: CallSite::here() };
    let to = allocate(gpu, request, 0)?;
    if let Some((Memory::Gpu(memory, _), offset)) = to.place() {
        // SAFETY: an evaluated buffer, which nobody writes while it has a handle besides its array's.
        let bytes = unsafe { std::slice::from_raw_parts(from.ptr().cast_const(), from.bytes() / 4 * 4) };
        gpu.guarded(|| gpu.queue.write_buffer(memory, offset, bytes))
            .map_err(|error| Error::device("upload", gpu.id, error))?;
    }
    Ok(to)
}

/// A copy of a GPU's memory on the host. Waits for the commands that write it.
#[track_caller]
pub(crate) fn download(from: &Buffer) -> Result<Buffer> {
    let Some((Memory::Gpu(memory, index), offset)) = from.place() else {
        return Err(Error::internal("download", format!("{from:?} is not in a GPU's memory")));
    };
    let gpu = gpu(*index)?;
    record::flush_users(gpu, from)?;
    let bytes = from.bytes() as u64 / 4 * 4;
    let request = Request { function: "download", bytes: from.bytes(), stream: 0, site: CallSite::here() };
    let to = Buffer::allocate(request)?;
    let fail = |error: String| Error::device("download", gpu.id, error);
    let staging = gpu.guarded(|| {
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("download"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    });
    let staging = staging.map_err(fail)?;
    let mut encoder =
        gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("download") });
    encoder.copy_buffer_to_buffer(memory, offset, &staging, 0, bytes);
    let number = gpu.submissions.submit(gpu, encoder)?;
    gpu.submissions.wait(number);
    // SAFETY: a new buffer of at least this size that nobody else has.
    mapped(gpu, &staging, |view| unsafe {
        std::ptr::copy_nonoverlapping(view.as_ptr(), to.ptr(), view.len())
    })?;
    Ok(to)
}

/// Reads a buffer that the GPU has written or is writing.
///
/// # Errors
/// [`Error::Device`] if it cannot be mapped or the device was lost.
pub(super) fn mapped<R>(gpu: &Gpu, staging: &wgpu::Buffer, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
    let fail = |error: String| Error::device("download", gpu.id, error);
    let (sender, receiver) = std::sync::mpsc::channel();
    staging.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver waits below unless the device was lost.
        let _ = sender.send(result);
    });
    loop {
        // The callback comes from whichever thread polls.
        let _ = gpu.device.poll(wgpu::PollType::Poll);
        match receiver.recv_timeout(Duration::from_millis(1)) {
            Ok(result) => {
                result.map_err(|error| fail(error.to_string()))?;
                break;
            }
            Err(_) => gpu.check()?,
        }
    }
    let view = staging.slice(..).get_mapped_range().map_err(|error| fail(error.to_string()))?;
    let result = read(&view);
    drop(view);
    staging.unmap();
    Ok(result)
}
