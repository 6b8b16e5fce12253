//! The CPU backend: one file or folder per family of operations.
//!
//! Kernels take [`In`]s with any strides and write one row-major [`Out`]; they know nothing of graphs and streams.

mod accumulator;
pub(crate) mod arg_reduce;
mod exp;
mod layout;
pub(crate) mod parallel;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod simd;
pub(crate) mod softmax;
pub(crate) mod sort;
mod tensor;
#[cfg(test)]
mod testing;

pub(crate) use tensor::{In, Out, is_row_major};
