//! An operation that has not been scheduled, and the box it lies in.
//!
//! A graph is built and run over and over, so that boxes are needed and given back all the time, a thousand in a row.
//! Each thread keeps some instead of returning them: that is a tenth of what a small operation costs.

use std::cell::RefCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use super::Array;
use crate::op::Op;

/// The arrays an operation takes.
pub(crate) type Inputs = SmallVec<[Array; 2]>;

/// An operation and its inputs.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub op: Op,
    pub inputs: Inputs,
}

/// Empty boxes that a thread keeps.
const KEPT: usize = 1024;

thread_local! {
    #[allow(clippy::vec_box, reason = "the boxes themselves are what is kept")]
    static SPARE: RefCell<Vec<Box<MaybeUninit<Work>>>> = const { RefCell::new(Vec::new()) };
}

/// A `Box` that goes back to a thread's spare ones.
#[derive(Debug)]
pub(crate) struct WorkBox(ManuallyDrop<Box<Work>>);

impl WorkBox {
    /// The inputs are made where they stay: moving what was just written costs more than making it.
    #[inline]
    pub fn new(op: Op, inputs: impl FnOnce() -> Inputs) -> WorkBox {
        // A thread that is ending has none left.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        let spare = spare.unwrap_or_else(Box::new_uninit);
        WorkBox(ManuallyDrop::new(Box::write(spare, Work { op, inputs: inputs() })))
    }
}

impl Drop for WorkBox {
    fn drop(&mut self) {
        // SAFETY: the box is not used again, and its memory is empty after the work is dropped.
        let empty = unsafe {
            let place = Box::into_raw(ManuallyDrop::take(&mut self.0));
            place.drop_in_place();
            Box::from_raw(place.cast::<MaybeUninit<Work>>())
        };
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT {
                spare.push(empty);
            }
        });
    }
}

impl Deref for WorkBox {
    type Target = Work;

    #[inline]
    fn deref(&self) -> &Work {
        &self.0
    }
}

impl DerefMut for WorkBox {
    #[inline]
    fn deref_mut(&mut self) -> &mut Work {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use crate::op::UnaryOp;

    #[test]
    fn a_box_drops_its_work_once_and_is_used_again() -> crate::Result<()> {
        let a = crate::ops::ones([2], Dtype::Float32)?;
        let references = || std::sync::Arc::strong_count(&a.0);
        let before = references();
        let make = || WorkBox::new(Op::Unary(UnaryOp::Sin), || Inputs::from_elem(a.clone(), 2));
        let first = make();
        let place: *const Work = &*first;
        assert_eq!(references(), before + 2);
        drop(first);
        assert_eq!(references(), before);
        let second = make();
        assert_eq!(&*second as *const Work, place);
        assert_eq!(second.inputs.len(), 2);
        drop(second);
        assert_eq!(references(), before);
        Ok(())
    }
}
