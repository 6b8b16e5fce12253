//! Transposed matrices made row-major, through tiles of uniform memory: elements that do not lie side by side are read
//! one by one everywhere else.

use std::fmt::Write;

use smallvec::SmallVec;

use super::{ELEMENTS, VECTOR, tile};
use crate::backend::gpu::pipeline::Key;
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::tensor::{Axes, Context, In, share_memory};
use crate::backend::gpu::wgsl::Text;
use crate::error::Result;
use crate::memory::Buffer;

/// Tiles of a launch.
const COUNTS: std::ops::RangeInclusive<usize> = 2..=8;
/// Invocations of a workgroup.
const GROUP: usize = 32;

/// A matrix whose columns lie one after the other, in whole tiles.
#[derive(Clone, Copy)]
pub(in crate::backend::gpu) struct Transposed {
    rows: usize,
    columns: usize,
    /// Tiles of a launch.
    count: usize,
}

impl Transposed {
    /// The input as one, where the output has these axes and it these strides along them.
    pub fn of(context: &Context, x: &In, axes: &Axes, strides: &[isize]) -> Option<Transposed> {
        let gpu = context.gpu;
        let (&[rows, columns], &[1, between]) = (axes.shape.as_slice(), strides) else { return None };
        let able = gpu.has_tiles()
            && x.dtype.size() == 4
            && x.offset.is_multiple_of(64)
            && between == rows as isize
            && rows.is_multiple_of(GROUP)
            && (ELEMENTS / VECTOR).is_multiple_of(rows);
        let reached = (rows * columns * 4) as u64 <= gpu.largest_binding();
        if !able || !reached || !(rows * columns).is_multiple_of(ELEMENTS) {
            return None;
        }
        let tiles = rows * columns / ELEMENTS;
        let count = COUNTS.rev().find(|&count| tiles.is_multiple_of(count))?;
        Some(Transposed { rows, columns, count })
    }

    /// Writes the elements of `x` to `out`, row-major.
    pub fn run(self, context: &Context, x: &In, out: &Buffer) -> Result<()> {
        debug_assert!(!share_memory(x.buffer, out));
        let Transposed { rows, columns, count } = self;
        let words = SmallVec::from_slice(&[rows as u32, count as u32]);
        let pipeline = context
            .pipeline_by(Key { family: "transpose", words }, || ("transpose".to_owned(), self.text()))?;
        // Columns of a tile.
        let width = ELEMENTS / rows;
        for first in (0..columns / width).step_by(count) {
            let mut binds: SmallVec<[Bind; 9]> = SmallVec::new();
            binds.push(Bind { buffer: out, start: 0, bytes: (rows * columns * 4) as u64 });
            binds.extend((first..first + count).map(|i| tile(x.buffer, x.offset, i)));
            let params = [columns as u32, (first * width) as u32];
            context.launch(&pipeline, &binds, &params, [(rows / GROUP) as u32, 1, 1])?;
        }
        Ok(())
    }

    /// An invocation makes the columns of all tiles in one row.
    fn text(self) -> Text {
        let Transposed { rows, count, .. } = self;
        let width = ELEMENTS / rows;
        let mut text = Text::new(false);
        text.output_of("vec4<u64>");
        // Columns, first column.
        text.take(2);
        (0..count).for_each(|_| text.tile("vec4<u32>", 16));
        let _ = write!(
            text.body,
            "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let r = wg.x * {GROUP}u + li;
    let at = (r * p.p0 + p.p1) / {VECTOR}u;
    for (var v = 0u; v < {}u; v = v + 1u) {{
        let start = v * {}u + r / 4u;
",
            width / VECTOR,
            VECTOR * rows / 4
        );
        for n in 0..count {
            let element = |i: usize| format!("in{n}[start + {}u][r % 4u]", i * rows / 4);
            let pairs: Vec<String> = (0..VECTOR / 2)
                .map(|i| format!("pack_({}, {})", element(2 * i), element(2 * i + 1)))
                .collect();
            let _ = writeln!(
                text.body,
                "        out[at + {}u + v] = vec4<u64>({});",
                n * width / VECTOR,
                pairs.join(", ")
            );
        }
        text.body.push_str("    }\n}\n");
        text
    }
}
