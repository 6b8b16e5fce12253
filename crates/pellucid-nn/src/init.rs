//! Initialisers: arrays to begin with, from a shape. The generator is that of [`pellucid::random`], so that a seed gives
//! the numbers it gives in MLX.
//!
//! ```
//! use pellucid_nn::prelude::*;
//! # fn main() -> pellucid::Result<()> {
//! random::seed(0);
//! let mut layer = Linear::new(64, 32);
//! layer.weight.set(init::he_normal([32, 64], init::Fan::In, 2f64.sqrt()));
//! assert_eq!(layer.weight.shape(), [32, 64]);
//! # Ok(())
//! # }
//! ```

use pellucid::{Array, Dtype, Shape, linalg, ops, random};

use crate::error;

const FLOAT: Dtype = Dtype::Float32;

/// Every element is `value`.
#[track_caller]
pub fn constant(shape: impl Into<Shape>, value: f64) -> Array {
    ops::full(shape.into(), value, FLOAT)
}

/// Elements from a normal distribution.
#[track_caller]
pub fn normal(shape: impl Into<Shape>, mean: f64, deviation: f64) -> Array {
    random::normal(shape.into(), FLOAT, mean, deviation, None)
}

/// Elements evenly from `low` up to but not including `high`.
#[track_caller]
pub fn uniform(shape: impl Into<Shape>, low: f64, high: f64) -> Array {
    random::uniform(low, high, shape.into(), FLOAT, None)
}

/// The identity matrix; the shape must be square.
#[track_caller]
pub fn identity(shape: impl Into<Shape>) -> Array {
    let shape = shape.into();
    match *shape {
        [rows, columns] if rows == columns => ops::identity(rows, FLOAT),
        _ => error::shape("identity", format!("a square matrix is needed, not shape {shape}")),
    }
}

/// Which connections of a weight are counted: those into an output or those out of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// Inputs of an output.
    In,
    /// Outputs of an input.
    Out,
}

/// Inputs of an output and outputs of an input, for weights `[out, spatial…, in]`.
fn fans(function: &'static str, shape: &Shape) -> Result<[f64; 2], Array> {
    let [outputs, spatial @ .., inputs] = &**shape else {
        let message = format!("at least two axes are needed, not shape {shape}");
        return Err(error::shape(function, message));
    };
    let receptive: usize = spatial.iter().product();
    Ok([(inputs * receptive) as f64, (outputs * receptive) as f64])
}

/// Normal, with a variance of two by the sum of inputs and outputs, times `gain²`.
#[track_caller]
pub fn glorot_normal(shape: impl Into<Shape>, gain: f64) -> Array {
    let shape = shape.into();
    match fans("glorot_normal", &shape) {
        Ok([inputs, outputs]) => normal(shape, 0.0, gain * (2.0 / (inputs + outputs)).sqrt()),
        Err(failed) => failed,
    }
}

/// Uniform, with a variance of two by the sum of inputs and outputs, times `gain²`.
#[track_caller]
pub fn glorot_uniform(shape: impl Into<Shape>, gain: f64) -> Array {
    let shape = shape.into();
    match fans("glorot_uniform", &shape) {
        Ok([inputs, outputs]) => {
            let limit = gain * (6.0 / (inputs + outputs)).sqrt();
            uniform(shape, -limit, limit)
        }
        Err(failed) => failed,
    }
}

/// Normal, with a deviation of `gain` by the root of the inputs or outputs.
#[track_caller]
pub fn he_normal(shape: impl Into<Shape>, fan: Fan, gain: f64) -> Array {
    let shape = shape.into();
    match fans("he_normal", &shape) {
        Ok(fans) => normal(shape, 0.0, gain / fans[fan as usize].sqrt()),
        Err(failed) => failed,
    }
}

/// Uniform, with a deviation of `gain` by the root of the inputs or outputs.
#[track_caller]
pub fn he_uniform(shape: impl Into<Shape>, fan: Fan, gain: f64) -> Array {
    let shape = shape.into();
    match fans("he_uniform", &shape) {
        Ok(fans) => {
            let limit = gain * (3.0 / fans[fan as usize]).sqrt();
            uniform(shape, -limit, limit)
        }
        Err(failed) => failed,
    }
}

/// Normal, with the share `sparsity` of each row, at random places, set to zero.
#[track_caller]
pub fn sparse(shape: impl Into<Shape>, sparsity: f64, mean: f64, deviation: f64) -> Array {
    let shape = shape.into();
    let [_, columns] = *shape else {
        return error::shape("sparse", format!("two axes are needed, not shape {shape}"));
    };
    if !(0.0..=1.0).contains(&sparsity) {
        return error::argument("sparse", format!("sparsity must be from 0 to 1, not {sparsity}"));
    }
    let zeros = (sparsity * columns as f64).ceil() as usize;
    let order = ops::argsort(&random::uniform(0, 1, shape.clone(), FLOAT, None), 1);
    let values = normal(shape, mean, deviation);
    let places = order.i((.., ..zeros));
    ops::put_along_axis(&values, &places, 0.0, 1)
}

/// A matrix whose rows or columns, whichever are fewer, are orthogonal and as long as `gain`.
#[track_caller]
pub fn orthogonal(shape: impl Into<Shape>, gain: f64) -> Array {
    let shape = shape.into();
    let [rows, columns] = *shape else {
        return error::shape("orthogonal", format!("two axes are needed, not shape {shape}"));
    };
    let side = rows.max(columns);
    let (q, r) = linalg::qr(&normal([side, side], 0.0, 1.0));
    // With the signs of the diagonal, the result is evenly distributed over all rotations.
    let q = q * ops::sign(&ops::diag(&r, 0));
    q.i((..rows, ..columns)) * gain
}
