//! Reading `.gguf` files.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::super::Arrays;
use super::super::file::{CHUNK, Place, Source};
use super::blocks::Blocks;
use super::{ALIGNMENT, MAGIC, Note, Notes, note};
use crate::array::{Array, Dtype, Shape};
use crate::error::Result;

/// Numbers are little-endian in the file.
const FOREIGN_ORDER: bool = cfg!(target_endian = "big");

/// Most axes of an array that are believed.
const MOST_AXES: u32 = 32;

/// Loads the arrays of a `.gguf` file by name, and the notes beside them. Elements that are not packed in blocks are read
/// when they are needed. An array `x.weight` of blocks that
/// [`quantized_matmul`](crate::ops::quantized_matmul) understands comes with `x.scales` and `x.biases`.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) if the file cannot be read, [`Error::Format`](crate::Error::Format) if it is damaged
/// or holds a type that is not known.
#[track_caller]
pub fn load_gguf(path: impl AsRef<Path>) -> Result<(Arrays, Notes)> {
    let source = Source::new("load_gguf", path.as_ref());
    let (file, size) = source.open()?;
    let file = Arc::new(file);
    let mut head = Head { source, reader: BufReader::with_capacity(CHUNK, &*file), left: size };
    if head.bytes::<4>()? != *MAGIC {
        return Err(source.format("not a .gguf file"));
    }
    let version = head.u32()?;
    if !(2..=3).contains(&version) {
        return Err(source.format(format!("version {version} is not known; versions 2 and 3 are")));
    }
    let (tensors, entries) = (head.u64()?, head.u64()?);
    let mut notes = Notes::new();
    let mut alignment = ALIGNMENT;
    for _ in 0..entries {
        let name = head.text()?;
        let kind = head.u32()?;
        if name == "general.alignment" && kind == note::U32 {
            alignment = u64::from(head.u32()?);
            if !alignment.is_power_of_two() {
                return Err(source.format(format!("an alignment of {alignment} is no power of two")));
            }
            notes.insert(name, Note::Array(Array::from(alignment as u32)));
            continue;
        }
        let value = head.note(kind)?;
        notes.insert(name, value);
    }
    let mut infos = Vec::new();
    for _ in 0..tensors {
        infos.push(head.tensor()?);
    }
    let start = (size - head.left).next_multiple_of(alignment);
    let mut arrays = Arrays::new();
    for info in infos {
        let source = source.member(&info.name);
        let at =
            start.checked_add(info.offset).filter(|&at| at <= size && info.offset.is_multiple_of(alignment));
        let Some(at) = at else {
            return Err(
                source.format(format!("begins at {}, outside the file or between arrays", info.offset))
            );
        };
        let place = Place { offset: at, size, foreign_order: FOREIGN_ORDER };
        info.load(source, &file, place, &mut arrays)?;
    }
    Ok((arrays, notes))
}

/// An array's place.
struct Tensor {
    name: String,
    shape: Shape,
    kind: u32,
    offset: u64,
}

impl Tensor {
    #[track_caller]
    fn load(&self, source: Source, file: &Arc<File>, place: Place, arrays: &mut Arrays) -> Result<()> {
        let left = place.size - place.offset;
        let plain = match self.kind {
            0 => Some(Dtype::Float32),
            1 => Some(Dtype::Float16),
            24 => Some(Dtype::Int8),
            25 => Some(Dtype::Int16),
            26 => Some(Dtype::Int32),
            27 => Some(Dtype::Int64),
            28 => Some(Dtype::Float64),
            30 => Some(Dtype::Bfloat16),
            _ => None,
        };
        if let Some(dtype) = plain {
            source.check_size(&self.shape, dtype, left)?;
            let array = source.lazy(file, place, self.shape.clone(), dtype);
            array.check()?;
            arrays.insert(self.name.clone(), array);
            return Ok(());
        }
        let Some(blocks) = Blocks::of(self.kind) else {
            return Err(source.format(format!("the type number {} is not known", self.kind)));
        };
        let last = self.shape.last().copied().unwrap_or(0);
        if !last.is_multiple_of(blocks.elements) {
            let message = format!("rows of {last} do not divide into blocks of {}", blocks.elements);
            return Err(source.format(message));
        }
        let mut raw = self.shape.clone();
        let n = raw.len() - 1;
        raw.as_mut_slice()[n] = last / blocks.elements * blocks.bytes;
        source.check_size(&raw, Dtype::Uint8, left)?;
        source.check_size(&self.shape, Dtype::Float16, u64::MAX)?;
        let mut bytes = vec![0; raw.elements()];
        let mut reader = &**file;
        reader.seek(SeekFrom::Start(place.offset)).map_err(|error| source.io(error))?;
        reader.read_exact(&mut bytes).map_err(|error| source.io(error))?;
        blocks.insert(&self.name, &self.shape, &bytes, arrays)
    }
}

/// The part of a file before the arrays; what it claims is checked against what is left.
struct Head<'a> {
    source: Source<'a>,
    reader: BufReader<&'a File>,
    left: u64,
}

impl Head<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| self.source.io(error))?;
        self.left = self.left.saturating_sub(N as u64);
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// A number of things of which each takes `each` bytes or more.
    fn count(&mut self, each: u64) -> Result<usize> {
        let count = self.u64()?;
        match count.checked_mul(each).filter(|&bytes| bytes <= self.left) {
            Some(_) => Ok(count as usize),
            None => {
                let message =
                    format!("{count} entries of {each} bytes are claimed, but {} are left", self.left);
                Err(self.source.format(message))
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        let length = self.count(1)?;
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).map_err(|error| self.source.io(error))?;
        self.left -= length as u64;
        String::from_utf8(bytes).map_err(|_| self.source.format("a text is not UTF-8"))
    }

    #[track_caller]
    fn note(&mut self, kind: u32) -> Result<Note> {
        match kind {
            note::TEXT => self.text().map(Note::Text),
            note::LIST => {
                let kind = self.u32()?;
                if kind == note::TEXT {
                    let count = self.count(8)?;
                    return (0..count).map(|_| self.text()).collect::<Result<_>>().map(Note::Texts);
                }
                let dtype = self.number_type(kind)?;
                let count = self.count(dtype.size() as u64)?;
                self.numbers(dtype, Shape::from(count))
            }
            other => {
                let dtype = self.number_type(other)?;
                self.numbers(dtype, Shape::default())
            }
        }
    }

    #[track_caller]
    fn numbers(&mut self, dtype: Dtype, shape: Shape) -> Result<Note> {
        self.source.check_size(&shape, dtype, self.left)?;
        self.left -= (shape.elements() * dtype.size()) as u64;
        self.source.read_elements(&mut self.reader, shape, dtype, FOREIGN_ORDER).map(Note::Array)
    }

    fn number_type(&self, kind: u32) -> Result<Dtype> {
        Ok(match kind {
            note::U8 => Dtype::Uint8,
            note::I8 => Dtype::Int8,
            note::U16 => Dtype::Uint16,
            note::I16 => Dtype::Int16,
            note::U32 => Dtype::Uint32,
            note::I32 => Dtype::Int32,
            note::F32 => Dtype::Float32,
            note::BOOL => Dtype::Bool,
            note::U64 => Dtype::Uint64,
            note::I64 => Dtype::Int64,
            note::F64 => Dtype::Float64,
            other => return Err(self.source.format(format!("notes of type number {other} are not known"))),
        })
    }

    fn tensor(&mut self) -> Result<Tensor> {
        let name = self.text()?;
        let axes = self.u32()?;
        if axes > MOST_AXES {
            return Err(self
                .source
                .format(format!("{name:?} has {axes} axes; at most {MOST_AXES} are read")));
        }
        let mut sizes = Vec::new();
        for _ in 0..axes {
            let size = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
            sizes.push(size);
        }
        sizes.reverse();
        Ok(Tensor { name, shape: Shape::from(&sizes[..]), kind: self.u32()?, offset: self.u64()? })
    }
}
