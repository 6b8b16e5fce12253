//! Where operations run.

pub(crate) mod cpu;
mod fallback;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
pub(crate) mod gpu;

pub use fallback::{Fallback, FallbackReason};
pub(crate) use fallback::{fallbacks, note_fallback};
