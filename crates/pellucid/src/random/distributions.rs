//! Distributions, composed from random bits step by step as MLX does, so that the same key gives the same numbers.

use super::keys::bits;
use crate::array::{Array, Dtype, Integer, Shape, Sizes, fail, ok, resolve_axis};
use crate::error::{Error, Result};
use crate::ops::{self, Operand};

/// Fails unless parameters of shape `given` broadcast to `shape`.
fn check_shape(function: &'static str, shape: &Shape, given: &Shape) -> Result<()> {
    match given.broadcast_for(function, shape) {
        Ok(result) if result == *shape => Ok(()),
        _ => Err(Error::shape(
            function,
            format!("parameters of shape {given} do not fit results of shape {shape}"),
        )),
    }
}

fn check_floating(function: &'static str, dtype: Dtype) -> Result<()> {
    if dtype.is_floating() {
        return Ok(());
    }
    Err(Error::dtype(function, format!("gives real floating types, not {dtype}")))
}

/// A parameter in the type it is used in.
#[track_caller]
fn parameter(function: &'static str, value: &Operand, dtype: Dtype) -> Array {
    value.to_array(function, dtype)
}

/// Numbers between `low` and `high`, which is left out, all equally likely.
///
/// # Errors
/// [`Error::Dtype`] unless the type is `float16`, `bfloat16` or `float32`; [`Error::Shape`] if the limits do not
/// broadcast to the shape; [`Error::Argument`] if the key is not one.
#[track_caller]
pub fn uniform<'a, 'b>(
    low: impl Into<Operand<'a>>,
    high: impl Into<Operand<'b>>,
    shape: impl Into<Sizes>,
    dtype: Dtype,
    key: Option<&Array>,
) -> Array {
    let (low, high) = (low.into(), high.into());
    ok!(&low, &high, key);
    let below_one = match dtype {
        Dtype::Float16 => 1.0 - f64::from(half::f16::EPSILON) / 2.0,
        Dtype::Bfloat16 => 1.0 - f64::from(half::bf16::EPSILON) / 2.0,
        Dtype::Float32 => 1.0 - f64::from(f32::EPSILON) / 2.0,
        _ => {
            let message = format!("gives float16, bfloat16 or float32, not {dtype}; convert with astype");
            return fail(Error::dtype("uniform", message));
        }
    };
    let shape = ok!(shape.into().shape("uniform"));
    let (low, high) = (parameter("uniform", &low, dtype), parameter("uniform", &high, dtype));
    let range = ops::subtract(&high, &low);
    ok!(&range);
    ok!(check_shape("uniform", &shape, range.shape_ref()));
    let words = ops::astype(&bits(shape, 4, key), Dtype::Float32);
    let unit = ops::divide(&words, f64::from(u32::MAX as f32));
    let unit = ops::astype(&ops::minimum(&unit, below_one), dtype);
    ops::add(ops::multiply(range, unit), low)
}

/// Numbers strictly between −1 and 1, as the distributions below begin.
#[track_caller]
fn symmetric(shape: impl Into<Sizes>, key: Option<&Array>) -> Array {
    uniform(-1.0 + f64::from(f32::EPSILON) / 2.0, 1.0, shape, Dtype::Float32, key)
}

/// Numbers of the normal distribution around `loc` with the standard deviation `scale`. `complex64` has independent
/// real and imaginary parts.
///
/// # Errors
/// [`Error::Dtype`] for integers and bool, [`Error::Shape`] if the parameters do not broadcast to the shape.
#[track_caller]
pub fn normal<'a, 'b>(
    shape: impl Into<Sizes>,
    dtype: Dtype,
    loc: impl Into<Operand<'a>>,
    scale: impl Into<Operand<'b>>,
    key: Option<&Array>,
) -> Array {
    let (loc, scale) = (loc.into(), scale.into());
    ok!(&loc, &scale, key);
    let shape = ok!(shape.into().shape("normal"));
    if !dtype.is_complex() {
        ok!(check_floating("normal", dtype));
    }
    ok!(check_shape("normal", &shape, &loc.shape()));
    ok!(check_shape("normal", &shape, &scale.shape()));
    let mut samples = if dtype.is_complex() {
        let mut pairs = shape.clone();
        pairs.push(2);
        let parts = ops::erfinv(&symmetric(pairs, key));
        ops::reshape(&ops::view(&parts, Dtype::Complex64), &shape)
    } else {
        ops::astype(&ops::erfinv(&symmetric(shape, key)), dtype)
    };
    // The complex samples are not scaled by √2, as in MLX: each part has the variance ½.
    let factor = match (dtype.is_complex(), scale.number()) {
        (false, _) => {
            let root = parameter("normal", &std::f64::consts::SQRT_2.into(), dtype);
            Some(match scale.number() {
                Some(one) if one.to_f64() == 1.0 => root,
                _ => ops::multiply(root, parameter("normal", &scale, dtype)),
            })
        }
        (true, Some(one)) if one.to_f64() == 1.0 => None,
        (true, _) => Some(parameter("normal", &scale, dtype)),
    };
    if let Some(factor) = factor {
        samples = ops::multiply(factor, samples);
    }
    match loc.number() {
        Some(zero) if zero.to_f64() == 0.0 => samples,
        _ => ops::add(parameter("normal", &loc, dtype), samples),
    }
}

/// Numbers of the standard normal distribution that lie between `lower` and `upper`.
///
/// # Errors
/// [`Error::Dtype`] unless the type is `float16`, `bfloat16` or `float32`; [`Error::Shape`] if the limits do not
/// broadcast to the shape.
#[track_caller]
pub fn truncated_normal<'a, 'b>(
    lower: impl Into<Operand<'a>>,
    upper: impl Into<Operand<'b>>,
    shape: Option<Shape>,
    dtype: Dtype,
    key: Option<&Array>,
) -> Array {
    let name = "truncated_normal";
    let (lower, upper) = (lower.into(), upper.into());
    ok!(&lower, &upper, key);
    ok!(check_floating(name, dtype));
    let (lower, upper) = (parameter(name, &lower, dtype), parameter(name, &upper, dtype));
    ok!(&lower, &upper);
    let shape = match shape {
        Some(shape) => shape,
        None => ok!(lower.shape_ref().broadcast_for(name, upper.shape_ref())),
    };
    let root = parameter(name, &std::f64::consts::SQRT_2.into(), dtype);
    let low = ops::erf(&ops::divide(&lower, &root));
    let high = ops::erf(&ops::divide(&upper, &root));
    let samples = ops::multiply(&root, ops::erfinv(&uniform(&low, &high, shape, dtype, key)));
    ops::maximum(ops::minimum(&upper, samples), &lower)
}

/// Numbers of the standard Gumbel distribution.
///
/// # Errors
/// [`Error::Dtype`] unless the type is `float16`, `bfloat16` or `float32`.
#[track_caller]
pub fn gumbel(shape: impl Into<Sizes>, dtype: Dtype, key: Option<&Array>) -> Array {
    let once = ops::negative(&ops::log(&uniform(0, 1, shape, dtype, key)));
    ops::negative(&ops::log(&once))
}

/// Numbers of the Laplace distribution around `loc` with the width `scale`.
///
/// # Errors
/// [`Error::Dtype`] for types that are not real floating ones.
#[track_caller]
pub fn laplace(shape: impl Into<Sizes>, dtype: Dtype, loc: f64, scale: f64, key: Option<&Array>) -> Array {
    ok!(key);
    ok!(check_floating("laplace", dtype));
    let u = symmetric(shape, key);
    let tail = ops::log1p(&ops::multiply(-1.0, ops::abs(&u)));
    let mut samples = ops::astype(&ops::multiply(ops::sign(&u), tail), dtype);
    if scale != 1.0 {
        samples = ops::multiply(scale, samples);
    }
    if loc != 0.0 {
        samples = ops::add(loc, samples);
    }
    samples
}

/// True with the probability `p`. Without a shape, that of `p`.
///
/// # Errors
/// [`Error::Dtype`] if the probability is not a real floating number, [`Error::Shape`] if it does not broadcast to the
/// shape.
#[track_caller]
pub fn bernoulli<'p>(p: impl Into<Operand<'p>>, shape: Option<Shape>, key: Option<&Array>) -> Array {
    let p = p.into();
    ok!(&p, key);
    if !p.dtype().is_floating() {
        let message = format!("the probability must be a real floating number, not {}", p.dtype());
        return fail(Error::dtype("bernoulli", message));
    }
    let shape = shape.unwrap_or_else(|| p.shape());
    ok!(check_shape("bernoulli", &shape, &p.shape()));
    // The smallest float above every word, so that a probability of one is never missed.
    let above = (u32::MAX as f32).next_up();
    let dtype = p.dtype().promote(Dtype::Float32);
    let limit = ops::multiply(parameter("bernoulli", &p, dtype), above);
    ops::less(bits(shape, 4, key), limit)
}

/// What [`categorical`] draws for each distribution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// One sample each; the axis disappears.
    #[default]
    One,
    /// So many samples each, along a new last axis.
    Count(usize),
    /// Samples of this shape, to which the other axes broadcast.
    Shape(Shape),
}

/// Positions along an axis, with probabilities given by their logarithms (which need not be normalised), as `uint32`.
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if it is empty or the shapes do not fit.
#[track_caller]
pub fn categorical(logits: &Array, axis: impl Integer, samples: Samples, key: Option<&Array>) -> Array {
    ok!(logits, key);
    let name = "categorical";
    let axis = ok!(resolve_axis(name, axis.to_i64(), logits.ndim()));
    let choices = logits.shape()[axis];
    let mut others = logits.shape_ref().clone();
    others.remove(axis);
    // Of one distribution the running sums are made once, for all samples. MLX does the same, and so draws the same.
    if (1..1 << 30).contains(&choices) && logits.size() == choices {
        let shape = match &samples {
            Samples::One => others.clone(),
            Samples::Count(count) => {
                let mut shape = others.clone();
                shape.push(*count);
                shape
            }
            Samples::Shape(shape) => shape.clone(),
        };
        if !shape.is_empty() {
            ok!(check_shape(name, &shape, &Shape::from(vec![1; logits.ndim() - 1])));
            return by_running_sums(&ops::reshape(logits, [-1]), shape, key);
        }
    }
    let (logits, shape, ndim) = match samples {
        Samples::One => (logits.clone(), others, logits.ndim()),
        Samples::Count(count) => {
            others.push(count);
            (ops::expand_dims(logits, -1), others, logits.ndim() + 1)
        }
        Samples::Shape(shape) => {
            ok!(check_shape(name, &shape, &others));
            (logits.clone(), shape, logits.ndim())
        }
    };
    // The requested shape may have more axes in front.
    let place = axis + shape.len() + 1 - ndim;
    let mut noise = shape;
    noise.insert(place, choices);
    let noise = gumbel(noise, Dtype::Float32, key);
    ops::argmax(&ops::add(noise, &logits), place as i64, false)
}

/// Samples of one distribution: how many of its running sums are not above a random share of the total.
#[track_caller]
fn by_running_sums(logits: &Array, shape: Shape, key: Option<&Array>) -> Array {
    let choices = logits.size() as i64;
    // Finite: if all are impossible, or several certain, these are equally likely.
    let logits = ops::clip(&ops::astype(logits, Dtype::Float32), f32::MIN, f32::MAX);
    let weights = ops::exp(&ops::subtract(&logits, &ops::max(&logits, None, false)));
    let sums = ops::cumsum(&weights, 0, false, true);
    let total = ops::take(&sums, &Array::from(choices - 1), 0);
    let share = ops::multiply(uniform(0.0, 1.0, shape.clone(), Dtype::Float32, key), total);
    let found = if share.size() == 1 {
        // What a language model asks for, a token at a time: one pass over the sums.
        let above = ops::sum(&ops::greater(&sums, &ops::reshape(&share, [1])), None, false);
        ops::reshape(&ops::subtract(choices, &above), &shape)
    } else {
        // All samples search at once: bit by bit, the largest number of sums that are not above.
        let mut found = ops::zeros(shape, Dtype::Int32);
        let mut step = (choices as usize).next_power_of_two() as i64;
        while step > 0 {
            let next = ops::add(&found, step);
            let last = ops::minimum(ops::subtract(&next, 1), choices - 1);
            let passes = ops::logical_not(&ops::greater(ops::take(&sums, &last, 0), &share));
            let inside = ops::less_equal(&next, choices);
            found = ops::where_(&ops::logical_and(&passes, &inside), &next, &found);
            step /= 2;
        }
        found
    };
    // A share rounded up to the total belongs to the last one.
    ops::astype(&ops::minimum(&found, choices - 1), Dtype::Uint32)
}

/// Integers from `low` up to but not including `high`. Where `high` is not above `low`, `low`.
///
/// Numbers are drawn through `float32`, as in MLX: ranges wider than 2²⁴ do not reach every integer.
///
/// # Errors
/// [`Error::Dtype`] unless the type is an integer or bool, [`Error::Shape`] if the limits do not broadcast to the shape.
#[track_caller]
pub fn randint<'a, 'b>(
    low: impl Into<Operand<'a>>,
    high: impl Into<Operand<'b>>,
    shape: impl Into<Sizes>,
    dtype: Dtype,
    key: Option<&Array>,
) -> Array {
    let (low, high) = (low.into(), high.into());
    ok!(&low, &high, key);
    if dtype.is_inexact() {
        return fail(Error::dtype("randint", format!("gives integers and bool, not {dtype}")));
    }
    let (low, high) = (parameter("randint", &low, low.dtype()), parameter("randint", &high, high.dtype()));
    let drawn = ops::floor(&uniform(&low, &high, shape, Dtype::Float32, key));
    let last = ops::astype(&ops::subtract(&high, 1), dtype);
    let first = ops::astype(&low, dtype);
    ops::maximum(ops::minimum(ops::astype(&drawn, dtype), last), first)
}

/// The numbers below `n` in random order, as `uint32`.
///
/// # Errors
/// [`Error::Shape`] if the size does not fit 64-bit addresses.
#[track_caller]
pub fn permutation(n: usize, key: Option<&Array>) -> Array {
    ops::argsort(&bits(n, 4, key), -1)
}

/// The array with its parts along an axis in random order.
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist.
#[track_caller]
pub fn permutation_of(a: &Array, axis: impl Integer, key: Option<&Array>) -> Array {
    ok!(a);
    let place = ok!(resolve_axis("permutation", axis.to_i64(), a.ndim()));
    ops::take(a, &permutation(a.shape()[place], key), axis)
}
