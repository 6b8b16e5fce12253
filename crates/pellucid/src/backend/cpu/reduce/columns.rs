//! Reductions in which neighbouring outputs come from neighbouring elements: whole rows stream through, and a vector of
//! outputs accumulates in the cache.

use super::super::accumulator::Acc;
use super::super::layout::{Axis, BLOCK, Layout, Shared, count, gather, offset};
use super::super::parallel;
use super::super::tensor::{In, Out};
use super::fold::{Combine, accumulate, accumulate_four};
use crate::error::Result;
use crate::memory;

/// Gets the totals of a piece, with its number, the outer position and the first column.
type Done<'a, A> = dyn Fn(usize, usize, usize, &[A]) + Sync + 'a;

/// Elements that one thread takes at a time; tall arrays are cut into pieces of at most so many.
const PIECE: usize = 1 << 20;

/// Totals of pieces that are kept at a time, unless a single piece has more. With so many, what is added one after the
/// other has gigabytes each.
const MOST_PARTIAL: usize = 1 << 22;

/// Rows after which running totals are added to the grand totals, so that a float sum over many rows keeps its
/// precision.
const ROWS: usize = 128;

/// Accumulates columns side by side.
pub(super) fn columns<A: Acc, O: Combine<A>>(x: &In, mut layout: Layout, out: &mut Out) -> Result<()> {
    let vector = layout.take_vector_axis();
    let job = Columns { x, layout: &layout, vector, identity: O::identity(out.dtype) };
    let (outer, rows) = (count(&layout.kept), count(&layout.reduced));
    let column_blocks = vector.size.div_ceil(BLOCK);
    let rows_per_piece = (PIECE / vector.size.min(BLOCK)).clamp(ROWS, 32 * ROWS).next_multiple_of(ROWS);
    let pieces = rows.div_ceil(rows_per_piece);
    let outputs = outer * vector.size;
    let (out_size, out) = (out.dtype.size() as isize, &*out);
    let write = |o: usize, start: usize, totals: &[A]| {
        let to = offset(&layout.kept, o).1 + start as isize * vector.out;
        // SAFETY: positions of the output, written once.
        unsafe { A::write(out.dtype, out.ptr().offset(to * out_size), vector.out, totals) };
    };
    let bytes = rows.min(rows_per_piece) * vector.size.min(BLOCK) * x.dtype.size();
    // Calls `done` with the totals of some pieces, for each block of columns.
    let reduce = |first: usize, pieces: usize, done: &Done<A>| {
        parallel::ranges(outer * column_blocks * pieces, 1, bytes, |range| {
            let mut scratch = Scratch::new();
            for i in range {
                let (piece, block) = (i % pieces, i / pieces);
                let (o, start) = (block / column_blocks, block % column_blocks * BLOCK);
                let width = BLOCK.min(vector.size - start);
                let first = (first + piece) * rows_per_piece;
                job.piece::<O>(o, start, width, first..rows.min(first + rows_per_piece), &mut scratch);
                done(piece, o, start, &scratch.grand[..width]);
            }
        });
    };
    if pieces <= 1 {
        reduce(0, pieces, &|_, o, start, totals| write(o, start, totals));
        return Ok(());
    }
    // Totals of each piece go here first: rows of all outputs, so many at a time.
    let together = (MOST_PARTIAL / outputs).clamp(1, pieces);
    let mut partial = memory::Scratch::filled("reduce", together * outputs, A::ZERO)?;
    let mut grand = memory::Scratch::filled("reduce", if together < pieces { outputs } else { 0 }, A::ZERO)?;
    for first in (0..pieces).step_by(together) {
        let partial = &mut partial[..together.min(pieces - first) * outputs];
        let shared = Shared::new(partial);
        reduce(first, together.min(pieces - first), &|piece, o, start, totals| {
            // SAFETY: each piece of each block of columns has places of its own.
            let place = unsafe { shared.slice(piece * outputs + o * vector.size + start, totals.len()) };
            place.copy_from_slice(totals);
        });
        combine_rows::<A, O>(partial, outputs);
        match first {
            _ if grand.is_empty() => {}
            0 => grand.copy_from_slice(&partial[..outputs]),
            _ => accumulate::<A, O>(&mut grand, &partial[..outputs]),
        }
    }
    let totals = if grand.is_empty() { &partial[..outputs] } else { &grand[..] };
    for (o, totals) in totals.chunks(vector.size).enumerate() {
        write(o, 0, totals);
    }
    Ok(())
}

/// True for a tall matrix of few columns without gaps.
pub(super) fn is_thin(layout: &Layout) -> bool {
    match (layout.kept.as_slice(), layout.reduced.as_slice()) {
        ([kept], [reduced]) => {
            kept.x == 1 && reduced.x == kept.size as isize && kept.size < THIN && reduced.size > 4 * THIN
        }
        _ => false,
    }
}

/// Columns below this are too few to fill a vector.
const THIN: usize = 128;

/// Sees several rows of a tall matrix as one long row, reduces the long rows, and then the rows of that one.
pub(super) fn thin<A: Acc, O: Combine<A>>(x: &In, layout: &Layout, out: &mut Out) -> Result<()> {
    let (width, rows) = (layout.kept[0].size, layout.reduced[0].size);
    let together = (4 * THIN).div_ceil(width);
    let (long, rest) = (rows / together, rows % together);
    let size = x.dtype.size();
    let mut totals = memory::Scratch::filled("reduce", (together + rest) * width, A::ZERO)?;
    let (head, tail) = totals.split_at_mut(together * width);
    // SAFETY: the matrix has no gaps, so long rows and what is left of them lie in it.
    unsafe {
        let start = x.ptr().offset(layout.base * size as isize);
        let shape = [long, together * width];
        let strides = [shape[1] as isize, 1];
        let matrix = In::new(start, x.dtype, &shape, &strides);
        let row = [shape[1]];
        let mut head = Out::new(head.as_mut_ptr().cast(), A::DTYPE, &row);
        columns::<A, O>(&matrix, Layout::reduction(&matrix, &[0]), &mut head)?;
        A::read(x.dtype, start.add(long * shape[1] * size), 1, tail);
    }
    combine_rows::<A, O>(&mut totals, width);
    let totals = &mut totals[..width];
    // A single row of a logical reduction may still hold any number.
    for total in totals.iter_mut() {
        *total = O::combine(O::identity(out.dtype), *total);
    }
    // SAFETY: the output is one row of this width.
    unsafe { A::write(out.dtype, out.ptr(), layout.kept[0].out, totals) };
    Ok(())
}

/// Rows of `width` combined into the first one: pairs, then pairs of pairs.
fn combine_rows<A: Acc, O: Combine<A>>(rows: &mut [A], width: usize) {
    let count = rows.len() / width;
    if count > 1 {
        let (left, right) = rows.split_at_mut(count.div_ceil(2) * width);
        combine_rows::<A, O>(left, width);
        combine_rows::<A, O>(right, width);
        accumulate::<A, O>(&mut left[..width], &right[..width]);
    }
}

struct Scratch<A> {
    grand: [A; BLOCK],
    running: [A; BLOCK],
    row: [A; BLOCK],
}

impl<A: Acc> Scratch<A> {
    fn new() -> Scratch<A> {
        Scratch { grand: [A::ZERO; BLOCK], running: [A::ZERO; BLOCK], row: [A::ZERO; BLOCK] }
    }
}

struct Columns<'a, A> {
    x: &'a In<'a>,
    layout: &'a Layout,
    vector: Axis,
    identity: A,
}

impl<A: Acc> Columns<'_, A> {
    /// Totals of some rows, for `width` columns from `start` on, left in `scratch.grand`.
    fn piece<O: Combine<A>>(
        &self,
        outer: usize,
        start: usize,
        width: usize,
        rows: std::ops::Range<usize>,
        scratch: &mut Scratch<A>,
    ) {
        let (x, axes) = (self.x, &self.layout.reduced);
        let from = self.layout.base + offset(&self.layout.kept, outer).0 + start as isize * self.vector.x;
        // SAFETY: rows and columns are positions of the input.
        let at = |row| unsafe { x.ptr().offset((from + offset(axes, row).0) * x.dtype.size() as isize) };
        let in_place = x.dtype == A::DTYPE && (self.vector.x == 1 || width == 1);
        // SAFETY: as above; only called where the columns of a row lie side by side as `A`.
        let direct = |row| unsafe { std::slice::from_raw_parts(at(row).cast::<A>(), width) };
        scratch.grand[..width].fill(self.identity);
        let mut row = rows.start;
        while row < rows.end {
            let end = rows.end.min(row + ROWS);
            let running = &mut scratch.running[..width];
            running.fill(self.identity);
            while in_place && row + 4 <= end {
                accumulate_four::<A, O>(
                    running,
                    [direct(row), direct(row + 1), direct(row + 2), direct(row + 3)],
                );
                row += 4;
            }
            while row < end {
                // SAFETY: as above; one axis is enough to describe a piece of a row.
                let values = unsafe { gather(x.dtype, at(row), &[self.vector], 0, width, &mut scratch.row) };
                accumulate::<A, O>(running, values);
                row += 1;
            }
            accumulate::<A, O>(&mut scratch.grand[..width], running);
        }
    }
}
