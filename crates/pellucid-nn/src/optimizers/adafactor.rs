//! Adafactor, which keeps little for large matrices.

use pellucid::{Array, ops};

use super::{Optimizer, Rule, Slots, Step, slot, zeros};

/// The settings of [`Adafactor`].
#[derive(Clone, Debug)]
pub struct AdafactorRule {
    /// What is added to squares of gradients, and the least size of a parameter that steps are relative to.
    pub eps: [f64; 2],
    /// How large the root mean square of an update may be.
    pub clip_threshold: f64,
    /// The power of the step by which averages are renewed.
    pub decay_rate: f64,
    /// How much of the last update is made again, if it is kept.
    pub beta_1: Option<f64>,
    /// The share of a parameter that it loses in a step, times the learning rate.
    pub weight_decay: f64,
    /// Whether steps are relative to the size of the parameter.
    pub scale_parameter: bool,
    /// Whether the learning rate follows from the step.
    pub relative_step: bool,
    /// Whether it then grows slowly from zero.
    pub warmup_init: bool,
}

impl Default for AdafactorRule {
    fn default() -> AdafactorRule {
        AdafactorRule {
            eps: [1e-30, 1e-3],
            clip_threshold: 1.0,
            decay_rate: -0.8,
            beta_1: None,
            weight_decay: 0.0,
            scale_parameter: true,
            relative_step: true,
            warmup_init: false,
        }
    }
}

/// Keeps, for matrices, the squares of gradients as one number for each row and column. Its settings are the fields of
/// [`AdafactorRule`].
///
/// ```
/// use pellucid_nn::optimizers::{Adafactor, AdafactorRule};
/// let by_itself = Adafactor::new();
/// let rule = AdafactorRule { relative_step: false, beta_1: Some(0.9), ..Default::default() };
/// let with_a_rate = Adafactor::with_rule(rule, Some(0.01.into()));
/// # let _ = (by_itself, with_a_rate);
/// ```
pub type Adafactor = Optimizer<AdafactorRule>;

impl Adafactor {
    /// A learning rate that follows from the step, relative to the size of each parameter.
    #[track_caller]
    #[expect(
        clippy::new_without_default,
        reason = "other optimizers need a learning rate and have none either"
    )]
    pub fn new() -> Adafactor {
        Optimizer::with_rule(AdafactorRule::default(), None)
    }
}

#[track_caller]
fn root_mean_square(x: &Array) -> Array {
    ops::sqrt(&ops::mean(&ops::square(x), .., false))
}

fn put(slots: &mut Slots, name: &str, array: &Array) {
    slots.insert(name.to_owned(), array.clone());
}

impl AdafactorRule {
    #[track_caller]
    fn rate(&self, step: &Step, size: &Array) -> Array {
        let rate = if self.relative_step {
            let most = if self.warmup_init {
                1e-6 * step.step
            } else {
                ops::full((), 1e-2, pellucid::Dtype::Float32)
            };
            ops::minimum(most, ops::rsqrt(step.step)).astype(size.dtype())
        } else {
            step.rate(size)
        };
        if self.scale_parameter { ops::maximum(self.eps[1], size) * rate } else { rate }
    }

    /// The gradient by the root of the average of its squares, of which a matrix has only rows and columns.
    #[track_caller]
    fn scaled(&self, step: &Step, gradient: &Array, slots: &mut Slots) -> Array {
        let keep = 1.0 - ops::power(step.step, self.decay_rate).astype(gradient.dtype());
        let square = ops::square(gradient) + self.eps[0];
        if gradient.ndim() < 2 {
            let average = &keep * slot(slots, "exp_avg_sq") + (1 - &keep) * square;
            put(slots, "exp_avg_sq", &average);
            return ops::rsqrt(&average) * gradient;
        }
        let mean = |axis: i64| ops::mean(&square, axis, false);
        let row = &keep * slot(slots, "exp_avg_sq_row") + (1 - &keep) * mean(-1);
        let col = &keep * slot(slots, "exp_avg_sq_col") + (1 - &keep) * mean(-2);
        put(slots, "exp_avg_sq_row", &row);
        put(slots, "exp_avg_sq_col", &col);
        let rows = ops::rsqrt(&(&row / ops::mean(&row, -1, true)));
        let outer = ops::expand_dims(&rows, -1).matmul(&ops::expand_dims(&ops::rsqrt(&col), -2));
        outer * gradient
    }
}

impl Rule for AdafactorRule {
    fn init(&self, parameter: &Array) -> Slots {
        let (shape, dtype) = (parameter.shape(), parameter.dtype());
        let mut slots = match shape {
            [.., _, columns] => {
                let rows = &shape[..shape.len() - 1];
                let mut cols = shape[..shape.len() - 2].to_vec();
                cols.push(*columns);
                let row = ("exp_avg_sq_row".to_owned(), ops::zeros(rows, dtype));
                [row, ("exp_avg_sq_col".to_owned(), ops::zeros(cols, dtype))].into()
            }
            _ => zeros(parameter, ["exp_avg_sq"]),
        };
        if self.beta_1.is_some() {
            slots.extend(zeros(parameter, ["exp_avg"]));
        }
        slots
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let rate = self.rate(step, &root_mean_square(parameter));
        let update = self.scaled(step, gradient, slots);
        let large = root_mean_square(&update) / self.clip_threshold;
        let mut update = &rate * (update / ops::maximum(1.0, large));
        if let Some(beta) = self.beta_1 {
            update = beta * slot(slots, "exp_avg") + (1.0 - beta) * update;
            put(slots, "exp_avg", &update);
        }
        if self.weight_decay != 0.0 {
            return parameter + parameter * (-self.weight_decay * rate) - update;
        }
        parameter - update
    }
}
