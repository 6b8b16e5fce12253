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
    /// The device's streams at its beginning, and the batch each was given last.
    before: Vec<(Stream, Option<u64>)>,
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

/// The streams of a device, and the batch each was given last.
fn given(device: Device) -> Vec<(Stream, Option<u64>)> {
    let of_device = streams().into_iter().filter(|stream| stream.device() == device);
    of_device.map(|stream| (stream, stream.core().queue.lock().last.as_ref().map(|batch| batch.id))).collect()
}

impl Session {
    /// Waits for the unit's work, on every stream of the device that was given some since it began, and ends it.
    ///
    /// # Errors
    /// The error of failed work on one of these streams, or on the device's default one, that nobody has seen yet.
    pub fn finish(self) -> Result<()> {
        let worked = |stream: &(Stream, Option<u64>)| stream.1.is_some() && !self.before.contains(stream);
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
