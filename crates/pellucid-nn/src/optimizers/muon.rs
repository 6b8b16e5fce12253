//! Muon, whose steps are nearly orthogonal matrices.

use pellucid::{Array, ops};

use super::{Optimizer, Rate, Rule, Slots, Step, slot, zeros};

/// The polynomial of the iteration, steep at zero so that small singular values grow fast.
const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// The settings of [`Muon`].
#[derive(Clone, Debug)]
pub struct MuonRule {
    momentum: f64,
    weight_decay: f64,
    nesterov: bool,
    iterations: usize,
}

/// Momentum whose matrices are made nearly orthogonal. Meant for weights of two or more axes, not for embeddings.
pub type Muon = Optimizer<MuonRule>;

impl Muon {
    /// With a momentum of 0.95, a decay of 0.01, Nesterov's look ahead and five iterations.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Muon {
        let rule = MuonRule { momentum: 0.95, weight_decay: 0.01, nesterov: true, iterations: 5 };
        Optimizer::with_rule(rule, Some(rate.into()))
    }

    /// How much of the last step is made again.
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> Muon {
        self.rule.momentum = momentum;
        self
    }

    /// A share of the parameter that is added to its gradient.
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> Muon {
        self.rule.weight_decay = decay;
        self
    }

    /// Without looking ahead of the momentum.
    #[must_use]
    pub fn without_nesterov(mut self) -> Muon {
        self.rule.nesterov = false;
        self
    }

    /// How often matrices are brought closer to orthogonal ones.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Muon {
        self.rule.iterations = iterations;
        self
    }
}

impl MuonRule {
    /// Brings all singular values near one by a Newton-Schulz iteration.
    #[track_caller]
    fn orthogonal(&self, x: &Array) -> Array {
        let [a, b, c] = COEFFICIENTS;
        let tall = matches!(*x.shape(), [rows, columns] if rows > columns);
        let turned = |x: Array| if tall { x.t() } else { x };
        let mut x = turned(x.clone());
        x = &x / (ops::sqrt(&ops::sum(&ops::square(&x), .., true)) + 1e-7);
        for _ in 0..self.iterations {
            let gram = x.matmul(&x.t());
            let polynomial = ops::addmm(&(b * &gram), &gram, &gram, c, 1.0);
            x = ops::addmm(&(a * &x), &polynomial, &x, 1.0, 1.0);
        }
        turned(x)
    }
}

impl Rule for MuonRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["v"])
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let gradient = match self.weight_decay {
            0.0 => gradient.clone(),
            decay => gradient + decay * parameter,
        };
        let keep = self.momentum;
        let velocity = keep * slot(slots, "v") + (1.0 - keep) * &gradient;
        slots.insert("v".to_owned(), velocity.clone());
        let update = if self.nesterov { &gradient * (1.0 - keep) + velocity * keep } else { velocity };
        let rate = step.rate(&gradient);
        let [rows, .., _] = *update.shape() else {
            return parameter - rate * update;
        };
        // A convolution's weights are a matrix of outputs by everything else.
        let matrix = update.reshape((rows, -1));
        let columns = matrix.shape().last().copied().unwrap_or(1);
        let rate = rate * (rows as f64 / columns as f64).max(1.0).sqrt();
        parameter - rate * self.orthogonal(&matrix).reshape(update.shape())
    }
}
