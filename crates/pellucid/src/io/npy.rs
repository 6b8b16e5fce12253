//! `.npy`: one array, in NumPy's own format.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, Place, Source};
use super::npy_header::{self, Header, LONGEST, MAGIC};
use crate::array::{Array, HostView, NodeRef, Shape, State};
use crate::error::Result;
use crate::op::Op;

/// Saves an array as `.npy`, evaluated if it is not yet, and returns the path of the file: `.npy` is added to a name
/// that does not end in it.
///
/// The file is the one NumPy would write. `bfloat16`, which NumPy does not have, is written as MLX does it: as two
/// opaque bytes (`V2`) per element.
///
/// ```
/// use pellucid::{Array, io};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("steps");
/// let file = io::save(path, &Array::from([1, 2, 3]))?;
/// assert!(file.ends_with("steps.npy"));
/// assert_eq!(io::load_npy(file)?.to_vec::<i32>()?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the file cannot be written, in which case an existing one is as it was; what made
/// the evaluation impossible.
pub fn save(path: impl AsRef<Path>, array: &Array) -> Result<PathBuf> {
    let view = HostView::new(array)?;
    file::write_file("save", path.as_ref(), ".npy", |writer| write(writer, array, &view))
}

/// Header and elements.
pub(super) fn write(writer: &mut impl Write, array: &Array, view: &HostView) -> std::io::Result<()> {
    writer.write_all(&npy_header::to_bytes(array.dtype(), array.shape()))?;
    file::write_elements(writer, view, array.dtype(), false)
}

/// Loads the array of a `.npy` file. A file that holds several gives the first, as in NumPy. Its elements are read when
/// they are needed; the file stays open until then.
///
/// ```
/// use pellucid::io;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("damaged.npy");
/// std::fs::write(&path, b"\x93NUMPY\x01\x00").unwrap();
/// assert!(io::load_npy(&path).unwrap_err().to_string().contains("cut short"));
/// ```
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the file cannot be read; [`Error::Format`](crate::Error::Format) if it is damaged
/// or holds elements of a type that arrays do not have; [`Error::Memory`](crate::Error::Memory).
#[track_caller]
pub fn load_npy(path: impl AsRef<Path>) -> Result<Array> {
    let source = Source::new("load_npy", path.as_ref());
    let (file, size) = source.open()?;
    let (header, offset) = header(source, &mut BufReader::new(&file), size)?;
    let Header { dtype, foreign_order, fortran_order, shape } = header;
    let (file, place) = (Arc::new(file), Place { offset, size, foreign_order });
    if !fortran_order || shape.len() < 2 {
        return Ok(source.lazy(&file, place, shape, dtype));
    }
    // Column-major is row-major with the axes in reverse: a view, no copy.
    let reversed = source.lazy(&file, place, shape.iter().rev().copied().collect(), dtype);
    let axes = (0..shape.len()).rev().collect();
    Ok(Array::from_op(Op::Transpose { axes }, smallvec::smallvec![reversed]))
}

/// Header and elements, from a reader that gives at most `available` bytes.
#[track_caller]
pub(super) fn read(source: Source, reader: &mut impl Read, available: u64) -> Result<Array> {
    let (header, _) = header(source, reader, available)?;
    elements(source, reader, header)
}

/// The header, and where the elements begin, which all follow.
fn header(source: Source, reader: &mut impl Read, available: u64) -> Result<(Header, u64)> {
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(|error| source.io(error))?;
    if !start.starts_with(MAGIC) {
        return Err(source.format(format!("not a .npy array: it begins with {}", start.escape_ascii())));
    }
    let mut length = [0; 4];
    let digits = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => return Err(source.format(format!("version {version} of .npy is not known; 1 to 3 are"))),
    };
    reader.read_exact(&mut length[..digits]).map_err(|error| source.io(error))?;
    let length = u64::from(u32::from_le_bytes(length));
    let left = available.saturating_sub((start.len() + digits) as u64);
    if length > left {
        let message = format!("the header has {length} bytes, but only {left} follow; cut short?");
        return Err(source.format(message));
    }
    if length > LONGEST {
        let message = format!("the header claims {length} bytes; no array needs more than {LONGEST}");
        return Err(source.format(message));
    }
    // Read as it comes: what a compressed member may have is not what it has.
    let mut text = Vec::new();
    reader.take(length).read_to_end(&mut text).map_err(|error| source.io(error))?;
    if text.len() as u64 != length {
        return Err(source.format("the file is cut short"));
    }
    let header = npy_header::parse(&text).map_err(|message| source.format(message))?;
    source.check_size(&header.shape, header.dtype, left - length)?;
    Ok((header, (start.len() + digits) as u64 + length))
}

#[track_caller]
fn elements(source: Source, reader: &mut impl Read, header: Header) -> Result<Array> {
    let Header { dtype, foreign_order, fortran_order, shape } = header;
    if !fortran_order || shape.len() < 2 {
        return source.read_elements(reader, shape, dtype, foreign_order);
    }
    // Column-major is row-major with the axes in reverse: a view, no copy.
    let reversed: Shape = shape.iter().rev().copied().collect();
    let array = source.read_elements(reader, reversed.clone(), dtype, foreign_order)?;
    let op = Op::Transpose { axes: (0..shape.len()).rev().collect() };
    let value = array.evaluated()?.view_as(&op, &reversed, dtype, &shape);
    let Some(value) = value else { return Ok(Array::from_op(op, smallvec::smallvec![array])) };
    let (stream, site) = (array.stream(), array.call_site());
    Ok(Array(NodeRef::new(shape, dtype, stream, site, State::Ready(value))))
}
