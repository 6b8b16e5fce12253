//! The first stage of large reductions, through tiles of uniform memory.
//!
//! Runs of one output are cut into pieces that each invocation reduces, one in every tile of a launch; where neighbours
//! belong to different outputs, each invocation has four of them and goes down all tiles side by side.

use std::fmt::Write;

use smallvec::SmallVec;

use super::{ELEMENTS, declare_tile, has_tiles, most_tiles, tile};
use crate::array::Dtype;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::reduce::{Axes, Combine, Job, Source};
use crate::backend::gpu::tensor::Context;
use crate::backend::gpu::wgsl::{self, Text};
use crate::error::Result;
use crate::memory::Buffer;

/// Tiles that pay for a launch.
const LEAST: usize = 4;
/// Workgroups of a launch, for runs; and columns of a workgroup.
const GROUPS: usize = 8;
const COLUMNS: usize = 64;

/// How a source is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cut {
    /// Runs of so many elements, an accumulator for each.
    Runs(usize),
    /// Rows of so many elements, which all belong to different outputs; an accumulator for each and each launch.
    Rows(usize),
}

/// Reduces a row-major source to fewer accumulators, which are what remains to be reduced; `None` if it is not one
/// that whole launches go over.
pub(super) fn run(context: &Context, job: &Job) -> Result<Option<(Buffer, [Axes; 2])>> {
    let &Job { combine, acc, ref source, outputs, .. } = job;
    let gpu = context.gpu;
    let able = has_tiles(gpu) && !source.partial && source.dtype.size() == 4 && acc.size() == 4;
    let Some((cut, elements)) = cut(source, outputs).filter(|_| able) else { return Ok(None) };
    let tiles = elements / ELEMENTS;
    let most = most_tiles(gpu).min(tiles);
    let Some(count) = (LEAST..=most).rev().find(|count| tiles.is_multiple_of(*count)) else {
        return Ok(None);
    };
    let launches = tiles / count;
    // Accumulators that a launch makes, and what they are of.
    let (made, kept, reduced) = match cut {
        Cut::Runs(run) => {
            let each = elements / outputs / run;
            (count * ELEMENTS / run, (outputs, each as isize), (each, 1))
        }
        Cut::Rows(row) => (row, (row, 1), (launches, row as isize)),
    };
    let partial = context.scratch(launches * made * 4)?;
    let pipeline = context.pipeline(&ReduceTiles { combine, acc, from: source.dtype, count, cut })?;
    let groups = match cut {
        Cut::Runs(_) => GROUPS,
        Cut::Rows(row) => row / COLUMNS,
    };
    for launch in 0..launches {
        let mut binds: SmallVec<[Bind; 16]> = SmallVec::new();
        binds.push(Bind { buffer: &partial, start: 0, bytes: (launches * made * 4) as u64 });
        binds.extend((0..count).map(|i| tile(source.buffer, source.offset, launch * count + i)));
        context.launch(&pipeline, &binds, &[(launch * made) as u32], [groups as u32, 1, 1])?;
    }
    let axis = |axis: (usize, isize)| Axes::from_iter((axis.0 != 1).then_some(axis));
    Ok(Some((partial, [axis(kept), axis(reduced)])))
}

/// How a row-major source of whole tiles is cut, and how many elements it has.
fn cut(source: &Source, outputs: usize) -> Option<(Cut, usize)> {
    if !source.offset.is_multiple_of(64) {
        return None;
    }
    let (cut, elements) = match (source.kept.as_slice(), source.reduced.as_slice()) {
        ([], &[(length, 1)]) => (runs(length)?, length),
        (&[(rows, stride)], &[(length, 1)]) if stride == length as isize => (runs(length)?, rows * length),
        (&[(row, 1)], &[(rows, stride)])
            if stride == row as isize && row.is_multiple_of(COLUMNS) && ELEMENTS.is_multiple_of(row) =>
        {
            (Cut::Rows(row), rows * row)
        }
        _ => return None,
    };
    let whole = elements.is_multiple_of(ELEMENTS) && outputs > 0;
    whole.then_some((cut, elements))
}

/// Pieces that runs of this length are cut into.
fn runs(length: usize) -> Option<Cut> {
    [256, 64].into_iter().find(|run| length.is_multiple_of(*run)).map(Cut::Runs)
}

/// Reduces so many tiles at once. The parameter is where its first accumulator goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ReduceTiles {
    combine: Combine,
    acc: Dtype,
    from: Dtype,
    count: usize,
    cut: Cut,
}

impl Kernel for ReduceTiles {
    fn label(&self) -> String {
        format!("{:?}_tiles", self.combine).to_lowercase()
    }

    fn text(&self) -> Text {
        let &ReduceTiles { combine, acc, from, count, cut } = self;
        let mut text = Text::new(false);
        text.output(acc);
        let first = text.take(1);
        (0..count).for_each(|_| declare_tile(&mut text, "vec4<u32>", 16));
        let ty = wgsl::scalar(acc);
        let value = wgsl::decoded(from, "bits");
        let lifted = combine.lift(from, acc, "v");
        let mut body = combine.functions(acc, from);
        let _ =
            writeln!(body, "fn lift_(bits: u32) -> {ty} {{\n    let v = {value};\n    return {lifted};\n}}");
        let entry = |size: usize| {
            format!(
                "@compute @workgroup_size({size})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let i = wg.x * {size}u + li;
"
            )
        };
        match cut {
            Cut::Runs(run) => {
                let _ = write!(
                    body,
                    "fn four_(v: vec4<u32>) -> {ty} {{
    return combine_(combine_(lift_(v.x), lift_(v.y)), combine_(lift_(v.z), lift_(v.w)));
}}
{}",
                    entry(ELEMENTS / run / GROUPS)
                );
                (0..count).for_each(|n| {
                    let _ = writeln!(body, "    var s{n} = identity_();");
                });
                let _ = writeln!(body, "    for (var j = 0u; j < {}u; j = j + 1u) {{", run / 4);
                for n in 0..count {
                    let _ =
                        writeln!(body, "        s{n} = combine_(s{n}, four_(in{n}[i * {}u + j]));", run / 4);
                }
                body.push_str("    }\n");
                for n in 0..count {
                    let _ = writeln!(body, "    out[p.p{first} + {}u + i] = s{n};", n * ELEMENTS / run);
                }
            }
            Cut::Rows(row) => {
                body.push_str(&entry(COLUMNS / 4));
                (0..4).for_each(|c| {
                    let _ = writeln!(body, "    var s{c} = identity_();");
                });
                let _ = writeln!(body, "    for (var j = 0u; j < {}u; j = j + 1u) {{", ELEMENTS / row);
                for n in 0..count {
                    let _ = writeln!(body, "        let v{n} = in{n}[j * {}u + i];", row / 4);
                }
                // The tiles' elements first: a long sum in one order would lose digits.
                for c in 0..4 {
                    let lifted = |n: usize| format!("lift_(v{n}[{c}])");
                    let all = (1..count).fold(lifted(0), |sum, n| format!("combine_({sum}, {})", lifted(n)));
                    let _ = writeln!(body, "        s{c} = combine_(s{c}, {all});");
                }
                body.push_str("    }\n");
                for c in 0..4 {
                    let _ = writeln!(body, "    out[p.p{first} + i * 4u + {c}u] = s{c};");
                }
            }
        }
        body.push_str("}\n");
        text.body = body;
        text
    }
}
