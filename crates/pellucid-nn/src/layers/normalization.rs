//! Layers that bring activations to mean zero and variance one, or to a mean square of one.

use pellucid::{Array, Axes, Dtype, fast, ops};

use crate::{Buffer, Layer, Mode, Module, Param, error};

#[track_caller]
fn ones(dims: usize) -> Param {
    ops::ones([dims], Dtype::Float32).into()
}

#[track_caller]
fn zeros(dims: usize) -> Param {
    ops::zeros([dims], Dtype::Float32).into()
}

/// `x`, scaled and shifted if there is something to do it with.
#[track_caller]
fn affine(x: Array, weight: &Option<Param>, bias: &Option<Param>) -> Array {
    match (weight, bias) {
        (Some(weight), Some(bias)) => weight * x + bias,
        _ => x,
    }
}

/// `(x − mean) / √(variance + eps)`
#[track_caller]
fn normalized(x: &Array, mean: &Array, variance: &Array, eps: f64) -> Array {
    (x - mean) * ops::rsqrt(&(variance + eps))
}

/// Normalises the last axis; it is then scaled by `weight` and shifted by `bias`, where there are such.
#[derive(Clone, Debug, Module)]
pub struct LayerNorm {
    /// `[dims]`
    pub weight: Option<Param>,
    /// `[dims]`
    pub bias: Option<Param>,
    /// What is added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// With weight and bias.
    #[track_caller]
    pub fn new(dims: usize) -> LayerNorm {
        LayerNorm { weight: Some(ones(dims)), bias: Some(zeros(dims)), eps: 1e-5 }
    }

    /// With weight alone.
    #[track_caller]
    pub fn without_bias(dims: usize) -> LayerNorm {
        LayerNorm { bias: None, ..LayerNorm::new(dims) }
    }

    /// Without parameters.
    pub fn plain() -> LayerNorm {
        LayerNorm { weight: None, bias: None, eps: 1e-5 }
    }
}

impl Layer for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        fast::layer_norm(x, self.weight.as_deref(), self.bias.as_deref(), self.eps)
    }
}

/// Divides the last axis by the root of its mean square and scales it by `weight`.
#[derive(Clone, Debug, Module)]
pub struct RmsNorm {
    /// `[dims]`
    pub weight: Param,
    /// What is added to the mean square.
    pub eps: f64,
}

impl RmsNorm {
    /// With a weight of ones.
    #[track_caller]
    pub fn new(dims: usize) -> RmsNorm {
        RmsNorm { weight: ones(dims), eps: 1e-5 }
    }
}

impl Layer for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        fast::rms_norm(x, Some(&self.weight), self.eps)
    }
}

/// Normalises each channel of each sample over its spatial axes.
#[derive(Clone, Debug, Module)]
pub struct InstanceNorm {
    /// `[dims]`
    pub weight: Option<Param>,
    /// `[dims]`
    pub bias: Option<Param>,
    /// What is added to the variance.
    pub eps: f64,
}

impl InstanceNorm {
    /// Without parameters.
    pub fn new() -> InstanceNorm {
        InstanceNorm { weight: None, bias: None, eps: 1e-5 }
    }

    /// With a weight and a bias for each channel.
    #[track_caller]
    pub fn affine(dims: usize) -> InstanceNorm {
        InstanceNorm { weight: Some(ones(dims)), bias: Some(zeros(dims)), eps: 1e-5 }
    }
}

impl Default for InstanceNorm {
    fn default() -> InstanceNorm {
        InstanceNorm::new()
    }
}

impl Layer for InstanceNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        let axes = Axes::from(1..x.ndim().saturating_sub(1).max(1));
        let (mean, variance) = (ops::mean(x, axes.clone(), true), ops::var(x, axes, true, 0));
        affine(normalized(x, &mean, &variance, self.eps), &self.weight, &self.bias)
    }
}

/// Normalises the channels in groups, over their spatial axes.
///
/// Channels whose numbers have the same remainder belong together; with `neighbours`, as in PyTorch, those that lie side
/// by side do.
#[derive(Clone, Debug, Module)]
pub struct GroupNorm {
    /// `[dims]`
    pub bias: Option<Param>,
    /// `[dims]`
    pub weight: Option<Param>,
    /// How many groups there are.
    pub groups: usize,
    /// What is added to the variance.
    pub eps: f64,
    /// Whether groups are channels side by side.
    pub neighbours: bool,
}

impl GroupNorm {
    /// With a weight and a bias for each channel.
    #[track_caller]
    pub fn new(groups: usize, dims: usize) -> GroupNorm {
        let (bias, weight) = (Some(zeros(dims)), Some(ones(dims)));
        GroupNorm { bias, weight, groups, eps: 1e-5, neighbours: false }
    }

    /// Without parameters.
    pub fn plain(groups: usize) -> GroupNorm {
        GroupNorm { bias: None, weight: None, groups, eps: 1e-5, neighbours: false }
    }

    /// Groups of channels side by side, as in PyTorch.
    #[must_use]
    pub fn neighbours(self) -> GroupNorm {
        GroupNorm { neighbours: true, ..self }
    }

    #[track_caller]
    fn by_neighbours(&self, x: &Array, samples: usize, channels: usize) -> Array {
        let groups = x.reshape((samples, -1, self.groups, channels / self.groups)).transpose((0, 2, 1, 3));
        let flat = groups.reshape((samples, self.groups, -1));
        let flat = fast::layer_norm(&flat, None, None, self.eps);
        flat.reshape(groups.shape()).transpose((0, 2, 1, 3)).reshape(x.shape())
    }

    #[track_caller]
    fn by_remainders(&self, x: &Array, samples: usize) -> Array {
        let groups = x.reshape((samples, -1, self.groups));
        let (mean, variance) = (ops::mean(&groups, 1, true), ops::var(&groups, 1, true, 0));
        normalized(&groups, &mean, &variance, self.eps).reshape(x.shape())
    }
}

impl Layer for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        if x.check().is_err() {
            return x.clone();
        }
        let (Some(&samples), Some(&channels)) = (x.shape().first(), x.shape().last()) else {
            return error::shape("GroupNorm", "the input needs a batch and channels, but is a single number");
        };
        if self.groups == 0 || !channels.is_multiple_of(self.groups) {
            let message = format!("{channels} channels cannot be divided into {} groups", self.groups);
            return error::argument("GroupNorm", message);
        }
        let y = if self.neighbours {
            self.by_neighbours(x, samples, channels)
        } else {
            self.by_remainders(x, samples)
        };
        affine(y, &self.weight, &self.bias)
    }
}

/// Normalises each channel over the batch and its spatial axes: `[N, C]`, `[N, L, C]` or `[N, H, W, C]`.
///
/// In training mode the statistics of the batch are used and kept as moving averages, which are used in the mode of
/// evaluation. The averages are saved and never learnt.
#[derive(Clone, Debug, Module)]
pub struct BatchNorm {
    /// `[features]`
    pub weight: Option<Param>,
    /// `[features]`
    pub bias: Option<Param>,
    /// `[features]`
    pub running_mean: Option<Buffer>,
    /// `[features]`
    pub running_var: Option<Buffer>,
    /// What is added to the variance.
    pub eps: f64,
    /// How much a batch counts in the moving averages.
    pub momentum: f64,
    mode: Mode,
}

impl BatchNorm {
    /// With weight, bias and moving averages.
    #[track_caller]
    pub fn new(features: usize) -> BatchNorm {
        BatchNorm {
            weight: Some(ones(features)),
            bias: Some(zeros(features)),
            running_mean: Some(Buffer::new(ops::zeros([features], Dtype::Float32))),
            running_var: Some(Buffer::new(ops::ones([features], Dtype::Float32))),
            eps: 1e-5,
            momentum: 0.1,
            mode: Mode::Training,
        }
    }

    /// Without weight and bias.
    #[must_use]
    pub fn plain(self) -> BatchNorm {
        BatchNorm { weight: None, bias: None, ..self }
    }

    /// Without moving averages: the statistics of the batch are used in both modes.
    #[must_use]
    pub fn untracked(self) -> BatchNorm {
        BatchNorm { running_mean: None, running_var: None, ..self }
    }
}

impl Layer for BatchNorm {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        if x.check().is_err() {
            return x.clone();
        }
        if !(2..=4).contains(&x.ndim()) {
            let message = format!("the input must have 2, 3 or 4 axes, but has shape {}", x.shape_ref());
            return error::shape("BatchNorm", message);
        }
        let kept = self.running_mean.as_ref().zip(self.running_var.as_ref());
        let (mean, variance) = match kept {
            Some((mean, variance)) if !self.mode.is_training() => (mean.get(), variance.get()),
            _ => {
                let axes = Axes::from(0..x.ndim() - 1);
                let mean = ops::mean(x, axes.clone(), false);
                let variance = ops::var(x, axes.clone(), false, 0);
                if let Some((kept_mean, kept_variance)) = kept {
                    let (keep, new) = (1.0 - self.momentum, self.momentum);
                    let sample_variance = ops::var(x, axes, false, 1);
                    kept_mean.set(keep * kept_mean.get() + new * &mean);
                    kept_variance.set(keep * kept_variance.get() + new * sample_variance);
                }
                (mean, variance)
            }
        };
        affine(normalized(x, &mean, &variance, self.eps), &self.weight, &self.bias)
    }
}
