//! Tracing: what a function does to its variables is recorded while it runs.
//!
//! A thread has one tape. A transform opens a level on it, makes variables, calls the function and closes the level; what
//! was recorded in between is the function as a list of calls, in the order in which they were made, so that no transform
//! needs to walk a graph or recurse. Nested transforms share the tape: an inner level is its end.
//!
//! Nodes carry a mark that says whether they depend on a variable of the trace that is under way, and whether they
//! depend on a placeholder, which has no elements. Only marked nodes are recorded; a thread that traces nothing reads
//! one thread-local number for each node.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::custom::Rule;
use super::refit::{self, Refit};
use crate::array::{Array, Dtype, Inputs, NodeRef, Shape, State};
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::stream::current_stream;

/// The mark of a node that depends on a placeholder.
const SYMBOLIC: u32 = 1 << 31;

/// A recorded call of an operation.
pub(super) struct Call {
    pub op: Op,
    pub inputs: Inputs,
    pub outputs: SmallVec<[Array; 1]>,
    /// Where a shape that it names comes from, if the function is recorded for arrays of any size.
    pub refit: Option<Refit<Array>>,
}

/// A call of a function that brings rules of its own.
pub(super) struct CustomCall {
    pub rule: Rc<dyn Rule>,
    pub inputs: Vec<Array>,
    pub outputs: Vec<Array>,
    /// How many items before this one belong to it.
    pub inner: usize,
}

pub(super) enum Item {
    Call(Call),
    Custom(CustomCall),
}

pub(super) type Items = Vec<Rc<Item>>;

#[derive(Default)]
struct Tape {
    items: Items,
    levels: Vec<Kind>,
}

/// What a level is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Variables have elements; what does not depend on them is of no interest.
    Values,
    /// Variables are placeholders.
    Lanes,
    /// Variables are placeholders, and everything that is made is recorded: it is to be made again at each call.
    Whole,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
    /// The number of the trace that is under way on this thread, 0 for none.
    static SESSION: Cell<u32> = const { Cell::new(0) };
    /// Set while a level of [`Kind::Whole`] is open.
    static ALL: Cell<bool> = const { Cell::new(false) };
}

/// The mark of a node made of these inputs; 0 if it is not to be recorded.
#[inline]
pub(crate) fn mark(inputs: &[Array]) -> u32 {
    let session = SESSION.get();
    if session == 0 { 0 } else { mark_in(session, inputs) }
}

#[cold]
fn mark_in(session: u32, inputs: &[Array]) -> u32 {
    let marks = inputs.iter().map(|a| a.0.mark).filter(|mark| mark & !SYMBOLIC == session);
    marks.fold(if ALL.get() { session } else { 0 }, |all, mark| all | mark)
}

/// Records a call whose results are marked.
#[cold]
pub(crate) fn record(op: Op, inputs: Inputs, outputs: &[Array]) {
    let outputs = outputs.iter().cloned().collect();
    let refit = refit::take(&op);
    push(Item::Call(Call { op, inputs, outputs, refit }));
}

pub(super) fn push(item: Item) {
    TAPE.with_borrow_mut(|tape| tape.items.push(Rc::new(item)));
}

/// How many items the tape has.
pub(super) fn len() -> usize {
    TAPE.with_borrow(|tape| tape.items.len())
}

/// True if this thread traces something.
pub(crate) fn is_tracing() -> bool {
    SESSION.get() != 0
}

/// True if the array depends on a variable of the trace that is under way on this thread.
pub fn is_traced(array: &Array) -> bool {
    let session = SESSION.get();
    session != 0 && array.0.mark & !SYMBOLIC == session
}

/// Refuses to evaluate what depends on a placeholder.
///
/// # Errors
/// [`Error::Argument`] inside of the transform, [`Error::Placeholder`] for what escaped from one.
#[inline]
pub(crate) fn check_elements(array: &Array) -> Result<()> {
    if array.0.mark & SYMBOLIC == 0 { Ok(()) } else { Err(no_elements(array)) }
}

#[cold]
fn no_elements(array: &Array) -> Error {
    if is_traced(array) {
        let message = format!(
            "Attempting to eval an array during function transformations like compile or vmap is not allowed. The \
             array was asked for at {}",
            array.call_site()
        );
        return Error::argument("eval", message);
    }
    Error::Placeholder { site: array.call_site() }
}

/// Refuses what would run ahead of a transform.
///
/// # Errors
/// [`Error::Argument`] if one of the arrays is traced.
pub fn check_async<'a>(arrays: impl IntoIterator<Item = &'a Array>) -> Result<()> {
    if is_tracing() && arrays.into_iter().any(is_traced) {
        return Err(Error::argument("async_eval", "Not allowed inside a graph transformation."));
    }
    Ok(())
}

/// An open level. What is recorded belongs to it until `end`; dropped without, as by a panic or an error of
/// the traced function, it leaves nothing behind.
pub struct Trace {
    start: usize,
    open: bool,
    /// Whether the enclosing level records a function for arrays of any size.
    shapeless: bool,
    /// Belongs to the tape of its thread.
    _thread: PhantomData<*const ()>,
}

impl Trace {
    fn open(kind: Kind) -> Trace {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        TAPE.with_borrow_mut(|tape| tape.levels.push(kind));
        if SESSION.get() == 0 {
            // Wraps after two thousand million traces; a mark that old is not looked at any more.
            let number = NEXT.fetch_add(1, Ordering::Relaxed) & !SYMBOLIC;
            SESSION.set(number.max(1));
        }
        if kind == Kind::Whole {
            ALL.set(true);
        }
        Trace { start: len(), open: true, shapeless: refit::is_shapeless(), _thread: PhantomData }
    }

    /// A level for derivatives, and its variables: they have the elements of `primals`, and are told apart from them.
    #[track_caller]
    pub fn of_values(primals: &[Array]) -> (Trace, Vec<Array>) {
        let mut trace = Trace::open(Kind::Values);
        let variables = primals.iter().map(variable).collect();
        // An outer level sees how its own variables became these; this one begins behind that.
        trace.start = len();
        (trace, variables)
    }

    /// A level for functions of single lanes, whose variables are [`placeholder`](Trace::placeholder)s.
    pub fn of_lanes() -> Trace {
        Trace::open(Kind::Lanes)
    }

    /// A level for functions that are kept, whose variables are [`placeholder`](Trace::placeholder)s.
    pub fn of_whole() -> Trace {
        Trace::open(Kind::Whole)
    }

    /// As [`of_whole`](Trace::of_whole), for a function that is called with arrays of other sizes.
    pub fn of_any_size() -> Trace {
        let trace = Trace::of_whole();
        refit::set_shapeless(true);
        trace
    }

    /// A variable without elements.
    #[track_caller]
    pub fn placeholder(&self, shape: Shape, dtype: Dtype) -> Result<Array> {
        let mut node = NodeRef::new(shape, dtype, current_stream()?, CallSite::here(), State::Placeholder);
        if let Some(node) = node.only() {
            node.mark = SESSION.get() | SYMBOLIC;
        }
        Ok(Array(node))
    }

    /// Closes the level: what was recorded in it. An enclosing level keeps it too.
    pub(super) fn end(mut self) -> Items {
        self.close(true)
    }

    fn close(&mut self, keep: bool) -> Items {
        self.open = false;
        refit::set_shapeless(self.shapeless);
        let (items, outermost, all) = TAPE.with_borrow_mut(|tape| {
            tape.levels.pop();
            let outermost = tape.levels.is_empty();
            let start = self.start.min(tape.items.len());
            let items = match (outermost, keep) {
                (true, _) => tape.items.split_off(start),
                (false, true) => tape.items[start..].to_vec(),
                (false, false) => Items::new(),
            };
            if outermost {
                tape.items.clear();
            }
            (items, outermost, tape.levels.contains(&Kind::Whole))
        });
        ALL.set(all);
        if outermost {
            SESSION.set(0);
        }
        items
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.open {
            // Dropped outside of the borrow: freeing arrays may run anything.
            drop(self.close(false));
        }
    }
}

/// A variable with the elements of an array.
#[track_caller]
fn variable(primal: &Array) -> Array {
    let session = SESSION.get();
    let ready = match &*primal.0.state.lock() {
        State::Ready(value) if !is_traced(primal) => Some(value.clone()),
        _ => None,
    };
    let mut copy = match ready {
        // No operation: a model that keeps its variables does not grow a chain of copies.
        Some(value) => {
            let node = &primal.0;
            let state = State::Ready(value);
            Array(NodeRef::new(node.shape.clone(), node.dtype, node.stream, node.site, state))
        }
        None => Array::from_op(Op::Depends, Inputs::from_elem(primal.clone(), 1)),
    };
    if let Some(node) = copy.0.only() {
        node.mark = session | (primal.0.mark & SYMBOLIC);
    }
    copy
}

/// True if the array depends on a placeholder.
pub(super) fn is_symbolic(array: &Array) -> bool {
    array.0.mark & SYMBOLIC != 0
}

/// True if the array is the result of [`stop_gradient`](super::stop_gradient) in the trace that is under way.
pub fn is_stopped(array: &Array) -> bool {
    TAPE.with_borrow(|tape| {
        let made = tape.items.iter().rev().find_map(|item| match &**item {
            Item::Call(call) if call.outputs.iter().any(|y| y.id() == array.id()) => Some(call),
            _ => None,
        });
        made.is_some_and(|call| matches!(call.op, Op::StopGradient))
    })
}
