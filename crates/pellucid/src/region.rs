//! Regions: names that a program gives to parts of itself, so that what runs can be found again.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// Regions entered while somebody observes.
static REGIONS: Mutex<Vec<Region>> = Mutex::new(Vec::new());

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
            let mut regions = REGIONS.lock();
            // It may be from an earlier capture, whose regions are forgotten.
            if let Ok(place) = regions.binary_search_by_key(&self.0, |r| r.id) {
                regions[place].left = Some(Instant::now());
            }
        }
    }
    let parent = current();
    let id = {
        let mut regions = REGIONS.lock();
        if regions.len() >= MOST {
            drop(regions);
            return f();
        }
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
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
    REGIONS.lock().clone()
}

/// Forgets all regions, at the start of a capture.
pub(crate) fn clear() {
    REGIONS.lock().clear();
}
