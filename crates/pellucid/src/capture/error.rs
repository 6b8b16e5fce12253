//! Why a capture could not be made.

use std::path::PathBuf;

use crate::error::Error;

/// Why a capture could not start, or its file could not be completed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// One capture at a time.
    #[error("a capture to {} is running; stop it first", path.display())]
    Running {
        /// The file of the running capture.
        path: PathBuf,
    },
    /// There is nothing to stop.
    #[error("no capture is running; start one first")]
    NotRunning,
    /// Without a file a capture can only go to Apple's developer tools, and those only see Metal.
    #[error("the path is empty; only on Metal a capture can go to the developer tools without a file")]
    EmptyPath,
    /// The environment does not allow Metal captures.
    #[error(
        "Metal captures are not enabled; set MTL_CAPTURE_ENABLED=1 (or METAL_CAPTURE_ENABLED=1) before the program \
         starts"
    )]
    GateClosed,
    /// Apple's capture manager does not capture, and nothing else was asked for.
    #[error("Metal cannot capture: {reason}")]
    Native {
        /// Why.
        reason: String,
    },
    /// This build has no captures.
    #[error(
        "this build of Pellucid has no captures; build it with the feature `capture`, which is on by default"
    )]
    NotBuilt,
    /// The file.
    #[cfg(feature = "capture")]
    #[error("{0}")]
    File(std::sync::Arc<pellucid_trace::Error>),
}

impl CaptureError {
    pub(crate) fn into_error(self, function: &'static str) -> Error {
        Error::Capture { function, source: self }
    }
}

#[cfg(feature = "capture")]
impl From<pellucid_trace::Error> for CaptureError {
    fn from(error: pellucid_trace::Error) -> CaptureError {
        CaptureError::File(std::sync::Arc::new(error))
    }
}
