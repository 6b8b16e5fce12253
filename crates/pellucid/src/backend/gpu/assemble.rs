//! Arrays put together from others: each element of the output finds the one it comes from.

use std::fmt::Write;

use smallvec::SmallVec;

use super::kernel::Kernel;
use super::pipeline::Pipeline;
use super::record::{Bind, folded};
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, GROUP, Text};
use crate::array::{Dtype, Shape, Strides};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::SliceSpec;

type Params = SmallVec<[u32; 48]>;

/// Launches a kernel that makes each word of the output on its own.
pub(super) fn launch(
    context: &Context,
    pipeline: &Pipeline,
    out: &Out,
    inputs: &[Bind],
    params: &[u32],
) -> Result<()> {
    launch_at(context, pipeline, out, 0, inputs, params)
}

/// As [`launch`], for an output that begins `start` bytes into its buffer, a multiple of 256.
fn launch_at(
    context: &Context,
    pipeline: &Pipeline,
    out: &Out,
    start: u64,
    inputs: &[Bind],
    params: &[u32],
) -> Result<()> {
    let words = (out.elements() as u64).div_ceil(u64::from(wgsl::per_word(out.dtype)));
    let bytes = (out.elements() * out.dtype.size()).next_multiple_of(4) as u64;
    let mut binds: SmallVec<[Bind; 8]> = SmallVec::new();
    binds.push(Bind { buffer: out.buffer, start, bytes });
    binds.extend_from_slice(inputs);
    context.launch(pipeline, &binds, params, folded(words.div_ceil(u64::from(GROUP))))
}

/// The sizes of all axes but the first, as `positions` takes them apart.
pub(super) fn inner_sizes(shape: &[usize]) -> impl Iterator<Item = u32> + '_ {
    shape.iter().skip(1).map(|&d| d as u32)
}

/// What the texts of all these kernels depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Target {
    dtype: Dtype,
    rank: usize,
    shared: bool,
}

impl Target {
    fn of(inputs: &[In], out: &Out) -> Target {
        Target { dtype: out.dtype, rank: out.shape.len(), shared: shares(inputs, out.buffer) }
    }

    /// The text and the body of its function, which knows the position of its element.
    fn start(self) -> (Text, String) {
        let mut text = Text::new(self.shared);
        text.output(self.dtype);
        text.take(1);
        let sizes = text.take(self.rank.saturating_sub(1));
        let mut body = String::new();
        positions(&mut body, "c", "i", self.rank, sizes);
        (text, body)
    }

    fn finish(self, mut text: Text, body: &str) -> Text {
        let _ = write!(text.body, "fn value(i: u32) -> {} {{\n{body}}}\n", wgsl::scalar(self.dtype));
        text.map_entry(self.dtype);
        text
    }
}

/// Joins arrays along an axis: as many as a kernel can read at once; more of them in groups, which are joined again.
pub(super) fn concatenate(context: &Context, inputs: &[In], axis: usize, out: &Out) -> Result<()> {
    concatenate_at(context, inputs, axis, out, 0)
}

/// As [`concatenate`], for an output that begins `start` bytes into its buffer, a multiple of 256.
pub(super) fn concatenate_at(
    context: &Context,
    inputs: &[In],
    axis: usize,
    out: &Out,
    start: u64,
) -> Result<()> {
    let inputs: SmallVec<[In; 8]> = inputs.iter().filter(|x| x.elements() > 0).cloned().collect();
    let most = context.gpu.limits.max_storage_buffers_per_shader_stage.clamp(4, 16) as usize - 2;
    if inputs.len() <= most {
        return join(context, &inputs, axis, out, start);
    }
    let mut groups: Vec<(Buffer, Shape)> = Vec::new();
    for group in inputs.chunks(inputs.len().div_ceil(most).max(2)) {
        let mut shape = group[0].shape.to_vec();
        shape[axis] = group.iter().map(|x| x.shape[axis]).sum();
        let shape = Shape::from(shape);
        let made = context.scratch(shape.elements() * out.dtype.size())?;
        concatenate(context, group, axis, &Out { buffer: &made, dtype: out.dtype, shape: &shape })?;
        groups.push((made, shape));
    }
    let strides: Vec<Strides> = groups.iter().map(|(_, shape)| shape.row_major()).collect();
    let views: SmallVec<[In; 8]> = groups
        .iter()
        .zip(&strides)
        .map(|((buffer, shape), strides)| In { buffer, dtype: out.dtype, shape, strides, offset: 0 })
        .collect();
    join(context, &views, axis, out, start)
}

/// So many arrays one behind the other. Parameters: elements, sizes; for each input its end, offset and strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Concatenate {
    target: Target,
    inputs: usize,
    axis: usize,
}

impl Kernel for Concatenate {
    fn label(&self) -> String {
        "concatenate".to_owned()
    }

    fn text(&self) -> Text {
        let &Concatenate { target, inputs, axis } = self;
        let (mut text, mut body) = target.start();
        let rank = target.rank;
        for n in 0..inputs {
            text.input(target.dtype);
            let (end, offset, strides) = (text.take(1), text.take(1), text.take(rank));
            let at = position_sum(&format!("p.p{offset}"), "c", rank, strides);
            if n + 1 < inputs {
                let _ = writeln!(body, "    if (c{axis} < p.p{end}) {{ return ld{n}({at}); }}");
            } else {
                let _ = writeln!(body, "    return ld{n}({at});");
            }
        }
        target.finish(text, &body)
    }
}

fn join(context: &Context, inputs: &[In], axis: usize, out: &Out, first_byte: u64) -> Result<()> {
    let kernel = Concatenate { target: Target::of(inputs, out), inputs: inputs.len(), axis };
    let pipeline = context.pipeline(&kernel)?;
    let mut params: Params = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(inner_sizes(out.shape));
    let mut binds: SmallVec<[Bind; 8]> = SmallVec::new();
    let mut end = 0;
    for x in inputs {
        let window = context.window(x)?;
        binds.push(window.bind);
        let first = (x.offset - window.skipped) as u32;
        // Positions count from the output's start: the offset takes back what lies before this input.
        let before = (end as u32).wrapping_mul(x.strides[axis] as i32 as u32);
        end += x.shape[axis];
        params.extend([end as u32, first.wrapping_sub(before)]);
        params.extend(x.strides.iter().map(|&s| s as i32 as u32));
    }
    launch_at(context, &pipeline, out, first_byte, &binds, &params)
}

/// An array inside, one element around it. Parameters: elements, sizes, offsets, strides, where it begins, its sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pad {
    target: Target,
}

impl Kernel for Pad {
    fn label(&self) -> String {
        "pad".to_owned()
    }

    fn text(&self) -> Text {
        let target = self.target;
        let (mut text, mut body) = target.start();
        let rank = target.rank;
        text.input(target.dtype);
        text.input(target.dtype);
        let (offset, value) = (text.take(1), text.take(1));
        let (strides, lows, sizes) = (text.take(rank), text.take(rank), text.take(rank));
        let inside: Vec<String> =
            (0..rank).map(|d| format!("c{d} - p.p{} < p.p{}", lows + d, sizes + d)).collect();
        let condition = if rank == 0 { "true".to_owned() } else { inside.join(" && ") };
        let at = position_sum(&format!("p.p{offset}"), "c", rank, strides);
        let _ = writeln!(body, "    if ({condition}) {{ return ld0({at}); }}\n    return ld1(p.p{value});");
        target.finish(text, &body)
    }
}

/// The first input inside, the second one's only element around it.
pub(super) fn pad(context: &Context, inputs: &[In], low: &[usize], out: &Out) -> Result<()> {
    let pipeline = context.pipeline(&Pad { target: Target::of(inputs, out) })?;
    let (x, value) = (&inputs[0], &inputs[1]);
    let (source, around) = (context.window(x)?, context.window(value)?);
    let mut params: Params = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(inner_sizes(out.shape));
    let moved = x
        .strides
        .iter()
        .zip(low)
        .fold(0u32, |sum, (&s, &l)| sum.wrapping_add((l as u32).wrapping_mul(s as i32 as u32)));
    params.push(((x.offset - source.skipped) as u32).wrapping_sub(moved));
    params.push((value.offset - around.skipped) as u32);
    params.extend(x.strides.iter().map(|&s| s as i32 as u32));
    params.extend(low.iter().map(|&l| l as u32));
    params.extend(x.shape.iter().map(|&d| d as u32));
    launch(context, &pipeline, out, &[source.bind, around.bind], &params)
}

/// An array with a part of another. Parameters: elements, sizes; offset and strides of both; for each axis the start, the
/// sign and size of the step, and the size of the part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SliceUpdate {
    target: Target,
}

impl Kernel for SliceUpdate {
    fn label(&self) -> String {
        "slice_update".to_owned()
    }

    fn text(&self) -> Text {
        let target = self.target;
        let (mut text, mut body) = target.start();
        let rank = target.rank;
        text.input(target.dtype);
        text.input(target.dtype);
        let (offset, strides) = (text.take(1), text.take(rank));
        let (from, ways) = (text.take(1), text.take(rank));
        let first = text.take(rank * 4);
        let (mut inside, mut at) = (vec!["true".to_owned()], format!("p.p{from}"));
        for d in 0..rank {
            let [start, sign, step, size] = [0, 1, 2, 3].map(|k| first + d * 4 + k);
            let _ = writeln!(
                body,
                "    let t{d} = (c{d} - p.p{start}) * p.p{sign};\n    let q{d} = t{d} / p.p{step};"
            );
            inside.push(format!("q{d} * p.p{step} == t{d} && q{d} < p.p{size}"));
            let _ = write!(at, " + q{d} * p.p{}", ways + d);
        }
        let else_at = position_sum(&format!("p.p{offset}"), "c", rank, strides);
        let _ = writeln!(
            body,
            "    if ({}) {{ return ld1({at}); }}\n    return ld0({else_at});",
            inside.join(" && ")
        );
        target.finish(text, &body)
    }
}

/// The first input with a rectangular part taken from the second.
pub(super) fn slice_update(context: &Context, inputs: &[In], spec: &SliceSpec, out: &Out) -> Result<()> {
    let pipeline = context.pipeline(&SliceUpdate { target: Target::of(inputs, out) })?;
    let (source, update) = (context.window(&inputs[0])?, context.window(&inputs[1])?);
    let mut params: Params = SmallVec::from_slice(&[out.elements() as u32]);
    params.extend(inner_sizes(out.shape));
    for (x, window) in inputs.iter().zip([&source, &update]) {
        params.push((x.offset - window.skipped) as u32);
        params.extend(x.strides.iter().map(|&s| s as i32 as u32));
    }
    for d in 0..out.shape.len() {
        let step = spec.step[d];
        params.push(spec.start[d] as u32);
        params.push(if step < 0 { u32::MAX } else { 1 });
        params.push(step.unsigned_abs().clamp(1, u32::MAX as usize) as u32);
        params.push(spec.size[d] as u32);
    }
    launch(context, &pipeline, out, &[source.bind, update.bind], &params)
}
