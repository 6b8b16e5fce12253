#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(all(feature = "gpu", feature = "capture")),
    allow(dead_code, unused_imports, reason = "a build with all features shows what nobody uses")
)]

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

#[doc(inline)]
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
#[doc(inline)]
pub use ops::{fft, linalg};
pub use roof::{Roof, roof};
pub use stream::{
    Stream, default_stream, new_stream, replace_scope, set_default_stream, streams, synchronize, with_device,
    with_stream,
};
