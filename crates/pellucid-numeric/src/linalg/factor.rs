//! Decompositions in a fixed number of steps: Cholesky, LU and QR.

use faer::Side;
use faer::linalg::cholesky::llt::factor::LltError;
use faer::traits::RealField;
use faer::traits::ext::ComplexFieldExt;
use num_traits::Float;

use super::{Failure, LuOut, Size, columns, finite, write};

pub(super) fn cholesky<T: RealField + Copy>(a: &[T], n: usize, l: &mut [T]) -> Result<(), Failure> {
    let matrix = columns(a, Size::square(n));
    match matrix.llt(Side::Lower) {
        Ok(found) => write(found.L(), l),
        Err(LltError::NonPositivePivot { index }) => {
            let lower = |i: usize| &a[i * n..=i * n + i];
            if !(0..n).flat_map(lower).any(|v| v.is_nan()) {
                return Err(Failure::NotPositiveDefinite(index));
            }
            // Every element of L depends on one that is not a number, or may.
            for (i, row) in l.chunks_mut(n).enumerate() {
                row[..=i].fill(T::nan_impl());
                row[i + 1..].fill(T::zero_impl());
            }
            return Ok(());
        }
    }
    Ok(())
}

pub(super) fn lu<T: RealField + Float>(a: &[T], size: Size, out: LuOut<T>) {
    let least = size.least();
    if least == 0 {
        for (i, row) in out.rows.iter_mut().enumerate() {
            *row = i as u32;
        }
        return;
    }
    let found = columns(a, size).partial_piv_lu();
    let (l, u) = (found.L(), found.U());
    for (i, row) in out.packed.chunks_mut(size.cols).enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = if j < i { l[(i, j)] } else { u[(i, j)] };
        }
    }
    // A column without a pivot is divided by zero, which spoils the rest; one by one it can be passed over.
    if !finite(&*out.packed) && finite(a) {
        return step_by_step(a, size, out);
    }
    let (order, place) = found.P().arrays();
    for (row, &place) in out.rows.iter_mut().zip(place) {
        *row = place as u32;
    }
    // The swaps that lead to the order: `now` is the arrangement of the rows so far, `at` where each of them is.
    let mut now: Vec<usize> = (0..size.rows).collect();
    let mut at = now.clone();
    for (i, pivot) in out.pivots.iter_mut().enumerate().take(least) {
        let from = at[order[i]];
        *pivot = from as u32;
        now.swap(i, from);
        at[now[from]] = from;
        at[now[i]] = i;
    }
}

/// The decomposition column by column, leaving those without a pivot as they are.
fn step_by_step<T: Float>(a: &[T], size: Size, out: LuOut<T>) {
    let (n, packed) = (size.cols, out.packed);
    packed.copy_from_slice(a);
    let mut order: Vec<usize> = (0..size.rows).collect();
    for (k, pivot) in out.pivots.iter_mut().enumerate().take(size.least()) {
        let mut best = k;
        for i in k + 1..size.rows {
            if Float::abs(packed[i * n + k]) > Float::abs(packed[best * n + k]) {
                best = i;
            }
        }
        *pivot = best as u32;
        order.swap(k, best);
        (0..n).for_each(|j| packed.swap(k * n + j, best * n + j));
        let divisor = packed[k * n + k];
        if divisor == T::zero() {
            continue;
        }
        for i in k + 1..size.rows {
            let factor = packed[i * n + k] / divisor;
            packed[i * n + k] = factor;
            for j in k + 1..n {
                packed[i * n + j] = packed[i * n + j] - factor * packed[k * n + j];
            }
        }
    }
    for (place, &row) in order.iter().enumerate() {
        out.rows[row] = place as u32;
    }
}

pub(super) fn qr<T: RealField + Copy>(a: &[T], size: Size, q: &mut [T], r: &mut [T]) {
    if size.least() == 0 {
        return;
    }
    let found = columns(a, size).qr();
    write(found.compute_thin_Q().as_ref(), q);
    let upper = found.thin_R();
    for (i, row) in r.chunks_mut(size.cols).enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = if j < i { T::zero_impl() } else { upper[(i, j)] };
        }
    }
}
