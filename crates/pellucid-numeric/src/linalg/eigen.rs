//! Eigenvalues and vectors.

use faer::linalg::solvers::Eigen;
use faer::traits::ext::ComplexFieldExt;
use faer::traits::{ComplexField, RealField};
use faer::{MatRef, Side};
use num_complex::{Complex, Complex32};

use super::{Failure, Field, Size, Triangle, columns, finite, write};

pub(super) fn symmetric<T>(
    a: &[T],
    n: usize,
    triangle: Triangle,
    values: &mut [<T as Field>::Real],
    vectors: Option<&mut [T]>,
) -> Result<(), Failure>
where
    T: ComplexField<Real = <T as Field>::Real> + Field,
    <T as Field>::Real: RealField + Copy,
{
    if n == 0 {
        return Ok(());
    }
    let side = match triangle {
        Triangle::Lower => Side::Lower,
        Triangle::Upper => Side::Upper,
    };
    let read = |i: usize| match triangle {
        Triangle::Lower => &a[i * n..=i * n + i],
        Triangle::Upper => &a[i * n + i..(i + 1) * n],
    };
    if !finite((0..n).flat_map(read)) {
        values.fill(<T as Field>::Real::nan_impl());
        if let Some(vectors) = vectors {
            vectors.fill(T::nan_impl());
        }
        return Ok(());
    }
    let matrix = columns(a, Size::square(n));
    let failed = |_| Failure::NoConvergence;
    let Some(vectors) = vectors else {
        values.copy_from_slice(&matrix.self_adjoint_eigenvalues(side).map_err(failed)?);
        return Ok(());
    };
    let found = matrix.self_adjoint_eigen(side).map_err(failed)?;
    for (value, found) in values.iter_mut().zip(found.S().column_vector().iter()) {
        *value = found.real();
    }
    write(found.U(), vectors);
    Ok(())
}

/// What both kinds of general matrices share.
fn general<T: ToSingle>(
    found: Result<Eigen<T>, faer::linalg::evd::EvdError>,
    values: &mut [Complex32],
    vectors: Option<&mut [Complex32]>,
) -> Result<(), Failure> {
    let found = found.map_err(|_| Failure::NoConvergence)?;
    for (value, found) in values.iter_mut().zip(found.S().column_vector().iter()) {
        *value = T::single(*found);
    }
    if let Some(vectors) = vectors {
        normalise(found.U(), vectors);
    }
    Ok(())
}

/// Columns of length one whose largest element is real, as LAPACK gives them.
fn normalise<T: ToSingle>(from: MatRef<Complex<T>>, to: &mut [Complex32]) {
    let n = from.nrows();
    for j in 0..from.ncols() {
        let column = from.col(j);
        let length = column.iter().map(|v| T::double(*v).norm_sqr()).sum::<f64>().sqrt();
        let largest = column
            .iter()
            .map(|v| T::double(*v))
            .fold(Complex::new(0.0, 0.0), |best, v| if v.norm_sqr() > best.norm_sqr() { v } else { best });
        // A real vector keeps its sign.
        let turn = if column.iter().all(|v| T::double(*v).im == 0.0) || largest.norm_sqr() == 0.0 {
            Complex::new(1.0, 0.0)
        } else {
            largest.conj() / largest.norm()
        };
        for i in 0..n {
            let v = T::double(column[i]) * turn / length;
            to[i * n + j] = Complex32::new(v.re as f32, v.im as f32);
        }
    }
}

pub(super) fn real<T: ToSingle>(
    a: &[T],
    n: usize,
    values: &mut [Complex32],
    vectors: Option<&mut [Complex32]>,
) -> Result<(), Failure> {
    if n == 0 {
        return Ok(());
    }
    if !finite(a) {
        return Err(Failure::NotFinite);
    }
    let matrix = columns(a, Size::square(n));
    if vectors.is_some() {
        return general(matrix.as_ref().eigen(), values, vectors);
    }
    let found = matrix.as_ref().eigenvalues().map_err(|_| Failure::NoConvergence)?;
    for (value, found) in values.iter_mut().zip(found) {
        *value = T::single(found);
    }
    Ok(())
}

pub(super) fn complex(
    a: &[Complex32],
    n: usize,
    values: &mut [Complex32],
    vectors: Option<&mut [Complex32]>,
) -> Result<(), Failure> {
    if n == 0 {
        return Ok(());
    }
    if !finite(a) {
        return Err(Failure::NotFinite);
    }
    let matrix = columns(a, Size::square(n));
    if vectors.is_some() {
        return general(matrix.as_ref().eigen(), values, vectors);
    }
    values.copy_from_slice(&matrix.as_ref().eigenvalues().map_err(|_| Failure::NoConvergence)?);
    Ok(())
}

/// Eigenvalues are `complex64`, whatever the matrix was; lengths are found in double precision.
pub(super) trait ToSingle: RealField + Copy {
    fn single(v: Complex<Self>) -> Complex32;
    fn double(v: Complex<Self>) -> Complex<f64>;
}

impl ToSingle for f32 {
    fn single(v: Complex32) -> Complex32 {
        v
    }

    fn double(v: Complex32) -> Complex<f64> {
        Complex::new(f64::from(v.re), f64::from(v.im))
    }
}

impl ToSingle for f64 {
    fn single(v: Complex<f64>) -> Complex32 {
        Complex32::new(v.re as f32, v.im as f32)
    }

    fn double(v: Complex<f64>) -> Complex<f64> {
        v
    }
}
