//! Pellucid: lazy arrays on any GPU and the CPU, in which nothing that runs is hidden.

pub mod array;
mod backend;
mod call_site;
mod device;
mod error;
pub mod op;

pub use array::{Axes, Dtype, DtypeCategory, Element, Shape};
pub use call_site::{CallSite, with_call_site};
pub use device::{Device, DeviceType};
pub use error::{Error, Result};
