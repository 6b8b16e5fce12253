//! Saving what is complete in a file that was cut short: the members one after the other, without a table of contents.

use std::collections::{BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::read::read_zipfile_from_stream;

use crate::archive::{Archive, Member};
use crate::reader::{Limits, Trace, json_memory};
use crate::schema::{Counts, DeviceInfo, FORMAT, Manifest, StreamInfo, TABLES, VERSION, is_input};
use crate::{Error, Result};

/// Arrays of zeros may be large in a small file; larger ones than this are not saved from one.
const MOST_TENSOR: u64 = 1 << 30;

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The new file.
    pub path: PathBuf,
    /// Members saved.
    pub members: usize,
    /// Members that were damaged or cut and are not in the new file.
    pub lost: usize,
    /// Rows and members saved.
    pub counts: Counts,
}

/// Copies all complete members of the file `path` to the new file `out`, with a manifest made of the last draft and
/// the tables, marked `partial`. Chunks after a damaged chunk of the same table are not kept: a table has no holes.
///
/// # Errors
/// [`Error::NotATrace`] if nothing can be saved; as [`Writer::create`](crate::Writer::create) for `out`.
pub fn recover(path: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Recovered> {
    let (path, out) = (path.as_ref(), out.as_ref());
    if !std::fs::metadata(path).map_err(|source| io("opening", path, source))?.is_file() {
        return Err(Error::NotAFile { path: path.to_path_buf() });
    }
    let source = File::open(path).map_err(|source| io("opening", path, source))?;
    let target = OpenOptions::new().write(true).create_new(true).open(out);
    let target = target.map_err(|error| crate::writer::refused(out, error))?;
    let recovered = copy(path, source, out, target);
    if recovered.is_err() {
        let _ = std::fs::remove_file(out);
    }
    recovered
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io { action, path: path.to_path_buf(), source }
}

fn copy(path: &Path, source: File, out: &Path, target: File) -> Result<Recovered> {
    let size = source.metadata().map_err(|error| io("reading", path, error))?.len();
    let justified = Limits::default().justified(size);
    let mut reader = BufReader::new(source);
    let mut archive = Archive::new(target);
    let mut manifest = Manifest::default();
    let (mut names, mut lost) = (BTreeSet::new(), 0);
    let mut holes = HashSet::new();
    loop {
        let member = match read_zipfile_from_stream(&mut reader) {
            Ok(Some(member)) => member,
            Ok(None) => break,
            Err(_) => {
                lost += 1;
                break;
            }
        };
        let name = std::str::from_utf8(member.name_raw()).ok().filter(|name| crate::reader::is_safe(name));
        let Some(name) = name.map(str::to_owned) else {
            lost += 1;
            continue;
        };
        let declared = member.size();
        // A name that comes twice keeps its first content, as does a table after a hole.
        let table = name.split('/').next().unwrap_or_default().to_owned();
        let most = if table == "tensors" { justified.max(MOST_TENSOR) } else { justified };
        let mut data = Vec::new();
        if !crate::reader::is_justified(member.compressed_size(), declared, size)
            || declared > most
            || data.try_reserve_exact(declared as usize).is_err()
            || names.contains(&name)
            || holes.contains(&table)
        {
            lost += 1;
            continue;
        }
        let complete =
            member.take(declared + 1).read_to_end(&mut data).is_ok_and(|read| read as u64 == declared);
        if !complete {
            lost += 1;
            if TABLES.contains(&table.as_str()) {
                holes.insert(table);
            }
            continue;
        }
        if name == "manifest.json" || table == "draft" {
            if json_memory(&data) <= justified
                && let Ok(found) = serde_json::from_slice(&data)
            {
                manifest = found;
            }
            continue;
        }
        let parts: [&[u8]; 1] = [&data];
        let member = Member::new(&name, &parts, 3).and_then(|member| archive.append(&member));
        member.map_err(|error| io("writing", out, error))?;
        names.insert(name);
    }
    if names.is_empty() && manifest == Manifest::default() {
        let reason = "no complete part of a trace is in it".to_owned();
        return Err(Error::NotATrace { path: path.to_path_buf(), reason });
    }
    end(archive, manifest, out, &names, lost)
}

/// The tables must be read to be counted, which needs a readable file: it is written with a preliminary manifest,
/// read, and given the final one.
fn end(
    mut archive: Archive,
    draft: Manifest,
    out: &Path,
    names: &BTreeSet<String>,
    lost: usize,
) -> Result<Recovered> {
    let write = |archive: &mut Archive, manifest: &Manifest| {
        let text = serde_json::to_vec_pretty(manifest)?;
        let parts: [&[u8]; 1] = [&text];
        archive.append(&Member::new("manifest.json", &parts, 9)?)?;
        archive.end(false)
    };
    let failed = |error| io("writing", out, error);
    let checkpoint = archive.checkpoint();
    let preliminary = Manifest { format: FORMAT.into(), version: VERSION, ..Manifest::default() };
    write(&mut archive, &preliminary).map_err(failed)?;
    let trace = Trace::open(out)?;
    let manifest = synthesise(&trace, draft, names)?;
    drop(trace);
    archive.rewind(checkpoint).map_err(failed)?;
    write(&mut archive, &manifest).map_err(failed)?;
    Ok(Recovered { path: out.to_path_buf(), members: names.len(), lost, counts: manifest.counts })
}

fn synthesise(trace: &Trace, draft: Manifest, names: &BTreeSet<String>) -> Result<Manifest> {
    let mut manifest = Manifest { format: FORMAT.into(), version: VERSION, partial: true, ..draft };
    let note = "what was not written yet when the program ended".to_owned();
    if !manifest.left_out.contains(&note) {
        manifest.left_out.push(note);
    }
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count() as u64;
    let (ops, launches) = (trace.ops()?, trace.launches()?);
    manifest.counts = Counts {
        ops: ops.len() as u64,
        inputs: ops.iter().filter(|op| is_input(op.op)).count() as u64,
        launches: launches.len() as u64,
        dispatches: trace.dispatches()?.len() as u64,
        memory: trace.memory()?.len() as u64,
        sync: trace.sync()?.len() as u64,
        stats: trace.stats()?.len() as u64,
        kernels: count("kernels/"),
        tensors: count("tensors/"),
        regions: manifest.regions.len() as u64,
    };
    let known_devices: HashSet<String> =
        manifest.devices.iter().map(|device| device.device.clone()).collect();
    let known_streams: HashSet<u32> = manifest.streams.iter().map(|stream| stream.index).collect();
    let mut found = BTreeSet::new();
    let seen = ops.iter().map(|op| (op.stream, op.device));
    for pair in seen.chain(launches.iter().map(|launch| (launch.stream, launch.device))) {
        if !found.contains(&pair) {
            found.insert(pair);
        }
    }
    let devices: BTreeSet<&str> = found.iter().map(|(_, device)| *device).collect();
    for device in devices.into_iter().filter(|device| !known_devices.contains(*device)) {
        let kind = if device.contains("gpu") { "gpu" } else { "cpu" };
        manifest.devices.push(DeviceInfo {
            device: device.into(),
            kind: kind.into(),
            ..DeviceInfo::default()
        });
    }
    for (index, device) in found.into_iter().filter(|(index, _)| !known_streams.contains(index)) {
        if !manifest.streams.iter().any(|stream| stream.index == index) {
            manifest.streams.push(StreamInfo {
                index,
                device: device.into(),
                label: format!("stream {index}"),
            });
        }
    }
    let last = launches.iter().map(|launch| launch.end_ns);
    let last = last.chain(trace.memory()?.iter().map(|event| event.time_ns)).max().unwrap_or(0);
    manifest.window.duration_ns = manifest.window.duration_ns.max(last);
    for region in &mut manifest.regions {
        region.end_ns = region.end_ns.max(region.start_ns);
    }
    if let Some(peak) = trace.memory()?.iter().map(|event| event.peak.max(event.active)).max() {
        manifest.memory.peak = manifest.memory.peak.max(peak);
    }
    Ok(manifest)
}
