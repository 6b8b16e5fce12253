//! The CPU backend: one file or folder per family of operations.
//!
//! Kernels take [`In`]s with any strides and write one row-major [`Out`]; they know nothing of graphs and streams.

mod assemble;
mod index;
mod matmul;
pub(crate) mod parallel;
mod random;
mod strided;
mod tensor;

pub(crate) use tensor::{In, Out, is_row_major};
