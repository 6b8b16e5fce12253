//! The GPU backend: WGSL kernels through wgpu, on Metal, Vulkan and DirectX 12.
//!
//! `device` finds and opens graphics processors, `transfer` moves memory, `record` collects launches of a stream and
//! `submit` follows them to their end. `wgsl` writes text, `kernel` tells kernels apart, `pipeline` compiles them; the other files are one family of
//! operations each. `dispatch` decides what runs here; everything else runs on the CPU and is marked so.

mod adapter_memory;
mod arg_reduce;
mod assemble;
mod check;
mod clock;
mod conv;
mod custom;
mod device;
mod dispatch;
mod elementwise;
mod fft;
mod fill;
mod formula;
mod fused;
mod index;
mod kernel;
mod matmul;
mod pieces;
mod pipeline;
mod put;
mod quantized;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod quiet;
mod random;
mod record;
mod reduce;
mod scan;
mod search;
mod softmax;
mod software;
mod sort;
mod submit;
mod tensor;
mod text;
mod transfer;
mod validate;
mod wgsl;

pub(crate) use check::{Check, Checks, gathered};
pub(crate) use device::{
    NONE, count, destroy, gpu, has_hardware, info, metal_index, sources, sources_to_show,
};
pub(crate) use dispatch::{Launch, can_fuse, copies, copy, most_inputs, resolve};
pub(crate) use pipeline::validating;
pub(crate) use record::recorder;
pub(crate) use tensor::{Context, In, Out};
pub(crate) use text::check as check_text;
pub(crate) use transfer::{allocate, download, mirror, upload};
pub(crate) use validate::{compare, report};
