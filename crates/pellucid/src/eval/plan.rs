//! The plan: which operations to run, fused how, in which order, on which streams, waiting for what.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::batch::{Batch, Member, Step};
use super::fuse;
use crate::array::{Array, Node, State, Work, WorkBox};

/// Held while a plan is made and its batches are enqueued. Planning is serial, so that each operation is planned once
/// and what is fused away cannot be seen by another thread; running is not.
pub(super) static PLANNER: Mutex<Plan> = Mutex::new(Plan::new());

/// No entry: the array needs nothing done.
pub(super) const NONE: u32 = u32::MAX;

/// A lazy array that is needed.
pub(super) struct Entry {
    /// Taken out when the step that runs it is built.
    pub member: Option<Member>,
    /// Where its inputs' entries begin in [`Plan::edges`].
    pub edges: u32,
    /// Inputs to other entries that are this array.
    pub uses: u32,
    /// Asked for by the caller.
    pub requested: bool,
    /// The group it runs in, and its place among the group's members.
    pub group: u32,
    pub place: u32,
}

impl Entry {
    /// True if only the plan knows this array.
    pub fn is_private(&self) -> bool {
        let holders = self.member.as_ref().map(|m| m.array.0.holders());
        !self.requested && holders == Some(self.uses as usize + 1)
    }

    pub fn work(&self) -> Option<&Work> {
        self.member.as_ref().map(|m| &*m.work)
    }
}

/// The plan being made. Its lists keep their room from one plan to the next.
pub(super) struct Plan {
    pub entries: Vec<Entry>,
    /// For each input of each entry its entry, or [`NONE`].
    pub edges: Vec<u32>,
    /// Entries, each before its inputs.
    pub order: Vec<u32>,
    pub fusion: fuse::Scratch,
    stack: Vec<u32>,
    remaining: Vec<u32>,
    number: u64,
}

impl Plan {
    const fn new() -> Plan {
        Plan {
            entries: Vec::new(),
            edges: Vec::new(),
            order: Vec::new(),
            fusion: fuse::Scratch::new(),
            stack: Vec::new(),
            remaining: Vec::new(),
            number: 0,
        }
    }

    /// Entries of the inputs of an entry, in order.
    pub fn inputs(&self, index: u32) -> &[u32] {
        let entry = &self.entries[index as usize];
        let count = entry.work().map_or(0, |w| w.inputs.len());
        &self.edges[entry.edges as usize..entry.edges as usize + count]
    }
}

/// Takes all lazy arrays that `outputs` need and makes batches of them, to be enqueued in this order.
pub(super) fn plan(plan: &mut Plan, outputs: &[&Array]) -> Vec<Arc<Batch>> {
    collect(plan, outputs);
    if plan.entries.is_empty() {
        return Vec::new();
    }
    sort(plan);
    fuse::group(plan);
    plan.number += 1;
    let mut batches = Vec::new();
    for group in 0..plan.fusion.len() {
        let step = fuse::step(plan, group);
        add(&mut batches, plan.number, step);
    }
    for entry in plan.entries.drain(..) {
        // A constant that was written into programs and is still held by somebody stays lazy.
        if let Some(Member { array, work }) = entry.member {
            array.0.advance(State::Lazy(work));
        }
    }
    batches
}

/// Enters all lazy arrays below `outputs`. A loop, because graphs may be deeper than the stack.
fn collect(plan: &mut Plan, outputs: &[&Array]) {
    let Plan { entries, edges, stack, .. } = plan;
    edges.clear();
    stack.clear();
    // Arrays there is nothing to do for, which stay so: one that is read again and again is looked at once.
    let (mut done, mut next) = ([std::ptr::null::<Node>(); 4], 0);
    for &output in outputs {
        let known = entries.len();
        let index = enter(entries, output);
        if index == NONE {
            continue;
        }
        entries[index as usize].requested = true;
        if index as usize == known {
            stack.push(index);
        }
        while let Some(index) = stack.pop() {
            let first = edges.len() as u32;
            entries[index as usize].edges = first;
            // Taken out while its inputs are entered, which may move the list.
            let Some(mut member) = entries[index as usize].member.take() else { continue };
            for input in &mut member.work.inputs {
                let node: *const Node = &*input.0;
                if done.contains(&node) {
                    edges.push(NONE);
                    continue;
                }
                let known = entries.len();
                let found = enter_owned(entries, input);
                edges.push(found);
                if found == NONE {
                    done[next % done.len()] = node;
                    next += 1;
                    continue;
                }
                entries[found as usize].uses += 1;
                if found as usize == known {
                    stack.push(found);
                }
            }
            entries[index as usize].member = Some(member);
        }
    }
}

/// The array's entry, made if it is lazy; [`NONE`] if there is nothing to do for it.
fn enter(entries: &mut Vec<Entry>, array: &Array) -> u32 {
    // Its own statement: the lock is held no longer than it must be.
    let taken = take(&mut array.0.state.lock(), entries.len());
    add_entry(entries, array, taken)
}

/// As [`enter`], for an input of an operation that the plan has taken, which is mostly the only handle of the array.
fn enter_owned(entries: &mut Vec<Entry>, array: &mut Array) -> u32 {
    let Some(node) = array.0.only() else { return enter(entries, array) };
    let taken = take(node.state.get_mut(), entries.len());
    add_entry(entries, array, taken)
}

/// What was found out about an array.
enum Taken {
    /// It was lazy; this is its work.
    Work(WorkBox),
    /// It has an entry, or needs none.
    Known(u32),
}

/// Takes the work of a lazy array, whose entry will be the one with this index.
fn take(state: &mut State, index: usize) -> Taken {
    match state {
        State::Planned(index) => Taken::Known(*index),
        State::Shared(part) => part.shared().with_state(|state| take(state, index)),
        State::Lazy(_) => match std::mem::replace(state, State::Planned(index as u32)) {
            State::Lazy(work) => Taken::Work(work),
            _ => Taken::Known(NONE),
        },
        State::Scheduled(_)
        | State::Enqueued(..)
        | State::Ready(_)
        | State::Failed(_)
        | State::Placeholder => Taken::Known(NONE),
    }
}

fn add_entry(entries: &mut Vec<Entry>, array: &Array, taken: Taken) -> u32 {
    match taken {
        Taken::Known(index) => index,
        Taken::Work(work) => {
            let index = entries.len();
            entries.reserve(1);
            // Written where it stays: pushing would move what was just written in pieces, which stalls.
            let entry = entries.spare_capacity_mut()[0].as_mut_ptr();
            // SAFETY: there is room for one more, all of whose fields are written here.
            unsafe {
                (&raw mut (*entry).member).write(Some(Member { array: array.clone(), work }));
                (&raw mut (*entry).edges).write(0);
                (&raw mut (*entry).uses).write(0);
                (&raw mut (*entry).requested).write(false);
                (&raw mut (*entry).group).write(NONE);
                (&raw mut (*entry).place).write(0);
                entries.set_len(index + 1);
            }
            index as u32
        }
    }
}

/// Orders the entries, each before its inputs. Depth first, so that what runs close together in time is also close in
/// the graph and few intermediate results are alive at once.
fn sort(plan: &mut Plan) {
    plan.remaining.clear();
    plan.remaining.extend(plan.entries.iter().map(|e| e.uses));
    plan.order.clear();
    plan.stack.clear();
    plan.stack.extend((0..plan.entries.len() as u32).filter(|&i| plan.entries[i as usize].uses == 0));
    // What was asked for first is computed first, in whatever order it is evaluated: of the gradients of a chain those of
    // its end, so that what is kept or computed again for each block is done with before the next.
    let Plan { stack, entries, .. } = plan;
    stack.sort_unstable_by_key(|&i| entries[i as usize].member.as_ref().map(|member| member.array.id()));
    while let Some(index) = plan.stack.pop() {
        plan.order.push(index);
        let entry = &plan.entries[index as usize];
        let count = entry.work().map_or(0, |w| w.inputs.len()) as u32;
        for edge in entry.edges..entry.edges + count {
            let input = plan.edges[edge as usize];
            if input != NONE {
                plan.remaining[input as usize] -= 1;
                if plan.remaining[input as usize] == 0 {
                    plan.stack.push(input);
                }
            }
        }
    }
}

/// Appends a step to its stream. If it reads what another stream makes, it starts a new batch that waits for that one,
/// which is closed: otherwise two batches could wait for each other.
fn add(batches: &mut Vec<Arc<Batch>>, number: u64, step: Step) {
    let array = &step.last().array;
    let (stream, node) = (array.stream(), array.0.clone());
    let mut waits: SmallVec<[Arc<Batch>; 2]> = SmallVec::new();
    for &input in &step.inputs {
        if let Some(batch) = step.input(input).0.state.lock().batch()
            && batch.stream != stream
        {
            batch.closed.store(true, Ordering::Relaxed);
            waits.push(batch.into_owned());
        }
    }
    let mut queue = stream.core().queue.lock();
    let batch = match &queue.open {
        Some((plan, batch))
            if *plan == number
                && !batch.closed.load(Ordering::Relaxed)
                && waits.iter().all(|w| batch.waits_for(w)) =>
        {
            batch.clone()
        }
        _ => {
            let batch = Batch::new(stream);
            queue.open = Some((number, batch.clone()));
            batches.push(batch.clone());
            batch
        }
    };
    drop(queue);
    for wait in &waits {
        batch.wait_for(wait);
    }
    batch.steps.lock().push_back(step);
    node.advance(State::Scheduled(batch));
}
