//! A matrix times a vector. Each element of the matrix is used once, so this runs at the speed of memory, and
//! neither packing nor tiles can help.

use num_complex::Complex32;

use super::super::parallel;
use super::super::strided::Shared;
use super::Matrix;

/// Rows whose sums are kept in the first-level cache while columns pass by.
const ROWS: usize = 512;

/// Elements of one partial sum. Fixed, so that the result does not depend on the number of cores.
const CHUNK: usize = 1 << 15;

/// True if the matrix has neighbours along one of its axes; others are left to the general product.
pub(super) fn fits<T>(matrix: Matrix<T>) -> bool {
    matrix.row == 1 || matrix.col == 1
}

/// Bytes of room that [`multiply`] needs for an `m × k` matrix and a vector of this stride.
pub(super) fn room<T>(m: usize, k: usize, stride: isize) -> usize {
    let packed = if stride == 1 || k < 2 { 0 } else { k };
    let sums = if m > 8 { 0 } else { m * k.div_ceil(CHUNK) };
    (packed + sums) * size_of::<T>()
}

/// `y = alpha · a · x + beta · y` for an `m × k` matrix; vectors are a pointer and a stride, `y` is not read if
/// `beta` is zero. The room is as [`room`] says.
#[allow(clippy::too_many_arguments, reason = "the terms of the formula")]
pub(super) fn multiply<T: Dot>(
    m: usize,
    k: usize,
    a: Matrix<T>,
    x: (Shared<T>, isize),
    y: (Shared<T>, isize),
    alpha: T,
    beta: T,
    parallel: bool,
    room: *mut u8,
) {
    let room = room.cast::<T>();
    let finish = |row: usize, sum: T| {
        let at = y.0.get().wrapping_offset(row as isize * y.1);
        // SAFETY: `row` is below `m`, and only one job writes it.
        unsafe { *at = if beta == T::default() { alpha * sum } else { alpha * sum + beta * *at } };
    };
    // The vector is read once per row: without gaps, please.
    let (x, room) = if x.1 == 1 || k < 2 {
        (Shared(x.0.get()), room)
    } else {
        for i in 0..k {
            // SAFETY: `k` elements at this stride are the vector, and the room has as many.
            unsafe { *room.add(i) = *x.0.get().offset(i as isize * x.1) };
        }
        (Shared(room), room.wrapping_add(k))
    };
    let each = |count: usize, bytes: usize, body: &(dyn Fn(std::ops::Range<usize>) + Sync)| {
        if parallel {
            parallel::ranges(count, 1, bytes, body);
        } else if count > 0 {
            body(0..count);
        }
    };
    // SAFETY: the vector has `k` elements, here and below.
    let x_part =
        move |from: usize, to: usize| unsafe { std::slice::from_raw_parts(x.get().add(from), to - from) };

    if a.col == 1 && !(a.row == 1 && k < m) {
        let chunks = k.div_ceil(CHUNK).max(1);
        if m > 8 || chunks == 1 {
            each(m, k * size_of::<T>(), &|rows| {
                for row in rows {
                    let at = a.offset(row as isize * a.row).ptr;
                    let sum = (0..chunks).fold(T::default(), |sum, i| {
                        let (from, to) = (i * CHUNK, ((i + 1) * CHUNK).min(k));
                        // SAFETY: part of row `row`, whose `k` elements are neighbours.
                        let part = unsafe { std::slice::from_raw_parts(at.get().add(from), to - from) };
                        sum + T::dot(part, x_part(from, to))
                    });
                    finish(row, sum);
                }
            });
            return;
        }
        // A few long rows: the chunks are shared out, and added in order.
        let slots = Shared(room);
        each(m * chunks, CHUNK * size_of::<T>(), &|jobs| {
            for job in jobs {
                let at = a.offset((job / chunks) as isize * a.row).ptr;
                let (from, to) = (job % chunks * CHUNK, ((job % chunks + 1) * CHUNK).min(k));
                // SAFETY: as above; each job has its own slot.
                unsafe {
                    let part = std::slice::from_raw_parts(at.get().add(from), to - from);
                    *slots.get().add(job) = T::dot(part, x_part(from, to));
                }
            }
        });
        // SAFETY: each job has filled its slot.
        let sums = unsafe { std::slice::from_raw_parts(room, m * chunks) };
        for (row, part) in sums.chunks(chunks).enumerate() {
            finish(row, part.iter().fold(T::default(), |sum, &s| sum + s));
        }
        return;
    }

    // Columns are neighbours: all sums of a band of rows grow together.
    let band = ROWS.min(m.div_ceil(parallel::cores()).next_multiple_of(32));
    each(m.div_ceil(band), k * band * size_of::<T>(), &|bands| {
        let mut sums = [T::default(); ROWS];
        for i in bands {
            let (first, last) = (i * band, ((i + 1) * band).min(m));
            let sums = &mut sums[..last - first];
            sums.fill(T::default());
            // SAFETY: rows `first..last` of the `k` columns, and the `k` elements of the vector.
            unsafe { T::add_columns(a.offset(first as isize).ptr.get(), a.col, x_part(0, k), sums) };
            for (row, &sum) in (first..last).zip(sums.iter()) {
                finish(row, sum);
            }
        }
    });
}

/// Element types with inner loops for whatever vectors the machine has.
pub(super) trait Dot:
    Copy + Default + PartialEq + Send + Sync + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    /// The sum of products.
    fn dot(a: &[Self], b: &[Self]) -> Self;

    /// Adds `x[i]` times column `i` to `sums`, for all `i`; columns lie `pitch` apart.
    ///
    /// # Safety
    /// Each column must have `sums.len()` elements, one after the other.
    unsafe fn add_columns(a: *const Self, pitch: isize, x: &[Self], sums: &mut [Self]);
}

/// One multiply-add; fused where the surrounding function is compiled for it.
trait MulAdd: Copy {
    fn times_plus<const FUSED: bool>(self, factor: Self, sum: Self) -> Self;
}

macro_rules! floats {
    ($($ty:ty),*) => {
        $(impl MulAdd for $ty {
            #[inline(always)]
            fn times_plus<const FUSED: bool>(self, factor: $ty, sum: $ty) -> $ty {
                // Without the instruction, a fused operation is a slow call.
                if FUSED { <$ty>::mul_add(self, factor, sum) } else { self * factor + sum }
            }
        })*
    };
}

floats! { f32, f64 }

impl MulAdd for Complex32 {
    #[inline(always)]
    fn times_plus<const FUSED: bool>(self, factor: Complex32, sum: Complex32) -> Complex32 {
        let re = self.re.times_plus::<FUSED>(factor.re, sum.re);
        let im = self.re.times_plus::<FUSED>(factor.im, sum.im);
        Complex32::new(
            (-self.im).times_plus::<FUSED>(factor.im, re),
            self.im.times_plus::<FUSED>(factor.re, im),
        )
    }
}

#[inline(always)]
fn dot<T: Dot + MulAdd, const LANES: usize, const FUSED: bool>(a: &[T], b: &[T]) -> T {
    // Independent sums, so that one addition need not wait for the one before it.
    let mut sums = [T::default(); LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_chunks.remainder(), b_chunks.remainder());
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] = a[i].times_plus::<FUSED>(b[i], sums[i]);
        }
    }
    for (i, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[i] = a.times_plus::<FUSED>(b, sums[i]);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] = sums[i] + sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}

/// # Safety
/// As for [`Dot::add_columns`].
#[inline(always)]
unsafe fn add_columns<T: Dot + MulAdd, const FUSED: bool>(
    a: *const T,
    pitch: isize,
    x: &[T],
    sums: &mut [T],
) {
    let rows = sums.len();
    // SAFETY: the caller's promise.
    let column = |i: usize| unsafe { std::slice::from_raw_parts(a.offset(i as isize * pitch), rows) };
    let mut i = 0;
    // Four columns at a time: the sums are loaded and stored a quarter as often.
    while i + 4 <= x.len() {
        let (c0, c1, c2, c3) = (column(i), column(i + 1), column(i + 2), column(i + 3));
        let x = &x[i..i + 4];
        for j in 0..rows {
            let s = c0[j].times_plus::<FUSED>(x[0], sums[j]);
            let s = c1[j].times_plus::<FUSED>(x[1], s);
            let s = c2[j].times_plus::<FUSED>(x[2], s);
            sums[j] = c3[j].times_plus::<FUSED>(x[3], s);
        }
        i += 4;
    }
    for (i, &x) in x.iter().enumerate().skip(i) {
        for (sum, &c) in sums.iter_mut().zip(column(i)) {
            *sum = c.times_plus::<FUSED>(x, *sum);
        }
    }
}

macro_rules! dots {
    ($($ty:ty, $lanes:literal);*) => {
        $(impl Dot for $ty {
            fn dot(a: &[$ty], b: &[$ty]) -> $ty {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,fma")]
                    fn wide(a: &[$ty], b: &[$ty]) -> $ty {
                        dot::<$ty, $lanes, true>(a, b)
                    }
                    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                        // SAFETY: both features were just found.
                        return unsafe { wide(a, b) };
                    }
                }
                dot::<$ty, $lanes, { cfg!(target_arch = "aarch64") }>(a, b)
            }

            unsafe fn add_columns(a: *const $ty, pitch: isize, x: &[$ty], sums: &mut [$ty]) {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,fma")]
                    unsafe fn wide(a: *const $ty, pitch: isize, x: &[$ty], sums: &mut [$ty]) {
                        // SAFETY: the caller's promise.
                        unsafe { add_columns::<$ty, true>(a, pitch, x, sums) };
                    }
                    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                        // SAFETY: both features were just found; the rest is the caller's promise.
                        return unsafe { wide(a, pitch, x, sums) };
                    }
                }
                // SAFETY: the caller's promise.
                unsafe { add_columns::<$ty, { cfg!(target_arch = "aarch64") }>(a, pitch, x, sums) };
            }
        })*
    };
}

dots! { f32, 32; f64, 16; Complex32, 8 }
