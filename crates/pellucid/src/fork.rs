//! Processes that fork. Of all threads only the one that forks goes on in the child; what the others held stays held.
//!
//! If nothing of ours runs at that moment, neither a thread that uses the library nor a GPU, the child works: threads
//! are made anew there. Otherwise the child is *cut off*: whatever would need a lock, a thread or a GPU of the parent
//! fails at once and says what to do, instead of waiting for ever.

use std::cell::Cell;
#[cfg(unix)]
use std::sync::Once;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use parking_lot::lock_api::RawMutex as _;

use crate::error::{Error, Result};

/// Live threads that use the library, our own not counted.
static USERS: AtomicUsize = AtomicUsize::new(0);
/// Whether nothing of ours ran when the process last forked.
static QUIET: AtomicBool = AtomicBool::new(false);
/// Whether this process is a child that is cut off.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// A part of the library that does not survive a fork by itself.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Whether it does nothing now, and holds no lock. Must not wait for a lock itself.
    pub is_quiet: fn() -> bool,
    /// Called in the child, which has no other threads, with whether all parts were quiet.
    pub in_child: fn(quiet: bool),
}

/// The parts there are, each introduced when it is first used.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    Memory,
    Streams,
    Team,
    Gpu,
    Capture,
}

static PARTS: [OnceLock<Part>; 5] = [const { OnceLock::new() }; 5];

thread_local! {
    /// This thread is one of ours: it sleeps unless there is work, which the parts know of.
    static STAFF: Cell<bool> = const { Cell::new(false) };
    static COUNTED: Cell<bool> = const { Cell::new(false) };
    static USER: User = User::new();
}

/// Counts a thread while it lives.
struct User;

impl User {
    fn new() -> User {
        register();
        if !STAFF.get() {
            COUNTED.set(true);
            USERS.fetch_add(1, Ordering::SeqCst);
        }
        User
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if COUNTED.replace(false) {
            USERS.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The calling thread uses the library. Called wherever a lock of the whole process is about to be taken.
///
/// # Cost
/// A look at a variable of the thread.
#[inline]
pub(crate) fn note_user() {
    // A thread that is ending cannot be counted any more.
    let _ = USER.try_with(|_| ());
}

/// The calling thread is one of ours. Called before it does anything else.
pub(crate) fn note_staff() {
    STAFF.set(true);
}

/// Introduces a part; a second time changes nothing.
pub(crate) fn introduce(name: Name, part: Part) {
    let _ = PARTS[name as usize].set(part);
}

/// Whether this process was forked from one in which something of ours ran.
#[inline]
pub(crate) fn is_cut_off() -> bool {
    CUT_OFF.load(Ordering::Relaxed)
}

/// Fails in a child that is cut off.
///
/// # Errors
/// [`Error::Forked`], with advice.
#[inline]
pub(crate) fn check(function: &'static str) -> Result<()> {
    if is_cut_off() { Err(Error::Forked { function }) } else { Ok(()) }
}

/// Makes a lock as good as new, in a child. Giving it free would not do: threads of the parent may have waited for it,
/// and the list of those who wait has a lock of its own, which nobody may be left to free.
///
/// # Safety
/// The process has no other thread, and this one does not hold the lock.
pub(crate) unsafe fn renew<T>(lock: &Mutex<T>) {
    // SAFETY: a raw lock is one atomic number, which nobody else looks at.
    unsafe { std::ptr::from_ref(lock.raw()).cast_mut().write(parking_lot::RawMutex::INIT) };
}

fn parts() -> impl Iterator<Item = &'static Part> {
    PARTS.iter().filter_map(OnceLock::get)
}

/// Asks to be told of forks, once.
fn register() {
    #[cfg(unix)]
    {
        static ONCE: Once = Once::new();
        // SAFETY: the functions take and return nothing, and do not unwind.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(before), None, Some(in_child));
        });
    }
}

/// Called by the thread that forks, before it does.
#[cfg(unix)]
extern "C" fn before() {
    let others = USERS.load(Ordering::SeqCst) > usize::from(COUNTED.get());
    let quiet =
        !others && std::panic::catch_unwind(|| parts().all(|part| (part.is_quiet)())).unwrap_or(false);
    QUIET.store(quiet, Ordering::SeqCst);
}

#[cfg(unix)]
extern "C" fn in_child() {
    let quiet = QUIET.load(Ordering::SeqCst) && !is_cut_off();
    USERS.store(usize::from(COUNTED.get()), Ordering::SeqCst);
    CUT_OFF.store(!quiet, Ordering::SeqCst);
    let _ = std::panic::catch_unwind(|| parts().for_each(|part| (part.in_child)(quiet)));
}
