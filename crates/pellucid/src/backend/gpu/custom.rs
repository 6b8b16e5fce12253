//! Kernels of the user.

use smallvec::SmallVec;

use super::device::Gpu;
use super::fill;
use super::pipeline::Custom;
use super::record::{Bind, share_memory};
use super::tensor::{Context, In, Out};
use crate::array::Dtype;
use crate::backend::FallbackReason;
use crate::backend::cpu::is_row_major;
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::op::{CustomKernel, Scalar};

/// Bytes that stand for an array without elements: one element of the largest type.
const NONE_BYTES: usize = 16;

/// Whether this device has all types of a kernel, and room for its arrays; or why not.
pub(super) fn supports(gpu: &Gpu, spec: &CustomKernel) -> Result<(), FallbackReason> {
    let types = spec.inputs.iter().map(|p| p.dtype).chain(spec.outputs.iter().map(|(p, _)| p.dtype));
    for dtype in types {
        match dtype {
            Dtype::Float16 if !gpu.has(wgpu::Features::SHADER_F16) => return Err(FallbackReason::NoFloat16),
            Dtype::Int64 | Dtype::Uint64 if !gpu.has(wgpu::Features::SHADER_INT64) => {
                return Err(FallbackReason::NoInt64);
            }
            _ => {}
        }
    }
    if spec.inputs.len() + spec.outputs.len() > gpu.limits.max_storage_buffers_per_shader_stage as usize {
        return Err(FallbackReason::TooManyInputs);
    }
    Ok(())
}

/// Clears the outputs and launches the kernel.
pub(super) fn run(context: &Context, spec: &CustomKernel, inputs: &[In], outs: &[Out]) -> Result<()> {
    if !inputs.iter().all(|x| is_row_major(x.shape, x.strides)) {
        return Err(Error::argument("kernel", format!("inputs of kernel {:?} must be row-major", spec.name)));
    }
    if outs.iter().all(|out| out.elements() == 0) {
        // It could write nothing that anybody sees.
        return Ok(());
    }
    for out in outs.iter().filter(|out| out.elements() > 0) {
        fill::full(context, Scalar::Int(0), out)?;
    }
    // A GPU binds no empty array: a few bytes that nobody reads stand for one, for each its own.
    let empty =
        inputs.iter().map(In::elements).chain(outs.iter().map(Out::elements)).filter(|&n| n == 0).count();
    let stand_ins = (0..empty).map(|_| context.scratch(NONE_BYTES)).collect::<Result<Vec<Buffer>>>()?;
    let mut free = stand_ins.iter();
    let mut stand_in = || free.next().map(|buffer| Bind { buffer, start: 0, bytes: NONE_BYTES as u64 });
    let mut binds: SmallVec<[Bind; 8]> = SmallVec::new();
    for out in outs {
        let bytes = ((out.elements() * out.dtype.size()) as u64).next_multiple_of(4);
        binds.extend(if bytes == 0 {
            stand_in()
        } else {
            Some(Bind { buffer: out.buffer, start: 0, bytes })
        });
    }
    for x in inputs {
        binds.extend(if x.elements() == 0 { stand_in() } else { Some(context.window(x)?.bind) });
    }
    let (written, read) = binds.split_at(outs.len());
    let shared = read.iter().any(|x| written.iter().any(|out| share_memory(x.buffer, out.buffer)));
    let shapes: Vec<&[usize]> = inputs.iter().map(|x| x.shape).collect();
    let (text, _) = spec.wgsl(shared, &shapes);
    let kernel = Custom {
        label: spec.name.clone(),
        text,
        msl: spec.msl.clone().map(|msl| (msl, spec.workgroup)),
        outputs: spec.outputs.len() as u32,
        inputs: spec.inputs.len() as u32,
        shared,
    };
    let pipeline = context.gpu.pipelines.get_custom(context.gpu, kernel)?;
    let groups = spec.groups();
    if groups.contains(&0) {
        return Ok(());
    }
    context.launch(&pipeline, &binds, &[], groups)
}
