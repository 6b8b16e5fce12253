//! Kernels of their own for processors in software.
//!
//! Such a processor reads storage invocation by invocation, waiting each time at a price that hardly depends on the size
//! of what is read; arithmetic is cheap beside that, and workgroup memory no faster than any other. So `pairs` reads
//! vectors of 64-bit pairs. Of uniform memory it reads what neighbours need at once, but a kernel sees no more than a
//! window of that: the files named after it go over large arrays window by window.

pub(super) mod lanes;
pub(super) mod matmul_rows;
pub(super) mod matmul_windows;
pub(super) mod pairs;
pub(super) mod reduce_windows;
pub(super) mod softmax_rows;
pub(super) mod transpose;
pub(super) mod windows;

use super::wgsl::WINDOW;

/// Elements of four bytes that are read or written at once.
pub(super) const VECTOR: usize = 8;
/// Elements of four bytes in a window.
const ELEMENTS: usize = WINDOW / 4;
