//! The thread that turns rows into chunks and appends them to the file.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow_ipc::writer::StreamWriter;

use super::queue::{Batch, Queue};
use super::{Options, Summary, Tensor};
use crate::archive::{Archive, Member};
use crate::schema::{
    Counts, Dispatch, FORMAT, Launch, Manifest, Memory, Op, Row, RowBuilder, Stats, Sync, VERSION, is_input,
};
use crate::{Error, Result, npy};

/// Kept free under [`Options::max_bytes`] for the manifest.
const RESERVE: u64 = 64 * 1024;

/// Rows of one table on their way into a chunk.
struct Pending<R: Row> {
    builder: R::Builder,
    rows: usize,
    bytes: usize,
    chunk: usize,
    written: u64,
    left_out: u64,
    /// Some rows are counted apart.
    is_marked: fn(&R) -> bool,
    marked: u64,
    marked_written: u64,
}

impl<R: Row> Pending<R> {
    fn new(is_marked: fn(&R) -> bool) -> Self {
        Self {
            builder: R::Builder::default(),
            rows: 0,
            bytes: 0,
            chunk: 0,
            written: 0,
            left_out: 0,
            is_marked,
            marked: 0,
            marked_written: 0,
        }
    }

    fn absorb(&mut self, rows: &mut Vec<R>, file: &mut Output) {
        for row in rows.drain(..) {
            self.builder.push(&row);
            self.rows += 1;
            self.bytes += row.bytes();
            self.marked += u64::from((self.is_marked)(&row));
            if self.rows >= file.options.chunk_rows || self.bytes >= file.options.chunk_bytes {
                self.flush(file);
            }
        }
    }

    /// Appends what there is as one chunk.
    fn flush(&mut self, file: &mut Output) {
        if self.rows == 0 {
            return;
        }
        let rows = std::mem::take(&mut self.rows) as u64;
        self.bytes = 0;
        let encoded = self.builder.finish().and_then(|batch| {
            let mut writer = StreamWriter::try_new(Vec::new(), &R::schema())?;
            writer.write(&batch)?;
            writer.into_inner()
        });
        let name = format!("{}/{:06}.arrow", R::TABLE, self.chunk);
        let kept = match encoded {
            // A table has no holes: after one chunk that did not fit, none is tried.
            Ok(data) => self.left_out == 0 && file.append(&name, &[&data]),
            Err(error) => {
                file.fail(io::Error::other(error));
                false
            }
        };
        if kept {
            self.chunk += 1;
            self.written += rows;
            self.marked_written = self.marked;
        } else {
            self.left_out += rows;
        }
    }
}

/// The file, until it fails.
struct Output {
    archive: Archive,
    options: Options,
    failure: Option<io::Error>,
    queue: Arc<Queue>,
}

impl Output {
    /// Appends a member if the file works and has room for it.
    fn append(&mut self, name: &str, parts: &[&[u8]]) -> bool {
        self.try_append(name, parts, RESERVE)
    }

    fn try_append(&mut self, name: &str, parts: &[&[u8]], reserve: u64) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let appended = Member::new(name, parts, self.options.level).and_then(|member| {
            if self.archive.size() + member.total_size() + reserve > self.options.max_bytes {
                return Ok(false);
            }
            self.archive.append(&member).map(|()| true)
        });
        appended.unwrap_or_else(|error| {
            self.fail(error);
            false
        })
    }

    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        self.queue.fail();
    }
}

pub(crate) struct Worker {
    path: PathBuf,
    file: Output,
    ops: Pending<Op>,
    launches: Pending<Launch>,
    dispatches: Pending<Dispatch>,
    memory: Pending<Memory>,
    sync: Pending<Sync>,
    stats: Pending<Stats>,
    drafts: usize,
    /// Written and left out.
    kernels: (u64, u64),
    tensors: (u64, u64),
    tensor_bytes_left_out: u64,
}

impl Worker {
    pub(crate) fn new(path: PathBuf, file: File, options: Options, queue: Arc<Queue>) -> Self {
        let file = Output { archive: Archive::new(file), options, failure: None, queue };
        Self {
            path,
            file,
            ops: Pending::new(|op| is_input(&op.op)),
            launches: Pending::new(|_| false),
            dispatches: Pending::new(|_| false),
            memory: Pending::new(|_| false),
            sync: Pending::new(|_| false),
            stats: Pending::new(|_| false),
            drafts: 0,
            kernels: (0, 0),
            tensors: (0, 0),
            tensor_bytes_left_out: 0,
        }
    }

    pub(crate) fn run(mut self) -> Result<Summary> {
        let queue = self.file.queue.clone();
        let mut empty = Batch::default();
        let mut next_flush = Instant::now() + self.file.options.flush_every;
        loop {
            let mut taken = queue.take(empty, next_flush);
            self.absorb(&mut taken.batch);
            empty = taken.batch;
            if let Some(manifest) = taken.closed {
                return self.finish(manifest);
            }
            if Instant::now() >= next_flush {
                self.flush();
                next_flush = Instant::now() + self.file.options.flush_every;
            }
        }
    }

    fn absorb(&mut self, batch: &mut Batch) {
        let file = &mut self.file;
        let draft = batch.draft.take().and_then(|draft| serde_json::to_vec(&draft).ok());
        if draft.is_some_and(|text| file.append(&format!("draft/{:06}.json", self.drafts), &[&text])) {
            self.drafts += 1;
        }
        for (name, text) in batch.kernels.drain(..) {
            count(&mut self.kernels, file.append(&name, &[text.as_bytes()]));
        }
        self.ops.absorb(&mut batch.ops, file);
        self.launches.absorb(&mut batch.launches, file);
        self.dispatches.absorb(&mut batch.dispatches, file);
        self.memory.absorb(&mut batch.memory, file);
        self.sync.absorb(&mut batch.sync, file);
        self.stats.absorb(&mut batch.stats, file);
        for tensor in batch.tensors.drain(..) {
            self.tensor(tensor);
        }
    }

    fn tensor(&mut self, tensor: Tensor) {
        let data = (*tensor.data).as_ref();
        let kept = npy::header(tensor.dtype, &tensor.shape).is_some_and(|header| {
            self.file.append(&format!("tensors/{}.npy", tensor.array), &[&header, data])
        });
        count(&mut self.tensors, kept);
        if !kept {
            self.tensor_bytes_left_out += data.len() as u64;
        }
    }

    fn flush(&mut self) {
        let file = &mut self.file;
        self.ops.flush(file);
        self.launches.flush(file);
        self.dispatches.flush(file);
        self.memory.flush(file);
        self.sync.flush(file);
        self.stats.flush(file);
    }

    fn finish(mut self, mut manifest: Manifest) -> Result<Summary> {
        self.flush();
        let (dropped, blocked) = self.file.queue.losses();
        let written = self.counts(&manifest, false);
        let mut left_out = std::mem::take(&mut manifest.left_out);
        left_out.extend(self.left_out());
        if dropped > 0 {
            left_out.push(format!(
                "{dropped} rows or members: the writer was more than {:?} behind",
                self.file.options.max_wait
            ));
        }
        manifest.format = FORMAT.into();
        manifest.version = VERSION;
        manifest.mode = self.file.options.mode;
        manifest.counts = written;
        manifest.truncated |= !left_out.is_empty();
        manifest.left_out = left_out;
        let failure = self.file.failure.take();
        if let Some(error) = &failure {
            manifest.truncated = true;
            manifest.left_out.push(format!("everything after an error of the disk: {error}"));
        }
        let ended = self.end(&manifest);
        let readable = ended.is_ok();
        let (bytes, failure) = match ended {
            Ok(bytes) => (bytes, failure),
            Err(error) => (0, failure.or(Some(error))),
        };
        if let Some(source) = failure {
            let bytes = self.file.archive.position();
            return Err(Error::Stopped { path: self.path, bytes, readable, source });
        }
        let seen = self.counts(&manifest, true);
        let (truncated, left_out) = (manifest.truncated, manifest.left_out);
        Ok(Summary { path: self.path, bytes, written, seen, truncated, left_out, blocked })
    }

    /// Writes the manifest and the table of contents.
    fn end(&mut self, manifest: &Manifest) -> io::Result<u64> {
        let text = serde_json::to_vec_pretty(manifest)?;
        let parts: [&[u8]; 1] = [&text];
        self.file.archive.append(&Member::new("manifest.json", &parts, 9)?)?;
        self.file.archive.end(self.file.options.sync_to_disk)
    }

    /// Rows in the file, or of all rows that came.
    fn counts(&self, manifest: &Manifest, all: bool) -> Counts {
        fn rows<R: Row>(table: &Pending<R>, all: bool) -> u64 {
            table.written + if all { table.left_out } else { 0 }
        }
        Counts {
            ops: rows(&self.ops, all),
            inputs: if all { self.ops.marked } else { self.ops.marked_written },
            launches: rows(&self.launches, all),
            dispatches: rows(&self.dispatches, all),
            memory: rows(&self.memory, all),
            sync: rows(&self.sync, all),
            stats: rows(&self.stats, all),
            kernels: self.kernels.0 + if all { self.kernels.1 } else { 0 },
            tensors: self.tensors.0 + if all { self.tensors.1 } else { 0 },
            regions: manifest.regions.len() as u64,
        }
    }

    fn left_out(&self) -> Vec<String> {
        let limit = self.file.options.max_bytes;
        let why = match &self.file.failure {
            Some(_) => "the disk failed".to_owned(),
            None => format!("the file would be larger than {limit} bytes"),
        };
        let lost = [
            (self.ops.left_out, "ops"),
            (self.launches.left_out, "launches"),
            (self.dispatches.left_out, "dispatches"),
            (self.memory.left_out, "memory events"),
            (self.sync.left_out, "waits"),
            (self.stats.left_out, "rows of stats"),
            (self.kernels.1, "kernels"),
        ];
        let mut texts: Vec<String> = lost
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}: {why}"))
            .collect();
        if self.tensors.1 > 0 {
            let bytes = self.tensor_bytes_left_out;
            texts.push(format!("{} tensors of {bytes} bytes: {why}", self.tensors.1));
        }
        texts
    }
}

fn count((kept, lost): &mut (u64, u64), is_kept: bool) {
    if is_kept {
        *kept += 1;
    } else {
        *lost += 1;
    }
}
