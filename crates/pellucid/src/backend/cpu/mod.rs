//! The CPU backend: one file or folder per family of operations.
//!
//! Kernels take [`In`]s with any strides and write one row-major [`Out`]; they know nothing of graphs and streams.

mod accumulator;
mod arg_reduce;
mod assemble;
mod attention;
mod bypass;
mod conv;
mod copy;
mod cross_entropy;
mod custom;
mod dispatch;
mod elementwise;
mod exp;
mod fft;
mod fill;
mod gated_delta;
mod index;
mod info;
mod layout;
mod linalg;
mod load;
mod matmul;
mod norm;
pub(crate) mod parallel;
mod quantized;
mod random;
mod real;
mod reduce;
mod rope;
mod scan;
mod search;
mod simd;
mod softmax;
mod sort;
mod strided;
mod tensor;
#[cfg(test)]
mod testing;

pub(crate) use copy::copy;
pub(crate) use dispatch::run;
pub(crate) use elementwise::{run as elementwise, run_reduced as elementwise_reduced};
pub(crate) use fill::{element_bits, second};
pub(crate) use info::info;
pub(crate) use random::threefry;
pub(crate) use reduce::takes_chain;
pub(crate) use tensor::{In, Out, is_row_major};
