//! Elementwise kernels that read and write several 32-bit elements at once.
//!
//! A software adapter reads memory invocation by invocation, at a price that hardly depends on the size of what is
//! read: 64 bits at once halve it. Each time it waits for what it has put together to come back from its stack, and the
//! numbers of a vector share that wait.

use std::fmt::Write;

use smallvec::SmallVec;

use super::{VECTOR, has_vectors};
use crate::array::Dtype;
use crate::backend::gpu::device::Gpu;
use crate::backend::gpu::elementwise::{Access, Arrays, Layout, Operands, Part, Steps, WHOLE, Work, launch};
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::tensor::{Axes, Context, In, position_sum, positions, shares};
use crate::backend::gpu::wgsl::{self, GROUP, ROW, Text};
use crate::error::Result;

// Arrays are cut where whole workgroups end.
const _: () = assert!(WHOLE.is_multiple_of(VECTOR * GROUP as usize));

/// How a kernel reads what vectors of elements need of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Read {
    /// One element serves all vectors.
    One,
    /// The vectors of a row-major array, one after the other.
    Flat,
    /// Vectors that lie somewhere: rows of an array that is repeated, or cut out of another.
    Run,
    /// One element serves a vector.
    Repeat,
}

impl Read {
    /// How vectors of so many elements are read of an input; `None` if they do not lie side by side.
    pub fn of(x: &In, access: Access, axes: &Axes, strides: &[isize], elements: usize) -> Option<Read> {
        let aligned = x.dtype.size() == 4 && x.offset.is_multiple_of(elements);
        let (&last, before) = strides.split_last()?;
        match access {
            Access::One => Some(Read::One),
            Access::Flat => aligned.then_some(Read::Flat),
            Access::Strided if !axes.shape.last()?.is_multiple_of(elements) => None,
            Access::Strided if last == 0 => Some(Read::Repeat),
            Access::Strided => {
                let whole = before.iter().all(|s| s % elements as isize == 0);
                (aligned && last == 1 && whole).then_some(Read::Run)
            }
        }
    }

    /// How the vectors of all inputs are read; `None` if those of one cannot be.
    pub fn all(inputs: &[In], layout: &Layout, elements: usize) -> Option<SmallVec<[Read; 4]>> {
        let axes = &layout.axes;
        let of = |i: usize| Read::of(&inputs[i], layout.access[i], axes, &axes.strides[i], elements);
        (0..inputs.len()).map(of).collect()
    }
}

/// How a kernel goes over pairs of elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pairs {
    /// How many pairs an invocation has: one, or a vector of them.
    count: u32,
    /// Every invocation has its pairs, so that none has to look: where some may stop, all are slower.
    whole: bool,
    reads: SmallVec<[Read; 4]>,
}

impl Pairs {
    /// The longest vectors of pairs that all arrays are read and written in; `None` if there are none, or the device
    /// gains nothing.
    pub fn of(gpu: &Gpu, arrays: &Arrays) -> Option<Pairs> {
        let &Arrays { layout, inputs, out } = arrays;
        if !has_vectors(gpu) || out.dtype.size() != 4 {
            return None;
        }
        let n = out.elements();
        let fit = |count: usize| {
            let reads = Read::all(inputs, layout, 2 * count).filter(|_| n.is_multiple_of(2 * count))?;
            Some((count, reads))
        };
        let (count, reads) = [4, 2, 1].into_iter().find_map(fit)?;
        let group = 2 * count * GROUP as usize;
        let whole = n.is_multiple_of(group) && n / group <= ROW as usize;
        Some(Pairs { count: count as u32, whole, reads })
    }

    /// Runs a program over all elements but the first `done`.
    pub fn run(self, context: &Context, work: &Work, done: usize) -> Result<()> {
        let Arrays { layout, inputs, out } = work.arrays;
        let types = work.program.inputs.iter().copied();
        let operands = Operands::new(layout, types, out.dtype, shares(inputs, out.buffer));
        let part = Part { together: self.elements(), done };
        let kernel = OfPairs { steps: Steps::of(work.program), operands, pairs: self };
        let pipeline = context.pipeline(&kernel)?;
        launch(context, &pipeline, &work.arrays, &work.constants, part)
    }

    /// Elements that an invocation makes.
    fn elements(&self) -> u32 {
        2 * self.count
    }
}

/// A program over pairs; its parameters are those of the kernel that makes single elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OfPairs {
    steps: Steps,
    operands: Operands,
    pairs: Pairs,
}

impl Kernel for OfPairs {
    fn label(&self) -> String {
        self.steps.label()
    }

    fn text(&self) -> Text {
        let (count, elements) = (self.pairs.count, self.pairs.elements());
        let ty = if count == 1 { "u64".to_owned() } else { format!("vec{count}<u64>") };
        let &Operands { ref inputs, out, rank, shared } = &self.operands;
        let mut text = Text::new(shared);
        text.output_of(&ty);
        text.take(2);
        let mut loads = String::new();
        if self.operands.is_strided() {
            let sizes = text.take(rank - 1);
            positions(&mut loads, "c", &format!("w * {elements}u + p.p1"), rank, sizes);
        }
        let mut arguments = vec![Vec::new(); elements as usize];
        for (n, (&(dtype, access), &read)) in inputs.iter().zip(&self.pairs.reads).enumerate() {
            let vectors = matches!(read, Read::Flat | Read::Run);
            if vectors {
                text.input_of(&ty);
            } else {
                text.input(dtype);
            }
            let offset = text.take(1);
            let at = match access {
                Access::Strided => position_sum(&format!("p.p{offset}"), "c", rank, text.take(rank)),
                _ => format!("p.p{offset}"),
            };
            let _ = match read {
                Read::Flat => writeln!(loads, "    let q{n} = in{n}[{at} / {elements}u + w];"),
                Read::Run => writeln!(loads, "    let q{n} = in{n}[({at}) / {elements}u];"),
                Read::One | Read::Repeat => writeln!(loads, "    let q{n} = ld{n}({at});"),
            };
            for (i, arguments) in arguments.iter_mut().enumerate() {
                arguments.push(match (vectors, count) {
                    (true, 1) => unpacked(dtype, &format!("q{n}"), i),
                    (true, _) => unpacked(dtype, &format!("q{n}[{}]", i / 2), i),
                    (false, _) => format!("q{n}"),
                });
            }
        }
        let function = function(&self.steps, &self.operands, &mut text);
        let end = if self.pairs.whole {
            String::new()
        } else {
            format!("    if (w * {elements}u >= p.p0) {{ return; }}\n")
        };
        let _ = write!(
            text.body,
            "{function}@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
{end}{loads}    out[w] = {ty}({pairs});
}}
",
            pairs = packed(out, &arguments)
        );
        text
    }
}

/// Element `i` of a vector, of which `pair` is the pair it lies in.
pub(super) fn unpacked(dtype: Dtype, pair: &str, i: usize) -> String {
    let bits = if i.is_multiple_of(2) { format!("u32({pair})") } else { format!("u32({pair} >> 32u)") };
    wgsl::decoded(dtype, &bits)
}

/// A program as a function `value` of its inputs' elements.
pub(super) fn function(steps: &Steps, operands: &Operands, text: &mut Text) -> String {
    let name = |(n, x): (usize, &(Dtype, Access))| format!("x{n}: {}", wgsl::scalar(x.0));
    let names: Vec<String> = operands.inputs.iter().enumerate().map(name).collect();
    let body = steps.body(text);
    format!("fn value({}) -> {} {{\n{body}}}\n", names.join(", "), wgsl::scalar(operands.out))
}

/// The values of an even number of elements, given the function's arguments for each, as a list of pairs.
pub(super) fn packed(out: Dtype, arguments: &[Vec<String>]) -> String {
    let value = |arguments: &[String]| bits(out, &format!("value({})", arguments.join(", ")));
    let pairs: Vec<String> = arguments
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[low, high]| format!("pack_({}, {})", value(low), value(high)))
        .collect();
    pairs.join(", ")
}

/// The bits of a 32-bit value.
fn bits(dtype: Dtype, value: &str) -> String {
    if dtype == Dtype::Uint32 { value.to_owned() } else { format!("bitcast<u32>({value})") }
}
