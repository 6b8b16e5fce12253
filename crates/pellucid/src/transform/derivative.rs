//! Gradients and derivatives of Rust functions between trees of arrays.

use super::custom::checkpointed;
use super::flat::Derivatives;
use super::lanes::vmap;
use super::rules::build;
use super::tree::Tree;
use crate::array::{Array, Shape};
use crate::error::{Error, Result};
use crate::op::Op;

/// What a function returns whose gradient is asked for: a single number, alone or first in a tuple of anything.
pub trait Loss {
    /// The number.
    fn loss(&self) -> &Array;
}

impl Loss for Array {
    fn loss(&self) -> &Array {
        self
    }
}

impl<A> Loss for (Array, A) {
    fn loss(&self) -> &Array {
        &self.0
    }
}

impl<A, B> Loss for (Array, A, B) {
    fn loss(&self) -> &Array {
        &self.0
    }
}

/// A function that returns what `f` returns and the gradient by all arrays of its argument, in the argument's own type.
///
/// ```
/// use pellucid::{Array, transform::value_and_grad};
/// # fn main() -> pellucid::Result<()> {
/// let loss = |(w, b): &(Array, Array)| (w * 3.0 + b).square().sum(..);
/// let (value, (dw, db)) = value_and_grad(loss)(&(Array::from(2.0f32), Array::from(1.0f32)))?;
/// assert_eq!(value.item::<f32>()?, 49.0);
/// assert_eq!((dw.item::<f32>()?, db.item::<f32>()?), (42.0, 14.0));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The function returned has those of `f`'s arrays; [`Error::Shape`] if the result is not a single number, and
/// [`Error::Argument`] if an operation in between has no gradient.
pub fn value_and_grad<T: Tree, R: Loss>(f: impl Fn(&T) -> R) -> impl Fn(&T) -> Result<(R, T)> {
    #[track_caller]
    fn seed(loss: &Array) -> Result<Array> {
        loss.check()?;
        if loss.ndim() != 0 {
            let message = format!(
                "the function must return a single number, of shape [], not {}; take its sum or mean first",
                loss.shape_ref()
            );
            return Err(Error::shape("value_and_grad", message));
        }
        Ok(build::number(1i64, loss.dtype()))
    }
    move |x: &T| {
        let derivatives = Derivatives::begin(&x.to_leaves());
        let result = f(&x.with_leaves(derivatives.variables().to_vec()));
        let loss = result.loss().clone();
        let gradients = derivatives.pull_back(&[(loss.clone(), seed(&loss)?)])?;
        Ok((result, x.with_leaves(gradients)))
    }
}

/// A function that returns the gradient of `f` by all arrays of its argument. See [`value_and_grad`].
///
/// ```
/// use pellucid::{Array, transform::grad};
/// # fn main() -> pellucid::Result<()> {
/// let slope = grad(|x: &Array| x.sin());
/// assert_eq!(slope(&Array::from(0.0f32))?.item::<f32>()?, 1.0);
/// let curvature = grad(|x: &Array| grad(|x: &Array| x.sin())(x).unwrap_or_else(Array::from));
/// assert_eq!(curvature(&Array::from(0.0f32))?.item::<f32>()?, 0.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`value_and_grad`].
pub fn grad<T: Tree, R: Loss>(f: impl Fn(&T) -> R) -> impl Fn(&T) -> Result<T> {
    let both = value_and_grad(f);
    move |x: &T| Ok(both(x)?.1)
}

/// What `f` returns, and the product of `cotangents` with its Jacobian.
///
/// # Errors
/// [`Error::Shape`] if a cotangent is not like its result, [`Error::Argument`] if there are too few of them or an
/// operation in between has no gradient; the errors of failed results.
#[track_caller]
pub fn vjp<T: Tree, U: Tree>(f: impl Fn(&T) -> U, primals: &T, cotangents: &U) -> Result<(U, T)> {
    let derivatives = Derivatives::begin(&primals.to_leaves());
    let result = f(&primals.with_leaves(derivatives.variables().to_vec()));
    let (results, cotangents) = (result.to_leaves(), cotangents.to_leaves());
    if results.len() != cotangents.len() {
        let message = format!("{} results, but {} cotangents", results.len(), cotangents.len());
        return Err(Error::argument("vjp", message));
    }
    for (y, g) in results.iter().zip(&cotangents) {
        y.check()?;
        if y.shape() != g.shape() {
            let message = format!("a result has shape {}, its cotangent {}", y.shape_ref(), g.shape_ref());
            return Err(Error::shape("vjp", message));
        }
    }
    let pairs: Vec<(Array, Array)> = results.into_iter().zip(cotangents).collect();
    let gradients = derivatives.pull_back(&pairs)?;
    Ok((result, primals.with_leaves(gradients)))
}

/// What `f` returns, and the product of its Jacobian with `tangents`.
///
/// # Errors
/// [`Error::Argument`] if a tangent is not like its primal or an operation in between has no derivative; the errors of
/// failed results.
#[track_caller]
pub fn jvp<T: Tree, U: Tree>(f: impl Fn(&T) -> U, primals: &T, tangents: &T) -> Result<(U, U)> {
    let derivatives = Derivatives::begin(&primals.to_leaves());
    let result = f(&primals.with_leaves(derivatives.variables().to_vec()));
    let made = derivatives.push_forward(&tangents.to_leaves(), &result.to_leaves())?;
    let tangents = result.with_leaves(made);
    Ok((result, tangents))
}

/// Unit vectors of all elements of an array, stacked in front: `[n, shape…]`.
#[track_caller]
fn basis(x: &Array) -> Array {
    let n = x.size();
    let column = build::reshape(&build::counting(n), &[n, 1]);
    let diagonal = build::cast(&build::equal(&column, &build::counting(n)), x.dtype());
    let shape: Vec<usize> = std::iter::once(n).chain(x.shape().iter().copied()).collect();
    build::reshape(&diagonal, &shape)
}

/// A function that returns the Jacobian of `f`, of shape `[result…, argument…]`, row by row in reverse direction: the
/// better way if the result is smaller than the argument.
///
/// # Errors
/// Those of [`vjp`].
pub fn jacrev(f: impl Fn(&Array) -> Array) -> impl Fn(&Array) -> Result<Array> {
    move |x: &Array| {
        let y = f(x);
        y.check()?;
        let rows = vmap(|g: &Array| vjp(&f, x, g).map_or_else(Array::from, |(_, dx)| dx))(&basis(&y))?;
        let shape: Shape = y.shape().iter().chain(x.shape()).copied().collect();
        Ok(build::reshape(&rows, &shape))
    }
}

/// A function that returns the Jacobian of `f`, of shape `[result…, argument…]`, column by column in forward direction:
/// the better way if the argument is smaller than the result.
///
/// # Errors
/// Those of [`jvp`].
pub fn jacfwd(f: impl Fn(&Array) -> Array) -> impl Fn(&Array) -> Result<Array> {
    move |x: &Array| {
        let columns = vmap(|t: &Array| jvp(&f, x, t).map_or_else(Array::from, |(_, dy)| dy))(&basis(x))?;
        let result = &columns.shape()[1..];
        let shape: Vec<usize> = result.iter().copied().chain(x.shape().iter().copied()).collect();
        let mut axes: Vec<usize> = (1..columns.ndim()).collect();
        axes.push(0);
        Ok(build::reshape(&build::transpose(&columns, &axes), &shape))
    }
}

/// A function that returns the matrix of second derivatives of `f`, of shape `[argument…, argument…]`.
///
/// # Errors
/// Those of [`grad`] and [`jvp`].
pub fn hessian(f: impl Fn(&Array) -> Array) -> impl Fn(&Array) -> Result<Array> {
    let gradient = grad(f);
    jacfwd(move |x: &Array| gradient(x).unwrap_or_else(Array::from))
}

/// A function like `f` of which nothing but its arguments is kept for the way back: there it is computed again.
pub fn checkpoint<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    move |x: &T| {
        let mut result = None;
        let made = checkpointed::<std::convert::Infallible>(&x.to_leaves(), || {
            let y = f(x);
            let leaves = y.to_leaves();
            result = Some(y);
            Ok(leaves)
        });
        let Ok(made) = made;
        match result {
            Some(y) => y.with_leaves(made),
            None => f(x),
        }
    }
}

/// The same elements, through which no derivative passes.
///
/// ```
/// use pellucid::{Array, transform::{grad, stop_gradient}};
/// # fn main() -> pellucid::Result<()> {
/// let slope = grad(|x: &Array| x * stop_gradient(x));
/// assert_eq!(slope(&Array::from(3.0f32))?.item::<f32>()?, 3.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn stop_gradient(x: &Array) -> Array {
    build::apply(Op::StopGradient, &[x])
}
