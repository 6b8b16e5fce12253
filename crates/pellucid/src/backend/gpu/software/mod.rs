//! Kernels of their own for software adapters.
//!
//! Such a processor reads storage invocation by invocation, waiting each time at a price that hardly depends on the size
//! of what is read; arithmetic is cheap beside that, and workgroup memory no faster than any other. So `pairs` reads
//! vectors of 64-bit pairs. Of uniform memory it reads what neighbours need at once, but a kernel sees no more than a
//! tile of that through one binding. So large arrays are gone over tile by tile; and since a launch costs as much as
//! reading a few of them, each has as many as pay.
//!
//! Each family of operations asks here before it takes its ordinary kernel; no constant of these kernels is needed outside.

mod arg_reduce;
mod gather;
mod lanes;
mod matmul_rows;
mod matmul_tiles;
mod pairs;
mod random;
mod reduce;
mod reduce_tiles;
mod softmax;
mod tiles;
mod transpose;

pub(super) use arg_reduce::arg_reduce;
pub(super) use gather::gather;
pub(super) use matmul_rows::{deepest_product, matmul_block, matmul_rows};
pub(super) use matmul_tiles::run as matmul;
pub(super) use random::random_bits;
pub(super) use reduce::reduce;
pub(super) use softmax::{SoftmaxPairs, softmax_in_pairs};
pub(super) use transpose::{transpose, transposed_copy};

use pairs::Pairs;
use tiles::Tiles;

use super::device::Gpu;
use super::elementwise::Work;
use super::record::Bind;
use super::reduce::Source;
use super::tensor::Context;
use super::wgsl::Text;
use crate::error::Result;
use crate::memory::Buffer;

/// Elements of four bytes that are read or written at once.
const VECTOR: usize = 8;
/// Bytes of a tile: what a kernel sees of uniform memory through one binding.
const TILE_BYTES: usize = 65_536;
/// Elements of four bytes in a tile.
const ELEMENTS: usize = TILE_BYTES / 4;
/// Tiles that a launch can have on every device that has them, and at most: more would make its text long without
/// saving much.
const LEAST_TILES: usize = 8;
const MOST_TILES: usize = 15;
/// Invocations that llvmpipe runs at once. It pays for each time that more of a workgroup wait for one another.
const LANES: usize = 8;
/// Rounds after which llvmpipe ends loops.
const LONGEST_LOOP: usize = 65_535;

/// Whether kernels read and write vectors of 64-bit pairs.
fn has_vectors(gpu: &Gpu) -> bool {
    gpu.is_software() && gpu.has(wgpu::Features::SHADER_INT64)
}

/// Whether kernels read large arrays through tiles of uniform memory.
pub(super) fn has_tiles(gpu: &Gpu) -> bool {
    let large = gpu.limits.max_uniform_buffer_binding_size >= TILE_BYTES as u64;
    has_vectors(gpu) && large && gpu.limits.max_uniform_buffers_per_shader_stage as usize >= LEAST_TILES
}

/// Tiles of one launch.
fn most_tiles(gpu: &Gpu) -> usize {
    (gpu.limits.max_uniform_buffers_per_shader_stage as usize).min(MOST_TILES)
}

/// The tile with this number of an array that begins `offset` elements of four bytes after its buffer's start.
fn tile(buffer: &Buffer, offset: usize, number: usize) -> Bind<'_> {
    Bind { buffer, start: (offset * 4 + number * TILE_BYTES) as u64, bytes: TILE_BYTES as u64 }
}

/// Declares the next input as a tile: an array of a WGSL type of this many bytes.
fn declare_tile(text: &mut Text, stored: &str, bytes: usize) {
    text.uniform(stored, TILE_BYTES / bytes);
}

/// Whether the runs of a source are whole vectors.
fn reads_vectors(gpu: &Gpu, source: &Source) -> bool {
    has_vectors(gpu)
        && source.dtype.size() == 4
        && source.offset.is_multiple_of(VECTOR)
        && source.kept.iter().all(|a| a.1 % VECTOR as isize == 0)
        && matches!(source.reduced.as_slice(), [(size, 1)] if size.is_multiple_of(VECTOR))
}

/// Runs a program over arrays, large ones through tiles and what is left in pairs; `rest` runs it over all elements but
/// the first so many, where none of that can be.
pub(super) fn elementwise(
    context: &Context,
    work: &Work,
    rest: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    let tiles = Tiles::of(context.gpu, work);
    let done = tiles.as_ref().map_or(0, |tiles| tiles.elements(work.arrays.out));
    if done < work.arrays.out.elements() {
        match Pairs::of(context.gpu, &work.arrays) {
            Some(pairs) => pairs.run(context, work, done)?,
            None => rest(done)?,
        }
    }
    // Last, because a capture names an operation's kernel after the last launch.
    tiles.map_or(Ok(()), |tiles| tiles.run(context, work))
}

/// Elements of the segments that scans cut runs into, an invocation's each: no more invocations than keep the cores busy.
pub(super) fn scan_segment(gpu: &Gpu, runs: usize, length: usize) -> Option<usize> {
    const BUSY: usize = 1024;
    gpu.is_software().then(|| (runs * length / BUSY).clamp(64, 8192).min(length))
}
