//! Functions that bring rules of their own: gradients written by the user, and blocks that are computed again on the
//! way back instead of kept.

use std::rc::Rc;

use super::origin::{self, Role};
use super::reverse::pull_back;
use super::rules::build;
use super::slots::Slots;
use super::trace::{self, Call, CustomCall, Item, Items};
use crate::array::{Array, Inputs};
use crate::call_site::with_call_site;
use crate::error::{Error, Result};
use crate::op::Op;

/// What a rule for the reverse direction gets.
pub struct Cotangents<'a> {
    /// What the function was called with.
    pub inputs: &'a [Array],
    /// What it returned.
    pub outputs: &'a [Array],
    /// What has arrived at each result; `None` is zero.
    pub cotangents: &'a [Option<Array>],
    pub(super) inner: &'a [Rc<Item>],
}

impl Cotangents<'_> {
    /// The cotangents, with zeros where nothing has arrived.
    #[track_caller]
    pub fn filled(&self) -> Vec<Array> {
        let filled = |(y, g): (&Array, &Option<Array>)| g.clone().unwrap_or_else(|| build::zeros_like(y));
        self.outputs.iter().zip(self.cotangents).map(filled).collect()
    }
}

/// Cotangents, and the arrays they belong to.
pub type Contributions = Vec<(Array, Array)>;

/// A result of a batched rule, and the axis its lanes lie along; `None` if it is the same for all.
pub type Lanes = Vec<(Array, Option<usize>)>;

/// The rules of a function. What it does not have is derived from what the function does.
pub trait Rule {
    /// Whether [`vjp`](Rule::vjp) is there.
    fn has_vjp(&self) -> bool {
        false
    }

    /// Whether [`jvp`](Rule::jvp) is there.
    fn has_jvp(&self) -> bool {
        false
    }

    /// Whether [`vmap`](Rule::vmap) is there.
    fn has_vmap(&self) -> bool {
        false
    }

    /// Cotangents of what the function was called with.
    ///
    /// # Errors
    /// The rule's own.
    fn vjp(&self, given: &Cotangents) -> Result<Contributions> {
        let _ = given;
        Err(Error::internal("vjp", "a function without this rule was asked for it"))
    }

    /// Tangents of the results, from those of the inputs.
    ///
    /// # Errors
    /// The rule's own.
    fn jvp(&self, inputs: &[Array], tangents: &[Option<Array>]) -> Result<Vec<Array>> {
        let _ = (inputs, tangents);
        Err(Error::internal("jvp", "a function without this rule was asked for it"))
    }

    /// Results for a whole batch; `axes` says along which axis the lanes of each input lie.
    ///
    /// # Errors
    /// The rule's own.
    fn vmap(&self, inputs: &[Array], axes: &[Option<usize>]) -> Result<Lanes> {
        let _ = (inputs, axes);
        Err(Error::internal("vmap", "a function without this rule was asked for it"))
    }
}

/// Calls a function under rules of its own.
///
/// # Errors
/// The function's own.
#[track_caller]
pub fn call_with_rule<E>(
    rule: Rc<dyn Rule>,
    inputs: &[Array],
    f: impl FnOnce() -> Result<Vec<Array>, E>,
) -> Result<Vec<Array>, E> {
    if !trace::is_tracing() {
        return f();
    }
    let before = trace::len();
    let made = f()?;
    // Results of their own, so that what the function returned unchanged is told apart from its inputs.
    let outputs: Vec<Array> =
        made.iter().map(|y| Array::from_op(Op::Depends, Inputs::from_elem(y.clone(), 1))).collect();
    let inner = trace::len() - before;
    trace::push(Item::Custom(CustomCall { rule, inputs: inputs.to_vec(), outputs: outputs.clone(), inner }));
    Ok(outputs)
}

/// Computes a block again on the way back.
struct Recompute;

/// Calls a function of which nothing but its inputs is kept for the way back: there it is computed again, from what was
/// recorded, so that random numbers are the same and everything the function uses gets its gradient.
///
/// # Errors
/// The function's own.
#[track_caller]
pub fn checkpointed<E>(inputs: &[Array], f: impl FnOnce() -> Result<Vec<Array>, E>) -> Result<Vec<Array>, E> {
    call_with_rule(Rc::new(Recompute), inputs, f)
}

impl Rule for Recompute {
    fn has_vjp(&self) -> bool {
        true
    }

    fn vjp(&self, given: &Cotangents) -> Result<Contributions> {
        let arrived: Vec<Array> = given.cotangents.iter().flatten().cloned().collect();
        let outside = outside_of(given.inner);
        // Made only when the way back has come here, or everything would be computed again at once.
        let late: Vec<Array> = outside.iter().map(|x| after(x, &arrived)).collect();
        let mut again = Slots::over(&given.inner.to_vec(), &outside);
        for (array, late) in outside.iter().zip(&late) {
            *again.slot(array.id()) = Some(late.clone());
        }
        let items = replay(given.inner, &mut again);
        let of = |y: &Array| again.get(y.id()).cloned().unwrap_or_else(|| y.clone());
        let results: Vec<(Array, Array)> = given
            .outputs
            .iter()
            .zip(given.cotangents)
            .filter_map(|(y, g)| Some((of(y), g.clone()?)))
            .collect();
        let parts = pull_back(&items, &late, &results)?;
        Ok(outside.into_iter().zip(parts).filter_map(|(x, part)| Some((x, part?))).collect())
    }
}

/// The array, ready only after others are.
#[track_caller]
fn after(x: &Array, others: &[Array]) -> Array {
    let inputs: Inputs = std::iter::once(x).chain(others).cloned().collect();
    with_call_site(x.call_site(), || Array::from_op(Op::Depends, inputs))
}

/// What a block reads that it did not make itself, each once.
fn outside_of(items: &[Rc<Item>]) -> Vec<Array> {
    let mut made = std::collections::HashSet::new();
    let mut outside = Vec::new();
    for item in items {
        let Item::Call(call) = &**item else { continue };
        for input in &call.inputs {
            if made.insert(input.id()) {
                outside.push(input.clone());
            }
        }
        made.extend(call.outputs.iter().map(Array::id));
    }
    outside
}

/// The same calls on other arrays: those in `again`, where there are any.
fn replay(items: &[Rc<Item>], again: &mut Slots<Array>) -> Items {
    let mut made = Items::with_capacity(items.len());
    for item in items {
        let renamed = |arrays: &[Array], again: &Slots<Array>| -> Vec<Array> {
            arrays.iter().map(|a| again.get(a.id()).unwrap_or(a).clone()).collect()
        };
        match &**item {
            Item::Call(call) => {
                let inputs: Inputs = renamed(&call.inputs, again).into_iter().collect();
                let forward = &call.outputs[0];
                let outputs = with_call_site(forward.call_site(), || {
                    let make = || Array::from_op_many(call.op.clone(), inputs.clone());
                    origin::within(Role::Recompute, forward, make)
                });
                for (old, new) in call.outputs.iter().zip(&outputs) {
                    *again.slot(old.id()) = Some(new.clone());
                }
                let outputs = outputs.into_iter().collect();
                made.push(Rc::new(Item::Call(Call { op: call.op.clone(), inputs, outputs, refit: None })));
            }
            Item::Custom(call) => made.push(Rc::new(Item::Custom(CustomCall {
                rule: call.rule.clone(),
                inputs: renamed(&call.inputs, again),
                outputs: renamed(&call.outputs, again),
                inner: call.inner,
            }))),
        }
    }
    made
}
