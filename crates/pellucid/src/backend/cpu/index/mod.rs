//! Reading and writing at positions that another array gives.
//!
//! Every index is checked before it is used; negative ones count from the end. Indices are decoded in blocks into
//! distances on the stack, so that the loops that move elements know neither index types nor bounds. With several
//! bad indices the first in row-major order is reported, however the work was split.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::assemble::copy_unless_same;
use super::strided::{Grid, PerAxis, Shared, copy_strided, row_major};
use super::{In, Out, bypass, is_row_major, parallel};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::memory::Scratch;

/// Indices decoded at a time: 8 KiB of distances, well inside the first-level cache.
const BLOCK: usize = 1024;

/// Elements of `x` along `axis` at `indices`, whose axes take the place of `axis`.
///
/// # Errors
/// [`Error::Index`] for the first index outside the axis; then `out` holds no meaningful values.
pub(crate) fn take(x: &In, indices: &In, axis: usize, out: &mut Out) -> Result<()> {
    let item = out.dtype.size();
    let decoder = Decoder::new(indices, axis, x)?;
    let count = indices.elements();
    let (outer_shape, inner_shape) = (&x.shape[..axis], &x.shape[axis + 1..]);
    let (outer_strides, inner_strides) = (&x.strides[..axis], &x.strides[axis + 1..]);
    let outer = Grid::new(outer_shape, [outer_strides]);
    let (rows, inner) = (outer.elements(), inner_shape.iter().product::<usize>());
    let bypass = bypass::pays(out.elements() * item);
    let row = Row { shape: inner_shape, strides: inner_strides, run: inner, item, bypass };
    let (src, dst) = (Shared(x.ptr().cast_mut()), Shared(out.ptr()));

    // Gathers what `offsets`, the indices from `first` on, say, for the outer positions `range`.
    let gather = |range: std::ops::Range<usize>, first: usize, offsets: &[isize]| {
        let mut walk = outer.walk(range.start);
        for position in range {
            let from = src.get().wrapping_offset(walk.offsets[0] * item as isize);
            let to = dst.get().wrapping_add((position * count + first) * inner * item);
            // SAFETY: the walk stays on the outer axes of `x`, the decoder checked the offsets, and
            // `offsets.len() · inner` elements from `first` on belong to this part of the output.
            unsafe { row.gather(from, offsets, to) };
            walk.step();
        }
    };

    if rows <= 1 || count <= BLOCK {
        // The block of indices is decoded once per piece of the outer axes.
        let blocks = count.div_ceil(BLOCK);
        let pieces = if blocks > 1 { 1 } else { rows.div_ceil(256).clamp(1, 64) };
        let piece = rows.div_ceil(pieces);
        let work = count.min(BLOCK).saturating_mul(inner.saturating_mul(2 * item) + 8).saturating_mul(piece);
        parallel::ranges(blocks * pieces, 1, work, |jobs| {
            let mut buffer = [0isize; BLOCK];
            for job in jobs {
                let first = job / pieces * BLOCK;
                let offsets = &mut buffer[..BLOCK.min(count - first)];
                if decoder.decode_flat(first, offsets) && inner > 0 {
                    let start = (job % pieces * piece).min(rows);
                    gather(start..(start + piece).min(rows), first, offsets);
                }
            }
        });
        return decoder.finish("take");
    }

    // Row after row of `x` with all indices, so that a row is in the cache while it is read.
    let mut offsets = Scratch::filled("take", count, 0isize)?;
    let all = Shared(offsets.as_mut_ptr());
    parallel::ranges(count.div_ceil(BLOCK), 1, BLOCK * 16, |blocks| {
        let (first, last) = (blocks.start * BLOCK, (blocks.end * BLOCK).min(count));
        // SAFETY: blocks are disjoint parts of `offsets`.
        let part = unsafe { std::slice::from_raw_parts_mut(all.get().add(first), last - first) };
        decoder.decode_flat(first, part);
    });
    decoder.finish("take")?;
    if inner > 0 {
        parallel::ranges(rows, 1, count * (inner * item * 2 + 8), |range| gather(range, 0, &offsets));
    }
    Ok(())
}

/// What [`take`] moves per index: the axes inside the indexed one.
struct Row<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    run: usize,
    item: usize,
    /// Whether the result is written past the caches.
    bypass: bool,
}

/// Rows that are fetched ahead: indices jump, so that the processor cannot guess what comes next.
const AHEAD: usize = 8;

impl Row<'_> {
    /// Copies the rows at `offsets` (in elements from `src`) to `dst`, one after the other.
    ///
    /// # Safety
    /// Every row must be readable, and `dst` have room for all.
    unsafe fn gather(&self, src: *const u8, offsets: &[isize], dst: *mut u8) {
        let bytes = self.run * self.item;
        // SAFETY: the caller's promise, in all arms.
        unsafe {
            if is_row_major(self.shape, self.strides) {
                match (bytes, self.item) {
                    (1, _) => gather_elements::<u8>(src, offsets, 1, dst),
                    (2, item) => gather_elements::<[u8; 2]>(src, offsets, item, dst),
                    (4, item) => gather_elements::<[u8; 4]>(src, offsets, item, dst),
                    (8, item) => gather_elements::<[u8; 8]>(src, offsets, item, dst),
                    (16, item) => gather_elements::<[u8; 16]>(src, offsets, item, dst),
                    (32, item) => gather_elements::<[u8; 32]>(src, offsets, item, dst),
                    (64, item) => gather_elements::<[u8; 64]>(src, offsets, item, dst),
                    _ => {
                        let row = |offset: isize| src.wrapping_offset(offset * self.item as isize);
                        for (i, &offset) in offsets.iter().enumerate() {
                            if let Some(&next) = offsets.get(i + AHEAD) {
                                bypass::prefetch(row(next), bytes);
                            }
                            if self.bypass {
                                bypass::copy(row(offset), dst.add(i * bytes), bytes);
                            } else {
                                std::ptr::copy_nonoverlapping(row(offset), dst.add(i * bytes), bytes);
                            }
                        }
                        if self.bypass {
                            bypass::fence();
                        }
                    }
                }
            } else {
                let strides = row_major(self.shape);
                for (i, &offset) in offsets.iter().enumerate() {
                    let from = src.offset(offset * self.item as isize);
                    copy_strided(from, self.strides, dst.add(i * bytes), &strides, self.shape, self.item);
                }
            }
        }
    }
}

/// Elements of type `T` at `offsets · item` bytes from `src`, one after the other to `dst`.
///
/// # Safety
/// Every element must be readable, and `dst` have room for all.
unsafe fn gather_elements<T: Copy>(src: *const u8, offsets: &[isize], item: usize, dst: *mut u8) {
    let dst = dst.cast::<T>();
    for (i, &offset) in offsets.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            dst.add(i).write_unaligned(src.offset(offset * item as isize).cast::<T>().read_unaligned())
        };
    }
}

/// For each position, the element of `x` there with the position along `axis` replaced by the index.
///
/// # Errors
/// [`Error::Index`] for the first index outside the axis; then `out` holds no meaningful values.
pub(crate) fn take_along_axis(x: &In, indices: &In, axis: usize, out: &mut Out) -> Result<()> {
    let decoder = Decoder::new(indices, axis, x)?;
    // The index alone moves along the axis.
    let mut strides = PerAxis::from_slice(x.strides);
    strides[axis] = 0;
    let out_strides = row_major(out.shape);
    let grid = Grid::new(out.shape, [&strides, indices.strides, &out_strides]);
    match out.dtype.size() {
        1 => take_along::<u8>(x, grid, &decoder, out),
        2 => take_along::<u16>(x, grid, &decoder, out),
        4 => take_along::<u32>(x, grid, &decoder, out),
        _ => take_along::<u64>(x, grid, &decoder, out),
    }
    decoder.finish("take_along_axis")
}

fn take_along<T: Copy>(x: &In, mut grid: Grid<3>, decoder: &Decoder, out: &mut Out) {
    let (src, dst) = (Shared(x.ptr().cast_mut().cast::<T>()), Shared(out.ptr().cast::<T>()));
    let (run, [x_step, index_step, _]) = grid.pop();
    let blocks = run.div_ceil(BLOCK);
    let work = run.min(BLOCK) * (size_of::<T>() * 2 + 8);
    parallel::ranges(grid.elements() * blocks, 1, work, |jobs| {
        let mut buffer = [0isize; BLOCK];
        let mut walk = grid.walk(jobs.start / blocks);
        let mut block = jobs.start % blocks;
        for _ in jobs {
            let first = block * BLOCK;
            let offsets = &mut buffer[..BLOCK.min(run - first)];
            let [x_at, index_at, out_at] = walk.offsets;
            let position = out_at as usize + first;
            if decoder.decode_run(index_at + first as isize * index_step, index_step, position, 1, offsets) {
                let from = src.get().cast_const().wrapping_offset(x_at + first as isize * x_step);
                let to = dst.get().wrapping_add(position);
                for (i, &offset) in offsets.iter().enumerate() {
                    // SAFETY: the position is on the grid and the decoder checked the index.
                    unsafe { *to.add(i) = *from.offset(i as isize * x_step + offset) };
                }
            }
            block += 1;
            if block == blocks {
                block = 0;
                walk.step();
            }
        }
    });
}

/// A copy of `x` in which, for each position, the element there with the position along `axis` replaced by the index
/// becomes the value. Of several values for one element the last in row-major order stays.
///
/// # Errors
/// [`Error::Index`] for the first index outside the axis; then `out` holds no meaningful values.
pub(crate) fn put_along_axis(x: &In, indices: &In, values: &In, axis: usize, out: &mut Out) -> Result<()> {
    copy_unless_same(x, out);
    let strides = row_major(out.shape);
    let target = Target { size: x.shape[axis], stride: strides[axis] };
    let decoder = Decoder::for_axis(indices, axis, target)?;
    match out.dtype.size() {
        1 => put_along::<u8>(indices, values, axis, &decoder, &strides, out),
        2 => put_along::<u16>(indices, values, axis, &decoder, &strides, out),
        4 => put_along::<u32>(indices, values, axis, &decoder, &strides, out),
        _ => put_along::<u64>(indices, values, axis, &decoder, &strides, out),
    }
    decoder.finish("put_along_axis")
}

fn put_along<T: Copy>(
    indices: &In,
    values: &In,
    axis: usize,
    decoder: &Decoder,
    out_strides: &[isize],
    out: &mut Out,
) {
    // Values can only meet if they differ along the axis alone. So the work is split between lines of the axis, and
    // each line is written from its start to its end.
    let numbers = row_major(indices.shape);
    let without = |strides: &[isize]| -> PerAxis<isize> {
        strides.iter().enumerate().filter(|&(a, _)| a != axis).map(|(_, &s)| s).collect()
    };
    let shape: PerAxis<usize> =
        indices.shape.iter().enumerate().filter(|&(a, _)| a != axis).map(|(_, &d)| d).collect();
    let mut grid = Grid::new(
        &shape,
        [&without(indices.strides), &without(values.strides), &without(out_strides), &without(&numbers)],
    );
    let along = [indices.strides[axis], values.strides[axis], 0, numbers[axis]];
    let length = indices.shape[axis];
    // The inner loop runs along whichever axis is innermost in memory.
    let (outer, inner, piece) = if axis + 1 == indices.shape.len() {
        ((1, [0; 4]), (length, along), length)
    } else {
        let (run, steps) = grid.pop();
        ((length, along), (run, steps), run.min(BLOCK))
    };
    if length == 0 || inner.0 == 0 {
        return;
    }
    let pieces = inner.0.div_ceil(piece);
    let (src, dst) = (Shared(values.ptr().cast_mut().cast::<T>()), Shared(out.ptr().cast::<T>()));
    let work = outer.0.saturating_mul(piece).saturating_mul(size_of::<T>() * 2 + 8);
    parallel::ranges(grid.elements() * pieces, 1, work, |jobs| {
        let mut buffer = [0isize; BLOCK];
        let mut walk = grid.walk(jobs.start / pieces);
        for job in jobs {
            let base = walk.offsets;
            let start = job % pieces * piece;
            let end = (start + piece).min(inner.0);
            for row in 0..outer.0 {
                for first in (start..end).step_by(BLOCK) {
                    let offsets = &mut buffer[..BLOCK.min(end - first)];
                    let at: [isize; 4] = std::array::from_fn(|i| {
                        base[i] + row as isize * outer.1[i] + first as isize * inner.1[i]
                    });
                    let step = inner.1;
                    if !decoder.decode_run(at[0], step[0], at[3] as usize, step[3] as usize, offsets) {
                        continue;
                    }
                    let from = src.get().cast_const().wrapping_offset(at[1]);
                    let to = dst.get().wrapping_offset(at[2]);
                    for (i, &offset) in offsets.iter().enumerate() {
                        let i = i as isize;
                        // SAFETY: the position is on the grid, the decoder checked the index, and no other job
                        // writes this line of the axis.
                        unsafe { *to.offset(i * step[2] + offset) = *from.offset(i * step[1]) };
                    }
                }
            }
            if job % pieces + 1 == pieces {
                walk.step();
            }
        }
    });
}

/// The axis that indices select on: its size and the distance between neighbours.
#[derive(Clone, Copy)]
struct Target {
    size: usize,
    stride: isize,
}

/// Turns indices into distances, and remembers the first bad one.
struct Decoder<'a> {
    indices: In<'a>,
    flat: Grid<1>,
    axis: usize,
    target: Target,
    /// Row-major number of the first bad index; `usize::MAX` if there is none.
    bad: AtomicUsize,
}

impl<'a> Decoder<'a> {
    fn new(indices: &In<'a>, axis: usize, x: &In) -> Result<Decoder<'a>> {
        Decoder::for_axis(indices, axis, Target { size: x.shape[axis], stride: x.strides[axis] })
    }

    fn for_axis(indices: &In<'a>, axis: usize, target: Target) -> Result<Decoder<'a>> {
        if !indices.dtype.is_integer() {
            return Err(Error::internal("take", format!("indices of type {}", indices.dtype)));
        }
        let flat = Grid::new(indices.shape, [indices.strides]);
        Ok(Decoder { indices: *indices, flat, axis, target, bad: AtomicUsize::new(usize::MAX) })
    }

    /// Decodes the indices from row-major number `first` on. False if one is bad; then `offsets` is not to be used.
    fn decode_flat(&self, first: usize, offsets: &mut [isize]) -> bool {
        if let ([], []) | ([_], [_]) = (self.flat.shape.as_slice(), self.flat.strides[0].as_slice()) {
            let step = self.flat.strides[0].first().copied().unwrap_or(0);
            return self.decode_run(first as isize * step, step, first, 1, offsets);
        }
        let run = self.flat.shape.last().copied().unwrap_or(1);
        let step = self.flat.strides[0].last().copied().unwrap_or(0);
        let (mut done, mut good) = (0, true);
        while done < offsets.len() {
            let position = first + done;
            let count = (run - position % run).min(offsets.len() - done);
            let at = self.flat.walk(position).offsets[0];
            good &= self.decode_run(at, step, position, 1, &mut offsets[done..done + count]);
            done += count;
        }
        good
    }

    /// Decodes the indices at `at`, `at + step`, …, whose row-major numbers are `number`, `number + pitch`, ….
    /// False if one is bad; then `offsets` is not to be used.
    fn decode_run(&self, at: isize, step: isize, number: usize, pitch: usize, offsets: &mut [isize]) -> bool {
        macro_rules! decode {
            ($ty:ty) => {{
                let first = self.indices.ptr().cast::<$ty>().wrapping_offset(at);
                // SAFETY: callers stay on the indices' grid, and this is their type.
                unsafe { decode(first, step, self.target, offsets) }
            }};
        }
        let bad = match self.indices.dtype {
            Dtype::Uint8 => decode!(u8),
            Dtype::Uint16 => decode!(u16),
            Dtype::Uint32 => decode!(u32),
            Dtype::Uint64 => decode!(u64),
            Dtype::Int8 => decode!(i8),
            Dtype::Int16 => decode!(i16),
            Dtype::Int32 => decode!(i32),
            _ => decode!(i64),
        };
        if let Some(i) = bad {
            self.bad.fetch_min(number + i * pitch, Ordering::Relaxed);
        }
        bad.is_none()
    }

    /// The error for the first bad index, if there was one.
    fn finish(&self, function: &'static str) -> Result<()> {
        let number = self.bad.load(Ordering::Relaxed);
        if number == usize::MAX {
            return Ok(());
        }
        let at = self.flat.walk(number).offsets[0];
        macro_rules! read {
            ($ty:ty) => {
                // SAFETY: the number is one of the indices', and this is their type.
                i64::try_from(unsafe { *self.indices.ptr().cast::<$ty>().offset(at) }).unwrap_or(i64::MAX)
            };
        }
        #[allow(clippy::unnecessary_fallible_conversions, reason = "one macro for all index types")]
        let index = match self.indices.dtype {
            Dtype::Uint8 => read!(u8),
            Dtype::Uint16 => read!(u16),
            Dtype::Uint32 => read!(u32),
            Dtype::Uint64 => read!(u64),
            Dtype::Int8 => read!(i8),
            Dtype::Int16 => read!(i16),
            Dtype::Int32 => read!(i32),
            _ => read!(i64),
        };
        Err(Error::Index { function, index, axis: self.axis, size: self.target.size })
    }
}

/// Fills `offsets` with the distances of the indices at `first`, `first + step`, …; returns the first bad one.
///
/// # Safety
/// `offsets.len()` indices must be readable.
unsafe fn decode<T: Index>(
    first: *const T,
    step: isize,
    target: Target,
    offsets: &mut [isize],
) -> Option<usize> {
    // No early exit: without one the loop runs in vectors, and bad indices are rare.
    let mut bad = false;
    let mut body = |i: usize, offset: &mut isize, step: isize| {
        // SAFETY: the caller's promise.
        let position = unsafe { *first.offset(i as isize * step) }.resolve(target.size);
        bad |= position >= target.size as u64;
        *offset = (position as isize).wrapping_mul(target.stride);
    };
    if step == 1 {
        offsets.iter_mut().enumerate().for_each(|(i, offset)| body(i, offset, 1));
    } else {
        offsets.iter_mut().enumerate().for_each(|(i, offset)| body(i, offset, step));
    }
    if !bad {
        return None;
    }
    // SAFETY: as above.
    (0..offsets.len())
        .find(|&i| unsafe { *first.offset(i as isize * step) }.resolve(target.size) >= target.size as u64)
}

/// An integer type that can be an index.
trait Index: Copy {
    /// The position counted from the start; at least `size` if the index is out of range.
    fn resolve(self, size: usize) -> u64;
}

macro_rules! indices {
    ($($unsigned:ty, $signed:ty);*) => {
        $(impl Index for $unsigned {
            #[inline(always)]
            fn resolve(self, _: usize) -> u64 {
                self as u64
            }
        }
        impl Index for $signed {
            #[inline(always)]
            fn resolve(self, size: usize) -> u64 {
                let index = self as i64;
                // Below `-size` this stays negative, which as `u64` is beyond every size.
                (if index < 0 { index + size as i64 } else { index }) as u64
            }
        })*
    };
}

indices! { u8, i8; u16, i16; u32, i32; u64, i64 }

mod scatter;
#[cfg(test)]
mod tests;

pub(crate) use scatter::{gather, scatter};
