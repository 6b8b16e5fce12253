//! Activations, as functions and as layers.

use pellucid::{Array, ops};

use crate::{Layer, Module, Param};

/// `1 / (1 + exp(−x))`
#[track_caller]
pub fn sigmoid(x: &Array) -> Array {
    ops::sigmoid(x)
}

/// `max(x, 0)`
#[track_caller]
pub fn relu(x: &Array) -> Array {
    ops::maximum(x, 0)
}

/// `max(x, 0)²`
#[track_caller]
pub fn relu2(x: &Array) -> Array {
    ops::square(&relu(x))
}

/// `min(max(x, 0), 6)`
#[track_caller]
pub fn relu6(x: &Array) -> Array {
    ops::minimum(relu(x), 6.0)
}

/// `max(slope · x, x)`
#[track_caller]
pub fn leaky_relu(x: &Array, slope: f64) -> Array {
    ops::maximum(slope * x, x)
}

/// `max(x, 0) + alpha · min(x, 0)`, with an `alpha` that is learnt.
#[track_caller]
pub fn prelu(x: &Array, alpha: &Array) -> Array {
    ops::maximum(0, x) + alpha * ops::minimum(0, x)
}

/// `x` where it is positive, otherwise `alpha · (exp(x) − 1)`.
#[track_caller]
pub fn elu(x: &Array, alpha: f64) -> Array {
    ops::where_(&ops::greater(x, 0), x, alpha * (ops::exp(x) - 1))
}

/// `max(x, 0) + alpha · (exp(min(x, 0) / alpha) − 1)`
#[track_caller]
pub fn celu(x: &Array, alpha: f64) -> Array {
    ops::maximum(x, 0.0) + alpha * (ops::exp(&(ops::minimum(x, 0.0) / alpha)) - 1)
}

/// [`elu`] with the factors that keep mean and variance through layers.
#[track_caller]
pub fn selu(x: &Array) -> Array {
    elu(x, 1.67326) * 1.0507
}

/// `x · sigmoid(x)`, also called swish.
#[track_caller]
pub fn silu(x: &Array) -> Array {
    x * ops::sigmoid(x)
}

/// `x` times the normal distribution's probability of less than `x`.
#[track_caller]
pub fn gelu(x: &Array) -> Array {
    x * (1 + ops::erf(&(x / std::f64::consts::SQRT_2))) / 2
}

/// [`gelu`] by a hyperbolic tangent.
#[track_caller]
pub fn gelu_approx(x: &Array) -> Array {
    let factor = (2.0 / std::f64::consts::PI).sqrt();
    0.5 * x * (1 + ops::tanh(&(factor * (x + 0.044715 * ops::power(x, 3)))))
}

/// [`gelu`] by a sigmoid: `x · sigmoid(1.702 · x)`.
#[track_caller]
pub fn gelu_fast_approx(x: &Array) -> Array {
    x * ops::sigmoid(&(1.702 * x))
}

/// The first half of `x` along an axis, times the sigmoid of the second.
#[track_caller]
pub fn glu(x: &Array, axis: i64) -> Array {
    let halves = ops::split(x, 2, axis);
    match &halves[..] {
        [a, b] => a * ops::sigmoid(b),
        // One failed array stands for both.
        _ => halves.into_iter().next().unwrap_or_else(|| x.clone()),
    }
}

/// `exp(x)`, divided by its sum along an axis.
#[track_caller]
pub fn softmax(x: &Array, axis: i64) -> Array {
    ops::softmax(x, axis, false)
}

/// `softmax(−x)`
#[track_caller]
pub fn softmin(x: &Array, axis: i64) -> Array {
    ops::softmax(&-x, axis, false)
}

/// The logarithm of the softmax, computed without it.
#[track_caller]
pub fn log_softmax(x: &Array, axis: i64) -> Array {
    x - ops::logsumexp(x, axis, true)
}

/// `log(1 + exp(x))`
#[track_caller]
pub fn softplus(x: &Array) -> Array {
    ops::logaddexp(x, 0)
}

/// `x / (1 + |x|)`
#[track_caller]
pub fn softsign(x: &Array) -> Array {
    x / (1 + ops::abs(x))
}

/// `x` moved by `lambda` towards zero, and zero where it is closer than that.
#[track_caller]
pub fn softshrink(x: &Array, lambda: f64) -> Array {
    ops::where_(&ops::greater(&ops::abs(x), lambda), x - ops::sign(x) * lambda, 0)
}

/// `x`, and zero where it is closer to zero than `lambda`.
#[track_caller]
pub fn hard_shrink(x: &Array, lambda: f64) -> Array {
    ops::where_(&ops::greater(&ops::abs(x), lambda), x, 0)
}

/// `min(max(x, low), high)`
#[track_caller]
pub fn hard_tanh(x: &Array, low: f64, high: f64) -> Array {
    ops::minimum(ops::maximum(x, low), high)
}

/// `x · min(max(x + 3, 0), 6) / 6`
#[track_caller]
pub fn hardswish(x: &Array) -> Array {
    x * ops::minimum(ops::maximum(x + 3, 0), 6) / 6
}

/// `log(sigmoid(x))`, for any `x`.
#[track_caller]
pub fn log_sigmoid(x: &Array) -> Array {
    -softplus(&-x)
}

/// `x · tanh(softplus(x))`
#[track_caller]
pub fn mish(x: &Array) -> Array {
    x * ops::tanh(&softplus(x))
}

/// 1 where `x` is above the threshold, otherwise 0.
#[track_caller]
pub fn step(x: &Array, threshold: f64) -> Array {
    ops::where_(&ops::greater(x, threshold), 1, 0)
}

/// The hyperbolic tangent.
#[track_caller]
pub fn tanh(x: &Array) -> Array {
    ops::tanh(x)
}

macro_rules! plain_layers {
    ($($name:ident $function:ident;)*) => {
        $(
            #[doc = concat!("Applies [`", stringify!($function), "()`].")]
            #[derive(Clone, Copy, Debug, Default, Module)]
            pub struct $name;

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    $function(x)
                }
            }
        )*
    };
}

plain_layers! {
    Sigmoid sigmoid;
    Relu relu;
    Relu2 relu2;
    Relu6 relu6;
    Selu selu;
    Silu silu;
    Gelu gelu;
    GeluApprox gelu_approx;
    GeluFastApprox gelu_fast_approx;
    Softplus softplus;
    Softsign softsign;
    Hardswish hardswish;
    LogSigmoid log_sigmoid;
    Mish mish;
    Tanh tanh;
}

macro_rules! layers_with_settings {
    ($($name:ident $function:ident ($($field:ident: $ty:ty = $default:expr),+);)*) => {
        $(
            #[doc = concat!("Applies [`", stringify!($function), "()`].")]
            #[derive(Clone, Copy, Debug, Module)]
            pub struct $name {
                $(#[doc = concat!("See [`", stringify!($function), "()`].")]
                pub $field: $ty),+
            }

            impl Default for $name {
                fn default() -> Self {
                    Self { $($field: $default),+ }
                }
            }

            impl Layer for $name {
                #[track_caller]
                fn forward(&self, x: &Array) -> Array {
                    $function(x, $(self.$field),+)
                }
            }
        )*
    };
}

layers_with_settings! {
    LeakyRelu leaky_relu(slope: f64 = 0.01);
    Elu elu(alpha: f64 = 1.0);
    Celu celu(alpha: f64 = 1.0);
    Glu glu(axis: i64 = -1);
    Softmax softmax(axis: i64 = -1);
    Softmin softmin(axis: i64 = -1);
    LogSoftmax log_softmax(axis: i64 = -1);
    Softshrink softshrink(lambda: f64 = 0.5);
    HardShrink hard_shrink(lambda: f64 = 0.5);
    HardTanh hard_tanh(low: f64 = -1.0, high: f64 = 1.0);
    StepFunction step(threshold: f64 = 0.0);
}

/// Applies [`prelu()`]; its `weight` has one slope, or one for each feature.
#[derive(Clone, Debug, Module)]
pub struct Prelu {
    /// The slopes of negative numbers.
    pub weight: Param,
}

impl Prelu {
    /// Slopes for this many features, or one for all, that begin at 0.25.
    #[track_caller]
    pub fn new(features: usize) -> Prelu {
        Prelu { weight: ops::full([features], 0.25, pellucid::Dtype::Float32).into() }
    }
}

impl Layer for Prelu {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        prelu(x, &self.weight)
    }
}
