//! The CPU backend: one file or folder per family of operations.
//!
//! Kernels take [`In`]s with any strides and write one row-major [`Out`]; they know nothing of graphs and streams.

mod assemble;
mod dispatch;
mod index;
mod info;
mod matmul;
pub(crate) mod parallel;
mod random;
mod strided;
mod tensor;

pub(crate) use dispatch::run;
pub(crate) use info::info;
pub(crate) use random::threefry;
pub(crate) use tensor::{In, Out, is_row_major};

pub(crate) fn elementwise(_p: &crate::op::Program, _i: &[In], _o: &mut Out) -> crate::Result<()> {
    todo!()
}
pub(crate) fn copy(_i: &In, _o: &mut Out) {
    todo!()
}
