//! The forward direction: tangents of variables become tangents of results, in one pass over what was recorded.

use super::origin::{self, Role};
use super::reverse::pull_back;
use super::rules::{self, Push, build};
use super::slots::Slots;
use super::trace::{Call, Item, Items, Trace};
use crate::array::Array;
use crate::call_site::with_call_site;
use crate::error::Result;

/// Which items a rule of the user's replaces: those inside of functions that have one.
pub(super) fn replaced(items: &Items, has_rule: impl Fn(&dyn super::custom::Rule) -> bool) -> Vec<bool> {
    let mut replaced = vec![false; items.len()];
    for (place, item) in items.iter().enumerate() {
        if let Item::Custom(call) = &**item
            && has_rule(&*call.rule)
        {
            replaced[place - call.inner..place].fill(true);
        }
    }
    replaced
}

/// The tangents of `results`, given those of variables; `None` where a result does not depend on them.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) if an operation between a variable and a result has no derivative.
#[track_caller]
pub(super) fn push_forward(
    items: &Items,
    variables: &[(Array, Array)],
    results: &[Array],
) -> Result<Vec<Option<Array>>> {
    let own: Vec<Array> = variables.iter().map(|(variable, _)| variable.clone()).collect();
    let mut tangents: Slots<Array> = Slots::over(items, &own);
    for (variable, tangent) in variables {
        *tangents.slot(variable.id()) = Some(tangent.clone());
    }
    let skipped = replaced(items, |rule| rule.has_jvp());
    for (item, _) in items.iter().zip(&skipped).filter(|&(_, &skipped)| !skipped) {
        match &**item {
            Item::Call(call) => through_call(call, &mut tangents)?,
            Item::Custom(call) if call.rule.has_jvp() => {
                let given: Vec<Option<Array>> =
                    call.inputs.iter().map(|x| tangents.get(x.id()).cloned()).collect();
                if given.iter().all(Option::is_none) {
                    continue;
                }
                for (y, tangent) in call.outputs.iter().zip(call.rule.jvp(&call.inputs, &given)?) {
                    *tangents.slot(y.id()) = Some(tangent);
                }
            }
            Item::Custom(_) => {}
        }
    }
    Ok(results.iter().map(|y| tangents.get(y.id()).cloned()).collect())
}

#[track_caller]
fn through_call(call: &Call, tangents: &mut Slots<Array>) -> Result<()> {
    let given: Vec<Option<Array>> = call.inputs.iter().map(|x| tangents.get(x.id()).cloned()).collect();
    if given.iter().all(Option::is_none) {
        return Ok(());
    }
    let forward = &call.outputs[0];
    let rule = rules::Call { op: &call.op, inputs: &call.inputs, outputs: &call.outputs };
    let made = with_call_site(forward.call_site(), || {
        origin::within(Role::Jvp, forward, || match rules::jvp(&rule, &given)? {
            Push::Tangents(made) => Ok(made),
            Push::Transposed => transposed(&rule, &given),
        })
    })?;
    for (y, tangent) in call.outputs.iter().zip(made) {
        *tangents.slot(y.id()) = tangent;
    }
    Ok(())
}

/// The derivative in forward direction from the rule for the reverse one: that is linear in the cotangent, and its
/// own gradient by the cotangent is its transpose.
#[track_caller]
fn transposed(call: &rules::Call, tangents: &[Option<Array>]) -> Result<rules::Parts> {
    let zeros: Vec<Array> = call.outputs.iter().map(build::zeros_like).collect();
    let (trace, variables) = Trace::of_values(&zeros);
    let wanted: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    let cotangents: Vec<Option<Array>> = variables.iter().cloned().map(Some).collect();
    let parts = rules::vjp(call, &cotangents, &wanted)?;
    let items = trace.end();
    let results: Vec<(Array, Array)> =
        parts.into_iter().zip(tangents).filter_map(|(part, t)| Some((part?, t.clone()?))).collect();
    Ok(pull_back(&items, &variables, &results)?.into_iter().collect())
}
