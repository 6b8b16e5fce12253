//! Batches: a function of one lane becomes a function of all lanes at once, in one pass over what was recorded.

use super::forward::replaced;
use super::origin::{self, Role};
use super::rules::{self, Batched, build};
use super::slots::Slots;
use super::trace::{Call, CustomCall, Item, Items};
use crate::array::Array;
use crate::call_site::with_call_site;
use crate::error::Result;

/// The results for all lanes. `lanes` are the placeholders and the arrays with all lanes, the batch axis first. `None` for
/// a result that is the same for all.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) if an operation on a lane has no batched form.
#[track_caller]
pub(super) fn batched(
    items: &Items,
    lanes: &[(Array, Array)],
    size: usize,
    results: &[Array],
) -> Result<Vec<Option<Array>>> {
    let own: Vec<Array> = lanes.iter().map(|(placeholder, _)| placeholder.clone()).collect();
    let mut known: Slots<Array> = Slots::over(items, &own);
    for (placeholder, batch) in lanes {
        *known.slot(placeholder.id()) = Some(batch.clone());
    }
    let skipped = replaced(items, |rule| rule.has_vmap());
    for (item, _) in items.iter().zip(&skipped).filter(|&(_, &skipped)| !skipped) {
        match &**item {
            Item::Call(call) => through_call(call, size, &mut known)?,
            Item::Custom(call) if call.rule.has_vmap() => through_custom(call, size, &mut known)?,
            Item::Custom(_) => {}
        }
    }
    Ok(results.iter().map(|y| known.get(y.id()).cloned()).collect())
}

#[track_caller]
fn through_call(call: &Call, size: usize, known: &mut Slots<Array>) -> Result<()> {
    let inputs: Vec<Batched> = call
        .inputs
        .iter()
        .map(|x| match known.get(x.id()) {
            Some(batch) => Batched { array: batch.clone(), mapped: true },
            None => Batched { array: x.clone(), mapped: false },
        })
        .collect();
    if !inputs.iter().any(|x| x.mapped) {
        return Ok(());
    }
    let lane = &call.outputs[0];
    let rule = rules::Call { op: &call.op, inputs: &call.inputs, outputs: &call.outputs };
    let made = with_call_site(lane.call_site(), || {
        origin::within(Role::Vmap, lane, || rules::vmap(&rule, &inputs, size))
    })?;
    for (y, batch) in call.outputs.iter().zip(made) {
        *known.slot(y.id()) = Some(batch);
    }
    Ok(())
}

#[track_caller]
fn through_custom(call: &CustomCall, size: usize, known: &mut Slots<Array>) -> Result<()> {
    let axes: Vec<Option<usize>> = call.inputs.iter().map(|x| known.get(x.id()).map(|_| 0)).collect();
    if axes.iter().all(Option::is_none) {
        return Ok(());
    }
    let inputs: Vec<Array> = call.inputs.iter().map(|x| known.get(x.id()).unwrap_or(x).clone()).collect();
    for (y, (batch, axis)) in call.outputs.iter().zip(call.rule.vmap(&inputs, &axes)?) {
        let batch = match axis {
            Some(axis) => build::move_axis(&batch, axis, 0),
            None => Batched { array: batch, mapped: false }.spread(size),
        };
        *known.slot(y.id()) = Some(batch);
    }
    Ok(())
}
