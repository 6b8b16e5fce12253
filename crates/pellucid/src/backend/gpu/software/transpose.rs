//! Transposed matrices made row-major, through tiles of uniform memory: elements that do not lie side by side are read
//! one by one everywhere else.

use std::fmt::Write;

use smallvec::SmallVec;

use super::{ELEMENTS, VECTOR, declare_tile, has_tiles, tile};
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::record::Bind;
use crate::backend::gpu::tensor::{Axes, Context, In, share_memory};
use crate::backend::gpu::wgsl::Text;
use crate::error::Result;
use crate::memory::Buffer;

/// Tiles of a launch.
const COUNTS: std::ops::RangeInclusive<usize> = 2..=8;
/// Invocations of a workgroup.
const GROUP: usize = 32;

/// Writes an array whose columns lie one after the other to `to`, row-major, where the output has these axes and the array
/// these strides along them; `None` if that is not what it is.
pub(in crate::backend::gpu) fn transpose(
    context: &Context,
    x: &In,
    axes: &Axes,
    strides: &[isize],
    to: &Buffer,
) -> Option<Result<()>> {
    Some(Transposed::of(context, x, axes, strides)?.run(context, x, to))
}

/// As [`transpose`], to memory of its own. Without room for that the array is to be read where it lies.
pub(in crate::backend::gpu) fn transposed_copy(
    context: &Context,
    x: &In,
    axes: &Axes,
    strides: &[isize],
) -> Result<Option<Buffer>> {
    let Some(transposed) = Transposed::of(context, x, axes, strides) else { return Ok(None) };
    let Ok(copy) = context.scratch(x.elements() * x.dtype.size()) else { return Ok(None) };
    transposed.run(context, x, &copy)?;
    Ok(Some(copy))
}

/// A matrix whose columns lie one after the other, in whole tiles.
#[derive(Clone, Copy)]
struct Transposed {
    rows: usize,
    columns: usize,
    /// Tiles of a launch.
    count: usize,
}

impl Transposed {
    /// The input as one, where the output has these axes and it these strides along them.
    fn of(context: &Context, x: &In, axes: &Axes, strides: &[isize]) -> Option<Transposed> {
        let gpu = context.gpu;
        let (&[rows, columns], &[1, between]) = (axes.shape.as_slice(), strides) else { return None };
        let able = has_tiles(gpu)
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
    fn run(self, context: &Context, x: &In, out: &Buffer) -> Result<()> {
        debug_assert!(!share_memory(x.buffer, out));
        let Transposed { rows, columns, count } = self;
        let pipeline = context.pipeline(&Transpose { rows, count })?;
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
}

/// An invocation makes the columns of all tiles in one row. Parameters: columns, first column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Transpose {
    rows: usize,
    /// Tiles.
    count: usize,
}

impl Kernel for Transpose {
    fn label(&self) -> String {
        "transpose".to_owned()
    }

    fn text(&self) -> Text {
        let &Transpose { rows, count } = self;
        let width = ELEMENTS / rows;
        let mut text = Text::new(false);
        text.output_of("vec4<u64>");
        text.take(2);
        (0..count).for_each(|_| declare_tile(&mut text, "vec4<u32>", 16));
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
