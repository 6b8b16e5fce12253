//! Fusion: chains of elementwise operations become one program each.
//!
//! An operation joins its consumers' group if all of them are in it, nobody outside the plan holds its result, and it
//! has the group's stream and shape. Scalars become constants of the program. On the CPU a group may end in a reduction
//! of the last axes, which takes the chain's values as they are made.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::batch::{Member, Step, StepInput};
use super::plan::{Entry, NONE, Plan};
use crate::array::{Dtype, Node, Shape};
use crate::backend::{cpu, gpu};
use crate::device::DeviceType;
use crate::op::{Arg, Func, Instr, Op, Program, Scalar};
use crate::variable;

/// A longer program gains nothing: intermediate results already stay in the nearest cache.
const MOST_INSTRUCTIONS: u32 = 1024;
/// A GPU's kernel is compiled for each chain, the longer the more it computes: this many operations per element.
const MOST_GPU_INSTRUCTIONS: u32 = 64;
const MOST_GPU_WORK: u32 = 160;
/// Each input costs a register block; a group stops growing here.
const MOST_INPUTS: u32 = 24;

static ENABLED: LazyLock<AtomicBool> =
    LazyLock::new(|| AtomicBool::new(variable::flag("PELLUCID_FUSE") != Some(false)));

/// Whether chains of elementwise operations are fused. `PELLUCID_FUSE=0` turns it off at the start. Results are the
/// same bit for bit.
pub fn fusion() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Turns fusion on or off for later evaluations and returns what it was.
pub fn set_fusion(on: bool) -> bool {
    ENABLED.swap(on, Ordering::Relaxed)
}

/// Who reads an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consumers {
    None,
    Group(u32),
    Several,
}

/// A group as it grows.
struct Open {
    root: u32,
    instructions: u32,
    /// Operations per element.
    work: u32,
    inputs: u32,
    /// The last few arrays read from outside, so that one that is read again and again counts once.
    recent: [*const Node; 4],
    /// Where its members begin in [`Scratch::members`].
    first: u32,
}

// SAFETY: the addresses are compared, never followed.
unsafe impl Send for Open {}

/// The groups of a plan.
pub(super) struct Scratch {
    consumers: Vec<Consumers>,
    /// Entries that something other than an elementwise operation reads.
    read_whole: Vec<bool>,
    groups: Vec<Open>,
    /// Members of all groups, one group after the other, producers first.
    members: Vec<u32>,
    /// Groups that run, in order.
    run: Vec<u32>,
}

impl Scratch {
    pub const fn new() -> Scratch {
        Scratch {
            consumers: Vec::new(),
            read_whole: Vec::new(),
            groups: Vec::new(),
            members: Vec::new(),
            run: Vec::new(),
        }
    }

    /// How many groups run.
    pub fn len(&self) -> usize {
        self.run.len()
    }

    fn members(&self, group: u32) -> &[u32] {
        let open = &self.groups[group as usize];
        &self.members[open.first as usize..(open.first + open.instructions) as usize]
    }
}

/// Splits the plan into groups, in an order in which each comes after what it reads.
#[inline(always)] // One caller, for each plan: whether to inline must not depend on what else is built in.
pub(super) fn group(plan: &mut Plan) {
    let mut scratch = std::mem::replace(&mut plan.fusion, Scratch::new());
    scratch.consumers.clear();
    scratch.consumers.resize(plan.entries.len(), Consumers::None);
    scratch.read_whole.clear();
    scratch.read_whole.resize(plan.entries.len(), false);
    scratch.groups.clear();
    let fusing = fusion();
    // From the outputs inwards, so that every consumer is placed before its inputs.
    for i in 0..plan.order.len() {
        let index = plan.order[i];
        let group = match scratch.consumers[index as usize] {
            Consumers::Group(g) if fusing && joins(plan, index, &scratch.groups[g as usize]) => g,
            _ => {
                let recent = [std::ptr::null(); 4];
                scratch.groups.push(Open {
                    root: index,
                    instructions: 0,
                    work: 0,
                    inputs: 0,
                    recent,
                    first: 0,
                });
                scratch.groups.len() as u32 - 1
            }
        };
        plan.entries[index as usize].group = group;
        let Some(work) = plan.entries[index as usize].work() else { continue };
        let open = &mut scratch.groups[group as usize];
        open.instructions += 1;
        open.work += Func::of(&work.op).map_or(0, |func| func.flops() as u32);
        let whole = !work.op.is_elementwise();
        for (input, &producer) in work.inputs.iter().zip(plan.inputs(index)) {
            if producer == NONE {
                let node: *const Node = &*input.0;
                if !open.recent.contains(&node) {
                    open.recent[(open.inputs % 4) as usize] = node;
                    open.inputs += 1;
                }
                continue;
            }
            scratch.read_whole[producer as usize] |= whole;
            let known = &mut scratch.consumers[producer as usize];
            *known = match *known {
                Consumers::None => Consumers::Group(group),
                same if same == Consumers::Group(group) => same,
                _ => Consumers::Several,
            };
            if *known == Consumers::Several {
                open.inputs += 1;
            }
        }
    }
    place(plan, &mut scratch);
    plan.fusion = scratch;
}

/// Lists each group's members and the groups to run, producers first.
fn place(plan: &mut Plan, scratch: &mut Scratch) {
    let mut first = 0;
    for open in &mut scratch.groups {
        open.first = first;
        first += open.instructions;
        // Counts members while they are listed.
        open.inputs = 0;
    }
    scratch.members.clear();
    scratch.members.resize(first as usize, NONE);
    scratch.run.clear();
    for i in (0..plan.order.len()).rev() {
        let index = plan.order[i];
        let group = plan.entries[index as usize].group;
        let open = &mut scratch.groups[group as usize];
        let place = open.inputs;
        open.inputs += 1;
        scratch.members[(open.first + place) as usize] = index;
        plan.entries[index as usize].place = place;
        // The root is the last of its members: all others are read inside the group.
        if open.root == index && !is_folded(plan, scratch, index) {
            scratch.run.push(group);
        }
    }
}

/// Whether an entry can become part of the group of its only consumers.
fn joins(plan: &Plan, index: u32, group: &Open) -> bool {
    let (entry, root) = (&plan.entries[index as usize], &plan.entries[group.root as usize]);
    let (Some(own), Some(last)) = (&entry.member, &root.member) else { return false };
    own.work.op.is_elementwise()
        && chain_shape(last).is_some_and(|shape| own.array.shape_ref() == shape)
        && own.array.stream() == last.array.stream()
        && group.instructions < MOST_INSTRUCTIONS
        && group.inputs < MOST_INPUTS
        && entry.is_private()
        && joins_on_device(own, last, group)
}

/// The shape that the chain of a group with this last operation has; `None` if there can be none.
fn chain_shape(last: &Member) -> Option<&Shape> {
    match &last.work.op {
        op if op.is_elementwise() => Some(last.array.shape_ref()),
        Op::Reduce { op, axes, .. } if last.array.stream().device().device_type() == DeviceType::Cpu => {
            let x = &last.work.inputs[0];
            cpu::takes_chain(*op, x.dtype(), last.array.dtype(), x.shape(), axes).then(|| x.shape_ref())
        }
        _ => None,
    }
}

/// Whether the device can run both in one kernel. A GPU's kernel is compiled, so it stays short to be used again, and
/// what a GPU cannot do must not take a whole chain to the CPU.
fn joins_on_device(own: &Member, last: &Member, group: &Open) -> bool {
    let device = last.array.stream().device();
    if device.device_type() == DeviceType::Cpu {
        return true;
    }
    let known = |Member { array, work }: &Member| {
        let compute = work.inputs[usize::from(work.op == Op::Select)].dtype();
        gpu::can_fuse(device.index(), &work.op, compute, array.dtype())
    };
    group.instructions < MOST_GPU_INSTRUCTIONS
        && group.work < MOST_GPU_WORK
        && group.inputs < gpu::most_inputs(device.index())
        && known(own) == known(last)
}

/// Whether an entry is a scalar that only elementwise operations read: it is written into their programs and needs no
/// step of its own.
fn is_folded(plan: &Plan, scratch: &Scratch, index: u32) -> bool {
    let entry = &plan.entries[index as usize];
    !entry.requested && !scratch.read_whole[index as usize] && constant(entry).is_some()
}

fn constant(entry: &Entry) -> Option<(Scalar, Dtype)> {
    match &entry.work()?.op {
        Op::Full { shape, dtype, value } if shape.is_empty() => Some((*value, *dtype)),
        _ => None,
    }
}

/// Builds the step that runs a group, and takes its work out of the plan.
#[inline(always)] // As `group`.
pub(super) fn step(plan: &mut Plan, number: usize) -> Step {
    let group = plan.fusion.run[number];
    let root = &plan.entries[plan.fusion.groups[group as usize].root as usize];
    let elementwise = root.work().is_some_and(|work| work.op.is_elementwise());
    // Several members are a chain, whatever the last one does with it.
    let chain = elementwise || plan.fusion.members(group).len() > 1;
    let (inputs, program) = if chain { program(plan, group) } else { (all_inputs(root), None) };
    let Plan { entries, fusion, .. } = plan;
    let group = fusion.members(group);
    let mut members = SmallVec::with_capacity(group.len());
    members.extend(group.iter().filter_map(|&index| entries[index as usize].member.take()));
    Step { members, inputs, program }
}

/// The inputs of a single operation, in order.
fn all_inputs(entry: &Entry) -> SmallVec<[StepInput; 2]> {
    let Some(work) = entry.work() else { return SmallVec::new() };
    let references = |array: &Node| work.inputs.iter().filter(|a| std::ptr::eq(&*a.0, array)).count() as u32;
    let input = |(position, array): (usize, &crate::array::Array)| StepInput {
        member: 0,
        position: position as u32,
        references: references(&array.0),
    };
    work.inputs.iter().enumerate().map(input).collect()
}

/// Translates a group into instructions.
fn program(plan: &Plan, group: u32) -> (SmallVec<[StepInput; 2]>, Option<Box<Program>>) {
    let members = plan.fusion.members(group);
    let mut program = Box::new(Program::default());
    program.instrs.reserve_exact(members.len());
    let mut inputs: SmallVec<[StepInput; 2]> = SmallVec::new();
    let mut arrays: SmallVec<[*const Node; 8]> = SmallVec::new();
    for (position, &member) in members.iter().enumerate() {
        let entry = &plan.entries[member as usize];
        let Some(Member { array: made, work }) = &entry.member else { continue };
        let Some(func) = Func::of(&work.op) else { continue };
        let mut arg = |i: usize| {
            let (array, producer) = (&work.inputs[i], plan.inputs(member)[i]);
            let producer = (producer != NONE).then(|| &plan.entries[producer as usize]);
            match producer {
                Some(p) if p.group == group => Arg::Instr(p.place as u16),
                _ => match producer.and_then(constant) {
                    Some(value) => Arg::Const(constant_slot(&mut program, value)),
                    None => {
                        let node: *const Node = &*array.0;
                        let known = arrays.iter().position(|&a| a == node).unwrap_or_else(|| {
                            arrays.push(node);
                            program.inputs.push(array.dtype());
                            inputs.push(StepInput {
                                member: position as u32,
                                position: i as u32,
                                references: 0,
                            });
                            arrays.len() - 1
                        });
                        inputs[known].references += 1;
                        Arg::Input(known as u16)
                    }
                },
            }
        };
        let args = match work.inputs.len() {
            1 => [arg(0); 3],
            2 => {
                let (a, b) = (arg(0), arg(1));
                [a, b, a]
            }
            _ => [arg(0), arg(1), arg(2)],
        };
        let compute = work.inputs[usize::from(func == Func::Select)].dtype();
        program.instrs.push(Instr { func, compute, result: made.dtype(), args });
    }
    (inputs, Some(program))
}

/// The program's constant with this value; the last few are looked at, so that `x + 1 + 1 + …` has one.
fn constant_slot(program: &mut Program, value: (Scalar, Dtype)) -> u16 {
    let bits = |(scalar, dtype): (Scalar, Dtype)| (scalar.bits(), dtype);
    let from = program.consts.len().saturating_sub(8);
    let known = program.consts[from..].iter().position(|&c| bits(c) == bits(value));
    known.map_or_else(
        || {
            program.consts.push(value);
            program.consts.len() as u16 - 1
        },
        |i| (from + i) as u16,
    )
}
