//! Adam and its relatives: moving averages of gradients.

use pellucid::{Array, ops};

use super::{Optimizer, Rate, Rule, Slots, Step, slot, zeros};

fn put<const N: usize>(slots: &mut Slots, new: [(&str, &Array); N]) {
    slots.extend(new.map(|(name, array)| (name.to_owned(), array.clone())));
}

/// What is wrong with the factors of two averages, if something is.
fn problem(owner: &str, betas: [f64; 2], eps: f64) -> Option<String> {
    if let Some(beta) = betas.iter().find(|beta| !(0.0..1.0).contains(*beta)) {
        return Some(format!("{owner}: betas must be in [0, 1), not {beta}"));
    }
    (eps.is_nan() || eps < 0.0).then(|| format!("{owner}: eps must be at least 0, not {eps}"))
}

/// The settings of [`Adam`].
#[derive(Clone, Debug)]
pub struct AdamRule {
    betas: [f64; 2],
    eps: f64,
    bias_correction: bool,
}

impl AdamRule {
    const DEFAULT: AdamRule = AdamRule { betas: [0.9, 0.999], eps: 1e-8, bias_correction: false };
}

/// The moving average of the gradient, divided by the root of that of its square.
pub type Adam = Optimizer<AdamRule>;

impl Adam {
    /// With averages that keep 0.9 and 0.999, 1e-8 added to the root, and no correction.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Adam {
        Optimizer::with_rule(AdamRule::DEFAULT, Some(rate.into()))
    }

    /// How much of the two averages is kept.
    #[must_use]
    pub fn betas(mut self, first: f64, second: f64) -> Adam {
        self.rule.betas = [first, second];
        self
    }

    /// What is added to the root.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Adam {
        self.rule.eps = eps;
        self
    }

    /// Makes up for averages that begin at zero.
    #[must_use]
    pub fn bias_correction(mut self) -> Adam {
        self.rule.bias_correction = true;
        self
    }
}

impl Rule for AdamRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["m", "v"])
    }

    fn problem(&self) -> Option<String> {
        problem("Adam", self.betas, self.eps)
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let rate = step.rate(gradient);
        let [b1, b2] = self.betas;
        let m = b1 * slot(slots, "m") + (1.0 - b1) * gradient;
        let v = b2 * slot(slots, "v") + (1.0 - b2) * ops::square(gradient);
        put(slots, [("m", &m), ("v", &v)]);
        if !self.bias_correction {
            return parameter - rate * m / (ops::sqrt(&v) + self.eps);
        }
        let first = (rate / (1 - ops::power(b1, step.step))).astype(gradient.dtype());
        let second = ops::rsqrt(&(1 - ops::power(b2, step.step))).astype(gradient.dtype());
        parameter - first * m / (ops::sqrt(&v) * second + self.eps)
    }
}

/// The settings of [`AdamW`].
#[derive(Clone, Debug)]
pub struct AdamWRule {
    adam: AdamRule,
    weight_decay: f64,
}

/// [`Adam`] with weights that decay apart from the gradient.
pub type AdamW = Optimizer<AdamWRule>;

impl AdamW {
    /// As [`Adam`], with a decay of 0.01.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> AdamW {
        let rule = AdamWRule { adam: AdamRule::DEFAULT, weight_decay: 0.01 };
        Optimizer::with_rule(rule, Some(rate.into()))
    }

    /// How much of the two averages is kept.
    #[must_use]
    pub fn betas(mut self, first: f64, second: f64) -> AdamW {
        self.rule.adam.betas = [first, second];
        self
    }

    /// What is added to the root.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> AdamW {
        self.rule.adam.eps = eps;
        self
    }

    /// Makes up for averages that begin at zero.
    #[must_use]
    pub fn bias_correction(mut self) -> AdamW {
        self.rule.adam.bias_correction = true;
        self
    }

    /// The share of a parameter that it loses in a step, times the learning rate.
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> AdamW {
        self.rule.weight_decay = decay;
        self
    }
}

impl Rule for AdamWRule {
    fn init(&self, parameter: &Array) -> Slots {
        self.adam.init(parameter)
    }

    fn problem(&self) -> Option<String> {
        problem("AdamW", self.adam.betas, self.adam.eps)
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let decayed = parameter * (1 - step.rate(gradient) * self.weight_decay);
        self.adam.apply(step, gradient, &decayed, slots)
    }
}

/// The settings of [`Adamax`].
#[derive(Clone, Debug)]
pub struct AdamaxRule {
    betas: [f64; 2],
    eps: f64,
}

/// [`Adam`] with a decaying largest size of the gradient instead of a root of squares.
pub type Adamax = Optimizer<AdamaxRule>;

impl Adamax {
    /// As [`Adam`].
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Adamax {
        Optimizer::with_rule(AdamaxRule { betas: [0.9, 0.999], eps: 1e-8 }, Some(rate.into()))
    }

    /// How much of the average and the largest size is kept.
    #[must_use]
    pub fn betas(mut self, first: f64, second: f64) -> Adamax {
        self.rule.betas = [first, second];
        self
    }

    /// What is added to the largest size.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Adamax {
        self.rule.eps = eps;
        self
    }
}

impl Rule for AdamaxRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["m", "v"])
    }

    fn problem(&self) -> Option<String> {
        problem("Adamax", self.betas, self.eps)
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let [b1, b2] = self.betas;
        let m = b1 * slot(slots, "m") + (1.0 - b1) * gradient;
        let v = ops::maximum(b2 * slot(slots, "v"), ops::abs(gradient));
        put(slots, [("m", &m), ("v", &v)]);
        parameter - step.rate(gradient) * m / (v + self.eps)
    }
}

/// The settings of [`Lion`].
#[derive(Clone, Debug)]
pub struct LionRule {
    betas: [f64; 2],
    weight_decay: f64,
}

/// Steps of one size in the direction of the sign of a moving average.
pub type Lion = Optimizer<LionRule>;

impl Lion {
    /// With averages that keep 0.9 and 0.99, and no decay.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Lion {
        Optimizer::with_rule(LionRule { betas: [0.9, 0.99], weight_decay: 0.0 }, Some(rate.into()))
    }

    /// How much of the average is kept for the direction, and how much for the next step.
    #[must_use]
    pub fn betas(mut self, first: f64, second: f64) -> Lion {
        self.rule.betas = [first, second];
        self
    }

    /// The share of a parameter that it loses in a step, times the learning rate.
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> Lion {
        self.rule.weight_decay = decay;
        self
    }
}

impl Rule for LionRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["m"])
    }

    fn problem(&self) -> Option<String> {
        problem("Lion", self.betas, 0.0)
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let rate = step.rate(gradient);
        let [b1, b2] = self.betas;
        let m = slot(slots, "m");
        let direction = ops::sign(&(b1 * &m + (1.0 - b1) * gradient));
        put(slots, [("m", &(b2 * m + (1.0 - b2) * gradient))]);
        if self.weight_decay > 0.0 {
            return (1 - &rate * self.weight_decay) * parameter - rate * direction;
        }
        parameter - rate * direction
    }
}
