//! The reverse direction: cotangents of results become cotangents of variables, in one pass over what was recorded.

use super::custom::Cotangents;
use super::origin::{self, Role};
use super::rules::{self, build};
use super::slots::Slots;
use super::trace::{Call, CustomCall, Item, Items};
use crate::array::{Array, Dtype};
use crate::call_site::with_call_site;
use crate::error::Result;
use crate::op::Op;

/// What has arrived at an array so far.
struct Sum {
    total: Array,
    /// More than one contribution; 16-bit ones are added up in `float32`.
    several: bool,
}

/// The cotangents on their way.
struct Arrived {
    sums: Slots<Sum>,
}

impl Arrived {
    /// Adds a contribution to what has arrived at an array.
    #[track_caller]
    fn add(&mut self, array: &Array, part: Array) {
        let slot = self.sums.slot(array.id());
        let Some(sum) = slot.take() else {
            *slot = Some(Sum { total: part, several: false });
            return;
        };
        let wide = match part.dtype() {
            Dtype::Float16 | Dtype::Bfloat16 => Dtype::Float32,
            other => other,
        };
        let total = build::add(&build::cast(&sum.total, wide), &build::cast(&part, wide));
        *slot = Some(Sum { total, several: true });
    }

    #[track_caller]
    fn take(&mut self, array: &Array) -> Option<Array> {
        let sum = self.sums.slot(array.id()).take()?;
        Some(if sum.several { build::cast(&sum.total, array.dtype()) } else { sum.total })
    }
}

/// Which arrays depend on the variables.
fn dependents(items: &Items, variables: &[Array]) -> Slots<()> {
    let mut marked = Slots::over(items, variables);
    for variable in variables {
        *marked.slot(variable.id()) = Some(());
    }
    for item in items {
        let Item::Call(call) = &**item else { continue };
        let depends = !matches!(call.op, Op::StopGradient) && call.inputs.iter().any(|x| marked.has(x.id()));
        if depends {
            call.outputs.iter().for_each(|y| *marked.slot(y.id()) = Some(()));
        }
    }
    marked
}

/// The cotangents of `variables`, given those of results; `None` for a variable that nothing depends on.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) if an operation between a variable and a result has no gradient.
#[track_caller]
pub(super) fn pull_back(
    items: &Items,
    variables: &[Array],
    results: &[(Array, Array)],
) -> Result<Vec<Option<Array>>> {
    let marked = dependents(items, variables);
    let mut arrived = Arrived { sums: Slots::over(items, variables) };
    for (result, cotangent) in results {
        if marked.has(result.id()) {
            let seed = build::cast(cotangent, result.dtype());
            origin::within(Role::Accumulate, result, || arrived.add(result, seed));
        }
    }
    for (place, item) in items.iter().enumerate().rev() {
        match &**item {
            Item::Call(call) => through_call(call, &marked, &mut arrived)?,
            Item::Custom(call) => {
                through_custom(call, &items[place - call.inner..place], &marked, &mut arrived)?;
            }
        }
    }
    Ok(variables.iter().map(|variable| arrived.take(variable)).collect())
}

#[track_caller]
fn through_call(call: &Call, marked: &Slots<()>, arrived: &mut Arrived) -> Result<()> {
    if !call.outputs.iter().any(|y| arrived.sums.has(y.id())) {
        return Ok(());
    }
    let wanted: Vec<bool> = call.inputs.iter().map(|x| marked.has(x.id())).collect();
    let forward = &call.outputs[0];
    let site = forward.call_site();
    with_call_site(site, || {
        origin::within(Role::Accumulate, forward, || {
            let cotangents: Vec<Option<Array>> = call.outputs.iter().map(|y| arrived.take(y)).collect();
            if !wanted.contains(&true) {
                return Ok(());
            }
            let rule = rules::Call { op: &call.op, inputs: &call.inputs, outputs: &call.outputs };
            let parts = origin::within(Role::Vjp, forward, || rules::vjp(&rule, &cotangents, &wanted))?;
            for (input, part) in call.inputs.iter().zip(parts) {
                if let Some(part) = part {
                    debug_assert!(fits(input, &part), "{}: {input:?} {part:?}", call.op.name());
                    arrived.add(input, part);
                }
            }
            Ok(())
        })
    })
}

/// What a rule must return: the cotangent of an array is like the array. A failed part has no shape to compare.
fn fits(array: &Array, part: &Array) -> bool {
    part.check().is_err()
        || array.check().is_err()
        || array.dtype() == Dtype::Bool
        || (array.shape() == part.shape() && array.dtype() == part.dtype())
}

#[track_caller]
fn through_custom(
    call: &CustomCall,
    inner: &[std::rc::Rc<Item>],
    marked: &Slots<()>,
    arrived: &mut Arrived,
) -> Result<()> {
    if !call.rule.has_vjp() || !call.outputs.iter().any(|y| arrived.sums.has(y.id())) {
        return Ok(());
    }
    let cotangents: Vec<Option<Array>> = call.outputs.iter().map(|y| arrived.take(y)).collect();
    let given = Cotangents { inputs: &call.inputs, outputs: &call.outputs, cotangents: &cotangents, inner };
    for (target, part) in call.rule.vjp(&given)? {
        if marked.has(target.id()) {
            arrived.add(&target, part);
        }
    }
    Ok(())
}
