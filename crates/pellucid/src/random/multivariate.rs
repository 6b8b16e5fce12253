//! The normal distribution of several dependent numbers.

use super::distributions::normal;
use crate::array::{Array, Dtype, Shape, fail, ok};
use crate::error::{Error, Result};
use crate::{linalg, ops};

/// What the shapes of the mean and the covariance say: how many numbers belong together.
fn check(mean: &Array, cov: &Array) -> Result<usize> {
    let wrong = |message: String| Err(Error::shape("multivariate_normal", message));
    let Some(&n) = mean.shape().last() else {
        return wrong("the mean needs one or more axes".to_owned());
    };
    match cov.shape() {
        [.., rows, columns] if rows != columns => {
            wrong(format!("the covariance must be square matrices, not of shape {}", cov.shape_ref()))
        }
        [.., rows, _] if *rows != n => wrong(format!(
            "the mean has {n} numbers, the covariance {rows} rows (shapes {} and {})",
            mean.shape_ref(),
            cov.shape_ref()
        )),
        [.., _, _] => Ok(n),
        _ => wrong(format!("the covariance needs two or more axes, not shape {}", cov.shape_ref())),
    }
}

/// Numbers that are normal together, with these means and covariances (positive semidefinite matrices). `shape` is that
/// of the samples; without it, that of the leading axes of both.
///
/// # Errors
/// [`Error::Shape`] if the shapes do not fit, [`Error::Dtype`] unless the type is `float32`.
#[track_caller]
pub fn multivariate_normal(
    mean: &Array,
    cov: &Array,
    shape: impl Into<Shape>,
    dtype: Dtype,
    key: Option<&Array>,
) -> Array {
    let name = "multivariate_normal";
    ok!(mean, cov, key);
    let shape = shape.into();
    if dtype != Dtype::Float32 {
        return fail(Error::dtype(name, format!("gives float32, not {dtype}")));
    }
    let n = ok!(check(mean, cov));
    let lead = Shape::from(&mean.shape()[..mean.ndim() - 1]);
    let batch = ok!(lead.broadcast_for(name, &Shape::from(&cov.shape()[..cov.ndim() - 2])));
    let samples = if shape.is_empty() { batch.clone() } else { shape };
    if ok!(samples.broadcast_for(name, &batch)) != samples {
        let message =
            format!("the leading axes {batch} of mean and covariance do not broadcast to {samples}");
        return fail(Error::shape(name, message));
    }
    let mut whole = samples;
    whole.push(n);
    // The symmetric root, which does not depend on the signs that a decomposition happens to choose.
    let (u, values, v) = linalg::svd(&ops::astype(cov, dtype));
    let scaled = ops::multiply(&u, &ops::expand_dims(&ops::sqrt(&values), -2));
    let root = ops::matmul(&scaled, &v);
    let standard = normal(whole, dtype, 0, 1, key);
    let turned = ops::squeeze(&ops::matmul(&ops::expand_dims(&standard, -2), &root), -2);
    ops::add(mean, &turned)
}
