//! What stands in for the window of a capture in a build without the feature `capture`: every start says so.

use std::path::Path;

use super::{CaptureError, Options, Summary};
use crate::error::Result;

/// How much a capture records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Operations, launches, memory and waits.
    Timeline,
    /// Also figures of every array.
    Stats,
    /// Also the arrays that a replay needs.
    #[default]
    Replay,
    /// Also every output.
    Full,
}

/// What Apple's own capture beside ours came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NativeCapture {
    /// E.g. `gputrace`.
    pub kind: String,
    /// Where it is.
    pub path: String,
    /// Whether it worked.
    pub ok: bool,
    /// What the tool said.
    pub message: String,
}

pub(super) fn begin(function: &'static str, _: &Path, _: Options) -> Result<()> {
    Err(CaptureError::NotBuilt.into_error(function))
}

pub(super) fn prepare_beside_native(function: &'static str, path: &Path) -> Result<()> {
    begin(function, path, Options::default())
}

pub(crate) fn start_beside_native(function: &'static str, path: &Path) -> Result<()> {
    begin(function, path, Options::default())
}

pub(super) fn end(function: &'static str, _: bool) -> Result<Summary> {
    Err(CaptureError::NotBuilt.into_error(function))
}

pub(super) fn is_running() -> bool {
    false
}

pub(super) fn open() {}

pub(super) fn discard(_: &'static str) {}
