//! Gradients checked: every operation of a function alone, and the function as a whole, against differences.

use std::fmt;

use super::flat::Derivatives;
use super::trace::{Item, Items, Trace};
use super::tree::Tree;
use crate::array::{Array, Axes, Dtype, Inputs};
use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::op::{LinalgOp, Op};
use crate::stream::{default_stream, with_stream};
use crate::{ops, random};

/// A derivative that is not what differences say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WrongGradient {
    /// The operation, or "the function" for all of it.
    pub op: String,
    /// The line of the user's code that asked for it.
    pub site: CallSite,
    /// What was compared.
    pub compared: &'static str,
    /// What the rule gives.
    pub found: f64,
    /// What it should give.
    pub expected: f64,
}

/// What [`check_grad`] found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GradCheck {
    /// Operations that were compared.
    pub compared: usize,
    /// Operations without a slope at this point, such as a maximum of equals, or without a gradient.
    pub left_out: usize,
    /// What is wrong.
    pub wrong: Vec<WrongGradient>,
}

impl GradCheck {
    /// Nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty()
    }
}

impl fmt::Display for GradCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} operations compared, {} left out", self.compared, self.left_out)?;
        for wrong in &self.wrong {
            let WrongGradient { op, site, compared, found, expected } = wrong;
            write!(f, "\n  {op} ({site}): {compared}: {found:e} instead of {expected:e}")?;
        }
        Ok(())
    }
}

/// Compares the derivatives of a function with differences, in `float64` on the CPU: of each operation alone, so that a
/// wrong one is named with its line, and of the whole, which finds wrong rules of the user. Both directions are compared
/// with each other as well.
///
/// ```
/// use pellucid::{Array, Axes, ops, transform::check_grad};
/// # fn main() -> pellucid::Result<()> {
/// let f = |x: &Array| ops::sum(&ops::tanh(&ops::square(x)), Axes::All, false);
/// let check = check_grad(f, &Array::from([0.5f32, -1.0]))?;
/// assert!(check.is_right(), "{check}");
/// assert!(check.compared >= 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of the function's arrays, and [`Error::Argument`] if it has no gradient.
///
/// # Cost
/// Some ten evaluations of the function.
#[track_caller]
pub fn check_grad<T: Tree, U: Tree>(f: impl Fn(&T) -> U, x: &T) -> Result<GradCheck> {
    check_flat(&x.to_leaves(), |arrays| Ok(f(&x.with_leaves(arrays.to_vec())).to_leaves()))
}

/// As [`check_grad`], for a function of lists that may fail in its own way.
///
/// # Errors
/// The function's own, and those of [`check_grad`].
#[track_caller]
pub fn check_flat<E: From<Error>>(
    x: &[Array],
    mut f: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
) -> Result<GradCheck, E> {
    let site = CallSite::here();
    let cpu = default_stream(Device::cpu())?;
    with_stream(cpu, || {
        let wide = |x: &Array| match x.dtype().is_floating() {
            true => ops::astype(x, Dtype::Float64),
            false => x.clone(),
        };
        let x: Vec<Array> = x.iter().map(wide).collect();
        let mut check = GradCheck::default();
        let (trace, variables) = Trace::of_values(&x);
        f(&variables)?;
        let items = trace.end();
        each(&items, &mut check)?;
        let whole = compare("the function", site, &x, &mut check, direction, &mut f);
        whole.map(|()| check)
    })
}

/// Compares every recorded operation alone.
fn each(items: &Items, check: &mut GradCheck) -> Result<()> {
    for item in items {
        let Item::Call(call) = &**item else { continue };
        if matches!(call.op, Op::StopGradient) {
            continue;
        }
        let again = |x: &[Array]| -> Result<Vec<Array>> {
            let inputs: Inputs = x.iter().cloned().collect();
            Ok(Array::from_op_many(call.op.clone(), inputs).into_iter().collect())
        };
        let moves = if reads_a_triangle(&call.op) { symmetric } else { direction };
        match compare(call.op.name(), call.outputs[0].call_site(), &call.inputs, check, moves, again) {
            Ok(()) => {}
            // No rule: the gradient of the whole says so if it is needed.
            Err(error) if matches!(error.root(), Error::Argument { .. }) => check.left_out += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Real part of the sum of products, as a number.
fn dot(a: &Array, b: &Array) -> Result<f64> {
    let product = ops::multiply(&ops::conjugate(a), b);
    let sum = ops::sum(&ops::real(&product), Axes::All, false);
    ops::astype(&sum, Dtype::Float64).item()
}

/// A direction to move an array in; `None` for what does not move.
fn direction(x: &Array, number: u64) -> Result<Option<Array>> {
    if !x.dtype().is_inexact() || x.size() == 0 {
        return Ok(None);
    }
    let made = random::normal(x.shape().to_vec(), Dtype::Float32, 0.0, 1.0, Some(&random::key(number)));
    made.check()?;
    Ok(Some(ops::astype(&made, x.dtype())))
}

/// Whether an operation takes its matrices for symmetric and reads half of each: then only moves that keep them so say
/// something of it.
fn reads_a_triangle(op: &Op) -> bool {
    matches!(op, Op::Linalg(LinalgOp::Cholesky | LinalgOp::Eigh { .. }))
}

/// As [`direction`], for symmetric matrices.
fn symmetric(x: &Array, number: u64) -> Result<Option<Array>> {
    let Some(made) = direction(x, number)? else { return Ok(None) };
    let half = ops::multiply(&made, 0.5);
    Ok(Some(ops::add(&half, &ops::conjugate(&ops::swapaxes(&half, -1, -2)))))
}

/// A way to choose directions; see [`direction`].
type Moves = fn(&Array, u64) -> Result<Option<Array>>;

fn compare<E: From<Error>>(
    op: &str,
    site: CallSite,
    x: &[Array],
    check: &mut GradCheck,
    moves: Moves,
    mut f: impl FnMut(&[Array]) -> Result<Vec<Array>, E>,
) -> Result<(), E> {
    let directions: Vec<Option<Array>> =
        x.iter().zip(1..).map(|(x, n)| moves(x, n)).collect::<Result<_>>()?;
    let moving: Vec<Array> =
        x.iter().zip(&directions).filter(|(_, t)| t.is_some()).map(|(x, _)| x.clone()).collect();
    let tangents: Vec<Array> = directions.iter().flatten().cloned().collect();
    if moving.is_empty() {
        return Ok(());
    }
    // The others stay as they are.
    let mut with = |moved: &[Array]| {
        let mut moved = moved.iter();
        let all: Vec<Array> = x
            .iter()
            .zip(&directions)
            .map(|(x, t)| t.as_ref().and_then(|_| moved.next()).unwrap_or(x).clone())
            .collect();
        f(&all)
    };
    let derivatives = Derivatives::begin(&moving);
    let y = with(derivatives.variables())?;
    y.iter().try_for_each(Array::check)?;
    let weights: Vec<Option<Array>> =
        y.iter().zip(101..).map(|(y, n)| direction(y, n)).collect::<Result<_>>()?;
    let pairs: Vec<(Array, Array)> =
        y.iter().zip(&weights).filter_map(|(y, w)| Some((y.clone(), w.clone()?))).collect();
    if pairs.is_empty() {
        return Ok(());
    }
    let gradients = derivatives.pull_back(&pairs)?;
    let mut backward = 0.0;
    for (g, t) in gradients.iter().zip(&tangents) {
        backward += dot(g, t)?;
    }
    let derivatives = Derivatives::begin(&moving);
    let again = with(derivatives.variables())?;
    let pushed = derivatives.push_forward(&tangents, &again)?;
    let weighted = |y: &[Array]| -> Result<f64> {
        y.iter().zip(&weights).filter_map(|(y, w)| Some(dot(w.as_ref()?, y))).sum()
    };
    let forward = weighted(&pushed)?;
    let narrow = moving.iter().chain(&y).any(|a| a.dtype().is_inexact() && a.dtype() != Dtype::Float64);
    let (step, close, closest) = if narrow { (1e-2, 5e-2, 1e-3) } else { (1e-6, 1e-5, 1e-9) };
    let mut at = |by: f64| -> Result<f64, E> {
        let moved: Vec<Array> =
            moving.iter().zip(&tangents).map(|(x, t)| ops::add(x, &ops::multiply(t, by))).collect();
        Ok(weighted(&with(&moved)?)?)
    };
    let (below, here, above) = (at(-step)?, at(0.0)?, at(step)?);
    let (left, right) = ((here - below) / step, (above - here) / step);
    let expected = (above - below) / (2.0 * step);
    let near = |a: f64, b: f64, by: f64| (a - b).abs() <= by * (1.0 + a.abs().max(b.abs()));
    if !expected.is_finite() || !near(left, right, 100.0 * close) {
        check.left_out += 1;
        return Ok(());
    }
    check.compared += 1;
    let mut wrong = |compared, found, expected| {
        let op = op.to_owned();
        check.wrong.push(WrongGradient { op, site, compared, found, expected });
    };
    if !near(backward, expected, close) {
        wrong("the gradient against differences", backward, expected);
    } else if !near(forward, backward, closest) {
        wrong("the derivative forwards against the gradient", forward, backward);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::transform::{Contributions, Cotangents, Rule, call_with_rule};

    struct Wrong;

    impl Rule for Wrong {
        fn has_vjp(&self) -> bool {
            true
        }

        fn vjp(&self, given: &Cotangents) -> Result<Contributions> {
            Ok(vec![(given.inputs[0].clone(), ops::multiply(&given.filled()[0], 3.0))])
        }
    }

    #[test]
    fn a_wrong_rule_is_found_and_the_operations_are_not_blamed() -> Result<()> {
        let f = |x: &Array| {
            let made: Result<Vec<Array>> =
                call_with_rule(Rc::new(Wrong), std::slice::from_ref(x), || Ok(vec![ops::multiply(x, 2.0)]));
            made.map_or_else(Array::from, |mut made| made.remove(0))
        };
        let check = check_grad(f, &Array::from([0.5f32, 0.25]))?;
        assert_eq!(check.wrong.len(), 1, "{check}");
        let wrong = &check.wrong[0];
        assert_eq!(wrong.op, "the function");
        assert!((wrong.found / wrong.expected - 1.5).abs() < 1e-6, "{check}");
        assert!(check.to_string().contains("check.rs"), "{check}");
        Ok(())
    }

    #[test]
    fn a_point_without_a_slope_is_left_out() -> Result<()> {
        let check = check_grad(|x: &Array| ops::maximum(x, 0.0), &Array::from([0.0f32]))?;
        assert!(check.is_right() && check.left_out > 0, "{check}");
        Ok(())
    }
}
