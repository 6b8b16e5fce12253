//! `.gguf`: arrays by name with notes of many types, as llama.cpp and its relatives keep models.
//!
//! Blocks of types `Q4_0`, `Q4_1` and `Q8_0` become packed words with scales and biases, as
//! [`quantized_matmul`](crate::ops::quantized_matmul) takes them; other packed types become `float16`.

mod blocks;
mod read;
mod write;

use std::collections::BTreeMap;

pub use read::load_gguf;
pub use write::save_gguf;

use crate::array::Array;

/// A note in a `.gguf` file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A number, or several of one type.
    Array(Array),
}

impl From<&str> for Note {
    fn from(text: &str) -> Note {
        Note::Text(text.to_owned())
    }
}

impl From<Array> for Note {
    fn from(array: Array) -> Note {
        Note::Array(array)
    }
}

/// Notes by name.
pub type Notes = BTreeMap<String, Note>;

/// What every file begins with.
pub(super) const MAGIC: &[u8; 4] = b"GGUF";

/// Multiples that arrays begin at, unless a note says otherwise.
const ALIGNMENT: u64 = 32;

/// The types of notes, by their numbers in the file.
mod note {
    pub const U8: u32 = 0;
    pub const I8: u32 = 1;
    pub const U16: u32 = 2;
    pub const I16: u32 = 3;
    pub const U32: u32 = 4;
    pub const I32: u32 = 5;
    pub const F32: u32 = 6;
    pub const BOOL: u32 = 7;
    pub const TEXT: u32 = 8;
    pub const LIST: u32 = 9;
    pub const U64: u32 = 10;
    pub const I64: u32 = 11;
    pub const F64: u32 = 12;
}

#[cfg(test)]
mod tests;
