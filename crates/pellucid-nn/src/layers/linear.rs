//! Linear maps of the last axis.

use pellucid::{Array, Dtype, ops, random};

use crate::{Layer, Module, Param, error};

/// Numbers evenly between −`limit` and `limit`.
#[track_caller]
pub(super) fn uniform(limit: f64, shape: &[usize]) -> Array {
    random::uniform(-limit, limit, shape, Dtype::Float32, None)
}

/// `x @ weightᵀ`, with a bias if there is one.
#[track_caller]
pub(super) fn project(x: &Array, weight: &Array, bias: Option<&Array>) -> Array {
    match bias {
        Some(bias) => ops::addmm(bias, x, &weight.t(), 1.0, 1.0),
        None => x.matmul(&weight.t()),
    }
}

/// Returns its argument.
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Identity;

impl Layer for Identity {
    fn forward(&self, x: &Array) -> Array {
        x.clone()
    }
}

/// `x @ weightᵀ + bias`. Both begin uniform within one over the root of the inputs.
///
/// ```
/// use pellucid_nn::prelude::*;
/// let layer = Linear::new(3, 2);
/// assert_eq!(layer.forward(&ones::<f32>([5, 3])).shape(), [5, 2]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Linear {
    /// `[outputs, inputs]`
    pub weight: Param,
    /// `[outputs]`
    pub bias: Option<Param>,
}

impl Linear {
    /// A layer with bias.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize) -> Linear {
        let mut layer = Linear::without_bias(inputs, outputs);
        layer.bias = Some(uniform((1.0 / inputs as f64).sqrt(), &[outputs]).into());
        layer
    }

    /// A layer without bias.
    #[track_caller]
    pub fn without_bias(inputs: usize, outputs: usize) -> Linear {
        let weight = uniform((1.0 / inputs as f64).sqrt(), &[outputs, inputs]);
        Linear { weight: weight.into(), bias: None }
    }

    /// A layer with bias or without.
    #[track_caller]
    pub(super) fn with(inputs: usize, outputs: usize, bias: bool) -> Linear {
        if bias { Linear::new(inputs, outputs) } else { Linear::without_bias(inputs, outputs) }
    }
}

impl Layer for Linear {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        project(x, &self.weight, self.bias.as_deref())
    }
}

/// `first @ weight[i] @ second + bias[i]` for each output `i`.
#[derive(Clone, Debug, Module)]
pub struct Bilinear {
    /// `[outputs, inputs of the second, inputs of the first]`
    pub weight: Param,
    /// `[outputs]`
    pub bias: Option<Param>,
}

impl Bilinear {
    /// A layer with bias.
    #[track_caller]
    pub fn new(first: usize, second: usize, outputs: usize) -> Bilinear {
        let mut layer = Bilinear::without_bias(first, second, outputs);
        layer.bias = Some(uniform((1.0 / first as f64).sqrt(), &[outputs]).into());
        layer
    }

    /// A layer without bias.
    #[track_caller]
    pub fn without_bias(first: usize, second: usize, outputs: usize) -> Bilinear {
        let weight = uniform((1.0 / first as f64).sqrt(), &[outputs, second, first]);
        Bilinear { weight: weight.into(), bias: None }
    }

    /// The result for two inputs, whose axes but the last are the same.
    #[track_caller]
    pub fn forward(&self, first: &Array, second: &Array) -> Array {
        let sizes = error::sizes::<3>("Bilinear", "the weight", &self.weight);
        let [outputs, rows, columns] = match sizes {
            Ok(sizes) => sizes,
            Err(failed) => return failed,
        };
        let Some((_, batch)) = first.shape().split_last() else {
            return error::shape("Bilinear", "inputs need at least one axis");
        };
        // One product gives the first with every row of every weight; another adds up over the rows.
        let flat = self.weight.reshape([outputs * rows, columns]);
        let each = first.reshape((-1, columns)).matmul(&flat.t()).reshape((-1, outputs, rows));
        let y = each.matmul(&second.reshape((-1, rows, 1)));
        let shape: Vec<usize> = batch.iter().copied().chain([outputs]).collect();
        let y = y.reshape(shape);
        match &self.bias {
            Some(bias) => y + bias,
            None => y,
        }
    }
}
