//! The line of Python code that called: what graphs, errors and captures show for an operation.

use std::collections::HashMap;

use parking_lot::Mutex;
use pellucid::CallSite;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

/// More places than this are looked up again: code objects must not be kept alive without end.
const MOST_PLACES: usize = 1 << 14;
/// More lines than this are not told apart: a place lives as long as the process, and a program that makes code as it
/// runs has lines without end.
const MOST_LINES: usize = 1 << 15;

/// Instructions seen before. A code object is kept with its entry, so that its address is not given to another one.
#[derive(Default)]
struct Known {
    places: HashMap<(usize, i32), (CallSite, Py<PyAny>)>,
    lines: HashMap<(String, u32), CallSite>,
}

impl Known {
    /// The one place of a line.
    fn line(&mut self, file: String, line: u32) -> CallSite {
        if let Some(&site) = self.lines.get(&(file.clone(), line)) {
            return site;
        }
        let (file, line) = if self.lines.len() < MOST_LINES { (file, line) } else { (MORE.to_owned(), 0) };
        *self.lines.entry((file.clone(), line)).or_insert_with(|| CallSite::leak(file, line, 0))
    }
}

/// The file of all lines that are not told apart.
const MORE: &str = "<one of too many lines>";

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// The file and line of the innermost Python frame; `None` outside of any.
///
/// # Cost
/// A look into a table for an instruction that called before, about 0.2 µs.
pub fn here(py: Python<'_>) -> Option<CallSite> {
    // SAFETY: attached to the interpreter; the frame is borrowed from it and null outside of Python code.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }?;
    // SAFETY: a frame always has a code object; the call returns a new reference.
    let code =
        unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) }?;
    let instruction: i32 = frame.getattr(intern!(py, "f_lasti")).ok()?.extract().ok()?;
    let place = (code.as_ptr() as usize, instruction);
    if let Some((site, _)) = KNOWN.lock().get_or_insert_default().places.get(&place) {
        return Some(*site);
    }
    // SAFETY: a frame, as above.
    let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) };
    let line = u32::try_from(line).unwrap_or(0);
    let file: String = code.getattr(intern!(py, "co_filename")).ok()?.extract().ok()?;
    let mut guard = KNOWN.lock();
    let known = guard.get_or_insert_default();
    let site = known.line(file, line);
    let old =
        if known.places.len() >= MOST_PLACES { std::mem::take(&mut known.places) } else { HashMap::new() };
    known.places.insert(place, (site, code.unbind()));
    drop(guard);
    // Outside the lock: freeing a code object may run Python code.
    drop(old);
    Some(site)
}
