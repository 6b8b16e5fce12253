//! What stands in for running on a GPU's stream in a build without the feature `gpu`, in which no such stream is made.

use std::sync::Arc;
use std::time::Instant;

use super::batch::{Batch, Step};
use super::run::{Made, Progress, Values};
use crate::backend::gpu;
use crate::error::{Error, Result};
use crate::observe::{Dispatched, Times, Watch};
use crate::stream::Stream;

pub(super) fn execute(stream: Stream, _: &Step, _: Values) -> Result<Made> {
    Err(Error::device("eval", stream.device(), gpu::NONE))
}

pub(super) fn end(_: &Arc<Batch>) -> Progress {
    Progress::Done
}

pub(super) fn watch(_: Stream, _: &Watch) {}

pub(super) fn observed(_: Stream) -> (Vec<Dispatched>, Option<Times>, Vec<Instant>) {
    (Vec::new(), None, Vec::new())
}

pub(super) fn await_times(_: Stream, _: &Watch, _: u64, _: Instant) {}
