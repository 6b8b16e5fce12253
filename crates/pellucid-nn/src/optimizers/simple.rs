//! Gradient descent and the optimisers that scale each element by its past gradients.

use pellucid::{Array, ops};

use super::{Optimizer, Rate, Rule, Slots, Step, slot, zeros};

fn put<const N: usize>(slots: &mut Slots, new: [(&str, &Array); N]) {
    slots.extend(new.map(|(name, array)| (name.to_owned(), array.clone())));
}

/// The settings of [`Sgd`].
#[derive(Clone, Debug)]
pub struct SgdRule {
    momentum: f64,
    weight_decay: f64,
    dampening: f64,
    nesterov: bool,
}

/// Stochastic gradient descent, with momentum, dampening of it, and Nesterov's look ahead.
pub type Sgd = Optimizer<SgdRule>;

impl Sgd {
    /// Without momentum and decay.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Sgd {
        let rule = SgdRule { momentum: 0.0, weight_decay: 0.0, dampening: 0.0, nesterov: false };
        Optimizer::with_rule(rule, Some(rate.into()))
    }

    /// How much of the last step is made again.
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> Sgd {
        self.rule.momentum = momentum;
        self
    }

    /// A share of the parameter that is added to its gradient.
    #[must_use]
    pub fn weight_decay(mut self, decay: f64) -> Sgd {
        self.rule.weight_decay = decay;
        self
    }

    /// How much less of a gradient enters the momentum.
    #[must_use]
    pub fn dampening(mut self, dampening: f64) -> Sgd {
        self.rule.dampening = dampening;
        self
    }

    /// Looks ahead of the momentum, which must be above zero and not dampened.
    #[must_use]
    pub fn nesterov(mut self) -> Sgd {
        self.rule.nesterov = true;
        self
    }
}

impl Rule for SgdRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["v"])
    }

    fn problem(&self) -> Option<String> {
        (self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0)).then(|| {
            let (momentum, dampening) = (self.momentum, self.dampening);
            format!(
                "Sgd: nesterov needs a momentum above zero and no dampening, not {momentum} and {dampening}"
            )
        })
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let decayed = match self.weight_decay {
            0.0 => gradient.clone(),
            decay => gradient + decay * parameter,
        };
        let rate = step.rate(&decayed);
        if self.momentum <= 0.0 {
            return parameter - rate * decayed;
        }
        let moved = if self.dampening > 0.0 { (1.0 - self.dampening) * &decayed } else { decayed.clone() };
        let velocity = self.momentum * slot(slots, "v") + moved;
        put(slots, [("v", &velocity)]);
        let update = if self.nesterov { decayed + self.momentum * velocity } else { velocity };
        parameter - rate * update
    }
}

/// The settings of [`RMSprop`].
#[derive(Clone, Debug)]
pub struct RMSpropRule {
    alpha: f64,
    eps: f64,
}

/// Divides the gradient by the root of a moving average of its square.
pub type RMSprop = Optimizer<RMSpropRule>;

impl RMSprop {
    /// With an average that keeps 0.99, and 1e-8 added to its root.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> RMSprop {
        Optimizer::with_rule(RMSpropRule { alpha: 0.99, eps: 1e-8 }, Some(rate.into()))
    }

    /// How much of the average is kept.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> RMSprop {
        self.rule.alpha = alpha;
        self
    }

    /// What is added to the root.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> RMSprop {
        self.rule.eps = eps;
        self
    }
}

/// What is wrong with a setting that must not be negative, if it is.
fn negative(owner: &str, settings: &[(&str, f64)]) -> Option<String> {
    let wrong = settings.iter().find(|(_, value)| value.is_nan() || *value < 0.0);
    wrong.map(|(name, value)| format!("{owner}: {name} must be at least 0, not {value}"))
}

impl Rule for RMSpropRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["v"])
    }

    fn problem(&self) -> Option<String> {
        negative("RMSprop", &[("alpha", self.alpha), ("eps", self.eps)])
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let v = self.alpha * slot(slots, "v") + (1.0 - self.alpha) * ops::square(gradient);
        put(slots, [("v", &v)]);
        parameter - step.rate(gradient) * gradient / (ops::sqrt(&v) + self.eps)
    }
}

/// The settings of [`Adagrad`].
#[derive(Clone, Debug)]
pub struct AdagradRule {
    eps: f64,
}

/// Divides the gradient by the root of the sum of all its squares.
pub type Adagrad = Optimizer<AdagradRule>;

impl Adagrad {
    /// With 1e-8 added to the root.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> Adagrad {
        Optimizer::with_rule(AdagradRule { eps: 1e-8 }, Some(rate.into()))
    }

    /// What is added to the root.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Adagrad {
        self.rule.eps = eps;
        self
    }
}

impl Rule for AdagradRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["v"])
    }

    fn problem(&self) -> Option<String> {
        negative("Adagrad", &[("eps", self.eps)])
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let v = slot(slots, "v") + ops::square(gradient);
        put(slots, [("v", &v)]);
        parameter - step.rate(gradient) * gradient / (ops::sqrt(&v) + self.eps)
    }
}

/// The settings of [`AdaDelta`].
#[derive(Clone, Debug)]
pub struct AdaDeltaRule {
    rho: f64,
    eps: f64,
}

/// Scales the gradient by the ratio of the sizes of past updates and past gradients.
pub type AdaDelta = Optimizer<AdaDeltaRule>;

impl AdaDelta {
    /// With averages that keep 0.9, and 1e-6 added to them.
    #[track_caller]
    pub fn new(rate: impl Into<Rate>) -> AdaDelta {
        Optimizer::with_rule(AdaDeltaRule { rho: 0.9, eps: 1e-6 }, Some(rate.into()))
    }

    /// How much of the averages is kept.
    #[must_use]
    pub fn rho(mut self, rho: f64) -> AdaDelta {
        self.rule.rho = rho;
        self
    }

    /// What is added to the averages.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> AdaDelta {
        self.rule.eps = eps;
        self
    }
}

impl Rule for AdaDeltaRule {
    fn init(&self, parameter: &Array) -> Slots {
        zeros(parameter, ["v", "u"])
    }

    fn problem(&self) -> Option<String> {
        negative("AdaDelta", &[("rho", self.rho), ("eps", self.eps)])
    }

    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array {
        let (rho, eps) = (self.rho, self.eps);
        let u = slot(slots, "u");
        let v = rho * slot(slots, "v") + (1.0 - rho) * ops::square(gradient);
        let update = ops::sqrt(&(&u + eps)) / ops::sqrt(&(&v + eps)) * gradient;
        let u = rho * u + (1.0 - rho) * ops::square(&update);
        put(slots, [("v", &v), ("u", &u)]);
        parameter - step.rate(gradient) * update
    }
}
