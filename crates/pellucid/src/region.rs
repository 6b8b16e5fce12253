//! Regions: names that a program gives to parts of itself, so that what runs can be found again.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::observe;

/// A named part of the program, entered once.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub id: u32,
    /// The region it was entered in; 0 for none.
    pub parent: u32,
    pub name: Arc<str>,
    pub thread: String,
    pub entered: Instant,
    /// When it was left; `None` while it is entered.
    pub left: Option<Instant>,
}

/// Regions entered while somebody observes, and the number of the next one.
static REGIONS: Mutex<(Vec<Region>, u32)> = Mutex::new((Vec::new(), 1));

/// More than this many are not kept: a region per step of a long loop would fill the memory.
const MOST: usize = 1 << 20;

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The region this thread is in.
pub(crate) fn current() -> u32 {
    if cfg!(feature = "uninstrumented") { 0 } else { CURRENT.get() }
}

/// Runs `f` in a region of this name. Does nothing more than that while nothing is captured.
pub(crate) fn within<R>(name: &str, f: impl FnOnce() -> R) -> R {
    if !observe::is_observed() {
        return f();
    }
    struct Leave(u32, u32);
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.set(self.1);
            let (regions, _) = &mut *REGIONS.lock();
            // It may be from an earlier capture, whose regions are forgotten.
            if let Ok(place) = regions.binary_search_by_key(&self.0, |r| r.id) {
                regions[place].left = Some(Instant::now());
            }
        }
    }
    let parent = current();
    let id = {
        let mut guard = REGIONS.lock();
        let (regions, next) = &mut *guard;
        if regions.len() >= MOST {
            drop(guard);
            return f();
        }
        let id = *next;
        *next += 1;
        let thread = std::thread::current().name().unwrap_or("thread").to_owned();
        regions.push(Region { id, parent, name: name.into(), thread, entered: Instant::now(), left: None });
        id
    };
    CURRENT.set(id);
    let _leave = Leave(id, parent);
    f()
}

/// The regions entered since the last [`clear`].
pub(crate) fn regions() -> Vec<Region> {
    REGIONS.lock().0.clone()
}

/// Forgets all regions, at the start of a capture; returns the number of the first that will be remembered. A smaller
/// one belongs to an earlier capture.
pub(crate) fn clear() -> u32 {
    let (regions, next) = &mut *REGIONS.lock();
    regions.clear();
    *next
}
