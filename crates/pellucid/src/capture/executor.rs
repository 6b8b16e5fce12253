//! Units of work: a forward pass, a step, a request. What the environment asks to be captured is one of them.

use super::environment::{self, Unit};
use crate::device::{self, Device};
use crate::error::Result;
use crate::stream::{Stream, default_stream, streams, synchronize};

/// Brackets units of work on a device. The first one (or the one that `PELLUCID_CAPTURE_SKIP` names) is captured if
/// the environment asks for it with `PELLUCID_CAPTURE` or `MLX_METAL_CAPTURE`.
///
/// Once an executor has been made, evaluations outside of sessions do not count, and what was captured of earlier ones is
/// given up: a model can be warmed up before its first session.
///
/// ```
/// use pellucid::{Array, Device, capture::GraphExecutor, ops};
/// # fn main() -> pellucid::Result<()> {
/// let executor = GraphExecutor::new(Device::cpu())?;
/// for _ in 0..3 {
///     let session = executor.begin()?;
///     ops::exp(&Array::from([1.0f32])).eval()?;
///     session.finish()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GraphExecutor {
    device: Device,
}

/// One unit of work; ends when it is finished or dropped.
#[derive(Debug)]
#[must_use = "the unit ends when this is dropped"]
pub struct Session {
    device: Device,
    /// The device's streams at its beginning, and how far each was.
    before: Vec<(Stream, Progress)>,
}

impl GraphExecutor {
    /// An executor on a device.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if there is no such device.
    pub fn new(device: Device) -> Result<GraphExecutor> {
        device::check("GraphExecutor", device)?;
        environment::executor_made();
        Ok(GraphExecutor { device })
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// None today; a capture that cannot start is reported on standard error and never fails the work.
    pub fn begin(&self) -> Result<Session> {
        environment::begin(Unit::Session, self.device);
        Ok(Session { device: self.device, before: given(self.device) })
    }
}

/// How far a stream is: batches that were done, and the one that was given last and is not.
type Progress = (u64, Option<u64>);

/// The streams of a device, and how far each is.
fn given(device: Device) -> Vec<(Stream, Progress)> {
    let progress = |stream: Stream| {
        let queue = stream.core().queue.lock();
        (stream, (queue.finished, queue.last.as_ref().map(|batch| batch.id)))
    };
    streams().into_iter().filter(|stream| stream.device() == device).map(progress).collect()
}

impl Session {
    /// Waits for the unit's work, on every stream of the device that was given some since it began, and ends it.
    ///
    /// # Errors
    /// The error of failed work on one of these streams, or on the device's default one, that nobody has seen yet.
    pub fn finish(self) -> Result<()> {
        let new = (0, None);
        let worked = |now: &(Stream, Progress)| {
            let before =
                self.before.iter().find(|(stream, _)| *stream == now.0).map_or(new, |&(_, before)| before);
            now.1 != before
        };
        let mut outcome = synchronize(default_stream(self.device)?);
        for (stream, _) in given(self.device).into_iter().filter(worked) {
            outcome = outcome.and(synchronize(stream));
        }
        outcome
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        environment::end_session();
    }
}
