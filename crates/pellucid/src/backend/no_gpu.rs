//! What stands in for the GPU backend in a build without the feature `gpu`: the same names, and no device.

use std::sync::Arc;

use crate::array::{Dtype, Mirror};
use crate::device::{Device, DeviceInfo, DeviceType};
use crate::error::{Error, Result};
use crate::eval::Failure;
use crate::gpu::ValidationReport;
use crate::memory::Buffer;
use crate::op::{CustomKernel, Op};

/// Why there is no GPU, and how to get one.
pub(crate) const NONE: &str = "this build of Pellucid has no GPU backend; build it with the feature `gpu`, which is \
                               on by default, or use Device::cpu()";

/// A check of indices by a GPU: there is none.
#[derive(Debug)]
pub(crate) enum Check {}

/// What a value depends on.
pub(crate) type Checks = Arc<Vec<Arc<Check>>>;

impl Check {
    pub fn failure(&self) -> Option<Arc<Failure>> {
        match *self {}
    }
}

fn none<T>(index: usize) -> Result<T> {
    Err(Error::device("gpu", Device::new(DeviceType::Gpu, index), NONE))
}

pub(crate) fn count() -> usize {
    0
}

pub(crate) fn has_hardware() -> bool {
    false
}

pub(crate) fn metal_index() -> Option<usize> {
    None
}

pub(crate) fn info(index: usize) -> Result<DeviceInfo> {
    none(index)
}

pub(crate) fn destroy(index: usize) -> Result<()> {
    none(index)
}

pub(crate) fn sources(index: usize) -> Result<Vec<(String, Arc<str>)>> {
    none(index)
}

pub(crate) fn sources_to_show() -> Vec<(String, Arc<str>)> {
    Vec::new()
}

pub(crate) fn report() -> ValidationReport {
    ValidationReport::default()
}

/// Texts of kernels are for GPUs; here nothing compiles them.
pub(crate) fn check_text(_: &CustomKernel) -> Result<()> {
    Ok(())
}

pub(crate) fn can_fuse(_: usize, _: &Op, _: Dtype, _: Dtype) -> bool {
    false
}

pub(crate) fn most_inputs(_: usize) -> u32 {
    0
}

pub(crate) fn mirror(_: Option<&Mirror>, make: impl FnOnce() -> Result<Buffer>) -> Result<Buffer> {
    make()
}

pub(crate) fn download(_: &Buffer) -> Result<Buffer> {
    none(0)
}
