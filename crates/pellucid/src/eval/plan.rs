//! The plan: which operations to run, fused how, in which order, on which streams, waiting for what.

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::batch::{Batch, Member, Step};
use super::fuse;
use crate::array::{Array, Node, State, Work};
use crate::stream::Stream;

/// Held while a plan is made and its batches are enqueued. Planning is serial, so that each operation is planned once
/// and what is fused away cannot be seen by another thread; running is not.
pub(super) static PLANNER: Mutex<()> = Mutex::new(());

/// A lazy array that is needed.
pub(super) struct Entry {
    pub array: Array,
    /// Taken out when the step that runs it is built.
    pub work: Option<Box<Work>>,
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
        !self.requested && Arc::strong_count(&self.array.0) == self.uses as usize + 1
    }

    pub fn work(&self) -> Option<&Work> {
        self.work.as_deref()
    }
}

/// The entry an array has in the plan being made.
pub(super) fn entry_of(node: &Node) -> Option<u32> {
    match *node.state.lock() {
        State::Planned(index) => Some(index),
        _ => None,
    }
}

/// Takes all lazy arrays that `outputs` need and makes batches of them, to be enqueued in this order.
pub(super) fn plan(outputs: &[&Array]) -> Vec<Arc<Batch>> {
    let (mut entries, order) = collect(outputs);
    if order.is_empty() {
        return Vec::new();
    }
    let groups = fuse::group(&mut entries, &order);
    let mut batches = Batches::default();
    for members in groups {
        let step = fuse::step(&mut entries, &members);
        batches.add(step);
    }
    for entry in entries {
        // A constant that was written into programs and is still held by somebody stays lazy.
        if let Some(work) = entry.work {
            *entry.array.0.state.lock() = State::Lazy(work);
        }
    }
    batches.all
}

/// All lazy arrays below `outputs`, and an order in which each comes after its inputs.
fn collect(outputs: &[&Array]) -> (Vec<Entry>, Vec<u32>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut order = Vec::new();
    // Entry and the next of its inputs to look at; a loop, because graphs may be deeper than the stack.
    let mut path: Vec<(u32, u32)> = Vec::new();
    for &output in outputs {
        let Some(root) = enter(&mut entries, output) else { continue };
        entries[root.index as usize].requested = true;
        if root.is_new {
            path.push((root.index, 0));
        }
        while let Some((index, next)) = path.last_mut() {
            let input = entries[*index as usize].work().and_then(|w| w.inputs.get(*next as usize)).cloned();
            *next += 1;
            let Some(input) = input else {
                order.push(*index);
                path.pop();
                continue;
            };
            if let Some(found) = enter(&mut entries, &input) {
                entries[found.index as usize].uses += 1;
                if found.is_new {
                    path.push((found.index, 0));
                }
            }
        }
    }
    (entries, order)
}

struct Found {
    index: u32,
    is_new: bool,
}

/// The array's entry, made if it is lazy; `None` if there is nothing to do for it.
fn enter(entries: &mut Vec<Entry>, array: &Array) -> Option<Found> {
    let mut state = array.0.state.lock();
    match &*state {
        State::Planned(index) => Some(Found { index: *index, is_new: false }),
        State::Lazy(_) => {
            let index = entries.len() as u32;
            let State::Lazy(work) = std::mem::replace(&mut *state, State::Planned(index)) else {
                return None;
            };
            entries.push(Entry {
                array: array.clone(),
                work: Some(work),
                uses: 0,
                requested: false,
                group: u32::MAX,
                place: 0,
            });
            Some(Found { index, is_new: true })
        }
        State::Scheduled(_) | State::Ready(_) | State::Failed(_) => None,
    }
}

/// The batches of a plan as they grow.
#[derive(Default)]
struct Batches {
    all: Vec<Arc<Batch>>,
    /// For each stream, the batch that further steps of it join.
    open: SmallVec<[(Stream, Arc<Batch>); 4]>,
}

impl Batches {
    /// Appends a step to its stream. If it reads what another stream makes, it starts a new batch that waits for that
    /// one, which is closed: otherwise two batches could wait for each other.
    fn add(&mut self, step: Step) {
        let Some(Member { array, .. }) = step.members.last() else { return };
        let (stream, node) = (array.stream(), array.0.clone());
        let mut waits: SmallVec<[Arc<Batch>; 2]> = SmallVec::new();
        for &input in &step.inputs {
            if let State::Scheduled(batch) = &*step.input(input).0.state.lock()
                && batch.stream != stream
            {
                waits.push(batch.clone());
            }
        }
        if !waits.is_empty() {
            self.open.retain(|(s, b)| *s != stream && !waits.iter().any(|w| Arc::ptr_eq(w, b)));
        }
        let batch = match self.open.iter().find(|(s, _)| *s == stream) {
            Some((_, batch)) => batch.clone(),
            None => {
                let batch = Batch::new(stream);
                self.open.push((stream, batch.clone()));
                self.all.push(batch.clone());
                batch
            }
        };
        for wait in &waits {
            batch.wait_for(wait);
        }
        batch.steps.lock().push(step);
        *node.state.lock() = State::Scheduled(batch);
    }
}
