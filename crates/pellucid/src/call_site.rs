//! The line of the user's code that asked for something.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

/// A place in source code: Rust's by `#[track_caller]`, or another language's by [`with_call_site`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallSite {
    file: &'static str,
    line: u32,
    column: u32,
}

thread_local! {
    static OVERRIDE: Cell<Option<CallSite>> = const { Cell::new(None) };
}

impl CallSite {
    /// A place given by name. Meant for language bindings, which keep the file name for the life of the process.
    pub const fn new(file: &'static str, line: u32, column: u32) -> CallSite {
        CallSite { file, line, column }
    }

    /// The caller's place, or the one set by [`with_call_site`] on this thread.
    #[track_caller]
    pub(crate) fn here() -> CallSite {
        let location = Location::caller();
        OVERRIDE.get().unwrap_or(CallSite {
            file: location.file(),
            line: location.line(),
            column: location.column(),
        })
    }

    /// The source file.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line, counted from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column, counted from 1; 0 where it is not known.
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
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
