//! `.safetensors`: arrays by name, and notes beside them.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::tensor::{Dtype as FileDtype, Metadata, TensorInfo};

use super::file::{self, CHUNK, Place, Source};
use super::{Arrays, npz};
use crate::array::{Array, Dtype, HostView, Shape};
use crate::error::{Error, Result};
use crate::memory::Scratch;

/// Longest header the `safetensors` library accepts.
const MAX_HEADER: u64 = 100_000_000;
/// The header's entry for the notes.
const NOTES: &str = "__metadata__";
/// Numbers are little-endian in the file.
const FOREIGN_ORDER: bool = cfg!(target_endian = "big");

/// Saves arrays by name and notes as `.safetensors`, and returns the path of the file: `.safetensors` is added to a
/// name that does not end in it.
///
/// ```
/// use std::collections::BTreeMap;
/// use pellucid::{Array, io};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model");
/// let notes = BTreeMap::from([("step".to_owned(), "12".to_owned())]);
/// let file = io::save_safetensors(path, [("w", Array::from([1.0f32, 2.0]))], &notes)?;
/// let (arrays, metadata) = io::load_safetensors(file)?;
/// assert_eq!(arrays["w"].to_vec::<f32>()?, [1.0, 2.0]);
/// assert_eq!(metadata, notes);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if a name is given twice or is `__metadata__`; [`Error::Io`] if the file cannot be written, in
/// which case an existing one is as it was; what made the evaluation impossible.
pub fn save_safetensors<K: Into<String>, A: Borrow<Array>>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (K, A)>,
    metadata: &BTreeMap<String, String>,
) -> Result<PathBuf> {
    save_safetensors_as("save_safetensors", path.as_ref(), ".safetensors", arrays, metadata)
}

/// As [`save_safetensors`], for files of another name.
pub(crate) fn save_safetensors_as<K: Into<String>, A: Borrow<Array>>(
    function: &'static str,
    path: &Path,
    extension: &str,
    arrays: impl IntoIterator<Item = (K, A)>,
    metadata: &BTreeMap<String, String>,
) -> Result<PathBuf> {
    let arrays = npz::named(function, arrays)?;
    if arrays.contains_key(NOTES) {
        let message = format!("an array cannot be called {NOTES:?}: the format keeps the name for notes");
        return Err(Error::argument(function, message));
    }
    crate::eval::eval(arrays.values().map(Borrow::borrow))?;
    let mut arrays: Vec<(String, &Array)> = arrays.iter().map(|(k, a)| (k.clone(), a.borrow())).collect();
    // Wide types first, so that every array is aligned; the sort keeps the names in order.
    arrays.sort_by_key(|(_, array)| std::cmp::Reverse(array.itemsize()));
    let header = header(&arrays, metadata)?;
    file::write_file(function, path, extension, |writer| {
        writer.write_all(&(header.len() as u64).to_le_bytes())?;
        writer.write_all(header.as_bytes())?;
        for (_, array) in &arrays {
            let view = HostView::new(array).map_err(std::io::Error::other)?;
            file::write_elements(writer, &view, array.dtype(), FOREIGN_ORDER)?;
        }
        Ok(())
    })
}

/// The JSON before the elements, padded so that these are aligned.
fn header(arrays: &[(String, &Array)], metadata: &BTreeMap<String, String>) -> Result<String> {
    let mut end = 0usize;
    let mut tensors = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        let start = end;
        end = end.saturating_add(array.nbytes());
        let (dtype, shape) = (to_file_dtype(array.dtype()), array.shape().to_vec());
        tensors.push((name.clone(), TensorInfo { dtype, shape, data_offsets: (start, end) }));
    }
    let notes: HashMap<String, String> = metadata.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let fail = |error: &dyn std::fmt::Display| Error::argument("save_safetensors", error.to_string());
    let header =
        Metadata::new((!notes.is_empty()).then_some(notes), tensors).map_err(|error| fail(&error))?;
    // Through a value: its keys are in order, so equal content gives equal files.
    let mut text = serde_json::to_value(&header).map_err(|error| fail(&error))?.to_string();
    let padding = text.len().next_multiple_of(8) - text.len();
    text.extend(std::iter::repeat_n(' ', padding));
    if text.len() as u64 > MAX_HEADER {
        return Err(fail(&format!("the names take {} bytes; the format allows {MAX_HEADER}", text.len())));
    }
    Ok(text)
}

/// Loads the arrays of a `.safetensors` file by name, and the notes beside them. Only the header is read at once; the
/// elements of an array are read when they are needed, and a read that fails then is that array's error.
///
/// ```
/// use pellucid::io;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("none.safetensors");
/// std::fs::write(&path, b"\x02\0\0\0\0\0\0\0{}").unwrap();
/// let (arrays, metadata) = io::load_safetensors(&path).unwrap();
/// assert!(arrays.is_empty() && metadata.is_empty());
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::Format`] if it is damaged or holds elements of a type that arrays
/// do not have; [`Error::Memory`].
#[track_caller]
pub fn load_safetensors(path: impl AsRef<Path>) -> Result<(Arrays, BTreeMap<String, String>)> {
    load_safetensors_as("load_safetensors", path.as_ref())
}

/// As [`load_safetensors`], for a file that holds something more.
#[track_caller]
pub(crate) fn load_safetensors_as(
    function: &'static str,
    path: &Path,
) -> Result<(Arrays, BTreeMap<String, String>)> {
    let source = Source::new(function, path);
    let (file, size) = source.open()?;
    let file = Arc::new(file);
    let mut reader = BufReader::with_capacity(CHUNK, &*file);
    let (header, rest) = read_header(source, &mut reader, size)?;
    // The library has checked that the arrays lie one after the other without gaps, but not that the file is so long.
    if header.data_len() as u64 != rest {
        let message = format!("the arrays have {} bytes, but {rest} follow the header", header.data_len());
        return Err(source.format(message));
    }
    let mut arrays = Arrays::new();
    let start = size - rest;
    for name in header.offset_keys() {
        let source = source.member(&name);
        let Some(info) = header.info(&name) else { continue };
        let dtype = from_file_dtype(info.dtype).ok_or_else(|| {
            source.format(format!("the element type {} is not supported; save it as another one", info.dtype))
        })?;
        let shape = Shape::from(info.shape.as_slice());
        let offset = info.data_offsets.0 as u64;
        source.check_size(&shape, dtype, rest.saturating_sub(offset))?;
        let place = Place { offset: start + offset, size, foreign_order: FOREIGN_ORDER };
        let array = source.lazy(&file, place, shape, dtype);
        array.check()?;
        arrays.insert(name, array);
    }
    let notes = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok((arrays, notes))
}

/// The header, and how many bytes follow it.
fn read_header(source: Source, reader: &mut impl Read, size: u64) -> Result<(Metadata, u64)> {
    let mut length = [0; 8];
    reader.read_exact(&mut length).map_err(|error| source.io(error))?;
    let length = u64::from_le_bytes(length);
    let left = size.saturating_sub(8);
    if length > left || length > MAX_HEADER {
        let message =
            format!("the header claims {length} bytes; {left} follow, and at most {MAX_HEADER} are allowed");
        return Err(source.format(message));
    }
    let mut text = Scratch::filled("load_safetensors", length as usize, 0u8)?;
    reader.read_exact(&mut text).map_err(|error| source.io(error))?;
    let header =
        serde_json::from_slice(&text).map_err(|error| source.format(format!("damaged header: {error}")))?;
    Ok((header, left - length))
}

fn to_file_dtype(dtype: Dtype) -> FileDtype {
    match dtype {
        Dtype::Bool => FileDtype::BOOL,
        Dtype::Uint8 => FileDtype::U8,
        Dtype::Uint16 => FileDtype::U16,
        Dtype::Uint32 => FileDtype::U32,
        Dtype::Uint64 => FileDtype::U64,
        Dtype::Int8 => FileDtype::I8,
        Dtype::Int16 => FileDtype::I16,
        Dtype::Int32 => FileDtype::I32,
        Dtype::Int64 => FileDtype::I64,
        Dtype::Float16 => FileDtype::F16,
        Dtype::Bfloat16 => FileDtype::BF16,
        Dtype::Float32 => FileDtype::F32,
        Dtype::Float64 => FileDtype::F64,
        Dtype::Complex64 => FileDtype::C64,
    }
}

fn from_file_dtype(dtype: FileDtype) -> Option<Dtype> {
    // Eight-bit floats are their bytes, as `from_fp8` takes them.
    if matches!(dtype, FileDtype::F8_E4M3 | FileDtype::F8_E5M2 | FileDtype::F8_E8M0) {
        return Some(Dtype::Uint8);
    }
    Dtype::ALL.into_iter().find(|&ours| to_file_dtype(ours) == dtype)
}
