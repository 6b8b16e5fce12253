//! The traces that a page has open, and the answers about them.

use std::io::{Read, Seek};

use pellucid_trace::{Limits, Trace, analysis, diff};

/// A page shows one trace, or compares two.
const SLOTS: usize = 2;
/// What a page of a browser can take: WebAssembly addresses 4 GiB, and the page itself needs memory, too.
const LIMITS: Limits = Limits { table_ratio: 256, table_bytes: 1500 << 20, text_bytes: 64 << 20 };

/// Open traces by slot. Every answer is JSON; every refusal is a sentence.
///
/// ```
/// # use pellucid_trace::{Manifest, Options, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.pltrace");
/// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
/// let mut desk = pellucid_trace_wasm::Desk::default();
/// desk.open(0, std::io::Cursor::new(std::fs::read(&path)?))?;
/// assert!(desk.analyse(0)?.starts_with("{\"totals\":"));
/// assert_eq!(desk.analyse(1), Err("no trace is open in slot 1".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Desk {
    traces: [Option<Trace>; SLOTS],
}

impl Desk {
    /// Opens a trace, in the place of the one that was in the slot.
    ///
    /// # Errors
    /// A sentence that says why it cannot be opened; so for the other functions.
    pub fn open(&mut self, slot: usize, source: impl Read + Seek + Send + 'static) -> Result<(), String> {
        let place = self.traces.get_mut(slot).ok_or_else(|| format!("there is no slot {slot}"))?;
        *place = None;
        *place = Some(Trace::from_reader("the trace", source, LIMITS).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Everything that `pellucid summary --json` prints of it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn analyse(&self, slot: usize) -> Result<String, String> {
        let found = analysis::analyse(self.trace(slot)?).map_err(|error| error.to_string())?;
        serde_json::to_string(&found).map_err(|error| error.to_string())
    }

    /// What a picture of it marks; see [`analysis::Marks`].
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn marks(&self, slot: usize) -> Result<String, String> {
        let found = analysis::marks(self.trace(slot)?).map_err(|error| error.to_string())?;
        serde_json::to_string(&found).map_err(|error| error.to_string())
    }

    /// What `pellucid diff --json` prints of both traces.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn diff(&self) -> Result<String, String> {
        let (a, b) = (self.trace(0)?, self.trace(1)?);
        let found = diff::diff(a, b, &diff::Options::default()).map_err(|error| error.to_string())?;
        serde_json::to_string(&found).map_err(|error| error.to_string())
    }

    fn trace(&self, slot: usize) -> Result<&Trace, String> {
        self.traces
            .get(slot)
            .and_then(Option::as_ref)
            .ok_or_else(|| format!("no trace is open in slot {slot}"))
    }
}
