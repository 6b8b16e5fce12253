//! Reading a trace. Every file is treated as hostile: nothing in it is believed before it is checked, no name leads
//! outside, and no memory is taken that the real size of the file does not justify.

mod array;
mod check;
mod chunk;
mod problem;
mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use flate2::bufread::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::npy::{self, TensorData};
use crate::schema::{Dispatch, FORMAT, Launch, Manifest, Memory, Op, Row, Stats, Sync, VERSION};
use crate::writer::lock;
use crate::{Error, Result};

pub use problem::Problem;
pub use table::Table;

/// Where the bytes of a trace come from.
type Source = Box<dyn ReadSeek>;

/// A file, or something that can be read like one.
trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// Deflate cannot shrink anything further than this.
const DEFLATE_RATIO: u64 = 1032;

/// How much memory a file may cause, beyond what its own size justifies.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All tables together may take this many bytes for each byte of file …
    pub table_ratio: u64,
    /// … but never more than this.
    pub table_bytes: u64,
    /// Largest manifest or kernel text; it is held to the ratio as well.
    pub text_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { table_ratio: 256, table_bytes: 8 << 30, text_bytes: 256 << 20 }
    }
}

impl Limits {
    /// Bytes of memory that a file of this size justifies.
    pub(crate) fn justified(&self, file_bytes: u64) -> u64 {
        let ratio = file_bytes.saturating_mul(self.table_ratio).saturating_add(64 << 20);
        ratio.min(self.table_bytes)
    }
}

/// Bytes that the values of a JSON text may take: a few letters become an object of many bytes.
pub(crate) fn json_memory(text: &[u8]) -> u64 {
    let cost = |byte: &u8| match byte {
        b'{' => 512,
        b',' => 64,
        _ => 0,
    };
    text.iter().map(cost).sum()
}

struct Entry {
    index: usize,
    packed: u64,
    size: u64,
}

/// A table that is read when it is first asked for.
struct Lazy<R: Row> {
    table: OnceLock<Table<R>>,
    loading: Mutex<()>,
}

impl<R: Row> Default for Lazy<R> {
    fn default() -> Self {
        Self { table: OnceLock::new(), loading: Mutex::new(()) }
    }
}

/// An open trace. Tables are read when they are first asked for, and kept.
///
/// ```
/// # use pellucid_trace::{Manifest, Options, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.pltrace");
/// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
/// let trace = pellucid_trace::Trace::open(&path)?;
/// println!("{} launches", trace.launches()?.len());
/// for launch in trace.launches()?.iter() {
///     println!("{} took {} ns", launch.kernel, launch.end_ns - launch.start_ns);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace {
    path: PathBuf,
    bytes: u64,
    limits: Limits,
    archive: Mutex<ZipArchive<BufReader<Source>>>,
    members: BTreeMap<String, Entry>,
    manifest: Manifest,
    /// Bytes of tables read so far.
    table_bytes: AtomicU64,
    ops: Lazy<Op>,
    launches: Lazy<Launch>,
    dispatches: Lazy<Dispatch>,
    memory: Lazy<Memory>,
    sync: Lazy<Sync>,
    stats: Lazy<Stats>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({}, {} members)", self.path.display(), self.members.len())
    }
}

impl Trace {
    /// Opens a trace and reads its manifest.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::NotATrace`], [`Error::CutShort`], [`Error::NewerVersion`], [`Error::UnsafeName`],
    /// [`Error::TooLarge`] or [`Error::Damaged`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Limits::default())
    }

    /// Opens a trace with other limits than the usual ones.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, limits: Limits) -> Result<Self> {
        let path = path.as_ref();
        let io = |source| Error::Io { action: "opening", path: path.to_path_buf(), source };
        // Looked at before it is opened: opening a pipe waits for somebody to write to it.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::NotAFile { path: path.to_path_buf() });
        }
        let file = File::open(path).map_err(io)?;
        Self::from_reader(path, file, limits)
    }

    /// Opens a trace that lies somewhere else than in a file: in memory, or in the hands of a browser. `name` stands
    /// for it in messages.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// ```
    /// # use pellucid_trace::{Limits, Manifest, Options, Trace, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("t.pltrace");
    /// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
    /// let bytes = std::io::Cursor::new(std::fs::read(&path)?);
    /// assert_eq!(Trace::from_reader("t.pltrace", bytes, Limits::default())?.launches()?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_reader(
        name: impl AsRef<Path>,
        mut source: impl Read + Seek + Send + 'static,
        limits: Limits,
    ) -> Result<Self> {
        let path = name.as_ref().to_path_buf();
        let io = |source| Error::Io { action: "opening", path: path.clone(), source };
        let bytes = source.seek(SeekFrom::End(0)).map_err(io)?;
        source.rewind().map_err(io)?;
        let mut start = Vec::new();
        (&mut source).take(4).read_to_end(&mut start).map_err(io)?;
        let source: Source = Box::new(source);
        let archive =
            ZipArchive::new(BufReader::new(source)).map_err(|error| not_a_trace(&path, error, &start))?;
        if archive.has_duplicate_names() {
            // Two readers would see two different traces.
            let reason = "two of its members have the same name".to_owned();
            return Err(Error::NotATrace { path, reason });
        }
        let members = list(&path, &archive, bytes)?;
        let mut trace = Self {
            path,
            bytes,
            limits,
            archive: Mutex::new(archive),
            members,
            manifest: Manifest::default(),
            table_bytes: AtomicU64::new(0),
            ops: Lazy::default(),
            launches: Lazy::default(),
            dispatches: Lazy::default(),
            memory: Lazy::default(),
            sync: Lazy::default(),
            stats: Lazy::default(),
        };
        trace.manifest = trace.read_manifest()?;
        Ok(trace)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.bytes
    }

    /// What was captured, on what.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Operations.
    ///
    /// # Errors
    /// [`Error::Damaged`] or [`Error::TooLarge`]; so for the other tables.
    pub fn ops(&self) -> Result<&Table<Op>> {
        self.table(&self.ops)
    }

    /// Launches.
    ///
    /// # Errors
    /// As [`ops`](Self::ops).
    pub fn launches(&self) -> Result<&Table<Launch>> {
        self.table(&self.launches)
    }

    /// Kernels that GPUs were given, one launch after the other; empty in files of version 1.
    ///
    /// # Errors
    /// As [`ops`](Self::ops).
    pub fn dispatches(&self) -> Result<&Table<Dispatch>> {
        self.table(&self.dispatches)
    }

    /// Changes of memory.
    ///
    /// # Errors
    /// As [`ops`](Self::ops).
    pub fn memory(&self) -> Result<&Table<Memory>> {
        self.table(&self.memory)
    }

    /// Waits.
    ///
    /// # Errors
    /// As [`ops`](Self::ops).
    pub fn sync(&self) -> Result<&Table<Sync>> {
        self.table(&self.sync)
    }

    /// Figures of arrays.
    ///
    /// # Errors
    /// As [`ops`](Self::ops).
    pub fn stats(&self) -> Result<&Table<Stats>> {
        self.table(&self.stats)
    }

    /// Names of all members, in order.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Members with the text of kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.members().filter(|name| name.starts_with("kernels/"))
    }

    /// The text of a kernel by its member, as in [`Launch::source`].
    ///
    /// # Errors
    /// [`Error::NoMember`], [`Error::TooLarge`] or [`Error::Damaged`].
    pub fn kernel(&self, member: &str) -> Result<String> {
        if !member.starts_with("kernels/") {
            return Err(Error::NoMember { name: member.to_owned() });
        }
        let bytes = self.read_limited(member, self.text_limit())?;
        String::from_utf8(bytes)
            .map_err(|_| Error::Damaged { member: member.to_owned(), reason: "not UTF-8".into() })
    }

    /// Arrays whose elements are in the file.
    pub fn tensors(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self
            .members()
            .filter_map(|name| name.strip_prefix("tensors/")?.strip_suffix(".npy")?.parse().ok())
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The elements of an array.
    ///
    /// # Errors
    /// [`Error::NoMember`] if they are not in the file, [`Error::TooLarge`] or [`Error::Damaged`].
    pub fn tensor(&self, array: u64) -> Result<TensorData> {
        let member = format!("tensors/{array}.npy");
        npy::parse(&member, self.read(&member)?)
    }

    /// The content of any member.
    ///
    /// # Errors
    /// [`Error::NoMember`] or [`Error::Damaged`].
    pub fn read(&self, member: &str) -> Result<Vec<u8>> {
        self.read_limited(member, u64::MAX)
    }

    fn read_limited(&self, member: &str, limit: u64) -> Result<Vec<u8>> {
        let entry = self.members.get(member).ok_or_else(|| Error::NoMember { name: member.to_owned() })?;
        if entry.size > limit {
            let (what, bytes) = (member.to_owned(), entry.size);
            return Err(Error::TooLarge { what, bytes, limit, file_bytes: self.bytes });
        }
        let damaged = |error: &dyn std::error::Error| Error::Damaged {
            member: member.to_owned(),
            reason: error.to_string(),
        };
        // Only what is packed is read under the lock, so that tables can be unpacked side by side.
        let (packed, method, crc) = {
            let mut archive = lock(&self.archive);
            let mut file = archive.by_index_raw(entry.index).map_err(|error| damaged(&error))?;
            if file.encrypted() {
                return Err(Error::Damaged { member: member.to_owned(), reason: "it is encrypted".into() });
            }
            let mut packed = Vec::new();
            packed.try_reserve_exact(entry.packed as usize).map_err(|error| damaged(&error))?;
            file.read_to_end(&mut packed).map_err(|error| damaged(&error))?;
            (packed, file.compression(), file.crc32())
        };
        let data = match method {
            CompressionMethod::Stored => packed,
            CompressionMethod::Deflated => {
                // The sizes were checked against the file's own; one byte more shows data longer than declared.
                let mut data = Vec::new();
                data.try_reserve_exact(entry.size as usize).map_err(|error| damaged(&error))?;
                let mut unpacked = DeflateDecoder::new(packed.as_slice()).take(entry.size + 1);
                unpacked.read_to_end(&mut data).map_err(|error| damaged(&error))?;
                data
            }
            other => {
                let reason = format!("its compression, {other}, is not one of traces");
                return Err(Error::Damaged { member: member.to_owned(), reason });
            }
        };
        if data.len() as u64 != entry.size {
            let reason = format!("{} bytes instead of {}", data.len(), entry.size);
            return Err(Error::Damaged { member: member.to_owned(), reason });
        }
        if crc32fast::hash(&data) != crc {
            let reason = "its checksum is another one".to_owned();
            return Err(Error::Damaged { member: member.to_owned(), reason });
        }
        Ok(data)
    }

    fn justified(&self) -> u64 {
        self.limits.justified(self.bytes)
    }

    fn text_limit(&self) -> u64 {
        self.limits.text_bytes.min(self.justified())
    }

    fn read_manifest(&self) -> Result<Manifest> {
        let text = self.read_limited("manifest.json", self.text_limit()).map_err(|error| match error {
            Error::NoMember { .. } => {
                Error::NotATrace { path: self.path.clone(), reason: "it has no manifest.json".into() }
            }
            error => error,
        })?;
        let damaged = |error: serde_json::Error| Error::Damaged {
            member: "manifest.json".into(),
            reason: error.to_string(),
        };
        let (values, limit) = (json_memory(&text), self.justified());
        if values > limit {
            let what = "manifest.json".to_owned();
            return Err(Error::TooLarge { what, bytes: values, limit, file_bytes: self.bytes });
        }
        // The version decides how the rest is to be understood.
        #[derive(serde::Deserialize)]
        struct Head {
            #[serde(default)]
            format: serde_json::Value,
            #[serde(default)]
            version: serde_json::Value,
        }
        let head: Head = serde_json::from_slice(&text).map_err(damaged)?;
        if head.format != FORMAT {
            let reason = format!("its manifest says format {}", brief(&head.format));
            return Err(Error::NotATrace { path: self.path.clone(), reason });
        }
        match head.version.as_u64() {
            Some(found) if found > u64::from(VERSION) => {
                return Err(Error::NewerVersion { found, supported: VERSION });
            }
            Some(1..) => {}
            _ => {
                let reason = format!("version {} is not a version", brief(&head.version));
                return Err(Error::Damaged { member: "manifest.json".into(), reason });
            }
        }
        serde_json::from_slice(&text).map_err(damaged)
    }

    fn table<'a, R: Row>(&'a self, lazy: &'a Lazy<R>) -> Result<&'a Table<R>> {
        if let Some(table) = lazy.table.get() {
            return Ok(table);
        }
        // Whoever comes second waits instead of reading it again.
        let _loading = lock(&lazy.loading);
        if let Some(table) = lazy.table.get() {
            return Ok(table);
        }
        let limit = self.justified();
        let members = self.chunks(R::TABLE);
        let size = members.iter().fold(0_u64, |sum, member| sum.saturating_add(self.members[member].size));
        // Taken at once: two tables that are read side by side count both.
        let total = self.table_bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if total > limit {
            self.table_bytes.fetch_sub(size, Ordering::Relaxed);
            let what = format!("the table {}", R::TABLE);
            return Err(Error::TooLarge { what, bytes: total, limit, file_bytes: self.bytes });
        }
        let mut table = Table::default();
        for member in members {
            let data = self.read(&member)?;
            chunk::decode::<R>(data, &mut table).map_err(|reason| Error::Damaged { member, reason })?;
        }
        Ok(lazy.table.get_or_init(|| table))
    }

    /// The members of a table in order.
    fn chunks(&self, table: &str) -> Vec<String> {
        let is_chunk = |name: &&String| {
            let number =
                name.strip_prefix(table).and_then(|name| name.strip_prefix('/')?.strip_suffix(".arrow"));
            number.is_some_and(|number| number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut chunks: Vec<String> = self.members.keys().filter(is_chunk).cloned().collect();
        // Beyond a million chunks the numbers get longer.
        chunks.sort_by_key(|name| (name.len(), name.clone()));
        chunks
    }
}

/// Checks the table of contents.
fn list(path: &Path, archive: &ZipArchive<BufReader<Source>>, bytes: u64) -> Result<BTreeMap<String, Entry>> {
    let mut members = BTreeMap::new();
    let mut total = 0_u64;
    for index in 0..archive.len() {
        let file = archive.by_index_data(index).map_err(|error| not_a_trace(path, error, &[]))?;
        let name = std::str::from_utf8(file.name_raw()).ok().filter(|name| is_safe(name));
        let Some(name) = name.map(str::to_owned) else {
            return Err(Error::UnsafeName {
                name: String::from_utf8_lossy(file.name_raw()).chars().take(200).collect(),
            });
        };
        let (packed, size) = (file.compressed_size(), file.size());
        total = total.saturating_add(packed);
        // Members that overlap, or that promise more than deflate can give, are bombs.
        if total > bytes {
            return Err(Error::TooLarge { what: name, bytes: total, limit: bytes, file_bytes: bytes });
        }
        if !is_justified(packed, size, bytes) {
            let limit = packed.saturating_mul(DEFLATE_RATIO);
            return Err(Error::TooLarge { what: name, bytes: size, limit, file_bytes: bytes });
        }
        members.insert(name, Entry { index, packed, size });
    }
    Ok(members)
}

/// A value for a message, cut to a bearable length.
fn brief(value: &serde_json::Value) -> String {
    value.to_string().chars().take(80).collect()
}

/// Whether `packed` bytes in a file of `file` bytes can hold `size` bytes.
pub(crate) fn is_justified(packed: u64, size: u64, file: u64) -> bool {
    packed <= file && size <= packed.saturating_mul(DEFLATE_RATIO).saturating_add(64)
}

/// A relative path of plain parts.
pub(crate) fn is_safe(name: &str) -> bool {
    name.len() <= 256
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\:".contains(&byte))
        && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// What is wrong with a file that begins with `start`.
fn not_a_trace(path: &Path, error: ZipError, start: &[u8]) -> Error {
    let path = path.to_path_buf();
    match error {
        ZipError::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::Io { action: "reading", path, source }
        }
        _ if start == b"PK\x03\x04" => Error::CutShort { path },
        error => Error::NotATrace { path, reason: error.to_string() },
    }
}

impl Trace {
    /// Bytes of a member in the file and after decompression.
    pub fn member_sizes(&self, member: &str) -> Option<(u64, u64)> {
        self.members.get(member).map(|entry| (entry.packed, entry.size))
    }
}
