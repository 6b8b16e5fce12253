//! What is asked for, and by whom.

use crate::call_site::CallSite;
use crate::device::Device;
use crate::error::Error;

/// Bytes for a stream's work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub function: &'static str,
    pub bytes: usize,
    pub stream: u32,
    pub site: CallSite,
}

/// A request with the device to serve it and the array to serve it for. A plain [`Request`] means the processor's
/// memory, for an array that is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub request: Request,
    pub device: Device,
    /// The array's number; 0 if not known.
    pub op: u64,
}

impl From<Request> for Demand {
    fn from(request: Request) -> Demand {
        Demand { request, device: Device::cpu(), op: 0 }
    }
}

impl Demand {
    /// The error for a demand that cannot be met.
    pub fn refused(&self, message: String) -> Error {
        let (function, requested) = (self.request.function, self.request.bytes as u64);
        Error::Memory { function, device: self.device, requested, message }
    }
}
