//! Cross entropy with class indices, and its gradient: each row of logits is read once from memory.

use std::sync::OnceLock;

use super::accumulator::Acc;
use super::exp::Exp;
use super::real::{Real, Rows, put, sum_of, widest, with_real};
use super::tensor::{In, Out};
use super::{parallel, reduce::Max, reduce::fold};
use crate::error::{Error, Result};

const NAME: &str = "cross_entropy";

/// `logsumexp(logits) − logits[target]` for each row, as `float32` (`float64` for such logits).
pub(crate) fn cross_entropy(logits: &In, targets: &In, out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    with_real!(NAME, logits.dtype, A => {
        each_row::<A>(logits, targets, |row, logits, target| {
            let (max, sum) = partition(logits);
            let loss = (max.to_f64() - logits[target].to_f64()) + sum.to_f64().ln();
            // SAFETY: one element for each row, which one thread has.
            unsafe { put(out, row, &[A::from_f64(loss)]) };
        })
    })
}

/// `g · (softmax(logits) − one-hot(target))`, with `g` for each row.
pub(crate) fn cross_entropy_backward(logits: &In, targets: &In, g: &In, out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    let classes = logits.shape.last().copied().unwrap_or(1);
    with_real!(NAME, logits.dtype, A => {
        let g = super::real::all::<A>(NAME, g)?;
        each_row::<A>(logits, targets, |row, logits, target| {
            let (max, sum) = partition(logits);
            let factor = g[row] / sum;
            let mut result = vec![A::ZERO; classes];
            let y = &mut result[..];
            widest(|| y.iter_mut().zip(logits).for_each(|(y, &x)| *y = (x - max).exp_negative() * factor));
            y[target] -= g[row];
            // SAFETY: this row of the output, which one thread has.
            unsafe { put(out, row * classes, y) };
        })
    })
}

/// The largest logit, and the sum of the exponentials relative to it.
fn partition<A: Real>(logits: &[A]) -> (A, A) {
    let max = fold::<A, Max>(logits, A::lowest(A::DTYPE));
    (max, sum_of(logits, logits, |x, _| (x - max).exp_negative()))
}

fn each_row<A: Real>(logits: &In, targets: &In, body: impl Fn(usize, &[A], usize) + Sync) -> Result<()> {
    let rows = Rows::new(logits);
    let classes = rows.len();
    let targets = targets.integers();
    let failure = OnceLock::new();
    parallel::ranges(rows.count(), 1, classes * 4 * logits.dtype.size(), |range| {
        let mut buf = Vec::new();
        for row in range {
            match usize::try_from(targets[row]).ok().filter(|&t| t < classes) {
                Some(target) => body(row, rows.get::<A>(row, &mut buf), target),
                None => {
                    // A second error says nothing more than the first.
                    let _ = failure.set(Error::argument(
                        NAME,
                        format!("target {} of row {row} is not one of {classes} classes", targets[row]),
                    ));
                }
            }
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;
    use crate::array::Dtype;

    #[test]
    fn the_loss_is_the_negative_logarithm_of_the_targets_probability() {
        let logits = Tensor::new(Dtype::Float64, &[2, 3], [1.0, 2.0, 3.0, -1.0, 0.0, 500.0]);
        let targets = Tensor::new(Dtype::Int32, &[2], [2.0, 0.0]);
        let mut out = Tensor::zeros(Dtype::Float64, &[2]);
        cross_entropy(&logits.as_in(), &targets.as_in(), &mut out.as_out()).unwrap();
        let expected = -(3f64.exp() / (1f64.exp() + 2f64.exp() + 3f64.exp())).ln();
        assert!((out.values()[0] - expected).abs() < 1e-12);
        assert!((out.values()[1] - 501.0).abs() < 1e-9);
        let g = Tensor::new(Dtype::Float64, &[2], [2.0, 1.0]);
        let mut back = Tensor::zeros(Dtype::Float64, &[2, 3]);
        cross_entropy_backward(&logits.as_in(), &targets.as_in(), &g.as_in(), &mut back.as_out()).unwrap();
        let p = (-expected).exp();
        assert!((back.values()[2] - 2.0 * (p - 1.0)).abs() < 1e-12);
        assert!(back.values()[..3].iter().sum::<f64>().abs() < 1e-12);
    }

    #[test]
    fn a_target_that_is_no_class_is_an_error_with_its_number() {
        let logits = Tensor::counting(Dtype::Float32, &[2, 3]);
        let targets = Tensor::new(Dtype::Int64, &[2], [2.0, 3.0]);
        let mut out = Tensor::zeros(Dtype::Float32, &[2]);
        let error = cross_entropy(&logits.as_in(), &targets.as_in(), &mut out.as_out()).unwrap_err();
        assert!(error.to_string().contains("target 3 of row 1"), "{error}");
    }
}
