//! Optimisers and schedules, with the settings and results of `mlx.optimizers`.
//!
//! An optimiser keeps a few arrays for each parameter, under the parameter's path, and all of its state is a tree of
//! arrays, so that a step can be compiled and a state saved. An optimiser of one's own implements [`Rule`].
//!
//! ```
//! use pellucid_nn::prelude::*;
//! # fn main() -> pellucid::Result<()> {
//! let mut model = Linear::new(2, 1);
//! let mut optimizer = AdamW::new(schedules::cosine_decay(0.1, 50, 0.0)).weight_decay(0.001);
//! let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![[5.0], [11.0]]);
//! let step = value_and_grad(|model: &Linear, _: &()| losses::mse_loss(&model.forward(&x), &y).mean(..));
//! for _ in 0..5 {
//!     let (_, gradient) = step(&mut model, &())?;
//!     let (gradient, _norm) = clip_grad_norm(&gradient, 1.0);
//!     optimizer.update(&mut model, &gradient);
//! }
//! assert_eq!(optimizer.steps()?, 5);
//! # Ok(())
//! # }
//! ```

mod adafactor;
mod adam;
mod groups;
mod muon;
pub mod schedules;
mod simple;

use std::collections::BTreeMap;
use std::hash::Hasher;

pub use adafactor::{Adafactor, AdafactorRule};
pub use adam::{Adam, AdamRule, AdamW, AdamWRule, Adamax, AdamaxRule, Lion, LionRule};
pub use groups::MultiOptimizer;
pub use muon::{Muon, MuonRule};
use pellucid::io::Arrays;
use pellucid::transform::Tree;
use pellucid::{Array, Error, Result, ops};
pub use schedules::{Rate, Schedule};
pub use simple::{AdaDelta, AdaDeltaRule, Adagrad, AdagradRule, RMSprop, RMSpropRule, Sgd, SgdRule};

use crate::Module;
use crate::module::tree;

/// What an optimiser keeps for one parameter, by name.
pub type Slots = BTreeMap<String, Array>;

/// What a rule knows of the step it is made in.
pub struct Step<'a> {
    /// The learning rate, if there is one.
    pub learning_rate: Option<&'a Array>,
    /// How many steps there were, this one included.
    pub step: &'a Array,
}

impl Step<'_> {
    /// The learning rate in the type of a gradient.
    #[track_caller]
    pub fn rate(&self, gradient: &Array) -> Array {
        match self.learning_rate {
            Some(rate) => rate.astype(gradient.dtype()),
            None => crate::error::argument("optimizer", "there is no learning rate"),
        }
    }
}

/// How an optimiser changes one parameter.
pub trait Rule: Clone + Send + Sync + 'static {
    /// What is kept for a new parameter.
    fn init(&self, parameter: &Array) -> Slots;

    /// The new value of a parameter. What is kept is changed in place.
    fn apply(&self, step: &Step, gradient: &Array, parameter: &Array, slots: &mut Slots) -> Array;

    /// What is wrong with the settings, if something is.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// Arrays of zeros like a parameter, by name.
#[track_caller]
pub(crate) fn zeros<const N: usize>(parameter: &Array, names: [&str; N]) -> Slots {
    names.into_iter().map(|name| (name.to_owned(), ops::zeros_like(parameter))).collect()
}

/// What is kept under a name. It is there once the parameter has been seen; a state of another optimiser lacks it.
#[track_caller]
pub(crate) fn slot(slots: &Slots, name: &str) -> Array {
    slots.get(name).cloned().unwrap_or_else(|| {
        crate::error::argument("optimizer", format!("the state has no {name:?}; is it of another optimizer?"))
    })
}

/// A parameter with its path and its gradient.
pub struct Item<'a> {
    /// The path in the model.
    pub path: &'a str,
    /// The gradient by it.
    pub gradient: &'a Array,
    /// Its value.
    pub parameter: &'a Array,
}

/// What every optimiser can do.
pub trait Optimize: Send + Sync {
    /// One step: the new values of parameters.
    fn apply(&mut self, items: &[Item]) -> Vec<Array>;

    /// Makes the state for parameters that have none. It happens by itself; ahead of it, a compiled step is recorded
    /// once instead of twice.
    fn init_for(&mut self, parameters: &[(String, Array)]);

    /// All arrays of the state, by name: `step`, `learning_rate`, and what is kept for each parameter under its path.
    fn state(&self) -> Vec<(String, Array)>;

    /// The arrays of the state, to be changed, in the order of [`state`](Optimize::state).
    fn state_mut(&mut self) -> Vec<&mut Array>;

    /// Takes a state over, as [`state`](Optimize::state) gave it.
    ///
    /// # Errors
    /// [`Error::Argument`] if something is missing.
    fn set_state(&mut self, state: &Arrays) -> Result<()>;

    /// A copy.
    fn boxed(&self) -> Box<dyn Optimize>;

    /// The learning rate of the last step, or of the first if there was none.
    fn learning_rate(&self) -> Option<Array>;

    /// Another learning rate, until a schedule sets it again.
    fn set_learning_rate(&mut self, rate: f64);

    /// How many steps there were.
    ///
    /// # Errors
    /// Those of evaluating the count.
    fn steps(&self) -> Result<u64>;

    /// Changes the parameters of a model that are not frozen by a gradient of the model's own type.
    fn update(&mut self, model: &mut dyn Module, gradient: &dyn Module) {
        let gradients: BTreeMap<String, Array> = gradient.trainable_parameters().into_iter().collect();
        let parameters = model.trainable_parameters();
        let items: Vec<Item> = parameters
            .iter()
            .filter_map(|(path, parameter)| {
                gradients.get(path).map(|gradient| Item { path, gradient, parameter })
            })
            .collect();
        let new = self.apply(&items);
        let mut new: BTreeMap<&str, Array> = items.iter().map(|item| item.path).zip(new).collect();
        tree::map_trainable(model, |path, _| new.remove(path));
    }

    /// Makes the state for a model. See [`init_for`](Optimize::init_for).
    fn init(&mut self, model: &dyn Module) {
        self.init_for(&model.trainable_parameters());
    }
}

impl Clone for Box<dyn Optimize> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// An optimiser with a rule: [`Adam`], [`Sgd`] and all others are this with theirs.
#[derive(Clone)]
pub struct Optimizer<R> {
    pub(crate) rule: R,
    schedule: Option<Schedule>,
    learning_rate: Option<Array>,
    step: Array,
    slots: BTreeMap<String, Slots>,
}

impl<R: Rule> Optimizer<R> {
    /// An optimiser with a rule and a learning rate, which some rules do without.
    #[track_caller]
    pub fn with_rule(rule: R, rate: Option<Rate>) -> Optimizer<R> {
        let step = Array::from(0u64);
        let (schedule, learning_rate) = match rate {
            None => (None, None),
            Some(Rate::Number(rate)) => (None, Some(Array::from(rate as f32))),
            Some(Rate::Schedule(schedule)) => {
                let first = schedule.at(&step);
                (Some(schedule), Some(first))
            }
        };
        Optimizer { rule, schedule, learning_rate, step, slots: BTreeMap::new() }
    }

    /// The rule, with its settings.
    pub fn rule(&self) -> &R {
        &self.rule
    }
}

impl<R: Rule> Optimize for Optimizer<R> {
    #[track_caller]
    fn apply(&mut self, items: &[Item]) -> Vec<Array> {
        if let Some(message) = self.rule.problem() {
            let failed = crate::error::argument("optimizer", message);
            return vec![failed; items.len()];
        }
        if let Some(schedule) = &self.schedule {
            self.learning_rate = Some(schedule.at(&self.step));
        }
        self.step = &self.step + 1;
        let step = Step { learning_rate: self.learning_rate.as_ref(), step: &self.step };
        let mut new = Vec::with_capacity(items.len());
        for Item { path, gradient, parameter } in items {
            if !self.slots.contains_key(*path) {
                self.slots.insert((*path).to_owned(), self.rule.init(parameter));
            }
            let slots = self.slots.entry((*path).to_owned()).or_default();
            new.push(self.rule.apply(&step, gradient, parameter, slots));
        }
        new
    }

    fn init_for(&mut self, parameters: &[(String, Array)]) {
        for (path, parameter) in parameters {
            if !self.slots.contains_key(path) {
                self.slots.insert(path.clone(), self.rule.init(parameter));
            }
        }
    }

    fn state(&self) -> Vec<(String, Array)> {
        let mut state = vec![("step".to_owned(), self.step.clone())];
        state.extend(self.learning_rate.iter().map(|rate| ("learning_rate".to_owned(), rate.clone())));
        for (path, slots) in &self.slots {
            state.extend(slots.iter().map(|(name, array)| (format!("{path}.{name}"), array.clone())));
        }
        state
    }

    fn state_mut(&mut self) -> Vec<&mut Array> {
        let mut state = vec![&mut self.step];
        state.extend(&mut self.learning_rate);
        state.extend(self.slots.values_mut().flat_map(BTreeMap::values_mut));
        state
    }

    fn set_state(&mut self, state: &Arrays) -> Result<()> {
        let missing = |name: &str| Error::Argument {
            function: "set_state",
            message: format!("the state of the optimizer has no {name:?}"),
        };
        self.step = state.get("step").ok_or_else(|| missing("step"))?.clone();
        if self.learning_rate.is_some() {
            let rate = state.get("learning_rate").ok_or_else(|| missing("learning_rate"))?;
            self.learning_rate = Some(rate.clone());
        }
        self.slots.clear();
        for (name, array) in state {
            if let Some((path, slot)) = name.rsplit_once('.') {
                self.slots.entry(path.to_owned()).or_default().insert(slot.to_owned(), array.clone());
            }
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Optimize> {
        Box::new(self.clone())
    }

    fn learning_rate(&self) -> Option<Array> {
        self.learning_rate.clone()
    }

    #[track_caller]
    fn set_learning_rate(&mut self, rate: f64) {
        self.learning_rate = Some(Array::from(rate as f32));
    }

    fn steps(&self) -> Result<u64> {
        self.step.item::<u64>()
    }
}

/// The arrays of a state, for transforms.
fn rebuild<O: Optimize + Clone>(optimizer: &O, leaves: &mut dyn Iterator<Item = Array>) -> O {
    let mut copy = optimizer.clone();
    for array in copy.state_mut() {
        if let Some(new) = leaves.next() {
            *array = new;
        }
    }
    copy
}

/// Tells a hasher which arrays there are: a state that has just been made is another one.
fn constants(optimizer: &impl Optimize, to: &mut dyn Hasher) {
    for (name, _) in optimizer.state() {
        to.write(name.as_bytes());
        to.write_u8(0xff);
    }
}

impl<R: Rule> Tree for Optimizer<R> {
    fn leaves(&self, to: &mut Vec<Array>) {
        to.extend(self.state().into_iter().map(|(_, array)| array));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        rebuild(self, leaves)
    }

    fn constants(&self, to: &mut dyn Hasher) {
        constants(self, to);
    }
}

/// The gradient, scaled so that its norm as one vector is at most `max_norm`; and the norm it had. Frozen parameters do
/// not count.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let gradient = Prelu { weight: array![3.0, 4.0].into() };
/// let (clipped, norm) = clip_grad_norm(&gradient, 1.0);
/// assert_eq!(norm.item::<f32>()?, 5.0);
/// assert!((clipped.weight.to_vec::<f32>()?[0] - 0.6).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn clip_grad_norm<M: Module + Clone>(gradient: &M, max_norm: f64) -> (M, Array) {
    let mut square = Array::from(0.0f32);
    for (_, array) in gradient.trainable_parameters() {
        square += ops::sum(&ops::square(&array), .., false);
    }
    let norm = ops::sqrt(&square);
    let scale = ops::minimum(max_norm / (&norm + 1e-6), 1.0);
    let mut clipped = gradient.clone();
    tree::map_trainable(&mut clipped, |_, array| Some(array * scale.astype(array.dtype())));
    (clipped, norm)
}
