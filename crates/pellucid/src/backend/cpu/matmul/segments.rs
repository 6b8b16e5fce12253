//! Products of parts of two matrices, one for each pair of positions along their common axis.

use super::{In, Out, matmul};
use crate::array::Dtype;
use crate::error::{Error, Result};

/// For each pair of `segments`, `a[:, from..to] @ b[from..to, :]`.
pub(crate) fn segmented(a: &In, b: &In, segments: &In, out: &mut Out) -> Result<()> {
    let (m, k, n) = (a.shape[0], a.shape[1], b.shape[1]);
    let pairs: usize = segments.shape[..segments.shape.len() - 1].iter().product();
    let shape = [m, n];
    for i in 0..pairs {
        let (from, to) = (position(segments, 2 * i), position(segments, 2 * i + 1));
        if from < 0 || to < from || to > k as i128 {
            let message =
                format!("segment {i} goes from {from} to {to}, but the matrices have positions 0 to {k}");
            return Err(Error::argument("segmented_mm", message));
        }
        let (from, size) = (from as isize, (to - from) as usize);
        let (left, right) = ([m, size], [size, n]);
        // SAFETY: parts of the inputs between positions that were checked, and the part of the output of this pair.
        let (a, b, mut out) = unsafe {
            (
                In::new(shifted(a, from * a.strides[1]), a.dtype, &left, a.strides),
                In::new(shifted(b, from * b.strides[0]), b.dtype, &right, b.strides),
                Out::new(out.ptr().add(i * m * n * out.dtype.size()), out.dtype, &shape),
            )
        };
        matmul(&a, &b, &mut out)?;
    }
    Ok(())
}

/// The address of an element, in elements from the first.
fn shifted(x: &In, by: isize) -> *const u8 {
    x.ptr().wrapping_offset(by * x.dtype.size() as isize)
}

/// An element of an array of integers by its row-major number.
fn position(x: &In, mut flat: usize) -> i128 {
    let mut offset = 0;
    for (&size, &stride) in x.shape.iter().zip(x.strides).rev() {
        offset += (flat % size) as isize * stride;
        flat /= size;
    }
    let at = shifted(x, offset);
    // SAFETY: an element of the input, of the type that it has.
    unsafe {
        match x.dtype {
            Dtype::Uint8 | Dtype::Bool => i128::from(*at),
            Dtype::Uint16 => i128::from(*at.cast::<u16>()),
            Dtype::Uint32 => i128::from(*at.cast::<u32>()),
            Dtype::Uint64 => i128::from(*at.cast::<u64>()),
            Dtype::Int8 => i128::from(*at.cast::<i8>()),
            Dtype::Int16 => i128::from(*at.cast::<i16>()),
            Dtype::Int32 => i128::from(*at.cast::<i32>()),
            Dtype::Int64 => i128::from(*at.cast::<i64>()),
            // No other type passes the operation's rule.
            Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 | Dtype::Float64 | Dtype::Complex64 => -1,
        }
    }
}
