//! Traces for other tools.

mod chrome;
mod dot;
mod perfetto;
mod plan;
mod proto;

pub use chrome::chrome;
pub use dot::dot;
pub use perfetto::{Drawn, perfetto};

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use crate::{Error, Result, Trace, analysis};

/// Where an export goes; errors name the trace.
struct Sink<W: Write> {
    out: BufWriter<W>,
    path: PathBuf,
}

impl<W: Write> Sink<W> {
    fn new(trace: &Trace, out: W) -> Self {
        Self { out: BufWriter::new(out), path: trace.path().to_path_buf() }
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Io { action: "writing the export of", path: self.path.clone(), source }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|source| self.error(source))
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|source| self.error(source))
    }
}

/// Writes everything the summary shows as JSON.
///
/// # Errors
/// As the tables, or [`Error::Io`] if writing fails.
pub fn json(trace: &Trace, out: impl Write) -> Result<()> {
    let analysis = analysis::analyse(trace)?;
    let mut sink = Sink::new(trace, out);
    serde_json::to_writer_pretty(&mut sink.out, &analysis).map_err(|source| sink.error(source.into()))?;
    sink.write(b"\n")?;
    sink.flush()
}
