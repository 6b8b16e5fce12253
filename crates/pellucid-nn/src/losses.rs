//! Losses. They return the loss of each sample or element; take the mean or the sum of it with `.mean(..)` or `.sum(..)`.
//!
//! ```
//! use pellucid_nn::prelude::*;
//! # fn main() -> pellucid::Result<()> {
//! let logits = array![[2.0, -1.0], [0.0, 1.0]];
//! let targets = array![0, 1];
//! let loss = losses::cross_entropy(&logits, &targets).mean(..);
//! assert!((loss.item::<f32>()? - 0.1809).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

use pellucid::transform::stop_gradient;
use pellucid::{Array, ops};

use crate::error;

/// The failed array for two arrays whose shapes differ, if they do.
#[track_caller]
fn same_shape(function: &'static str, [first, second]: [&str; 2], a: &Array, b: &Array) -> Option<Array> {
    for x in [a, b] {
        if x.check().is_err() {
            return Some(x.clone());
        }
    }
    (a.shape() != b.shape()).then(|| {
        let (a, b) = (a.shape_ref(), b.shape_ref());
        error::shape(function, format!("{first} of shape {a} and {second} of shape {b} must have one shape"))
    })
}

/// The cross entropy of logits with targets: numbers of classes, or probabilities in the shape of the logits.
/// [`CrossEntropy`] has the settings.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the targets do not fit the logits.
#[track_caller]
pub fn cross_entropy(logits: &Array, targets: &Array) -> Array {
    CrossEntropy::default().loss(logits, targets)
}

/// [`cross_entropy`] with settings.
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// Factors of the losses.
    pub weights: Option<Array>,
    /// The axis of the classes.
    pub axis: i64,
    /// How much of the targets is replaced by the uniform distribution, from 0 to 1.
    pub label_smoothing: f64,
}

impl Default for CrossEntropy {
    /// No weights, the last axis, no smoothing.
    fn default() -> CrossEntropy {
        CrossEntropy { weights: None, axis: -1, label_smoothing: 0.0 }
    }
}

impl CrossEntropy {
    /// The loss of each sample.
    ///
    /// # Errors
    /// [`Error::Shape`](pellucid::Error::Shape) if targets or weights do not fit,
    /// [`Error::Argument`](pellucid::Error::Argument) if the smoothing is not from 0 to 1.
    #[track_caller]
    pub fn loss(&self, logits: &Array, targets: &Array) -> Array {
        let name = "cross_entropy";
        for x in [logits, targets] {
            if x.check().is_err() {
                return x.clone();
            }
        }
        let smoothing = self.label_smoothing;
        if !(0.0..1.0).contains(&smoothing) {
            return error::argument(name, format!("label_smoothing must be in [0, 1), not {smoothing}"));
        }
        let place = if self.axis < 0 { self.axis + logits.ndim() as i64 } else { self.axis };
        let mut rest = logits.shape().to_vec();
        if usize::try_from(place).is_ok_and(|place| place < rest.len()) {
            rest.remove(place as usize);
        }
        let probabilities = targets.ndim() == logits.ndim();
        let wanted = if probabilities { logits.shape() } else { &rest[..] };
        if targets.shape() != wanted {
            let (given, logits) = (targets.shape_ref(), logits.shape_ref());
            let message = format!("targets of shape {given} do not fit logits of shape {logits}");
            return error::shape(name, message);
        }
        let score = if probabilities {
            // Measured from the largest logit, which also settles what targets that do not add up to one mean.
            let top = stop_gradient(&ops::max(logits, self.axis, true));
            ops::sum(&((logits - &top) * targets), self.axis, false) + ops::squeeze(&top, self.axis)
        } else {
            at_targets(logits, targets, self.axis)
        };
        let score = if smoothing > 0.0 {
            (1.0 - smoothing) * score + smoothing * ops::mean(logits, self.axis, false)
        } else {
            score
        };
        let loss = ops::logsumexp(logits, self.axis, false) - score;
        match &self.weights {
            None => loss,
            Some(weights) => match same_shape(name, ["weights", "losses"], weights, &loss) {
                Some(failed) => failed,
                None => loss * weights,
            },
        }
    }
}

/// The elements at the positions that the targets name along an axis.
#[track_caller]
fn at_targets(x: &Array, targets: &Array, axis: i64) -> Array {
    ops::squeeze(&ops::take_along_axis(x, &ops::expand_dims(targets, axis), axis), axis)
}

/// The cross entropy of yes or no, from logits.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn binary_cross_entropy(logits: &Array, targets: &Array) -> Array {
    if let Some(failed) = same_shape("binary_cross_entropy", ["logits", "targets"], logits, targets) {
        return failed;
    }
    ops::logaddexp(0.0, logits) - logits * targets
}

/// The cross entropy of yes or no, from probabilities.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn binary_cross_entropy_of(probabilities: &Array, targets: &Array) -> Array {
    let names = ["probabilities", "targets"];
    if let Some(failed) = same_shape("binary_cross_entropy_of", names, probabilities, targets) {
        return failed;
    }
    let yes = ops::clip(&ops::log(probabilities), -100, None);
    let no = ops::clip(&ops::log(&(1 - probabilities)), -100, None);
    -(targets * yes + (1 - targets) * no)
}

/// `|predictions − targets|`
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn l1_loss(predictions: &Array, targets: &Array) -> Array {
    let failed = same_shape("l1_loss", ["predictions", "targets"], predictions, targets);
    failed.unwrap_or_else(|| ops::abs(&(predictions - targets)))
}

/// `(predictions − targets)²`
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn mse_loss(predictions: &Array, targets: &Array) -> Array {
    let failed = same_shape("mse_loss", ["predictions", "targets"], predictions, targets);
    failed.unwrap_or_else(|| ops::square(&(predictions - targets)))
}

/// The negative of the input, a logarithm of a probability, at the number of the target's class.
#[track_caller]
pub fn nll_loss(inputs: &Array, targets: &Array, axis: i64) -> Array {
    -at_targets(inputs, targets, axis)
}

/// The negative logarithm of the density of targets in normal distributions; `full` adds its constant. Variances below
/// `eps` count as `eps`.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn gaussian_nll_loss(means: &Array, targets: &Array, variances: &Array, full: bool, eps: f64) -> Array {
    let name = "gaussian_nll_loss";
    let failed = same_shape(name, ["means", "targets"], means, targets)
        .or_else(|| same_shape(name, ["means", "variances"], means, variances));
    if let Some(failed) = failed {
        return failed;
    }
    let variances = ops::maximum(variances, eps);
    let loss = 0.5 * (ops::log(&variances) + ops::square(&(targets - means)) / &variances);
    if full { loss + 0.5 * std::f64::consts::TAU.ln() } else { loss }
}

/// The divergence of distributions along an axis, both given as logarithms of probabilities.
#[track_caller]
pub fn kl_div_loss(inputs: &Array, targets: &Array, axis: i64) -> Array {
    ops::sum(&(ops::exp(targets) * (targets - inputs)), axis, false)
}

/// The square of small errors and the size of large ones; `beta` is where one becomes the other.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn smooth_l1_loss(predictions: &Array, targets: &Array, beta: f64) -> Array {
    if let Some(failed) = same_shape("smooth_l1_loss", ["predictions", "targets"], predictions, targets) {
        return failed;
    }
    let error = ops::abs(&(predictions - targets));
    ops::where_(&ops::less(&error, beta), 0.5 * ops::square(&error) / beta, &error - 0.5 * beta)
}

/// How much farther anchors are from positives than from negatives, plus the margin, and zero if that is negative.
/// Distances are of order `p`.
#[track_caller]
pub fn triplet_loss(
    [anchors, positives, negatives]: [&Array; 3],
    axis: i64,
    p: f64,
    margin: f64,
    eps: f64,
) -> Array {
    let distance = |a: &Array, b: &Array| {
        ops::power(ops::sum(&ops::power(ops::abs(&(a - b)), p), axis, false) + eps, 1.0 / p)
    };
    ops::maximum(distance(anchors, positives) - distance(anchors, negatives) + margin, 0)
}

/// `max(1 − inputs · targets, 0)` for targets of 1 and −1.
#[track_caller]
pub fn hinge_loss(inputs: &Array, targets: &Array) -> Array {
    ops::maximum(1 - inputs * targets, 0)
}

/// Half the square of errors up to `delta`, and beyond that a straight line.
#[track_caller]
pub fn huber_loss(inputs: &Array, targets: &Array, delta: f64) -> Array {
    let error = ops::abs(&(inputs - targets));
    let small = ops::minimum(&error, delta);
    0.5 * ops::square(&small) + delta * (error - small)
}

/// The logarithm of the hyperbolic cosine of the error.
#[track_caller]
pub fn log_cosh_loss(inputs: &Array, targets: &Array) -> Array {
    let error = inputs - targets;
    ops::logaddexp(&error, -&error) - std::f64::consts::LN_2
}

/// The cosine of the angle between vectors along an axis; lengths below `eps` count as `eps`.
#[track_caller]
pub fn cosine_similarity_loss(a: &Array, b: &Array, axis: i64, eps: f64) -> Array {
    let norm = |x: &Array| ops::sqrt(&ops::sum(&ops::square(x), axis, false));
    ops::sum(&(a * b), axis, false) / ops::maximum(norm(a) * norm(b), eps)
}

/// How far the order of two inputs is from the wanted one, 1 for the first above the second and −1 otherwise.
///
/// # Errors
/// [`Error::Shape`](pellucid::Error::Shape) if the shapes differ.
#[track_caller]
pub fn margin_ranking_loss(first: &Array, second: &Array, targets: &Array, margin: f64) -> Array {
    let name = "margin_ranking_loss";
    let failed = same_shape(name, ["first", "second"], first, second)
        .or_else(|| same_shape(name, ["first", "targets"], first, targets));
    failed.unwrap_or_else(|| ops::maximum(0, -targets * (first - second) + margin))
}
