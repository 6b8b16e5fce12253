//! Graphics processors: whether there are any, the kernels that ran on them, and kernels of your own.

mod kernel;
mod metal;
mod msl;

use std::sync::Arc;

use crate::backend;
use crate::backend::gpu;
use crate::device::{Device, DeviceType};
use crate::error::{Error, Result};

pub use crate::array::ShapeList;
pub use crate::op::{HostCall, HostVersion};
pub use kernel::Kernel;
pub use metal::{MetalKernel, MetalLaunch, Template};

/// True if there is a graphics processor, in hardware or in software.
///
/// ```
/// assert_eq!(pellucid::gpu::is_available(), pellucid::is_available(pellucid::Device::gpu()));
/// ```
pub fn is_available() -> bool {
    gpu::count() > 0
}

pub use crate::backend::{Fallback, FallbackReason};

/// What the comparison with the CPU has found so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ValidationReport {
    /// Whether launches are compared at all.
    pub enabled: bool,
    /// Launches that were compared.
    pub launches: u64,
    /// Launches that differ by more than their type's rounding explains.
    pub mismatches: u64,
    /// The first few of them.
    pub first: Vec<String>,
}

/// What `PELLUCID_VALIDATE=1` has found so far: with it, shaders are compiled with bounds checks, and every launch runs
/// on the CPU as well and is compared. Without it, nothing.
///
/// ```
/// assert_eq!(pellucid::gpu::validation_report().mismatches, 0);
/// ```
pub fn validation_report() -> ValidationReport {
    gpu::report()
}

/// What was meant for a GPU and ran on the CPU in this process, by reason; a capture marks each such launch as well.
///
/// ```
/// use pellucid::{Array, Device, gpu, ops, with_device};
/// # fn main() -> pellucid::Result<()> {
/// if gpu::is_available() {
///     with_device(Device::gpu(), || ops::sqrt(&Array::from([2.0f64])).eval())??;
///     let fallback = &gpu::fallbacks()[0];
///     assert_eq!((fallback.op, fallback.reason), ("sqrt", gpu::FallbackReason::Float64));
/// }
/// # Ok(())
/// # }
/// ```
pub fn fallbacks() -> Vec<Fallback> {
    backend::fallbacks()
}

/// A kernel as it was compiled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelSource {
    /// What it computes.
    pub name: String,
    /// The text.
    pub wgsl: Arc<str>,
}

/// All kernels that a device has compiled so far.
///
/// # Errors
/// [`Error::Device`] if there is no such device, or it was lost.
pub fn kernel_sources(device: Device) -> Result<Vec<KernelSource>> {
    let sources = gpu::sources(index(device)?)?;
    Ok(sources.into_iter().map(|(name, wgsl)| KernelSource { name, wgsl }).collect())
}

/// Gives a device up, as if it had been unplugged: everything on it fails from now on, everything else goes on. There
/// is no way back within the process.
///
/// # Errors
/// [`Error::Device`] if there is no such device, or it was lost before.
pub fn destroy(device: Device) -> Result<()> {
    gpu::destroy(index(device)?)
}

fn index(device: Device) -> Result<usize> {
    if device.device_type() != DeviceType::Gpu {
        return Err(Error::device("gpu", device, "is not a graphics processor"));
    }
    Ok(device.index())
}
