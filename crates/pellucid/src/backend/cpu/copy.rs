//! Copies from any strides to row-major order. Elements are moved, never interpreted, so only their size matters.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::{In, Out, parallel};

/// Runs `$body` with `$T` as the unsigned integer of `$size` bytes.
macro_rules! by_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use by_size;

/// How to walk an array in row-major order: sizes and strides in elements, outermost first, with axes of size one
/// dropped and neighbours that form one longer axis merged. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    axes: SmallVec<[(usize, isize); 5]>,
}

impl Layout {
    /// `x` stretched to `shape`, as broadcasting does. No size of `shape` may be zero.
    pub fn broadcast(x: &In, shape: &[usize]) -> Layout {
        let skip = shape.len() - x.shape.len();
        let mut axes: SmallVec<[(usize, isize); 5]> = SmallVec::new();
        for (i, &size) in shape.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let stride = match i.checked_sub(skip) {
                Some(j) if x.shape[j] != 1 => x.strides[j],
                _ => 0,
            };
            match axes.last_mut() {
                Some((outer, s)) if *s == stride * size as isize => (*outer, *s) = (*outer * size, stride),
                _ => axes.push((size, stride)),
            }
        }
        if axes.is_empty() {
            axes = smallvec![(1, 0)];
        }
        Layout { axes }
    }

    /// True if every index reads the same element.
    pub fn is_single(&self) -> bool {
        self.axes.len() == 1 && self.axes[0].1 == 0
    }

    /// True if the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.axes.len() == 1 && self.axes[0].1 == 1
    }

    /// Writes elements `start..start + n` of the walk to `dst`.
    ///
    /// # Safety
    /// `base` must be the first element of an array with this layout, `start + n` at most its length, and `dst` valid
    /// for `n` elements that do not overlap the array.
    pub unsafe fn gather<T: Copy>(&self, base: *const T, start: usize, dst: *mut T, n: usize) {
        let mut index: SmallVec<[usize; 5]> = smallvec![0; self.axes.len()];
        let (mut rest, mut offset) = (start, 0isize);
        for (i, &(size, stride)) in self.axes.iter().enumerate().rev() {
            index[i] = rest % size;
            rest /= size;
            offset += index[i] as isize * stride;
        }
        let last = self.axes.len() - 1;
        let (size, stride) = self.axes[last];
        let mut first = index[last];
        let mut done = 0;
        loop {
            let run = (size - first).min(n - done);
            // SAFETY: the indices stay below the sizes, and `done + run` at most `n`.
            unsafe { copy_run(base.offset(offset), stride, dst.add(done), run) };
            done += run;
            if done == n {
                return;
            }
            offset -= first as isize * stride;
            first = 0;
            for i in (0..last).rev() {
                let (size, stride) = self.axes[i];
                index[i] += 1;
                offset += stride;
                if index[i] < size {
                    break;
                }
                offset -= size as isize * stride;
                index[i] = 0;
            }
        }
    }
}

/// # Safety
/// `src + stride · i` and `dst + i` must be valid for `i` below `n`, and not overlap.
#[inline(always)]
unsafe fn copy_run<T: Copy>(src: *const T, stride: isize, dst: *mut T, n: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        if stride == 1 && n >= 16 {
            std::ptr::copy_nonoverlapping(src, dst, n);
        } else if stride == 0 {
            std::slice::from_raw_parts_mut(dst, n).fill(*src);
        } else {
            for i in 0..n {
                *dst.add(i) = *src.offset(stride * i as isize);
            }
        }
    }
}

/// Copies `x`, stretched to the output's shape, into row-major order.
pub(crate) fn copy(x: &In, out: &mut Out) {
    debug_assert_eq!(x.dtype.size(), out.dtype.size());
    let n = out.elements();
    if n == 0 {
        return;
    }
    let layout = Layout::broadcast(x, out.shape);
    let out = &*out;
    by_size!(x.dtype.size(), T => {
        if let Some(t) = Transpose::of(&layout) {
            let line = TILE * t.columns.0;
            parallel::ranges(n.div_ceil(line), 1, line * 2 * size_of::<T>(), |bands| {
                // SAFETY: the layout describes `x`, and bands of `out` are disjoint.
                unsafe { t.run(x.ptr().cast::<T>(), out.ptr().cast::<T>(), bands) }
            });
            return;
        }
        parallel::ranges(n, 4096, 2 * size_of::<T>(), |r| {
            // SAFETY: `r` is below the length of both, and ranges of `out` are disjoint.
            unsafe { layout.gather(x.ptr().cast::<T>(), r.start, out.ptr().cast::<T>().add(r.start), r.len()) }
        });
    });
}

/// Rows and columns moved at once: small enough that the touched lines of source and target stay in the first cache.
const TILE: usize = 16;

/// A layout whose fastest axis in memory is not its last one. Walking it in row-major order would use one element of each
/// line of memory; walking it in tiles uses them all.
pub(super) struct Transpose {
    /// Size and stride of the last axis.
    columns: (usize, isize),
    /// Size of the axis with stride one, and the distance of its neighbours in the output.
    rows: (usize, usize),
    /// The other axes: size, stride, distance of neighbours in the output.
    others: SmallVec<[(usize, isize, usize); 5]>,
}

impl Transpose {
    pub fn of(layout: &Layout) -> Option<Transpose> {
        let (&columns, rest) = layout.axes.split_last()?;
        let k = rest.iter().rposition(|&(size, stride)| stride == 1 && size >= TILE)?;
        // A last axis of stride 0 is a fill, one of few elements is no worse the plain way.
        if columns.1.unsigned_abs() <= 1 || columns.0 < 4 {
            return None;
        }
        // Bands count whole tiles of rows, so a ragged end would shift every following band.
        let mut step = columns.0;
        let mut others = SmallVec::new();
        let mut rows = (0, 0);
        for (i, &(size, stride)) in rest.iter().enumerate().rev() {
            if i == k {
                rows = (size, step);
            } else {
                others.push((size, stride, step));
            }
            step *= size;
        }
        (rows.0.is_multiple_of(TILE) || others.is_empty()).then_some(Transpose { columns, rows, others })
    }

    /// Moves the bands of `TILE` rows with these numbers.
    ///
    /// # Safety
    /// `src` must be the first element of the array the layout describes and `dst` that of a row-major one of its size;
    /// nobody else may touch these bands of `dst`.
    unsafe fn run<T: Copy>(&self, src: *const T, dst: *mut T, bands: Range<usize>) {
        let per_slab = self.rows.0.div_ceil(TILE);
        for band in bands {
            let row = band % per_slab * TILE;
            let (mut rest, mut from, mut to) = (band / per_slab, row as isize, row * self.rows.1);
            for &(size, stride, step) in &self.others {
                from += (rest % size) as isize * stride;
                to += rest % size * step;
                rest /= size;
            }
            // SAFETY: the first elements of this band on both sides.
            unsafe { self.rows(src.offset(from), dst.add(to), TILE.min(self.rows.0 - row)) };
        }
    }

    /// Elements of a band, if bands lie one after the other in the output.
    pub fn band(&self) -> Option<usize> {
        (self.rows.1 == self.columns.0).then_some(TILE * self.columns.0)
    }

    /// Moves one band to `dst`, where it lies without gaps.
    ///
    /// # Safety
    /// `src` must be the first element of the array the layout describes, and `dst` have room for [`Transpose::band`].
    pub unsafe fn gather_band<T: Copy>(&self, src: *const T, band: usize, dst: *mut T) {
        let per_slab = self.rows.0.div_ceil(TILE);
        let row = band % per_slab * TILE;
        let (mut rest, mut from) = (band / per_slab, row as isize);
        for &(size, stride, _) in &self.others {
            from += (rest % size) as isize * stride;
            rest /= size;
        }
        // SAFETY: the first element of this band; the target's rows follow each other.
        unsafe { self.rows(src.offset(from), dst, TILE.min(self.rows.0 - row)) };
    }

    /// # Safety
    /// `src` and `dst` must be the first elements of this many rows.
    unsafe fn rows<T: Copy>(&self, src: *const T, dst: *mut T, rows: usize) {
        for column in (0..self.columns.0).step_by(TILE) {
            let columns = TILE.min(self.columns.0 - column);
            // SAFETY: row and column stay below the sizes of their axes.
            unsafe {
                let src = src.offset(column as isize * self.columns.1);
                let dst = dst.add(column);
                if rows == TILE && columns == TILE {
                    tile(src, self.columns.1, dst, self.rows.1);
                } else {
                    for r in 0..rows {
                        copy_run(src.add(r), self.columns.1, dst.add(r * self.rows.1), columns);
                    }
                }
            }
        }
    }
}

/// # Safety
/// Both pointers must be valid for a full tile with these strides.
#[inline(always)]
unsafe fn tile<T: Copy>(src: *const T, stride: isize, dst: *mut T, step: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut block = [[*src; TILE]; TILE];
        for (c, line) in block.iter_mut().enumerate() {
            std::ptr::copy_nonoverlapping(src.offset(c as isize * stride), line.as_mut_ptr(), TILE);
        }
        for r in 0..TILE {
            let dst = dst.add(r * step);
            for (c, line) in block.iter().enumerate() {
                *dst.add(c) = line[r];
            }
        }
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
