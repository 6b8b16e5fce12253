//! Pellucid: lazy arrays on any GPU and the CPU, in which nothing that runs is hidden.

pub mod array;
mod backend;
mod call_site;
pub mod capture;
mod device;
mod error;
mod eval;
mod fork;
pub mod gpu;
pub mod io;
pub mod memory;
pub mod metal;
mod observe;
pub mod fast {
    //! What models do all the time, computed in one go: normalisations, rotary positions, attention, cross entropy.

    pub use crate::ops::fast::{
        Mask, Rope, cross_entropy, gated_delta_update, layer_norm, rms_norm, rope,
        scaled_dot_product_attention,
    };
}
pub mod op;
pub mod ops;
pub mod prelude;
pub mod random;
mod region;
mod roof;
mod stream;
pub mod transform;
mod variable;

pub use array::{
    Array, ArrayList, Axes, Axis, Dtype, DtypeCategory, Element, Integer, Shape, Sizes, ones, strict, zeros,
};
pub use call_site::{CallSite, with_call_site};
pub use device::{
    Device, DeviceInfo, DeviceType, default_device, device_count, device_info, is_available,
    set_default_device,
};
pub use error::{Error, Result};
pub use eval::{AsArray, async_eval, depends, eval, export_to_dot, fusion, set_fusion, with_interrupts};
pub use ops::{fft, linalg};
pub use roof::{Roof, roof};
pub use stream::{
    Stream, default_stream, new_stream, replace_scope, set_default_stream, streams, synchronize, with_device,
    with_stream,
};

/// The examples of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples for users of MLX, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mlx-users.md")]
struct MlxUsers;

/// The examples for users of debuggers, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/metal-debugger.md")]
struct MetalDebugger;

/// The examples of the page on GPUs, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gpu.md")]
struct Gpus;

/// The examples of the page on transforms, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/transforms.md")]
struct Transforms;
