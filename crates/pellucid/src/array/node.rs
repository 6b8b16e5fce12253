//! A node of the graph: an array's shape and type, and what is known of its elements.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::value::Value;
use super::work::WorkBox;
use super::{Array, Dtype, Shape};
use crate::call_site::CallSite;
use crate::eval::{Batch, Failure};
use crate::region;
use crate::stream::Stream;

/// How far an array is.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has happened yet.
    Lazy(WorkBox),
    /// Entry of the plan being made; only seen under the planner's lock.
    Planned(u32),
    /// Part of a batch that has not finished.
    Scheduled(Arc<Batch>),
    /// Handed to a GPU, or about to be; computed when the batch is done.
    Enqueued(Value, Arc<Batch>),
    /// Computed.
    Ready(Value),
    /// Not computed, and why.
    Failed(Arc<Failure>),
}

impl State {
    /// Computed, or not to be had: there is nothing to wait for.
    pub fn is_settled(&self) -> bool {
        match self {
            State::Ready(_) | State::Failed(_) => true,
            State::Enqueued(_, batch) => batch.is_done(),
            _ => false,
        }
    }

    /// The batch whose end makes the elements complete.
    pub fn batch(&self) -> Option<&Arc<Batch>> {
        match self {
            State::Scheduled(batch) | State::Enqueued(_, batch) => Some(batch),
            _ => None,
        }
    }

    /// Turns what a GPU has finished into what it became.
    pub fn settle(&mut self) {
        let State::Enqueued(value, batch) = self else { return };
        if batch.is_done() {
            *self = match batch.failure().or_else(|| value.failure()) {
                Some(failure) => State::Failed(failure),
                None => State::Ready(value.clone().checked(None)),
            };
        }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub id: u64,
    pub shape: Shape,
    pub dtype: Dtype,
    pub stream: Stream,
    pub site: CallSite,
    pub label: OnceLock<Box<Box<str>>>,
    /// The region of the user's code it was asked for in; 0 outside of any.
    pub region: u32,
    pub state: Mutex<State>,
}

impl Node {
    #[inline]
    pub fn new(shape: Shape, dtype: Dtype, stream: Stream, site: CallSite, state: State) -> Node {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let region = region::current();
        Node { id, shape, dtype, stream, site, label: OnceLock::new(), region, state: Mutex::new(state) }
    }

    /// A node that is still to be computed, made where it stays: moving one costs as much as all the rest of it.
    #[inline]
    pub fn lazy(shape: Shape, dtype: Dtype, stream: Stream, site: CallSite, work: WorkBox) -> Arc<Node> {
        let node = Arc::<Node>::new_uninit();
        // SAFETY: the only handle of this memory, which is written as a whole.
        unsafe {
            let place = Arc::as_ptr(&node).cast::<Node>().cast_mut();
            place.write(Node::new(shape, dtype, stream, site, State::Lazy(work)));
            node.assume_init()
        }
    }
}

impl Drop for Node {
    /// Frees a chain of lazy nodes in a loop: recursion would overflow the stack on long ones.
    fn drop(&mut self) {
        let State::Lazy(work) = self.state.get_mut() else { return };
        let mut orphans: SmallVec<[Array; 4]> = work.inputs.drain(..).collect();
        while let Some(array) = orphans.pop() {
            if let Some(mut node) = Arc::into_inner(array.0)
                && let State::Lazy(work) = node.state.get_mut()
            {
                orphans.extend(work.inputs.drain(..));
            }
        }
    }
}
