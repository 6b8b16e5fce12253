//! Fusion: chains of elementwise operations become one program each.
//!
//! An operation joins its consumers' group if all of them are in it, nobody outside the plan holds its result, and it
//! has the group's stream and shape. Scalars become constants of the program.

use std::sync::OnceLock;

use smallvec::SmallVec;

use super::batch::{Member, Step, StepInput};
use super::plan::{Entry, entry_of};
use crate::array::Array;
use crate::op::{Arg, Func, Instr, Op, Program};

/// A longer program gains nothing: intermediate results already stay in the nearest cache.
const MOST_INSTRUCTIONS: u32 = 1024;
/// Each input costs a register block; a group stops growing here.
const MOST_INPUTS: u32 = 24;

/// Entries that run as one step, producers first.
pub(super) type Group = SmallVec<[u32; 1]>;

/// `PELLUCID_FUSE=0` runs every operation on its own. Results are the same bit for bit.
fn enabled() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(|| std::env::var_os("PELLUCID_FUSE").is_none_or(|v| v != "0"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Consumers {
    None,
    Group(u32),
    Several,
}

struct Open {
    root: u32,
    instructions: u32,
    inputs: u32,
}

/// Splits the plan into groups, in an order in which each comes after what it reads.
pub(super) fn group(entries: &mut [Entry], order: &[u32]) -> Vec<Group> {
    let mut consumers = vec![Consumers::None; entries.len()];
    let mut groups: Vec<Open> = Vec::new();
    // From the outputs inwards, so that every consumer is placed before its inputs.
    for &index in order.iter().rev() {
        let entry = &entries[index as usize];
        let Some(work) = entry.work() else { continue };
        let joined = match consumers[index as usize] {
            Consumers::Group(g) if enabled() && joins(entries, index, &groups[g as usize]) => Some(g),
            _ => None,
        };
        let group = joined.unwrap_or_else(|| {
            groups.push(Open { root: index, instructions: 0, inputs: 1 });
            groups.len() as u32 - 1
        });
        let open = &mut groups[group as usize];
        open.instructions += 1;
        open.inputs += work.inputs.len().saturating_sub(1) as u32;
        for input in &work.inputs {
            if let Some(producer) = entry_of(&input.0) {
                let known = &mut consumers[producer as usize];
                *known = match *known {
                    Consumers::None => Consumers::Group(group),
                    same if same == Consumers::Group(group) => same,
                    _ => Consumers::Several,
                };
            }
        }
        entries[index as usize].group = group;
    }
    let skip = constants(entries);
    let mut members: Vec<Group> = vec![Group::new(); groups.len()];
    let mut result = Vec::with_capacity(groups.len());
    for &index in order {
        let entry = &mut entries[index as usize];
        let group = &mut members[entry.group as usize];
        entry.place = group.len() as u32;
        group.push(index);
        // The root is the last of its members: all others are read inside the group.
        if groups[entry.group as usize].root == index && !skip[index as usize] {
            result.push(std::mem::take(group));
        }
    }
    result
}

/// Whether an entry can become part of the group of its only consumers.
fn joins(entries: &[Entry], index: u32, group: &Open) -> bool {
    let (entry, root) = (&entries[index as usize], &entries[group.root as usize]);
    let (Some(work), Some(root_work)) = (entry.work(), root.work()) else { return false };
    work.op.is_elementwise()
        && root_work.op.is_elementwise()
        && entry.array.stream() == root.array.stream()
        && entry.array.shape() == root.array.shape()
        && group.instructions < MOST_INSTRUCTIONS
        && group.inputs < MOST_INPUTS
        && entry.is_private()
}

/// Which entries are scalars that only elementwise operations read: they are written into programs and need no step.
fn constants(entries: &[Entry]) -> Vec<bool> {
    let mut skip: Vec<bool> = entries.iter().map(|e| !e.requested && is_scalar_constant(e)).collect();
    for work in entries.iter().filter_map(Entry::work).filter(|work| !work.op.is_elementwise()) {
        for producer in work.inputs.iter().filter_map(|input| entry_of(&input.0)) {
            skip[producer as usize] = false;
        }
    }
    skip
}

fn is_scalar_constant(entry: &Entry) -> bool {
    matches!(entry.work(), Some(work) if matches!(&work.op, Op::Full { shape, .. } if shape.is_empty()))
}

/// Builds the step that runs a group, and takes its work out of the plan.
pub(super) fn step(entries: &mut [Entry], group: &Group) -> Step {
    let root = entries[group[group.len() - 1] as usize].work();
    let elementwise = root.is_some_and(|work| work.op.is_elementwise());
    let (inputs, program) =
        if elementwise { program(entries, group) } else { (all_inputs(entries, group), None) };
    let take = |&index: &u32| {
        let entry = &mut entries[index as usize];
        Some(Member { array: entry.array.clone(), work: entry.work.take()? })
    };
    Step { members: group.iter().filter_map(take).collect(), inputs, program }
}

/// The inputs of a single operation, each array once.
fn all_inputs(entries: &[Entry], group: &Group) -> SmallVec<[StepInput; 2]> {
    let mut inputs: SmallVec<[StepInput; 2]> = SmallVec::new();
    let Some(work) = entries[group[0] as usize].work() else { return inputs };
    for (position, array) in work.inputs.iter().enumerate() {
        let references = work.inputs.iter().filter(|a| std::ptr::eq(&*a.0, &*array.0)).count() as u32;
        inputs.push(StepInput { member: 0, position: position as u32, references });
    }
    inputs
}

/// Translates a group into instructions.
fn program(entries: &[Entry], group: &Group) -> (SmallVec<[StepInput; 2]>, Option<Program>) {
    let mut program = Program::default();
    let mut inputs: SmallVec<[StepInput; 2]> = SmallVec::new();
    let mut arrays: SmallVec<[&Array; 4]> = SmallVec::new();
    let mut constants: SmallVec<[(u32, u16); 4]> = SmallVec::new();
    for (position, &member) in group.iter().enumerate() {
        let entry = &entries[member as usize];
        let Some(work) = entry.work() else { continue };
        let Some(func) = Func::of(&work.op) else { continue };
        let mut args = [Arg::Input(0); 3];
        for (i, array) in work.inputs.iter().enumerate() {
            let producer = entry_of(&array.0);
            let inside = producer.map(|p| &entries[p as usize]).filter(|p| p.group == entry.group);
            args[i] = if let Some(inside) = inside {
                Arg::Instr(inside.place as u16)
            } else if let Some((p, value)) = producer.and_then(|p| constant(entries, p).map(|v| (p, v))) {
                let known = constants.iter().find(|&&(q, _)| q == p).map(|&(_, c)| c);
                Arg::Const(known.unwrap_or_else(|| {
                    program.consts.push(value);
                    let index = program.consts.len() as u16 - 1;
                    constants.push((p, index));
                    index
                }))
            } else if let Some(known) = arrays.iter().position(|a| std::ptr::eq(&*a.0, &*array.0)) {
                inputs[known].references += 1;
                Arg::Input(known as u16)
            } else {
                arrays.push(array);
                program.inputs.push(array.dtype());
                inputs.push(StepInput { member: position as u32, position: i as u32, references: 1 });
                Arg::Input(arrays.len() as u16 - 1)
            };
        }
        let compute = work.inputs[if func == Func::Select { 1 } else { 0 }].dtype();
        let used = work.inputs.len();
        for i in used..3 {
            args[i] = args[0];
        }
        program.instrs.push(Instr { func, compute, result: entry.array.dtype(), args });
    }
    (inputs, Some(program))
}

fn constant(entries: &[Entry], index: u32) -> Option<(crate::op::Scalar, crate::array::Dtype)> {
    match &entries[index as usize].work()?.op {
        Op::Full { shape, dtype, value } if shape.is_empty() => Some((*value, *dtype)),
        _ => None,
    }
}
