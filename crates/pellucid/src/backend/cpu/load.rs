//! Elements read from a file, by several cores where it is worth it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::layout::Shared;
use super::parallel;
use super::tensor::Out;
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::op::LoadSpec;

/// Bytes that one core reads at a time.
const PIECE: usize = 4 << 20;

/// Reads the array. What goes wrong belongs to it alone.
pub(crate) fn load(spec: &LoadSpec, out: &mut Out) -> Result<()> {
    let (name, path) = ("load", Path::new(&spec.path));
    let file = match &spec.file.0 {
        Some(file) => file.clone(),
        None => Arc::new(File::open(path).map_err(|error| Error::io(name, path, error))?),
    };
    let size = file.metadata().map_err(|error| Error::io(name, path, error))?.len();
    let bytes = out.elements() * out.dtype.size();
    if size != spec.size || spec.offset.checked_add(bytes as u64).is_none_or(|end| end > size) {
        let message = format!(
            "{:?}: the file had {} bytes when it was opened and has {size} now; it was changed before it was read",
            spec.member, spec.size
        );
        return Err(Error::format(name, path, message));
    }
    let to = Shared::from_ptr(out.ptr());
    let word = if spec.dtype == Dtype::Complex64 { 4 } else { spec.dtype.size() };
    parallel::try_ranges(bytes.div_ceil(PIECE), 1, PIECE, |range| {
        for piece in range {
            let start = piece * PIECE;
            // SAFETY: a piece of the output that belongs to this range alone.
            let part = unsafe { to.slice(start, PIECE.min(bytes - start)) };
            read_at(&file, part, spec.offset + start as u64).map_err(|error| Error::io(name, path, error))?;
            if spec.foreign_order {
                part.chunks_exact_mut(word).for_each(<[u8]>::reverse);
            }
            if spec.dtype == Dtype::Bool {
                part.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
        }
        Ok(())
    })
}

/// Reads exactly so many bytes from a place, without moving the place where others read.
fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, to, at)
    }
    #[cfg(windows)]
    {
        let (mut to, mut at) = (to, at);
        while !to.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, to, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    to = &mut to[count..];
                    at += count as u64;
                }
            }
        }
        Ok(())
    }
}
