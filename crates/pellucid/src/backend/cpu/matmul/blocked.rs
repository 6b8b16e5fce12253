//! Large products of `float32` and `float64` on x86-64 with AVX2 and FMA, in the manner of Goto and BLIS: both
//! operands are packed, so that the innermost loop reads them in order, and a tile of the result stays in registers.
//!
//! It differs from the general product in the shapes of its blocks, which suit large matrices better.

use std::arch::x86_64::*;

use super::super::parallel;
use super::super::strided::Shared;
use super::{Job, Matrix};

/// Rows of a tile. Six rows of two vectors, two vectors of `b` and one of `a` fill the sixteen registers.
const MR: usize = 6;
/// Most steps of a sum between two visits to the result; a panel of `b` then takes two thirds of the first-level cache.
const KC: usize = 352;
/// Tiles of rows whose packed part of `a` stays in the second-level cache.
const BAND: usize = 28;
/// Panels of columns that are worth a job of their own.
const GROUP: usize = 16;
/// Rows and columns packed at a time.
const ROWS: usize = 336 * MR;
const COLUMNS: usize = 2048;
/// Bytes that both operands are packed into.
const MOST_PACKED: usize = 8 << 20;

/// An element type with a tile of `MR × NR`, two vectors wide.
pub(super) trait Tile:
    Copy + Send + Sync + Default + PartialEq + std::ops::Mul<Output = Self>
{
    const NR: usize;

    /// Multiplies a packed panel of `a` by one of `b` and adds the tile, times `alpha`, to `beta · out`; the rows of
    /// `out` lie `pitch` apart. With a `beta` of zero `out` is not read.
    ///
    /// # Safety
    /// AVX2 and FMA must be there, the panels `k` long, and `out` a whole tile.
    unsafe fn multiply(
        k: usize,
        a: *const Self,
        b: *const Self,
        out: *mut Self,
        pitch: isize,
        alpha: Self,
        beta: Self,
    );

    /// Writes the elements of rows whose elements are neighbours, column after column: as many columns as it can take
    /// together, and how many that were.
    ///
    /// # Safety
    /// As [`multiply`](Tile::multiply); the rows must be `length` long, and `to` have room for all.
    unsafe fn transpose<const R: usize>(rows: &[*const Self; R], length: usize, to: *mut Self) -> usize;
}

macro_rules! tiles {
    ($($ty:ty, $lanes:literal, $zero:ident, $load:ident, $store:ident, $set:ident, $fma:ident, $mul:ident,
       $transpose:ident);*) => {
        $(impl Tile for $ty {
            const NR: usize = 2 * $lanes;

            #[target_feature(enable = "avx2,fma")]
            unsafe fn transpose<const R: usize>(rows: &[*const $ty; R], length: usize, to: *mut $ty) -> usize {
                let columns = length / 4 * 4;
                for at in (0..columns).step_by(4) {
                    // SAFETY: the caller's promise: four elements of each row from `at` on.
                    unsafe { $transpose(rows, at, to.add(at * R)) };
                }
                columns
            }

            #[target_feature(enable = "avx2,fma")]
            unsafe fn multiply(
                k: usize,
                a: *const $ty,
                b: *const $ty,
                out: *mut $ty,
                pitch: isize,
                alpha: $ty,
                beta: $ty,
            ) {
                // SAFETY: the caller's promise: `k` steps through panels of MR and NR elements, a whole tile.
                unsafe {
                    for i in 0..MR as isize {
                        _mm_prefetch::<_MM_HINT_T0>(out.offset(i * pitch).cast());
                        _mm_prefetch::<_MM_HINT_T0>(out.offset(i * pitch + 2 * $lanes - 1).cast());
                    }
                    let mut sums = [[$zero(); 2]; MR];
                    let (mut a, mut b) = (a, b);
                    let mut step = |a: *const $ty, b: *const $ty| {
                        let (b0, b1) = ($load(b), $load(b.add($lanes)));
                        for i in 0..MR {
                            let x = $set(*a.add(i));
                            sums[i][0] = $fma(x, b0, sums[i][0]);
                            sums[i][1] = $fma(x, b1, sums[i][1]);
                        }
                    };
                    for _ in 0..k / 4 {
                        _mm_prefetch::<_MM_HINT_T0>(a.add(16 * MR).cast());
                        step(a, b);
                        step(a.add(MR), b.add(2 * $lanes));
                        step(a.add(2 * MR), b.add(4 * $lanes));
                        step(a.add(3 * MR), b.add(6 * $lanes));
                        a = a.add(4 * MR);
                        b = b.add(8 * $lanes);
                    }
                    for _ in 0..k % 4 {
                        step(a, b);
                        a = a.add(MR);
                        b = b.add(2 * $lanes);
                    }
                    let (alpha, scale) = ($set(alpha), $set(beta));
                    for i in 0..MR {
                        for j in 0..2 {
                            let at = out.offset(i as isize * pitch).add(j * $lanes);
                            let product = $mul(alpha, sums[i][j]);
                            $store(at, if beta == 0.0 { product } else { $fma(scale, $load(at), product) });
                        }
                    }
                }
            }
        })*
    };
}

tiles! {
    f32, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_mul_ps,
    transpose_f32;
    f64, 4, _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_mul_pd,
    transpose_f64
}

/// Writes four neighbours of each row, column after column.
///
/// # Safety
/// As [`Tile::transpose`], for four columns.
#[target_feature(enable = "avx2,fma")]
unsafe fn transpose_f32<const R: usize>(rows: &[*const f32; R], at: usize, to: *mut f32) {
    const { assert!(R.is_multiple_of(2)) };
    // SAFETY: the caller's promise, for four or two rows at a time.
    unsafe {
        for r in (0..R / 4 * 4).step_by(4) {
            let [a, b, c, d] = std::array::from_fn(|i| _mm_loadu_ps(rows[r + i].add(at)));
            let (first, second) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            _mm_storeu_ps(to.add(r), _mm_movelh_ps(first, second));
            _mm_storeu_ps(to.add(R + r), _mm_movehl_ps(second, first));
            let (first, second) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            _mm_storeu_ps(to.add(2 * R + r), _mm_movelh_ps(first, second));
            _mm_storeu_ps(to.add(3 * R + r), _mm_movehl_ps(second, first));
        }
        if !R.is_multiple_of(4) {
            let r = R - 2;
            let (a, b) = (_mm_loadu_ps(rows[r].add(at)), _mm_loadu_ps(rows[r + 1].add(at)));
            for (half, pairs) in [_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b)].into_iter().enumerate() {
                let pairs = _mm_castps_pd(pairs);
                _mm_storel_pd(to.add(2 * half * R + r).cast(), pairs);
                _mm_storeh_pd(to.add((2 * half + 1) * R + r).cast(), pairs);
            }
        }
    }
}

/// As [`transpose_f32`].
///
/// # Safety
/// As [`Tile::transpose`], for four columns.
#[target_feature(enable = "avx2,fma")]
unsafe fn transpose_f64<const R: usize>(rows: &[*const f64; R], at: usize, to: *mut f64) {
    const { assert!(R.is_multiple_of(2)) };
    // SAFETY: the caller's promise, for two rows and two columns at a time.
    unsafe {
        for r in (0..R).step_by(2) {
            for c in [0, 2] {
                let (a, b) = (_mm_loadu_pd(rows[r].add(at + c)), _mm_loadu_pd(rows[r + 1].add(at + c)));
                _mm_storeu_pd(to.add(c * R + r), _mm_unpacklo_pd(a, b));
                _mm_storeu_pd(to.add((c + 1) * R + r), _mm_unpackhi_pd(a, b));
            }
        }
    }
}

/// True if the machine can run this and the product is so large that it gains: up to some 400 rows and columns the
/// general product packs less and is as fast.
pub(super) fn fits<T>(job: &Job<T>) -> bool {
    let size = job.size;
    size.m >= 4 * MR
        && size.n >= 32
        && size.k >= 32
        && size.work() >= 384 * 384 * 384
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
}

/// How the operands of a job are packed.
struct Packing {
    /// Sums in equal parts, as many of them at a time as there is room for.
    part: usize,
    parts: usize,
    a_bytes: usize,
    b_bytes: usize,
}

impl Packing {
    fn of<T: Tile>(job: &Job<T>) -> Packing {
        let (m, n, k) = (job.size.m, job.size.n, job.size.k);
        let high = m.min(ROWS).next_multiple_of(MR);
        let wide = n.min(COLUMNS).next_multiple_of(T::NR);
        let part = k.div_ceil(k.div_ceil(KC)).next_multiple_of(4).min(k);
        let parts = (MOST_PACKED / ((high + wide) * part * size_of::<T>())).clamp(1, k.div_ceil(part));
        let lines = |elements: usize| (elements * size_of::<T>()).next_multiple_of(64);
        Packing { part, parts, a_bytes: lines(high * part * parts), b_bytes: lines(wide * part * parts) }
    }
}

/// Bytes of room that a job needs: few different numbers, so that the room of one product serves the next.
pub(super) fn room<T: Tile>(job: &Job<T>) -> usize {
    let packing = Packing::of(job);
    (packing.a_bytes + packing.b_bytes).next_power_of_two()
}

/// Runs a job that [`fits`], with the room it needs; the rows of the result must not have gaps between their elements.
///
/// Both operands are packed as far as the room goes, and then multiplied: the cores wait for each other only twice.
pub(super) fn multiply<T: Tile>(job: &Job<T>, one: T, split: bool, room: *mut u8) {
    let (m, n, k) = (job.size.m, job.size.n, job.size.k);
    let cores = if split { parallel::cores() } else { 1 };
    let Packing { part, parts, a_bytes, .. } = Packing::of(job);
    // The innermost loop fetches ahead, but never reads beyond a panel.
    {
        let packed = [Shared(room.cast::<T>()), Shared(room.wrapping_add(a_bytes).cast::<T>())];
        for column in (0..n).step_by(COLUMNS) {
            for row in (0..m).step_by(ROWS) {
                for depth in (0..k).step_by(part * parts) {
                    let a = job.a.offset(row as isize * job.a.row + depth as isize * job.a.col);
                    let b = job.b.offset(depth as isize * job.b.row + column as isize * job.b.col);
                    let block = Block {
                        rows: ROWS.min(m - row),
                        columns: COLUMNS.min(n - column),
                        depth: (part * parts).min(k - depth),
                        part,
                        from: [a, b.transposed()],
                        packed,
                        out: job.out.offset(row as isize * job.out.row + column as isize),
                        alpha: job.alpha,
                        // The first visit scales what is there, later ones add to it.
                        beta: if depth == 0 { job.beta } else { one },
                        one,
                    };
                    block.pack(cores);
                    block.multiply(cores);
                }
            }
        }
    }
}

/// Parts of both operands that are packed, and where their product goes.
struct Block<T> {
    rows: usize,
    columns: usize,
    /// Length of the sums, and of the parts in which they are packed.
    depth: usize,
    part: usize,
    /// `a`, and `b` transposed; and the room for their panels: all of the first part of the sums, then of the next.
    from: [Matrix<T>; 2],
    packed: [Shared<T>; 2],
    out: Matrix<T>,
    alpha: T,
    /// What the first part of the sums multiplies the result by; the others add to it.
    beta: T,
    one: T,
}

impl<T: Tile> Block<T> {
    fn part_length(&self, part: usize) -> usize {
        self.part.min(self.depth - part * self.part)
    }

    fn pack(&self, cores: usize) {
        let parts = self.depth.div_ceil(self.part);
        let (tiles, panels) = (self.rows.div_ceil(MR), self.columns.div_ceil(T::NR));
        // The parts of one panel after the other: the rows are read in order.
        share(cores, tiles * parts, 8, &|i| {
            let (panel, part) = (i / parts, i % parts);
            let (from, to) = self.panel(0, part, panel, MR, self.rows);
            // SAFETY: rows `panel · MR..` of `a`, of which there are `rows`; the room has a place for each panel.
            unsafe { pack::<T, MR>(from, panel * MR, self.rows, self.part_length(part), to) };
        });
        let groups = panels.div_ceil(4);
        share(cores, groups * parts, 1, &|i| {
            let (part, first) = (i / groups, i % groups * 4);
            let length = self.part_length(part);
            let (from, to) = self.panel(1, part, first, T::NR, self.columns);
            // SAFETY: as for `a`.
            unsafe {
                if from.row == 1 && (first + 4) * T::NR <= self.columns {
                    pack_wide(from.offset((first * T::NR) as isize), length, to);
                    return;
                }
                for panel in first..(first + 4).min(panels) {
                    let (from, to) = self.panel(1, part, panel, T::NR, self.columns);
                    if T::NR == 16 {
                        pack::<T, 16>(from, panel * T::NR, self.columns, length, to);
                    } else {
                        pack::<T, 8>(from, panel * T::NR, self.columns, length, to);
                    }
                }
            }
        });
    }

    /// A part of an operand, and the place of one of its panels of `width`.
    fn panel(
        &self,
        operand: usize,
        part: usize,
        panel: usize,
        width: usize,
        of: usize,
    ) -> (Matrix<T>, *mut T) {
        let from = self.from[operand].offset((part * self.part) as isize * self.from[operand].col);
        let at = part * self.part * of.next_multiple_of(width) + panel * width * self.part_length(part);
        (from, self.packed[operand].get().wrapping_add(at))
    }

    /// Multiplies what is packed: bands of rows, in groups of columns, of equal size and as many for each core.
    fn multiply(&self, cores: usize) {
        let (tiles, panels) = (self.rows.div_ceil(MR), self.columns.div_ceil(T::NR));
        let bands = tiles.div_ceil(BAND);
        let (bands, groups) = if cores == 1 {
            (bands, 1)
        } else if tiles >= GROUP * cores {
            let bands = bands.next_multiple_of(cores);
            (bands, (8 * cores).div_ceil(bands).min(panels / GROUP).max(1))
        } else {
            (bands, cores.min(panels))
        };
        let slice = |of: usize, into: usize, i: usize| i * of / into..(i + 1) * of / into;
        share(cores, bands * groups, 1, &|i| {
            let (rows, columns) = (slice(tiles, bands, i / groups), slice(panels, groups, i % groups));
            for part in 0..self.depth.div_ceil(self.part) {
                for panel in columns.clone() {
                    for tile in rows.clone() {
                        self.tile(part, tile, panel);
                    }
                }
            }
        });
    }

    /// Adds one part of the sums to one tile of the result.
    #[inline(always)]
    fn tile(&self, part: usize, tile: usize, panel: usize) {
        let length = self.part_length(part);
        let (row, column) = (tile * MR, panel * T::NR);
        let (_, a) = self.panel(0, part, tile, MR, self.rows);
        let (_, b) = self.panel(1, part, panel, T::NR, self.columns);
        let beta = if part == 0 { self.beta } else { self.one };
        let out = self.out.ptr.get().wrapping_offset(row as isize * self.out.row + column as isize);
        let (height, width) = (MR.min(self.rows - row), T::NR.min(self.columns - column));
        // SAFETY: the panels were packed, to whole tiles; a tile that reaches over the edge of the result is computed
        // in a buffer. `fits` found the instructions.
        unsafe {
            if height == MR && width == T::NR {
                return T::multiply(length, a, b, out, self.out.row, self.alpha, beta);
            }
            let mut tile = [T::default(); MR * 16];
            let start = tile.as_mut_ptr();
            if beta != T::default() {
                for r in 0..height {
                    let from = out.offset(r as isize * self.out.row);
                    std::ptr::copy_nonoverlapping(from, start.add(r * T::NR), width);
                }
            }
            T::multiply(length, a, b, start, T::NR as isize, self.alpha, beta);
            for r in 0..height {
                let to = out.offset(r as isize * self.out.row);
                std::ptr::copy_nonoverlapping(start.add(r * T::NR), to, width);
            }
        }
    }
}

/// Calls `body` with `0..count`, `grain` numbers at a time on whichever core is free.
fn share(cores: usize, count: usize, grain: usize, body: &(dyn Fn(usize) + Sync)) {
    if cores == 1 {
        (0..count).for_each(body);
    } else {
        parallel::pieces(count, grain, &|_, range| range.for_each(body));
    }
}

/// Packs `R` rows from `first` on, of which there are `rows`, column after column; missing rows become zeros.
///
/// # Safety
/// `length` columns must be readable, and `to` have room for `R · length` elements.
unsafe fn pack<T: Tile, const R: usize>(
    from: Matrix<T>,
    first: usize,
    rows: usize,
    length: usize,
    mut to: *mut T,
) {
    let src = from.offset(first as isize * from.row).ptr.get().cast_const();
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        if rows - first < R {
            for i in 0..length as isize {
                for r in 0..R {
                    let inside = r < rows - first;
                    let value =
                        if inside { *src.offset(i * from.col + r as isize * from.row) } else { T::default() };
                    to.add(r).write(value);
                }
                to = to.add(R);
            }
        } else if from.row == 1 {
            for i in 0..length as isize {
                to.cast::<[T; R]>().write(src.offset(i * from.col).cast::<[T; R]>().read());
                to = to.add(R);
            }
        } else {
            let starts: [*const T; R] = std::array::from_fn(|r| src.offset(r as isize * from.row));
            let done = if from.col == 1 { T::transpose(&starts, length, to) } else { 0 };
            to = to.add(done * R);
            for i in done..length {
                for (r, start) in starts.iter().enumerate() {
                    to.add(r).write(*start.offset(i as isize * from.col));
                }
                to = to.add(R);
            }
        }
    }
}

/// Packs four panels of `b` side by side, whose rows are in order in memory: longer stretches of a row are read at once.
///
/// # Safety
/// As [`pack`], for four panels.
unsafe fn pack_wide<T: Tile>(from: Matrix<T>, length: usize, to: *mut T) {
    for i in 0..length {
        let row = from.ptr.get().cast_const().wrapping_offset(i as isize * from.col);
        for panel in 0..4 {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add((panel * length + i) * T::NR);
                std::ptr::copy_nonoverlapping(row.add(panel * T::NR), to, T::NR);
            }
        }
    }
}
