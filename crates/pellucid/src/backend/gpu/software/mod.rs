//! Kernels of their own for software adapters.
//!
//! Such a processor reads storage invocation by invocation, waiting each time at a price that hardly depends on the size
//! of what is read; arithmetic is cheap beside that, and workgroup memory no faster than any other. So `pairs` reads
//! vectors of 64-bit pairs. Of uniform memory it reads what neighbours need at once, but a kernel sees no more than a
//! tile of that through one binding. So large arrays are gone over tile by tile; and since a launch costs as much as
//! reading a few of them, each has as many as pay.

pub(super) mod lanes;
pub(super) mod matmul_rows;
pub(super) mod matmul_tiles;
pub(super) mod pairs;
pub(super) mod reduce_tiles;
pub(super) mod tiles;
pub(super) mod transpose;

use super::record::Bind;
use super::wgsl::TILE_BYTES;
use crate::memory::Buffer;

/// Elements of four bytes that are read or written at once.
pub(super) const VECTOR: usize = 8;
/// Elements of four bytes in a tile.
const ELEMENTS: usize = TILE_BYTES / 4;

/// The tile with this number of an array that begins `offset` elements of four bytes after its buffer's start.
fn tile(buffer: &Buffer, offset: usize, number: usize) -> Bind<'_> {
    Bind { buffer, start: (offset * 4 + number * TILE_BYTES) as u64, bytes: TILE_BYTES as u64 }
}
