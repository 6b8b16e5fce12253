//! Several results of one operation: arrays that share one piece of work, planned and run once, whoever of them is asked
//! for. Each result's elements belong to it alone: those of a result that nobody holds are given up at once.

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{Array, Inputs, NodeRef, State, WorkBox};
use crate::call_site::CallSite;
use crate::eval::Batch;
use crate::op::{Op, Spec};
use crate::stream::Stream;

/// The arrays that one call makes.
pub(crate) type Results = SmallVec<[Array; 1]>;

/// What is known of a result also when nobody holds it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub id: u64,
    pub spec: Spec,
}

/// What the results of one operation have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    facts: SmallVec<[Facts; 2]>,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    /// How far the operation is: lazy, planned, then scheduled.
    state: State,
    /// Which results somebody holds.
    held: SmallVec<[bool; 2]>,
    /// What became of each result once it has run; each takes its own.
    done: Option<SmallVec<[Option<State>; 2]>>,
}

/// One of the results: what its node knows until it has its own elements.
#[derive(Debug)]
pub(crate) struct Part {
    shared: Arc<Shared>,
    index: usize,
}

impl Shared {
    /// Makes all results of an operation, lazy.
    pub fn results(op: Op, inputs: Inputs, specs: &[Spec], stream: Stream, site: CallSite) -> Results {
        let facts: SmallVec<[Facts; 2]> =
            specs.iter().map(|spec| Facts { id: NodeRef::next_id(), spec: spec.clone() }).collect();
        let progress = Progress {
            state: State::Lazy(WorkBox::new(op, || inputs)),
            held: SmallVec::from_elem(true, facts.len()),
            done: None,
        };
        let shared = Arc::new(Shared { facts, progress: Mutex::new(progress) });
        let part = |(index, facts): (usize, &Facts)| {
            let state = State::Shared(Part { shared: shared.clone(), index });
            Array(NodeRef::with_id(facts.id, facts.spec.clone(), stream, site, state))
        };
        shared.facts.iter().enumerate().map(part).collect()
    }

    /// All results, in order.
    pub fn facts(&self) -> &[Facts] {
        &self.facts
    }

    /// Sees, and changes, how far the operation is: lazy, planned or scheduled.
    pub fn with_state<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        see(&mut self.progress.lock().state)
    }

    /// Tells what became of each result. What nobody holds is dropped.
    pub fn finish(&self, mut outcome: impl FnMut(usize) -> State) {
        let mut progress = self.progress.lock();
        let all = progress.held.iter().enumerate().map(|(i, &held)| (held, outcome(i)));
        progress.done = Some(all.map(|(held, state)| held.then_some(state)).collect());
    }
}

impl Part {
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What became of this result, if the operation has run; once.
    pub fn take(&self) -> Option<State> {
        self.shared.progress.lock().done.as_mut()?[self.index].take()
    }

    /// Whether there is nothing to wait for.
    pub fn is_settled(&self) -> bool {
        let progress = self.shared.progress.lock();
        let own = progress.done.as_ref().and_then(|done| done[self.index].as_ref());
        own.is_some_and(State::is_settled)
    }

    /// The batch the operation is part of.
    pub fn batch(&self) -> Option<Arc<Batch>> {
        self.shared.progress.lock().state.batch().map(|batch| batch.into_owned())
    }

    /// The inputs of an operation that has not been planned, if this is the last result that knows it.
    pub fn orphans(&mut self) -> Inputs {
        match Arc::get_mut(&mut self.shared).map(|shared| &mut shared.progress.get_mut().state) {
            Some(State::Lazy(work)) => std::mem::take(&mut work.inputs),
            _ => Inputs::new(),
        }
    }
}

impl Drop for Part {
    /// The result has taken its elements, or is gone: nobody else wants them.
    fn drop(&mut self) {
        let mut progress = self.shared.progress.lock();
        progress.held[self.index] = false;
        let own = progress.done.as_mut().and_then(|done| done[self.index].take());
        // Freed without the lock.
        drop(progress);
        drop(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::BinaryOp;
    use crate::{Dtype, eval, memory, ops};

    fn divmod(a: &Array, b: &Array) -> [Array; 2] {
        let (q, r) = ops::divmod(a, b);
        [q, r]
    }

    fn int(values: &[i32]) -> Array {
        Array::from_slice(values, [values.len()])
    }

    #[test]
    fn all_results_are_computed_whichever_is_asked_for() {
        for first in [0, 1] {
            let parts = divmod(&int(&[7, -7, 5]), &int(&[2, 2, -3]));
            assert!(parts.iter().all(|p| p.is_lazy() && !p.is_available()));
            parts[first].eval().unwrap();
            assert!(parts.iter().all(Array::is_available), "{parts:?}");
            assert_eq!(parts[0].to_vec::<i32>().unwrap(), [3, -4, -2]);
            assert_eq!(parts[1].to_vec::<i32>().unwrap(), [1, 1, -1]);
        }
    }

    #[test]
    fn work_that_reads_several_results_is_one_plan() {
        let (a, b) = (int(&[7, -7, 5]), int(&[2, 2, -3]));
        let [q, r] = divmod(&a, &b);
        let again = Array::from_op(Op::Binary(BinaryOp::Multiply), [q.clone(), b]);
        let again = Array::from_op(Op::Binary(BinaryOp::Add), [again, r]);
        assert_eq!(again.to_vec::<i32>().unwrap(), [7, -7, 5]);
        assert_eq!(q.to_vec::<i32>().unwrap(), [3, -4, -2]);
    }

    #[test]
    fn the_memory_of_a_result_that_nobody_holds_is_free_at_once() {
        let elements = 4 << 20;
        let a = ops::contiguous(&ops::full([elements], 7, Dtype::Int32));
        a.eval().unwrap();
        let own = |array: &Array| array.buffer_size().map(|(id, _)| id);
        let [q, r] = divmod(&a, &a);
        drop(r);
        q.eval().unwrap();
        let shared = match &*q.0.state.lock() {
            State::Shared(_) => panic!("the result has its elements by now"),
            State::Ready(value) => value.buffer().holders(),
            other => panic!("{other:?}"),
        };
        assert_eq!(shared, 1, "nobody else keeps the elements of a result");
        let [q2, r2] = divmod(&a, &a);
        eval([&q2, &r2]).unwrap();
        assert_ne!(own(&q2), own(&r2));
        let before = memory::get_active_memory();
        drop(r2);
        // Other tests run at the same time; what they take is far less than what one result gives back.
        let given = before.saturating_sub(memory::get_active_memory());
        assert!(given > 8 << 20, "{given} bytes were given back");
        assert_eq!(q2.to_vec::<i32>().unwrap()[elements - 1], 1);
    }

    #[test]
    fn a_failure_belongs_to_all_results() {
        let bad = ops::take(&int(&[1, 2]), &int(&[5, 0]), 0);
        let [q, r] = divmod(&bad, &int(&[1, 1]));
        let (first, second) = (r.eval().unwrap_err().to_string(), q.eval().unwrap_err().to_string());
        assert_eq!(first, second);
        assert!(first.contains("[take]"), "{first}");
    }

    #[test]
    fn a_long_chain_of_operations_with_several_results_is_dropped_without_recursion() {
        let mut x = int(&[9]);
        let one = int(&[1]);
        for _ in 0..100_000 {
            let [q, r] = divmod(&x, &one);
            x = Array::from_op(Op::Binary(BinaryOp::Add), [q, r]);
        }
        drop(x);
    }

    #[test]
    fn many_threads_that_ask_for_different_results_get_one_computation() {
        for round in 0..200 {
            let [q, r] = divmod(&int(&[round, 7]), &int(&[3, 2]));
            std::thread::scope(|scope| {
                let quotient = scope.spawn(move || q.to_vec::<i32>().unwrap());
                let remainder = scope.spawn(move || r.to_vec::<i32>().unwrap());
                assert_eq!(quotient.join().unwrap(), [round / 3, 3]);
                assert_eq!(remainder.join().unwrap(), [round % 3, 1]);
            });
        }
    }

    #[test]
    fn a_wrong_call_gives_as_many_failed_arrays() {
        let parts = Array::apply_many(Op::Divmod, &[int(&[1, 2]), int(&[1, 2, 3])]);
        let errors: Vec<_> = parts.iter().map(|p| p.eval().unwrap_err().to_string()).collect();
        assert_eq!(errors.len(), 2);
        assert!(errors[0] == errors[1] && errors[0].contains("[divmod]"), "{errors:?}");
    }

    #[test]
    fn an_operation_with_several_results_is_refused_where_one_is_asked_for() {
        let error = Array::apply(Op::Divmod, &[int(&[1]), int(&[1])]).eval().unwrap_err().to_string();
        assert!(error.contains("[divmod] makes 2 arrays"), "{error}");
    }

    #[test]
    fn a_graph_shows_one_operation_with_both_results() {
        let [q, r] = divmod(&int(&[1]), &int(&[1]));
        let dot = crate::export_to_dot(&[&q, &r]);
        assert_eq!(dot.matches("label=\"divmod\"").count(), 1, "{dot}");
        assert_eq!(dot.matches(&format!("op{} -> ", q.id())).count(), 2, "{dot}");
    }
}
