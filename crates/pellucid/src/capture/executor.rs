//! Units of work: a forward pass, a step, a request. What the environment asks to be captured is one of them.

use super::environment::{self, Unit};
use crate::device::{self, Device};
use crate::error::Result;
use crate::stream::{default_stream, synchronize};

/// Brackets units of work on a device. The first one (or the one that `PELLUCID_CAPTURE_SKIP` names) is captured if
/// the environment asks for it with `PELLUCID_CAPTURE` or `MLX_METAL_CAPTURE`.
///
/// ```
/// use pellucid::{Array, Device, capture::GraphExecutor, ops};
/// # fn main() -> pellucid::Result<()> {
/// let executor = GraphExecutor::new(Device::cpu())?;
/// for _ in 0..3 {
///     let session = executor.begin()?;
///     ops::exp(&Array::from([1.0f32]))?.eval()?;
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
}

impl GraphExecutor {
    /// An executor on a device.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if there is no such device.
    pub fn new(device: Device) -> Result<GraphExecutor> {
        device::check("GraphExecutor", device)?;
        Ok(GraphExecutor { device })
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// None today; a capture that cannot start is reported on standard error and never fails the work.
    pub fn begin(&self) -> Result<Session> {
        environment::begin(Unit::Session, self.device);
        Ok(Session { device: self.device })
    }
}

impl Session {
    /// Waits for the unit's work and ends it.
    ///
    /// # Errors
    /// The error of failed work on the device's default stream that nobody has seen yet.
    pub fn finish(self) -> Result<()> {
        synchronize(default_stream(self.device)?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        environment::end_session();
    }
}
