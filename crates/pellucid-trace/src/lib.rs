//! The `.pltrace` file: everything that ran in a program, in one file.
//!
//! A trace is a ZIP of standard files: Arrow tables of operations, launches, memory, waits and figures of arrays, the
//! text of kernels, NumPy files with data, and a JSON manifest. This crate writes traces while a program runs, reads
//! and repairs them, computes what people want to know from them, compares two of them, and exports them for other
//! tools. It knows nothing of arrays or devices.
//!
//! The format is described in `docs/trace-format.md`.

pub mod analysis;
mod archive;
pub mod diff;
mod error;
pub mod export;
mod npy;
mod parallel;
mod reader;
mod recover;
pub mod schema;
mod writer;

pub use error::{Error, Result};
pub use npy::TensorData;
pub use reader::{Limits, Problem, Table, Trace};
pub use recover::{Recovered, recover};
pub use schema::{
    Counts, Dispatch, DispatchView, Launch, LaunchView, Manifest, Memory, MemoryView, Mode, Op, OpView, Row,
    Stats, StatsView, Sync, SyncView, hash, kernel_member,
};
pub use writer::{Options, Summary, Tensor, Writer};
