//! Writing a trace while the program runs.
//!
//! Rows are moved into a queue that a thread of the writer's own empties. The thread collects them column by column
//! and appends a chunk to the file when a table has enough rows or bytes, or some time has passed, so that memory is
//! bounded and a killed process leaves recent data behind.

mod queue;
mod worker;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::schema::{Counts, Dispatch, Launch, Manifest, Memory, Mode, Op, Stats, Sync, kernel_member};
use crate::{Error, Result};
use queue::{Batch, Queue};

/// How to write a trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much is recorded; written to the manifest.
    pub mode: Mode,
    /// Largest size of the file in bytes. Rows and members that do not fit are counted and left out.
    pub max_bytes: u64,
    /// Rows of one chunk of a table.
    pub chunk_rows: usize,
    /// Bytes of one chunk before compression, roughly.
    pub chunk_bytes: usize,
    /// A chunk is written at least this often, if there is anything to write.
    pub flush_every: Duration,
    /// Rows that may wait to be written.
    pub queue_rows: usize,
    /// Bytes that may wait to be written. One larger member is admitted alone.
    pub queue_bytes: usize,
    /// How long a row may wait for room in the queue before it is left out.
    pub max_wait: Duration,
    /// Level of compression, 0 to 9.
    pub level: u32,
    /// Wait until the disk has everything before `finish` returns.
    pub sync_to_disk: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            max_bytes: u64::MAX,
            chunk_rows: 16_384,
            chunk_bytes: 1 << 20,
            flush_every: Duration::from_millis(250),
            queue_rows: 65_536,
            queue_bytes: 64 << 20,
            max_wait: Duration::from_secs(2),
            // As fast as level 1 on these tables, and a third smaller.
            level: 2,
            sync_to_disk: false,
        }
    }
}

/// The elements of an array, for `tensors/<array>.npy`.
pub struct Tensor {
    /// The array.
    pub array: u64,
    /// Element type by its name in the tables, e.g. `float32`.
    pub dtype: &'static str,
    /// Shape.
    pub shape: Vec<u64>,
    /// Elements in row-major order, little-endian. Owned or shared memory of any kind; it is dropped once written.
    pub data: Box<dyn AsRef<[u8]> + Send>,
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({}, {} {:?})", self.array, self.dtype, self.shape)
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Rows and members in it.
    pub written: Counts,
    /// Rows and members that were pushed, including those left out.
    pub seen: Counts,
    /// True if something was left out.
    pub truncated: bool,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// For how long producers had to wait for the writer, in sum.
    pub blocked: Duration,
}

/// Writes one trace. Shared between threads by reference; pushing never fails.
///
/// # Cost
/// Pushing a row takes a lock that is held for a move, and wakes the writer's thread once per some thousand rows. When
/// the queue is full the call waits for the writer, at most [`Options::max_wait`]; after one such wait in vain further
/// rows are left out without waiting until there is room again.
///
/// ```
/// use pellucid_trace::{Manifest, Options, Sync, Trace, Writer};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("one wait.pltrace");
/// let writer = Writer::create(&path, Options::default())?;
/// writer.sync(Sync { time_ns: 5, waiter: -1, waited_for: 0, duration_ns: 10 });
/// let summary = writer.finish(Manifest::default())?;
/// assert_eq!(summary.written.sync, 1);
/// assert_eq!(Trace::open(&path)?.sync()?.rows()[0].duration_ns, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    path: PathBuf,
    queue: std::sync::Arc<Queue>,
    thread: Mutex<Option<JoinHandle<Result<Summary>>>>,
    draft: Mutex<Manifest>,
}

impl Writer {
    /// Creates the file `path` and starts the thread that writes it.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::ParentMissing`], [`Error::Unwritable`] or [`Error::Io`]; nothing is left behind.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| refused(&path, error))?;
        let queue = std::sync::Arc::new(Queue::new(&options));
        let worker = worker::Worker::new(path.clone(), file, options, queue.clone());
        let thread = std::thread::Builder::new().name("pellucid trace".into()).spawn(move || worker.run());
        let thread = thread.map_err(|source| {
            let _ = fs::remove_file(&path);
            Error::Io { action: "starting a thread to write", path: path.clone(), source }
        })?;
        Ok(Self { path, queue, thread: Mutex::new(Some(thread)), draft: Mutex::default() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an operation. Producers come before consumers.
    pub fn op(&self, row: Op) {
        self.queue.push_row(row, |batch| &mut batch.ops);
    }

    /// Adds a launch. Launches come by end time.
    pub fn launch(&self, row: Launch) {
        self.queue.push_row(row, |batch| &mut batch.launches);
    }

    /// Adds a dispatch. Those of one launch come in the order in which they ran.
    pub fn dispatch(&self, row: Dispatch) {
        self.queue.push_row(row, |batch| &mut batch.dispatches);
    }

    /// Adds a change of memory.
    pub fn memory(&self, row: Memory) {
        self.queue.push_row(row, |batch| &mut batch.memory);
    }

    /// Adds a wait.
    pub fn sync(&self, row: Sync) {
        self.queue.push_row(row, |batch| &mut batch.sync);
    }

    /// Adds figures of an array.
    pub fn stats(&self, row: Stats) {
        self.queue.push_row(row, |batch| &mut batch.stats);
    }

    /// Adds the text of a kernel, once however often it is pushed; returns its member for [`Launch::source`].
    /// The extension is one of `wgsl`, `msl`, `spvasm`, `hlsl`, `txt`.
    pub fn kernel(&self, text: &str, extension: &'static str) -> std::sync::Arc<str> {
        let name: std::sync::Arc<str> = kernel_member(text, extension).into();
        if self.queue.first_kernel(&name) {
            let bytes = text.len();
            self.queue.push(bytes, |batch: &mut Batch| batch.kernels.push((name.clone(), text.to_owned())));
        }
        name
    }

    /// Adds the elements of an array, once however often it is pushed.
    pub fn tensor(&self, tensor: Tensor) {
        if self.queue.first_tensor(tensor.array) {
            let bytes = (*tensor.data).as_ref().len();
            self.queue.push(bytes, |batch: &mut Batch| batch.tensors.push(tensor));
        }
    }

    /// Leaves what is known of the manifest in the file, for `recover` after the process is killed, and for a
    /// writer that is dropped. Call it at the start, and whenever something of worth was added.
    pub fn draft(&self, manifest: &Manifest) {
        *lock(&self.draft) = manifest.clone();
        let bytes = 1024 + 128 * manifest.regions.len();
        self.queue.push(bytes, |batch: &mut Batch| batch.draft = Some(manifest.clone()));
    }

    /// Writes what is left and the manifest. The rows' counts, the mode and the marks `truncated` and `partial` are
    /// the writer's; set `partial` to mark a capture that did not end by itself.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the disk was full or failed at any time, [`Error::Finished`] the second time.
    pub fn finish(&self, manifest: Manifest) -> Result<Summary> {
        let Some(thread) = lock(&self.thread).take() else {
            return Err(Error::Finished { path: self.path.clone() });
        };
        self.queue.close(manifest);
        thread.join().unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(Error::WriterLost { path: self.path.clone(), message: message.unwrap_or_default() })
        })
    }

    /// Ends a trace that will not be complete: like [`finish`](Self::finish) with the last draft, marked `partial`.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn abandon(&self) -> Result<Summary> {
        let manifest = Manifest { partial: true, ..lock(&self.draft).clone() };
        self.finish(manifest)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nobody is left to hear of an error.
        let _ = self.abandon();
    }
}

const _: () = {
    const fn shared<T: Send + std::marker::Sync>() {}
    shared::<Writer>();
};

/// A lock is poisoned only by a panic of ours; what it guards is still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn refused(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path },
        io::ErrorKind::NotFound if !parent.is_dir() => Error::ParentMissing { path, parent },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Error::Unwritable { path },
        _ => Error::Io { action: "creating", path, source },
    }
}
