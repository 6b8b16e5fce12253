//! Arrays in files: paths, and files that are already open.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use pellucid::io::{self, Loaded, Note};
use pellucid::{Array, with_call_site, with_stream};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use crate::args::Arr;
use crate::array::PyArray;
use crate::call::wait;
use crate::device::StreamArg;
use crate::error::OrRaise;
use crate::site;

/// Bytes that pass through memory at a time between a file of Python's and one of the system's.
const CHUNK: usize = 1 << 20;

/// Where to write to or read from.
enum Place<'py> {
    Path(PathBuf),
    /// An open file, in binary mode.
    File(Bound<'py, PyAny>),
}

impl<'py> Place<'py> {
    fn read(function: &str, method: &str, file: &Bound<'py, PyAny>) -> PyResult<Place<'py>> {
        if file.is_instance_of::<PyString>() || file.hasattr("__fspath__")? {
            return Ok(Place::Path(file.extract()?));
        }
        if file.hasattr(method)? {
            return Ok(Place::File(file.clone()));
        }
        Err(PyValueError::new_err(format!(
            "[{function}] takes a path, or a file opened in binary mode, not {}",
            crate::type_name(file)
        )))
    }

    /// Writes with `save`, which is given a path: for an open file that of a temporary one.
    fn write(
        self,
        py: Python<'py>,
        name: &str,
        save: impl FnOnce(&Path) -> pellucid::Result<PathBuf> + Send,
    ) -> PyResult<()> {
        match self {
            Place::Path(path) => wait(py, || save(&path)).map(drop),
            Place::File(file) => {
                let folder = tempfile::tempdir()?;
                let path = folder.path().join(name);
                let written = wait(py, || save(&path))?;
                let mut source = std::fs::File::open(written)?;
                let mut piece = vec![0; CHUNK];
                loop {
                    match source.read(&mut piece)? {
                        0 => return Ok(()),
                        count => write_all(&file, &piece[..count])?,
                    }
                }
            }
        }
    }
}

/// Gives all bytes to a file's `write`, which may take less than it is given.
fn write_all(file: &Bound<'_, PyAny>, mut bytes: &[u8]) -> PyResult<()> {
    let py = file.py();
    while !bytes.is_empty() {
        let taken = file.call_method1("write", (PyBytes::new(py, bytes),))?;
        if taken.is_none() && !file.is_instance(&py.import("io")?.getattr("RawIOBase")?)? {
            // Writers that are no files of Python's often return nothing.
            return Ok(());
        }
        let taken: usize = if taken.is_none() { 0 } else { taken.extract()? };
        if taken == 0 || taken > bytes.len() {
            let message = format!("the file took {taken} of {} bytes", bytes.len());
            return Err(PyOSError::new_err(message));
        }
        bytes = &bytes[taken..];
    }
    Ok(())
}

/// All that a file's `read` gives, in a temporary file.
fn read_all(file: &Bound<'_, PyAny>) -> PyResult<tempfile::NamedTempFile> {
    let mut copy = tempfile::NamedTempFile::new()?;
    loop {
        let piece = file.call_method1("read", (CHUNK,))?;
        let piece: PyBackedBytes = piece
            .extract()
            .map_err(|_| PyValueError::new_err("[load] the file must be opened in binary mode"))?;
        if piece.is_empty() {
            copy.flush()?;
            return Ok(copy);
        }
        copy.write_all(&piece)?;
    }
}

/// save(file: file | str | pathlib.Path, arr: array) -> None
///
/// Saves an array as .npy, which is added to the path if it is missing.
#[pyfunction]
fn save(py: Python<'_>, file: &Bound<'_, PyAny>, arr: Arr) -> PyResult<()> {
    Place::read("save", "write", file)?.write(py, "array.npy", |path| io::save(path, &arr.0))
}

/// The arrays of `savez`: those without a name are arr_0, arr_1, ….
fn named(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<BTreeMap<String, Array>> {
    let mut arrays = BTreeMap::new();
    for (name, value) in kwargs.into_iter().flatten() {
        arrays.insert(name.extract::<String>()?, value.extract::<Arr>()?.0);
    }
    for (i, value) in args.iter().enumerate() {
        let name = format!("arr_{i}");
        if arrays.insert(name.clone(), value.extract::<Arr>()?.0).is_some() {
            return Err(PyValueError::new_err(format!("[savez] the name {name} is given twice")));
        }
    }
    Ok(arrays)
}

/// savez(file: file | str | pathlib.Path, *args, **kwargs) -> None
///
/// Saves several arrays as .npz; keywords name them.
#[pyfunction]
#[pyo3(signature = (file, *args, **kwargs))]
fn savez(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let arrays = named(args, kwargs)?;
    Place::read("savez", "write", file)?.write(py, "arrays.npz", |path| io::save_npz(path, &arrays, false))
}

/// savez_compressed(file: file | str | pathlib.Path, *args, **kwargs) -> None
///
/// Saves several arrays as compressed .npz; keywords name them.
#[pyfunction]
#[pyo3(signature = (file, *args, **kwargs))]
fn savez_compressed(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let arrays = named(args, kwargs)?;
    Place::read("savez_compressed", "write", file)?
        .write(py, "arrays.npz", |path| io::save_npz(path, &arrays, true))
}

/// save_safetensors(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, str] | None = None) -> None
///
/// Saves arrays by name as .safetensors, with notes beside them.
#[pyfunction]
#[pyo3(signature = (file, arrays, metadata = None))]
fn save_safetensors(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyDict>,
    metadata: Option<BTreeMap<String, String>>,
) -> PyResult<()> {
    let mut by_name = BTreeMap::new();
    for (name, value) in arrays {
        by_name.insert(name.extract::<String>()?, value.extract::<Arr>()?.0);
    }
    let metadata = metadata.unwrap_or_default();
    Place::read("save_safetensors", "write", file)?
        .write(py, "arrays.safetensors", |path| io::save_safetensors(path, &by_name, &metadata))
}

/// A note of a .gguf file: a text, a list of texts, or an array with at most one axis.
struct NoteArg(Note);

impl<'py> FromPyObject<'_, 'py> for NoteArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<NoteArg> {
        if obj.is_instance_of::<PyString>() {
            return Ok(NoteArg(Note::Text(obj.extract()?)));
        }
        if let Ok(array) = obj.extract::<Arr>() {
            return Ok(NoteArg(Note::Array(array.0)));
        }
        obj.extract::<Vec<String>>().map(|texts| NoteArg(Note::Texts(texts))).map_err(|_| {
            PyTypeError::new_err(format!(
                "[save_gguf] a note is an array, a text or a list of texts, not {}",
                crate::type_name(&obj)
            ))
        })
    }
}

/// save_gguf(file: file | str | pathlib.Path, arrays: dict[str, array], metadata: dict[str, array | str | list[str]] | None = None) -> None
///
/// Saves arrays by name as .gguf, with notes beside them.
#[pyfunction]
#[pyo3(signature = (file, arrays, metadata = None))]
fn save_gguf(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyDict>,
    metadata: Option<BTreeMap<String, NoteArg>>,
) -> PyResult<()> {
    let mut by_name = BTreeMap::new();
    for (name, value) in arrays {
        by_name.insert(name.extract::<String>()?, value.extract::<Arr>()?.0);
    }
    let notes = metadata.unwrap_or_default().into_iter().map(|(name, note)| (name, note.0)).collect();
    Place::read("save_gguf", "write", file)?
        .write(py, "arrays.gguf", |path| io::save_gguf(path, &by_name, &notes))
}

/// The format: as told, or as the path ends. Files that are open are known by their first bytes.
fn check_format(path: Option<&Path>, format: Option<&str>) -> PyResult<()> {
    let ending = path.and_then(|path| path.extension()).map(|ending| ending.to_string_lossy().into_owned());
    match format.map(str::to_owned).or(ending).as_deref() {
        Some("npy" | "npz" | "safetensors" | "gguf") => Ok(()),
        None if path.is_none() => Ok(()),
        other => Err(PyValueError::new_err(format!(
            "[load] the format must be npy, npz, safetensors or gguf, not {:?}",
            other.unwrap_or("")
        ))),
    }
}

/// load(file: file | str | pathlib.Path, /, format: str | None = None, return_metadata: bool = False, *, stream: StreamOrDevice = None) -> array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]
///
/// Loads a .npy, .npz, .safetensors or .gguf file.
#[pyfunction]
#[pyo3(signature = (file, /, format = None, return_metadata = false, *, stream = None))]
fn load<'py>(
    py: Python<'py>,
    file: &Bound<'py, PyAny>,
    format: Option<&str>,
    return_metadata: bool,
    stream: Option<StreamArg>,
) -> PyResult<Bound<'py, PyAny>> {
    let (site, stream) = (site::here(py), stream.map(StreamArg::resolve).transpose().or_raise()?);
    let read = |path: &Path| {
        let read = || match stream {
            Some(stream) => with_stream(stream, || io::load(path)),
            None => io::load(path),
        };
        match site {
            Some(site) => with_call_site(site, read),
            None => read(),
        }
    };
    let loaded = match Place::read("load", "read", file)? {
        Place::Path(path) => {
            check_format(Some(&path), format)?;
            py.detach(|| read(&path)).or_raise()?
        }
        Place::File(file) => {
            check_format(None, format)?;
            let copy = read_all(&file)?;
            py.detach(|| read(copy.path())).or_raise()?
        }
    };
    match loaded {
        Loaded::Array(_) if return_metadata => {
            Err(PyValueError::new_err("[load] only .safetensors and .gguf files have metadata"))
        }
        Loaded::Array(array) => PyArray::new(array).into_bound_py_any(py),
        Loaded::Arrays { arrays, metadata } => {
            let dict = PyDict::new(py);
            for (name, array) in arrays {
                dict.set_item(name, PyArray::new(array))?;
            }
            if return_metadata {
                return (dict, metadata).into_bound_py_any(py);
            }
            Ok(dict.into_any())
        }
        Loaded::Gguf { arrays, notes } => {
            let dict = PyDict::new(py);
            for (name, array) in arrays {
                dict.set_item(name, PyArray::new(array))?;
            }
            if !return_metadata {
                return Ok(dict.into_any());
            }
            let metadata = PyDict::new(py);
            for (name, note) in notes {
                match note {
                    Note::Text(text) => metadata.set_item(name, text)?,
                    Note::Texts(texts) => metadata.set_item(name, texts)?,
                    Note::Array(array) => metadata.set_item(name, PyArray::new(array))?,
                    _ => {
                        return Err(PyRuntimeError::new_err(
                            "[load] a note of a kind that this version does not know",
                        ));
                    }
                }
            }
            (dict, metadata).into_bound_py_any(py)
        }
        _ => Err(PyRuntimeError::new_err("[load] the file holds something this version does not know")),
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    crate::add_functions!(m: save, savez, savez_compressed, save_safetensors, save_gguf, load);
    Ok(())
}
