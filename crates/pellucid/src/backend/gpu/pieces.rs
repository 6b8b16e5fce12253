//! Arrays that reach further than one binding: reduced piece by piece, then the results of the pieces; or copied so that
//! their elements lie in a row, which windows can follow.

use std::fmt::Write;

use smallvec::SmallVec;

use super::device::Gpu;
use super::kernel::Kernel;
use super::record::Bind;
use super::reduce::{self, Combine, Job, Source};
use super::tensor::{Context, In, Out, share_memory, window};
use super::wgsl::Text;
use super::{arg_reduce, assemble};
use crate::array::{Dtype, Shape, Strides};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::ArgReduceOp;

/// Elements that an arg-reduction goes through at once.
const LONGEST: usize = 1 << 20;

/// Where to cut an array into pieces.
struct Cut {
    axis: usize,
    /// Positions along the axis in one piece.
    length: usize,
}

/// How to cut an array so that one binding reaches each piece, or at least each is smaller: along the axis that goes
/// furthest. `None` if one binding reaches all of it.
fn cut(gpu: &Gpu, x: &In) -> Option<Cut> {
    let (low, high) = x.reach();
    if window(gpu, x.buffer, x.dtype, low, high).is_some() {
        return None;
    }
    let way = |d: usize| x.strides[d].unsigned_abs() * (x.shape[d] - 1);
    let axis = (0..x.shape.len()).max_by_key(|&d| way(d))?;
    // A window begins up to 256 bytes early and ends at a whole word.
    let most = (gpu.largest_binding() as usize - 512) / x.dtype.size();
    let rest = high - low - way(axis);
    let length = most.saturating_sub(rest) / x.strides[axis].unsigned_abs().max(1);
    Some(Cut { axis, length: length.clamp(1, x.shape[axis] - 1) })
}

/// Whether bindings reach all intermediate results of a reduction to `results` elements.
pub(super) fn reaches(gpu: &Gpu, x: &In, results: usize) -> bool {
    if x.elements() == 0 {
        return results as u64 * 8 + 256 <= gpu.largest_binding();
    }
    let (low, high) = x.reach();
    let pieces = ((high - low + 1) * x.dtype.size()) as u64 / gpu.largest_binding() * 2 + 1;
    // The largest accumulators have eight bytes.
    x.elements() <= u32::MAX as usize / 2 && results as u64 * 8 * pieces + 256 <= gpu.largest_binding()
}

/// An array of intermediate results, row-major.
pub(super) struct Piece {
    buffer: Buffer,
    shape: Shape,
    strides: Strides,
}

impl Piece {
    fn new(context: &Context, dtype: Dtype, shape: Shape) -> Result<Piece> {
        let buffer = context.scratch(shape.elements() * dtype.size())?;
        let strides = shape.row_major();
        Ok(Piece { buffer, shape, strides })
    }

    pub fn view(&self, dtype: Dtype) -> In<'_> {
        In { buffer: &self.buffer, dtype, shape: &self.shape, strides: &self.strides, offset: 0 }
    }
}

/// The sizes that stay when `axes` are reduced; those are one.
fn kept(shape: &[usize], axes: &[usize]) -> Shape {
    shape.iter().enumerate().map(|(d, &size)| if axes.contains(&d) { 1 } else { size }).collect()
}

/// Calls `work` for each piece with where it begins.
fn each_piece<'a>(x: &In<'a>, cut: &Cut, mut work: impl FnMut(&In, usize) -> Result<()>) -> Result<()> {
    let mut shape = Shape::from(x.shape).to_vec();
    let size = x.shape[cut.axis];
    for start in (0..size).step_by(cut.length) {
        shape[cut.axis] = cut.length.min(size - start);
        let offset = x.offset.wrapping_add_signed(x.strides[cut.axis] * start as isize);
        work(&In { shape: &shape, offset, ..x.clone() }, start)?;
    }
    Ok(())
}

fn join(
    context: &Context,
    pieces: &[Piece],
    dtype: Dtype,
    axis: usize,
    shape: &[usize],
    to: &Buffer,
) -> Result<()> {
    let views: SmallVec<[In; 8]> = pieces.iter().map(|piece| piece.view(dtype)).collect();
    assemble::concatenate(context, &views, axis, &Out { buffer: to, dtype, shape })
}

/// Reduces `axes` of an array of any size to accumulators, row-major in `target`.
pub(super) fn reduce(
    context: &Context,
    combine: Combine,
    acc: Dtype,
    x: &In,
    axes: &[usize],
    target: &Buffer,
) -> Result<()> {
    let results = kept(x.shape, axes);
    let Some(cut) = cut(context.gpu, x) else {
        let job = Job { combine, acc, source: Source::new(x, axes), outputs: results.elements(), target };
        return reduce::run(context, &job);
    };
    let mut pieces: Vec<Piece> = Vec::new();
    each_piece(x, &cut, |part, _| {
        let piece = Piece::new(context, acc, kept(part.shape, axes))?;
        reduce(context, combine, acc, part, axes, &piece.buffer)?;
        pieces.push(piece);
        Ok(())
    })?;
    if !axes.contains(&cut.axis) {
        return join(context, &pieces, acc, cut.axis, &results, target);
    }
    let all = stacked(context, &pieces, acc, cut.axis, &results)?;
    let source = Source { partial: true, ..Source::new(&all.view(acc), &[cut.axis]) };
    reduce::run(context, &Job { combine, acc, source, outputs: results.elements(), target })
}

/// Results of pieces side by side along the axis that was cut.
fn stacked(
    context: &Context,
    pieces: &[Piece],
    dtype: Dtype,
    axis: usize,
    results: &[usize],
) -> Result<Piece> {
    let mut shape = results.to_vec();
    shape[axis] = pieces.len();
    let all = Piece::new(context, dtype, Shape::from(shape))?;
    join(context, pieces, dtype, axis, &all.shape, &all.buffer)?;
    Ok(all)
}

/// Positions of extreme elements along an axis of an array of any size.
pub(super) fn arg_reduce(
    context: &Context,
    op: ArgReduceOp,
    x: &In,
    axis: usize,
    out: &Buffer,
) -> Result<()> {
    let results = kept(x.shape, &[axis]);
    // One workgroup goes through each line, and loops of software end after 65,535 rounds.
    let long = || Some(Cut { axis, length: LONGEST }).filter(|_| x.shape[axis] > LONGEST);
    let Some(cut) = cut(context.gpu, x).or_else(long) else {
        let out = Out { buffer: out, dtype: Dtype::Uint32, shape: &results };
        return arg_reduce::arg_reduce(context, op, x, axis, &out);
    };
    let combine = if op == ArgReduceOp::Argmax { Combine::Max } else { Combine::Min };
    let acc = combine.accumulator(x.dtype);
    let (mut positions, mut values): (Vec<Piece>, Vec<Piece>) = (Vec::new(), Vec::new());
    each_piece(x, &cut, |part, _| {
        let piece = Piece::new(context, Dtype::Uint32, kept(part.shape, &[axis]))?;
        arg_reduce(context, op, part, axis, &piece.buffer)?;
        positions.push(piece);
        if cut.axis == axis {
            let piece = Piece::new(context, acc, kept(part.shape, &[axis]))?;
            reduce(context, combine, acc, part, &[axis], &piece.buffer)?;
            values.push(piece);
        }
        Ok(())
    })?;
    if cut.axis != axis {
        return join(context, &positions, Dtype::Uint32, cut.axis, &results, out);
    }
    let values = stacked(context, &values, acc, axis, &results)?;
    let winners = Piece::new(context, Dtype::Uint32, results.clone())?;
    let to = Out { buffer: &winners.buffer, dtype: Dtype::Uint32, shape: &results };
    arg_reduce::arg_reduce(context, op, &values.view(acc), axis, &to)?;
    let positions = stacked(context, &positions, Dtype::Uint32, axis, &results)?;
    let inner: usize = results[axis + 1..].iter().product();
    choose(context, &positions, &winners, [inner, cut.length], &Out { buffer: out, ..to })
}

/// The positions of the pieces that won. Parameters: elements, elements behind the axis, pieces, length of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Choose {
    shared: bool,
}

impl Kernel for Choose {
    fn label(&self) -> String {
        "arg_reduce_choose".to_owned()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.shared);
        text.output(Dtype::Uint32);
        text.input(Dtype::Uint32);
        text.input(Dtype::Uint32);
        text.take(4);
        let _ = write!(
            text.body,
            "fn value(i: u32) -> u32 {{
    let piece = ld1(i);
    return piece * p.p3 + ld0(((i / p.p1) * p.p2 + piece) * p.p1 + i % p.p1);
}}
"
        );
        text.map_entry(Dtype::Uint32);
        text
    }
}

/// From the positions in each piece those in the piece that won, counted from the start of the array.
fn choose(
    context: &Context,
    positions: &Piece,
    winners: &Piece,
    [inner, length]: [usize; 2],
    out: &Out,
) -> Result<()> {
    let shared = share_memory(&positions.buffer, out.buffer) || share_memory(&winners.buffer, out.buffer);
    let pipeline = context.pipeline(&Choose { shared })?;
    let count = positions.shape.elements() / out.elements();
    let params = [out.elements(), inner, count, length].map(|v| v as u32);
    let bytes = |piece: &Piece| (piece.shape.elements() * 4) as u64;
    let binds = [positions, winners].map(|p| Bind { buffer: &p.buffer, start: 0, bytes: bytes(p) });
    assemble::launch(context, &pipeline, out, &binds, &params)
}

/// Rows whose copies fill one window that ends where the next may begin; `None` if a window holds none.
fn rows_together(gpu: &Gpu, dtype: Dtype, shape: &[usize]) -> Option<usize> {
    let row = shape.iter().skip(1).product::<usize>() * dtype.size();
    let step = 256 >> row.trailing_zeros().min(8);
    let rows = (gpu.largest_binding() as usize - 512) / row.max(1) / step * step;
    if rows > 0 { Some(rows) } else { None }
}

/// The sizes of an array without axes of size one, and their strides.
fn long_axes(x: &In) -> (Vec<usize>, Vec<isize>) {
    x.shape.iter().zip(x.strides).filter(|(d, _)| **d != 1).map(|(&d, &s)| (d, s)).unzip()
}

/// Whether [`row_major`] can copy an array.
pub(super) fn copies(gpu: &Gpu, x: &In) -> bool {
    rows_together(gpu, x.dtype, &long_axes(x).0).is_some()
}

/// A row-major copy of an array that reaches further than one binding.
pub(super) fn row_major(context: &Context, x: &In) -> Result<Buffer> {
    let (shape, strides) = long_axes(x);
    let x = &In { shape: &shape, strides: &strides, ..x.clone() };
    let whole = context.scratch(x.elements() * x.dtype.size())?;
    let row = x.elements() / shape[0] * x.dtype.size();
    let length = rows_together(context.gpu, x.dtype, &shape).unwrap_or(1).min(shape[0]);
    each_piece(x, &Cut { axis: 0, length }, |part, first| copy(context, part, &whole, (first * row) as u64))?;
    Ok(whole)
}

/// Copies an array into a window of the target.
fn copy(context: &Context, x: &In, target: &Buffer, start: u64) -> Result<()> {
    let out = Out { buffer: target, dtype: x.dtype, shape: x.shape };
    let Some(cut) = cut(context.gpu, x) else {
        return assemble::concatenate_at(context, std::slice::from_ref(x), 0, &out, start);
    };
    let mut pieces: Vec<Piece> = Vec::new();
    each_piece(x, &cut, |part, _| {
        let piece = Piece::new(context, x.dtype, Shape::from(part.shape))?;
        copy(context, part, &piece.buffer, 0)?;
        pieces.push(piece);
        Ok(())
    })?;
    let views: SmallVec<[In; 8]> = pieces.iter().map(|piece| piece.view(x.dtype)).collect();
    assemble::concatenate_at(context, &views, cut.axis, &out, start)
}
