//! Regions: names that a program gives to parts of itself, so that what runs can be found again.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::observe;
use crate::transform::Role;

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

/// What a node that a transform makes belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub role: Role,
    /// The number of the user's own node; 0 for none.
    pub of: u64,
}

impl Origin {
    pub const USER: Origin = Origin { role: Role::Forward, of: 0 };
}

/// Where in the program this thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The innermost region; 0 outside of any.
    pub region: u32,
    pub origin: Origin,
}

impl Place {
    /// The user's own code, outside of any region.
    pub const NOWHERE: Place = Place { region: 0, origin: Origin::USER };
}

thread_local! {
    // One value, so that making a node reads it once.
    static CURRENT: Cell<Place> = const { Cell::new(Place::NOWHERE) };
}

/// Where this thread is.
#[inline]
pub(crate) fn current() -> Place {
    if cfg!(feature = "uninstrumented") || !cfg!(feature = "capture") {
        Place::NOWHERE
    } else {
        CURRENT.get()
    }
}

/// Runs `f` with all nodes it makes belonging to this origin.
pub(crate) fn with_origin<R>(origin: Origin, f: impl FnOnce() -> R) -> R {
    struct Restore(Origin);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(Place { origin: self.0, ..CURRENT.get() });
        }
    }
    let place = CURRENT.get();
    let _restore = Restore(place.origin);
    CURRENT.set(Place { origin, ..place });
    f()
}

/// Runs `f` in a region of this name. Does nothing more than that while nothing is captured.
pub(crate) fn within<R>(name: &str, f: impl FnOnce() -> R) -> R {
    if !observe::is_observed() {
        return f();
    }
    struct Leave(u32, u32);
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.set(Place { region: self.1, ..CURRENT.get() });
            let (regions, _) = &mut *REGIONS.lock();
            // It may be from an earlier capture, whose regions are forgotten.
            if let Ok(place) = regions.binary_search_by_key(&self.0, |r| r.id) {
                regions[place].left = Some(Instant::now());
            }
        }
    }
    let parent = current().region;
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
    CURRENT.set(Place { region: id, ..CURRENT.get() });
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
