//! Places of values in a sorted sequence, by bisection.

use half::{bf16, f16};
use num_complex::Complex32;

use super::parallel;
use super::strided::{Grid, Shared, row_major};
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::Result;

/// An order in which NaN comes last and equals itself.
trait Ordered: Copy + Send + Sync {
    fn before(self, other: Self) -> bool;
}

macro_rules! plain {
    ($($ty:ty),*) => {
        $(impl Ordered for $ty {
            #[inline]
            fn before(self, other: $ty) -> bool {
                self < other
            }
        })*
    };
}
plain!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! floats {
    ($($ty:ty),*) => {
        $(impl Ordered for $ty {
            #[inline]
            fn before(self, other: $ty) -> bool {
                self < other || (!self.is_nan() && other.is_nan())
            }
        })*
    };
}
floats!(f16, bf16, f32, f64);

impl Ordered for Complex32 {
    /// By real and then imaginary part, as sorting has it.
    #[inline]
    fn before(self, other: Complex32) -> bool {
        match (self.is_nan(), other.is_nan()) {
            (true, _) => false,
            (false, true) => true,
            _ => self.re < other.re || (self.re == other.re && self.im < other.im),
        }
    }
}

/// For each value the number of elements of the sorted sequence before it: smaller ones, or with `right` also equal
/// ones.
pub(crate) fn search_sorted(sequence: &In, values: &In, right: bool, out: &mut Out) -> Result<()> {
    macro_rules! run {
        ($($dtype:pat => $ty:ty),*) => {
            match sequence.dtype {
                $($dtype => search::<$ty>(sequence, values, right, out),)*
            }
        };
    }
    run! {
        Dtype::Bool | Dtype::Uint8 => u8, Dtype::Uint16 => u16, Dtype::Uint32 => u32, Dtype::Uint64 => u64,
        Dtype::Int8 => i8, Dtype::Int16 => i16, Dtype::Int32 => i32, Dtype::Int64 => i64,
        Dtype::Float16 => f16, Dtype::Bfloat16 => bf16, Dtype::Float32 => f32, Dtype::Float64 => f64,
        Dtype::Complex64 => Complex32
    }
    Ok(())
}

fn search<T: Ordered>(sequence: &In, values: &In, right: bool, out: &Out) {
    let (length, step) = (sequence.shape[0], sequence.strides[0]);
    let grid = Grid::new(values.shape, [values.strides, &row_major(values.shape)]);
    let sorted = Shared(sequence.ptr().cast_mut().cast::<T>());
    let (from, to) = (Shared(values.ptr().cast_mut().cast::<T>()), Shared(out.ptr().cast::<u32>()));
    let depth = (usize::BITS - length.leading_zeros()) as usize;
    parallel::ranges(grid.elements(), 1, depth * 16, |range| {
        let mut walk = grid.walk(range.start);
        for _ in range {
            // SAFETY: positions of the inputs, and of the output in a range that belongs to this call alone.
            unsafe {
                let value = *from.get().offset(walk.offsets[0]);
                let (mut low, mut high) = (0, length);
                while low < high {
                    let middle = low + (high - low) / 2;
                    let element = *sorted.get().offset(middle as isize * step);
                    let ahead = if right { !value.before(element) } else { element.before(value) };
                    if ahead { low = middle + 1 } else { high = middle }
                }
                *to.get().offset(walk.offsets[1]) = low as u32;
            }
            walk.step();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::testing::Tensor;

    #[test]
    fn places_are_the_numbers_of_elements_before_in_every_type() {
        let types =
            [Dtype::Uint8, Dtype::Int16, Dtype::Int64, Dtype::Float16, Dtype::Float32, Dtype::Float64];
        for dtype in types {
            let sorted = Tensor::new(dtype, &[6], [1.0, 2.0, 2.0, 2.0, 5.0, 9.0]);
            let values = Tensor::new(dtype, &[2, 3], [0.0, 2.0, 3.0, 5.0, 9.0, 10.0]).transposed(&[1, 0]);
            let run = |right| {
                let mut out = Tensor::zeros(Dtype::Uint32, &[3, 2]);
                search_sorted(&sorted.as_in(), &values.as_in(), right, &mut out.as_out()).unwrap();
                out.values()
            };
            assert_eq!(run(false), [0.0, 4.0, 1.0, 5.0, 4.0, 6.0], "{dtype}");
            assert_eq!(run(true), [0.0, 5.0, 4.0, 6.0, 4.0, 6.0], "{dtype}");
        }
    }

    #[test]
    fn nan_belongs_behind_all_numbers_and_equals_itself() {
        let nan = f64::NAN;
        let sorted = Tensor::new(Dtype::Float32, &[4], [1.0, 2.0, nan, nan]);
        let values = Tensor::new(Dtype::Float32, &[2], [nan, 3.0]);
        let run = |right| {
            let mut out = Tensor::zeros(Dtype::Uint32, &[2]);
            search_sorted(&sorted.as_in(), &values.as_in(), right, &mut out.as_out()).unwrap();
            out.values()
        };
        assert_eq!(run(false), [2.0, 2.0]);
        assert_eq!(run(true), [4.0, 2.0]);
    }
}
