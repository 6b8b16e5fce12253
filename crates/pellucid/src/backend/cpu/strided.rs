//! Walking and copying strided blocks: the part that assembling, indexing and products share.
//!
//! Strides are in elements. Nothing here knows element types, only their size in bytes.

use smallvec::SmallVec;

use super::parallel;

/// One value per axis, kept on the stack for ordinary ranks.
pub(crate) type PerAxis<T> = SmallVec<[T; 6]>;

/// A piece of a long run that one core copies at a time.
const PIECE_BYTES: usize = 128 * 1024;

/// Side of the square in which a transposed block is copied: both sides of it stay in the first-level cache.
const TILE: usize = 32;

/// A shape and the strides of `N` arrays over it, without axes that say nothing: sizes of one are dropped, and axes
/// that step alike in all arrays are merged.
#[derive(Clone, Debug)]
pub(crate) struct Grid<const N: usize> {
    pub shape: PerAxis<usize>,
    pub strides: [PerAxis<isize>; N],
}

impl<const N: usize> Grid<N> {
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Grid<N> {
        let mut grid =
            Grid { shape: PerAxis::new(), strides: std::array::from_fn(|_| PerAxis::<isize>::new()) };
        for axis in 0..shape.len() {
            grid.push(shape[axis], std::array::from_fn(|i| strides[i][axis]));
        }
        grid
    }

    /// Adds an axis inside all others.
    fn push(&mut self, size: usize, strides: [isize; N]) {
        if size == 1 {
            return;
        }
        let merges = !self.shape.is_empty()
            && (0..N).all(|i| self.strides[i].last() == Some(&strides[i].wrapping_mul(size as isize)));
        if merges {
            let last = self.shape.len() - 1;
            self.shape[last] *= size;
            for (all, stride) in self.strides.iter_mut().zip(strides) {
                all[last] = stride;
            }
        } else {
            self.shape.push(size);
            for (all, stride) in self.strides.iter_mut().zip(strides) {
                all.push(stride);
            }
        }
    }

    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Takes away the innermost axis: its size and strides; one element with strides of zero if there is none.
    pub fn pop(&mut self) -> (usize, [isize; N]) {
        match self.shape.pop() {
            Some(size) => (size, std::array::from_fn(|i| self.strides[i].pop().unwrap_or(0))),
            None => (1, [0; N]),
        }
    }

    /// A walk over the positions in row-major order, starting at position number `start`.
    pub fn walk(&self, start: usize) -> Walk<'_, N> {
        let mut walk = Walk { grid: self, index: SmallVec::from_elem(0, self.shape.len()), offsets: [0; N] };
        let mut rest = start;
        for axis in (0..self.shape.len()).rev() {
            let size = self.shape[axis].max(1);
            walk.index[axis] = rest % size;
            rest /= size;
            for i in 0..N {
                walk.offsets[i] += walk.index[axis] as isize * self.strides[i][axis];
            }
        }
        walk
    }
}

/// A position on a [`Grid`] and where it lies in each array.
#[derive(Debug)]
pub(crate) struct Walk<'a, const N: usize> {
    grid: &'a Grid<N>,
    index: PerAxis<usize>,
    /// Distance from each array's first element, in elements.
    pub offsets: [isize; N],
}

impl<const N: usize> Walk<'_, N> {
    /// On to the next position; after the last one, back to the first.
    #[inline]
    pub fn step(&mut self) {
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.grid.shape[axis] {
                for i in 0..N {
                    self.offsets[i] += self.grid.strides[i][axis];
                }
                return;
            }
            self.index[axis] = 0;
            for i in 0..N {
                self.offsets[i] -= (self.grid.shape[axis] as isize - 1) * self.grid.strides[i][axis];
            }
        }
    }
}

/// A pointer that kernels hand to several threads, each of which writes its own elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<T>(pub *mut T);

// SAFETY: users write disjoint elements from different threads and outlive none of the memory.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer; a method, so that closures capture the wrapper and not the bare pointer inside it.
    #[inline]
    pub fn get(self) -> *mut T {
        self.0
    }
}

/// Copies every element of a strided block to its place in another one, on several cores if it is large.
///
/// # Safety
/// For every index below `shape`, `src + src_strides · index` must be readable and `dst + dst_strides · index`
/// writable, elements of `item_size` bytes, aligned to it; no two indices may write the same element, and the two
/// blocks may not overlap.
pub(crate) unsafe fn copy_strided(
    src: *const u8,
    src_strides: &[isize],
    dst: *mut u8,
    dst_strides: &[isize],
    shape: &[usize],
    item_size: usize,
) {
    // SAFETY: the caller's promise; each arm only fixes the element size.
    unsafe {
        match item_size {
            1 => copy_typed::<u8>(src.cast(), src_strides, dst.cast(), dst_strides, shape),
            2 => copy_typed::<u16>(src.cast(), src_strides, dst.cast(), dst_strides, shape),
            4 => copy_typed::<u32>(src.cast(), src_strides, dst.cast(), dst_strides, shape),
            _ => copy_typed::<u64>(src.cast(), src_strides, dst.cast(), dst_strides, shape),
        }
    }
}

/// # Safety
/// As for [`copy_strided`].
unsafe fn copy_typed<T: Copy>(
    mut src: *const T,
    src_strides: &[isize],
    mut dst: *mut T,
    dst_strides: &[isize],
    shape: &[usize],
) {
    if shape.contains(&0) {
        return;
    }
    // Backwards on both sides is forwards from the other end; only then can runs be found.
    let mut src_strides = PerAxis::from_slice(src_strides);
    let mut dst_strides = PerAxis::from_slice(dst_strides);
    for axis in 0..shape.len() {
        if dst_strides[axis] < 0 {
            let last = shape[axis] as isize - 1;
            src = src.wrapping_offset(last * src_strides[axis]);
            dst = dst.wrapping_offset(last * dst_strides[axis]);
            src_strides[axis] = -src_strides[axis];
            dst_strides[axis] = -dst_strides[axis];
        }
    }
    let mut grid = Grid::new(shape, [&src_strides, &dst_strides]);
    let (run, [src_step, dst_step]) = grid.pop();
    let (src, dst) = (Shared(src.cast_mut()), Shared(dst));

    // Neighbours in the source lie along another axis than neighbours in the destination: a transposition.
    let across = grid.strides[0]
        .iter()
        .position(|&s| s.abs() == 1)
        .filter(|&a| src_step.abs() > 1 && run >= TILE / 4 && grid.shape[a] >= TILE / 4);
    if let Some(axis) = across {
        let rows = grid.shape.remove(axis);
        let (src_row, dst_row) = (grid.strides[0].remove(axis), grid.strides[1].remove(axis));
        let bands = rows.div_ceil(TILE);
        let work = TILE * run * size_of::<T>() * 2;
        parallel::ranges(grid.elements() * bands, 1, work, |jobs| {
            for job in jobs {
                let [s, d] = grid.walk(job / bands).offsets;
                let first = job % bands * TILE;
                let rows = first..(first + TILE).min(rows);
                let (src, dst) = (src.get().cast_const().wrapping_offset(s), dst.get().wrapping_offset(d));
                // SAFETY: indices stay below the shape; bands are disjoint.
                unsafe { transpose_band(src, [src_row, src_step], dst, [dst_row, dst_step], rows, run) };
            }
        });
        return;
    }

    let piece = (PIECE_BYTES / size_of::<T>()).min(run);
    let pieces = run.div_ceil(piece);
    parallel::ranges(grid.elements() * pieces, 1, piece * size_of::<T>() * 2, |jobs| {
        let mut walk = grid.walk(jobs.start / pieces);
        let mut part = jobs.start % pieces;
        for _ in jobs {
            let first = part * piece;
            let count = piece.min(run - first);
            let s = src.get().cast_const().wrapping_offset(walk.offsets[0] + first as isize * src_step);
            let d = dst.get().wrapping_offset(walk.offsets[1] + first as isize * dst_step);
            // SAFETY: the indices `first..first + count` on this row are below the shape; pieces are disjoint.
            unsafe { copy_run(s, src_step, d, dst_step, count) };
            part += 1;
            if part == pieces {
                part = 0;
                walk.step();
            }
        }
    });
}

/// # Safety
/// `count` elements at each side, at these distances.
#[inline]
unsafe fn copy_run<T: Copy>(src: *const T, src_step: isize, dst: *mut T, dst_step: isize, count: usize) {
    // SAFETY: the caller's promise, in all arms; the loops only differ in what the compiler knows of the steps.
    unsafe {
        match (src_step, dst_step) {
            // Short runs are cheaper as a loop than as a call of the library's memcpy.
            (1, 1) if count * size_of::<T>() > 64 => std::ptr::copy_nonoverlapping(src, dst, count),
            (1, 1) => (0..count).for_each(|i| *dst.add(i) = *src.add(i)),
            (0, 1) => std::slice::from_raw_parts_mut(dst, count).fill(*src),
            (_, 1) => (0..count).for_each(|i| *dst.add(i) = *src.offset(i as isize * src_step)),
            _ => (0..count as isize).for_each(|i| *dst.offset(i * dst_step) = *src.offset(i * src_step)),
        }
    }
}

/// Copies `rows` × `0..cols`, in squares, where neighbours in the source lie along the rows axis.
///
/// # Safety
/// Every index in `rows` × `0..cols` must be valid on both sides; strides are `[row, column]`.
unsafe fn transpose_band<T: Copy>(
    src: *const T,
    src_strides: [isize; 2],
    dst: *mut T,
    dst_strides: [isize; 2],
    rows: std::ops::Range<usize>,
    cols: usize,
) {
    for first in (0..cols).step_by(TILE) {
        let last = (first + TILE).min(cols);
        for row in rows.clone() {
            for col in first..last {
                let (r, c) = (row as isize, col as isize);
                // SAFETY: the caller's promise.
                unsafe {
                    *dst.offset(r * dst_strides[0] + c * dst_strides[1]) =
                        *src.offset(r * src_strides[0] + c * src_strides[1]);
                }
            }
        }
    }
}

/// Row-major strides in elements.
pub(crate) fn row_major(shape: &[usize]) -> PerAxis<isize> {
    let mut strides = PerAxis::from_elem(0, shape.len());
    let mut step = 1isize;
    for (stride, &d) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(d.max(1) as isize);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies element by element, by definition.
    fn naive(
        src: &[u32],
        s0: isize,
        ss: &[isize],
        dst: &mut [u32],
        d0: isize,
        ds: &[isize],
        shape: &[usize],
    ) {
        let n: usize = shape.iter().product();
        for i in 0..n {
            let (mut rest, mut s, mut d) = (i, s0, d0);
            for axis in (0..shape.len()).rev() {
                let at = (rest % shape[axis]) as isize;
                rest /= shape[axis];
                s += at * ss[axis];
                d += at * ds[axis];
            }
            dst[d as usize] = src[s as usize];
        }
    }

    fn check(s0: isize, ss: &[isize], d0: isize, ds: &[isize], shape: &[usize], len: usize) {
        let src: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let (mut got, mut want) = (vec![7u32; len], vec![7u32; len]);
        naive(&src, s0, ss, &mut want, d0, ds, shape);
        // SAFETY: the naive copy above has just shown, with bounds checks, that all indices are inside.
        unsafe {
            let (s, d) = (src.as_ptr().offset(s0), got.as_mut_ptr().offset(d0));
            copy_strided(s.cast(), ss, d.cast(), ds, shape, 4);
        }
        assert!(got == want, "shape {shape:?}, strides {ss:?} -> {ds:?}");
    }

    #[test]
    fn every_layout_copies_like_the_definition() {
        check(0, &[], 3, &[], &[], 8);
        check(0, &[12, 4, 1], 0, &[12, 4, 1], &[2, 3, 4], 24);
        check(0, &[1, 2, 6], 0, &[12, 4, 1], &[2, 3, 4], 24);
        check(23, &[-12, -4, -1], 0, &[12, 4, 1], &[2, 3, 4], 24);
        check(0, &[12, 4, 1], 23, &[-12, -4, -1], &[2, 3, 4], 24);
        check(5, &[0, 0], 2, &[10, 2], &[3, 4], 40);
        check(0, &[4, 0, 1], 0, &[12, 4, 1], &[2, 3, 4], 24);
        check(0, &[1, 100], 0, &[77, 1], &[100, 77], 7700);
        check(99, &[-1, 100], 7, &[90, 1], &[100, 77], 10000);
        check(0, &[1, 300, 90_000], 0, &[15_000, 50, 1], &[300, 300, 50], 4_500_000);
        check(1, &[700, 1], 3, &[700, 1], &[700, 600], 700 * 700);
    }

    #[test]
    fn empty_shapes_copy_nothing() {
        check(0, &[1, 1], 0, &[1, 1], &[0, 5], 1);
        check(0, &[1, 1], 0, &[1, 1], &[5, 0], 1);
    }

    #[test]
    fn all_element_sizes_copy() {
        for size in [1usize, 2, 4, 8] {
            let src: Vec<u64> = (0..60).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let mut dst = vec![0u64; 60];
            // SAFETY: 6 × 10 elements of at most eight bytes on both sides.
            unsafe {
                copy_strided(src.as_ptr().cast(), &[1, 6], dst.as_mut_ptr().cast(), &[10, 1], &[6, 10], size);
            }
            let (src, dst): (&[u8], &[u8]) = (bytemuck::cast_slice(&src), bytemuck::cast_slice(&dst));
            for i in 0..6 {
                for j in 0..10 {
                    let (s, d) = ((i + 6 * j) * size, (10 * i + j) * size);
                    assert_eq!(dst[d..d + size], src[s..s + size]);
                }
            }
        }
    }

    #[test]
    fn a_grid_merges_axes_and_walks_from_any_start() {
        let grid = Grid::new(&[2, 1, 3, 4], [&[12, 99, 4, 1], &[24, 5, 8, 2]]);
        assert_eq!(grid.shape.as_slice(), [24]);
        let grid = Grid::new(&[3, 4], [&[1, 3], &[4, 1]]);
        let mut walk = grid.walk(5);
        for position in 5..12 {
            assert_eq!(walk.offsets, [position / 4 + position % 4 * 3, position]);
            walk.step();
        }
        assert_eq!(walk.offsets, [0, 0]);
    }
}
