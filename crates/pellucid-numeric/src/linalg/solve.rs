//! Inverses and systems of linear equations.

use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::linalg::{triangular_inverse as inversion, triangular_solve as substitution};
use faer::traits::RealField;
use faer::{MatMut, Par};

use super::{Failure, Size, Triangle, columns, write};

/// The first zero on a diagonal.
fn zero_pivot<T: RealField + Copy>(diagonal: impl Iterator<Item = T>) -> Result<(), Failure> {
    match diagonal.into_iter().position(|v| v == T::zero_impl()) {
        Some(row) => Err(Failure::Singular(row)),
        None => Ok(()),
    }
}

pub(super) fn inverse<T: RealField + Copy>(a: &[T], n: usize, out: &mut [T]) -> Result<(), Failure> {
    let found = columns(a, Size::square(n)).partial_piv_lu();
    zero_pivot((0..n).map(|i| found.U()[(i, i)]))?;
    write(found.inverse().as_ref(), out);
    Ok(())
}

pub(super) fn triangular_inverse<T: RealField + Copy>(
    a: &[T],
    n: usize,
    triangle: Triangle,
    out: &mut [T],
) -> Result<(), Failure> {
    zero_pivot((0..n).map(|i| a[i * n + i]))?;
    out.fill(T::zero_impl());
    let matrix = columns(a, Size::square(n));
    let out = MatMut::from_row_major_slice_mut(out, n, n);
    match triangle {
        Triangle::Lower => inversion::invert_lower_triangular(out, matrix.as_ref(), Par::Seq),
        Triangle::Upper => inversion::invert_upper_triangular(out, matrix.as_ref(), Par::Seq),
    }
    Ok(())
}

pub(super) fn general<T: RealField + Copy>(
    a: &[T],
    n: usize,
    b: &[T],
    count: usize,
    x: &mut [T],
) -> Result<(), Failure> {
    let found = columns(a, Size::square(n)).partial_piv_lu();
    zero_pivot((0..n).map(|i| found.U()[(i, i)]))?;
    let mut right = columns(b, Size { rows: n, cols: count });
    found.solve_in_place(&mut right);
    write(right.as_ref(), x);
    Ok(())
}

pub(super) fn triangular<T: RealField + Copy>(
    a: &[T],
    n: usize,
    triangle: Triangle,
    b: &[T],
    count: usize,
    x: &mut [T],
) -> Result<(), Failure> {
    zero_pivot((0..n).map(|i| a[i * n + i]))?;
    let matrix = columns(a, Size::square(n));
    let mut right = columns(b, Size { rows: n, cols: count });
    match triangle {
        Triangle::Lower => {
            substitution::solve_lower_triangular_in_place(matrix.as_ref(), right.as_mut(), Par::Seq)
        }
        Triangle::Upper => {
            substitution::solve_upper_triangular_in_place(matrix.as_ref(), right.as_mut(), Par::Seq)
        }
    }
    write(right.as_ref(), x);
    Ok(())
}
