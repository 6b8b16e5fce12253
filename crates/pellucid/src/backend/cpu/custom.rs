//! Kernels of the user, on the host.

use super::{In, Out};
use crate::error::{Error, Result};
use crate::op::{CustomKernel, HostCall};

/// Runs the kernel's version for the host.
pub(super) fn run(spec: &CustomKernel, inputs: &[In], outs: &mut [Out]) -> Result<()> {
    if !inputs.iter().all(In::is_contiguous) {
        return Err(Error::argument("kernel", format!("inputs of kernel {:?} must be row-major", spec.name)));
    }
    let read = |x: &In| {
        // SAFETY: inputs are complete and row-major.
        unsafe { std::slice::from_raw_parts(x.ptr(), x.elements() * x.dtype.size()) }
    };
    let given = inputs.iter().map(|x| (read(x), x.dtype, x.shape)).collect();
    let write = |out: &mut Out| {
        // SAFETY: an output's memory, which nobody else has, is as long as its elements.
        unsafe { std::slice::from_raw_parts_mut(out.ptr(), out.elements() * out.dtype.size()) }
    };
    let mut outputs = Vec::with_capacity(outs.len());
    for ((_, shape), out) in spec.outputs.iter().zip(outs) {
        let bytes = write(out);
        bytes.fill(0);
        outputs.push((bytes, out.dtype, &shape[..]));
    }
    spec.host.run(&spec.name, &mut HostCall { inputs: given, outputs, grid: spec.grid })
}
