//! Singular values.

use faer::traits::ext::ComplexFieldExt;
use faer::traits::{ComplexField, RealField};

use super::{Failure, Field, Size, SvdOut, columns, finite, write};

pub(super) fn svd<T>(a: &[T], size: Size, out: SvdOut<T>) -> Result<(), Failure>
where
    T: ComplexField<Real = <T as Field>::Real> + Field,
    <T as Field>::Real: RealField + Copy,
{
    if !finite(a) {
        return Err(Failure::NotFinite);
    }
    let matrix = columns(a, size);
    let failed = |_| Failure::NoConvergence;
    let Some((u, v)) = out.vectors else {
        out.values.copy_from_slice(&matrix.singular_values().map_err(failed)?);
        return Ok(());
    };
    let thin = u.len() == size.rows * size.least() && v.len() == size.cols * size.least();
    let found = if thin { matrix.thin_svd() } else { matrix.svd() }.map_err(failed)?;
    for (value, found) in out.values.iter_mut().zip(found.S().column_vector().iter()) {
        *value = found.real();
    }
    write(found.U(), u);
    write(found.V().adjoint().to_owned().as_ref(), v);
    Ok(())
}
