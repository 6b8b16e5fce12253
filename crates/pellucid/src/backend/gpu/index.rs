//! Reading at positions that another array gives. Every index is checked: one out of range reads position 0 instead and
//! leaves its place in a flag, which makes the result fail when the GPU is done.

use std::fmt::Write;
use std::sync::Arc;

use smallvec::SmallVec;

use super::assemble::inner_sizes;
use super::check::Check;
use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::software;
use super::tensor::{Context, In, Out, position_sum, positions, shares};
use super::wgsl::{self, Class, GROUP, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;

/// Which axes of the output belong to the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// They take the place of the axis.
    Take,
    /// All.
    Along,
}

/// WGSL for an index of this type as a position below `size`, and whether it is one.
pub(super) fn position(dtype: Dtype, size: &str) -> String {
    match (wgsl::class(dtype), dtype.size()) {
        (Class::Unsigned, 8) => format!("let good = v < u64({size});\n    let at = u32(v);"),
        (Class::Unsigned, _) => format!("let good = v < {size};\n    let at = v;"),
        (_, 8) => format!(
            "let w = select(v, v + i64({size}), v < 0li);\n    let good = w >= 0li && w < i64({size});\n    let at = u32(w);"
        ),
        _ => format!(
            "let w = select(v, v + i32({size}), v < 0);\n    let good = w >= 0 && w < i32({size});\n    let at = u32(w);"
        ),
    }
}

/// Elements at positions. Parameters: elements, flag, size of the axis, offsets, stride of the axis, sizes and strides of
/// the output's axes, strides of the indices and their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gather {
    pub way: Way,
    dtype: Dtype,
    indices: Dtype,
    /// Axes of the output, those of them that belong to the indices, and the first of these.
    rank: usize,
    count: usize,
    first: usize,
    pub shared: bool,
}

impl Kernel for Gather {
    fn label(&self) -> String {
        if self.way == Way::Take { "take" } else { "take_along_axis" }.to_owned()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.shared);
        text.output(self.dtype);
        text.input(self.dtype);
        let body = self.body(&mut text);
        let ty = wgsl::scalar(self.dtype);
        let _ = write!(text.body, "fn value(i: u32) -> {ty} {{\n{body}    return ld0(source);\n}}\n");
        text.map_entry(self.dtype);
        text
    }
}

impl Gather {
    /// Declares the indices and the parameters, after the output and the first input; returns WGSL that finds for the
    /// element `i` its `source`.
    pub fn body(&self, text: &mut Text) -> String {
        let &Gather { indices, rank, count, first, .. } = self;
        text.flags = true;
        text.take(3);
        let (offset, index_offset, stride) = (text.take(1), text.take(1), text.take(1));
        let (sizes, strides) = (text.take(rank.saturating_sub(1)), text.take(rank));
        let (index_strides, order) = (text.take(count), text.take(count));
        text.input(indices);
        let mut body = String::new();
        positions(&mut body, "c", "i", rank, sizes);
        let sum = |start: String, parameters: usize| {
            (0..count).fold(start, |s, d| s + &format!(" + c{} * p.p{}", first + d, parameters + d))
        };
        let start = position_sum(&format!("p.p{offset}"), "c", rank, strides);
        let _ = write!(
            body,
            "    let v = ld1({});\n    {}
    if (!good) {{ atomicMin(&flags[p.p1], {}); }}
    let source = {start} + select(0u, at, good) * p.p{stride};\n",
            sum(format!("p.p{index_offset}"), index_strides),
            position(indices, "p.p2"),
            sum("0u".to_owned(), order),
        );
        body
    }
}

/// Elements of `inputs[0]` along `axis` at the positions in `inputs[1]`.
pub(super) fn gather(
    context: &Context,
    way: Way,
    inputs: &[In],
    axis: usize,
    out: &Out,
    check: Arc<Check>,
) -> Result<()> {
    let (x, indices) = (&inputs[0], &inputs[1]);
    let (rank, count) = (out.shape.len(), indices.shape.len());
    let first = if way == Way::Take { axis } else { 0 };
    let shared = shares(inputs, out.buffer);
    // The axes of x in the output: those of the indices move along none of its axes.
    let moves: SmallVec<[isize; 8]> = match way {
        Way::Take => {
            let nothing = std::iter::repeat_n(0, count);
            x.strides[..axis]
                .iter()
                .copied()
                .chain(nothing)
                .chain(x.strides[axis + 1..].iter().copied())
                .collect()
        }
        Way::Along => (0..rank).map(|d| if d == axis { 0 } else { x.strides[d] }).collect(),
    };
    let kernel = Gather { way, dtype: out.dtype, indices: indices.dtype, rank, count, first, shared };
    // Elements that an invocation makes.
    let (pipeline, together) = match software::gather(context, &kernel, x, axis, &moves) {
        Some((found, together)) => (found?, together),
        None => (context.pipeline(&kernel)?, wgsl::per_word(out.dtype) as usize),
    };
    let (source, at) = (context.window(x)?, context.window(indices)?);
    let mut params: SmallVec<[u32; 48]> = SmallVec::from_slice(&[
        out.elements() as u32,
        0,
        x.shape[axis] as u32,
        (x.offset - source.skipped) as u32,
        (indices.offset - at.skipped) as u32,
        x.strides[axis] as i32 as u32,
    ]);
    params.extend(inner_sizes(out.shape));
    params.extend(moves.iter().map(|&s| s as i32 as u32));
    params.extend(indices.strides.iter().map(|&s| s as i32 as u32));
    params.extend(Shape::from(indices.shape).row_major().iter().map(|&s| s as u32));
    let words = out.elements().div_ceil(together) as u64;
    let bytes = (out.elements() * out.dtype.size()).next_multiple_of(4) as u64;
    let binds = [Bind { buffer: out.buffer, start: 0, bytes }, source.bind, at.bind];
    let groups = folded(words.div_ceil(u64::from(GROUP)));
    context.launch_checked(&pipeline, &binds, &mut params, groups, check)
}
