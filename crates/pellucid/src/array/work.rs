//! An operation that has not been scheduled, and the box it lies in.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use super::Array;
use super::spare::{self, Spare};
use crate::op::Op;

/// The arrays an operation takes.
pub(crate) type Inputs = SmallVec<[Array; 2]>;

/// An operation and its inputs.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub op: Op,
    pub inputs: Inputs,
}

thread_local! {
    static SPARE: Spare<Box<MaybeUninit<Work>>> = const { Spare::new() };
}

/// A `Box` that goes back to a thread's spare ones.
#[derive(Debug)]
pub(crate) struct WorkBox(ManuallyDrop<Box<Work>>);

impl WorkBox {
    /// The inputs are made where they stay: moving what was just written costs more than making it.
    #[inline]
    pub fn new(op: Op, inputs: impl FnOnce() -> Inputs) -> WorkBox {
        let empty = spare::take(&SPARE).unwrap_or_else(Box::new_uninit);
        WorkBox(ManuallyDrop::new(Box::write(empty, Work { op, inputs: inputs() })))
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
        spare::keep(&SPARE, empty);
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
        let a = crate::ops::ones([2], Dtype::Float32);
        let references = || a.0.holders();
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
