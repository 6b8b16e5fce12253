//! Large products of `float32` and `float64` on x86-64 with AVX2 and FMA, in the manner of Goto and BLIS: both
//! operands are packed, so that the innermost loop reads them in order, and a tile of the result stays in registers.
//!
//! It differs from the general product in the shapes of its blocks, which suit large matrices better.

use std::arch::x86_64::*;
use std::cell::Cell;

use super::super::index::scratch;
use super::super::parallel;
use super::super::strided::Shared;
use super::{Job, Matrix};
use crate::error::Result;

/// Rows of a tile. Six rows of two vectors, two vectors of `b` and one of `a` fill the sixteen registers.
const MR: usize = 6;
/// Length of the sums between two visits to the result; a panel of `b` then takes half the first-level cache.
const KC: usize = 256;
/// Rows whose packed part of `a` stays in the second-level cache.
const MC: usize = 28 * MR;
/// Rows packed at a time; bounds the room that packing takes.
const ROWS: usize = 24 * MC;
/// Columns packed at a time; their part of `b` stays in the last-level cache.
const COLUMNS: usize = 4096;

/// Room for packed panels, aligned to cache lines.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Lines that a thread keeps for its next product: fresh memory would cost a page fault for every 4 KiB packed, which
/// for matrices of a few hundred rows is a third of the time.
const KEPT_LINES: usize = (8 << 20) / size_of::<Line>();

thread_local! {
    static KEPT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Room to pack into, never initialised; only its capacity counts.
struct Room(Vec<Line>);

impl Room {
    fn new(function: &'static str, lines: usize) -> Result<Room> {
        // Taken out, because another product may start on this thread while it waits for the other cores.
        let kept = KEPT.take();
        Ok(Room(if kept.capacity() >= lines { kept } else { scratch(function, lines)? }))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.0.capacity() <= KEPT_LINES {
            KEPT.set(std::mem::take(&mut self.0));
        }
    }
}

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
}

macro_rules! tiles {
    ($($ty:ty, $lanes:literal, $zero:ident, $load:ident, $store:ident, $set:ident, $fma:ident, $mul:ident);*) => {
        $(impl Tile for $ty {
            const NR: usize = 2 * $lanes;

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
    f32, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_mul_ps;
    f64, 4, _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_mul_pd
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

/// Runs a job that [`fits`]; the rows of the result must not have gaps between their elements.
pub(super) fn multiply<T: Tile>(function: &'static str, job: &Job<T>, one: T, split: bool) -> Result<()> {
    let (m, n, k) = (job.size.m, job.size.n, job.size.k);
    let nr = T::NR;
    let per_line = size_of::<Line>() / size_of::<T>();
    let a_room = (m.min(ROWS).next_multiple_of(MR) * KC.min(k)).div_ceil(per_line) + 4;
    let b_room = (n.min(COLUMNS).next_multiple_of(nr) * KC.min(k)).div_ceil(per_line) + 4;
    let mut room = Room::new(function, a_room + b_room)?;
    let a_packed = Shared(room.0.as_mut_ptr().cast::<T>());
    let b_packed = Shared(room.0.as_mut_ptr().wrapping_add(a_room).cast::<T>());
    let each = |count: usize, bytes: usize, body: &(dyn Fn(std::ops::Range<usize>) + Sync)| {
        if split {
            parallel::ranges(count, 1, bytes, body);
        } else if count > 0 {
            body(0..count);
        }
    };

    for column in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - column);
        for depth in (0..k).step_by(KC) {
            let length = KC.min(k - depth);
            let b = job.b.offset(depth as isize * job.b.row + column as isize * job.b.col).transposed();
            each(columns.div_ceil(nr), length * nr * 2 * size_of::<T>(), &|panels| {
                for panel in panels {
                    let to = b_packed.get().wrapping_add(panel * nr * length);
                    // SAFETY: columns `panel · nr..` of `b`, of which there are `columns`; the room was made above.
                    unsafe {
                        if T::NR == 16 {
                            pack::<T, 16>(b, panel * nr, columns, length, to);
                        } else {
                            pack::<T, 8>(b, panel * nr, columns, length, to);
                        }
                    }
                }
            });
            // The first visit scales what is there, later ones add to it.
            let beta = if depth == 0 { job.beta } else { one };
            for row in (0..m).step_by(ROWS) {
                let rows = ROWS.min(m - row);
                let a = job.a.offset(row as isize * job.a.row + depth as isize * job.a.col);
                each(rows.div_ceil(MR), length * MR * 2 * size_of::<T>(), &|panels| {
                    for panel in panels {
                        let to = a_packed.get().wrapping_add(panel * MR * length);
                        // SAFETY: as for `b`.
                        unsafe { pack::<T, MR>(a, panel * MR, rows, length, to) };
                    }
                });
                let out = job.out.offset(row as isize * job.out.row + column as isize);
                let block =
                    Block { rows, columns, length, a: a_packed, b: b_packed, out, alpha: job.alpha, beta };
                // Blocks of rows, and groups of columns where there are too few blocks for all cores.
                let blocks = rows.div_ceil(MC);
                let groups = if split { (8usize).div_ceil(blocks).min(columns.div_ceil(4 * nr)) } else { 1 };
                let height = rows.div_ceil(blocks).next_multiple_of(MR);
                let width = columns.div_ceil(groups).next_multiple_of(nr);
                each(blocks * groups, usize::MAX / (blocks * groups), &|jobs| {
                    for job in jobs {
                        let (top, left) = (job / groups * height, job % groups * width);
                        block.run(top..(top + height).min(rows), left..(left + width).min(columns));
                    }
                });
            }
        }
    }
    Ok(())
}

/// Packed operands and where their product goes.
struct Block<T> {
    rows: usize,
    columns: usize,
    length: usize,
    a: Shared<T>,
    b: Shared<T>,
    out: Matrix<T>,
    alpha: T,
    beta: T,
}

impl<T: Tile> Block<T> {
    /// Computes these rows and columns; both ranges start on whole tiles.
    fn run(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) {
        for column in columns.step_by(T::NR) {
            let b = self.b.get().wrapping_add(column * self.length);
            for row in rows.clone().step_by(MR) {
                let a = self.a.get().wrapping_add(row * self.length);
                let out = self.out.ptr.get().wrapping_offset(row as isize * self.out.row + column as isize);
                let (height, width) = (MR.min(self.rows - row), T::NR.min(self.columns - column));
                // SAFETY: the panels were packed, to whole tiles; a tile that reaches over the edge of the result
                // is computed in a buffer. `fits` found the instructions.
                unsafe {
                    if height == MR && width == T::NR {
                        T::multiply(self.length, a, b, out, self.out.row, self.alpha, self.beta);
                    } else {
                        let mut tile = [T::default(); MR * 16];
                        let at = |tile: &mut [T], r: usize, c: usize| &raw mut tile[r * T::NR + c];
                        for r in 0..height {
                            let from = out.offset(r as isize * self.out.row);
                            if self.beta != T::default() {
                                std::ptr::copy_nonoverlapping(from, at(&mut tile, r, 0), width);
                            }
                        }
                        let (start, pitch) = (tile.as_mut_ptr(), T::NR as isize);
                        T::multiply(self.length, a, b, start, pitch, self.alpha, self.beta);
                        for r in 0..height {
                            let to = out.offset(r as isize * self.out.row);
                            std::ptr::copy_nonoverlapping(start.add(r * T::NR), to, width);
                        }
                    }
                }
            }
        }
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
            let mut i = 0;
            if from.col == 1 {
                // Neighbours are read together; the compiler turns this into vector shuffles.
                while i + 4 <= length {
                    let rows: [[T; 4]; R] = std::array::from_fn(|r| starts[r].add(i).cast::<[T; 4]>().read());
                    let columns: [[T; R]; 4] = std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c]));
                    to.cast::<[[T; R]; 4]>().write(columns);
                    to = to.add(4 * R);
                    i += 4;
                }
            }
            for i in i..length {
                for (r, start) in starts.iter().enumerate() {
                    to.add(r).write(*start.offset(i as isize * from.col));
                }
                to = to.add(R);
            }
        }
    }
}
