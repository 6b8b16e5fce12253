//! Opening a trace for a command: everything that is wrong with a file is found here, before anything is printed.

use std::path::Path;

use pellucid_trace::Trace;

/// Opens a trace and checks that its rows agree with each other.
///
/// # Errors
/// Whatever is wrong with the file, in words that say what to do.
pub fn open(path: &Path) -> Result<Trace, Box<dyn std::error::Error>> {
    let trace = Trace::open(path)?;
    trace.check().map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(trace)
}
