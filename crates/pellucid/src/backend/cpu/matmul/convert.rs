//! 16-bit matrices to `float32` and back.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::super::strided::{Shared, copy_strided, row_major};
use super::super::{In, Out, parallel};
use crate::array::Dtype;
use crate::error::Result;
use crate::memory::Scratch;

/// Elements converted at a time.
const BLOCK: usize = 4096;

/// All elements of a 16-bit array as `float32`, row-major.
pub(super) fn widen(function: &'static str, x: &In) -> Result<Scratch<f32>> {
    let count = x.elements();
    let mut wide: Scratch<f32> = Scratch::with_room(function, count)?;
    let mut packed: Scratch<u16> = Scratch::new(function);
    let src = if x.is_contiguous() {
        Shared(x.ptr().cast_mut().cast::<u16>())
    } else {
        packed = Scratch::with_room(function, count)?;
        // SAFETY: room for all elements, in row-major order.
        unsafe {
            copy_strided(x.ptr(), x.strides, packed.as_mut_ptr().cast(), &row_major(x.shape), x.shape, 2);
        }
        Shared(packed.as_mut_ptr())
    };
    let dst = Shared(wide.as_mut_ptr());
    parallel::ranges(count, BLOCK, 6, |range| {
        // SAFETY: ranges are disjoint parts of `count` elements, which both sides have; a `float32` of
        // uninitialised memory is only written.
        unsafe {
            let src = src.get().add(range.start);
            let dst = std::slice::from_raw_parts_mut(dst.get().add(range.start), range.len());
            match x.dtype {
                Dtype::Float16 => {
                    std::slice::from_raw_parts(src.cast::<f16>(), range.len()).convert_to_f32_slice(dst);
                }
                _ => {
                    // By hand, because shifting is all there is to it and the compiler does it in vectors.
                    for (d, &s) in dst.iter_mut().zip(std::slice::from_raw_parts(src, range.len())) {
                        *d = f32::from_bits(u32::from(s) << 16);
                    }
                }
            }
        }
    });
    // SAFETY: all elements were written.
    unsafe { wide.set_len(count) };
    drop(packed);
    Ok(wide)
}

/// Rounds all elements to the output's 16-bit type, to nearest, ties to even.
pub(super) fn round(wide: &[f32], out: &mut Out) {
    let (dst, dtype) = (Shared(out.ptr().cast::<u16>()), out.dtype);
    parallel::ranges(wide.len(), BLOCK, 6, |range| {
        let src = &wide[range.clone()];
        // SAFETY: ranges are disjoint parts of the output, which has as many elements as `wide`.
        unsafe {
            let dst = dst.get().add(range.start);
            match dtype {
                Dtype::Float16 => {
                    std::slice::from_raw_parts_mut(dst.cast::<f16>(), src.len()).convert_from_f32_slice(src);
                }
                _ => {
                    std::slice::from_raw_parts_mut(dst.cast::<bf16>(), src.len()).convert_from_f32_slice(src)
                }
            }
        }
    });
}
