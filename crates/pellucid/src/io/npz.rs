//! `.npz`: arrays by name, each a `.npy` member of a ZIP.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::file::{self, CHUNK, Source};
use super::{Arrays, npy};
use crate::array::{Array, HostView};
use crate::error::{Error, Result};

/// No deflated byte stands for more than this many.
const DEFLATE_MOST: u64 = 1032;
/// From here on a member's size does not fit the fields of a small ZIP.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);

/// Saves arrays by name as `.npz`, deflated if `compressed`, and returns the path of the file: `.npz` is added to a
/// name that does not end in it.
///
/// ```
/// use pellucid::{Array, io};
/// # fn main() -> pellucid::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model.npz");
/// let (w, b) = (Array::from([[1.0f32, 2.0]]), Array::from([0.5f32]));
/// io::save_npz(&path, [("w", &w), ("b", &b)], true)?;
/// assert_eq!(io::load_npz(&path)?["b"].to_vec::<f32>()?, [0.5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if a name is given twice, is empty or would be a path outside a folder; [`Error::Io`] if the
/// file cannot be written, in which case an existing one is as it was; what made the evaluation impossible.
pub fn save_npz<K: Into<String>, A: Borrow<Array>>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (K, A)>,
    compressed: bool,
) -> Result<PathBuf> {
    let arrays = named("save_npz", arrays)?;
    for name in arrays.keys() {
        check_name(name)
            .map_err(|message| Error::argument("save_npz", format!("the name {name:?} {message}")))?;
    }
    crate::eval::eval(arrays.values().map(Borrow::borrow))?;
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    file::write_file("save_npz", path.as_ref(), ".npz", |writer| {
        let mut zip = ZipWriter::new(file::FailsOnce::new(writer));
        for (name, array) in &arrays {
            let array: &Array = array.borrow();
            let view = HostView::new(array).map_err(std::io::Error::other)?;
            let large = view.bytes() as u64 >= LARGE;
            zip.start_file(format!("{name}.npy"), options.large_file(large))?;
            npy::write(&mut zip, array, &view)?;
        }
        zip.finish()?;
        Ok(())
    })
}

/// Arrays with names, each once.
pub(super) fn named<K: Into<String>, A: Borrow<Array>>(
    function: &'static str,
    arrays: impl IntoIterator<Item = (K, A)>,
) -> Result<BTreeMap<String, A>> {
    let mut map = BTreeMap::new();
    for (name, array) in arrays {
        let name = name.into();
        if map.contains_key(&name) {
            return Err(Error::argument(function, format!("the name {name:?} is given twice")));
        }
        map.insert(name, array);
    }
    Ok(map)
}

/// Names are only keys here, but other programs make files of them.
fn check_name(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("is empty"),
        _ if name.len() > 60_000 => Err("is longer than 60000 bytes"),
        _ if name.contains(['\\', '\0']) => Err("contains a backslash or a zero byte"),
        _ if name.starts_with('/') || name.split('/').any(|part| part == "..") => {
            Err("is a path that leaves its folder")
        }
        _ => Ok(()),
    }
}

/// Loads the arrays of a `.npz` file by name.
///
/// ```
/// use pellucid::io;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("text.npz");
/// std::fs::write(&path, "not a ZIP").unwrap();
/// assert!(matches!(io::load_npz(&path), Err(pellucid::Error::Format { .. })));
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::Format`] if it is damaged, or a member is not an array;
/// [`Error::Memory`].
#[track_caller]
pub fn load_npz(path: impl AsRef<Path>) -> Result<Arrays> {
    let source = Source::new("load_npz", path.as_ref());
    let fail = |source: Source, error: ZipError| match error {
        ZipError::Io(error) => source.io(error),
        other => source.format(other),
    };
    let (file, _) = source.open()?;
    let mut zip =
        ZipArchive::new(BufReader::with_capacity(CHUNK, file)).map_err(|error| fail(source, error))?;
    if zip.has_duplicate_names() {
        return Err(source.format("two members have one name"));
    }
    // Each byte of the file then stands for one member only, which bounds what all of them can unpack to.
    if zip.has_overlapping_files().map_err(|error| fail(source, error))? {
        return Err(source.format("members lie over one another"));
    }
    let mut arrays = Arrays::new();
    for index in 0..zip.len() {
        let mut member = zip.by_index(index).map_err(|error| fail(source, error))?;
        let full_name = member.name().map_err(|error| fail(source, error))?.into_owned();
        let source = source.member(&full_name);
        let Some(name) = full_name.strip_suffix(".npy") else {
            return Err(source.format("the member is not a .npy array"));
        };
        check_name(name).map_err(|message| source.format(format!("the name {message}")))?;
        let unpacked = match member.compression() {
            CompressionMethod::Stored => member.compressed_size(),
            _ => member.compressed_size().saturating_mul(DEFLATE_MOST),
        };
        let available = member.size().min(unpacked);
        let array = npy::read(source, &mut member, available)?;
        // The end of the member is where its checksum is compared.
        if member.read(&mut [0]).map_err(|error| source.io(error))? != 0 {
            return Err(source.format("more bytes follow the array"));
        }
        arrays.insert(name.to_owned(), array);
    }
    Ok(arrays)
}
