//! A node of the graph: an array's shape and type, and what is known of its elements.

use std::borrow::Cow;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use once_cell::race::OnceBox;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::shared::Part;
use super::spare::{self, Spare};
use super::value::Value;
use super::work::WorkBox;
use super::{Array, Dtype, Shape};
use crate::call_site::CallSite;
use crate::eval::{Batch, Failure};
use crate::op::Spec;
use crate::region::{self, Origin, Place};
use crate::stream::Stream;

/// How far an array is.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has happened yet.
    Lazy(WorkBox),
    /// One of several results of an operation, which knows how far it is.
    Shared(Part),
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
    /// A variable of a function that is being recorded: it never has elements.
    Placeholder,
}

impl State {
    /// Computed, or not to be had: there is nothing to wait for.
    pub fn is_settled(&self) -> bool {
        match self {
            State::Ready(_) | State::Failed(_) => true,
            State::Enqueued(_, batch) => batch.is_done(),
            State::Shared(part) => part.is_settled(),
            State::Lazy(_) | State::Planned(_) | State::Scheduled(_) | State::Placeholder => false,
        }
    }

    /// The batch whose end makes the elements complete.
    pub fn batch(&self) -> Option<Cow<'_, Arc<Batch>>> {
        match self {
            State::Scheduled(batch) | State::Enqueued(_, batch) => Some(Cow::Borrowed(batch)),
            State::Shared(part) => part.batch().map(Cow::Owned),
            State::Lazy(_) | State::Planned(_) | State::Ready(_) | State::Failed(_) | State::Placeholder => {
                None
            }
        }
    }

    /// Turns what has been finished, with others or by a GPU, into what it became.
    pub fn settle(&mut self) {
        if let State::Shared(part) = self
            && let Some(own) = part.take()
        {
            *self = own;
        }
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
    /// What few nodes have.
    extra: OnceBox<Extra>,
    /// What it depends on in a function that is being recorded; see [`transform`](crate::transform).
    pub mark: u32,
    /// It is known that the state is a failure, so that nobody needs to lock it to see that it is not.
    pub failed: AtomicBool,
    pub state: Mutex<State>,
}

/// What few nodes have, out of the way of all others.
#[derive(Debug)]
struct Extra {
    label: OnceLock<Box<str>>,
    /// Where in the user's code it was asked for, and by what transform.
    place: Place,
}

impl Extra {
    fn of(place: Place) -> Box<Extra> {
        Box::new(Extra { label: OnceLock::new(), place })
    }

    /// Nothing for nodes that the user made outside of any region.
    fn at(place: Place) -> OnceBox<Extra> {
        if place == Place::NOWHERE { OnceBox::new() } else { OnceBox::with_value(Extra::of(place)) }
    }
}

impl Node {
    /// The name that the user gave it.
    pub fn label(&self) -> Option<&str> {
        self.extra.get()?.label.get().map(|label| &**label)
    }

    /// Names it; the first name stays.
    pub fn set_label(&self, name: Box<str>) {
        // A second name is not an error: a shared array may be named in several places.
        let _ = self.extra.get_or_init(|| Extra::of(Place::NOWHERE)).label.set(name);
    }

    /// What it belongs to, if a transform made it.
    pub fn origin(&self) -> Origin {
        self.extra.get().map_or(Origin::USER, |extra| extra.place.origin)
    }

    /// The region of the user's code it was asked for in; 0 outside of any.
    pub fn region(&self) -> u32 {
        self.extra.get().map_or(0, |extra| extra.place.region)
    }

    /// Says what it belongs to, before anybody else knows it.
    pub fn set_origin(&mut self, origin: Origin) {
        if origin != self.origin() {
            self.extra = Extra::at(Place { region: self.region(), origin });
        }
    }

    #[inline]
    pub fn new(shape: Shape, dtype: Dtype, stream: Stream, site: CallSite, state: State) -> Node {
        Node::with_id(Node::next_id(), shape, dtype, stream, site, state)
    }

    /// The number of an array that is about to be made.
    #[inline]
    pub fn next_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    #[inline]
    pub fn with_id(
        id: u64,
        shape: Shape,
        dtype: Dtype,
        stream: Stream,
        site: CallSite,
        state: State,
    ) -> Node {
        let failed = AtomicBool::new(matches!(state, State::Failed(_)));
        let extra = Extra::at(region::current());
        Node { id, shape, dtype, stream, site, extra, mark: 0, failed, state: Mutex::new(state) }
    }
}

impl Node {
    /// Says how far its operation is, and with it all results that it has.
    pub fn advance(&self, state: State) {
        let mut own = self.state.lock();
        match &*own {
            State::Shared(part) => part.shared().with_state(|common| *common = state),
            _ => *own = state,
        }
    }
}

impl Drop for Node {
    /// Frees a chain of lazy nodes in a loop: recursion would overflow the stack on long ones.
    fn drop(&mut self) {
        let mut orphans: SmallVec<[Array; 4]> = match self.state.get_mut() {
            State::Lazy(work) => work.inputs.drain(..).collect(),
            State::Shared(part) => part.orphans().into_iter().collect(),
            _ => return,
        };
        while let Some(mut array) = orphans.pop() {
            let Some(node) = array.0.only() else { continue };
            match node.state.get_mut() {
                State::Lazy(work) => orphans.extend(work.inputs.drain(..)),
                State::Shared(part) => orphans.extend(part.orphans()),
                _ => {}
            }
        }
    }
}

thread_local! {
    static SPARE: Spare<Arc<MaybeUninit<Node>>> = const { Spare::new() };
}

/// A handle of a node: an `Arc` whose memory goes to a thread's spare places when the last handle is gone.
#[derive(Debug)]
pub(crate) struct NodeRef(ManuallyDrop<Arc<Node>>);

impl NodeRef {
    pub fn new(shape: Shape, dtype: Dtype, stream: Stream, site: CallSite, state: State) -> NodeRef {
        NodeRef::write(|| Node::new(shape, dtype, stream, site, state))
    }

    /// The number of an array that is about to be made.
    pub fn next_id() -> u64 {
        Node::next_id()
    }

    /// A node whose number is known already.
    pub fn with_id(id: u64, spec: Spec, stream: Stream, site: CallSite, state: State) -> NodeRef {
        NodeRef::write(|| Node::with_id(id, spec.shape, spec.dtype, stream, site, state))
    }

    /// A node that is still to be computed.
    #[inline]
    pub fn lazy(shape: Shape, dtype: Dtype, stream: Stream, site: CallSite, work: WorkBox) -> NodeRef {
        NodeRef::write(|| Node::new(shape, dtype, stream, site, State::Lazy(work)))
    }

    /// Makes a node where it stays: moving one costs as much as all the rest of it.
    #[inline]
    fn write(node: impl FnOnce() -> Node) -> NodeRef {
        let empty = spare::take(&SPARE).unwrap_or_else(Arc::new_uninit);
        // SAFETY: the only handle of this memory, which is written as a whole.
        let node = unsafe {
            Arc::as_ptr(&empty).cast::<Node>().cast_mut().write(node());
            empty.assume_init()
        };
        NodeRef(ManuallyDrop::new(node))
    }

    /// How many handles there are.
    #[inline]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// The node, if this is its only handle: then nobody else can look at it, and there is nothing to lock.
    #[inline]
    pub fn only(&mut self) -> Option<&mut Node> {
        if self.holders() > 1 {
            return None;
        }
        // See all that was done by those who let go of their handles.
        fence(Ordering::Acquire);
        // SAFETY: there are no weak handles, and the only strong one is borrowed for as long as the reference lives.
        Some(unsafe { &mut *Arc::as_ptr(&self.0).cast_mut() })
    }
}

impl Clone for NodeRef {
    #[inline]
    fn clone(&self) -> NodeRef {
        NodeRef(self.0.clone())
    }
}

impl Deref for NodeRef {
    type Target = Node;

    #[inline]
    fn deref(&self) -> &Node {
        &self.0
    }
}

impl Drop for NodeRef {
    #[inline]
    fn drop(&mut self) {
        match self.only() {
            Some(node) => {
                let node: *mut Node = node;
                // SAFETY: the only handle, which is not used again; its memory is empty after the node is dropped, and
                // `MaybeUninit<Node>` has the layout of `Node`.
                let empty = unsafe {
                    node.drop_in_place();
                    let place = Arc::into_raw(ManuallyDrop::take(&mut self.0));
                    Arc::from_raw(place.cast::<MaybeUninit<Node>>())
                };
                spare::keep(&SPARE, empty);
            }
            // SAFETY: dropped once, here.
            None => unsafe { ManuallyDrop::drop(&mut self.0) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    #[test]
    fn the_memory_of_a_node_is_used_again_and_what_it_held_is_freed_once() -> crate::Result<()> {
        let a = ops::ones([2], Dtype::Float32);
        let before = a.0.holders();
        let first = ops::sin(&a);
        let (place, id): (*const Node, _) = (&*first.0, first.id());
        let second = first.clone();
        assert_eq!((a.0.holders(), first.0.holders()), (before + 1, 2));
        drop(first);
        assert_eq!((a.0.holders(), second.0.holders()), (before + 1, 1));
        drop(second);
        assert_eq!(a.0.holders(), before);
        let third = ops::cos(&a);
        assert_eq!(&*third.0 as *const Node, place);
        assert_ne!(third.id(), id);
        Ok(())
    }

    #[test]
    fn only_the_last_handle_gives_the_node() -> crate::Result<()> {
        let mut a = ops::ones([2], Dtype::Float32);
        let b = a.clone();
        assert!(a.0.only().is_none());
        drop(b);
        assert!(a.0.only().is_some());
        Ok(())
    }

    #[test]
    fn handles_that_many_threads_let_go_of_free_the_node_once() -> crate::Result<()> {
        let leaf = ops::ones([2], Dtype::Float32);
        let before = leaf.0.holders();
        for _ in 0..200 {
            let shared = ops::sin(&leaf);
            let handles: Vec<Array> = (0..4).map(|_| shared.clone()).collect();
            drop(shared);
            std::thread::scope(|scope| handles.into_iter().for_each(|h| drop(scope.spawn(move || drop(h)))));
            assert_eq!(leaf.0.holders(), before);
        }
        Ok(())
    }
}
