//! What all formats share: opening, errors that name the file, byte order, and writing without halves.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::array::{Array, Dtype, HostView, Inputs, Shape};
use crate::error::{Error, Result};
use crate::op::{LoadSpec, Op, OpenFile};

/// Bytes read and written at a time.
pub(super) const CHUNK: usize = 256 << 10;

/// A file, or an array in it, that is being read: makes the errors.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    function: &'static str,
    path: &'a Path,
    member: Option<&'a str>,
}

impl<'a> Source<'a> {
    pub fn new(function: &'static str, path: &'a Path) -> Source<'a> {
        Source { function, path, member: None }
    }

    /// One array of the file.
    pub fn member(self, name: &'a str) -> Source<'a> {
        Source { member: Some(name), ..self }
    }

    pub fn format(&self, message: impl std::fmt::Display) -> Error {
        match self.member {
            Some(name) => Error::format(self.function, self.path, format!("{name:?}: {message}")),
            None => Error::format(self.function, self.path, message.to_string()),
        }
    }

    /// The content's fault if it ends early or does not decode, else the system's.
    pub fn io(&self, error: io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.format("the file is cut short"),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => self.format(error),
            _ => Error::io(self.function, self.path, error),
        }
    }

    /// The file and its size. Only regular files: a pipe could block for ever and has no size to check claims against.
    pub fn open(&self) -> Result<(File, u64)> {
        let fail = |error| Error::io(self.function, self.path, error);
        let metadata = fs::metadata(self.path).map_err(fail)?;
        if !metadata.is_file() {
            return Err(self.format("not a regular file"));
        }
        let file = File::open(self.path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        Ok((file, size))
    }

    /// Bytes of an array, if the address space holds them and the file can: `available` is what is left of it.
    pub fn check_size(&self, shape: &Shape, dtype: Dtype, available: u64) -> Result<()> {
        shape.check(self.function, dtype.size()).map_err(|error| self.format(error))?;
        let claimed = (shape.elements() * dtype.size()) as u64;
        if claimed > available {
            let message = format!(
                "{dtype} of shape {shape} has {claimed} bytes, but only {available} follow; cut short?"
            );
            return Err(self.format(message));
        }
        Ok(())
    }

    /// An array whose row-major elements lie `offset` bytes into the file and are read when they are needed. The file
    /// stays open until then.
    #[track_caller]
    pub fn lazy(&self, file: &Arc<File>, place: Place, shape: Shape, dtype: Dtype) -> Array {
        let spec = LoadSpec {
            path: self.path.to_string_lossy().into_owned(),
            member: self.member.unwrap_or_default().to_owned(),
            offset: place.offset,
            size: place.size,
            shape,
            dtype,
            foreign_order: place.foreign_order,
            file: OpenFile(Some(file.clone())),
        };
        Array::from_op(Op::Load(Box::new(spec)), Inputs::new())
    }

    /// The row-major elements that come next, as they are in this machine's memory.
    #[track_caller]
    pub fn read_elements(
        &self,
        reader: &mut impl Read,
        shape: Shape,
        dtype: Dtype,
        foreign_order: bool,
    ) -> Result<Array> {
        Array::from_chunks(self.function, shape, dtype, |piece| {
            reader.read_exact(piece).map_err(|error| self.io(error))?;
            if foreign_order {
                swap(piece, word(dtype));
            }
            if dtype == Dtype::Bool {
                piece.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
            Ok(())
        })
    }
}

/// Where elements lie in a file of this size.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub offset: u64,
    pub size: u64,
    pub foreign_order: bool,
}

/// Bytes of the numbers an element is made of: a complex number is made of two.
fn word(dtype: Dtype) -> usize {
    if dtype == Dtype::Complex64 { 4 } else { dtype.size() }
}

fn swap(bytes: &mut [u8], word: usize) {
    bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
}

/// Writes all elements in row-major order.
pub(super) fn write_elements(
    writer: &mut impl Write,
    view: &HostView,
    dtype: Dtype,
    foreign_order: bool,
) -> io::Result<()> {
    if let Some(bytes) = view.contiguous().filter(|_| !foreign_order) {
        return writer.write_all(bytes);
    }
    let mut piece = vec![0; CHUNK.min(view.bytes())];
    let mut done = 0;
    while done < view.bytes() {
        let count = CHUNK.min(view.bytes() - done);
        view.read(done / dtype.size(), &mut piece[..count]);
        if foreign_order {
            swap(&mut piece[..count], word(dtype));
        }
        writer.write_all(&piece[..count])?;
        done += count;
    }
    Ok(())
}

/// Writes a file whole or not at all, and returns its path: `path` with `extension` added if it does not end in it.
/// A link is followed; an existing file keeps its permissions.
pub(super) fn write_file(
    function: &'static str,
    path: &Path,
    extension: &str,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<PathBuf> {
    let path = with_extension(function, path, extension)?;
    let fail = |error| Error::io(function, &path, error);
    let place = followed(&path).map_err(fail)?;
    let existing = fs::metadata(&place).ok();
    if existing.as_ref().is_some_and(|m| !m.is_file()) {
        return Err(Error::format(function, &path, "there is something here that is not a regular file"));
    }
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let file = new_file(folder).map_err(fail)?;
    let mut writer = BufWriter::with_capacity(CHUNK, file.as_file());
    write(&mut writer).map_err(fail)?;
    writer.flush().map_err(fail)?;
    drop(writer);
    if let Some(existing) = existing {
        file.as_file().set_permissions(existing.permissions()).map_err(fail)?;
    }
    file.persist(&place).map_err(|error| fail(error.error))?;
    Ok(path)
}

/// Where a path leads: to the end of its links, also if there is nothing yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&place) else { return Ok(place) };
        place = place.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many links lead from one to the next"))
}

/// A writer that fails once. A library that writes more when it is dropped after a failure, and prints what it cannot
/// write, finds that everything works then; what was written is thrown away anyway.
pub(super) struct FailsOnce<W> {
    writer: W,
    failed: bool,
    position: u64,
}

impl<W> FailsOnce<W> {
    pub fn new(writer: W) -> FailsOnce<W> {
        FailsOnce { writer, failed: false, position: 0 }
    }

    /// Where the writer is after `f`; what `pretended` says once something has failed.
    fn unless_failed(
        &mut self,
        pretended: impl FnOnce(u64) -> u64,
        f: impl FnOnce(&mut W, u64) -> io::Result<u64>,
    ) -> io::Result<()> {
        if self.failed {
            self.position = pretended(self.position);
            return Ok(());
        }
        let result = f(&mut self.writer, self.position);
        self.failed = result.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted);
        self.position = result?;
        Ok(())
    }
}

impl<W: Write> Write for FailsOnce<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.position;
        self.unless_failed(
            |position| position + bytes.len() as u64,
            |writer, position| match writer.write(bytes)? {
                0 if !bytes.is_empty() => Err(ErrorKind::WriteZero.into()),
                count => Ok(position + count as u64),
            },
        )?;
        Ok((self.position - before) as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_failed(|position| position, |writer, position| writer.flush().map(|()| position))
    }
}

impl<W: Seek> Seek for FailsOnce<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let pretended = |position: u64| match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) | SeekFrom::End(by) => position.saturating_add_signed(by),
        };
        self.unless_failed(pretended, |writer, _| writer.seek(to))?;
        Ok(self.position)
    }
}

/// A temporary file that disappears unless it is given its place, with the permissions of an ordinary new file.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pellucid-");
    #[cfg(unix)]
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(mode);
    builder.tempfile_in(folder)
}

fn with_extension(function: &'static str, path: &Path, extension: &str) -> Result<PathBuf> {
    let ends_in_separator =
        path.as_os_str().as_encoded_bytes().last().is_some_and(|&b| std::path::is_separator(b.into()));
    let Some(name) = path.file_name().filter(|_| !ends_in_separator) else {
        let message = format!("{:?} does not name a file", path.display().to_string());
        return Err(Error::argument(function, message));
    };
    if name.as_encoded_bytes().ends_with(extension.as_bytes()) {
        return Ok(path.to_owned());
    }
    let mut longer = path.as_os_str().to_owned();
    longer.push(extension);
    Ok(longer.into())
}
