//! Elementwise kernels that read their inputs through tiles of uniform memory, as many as the device can bind; what is
//! left over is read from storage.

use std::fmt::Write;

use smallvec::SmallVec;

use super::pairs::{self, Read};
use super::{ELEMENTS, VECTOR, declare_tile, has_tiles, most_tiles, tile};
use crate::array::Dtype;
use crate::backend::gpu::device::Gpu;
use crate::backend::gpu::elementwise::{Access, Arrays, Operands, Steps, Work, too_large};
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::tensor::{Context, Out, position_sum, positions, shares, window};
use crate::backend::gpu::wgsl::{self, GROUP, Text};
use crate::error::Result;

/// Tiles that pay for a launch.
const LEAST: usize = 8;
/// Operations per element, over all tiles: the kernel's text has them all, and takes long to compile.
const MOST_WORK: usize = 40;

/// How a kernel reads its inputs: row-major ones through tiles, others as vectors of storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tiles {
    /// Tiles of each input that has some.
    count: usize,
    reads: SmallVec<[Read; 4]>,
}

impl Tiles {
    /// As many as the device can bind and the arrays fill; `None` if they would not pay.
    pub fn of(gpu: &Gpu, work: &Work) -> Option<Tiles> {
        let Arrays { layout, inputs, out } = work.arrays;
        // A launch may not read as uniform memory, or only read, what it writes.
        if !has_tiles(gpu) || out.dtype.size() != 4 || shares(inputs, out.buffer) {
            return None;
        }
        let reads = Read::all(inputs, layout, VECTOR)?;
        let flat = reads.iter().filter(|&&read| read == Read::Flat).count();
        // Bindings begin at multiples of 256 bytes.
        let aligned = |i: usize| reads[i] != Read::Flat || inputs[i].offset.is_multiple_of(64);
        if flat == 0 || !(0..inputs.len()).all(aligned) {
            return None;
        }
        let work = work.program.instrs.iter().map(|i| i.func.flops() as usize).sum::<usize>().max(1);
        let bound = most_tiles(gpu) / flat;
        let count = bound.min(MOST_WORK / work).min(out.elements() / ELEMENTS);
        (count * flat >= LEAST).then_some(Tiles { count, reads })
    }

    /// How many of the first elements of `out` whole launches make.
    pub fn elements(&self, out: &Out) -> usize {
        let each = self.count * ELEMENTS;
        out.elements() / each * each
    }

    /// Runs a program over those elements.
    pub fn run(self, context: &Context, work: &Work) -> Result<()> {
        let Arrays { layout, inputs, out } = work.arrays;
        let operands = Operands::new(layout, work.program.inputs.iter().copied(), out.dtype, false);
        let kernel = OfTiles { steps: Steps::of(work.program), operands, tiles: self };
        let pipeline = context.pipeline(&kernel)?;
        let Tiles { count, reads } = kernel.tiles;
        let each = count * ELEMENTS;
        let groups = (ELEMENTS / VECTOR) as u32 / GROUP;
        for first in (0..out.elements() - each + 1).step_by(each) {
            let mut params: SmallVec<[u32; 32]> = SmallVec::new();
            let mut binds: SmallVec<[Bind; 16]> = SmallVec::new();
            let target = window(context.gpu, out.buffer, out.dtype, first, first + each - 1);
            binds.push(target.ok_or_else(too_large)?.bind);
            params.push(first as u32);
            if layout.is_strided() {
                params.extend(layout.axes.shape.iter().skip(1).map(|&d| d as u32));
            }
            for (i, x) in inputs.iter().enumerate() {
                if reads[i] == Read::Flat {
                    binds.extend((0..count).map(|n| tile(x.buffer, x.offset + first, n)));
                    continue;
                }
                let part = context.window(x)?;
                binds.push(part.bind);
                params.push((x.offset - part.skipped) as u32);
                if layout.access[i] == Access::Strided {
                    params.extend(layout.axes.strides[i].iter().map(|&s| s as i32 as u32));
                }
            }
            params.extend_from_slice(&work.constants);
            context.launch(&pipeline, &binds, &params, [groups, 1, 1])?;
        }
        Ok(())
    }
}

/// A program over tiles. Parameters: first element, sizes of axes; offset and strides of inputs that are not in tiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfTiles {
    steps: Steps,
    operands: Operands,
    tiles: Tiles,
}

impl Kernel for OfTiles {
    fn label(&self) -> String {
        self.steps.label()
    }

    fn text(&self) -> Text {
        let (&Operands { ref inputs, out, rank, .. }, count) = (&self.operands, self.tiles.count);
        let mut text = Text::new(false);
        text.output_of("vec4<u64>");
        let first = text.take(1);
        let mut loads = String::new();
        if self.operands.is_strided() {
            let sizes = text.take(rank - 1);
            for i in 0..count {
                let from = format!("p.p{first} + {}u + w * {VECTOR}u", i * ELEMENTS);
                positions(&mut loads, &format!("c{i}_"), &from, rank, sizes);
            }
        }
        // The arguments of the program for each element of each tile.
        let mut arguments = vec![Vec::new(); count * VECTOR];
        for (&(dtype, access), &read) in inputs.iter().zip(&self.tiles.reads) {
            match read {
                Read::Flat => load_tiles(&mut text, &mut loads, dtype, &mut arguments),
                read => {
                    let rank = if access == Access::Strided { rank } else { 0 };
                    load_storage(&mut text, &mut loads, dtype, read, rank, &mut arguments);
                }
            }
        }
        let function = pairs::function(&self.steps, &self.operands, &mut text);
        let mut stores = String::new();
        for (i, elements) in arguments.chunks(VECTOR).enumerate() {
            let (at, values) = (i * ELEMENTS / VECTOR, pairs::packed(out, elements));
            let _ = writeln!(stores, "    out[{at}u + w] = vec4<u64>({values});");
        }
        let _ = write!(
            text.body,
            "{function}@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = wg.x * {GROUP}u + li;
{loads}{stores}}}
"
        );
        text
    }
}

/// Reads a vector of each tile of an input.
fn load_tiles(text: &mut Text, loads: &mut String, dtype: Dtype, arguments: &mut [Vec<String>]) {
    for elements in arguments.chunks_mut(VECTOR) {
        let n = text.inputs;
        declare_tile(text, "vec4<u32>", 16);
        let _ = writeln!(loads, "    let x{n} = in{n}[2u * w];\n    let y{n} = in{n}[2u * w + 1u];");
        for (i, arguments) in elements.iter_mut().enumerate() {
            let half = if i < 4 { "x" } else { "y" };
            arguments.push(wgsl::decoded(dtype, &format!("{half}{n}[{}]", i % 4)));
        }
    }
}

/// Reads from storage what the vectors of all tiles need of an input with so many strides.
fn load_storage(
    text: &mut Text,
    loads: &mut String,
    dtype: Dtype,
    read: Read,
    rank: usize,
    arguments: &mut [Vec<String>],
) {
    let n = text.inputs;
    if read == Read::Run {
        text.input_of("vec4<u64>");
    } else {
        text.input(dtype);
    }
    let (offset, strides) = (format!("p.p{}", text.take(1)), text.take(rank));
    for (tile, elements) in arguments.chunks_mut(VECTOR).enumerate() {
        let at = position_sum(&offset, &format!("c{tile}_"), rank, strides);
        let name = if read == Read::One { format!("q{n}") } else { format!("q{n}_{tile}") };
        let _ = match read {
            Read::Run => writeln!(loads, "    let {name} = in{n}[({at}) / {VECTOR}u];"),
            // One element serves all tiles.
            Read::One if tile > 0 => Ok(()),
            _ => writeln!(loads, "    let {name} = ld{n}({at});"),
        };
        for (i, arguments) in elements.iter_mut().enumerate() {
            arguments.push(match read {
                Read::Run => pairs::unpacked(dtype, &format!("{name}[{}]", i / 2), i),
                _ => name.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{has_tiles, lanes::lanes};
    use crate::backend::gpu;
    use crate::{Array, Device, Result, eval, is_available, ops, with_device};

    /// Tests compare results; this one looks whether the kernels that are compared are those they mean.
    #[test]
    fn large_arrays_go_through_tiles() -> Result<()> {
        if !is_available(Device::gpu()) {
            assert!(
                std::env::var_os("CI").is_none_or(|v| v != "true"),
                "no GPU; install mesa-vulkan-drivers"
            );
            return Ok(());
        }
        let gpu = gpu::gpu(0)?;
        if !has_tiles(gpu) {
            return Ok(());
        }
        with_device(Device::gpu(), || -> Result<()> {
            let x = Array::from_vec((0..1 << 18).map(|i| (i % 5) as f32).collect(), [512, 512]);
            let all = [
                ops::add(&x, &x),
                ops::matmul(&x, &x),
                ops::sum(&x, 0, false),
                ops::sum(&x, None, false),
                ops::contiguous(&ops::transpose(&x, None)),
            ];
            eval(&all)
        })??;
        let sources = gpu.pipelines.sources();
        let mut labels = vec!["add", "sum_tiles", "transpose"];
        if lanes(gpu, crate::default_stream(Device::gpu())?) == 8 {
            labels.push("matmul");
        }
        for label in labels {
            let found = sources.iter().any(|(name, text)| name == label && text.contains("var<uniform>"));
            assert!(found, "{label} is not among {:?}", sources.iter().map(|s| &s.0).collect::<Vec<_>>());
        }
        Ok(())
    }
}
