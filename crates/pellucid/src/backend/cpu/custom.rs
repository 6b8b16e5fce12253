//! Kernels of the user, on the host.

use super::{In, Out};
use crate::error::{Error, Result};
use crate::gpu::{HostCall, run_on_host};
use crate::op::CustomKernel;

/// Runs the kernel's version for the host.
pub(super) fn run(spec: &CustomKernel, inputs: &[In], out: &mut Out) -> Result<()> {
    if !inputs.iter().all(In::is_contiguous) {
        return Err(Error::argument("kernel", format!("inputs of kernel {:?} must be row-major", spec.name)));
    }
    let bytes = out.elements() * out.dtype.size();
    // SAFETY: the output's memory, which nobody else has, is as long as its elements.
    let mut rest = unsafe { std::slice::from_raw_parts_mut(out.ptr(), bytes) };
    rest.fill(0);
    let read = |x: &In| {
        // SAFETY: inputs are complete and row-major.
        unsafe { std::slice::from_raw_parts(x.ptr(), x.elements() * x.dtype.size()) }
    };
    let given = inputs.iter().map(|x| (read(x), x.dtype, x.shape)).collect();
    let mut outputs = Vec::with_capacity(spec.outputs.len());
    let mut taken = 0;
    for ((port, shape), (start, bytes)) in spec.outputs.iter().zip(spec.places()) {
        let (part, after) = rest.split_at_mut(start - taken).1.split_at_mut(bytes);
        taken = start + bytes;
        rest = after;
        outputs.push((part, port.dtype, &shape[..]));
    }
    run_on_host(spec, &mut HostCall { inputs: given, outputs, grid: spec.grid })
}
