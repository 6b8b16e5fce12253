//! The CPU backend: one file or folder per family of operations.
//!
//! Kernels take [`In`]s with any strides and write one row-major [`Out`]; they know nothing of graphs and streams.

pub(crate) mod copy;
pub(crate) mod elementwise;
pub(crate) mod fill;
pub(crate) mod parallel;
mod tensor;

pub(crate) use tensor::{In, Out, is_row_major};
