//! Writing at positions that another array gives. Where several indices name one place the last value wins: a first
//! kernel finds the greatest number of an index for each place, a second one makes the output from them.

use std::fmt::Write;
use std::sync::Arc;

use smallvec::SmallVec;

use super::assemble::{self, inner_sizes};
use super::check::Check;
use super::fill;
use super::index::position;
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::Scalar;

type Params = SmallVec<[u32; 48]>;

/// `inputs[0]` with `inputs[2]` at the positions in `inputs[1]` along `axis`.
pub(super) fn put_along_axis(
    context: &Context,
    inputs: &[In],
    axis: usize,
    out: &Out,
    check: Arc<Check>,
) -> Result<()> {
    let winners = context.scratch(out.elements() * 4)?;
    let count = [out.elements()];
    fill::full(context, Scalar::Uint(0), &Out { buffer: &winners, dtype: Dtype::Uint32, shape: &count })?;
    find_winners(context, &inputs[1], axis, out, &winners, check)?;
    let bind = Bind { buffer: &winners, start: 0, bytes: (out.elements() * 4) as u64 };
    write(context, inputs, out, bind)
}

/// For each place the last index that names it. Parameters: indices, flag, size of the axis, offset, sizes, strides,
/// strides of the places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Winners {
    indices: Dtype,
    rank: usize,
    axis: usize,
    shared: bool,
}

impl Kernel for Winners {
    fn label(&self) -> String {
        "put_along_axis_find".to_owned()
    }

    fn text(&self) -> Text {
        let &Winners { indices, rank, axis, shared } = self;
        let mut text = Text::new(shared);
        text.flags = true;
        text.output_of("atomic<u32>");
        text.input(indices);
        // Indices, flag, size of the axis, offset.
        text.take(4);
        let (sizes, strides, places) = (text.take(rank.saturating_sub(1)), text.take(rank), text.take(rank));
        let mut body = String::new();
        positions(&mut body, "c", "i", rank, sizes);
        let from = position_sum("p.p3", "c", rank, strides);
        let to = (0..rank).filter(|&d| d != axis).fold(format!("at * p.p{}", places + axis), |sum, d| {
            sum + &format!(" + c{d} * p.p{}", places + d)
        });
        let _ = write!(
            text.body,
            "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let i = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (i >= p.p0) {{ return; }}
{body}    let v = ld0({from});
    {position}
    if (good) {{ atomicMax(&out[{to}], i + 1u); }} else {{ atomicMin(&flags[p.p1], i); }}
}}
",
            position = position(indices, "p.p2")
        );
        text
    }
}

/// For each element of the output the number of the last index that names it, counted from one.
fn find_winners(
    context: &Context,
    indices: &In,
    axis: usize,
    out: &Out,
    winners: &Buffer,
    check: Arc<Check>,
) -> Result<()> {
    let rank = out.shape.len();
    let shared = share_memory(indices.buffer, winners);
    let pipeline = context.pipeline(&Winners { indices: indices.dtype, rank, axis, shared })?;
    let window = context.window(indices)?;
    let count = indices.elements();
    let mut params: Params = SmallVec::from_slice(&[
        count as u32,
        0,
        out.shape[axis] as u32,
        (indices.offset - window.skipped) as u32,
    ]);
    params.extend(inner_sizes(indices.shape));
    params.extend(indices.strides.iter().map(|&s| s as i32 as u32));
    params.extend(Shape::from(out.shape).row_major().iter().map(|&s| s as u32));
    let binds = [Bind { buffer: winners, start: 0, bytes: (out.elements() * 4) as u64 }, window.bind];
    let groups = folded((count as u64).div_ceil(u64::from(GROUP)));
    context.launch_checked(&pipeline, &binds, &mut params, groups, check)
}

/// Each element from the value that won its place, or from the array. Parameters: elements, offsets, sizes and strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Put {
    dtype: Dtype,
    rank: usize,
    shared: bool,
}

impl Kernel for Put {
    fn label(&self) -> String {
        "put_along_axis".to_owned()
    }

    fn text(&self) -> Text {
        let &Put { dtype, rank, shared } = self;
        let mut text = Text::new(shared);
        text.output(dtype);
        text.input(Dtype::Uint32);
        text.input(dtype);
        text.input(dtype);
        // Elements, offsets.
        text.take(3);
        let (sizes, strides) = (text.take(rank.saturating_sub(1)), text.take(rank));
        let (value_sizes, value_strides) = (text.take(rank.saturating_sub(1)), text.take(rank));
        let (mut own, mut put) = (String::new(), String::new());
        positions(&mut own, "c", "i", rank, sizes);
        positions(&mut put, "v", "winner - 1u", rank, value_sizes);
        let _ = write!(
            text.body,
            "fn value(i: u32) -> {ty} {{
    let winner = ld0(i);
    if (winner == 0u) {{
{own}        return ld1({from});
    }}
{put}    return ld2({of});
}}
",
            ty = wgsl::scalar(dtype),
            from = position_sum("p.p1", "c", rank, strides),
            of = position_sum("p.p2", "v", rank, value_strides),
        );
        text.map_entry(dtype);
        text
    }
}

/// Each element of the output from the value that won its place, else from the array itself.
fn write(context: &Context, inputs: &[In], out: &Out, winners: Bind) -> Result<()> {
    let (x, values) = (&inputs[0], &inputs[2]);
    let rank = out.shape.len();
    let shared = [x.buffer, values.buffer, winners.buffer].iter().any(|b| share_memory(b, out.buffer));
    let pipeline = context.pipeline(&Put { dtype: out.dtype, rank, shared })?;
    let (source, put) = (context.window(x)?, context.window(values)?);
    let mut params: Params = SmallVec::from_slice(&[
        out.elements() as u32,
        (x.offset - source.skipped) as u32,
        (values.offset - put.skipped) as u32,
    ]);
    params.extend(inner_sizes(out.shape));
    params.extend(x.strides.iter().map(|&s| s as i32 as u32));
    params.extend(inner_sizes(values.shape));
    params.extend(values.strides.iter().map(|&s| s as i32 as u32));
    assemble::launch(context, &pipeline, out, &[winners, source.bind, put.bind], &params)
}
