//! The line of the user's code that asked for something.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;

use parking_lot::Mutex;

/// A place in source code: Rust's own by `#[track_caller]`, or another language's by [`with_call_site`].
#[derive(Clone, Copy)]
pub struct CallSite(&'static (dyn Place + Send + Sync));

trait Place {
    fn parts(&self) -> (&str, u32, u32);
}

impl Place for Location<'static> {
    fn parts(&self) -> (&str, u32, u32) {
        (self.file(), self.line(), self.column())
    }
}

struct Foreign {
    file: String,
    line: u32,
    column: u32,
}

impl Place for Foreign {
    fn parts(&self) -> (&str, u32, u32) {
        (&self.file, self.line, self.column)
    }
}

thread_local! {
    static OVERRIDE: Cell<Option<CallSite>> = const { Cell::new(None) };
}

impl CallSite {
    /// A place given by name, for language bindings. It is kept for the life of the process: make one per line, not
    /// one per call.
    pub fn leak(file: impl Into<String>, line: u32, column: u32) -> CallSite {
        CallSite(Box::leak(Box::new(Foreign { file: file.into(), line, column })))
    }

    /// A line that a file names: one place for each line, however often it is named. Beyond many thousands of lines
    /// they are not told apart, because a place is kept for the life of the process.
    pub(crate) fn shared(file: &str, line: u32) -> CallSite {
        const MOST: usize = 1 << 16;
        static KNOWN: Mutex<BTreeMap<(String, u32), CallSite>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock();
        let (file, line) = if known.len() < MOST { (file, line) } else { ("", 0) };
        let place = (file.to_owned(), line);
        *known.entry(place).or_insert_with(|| CallSite::leak(file, line, 0))
    }

    /// The caller's place, or the one set by [`with_call_site`] on this thread.
    #[track_caller]
    pub(crate) fn here() -> CallSite {
        OVERRIDE.get().unwrap_or(CallSite(Location::caller()))
    }

    /// The source file.
    pub fn file(&self) -> &'static str {
        self.0.parts().0
    }

    /// The line, counted from 1.
    pub fn line(&self) -> u32 {
        self.0.parts().1
    }

    /// The column, counted from 1; 0 where it is not known.
    pub fn column(&self) -> u32 {
        self.0.parts().2
    }
}

impl PartialEq for CallSite {
    fn eq(&self, other: &CallSite) -> bool {
        self.0.parts() == other.0.parts()
    }
}

impl Eq for CallSite {}

impl Hash for CallSite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.parts().hash(state);
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file(), self.line())
    }
}

impl fmt::Debug for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Runs `f` with every operation it builds on this thread attributed to `site`.
pub fn with_call_site<R>(site: CallSite, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<CallSite>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OVERRIDE.set(self.0);
        }
    }
    let _restore = Restore(OVERRIDE.replace(Some(site)));
    f()
}
