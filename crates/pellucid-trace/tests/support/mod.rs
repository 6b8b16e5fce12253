//! Small traces for tests.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]
#![allow(dead_code, reason = "each test program uses some of these")]

#[path = "../../examples/synthetic/mod.rs"]
pub mod synthetic;

use std::io::{Cursor, Read, Write};
use std::path::Path;

use pellucid_trace::{Mode, Options, Summary, Trace, Writer};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Writes a network of some layers.
pub fn sample(path: &Path, layers: u64, options: Options) -> Summary {
    let writer = Writer::create(path, Options { mode: Mode::Full, ..options }).unwrap();
    let manifest = synthetic::Network::new(&writer).run(layers);
    writer.finish(manifest).unwrap()
}

/// Names and contents of all members.
pub fn members(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|i| {
            let mut file = archive.by_index(i).unwrap();
            let mut data = Vec::new();
            file.read_to_end(&mut data).unwrap();
            (file.name().unwrap().into_owned(), data)
        })
        .collect()
}

/// A ZIP file of the members.
pub fn pack(members: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Opens a trace and asks everything of it.
pub fn exercise(path: &Path) -> pellucid_trace::Result<()> {
    let trace = Trace::open(path)?;
    let _ = trace.problems()?;
    let analysis = pellucid_trace::analysis::analyse(&trace)?;
    assert!(serde_json::to_string(&analysis).is_ok());
    pellucid_trace::export::perfetto(&trace, std::io::sink())?;
    pellucid_trace::export::chrome(&trace, std::io::sink())?;
    pellucid_trace::export::dot(&trace, std::io::sink())?;
    pellucid_trace::diff::diff(&trace, &trace, &pellucid_trace::diff::Options::default())?;
    for array in trace.tensors() {
        let _ = trace.tensor(array);
    }
    for kernel in trace.kernels() {
        let _ = trace.kernel(kernel);
    }
    Ok(())
}
