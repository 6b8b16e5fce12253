//! Recurrent layers. They take `[…, L, D]` and return the hidden state after each of the `L` steps.

use pellucid::prelude::Ellipsis;
use pellucid::{Array, ops};

use super::linear::{project, uniform};
use crate::activations::tanh;
use crate::{Layer, Module, Param, error};

/// Weights that begin uniform within one over the root of the hidden size.
#[track_caller]
fn weights(hidden: usize, shape: &[usize]) -> Param {
    uniform(1.0 / (hidden as f64).sqrt(), shape).into()
}

/// How many steps an input has; or the failed array to return.
#[track_caller]
fn steps(name: &'static str, x: &Array) -> Result<usize, Array> {
    if x.check().is_err() {
        return Err(x.clone());
    }
    match *x.shape() {
        [.., steps, _] if steps > 0 => Ok(steps),
        _ => {
            let message = format!("the input must be […, L, D] with L of at least 1, not {}", x.shape_ref());
            Err(error::shape(name, message))
        }
    }
}

/// What is at one step.
#[track_caller]
fn at(x: &Array, step: usize) -> Array {
    x.i((Ellipsis, step, ..))
}

/// The parts of the last axis, of equal sizes.
#[track_caller]
fn parts<const N: usize>(x: &Array) -> [Array; N] {
    let parts = ops::split(x, N, -1);
    // A failed array stands for all parts of it.
    parts
        .try_into()
        .unwrap_or_else(|failed: Vec<Array>| std::array::from_fn(|_| failed.first().unwrap_or(x).clone()))
}

/// `h = nonlinearity(x @ Wxhᵀ + h @ Whhᵀ + bias)`
#[derive(Clone, Debug, Module)]
pub struct Rnn {
    /// `[hidden, inputs]`
    #[module(name = "Wxh")]
    pub wxh: Param,
    /// `[hidden, hidden]`
    #[module(name = "Whh")]
    pub whh: Param,
    /// `[hidden]`
    pub bias: Option<Param>,
    /// What is applied to the sum at each step: the hyperbolic tangent unless it is set.
    pub nonlinearity: fn(&Array) -> Array,
}

impl Rnn {
    /// With bias.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize) -> Rnn {
        let mut layer = Rnn::without_bias(inputs, hidden);
        layer.bias = Some(weights(hidden, &[hidden]));
        layer
    }

    /// Without bias.
    #[track_caller]
    pub fn without_bias(inputs: usize, hidden: usize) -> Rnn {
        Rnn {
            wxh: weights(hidden, &[hidden, inputs]),
            whh: weights(hidden, &[hidden, hidden]),
            bias: None,
            nonlinearity: tanh,
        }
    }

    /// All hidden states, beginning from one if it is given.
    #[track_caller]
    pub fn run(&self, x: &Array, hidden: Option<&Array>) -> Array {
        let steps = match steps("Rnn", x) {
            Ok(steps) => steps,
            Err(failed) => return failed,
        };
        let x = project(x, &self.wxh, self.bias.as_deref());
        let mut hidden = hidden.cloned();
        let mut all = Vec::with_capacity(steps);
        for step in 0..steps {
            let now = at(&x, step);
            let sum = match &hidden {
                None => now,
                Some(hidden) => ops::addmm(&now, hidden, &self.whh.t(), 1.0, 1.0),
            };
            let new = (self.nonlinearity)(&sum);
            all.push(new.clone());
            hidden = Some(new);
        }
        ops::stack(all, -2)
    }
}

impl Layer for Rnn {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.run(x, None)
    }
}

/// Gated recurrent units: a reset gate, an update gate and a candidate, in this order in the weights.
#[derive(Clone, Debug, Module)]
pub struct Gru {
    /// `[3 · hidden, inputs]`
    #[module(name = "Wx")]
    pub wx: Param,
    /// `[3 · hidden, hidden]`
    #[module(name = "Wh")]
    pub wh: Param,
    /// `[3 · hidden]`
    pub b: Option<Param>,
    /// `[hidden]`, of the candidate's hidden part.
    pub bhn: Option<Param>,
}

impl Gru {
    /// With biases.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize) -> Gru {
        let mut layer = Gru::without_bias(inputs, hidden);
        layer.b = Some(weights(hidden, &[3 * hidden]));
        layer.bhn = Some(weights(hidden, &[hidden]));
        layer
    }

    /// Without biases.
    #[track_caller]
    pub fn without_bias(inputs: usize, hidden: usize) -> Gru {
        Gru {
            wx: weights(hidden, &[3 * hidden, inputs]),
            wh: weights(hidden, &[3 * hidden, hidden]),
            b: None,
            bhn: None,
        }
    }

    /// All hidden states, beginning from one if it is given.
    #[track_caller]
    pub fn run(&self, x: &Array, hidden: Option<&Array>) -> Array {
        let steps = match steps("Gru", x) {
            Ok(steps) => steps,
            Err(failed) => return failed,
        };
        let x = project(x, &self.wx, self.b.as_deref());
        let mut hidden = hidden.cloned();
        let mut all = Vec::with_capacity(steps);
        for step in 0..steps {
            let new = self.step(&at(&x, step), hidden.as_ref());
            all.push(new.clone());
            hidden = Some(new);
        }
        ops::stack(all, -2)
    }

    #[track_caller]
    fn step(&self, now: &Array, hidden: Option<&Array>) -> Array {
        let [mut reset, mut update, candidate] = parts(now);
        let mut before = None;
        if let Some(hidden) = hidden {
            let [to_reset, to_update, to_candidate] = parts(&hidden.matmul(&self.wh.t()));
            reset += to_reset;
            update += to_update;
            before = Some(to_candidate);
        }
        if let Some(bias) = &self.bhn {
            before = Some(match before {
                None => bias.array().clone(),
                Some(before) => before + bias,
            });
        }
        let (reset, update) = (ops::sigmoid(&reset), ops::sigmoid(&update));
        let candidate = match before {
            None => ops::tanh(&candidate),
            Some(before) => ops::tanh(&(candidate + reset * before)),
        };
        let new = (1 - &update) * candidate;
        match hidden {
            None => new,
            Some(hidden) => new + update * hidden,
        }
    }
}

impl Layer for Gru {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.run(x, None)
    }
}

/// Long short-term memory: input, forget, cell and output gates, in this order in the weights.
#[derive(Clone, Debug, Module)]
pub struct Lstm {
    /// `[4 · hidden, inputs]`
    #[module(name = "Wx")]
    pub wx: Param,
    /// `[4 · hidden, hidden]`
    #[module(name = "Wh")]
    pub wh: Param,
    /// `[4 · hidden]`
    pub bias: Option<Param>,
}

impl Lstm {
    /// With bias.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize) -> Lstm {
        let mut layer = Lstm::without_bias(inputs, hidden);
        layer.bias = Some(weights(hidden, &[4 * hidden]));
        layer
    }

    /// Without bias.
    #[track_caller]
    pub fn without_bias(inputs: usize, hidden: usize) -> Lstm {
        let wx = weights(hidden, &[4 * hidden, inputs]);
        Lstm { wx, wh: weights(hidden, &[4 * hidden, hidden]), bias: None }
    }

    /// All hidden states and all cell states, beginning from a pair of them if it is given.
    #[track_caller]
    pub fn run(&self, x: &Array, state: Option<(&Array, &Array)>) -> (Array, Array) {
        let steps = match steps("Lstm", x) {
            Ok(steps) => steps,
            Err(failed) => return (failed.clone(), failed),
        };
        let x = project(x, &self.wx, self.bias.as_deref());
        let mut state = state.map(|(hidden, cell)| (hidden.clone(), cell.clone()));
        let (mut all_hidden, mut all_cell) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
        for step in 0..steps {
            let mut gates = at(&x, step);
            if let Some((hidden, _)) = &state {
                gates = ops::addmm(&gates, hidden, &self.wh.t(), 1.0, 1.0);
            }
            let [enter, keep, new, show] = parts(&gates);
            let entered = ops::sigmoid(&enter) * ops::tanh(&new);
            let cell = match &state {
                None => entered,
                Some((_, cell)) => ops::sigmoid(&keep) * cell + entered,
            };
            let hidden = ops::sigmoid(&show) * ops::tanh(&cell);
            all_hidden.push(hidden.clone());
            all_cell.push(cell.clone());
            state = Some((hidden, cell));
        }
        (ops::stack(all_hidden, -2), ops::stack(all_cell, -2))
    }
}

impl Layer for Lstm {
    /// All hidden states.
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        self.run(x, None).0
    }
}
