//! Writing `.gguf` files.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::file::{self, write_elements};
use super::super::npz;
use super::{ALIGNMENT, MAGIC, Note, Notes, note};
use crate::array::{Array, Dtype, HostView};
use crate::error::{Error, Result};

/// Numbers are little-endian in the file.
const FOREIGN_ORDER: bool = cfg!(target_endian = "big");

/// Saves arrays by name and notes as `.gguf`, and returns the path of the file: `.gguf` is added to a name that does not
/// end in it.
///
/// ```
/// use pellucid::{Array, io};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model");
/// let notes = io::Notes::from([("general.name".to_owned(), "tiny".into())]);
/// let file = io::save_gguf(path, [("w", Array::from([1.0f32, 2.0]))], &notes)?;
/// let (arrays, _) = io::load_gguf(file)?;
/// assert_eq!(arrays["w"].to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if a name is given twice or a note has two axes, [`Error::Dtype`] if the format has no such type,
/// [`Error::Io`] if the file cannot be written, in which case an existing one is as it was.
pub fn save_gguf<K: Into<String>, A: Borrow<Array>>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (K, A)>,
    notes: &Notes,
) -> Result<PathBuf> {
    let arrays = npz::named("save_gguf", arrays)?;
    crate::eval::eval(arrays.values().map(Borrow::borrow))?;
    let mut head = Vec::new();
    head.extend(MAGIC);
    head.extend(3u32.to_le_bytes());
    head.extend((arrays.len() as u64).to_le_bytes());
    head.extend((notes.len() as u64).to_le_bytes());
    for (name, note) in notes {
        text(&mut head, name);
        write_note(&mut head, name, note)?;
    }
    let mut offset = 0u64;
    for (name, array) in &arrays {
        let array: &Array = array.borrow();
        text(&mut head, name);
        // The fastest axis comes first in the file; a single element has one axis.
        let axes: Vec<usize> = if array.ndim() == 0 { vec![1] } else { array.shape().to_vec() };
        head.extend((axes.len() as u32).to_le_bytes());
        for &size in axes.iter().rev() {
            head.extend((size as u64).to_le_bytes());
        }
        head.extend(tensor_type(name, array.dtype())?.to_le_bytes());
        head.extend(offset.to_le_bytes());
        offset += (array.nbytes() as u64).next_multiple_of(ALIGNMENT);
    }
    file::write_file("save_gguf", path.as_ref(), ".gguf", |writer| {
        writer.write_all(&head)?;
        pad(writer, head.len() as u64)?;
        for array in arrays.values() {
            let array: &Array = array.borrow();
            let view = HostView::new(array).map_err(io::Error::other)?;
            write_elements(writer, &view, array.dtype(), FOREIGN_ORDER)?;
            pad(writer, array.nbytes() as u64)?;
        }
        Ok(())
    })
}

/// Zeros up to the next multiple of the alignment after `length` bytes.
fn pad(writer: &mut impl Write, length: u64) -> io::Result<()> {
    let missing = length.next_multiple_of(ALIGNMENT) - length;
    writer.write_all(&[0; ALIGNMENT as usize][..missing as usize])
}

fn text(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as u64).to_le_bytes());
    to.extend(text.as_bytes());
}

fn tensor_type(name: &str, dtype: Dtype) -> Result<u32> {
    Ok(match dtype {
        Dtype::Float32 => 0,
        Dtype::Float16 => 1,
        Dtype::Int8 => 24,
        Dtype::Int16 => 25,
        Dtype::Int32 => 26,
        Dtype::Int64 => 27,
        Dtype::Float64 => 28,
        Dtype::Bfloat16 => 30,
        other => {
            let message = format!("{name:?} is {other}; the format has float and signed integer types alone");
            return Err(Error::dtype("save_gguf", message));
        }
    })
}

fn note_type(name: &str, dtype: Dtype) -> Result<u32> {
    Ok(match dtype {
        Dtype::Uint8 => note::U8,
        Dtype::Int8 => note::I8,
        Dtype::Uint16 => note::U16,
        Dtype::Int16 => note::I16,
        Dtype::Uint32 => note::U32,
        Dtype::Int32 => note::I32,
        Dtype::Float32 => note::F32,
        Dtype::Bool => note::BOOL,
        Dtype::Uint64 => note::U64,
        Dtype::Int64 => note::I64,
        Dtype::Float64 => note::F64,
        other => return Err(Error::dtype("save_gguf", format!("the note {name:?} cannot be {other}"))),
    })
}

fn write_note(to: &mut Vec<u8>, name: &str, value: &Note) -> Result<()> {
    match value {
        Note::Text(value) => {
            to.extend(note::TEXT.to_le_bytes());
            text(to, value);
        }
        Note::Texts(values) => {
            to.extend(note::LIST.to_le_bytes());
            to.extend(note::TEXT.to_le_bytes());
            to.extend((values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| text(to, value));
        }
        Note::Array(array) => {
            let kind = note_type(name, array.dtype())?;
            match array.ndim() {
                0 => to.extend(kind.to_le_bytes()),
                1 => {
                    to.extend(note::LIST.to_le_bytes());
                    to.extend(kind.to_le_bytes());
                    to.extend((array.size() as u64).to_le_bytes());
                }
                _ => {
                    let message = format!(
                        "the note {name:?} has shape {}; notes have at most one axis",
                        array.shape_ref()
                    );
                    return Err(Error::argument("save_gguf", message));
                }
            }
            let mut bytes = array.to_bytes()?;
            if FOREIGN_ORDER {
                bytes.chunks_exact_mut(array.itemsize()).for_each(<[u8]>::reverse);
            }
            to.extend(bytes);
        }
    }
    Ok(())
}
