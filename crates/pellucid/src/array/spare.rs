//! Empty places that a thread keeps for the next thing of their kind.
//!
//! A graph is built and run over and over, so that nodes and the boxes of their work are needed and given back all the
//! time, a thousand in a row: more than a general allocator has at hand, and a tenth of what a small operation costs.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Places of one kind that a thread keeps at most; what comes after them is freed.
const KEPT: usize = 1024;

/// Empty places of one kind, the last one kept on top.
pub(super) struct Spare<P>(RefCell<Vec<P>>);

impl<P> Spare<P> {
    pub const fn new() -> Spare<P> {
        Spare(RefCell::new(Vec::new()))
    }
}

/// One of the places this thread keeps. A thread that is ending has none.
#[inline]
pub(super) fn take<P>(spare: &'static LocalKey<Spare<P>>) -> Option<P> {
    spare.try_with(|spare| spare.0.borrow_mut().pop()).ok().flatten()
}

/// Keeps a place, or frees it if there are enough.
#[inline]
pub(super) fn keep<P>(spare: &'static LocalKey<Spare<P>>, place: P) {
    let _ = spare.try_with(|spare| {
        let mut kept = spare.0.borrow_mut();
        if kept.len() < KEPT {
            kept.push(place);
        }
    });
}
