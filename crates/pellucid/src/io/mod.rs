//! Arrays in files: NumPy's `.npy` and `.npz`, `.safetensors`, and `.gguf`.
//!
//! A file is read as if it were hostile: whatever it says, the answer is an array or an error, and no more memory is
//! asked for than the file's size justifies. A file is written beside its place and then renamed, so there is always
//! the old file or the new one, never a half.
//!
//! ```
//! use pellucid::{Array, io};
//! # fn main() -> pellucid::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("weights");
//! let file = io::save(path, &Array::from([[1.0f32, 2.0], [3.0, 4.0]]))?; // weights.npy
//! let a = io::load(file)?.into_array()?;
//! assert_eq!(a.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok(())
//! # }
//! ```

mod file;
mod gguf;
mod npy;
mod npy_header;
mod npz;
mod safetensors;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

pub use gguf::{Note, Notes, load_gguf, save_gguf};
pub use npy::{load_npy, save};
pub use npz::{load_npz, save_npz};
pub use safetensors::{load_safetensors, save_safetensors};
pub(crate) use safetensors::{load_safetensors_as, save_safetensors_as};

use crate::array::Array;
use crate::error::{Error, Result};
use file::Source;

/// Arrays by name.
pub type Arrays = BTreeMap<String, Array>;

/// What a file holds; see [`load`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Loaded {
    /// One array, from `.npy`.
    Array(Array),
    /// Arrays by name, from `.npz` and `.safetensors`.
    Arrays {
        /// The arrays.
        arrays: Arrays,
        /// Notes beside them; only `.safetensors` has any.
        metadata: BTreeMap<String, String>,
    },
    /// Arrays by name with notes of many types, from `.gguf`.
    Gguf {
        /// The arrays.
        arrays: Arrays,
        /// Notes beside them.
        notes: Notes,
    },
}

impl Loaded {
    /// The array of a file that holds one.
    ///
    /// ```
    /// use pellucid::{Array, io::Loaded};
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(Loaded::Array(Array::from([7])).into_array()?.item::<i32>()?, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the file holds arrays by name.
    pub fn into_array(self) -> Result<Array> {
        match self {
            Loaded::Array(array) => Ok(array),
            Loaded::Arrays { arrays, .. } | Loaded::Gguf { arrays, .. } => {
                let message = format!("the file holds {} arrays by name; use into_arrays", arrays.len());
                Err(Error::argument("load", message))
            }
        }
    }

    /// The arrays of a file that holds them by name.
    ///
    /// ```
    /// use pellucid::{Array, io};
    /// # fn main() -> pellucid::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("both");
    /// let file = io::save_npz(path, [("x", &Array::from([1, 2])), ("y", &Array::from(3.0f32))], false)?;
    /// let arrays = io::load(file)?.into_arrays()?;
    /// assert_eq!(arrays["y"].item::<f32>()?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] if the file holds a single array.
    pub fn into_arrays(self) -> Result<Arrays> {
        match self {
            Loaded::Arrays { arrays, .. } | Loaded::Gguf { arrays, .. } => Ok(arrays),
            Loaded::Array(_) => {
                Err(Error::argument("load", "the file holds one array without a name; use into_array"))
            }
        }
    }
}

/// Loads a `.npy`, `.npz`, `.safetensors` or `.gguf` file. What it is, is read from its first bytes, not from its name.
///
/// ```
/// use pellucid::{Array, io};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x");
/// let file = io::save(path, &Array::from([1.5f32]))?;
/// match io::load(file)? {
///     io::Loaded::Array(array) => assert_eq!(array.item::<f32>()?, 1.5),
///     other => println!("{} arrays", other.into_arrays()?.len()),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::Format`] if it is none of these, or is damaged.
#[track_caller]
pub fn load(path: impl AsRef<Path>) -> Result<Loaded> {
    let path = path.as_ref();
    let source = Source::new("load", path);
    let (file, _) = source.open()?;
    let mut start = Vec::new();
    file.take(9).read_to_end(&mut start).map_err(|error| source.io(error))?;
    let nothing = BTreeMap::new();
    if start.starts_with(npy_header::MAGIC) {
        return load_npy(path).map(Loaded::Array);
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return load_npz(path).map(|arrays| Loaded::Arrays { arrays, metadata: nothing });
    }
    if start.starts_with(gguf::MAGIC) {
        return load_gguf(path).map(|(arrays, notes)| Loaded::Gguf { arrays, notes });
    }
    if start.get(8) == Some(&b'{') {
        return load_safetensors(path).map(|(arrays, metadata)| Loaded::Arrays { arrays, metadata });
    }
    Err(source.format(format!(
        "not a .npy, .npz, .safetensors or .gguf file: it begins with {}",
        start.escape_ascii()
    )))
}
