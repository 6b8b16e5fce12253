//! The names of MLX's `metal` module, each one line onto the real thing. They work on every machine; only
//! [`is_available`] and [`device_info`] are about Metal itself.
//!
//! ```standalone_crate
//! use pellucid::{memory, metal};
//! let previous = metal::set_cache_limit(0);
//! assert_eq!(metal::get_cache_memory(), memory::get_cache_memory());
//! assert_eq!(metal::set_cache_limit(previous), 0);
//! ```

use crate::backend::gpu;
pub use crate::capture::MetalCapture;
use crate::device::{Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::{capture, memory};

/// True if there is a GPU that is reached through Metal.
///
/// ```
/// let apple = cfg!(target_vendor = "apple");
/// assert!(apple || !pellucid::metal::is_available());
/// ```
pub fn is_available() -> bool {
    gpu::metal_index().is_some()
}

/// What is known about the GPU that is reached through Metal.
///
/// ```
/// match pellucid::metal::device_info() {
///     Ok(info) => assert_eq!(info.backend, "metal"),
///     Err(error) => assert!(error.to_string().contains("Metal is not available")),
/// }
/// ```
///
/// # Errors
/// [`Error::Device`] if there is none; [`is_available`] tells beforehand.
pub fn device_info() -> Result<DeviceInfo> {
    if let Some(index) = gpu::metal_index() {
        return gpu::info(index);
    }
    let message = "Metal is not available here; device_info(default_device()) describes the device in use";
    Err(Error::device("metal::device_info", Device::gpu(), message))
}

/// [`memory::get_active_memory`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// assert_eq!(metal::get_active_memory(), memory::get_active_memory());
/// ```
pub fn get_active_memory() -> u64 {
    memory::get_active_memory()
}

/// [`memory::get_peak_memory`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// assert_eq!(metal::get_peak_memory(), memory::get_peak_memory());
/// ```
pub fn get_peak_memory() -> u64 {
    memory::get_peak_memory()
}

/// [`memory::reset_peak_memory`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::metal;
/// metal::reset_peak_memory();
/// assert_eq!(metal::get_peak_memory(), metal::get_active_memory());
/// ```
pub fn reset_peak_memory() {
    memory::reset_peak_memory();
}

/// [`memory::get_cache_memory`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// assert_eq!(metal::get_cache_memory(), memory::get_cache_memory());
/// ```
pub fn get_cache_memory() -> u64 {
    memory::get_cache_memory()
}

/// [`memory::get_memory_limit`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// assert_eq!(metal::get_memory_limit(), memory::get_memory_limit());
/// ```
pub fn get_memory_limit() -> u64 {
    memory::get_memory_limit()
}

/// [`memory::set_memory_limit`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// let previous = metal::set_memory_limit(1 << 30, true);
/// assert_eq!(memory::set_memory_limit(previous, false), 1 << 30);
/// ```
pub fn set_memory_limit(limit: u64, relaxed: bool) -> u64 {
    memory::set_memory_limit(limit, relaxed)
}

/// [`memory::set_cache_limit`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::{memory, metal};
/// let previous = metal::set_cache_limit(1 << 20);
/// assert_eq!(memory::set_cache_limit(previous), 1 << 20);
/// ```
pub fn set_cache_limit(limit: u64) -> u64 {
    memory::set_cache_limit(limit)
}

/// [`memory::clear_cache`] under MLX's older name.
///
/// ```standalone_crate
/// use pellucid::metal;
/// metal::clear_cache();
/// assert_eq!(metal::get_cache_memory(), 0);
/// ```
pub fn clear_cache() {
    memory::clear_cache();
}

/// Starts a capture of everything that runs, as [`capture::start`].
///
/// Where a GPU is reached through Metal, a path that ends in `.gputrace` gets Apple's own document, and this project's
/// file stands beside it as `NAME.pltrace`; an empty path sends Apple's capture to Xcode. Apple's needs
/// `MTL_CAPTURE_ENABLED=1` in the environment when the program starts. If it fails, this project's file is written all
/// the same; [`Summary::native`](capture::Summary::native) tells what came of it.
///
/// ```
/// use pellucid::{Array, metal, ops};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("mlx_trace.pltrace");
/// metal::start_capture(&path)?;
/// for _ in 0..10 {
///     ops::add(&Array::from([1.0f32]), 1.0).eval()?;
/// }
/// metal::stop_capture()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`capture::start`]: an empty (without Metal) or existing path, a folder that is missing or cannot be written to, a capture that
/// runs already.
pub fn start_capture(path: impl AsRef<std::path::Path>) -> Result<()> {
    capture::start_beside_native("metal::start_capture", path.as_ref())
}

/// Ends the capture, as [`capture::stop`].
///
/// # Errors
/// As [`capture::stop`].
pub fn stop_capture() -> Result<capture::Summary> {
    capture::stop()
}
