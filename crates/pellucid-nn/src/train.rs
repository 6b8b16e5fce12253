//! A training step that is recorded once, with everything it changes, and checkpoints of all of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use pellucid::io::{self, Arrays};
use pellucid::transform::{Tree, compile_mut};
use pellucid::{Array, Error, Result, random};

use crate::optimizers::{Optimize, clip_grad_norm};
use crate::{Module, value_and_grad};

/// What a step changes: the model, the optimiser, and the key of the random numbers that dropout draws.
type State<M, O> = (M, O, Array);
type Loss<M, B> = Rc<dyn Fn(&M, &B) -> Array>;
type Compiled<M, O, B> = Box<dyn Fn(&mut State<M, O>, &B) -> Result<Array>>;

/// A model, an optimiser and a loss, with a compiled step that brings them together.
///
/// The step is recorded once for each combination of shapes, types and modes, and computes loss, gradient and update in
/// one go. Random numbers come from a key of its own, so that a run depends on its seed alone.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// random::seed(3);
/// let model = sequential![Linear::new(2, 8), Tanh, Linear::new(8, 1)];
/// let loss = |model: &Sequential, (x, y): &(Array, Array)| losses::mse_loss(&model.forward(x), y).mean(..);
/// let mut trainer = Trainer::new(model, Adam::new(0.01), loss).clip_grad_norm(1.0);
/// let x = random::normal([32, 2], Dtype::Float32, 0.0, 1.0, None);
/// let y = x.sum_keepdims(1);
/// let first = trainer.step(&(x.clone(), y.clone()))?;
/// for _ in 0..50 {
///     trainer.step(&(x.clone(), y.clone()))?;
/// }
/// assert!(trainer.loss(&(x, y))? < first);
/// # Ok(())
/// # }
/// ```
pub struct Trainer<M, O, B> {
    state: State<M, O>,
    loss: Loss<M, B>,
    step: Compiled<M, O, B>,
}

fn compiled<M, O, B>(loss: Loss<M, B>, max_norm: Option<f64>) -> Compiled<M, O, B>
where
    M: Module + Tree + Clone + 'static,
    O: Optimize + Tree + Clone + 'static,
    B: Tree + Clone + 'static,
{
    let step = move |(model, optimizer, key): &mut State<M, O>, batch: &B| -> Array {
        let gradient = value_and_grad(|model: &M, batch: &B| loss(model, batch));
        // The numbers that the rest of the program draws do not change.
        let outside = random::state();
        let result = random::set_state(key).and_then(|()| gradient(model, batch));
        *key = random::state();
        if let Err(error) = random::set_state(&outside) {
            return Array::from(error);
        }
        match result {
            Err(error) => Array::from(error),
            Ok((loss, gradient)) => {
                let gradient = match max_norm {
                    Some(max_norm) => clip_grad_norm(&gradient, max_norm).0,
                    None => gradient,
                };
                optimizer.update(model, &gradient);
                loss
            }
        }
    };
    Box::new(compile_mut(step))
}

impl<M, O, B> Trainer<M, O, B>
where
    M: Module + Tree + Clone + 'static,
    O: Optimize + Tree + Clone + 'static,
    B: Tree + Clone + 'static,
{
    /// A trainer for a loss, a single number, of a model and a batch. The key of its random numbers is the next of this
    /// thread's.
    #[track_caller]
    pub fn new(model: M, mut optimizer: O, loss: impl Fn(&M, &B) -> Array + 'static) -> Trainer<M, O, B> {
        optimizer.init(&model);
        let key = random::bits([2], 4, None);
        let loss: Loss<M, B> = Rc::new(loss);
        let step = compiled(loss.clone(), None);
        Trainer { state: (model, optimizer, key), loss, step }
    }

    /// Scales gradients so that their norm is at most this.
    #[must_use]
    pub fn clip_grad_norm(mut self, max_norm: f64) -> Self {
        self.step = compiled(self.loss.clone(), Some(max_norm));
        self
    }

    /// One step; returns the loss before it.
    ///
    /// # Errors
    /// What made loss, gradient or update impossible. The model is as it was if the step could not be recorded.
    #[track_caller]
    pub fn step(&mut self, batch: &B) -> Result<f32> {
        let loss = (self.step)(&mut self.state, batch)?;
        let mut all = self.state.to_leaves();
        all.push(loss.clone());
        pellucid::eval(all)?;
        loss.astype(pellucid::Dtype::Float32).item::<f32>()
    }

    /// The loss of a batch without a step, in the mode the model is in.
    ///
    /// # Errors
    /// What made it impossible.
    pub fn loss(&self, batch: &B) -> Result<f32> {
        (self.loss)(self.model(), batch).astype(pellucid::Dtype::Float32).item::<f32>()
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.state.0
    }

    /// The model, to be changed: its mode, or what is frozen.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.state.0
    }

    /// The optimiser.
    pub fn optimizer(&self) -> &O {
        &self.state.1
    }

    /// The optimiser, to be changed.
    pub fn optimizer_mut(&mut self) -> &mut O {
        &mut self.state.1
    }

    /// The model, for good.
    pub fn into_model(self) -> M {
        self.state.0
    }

    /// Writes the model, the optimiser and the key of the random numbers to a `.safetensors` file. A run that goes on
    /// from it computes what it would have computed without a break, bit for bit.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written; what made an array impossible.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (model, optimizer, key) = &self.state;
        let named = |prefix: &str, arrays: Vec<(String, Array)>| {
            let prefix = prefix.to_owned();
            arrays.into_iter().map(move |(name, array)| (format!("{prefix}.{name}"), array))
        };
        let all = named("model", model.parameters())
            .chain(named("optimizer", optimizer.state()))
            .chain([("random.key".to_owned(), key.clone())]);
        io::save_safetensors(path, all, &BTreeMap::new()).map(drop)
    }

    /// Goes on from a file that [`save`](Trainer::save) wrote, with a model and an optimiser of the same kind.
    ///
    /// # Errors
    /// [`Error::Format`] if the file is not of such a model and optimiser, [`Error::Io`] if it cannot be read.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let refused =
            |message: String| Error::Format { function: "Trainer::load", path: path.to_owned(), message };
        let all = io::load(path)?.into_arrays()?;
        let part = |prefix: &str| -> Arrays {
            let named = all.iter().filter_map(|(name, array)| {
                name.strip_prefix(prefix).map(|name| (name.to_owned(), array.clone()))
            });
            named.collect()
        };
        let key = all.get("random.key").ok_or_else(|| refused("there is no random.key".to_owned()))?;
        let (mut model, mut optimizer) = (self.state.0.clone(), self.state.1.clone());
        let differences = model.update(part("model."))?;
        if !differences.is_empty() {
            return Err(refused(format!("the parameters are not those of the model: {differences}")));
        }
        optimizer.set_state(&part("optimizer."))?;
        let state = (model, optimizer, key.clone());
        pellucid::eval(state.to_leaves())?;
        self.state = state;
        Ok(())
    }
}
