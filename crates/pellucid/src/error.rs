//! The one error type. Every message starts with the function in brackets, carries the numbers, and says what to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::call_site::CallSite;
use crate::capture::CaptureError;
use crate::device::Device;

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Cheap to clone, because every array that depends on a failed operation carries the same one.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that do not fit each other or the operation.
    #[error("[{function}] {message}")]
    Shape {
        /// The function that was called.
        function: &'static str,
        /// What was given, what is possible.
        message: String,
    },
    /// An element type the operation does not take.
    #[error("[{function}] {message}")]
    Dtype {
        /// The function that was called.
        function: &'static str,
        /// What was given, what is possible.
        message: String,
    },
    /// An axis outside the array's dimensions.
    #[error("[{function}] axis {axis} is out of range for an array with {ndim} dimensions (use {} to {})", -(*ndim as i64), *ndim as i64 - 1)]
    Axis {
        /// The function that was called.
        function: &'static str,
        /// The axis as given.
        axis: i64,
        /// The number of dimensions there are.
        ndim: usize,
    },
    /// An index outside its axis.
    #[error("[{function}] index {index} is out of range for axis {axis} of size {size}")]
    Index {
        /// The function that was called.
        function: &'static str,
        /// The index as given.
        index: i64,
        /// The axis it was meant for.
        axis: usize,
        /// The size of that axis.
        size: usize,
    },
    /// An argument outside what the function accepts.
    #[error("[{function}] {message}")]
    Argument {
        /// The function that was called.
        function: &'static str,
        /// What was given, what is possible.
        message: String,
    },
    /// A device that is not there, or cannot do what was asked.
    #[error("[{function}] {device}: {message}")]
    Device {
        /// The function that was called.
        function: &'static str,
        /// The device it was meant for.
        device: Device,
        /// Why not, and what to do.
        message: String,
    },
    /// Memory that could not be had.
    #[error("[{function}] cannot allocate {requested} bytes on {device}: {message}")]
    Memory {
        /// The function that was called.
        function: &'static str,
        /// The device the memory was asked from.
        device: Device,
        /// Bytes asked for.
        requested: u64,
        /// Why not, with the limits and what to do.
        message: String,
    },
    /// A call that could not work; carried by the array it returned and every array made from that.
    #[error("{source}\n  called at {site}")]
    Call {
        /// The line of the user's code that made the call.
        site: CallSite,
        /// What was wrong with it.
        source: Arc<Error>,
    },
    /// An operation that failed while it ran; carried by every array that depends on it.
    #[error("{source}\n  in {op}, requested at {site}")]
    Launch {
        /// The operation that failed.
        op: String,
        /// The line of the user's code that asked for it.
        site: CallSite,
        /// The cause.
        source: Arc<Error>,
    },
    /// A file that could not be read or written.
    #[error("[{function}] {}: {source}", path.display())]
    Io {
        /// The function that was called.
        function: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: Arc<std::io::Error>,
    },
    /// A file whose content is not what it should be.
    #[error("[{function}] {}: {message}", path.display())]
    Format {
        /// The function that was called.
        function: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A capture that could not be made.
    #[error("[{function}] {source}")]
    Capture {
        /// The function that was called.
        function: &'static str,
        /// Why not.
        source: CaptureError,
    },
    /// A place outside of what there is.
    #[error("[{function}] {message}")]
    Range {
        /// The function that was called.
        function: &'static str,
        /// What was given, what is possible.
        message: String,
    },
    /// A variable of a function that was recorded, kept beyond the end of the recording.
    #[error(
        "[eval] Attempting to eval an array without a primitive. It was made at {site} while a function was recorded \
         (by compile or vmap) and has no elements; return it from the function instead"
    )]
    Placeholder {
        /// The line of the user's code that made it.
        site: CallSite,
    },
    /// The caller did not want to wait any longer; what was started goes on.
    #[error("[{function}] interrupted; the evaluation goes on in the background")]
    Interrupted {
        /// The function that was called.
        function: &'static str,
    },
    /// This process was forked from one in which other threads used the library or a GPU was open: neither is here.
    #[error(
        "[{function}] this process was forked from one in which other threads used Pellucid, work was under way or a \
             GPU was open, none of which exists here; start it anew instead (in Python with \
             multiprocessing.set_start_method(\"spawn\")), or fork before Pellucid is used"
    )]
    Forked {
        /// The function that was called.
        function: &'static str,
    },
    /// A defect of this library: something that must not happen did. Please report it.
    #[error("[{function}] internal error: {message}; please report this")]
    Internal {
        /// Where it was noticed.
        function: &'static str,
        /// What was found.
        message: String,
    },
}

impl std::fmt::Debug for Error {
    /// The message: it is what a `main` that returns an error prints.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    pub(crate) fn shape(function: &'static str, message: impl Into<String>) -> Error {
        Error::Shape { function, message: message.into() }
    }

    pub(crate) fn dtype(function: &'static str, message: impl Into<String>) -> Error {
        Error::Dtype { function, message: message.into() }
    }

    pub(crate) fn argument(function: &'static str, message: impl Into<String>) -> Error {
        Error::Argument { function, message: message.into() }
    }

    pub(crate) fn internal(function: &'static str, message: impl Into<String>) -> Error {
        Error::Internal { function, message: message.into() }
    }

    pub(crate) fn device(function: &'static str, device: Device, message: impl Into<String>) -> Error {
        Error::Device { function, device, message: message.into() }
    }

    pub(crate) fn io(function: &'static str, path: &Path, source: std::io::Error) -> Error {
        Error::Io { function, path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn format(function: &'static str, path: &Path, message: impl Into<String>) -> Error {
        Error::Format { function, path: path.to_owned(), message: message.into() }
    }

    /// The error at the bottom: for a wrong call or a failed launch its cause, else the error itself.
    pub fn root(&self) -> &Error {
        match self {
            Error::Call { source, .. } | Error::Launch { source, .. } => source.root(),
            other => other,
        }
    }
}
