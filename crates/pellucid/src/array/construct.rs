//! Arrays made from numbers, slices, vectors, nested arrays and iterators.
//!
//! Elements are copied once, into memory that is accounted for.

use super::{Array, Dtype, Element, Inputs, NodeRef, Shape, Sizes, State, Value, fail, fail_like, ok};
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::memory::{Buffer, Request};
use crate::op::{Op, Scalar};
use crate::stream::current_stream;

/// Bytes moved at a time by [`Array::from_chunks`]: small enough to stay in the cache of a core.
const CHUNK: usize = 256 << 10;

impl Array {
    /// An array of the given shape whose row-major elements are copied from a slice.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3]);
    /// assert_eq!(a.shape(), [2, 3]);
    /// assert!(Array::from_slice(&[1, 2, 3], [2, 3]).check().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The array fails with [`Error::Shape`] if the slice does not have as many elements as the shape, with
    /// [`Error::Memory`] if there is no memory for them.
    #[track_caller]
    pub fn from_slice<T: Element>(elements: &[T], shape: impl Into<Sizes>) -> Array {
        let shape = ok!(shape.into().shape("from_slice"));
        ok!(shape.check("from_slice", T::DTYPE.size()));
        if elements.len() != shape.elements() {
            let (given, wanted) = (elements.len(), shape.elements());
            let message = format!("{given} elements given, but shape {shape} has {wanted}");
            return fail(Error::shape("from_slice", message));
        }
        match Array::from_bytes("from_slice", stored_bytes(elements), shape.clone(), T::DTYPE) {
            Ok(array) => array,
            Err(error) => fail_like(error, shape, T::DTYPE),
        }
    }

    /// An array of the given shape with the row-major elements of a vector.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from_vec(vec![true, false], [2, 1]);
    /// assert_eq!(a.to_vec::<bool>()?, [true, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::from_slice`].
    #[track_caller]
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: impl Into<Sizes>) -> Array {
        Array::from_slice(&elements, shape)
    }

    /// A single number without axes, with the type a number has on its own: `bool`, `int32`, `float32` or `complex64`
    /// (see [`Scalar::dtype`]). Use [`Array::from`] to keep the Rust type.
    ///
    /// ```
    /// use pellucid::{Array, Dtype};
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(Array::scalar(2.5).dtype(), Dtype::Float32);
    /// assert_eq!(Array::from(2.5).dtype(), Dtype::Float64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The array fails with [`Error::Device`] if the default device cannot be used.
    #[track_caller]
    pub fn scalar(value: impl Into<Scalar>) -> Array {
        let value = value.into();
        Array::from_op(Op::Full { shape: Shape::default(), dtype: value.dtype(), value }, Inputs::new())
    }

    /// An array whose row-major bytes `fill` writes piece by piece, in order. Pieces hold whole elements.
    #[track_caller]
    pub(crate) fn from_chunks(
        function: &'static str,
        shape: Shape,
        dtype: Dtype,
        mut fill: impl FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<Array> {
        let (site, stream) = (CallSite::here(), current_stream()?);
        shape.check(function, dtype.size())?;
        let bytes = shape.elements() * dtype.size();
        let request = Request { function, bytes, stream: stream.index() as u32, site };
        let buffer = Buffer::allocate(request)?;
        let mut piece = vec![0; CHUNK.min(bytes)];
        let mut done = 0;
        while done < bytes {
            let count = CHUNK.min(bytes - done);
            fill(&mut piece[..count])?;
            // SAFETY: a new buffer of at least `bytes` bytes that nobody else has; `done + count` is at most that.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), buffer.ptr().add(done), count) };
            done += count;
        }
        Ok(Array(NodeRef::new(shape, dtype, stream, site, State::Ready(Value::whole(buffer)))))
    }
}

/// Elements as they lie in memory.
fn stored_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: `Element` is sealed; its types are plain numbers without padding, and `bool`, whose byte is 0 or 1 as it
    // is stored. The bytes live as long as the elements.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

impl<T: Element> From<T> for Array {
    /// A single element without axes, of exactly this type.
    #[track_caller]
    fn from(element: T) -> Array {
        Array::from_slice(&[element], Shape::default())
    }
}

impl<T: Element> From<&[T]> for Array {
    #[track_caller]
    fn from(elements: &[T]) -> Array {
        Array::from_slice(elements, Shape::from(elements.len()))
    }
}

impl<T: Element> From<Vec<T>> for Array {
    #[track_caller]
    fn from(elements: Vec<T>) -> Array {
        Array::from_slice(&elements, Shape::from(elements.len()))
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Array {
    #[track_caller]
    fn from(elements: [T; N]) -> Array {
        Array::from_slice(&elements, Shape::from(N))
    }
}

impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]> for Array {
    #[track_caller]
    fn from(rows: [[T; N]; M]) -> Array {
        Array::from_slice(rows.as_flattened(), Shape::from([M, N]))
    }
}

impl<T: Element, const L: usize, const M: usize, const N: usize> From<[[[T; N]; M]; L]> for Array {
    #[track_caller]
    fn from(rows: [[[T; N]; M]; L]) -> Array {
        Array::from_slice(rows.as_flattened().as_flattened(), Shape::from([L, M, N]))
    }
}

impl<T: Element, const K: usize, const L: usize, const M: usize, const N: usize> From<[[[[T; N]; M]; L]; K]>
    for Array
{
    #[track_caller]
    fn from(rows: [[[[T; N]; M]; L]; K]) -> Array {
        Array::from_slice(rows.as_flattened().as_flattened().as_flattened(), Shape::from([K, L, M, N]))
    }
}

impl<T: Element> TryFrom<Vec<Vec<T>>> for Array {
    type Error = Error;

    /// A matrix from its rows; [`Error::Shape`] if they differ in length.
    #[track_caller]
    fn try_from(rows: Vec<Vec<T>>) -> Result<Array> {
        let width = rows.first().map_or(0, Vec::len);
        if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != width) {
            let message = format!(
                "row {i} has {} elements and row 0 has {width}; all rows must be equally long",
                row.len()
            );
            return Err(Error::shape("array", message));
        }
        let array = Array::from_slice(&rows.concat(), [rows.len(), width]);
        array.check().map(|()| array)
    }
}

impl<T: Element> FromIterator<T> for Array {
    /// One axis, as long as the iterator.
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Array {
        Array::from(iter.into_iter().collect::<Vec<T>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_arrays_give_the_shape_they_show() {
        assert_eq!(Array::from([1u8, 2]).shape(), [2]);
        assert_eq!(Array::from([[1u8, 2, 3]; 2]).shape(), [2, 3]);
        assert_eq!(Array::from([[[1u8; 4]; 3]; 2]).shape(), [2, 3, 4]);
        assert_eq!(Array::from([[[[1u8; 5]; 4]; 3]; 2]).shape(), [2, 3, 4, 5]);
        assert_eq!(Array::from([0.5f64; 0]).shape(), [0]);
        assert_eq!(Array::from([[0i16; 0]; 3]).shape(), [3, 0]);
        assert_eq!(Array::from(1.5f32).shape(), [0usize; 0]);
        let a = Array::from([[[1i64, 2], [3, 4]], [[5, 6], [7, 8]]]);
        assert_eq!(a.to_vec::<i64>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn ragged_rows_are_an_error_with_the_numbers() {
        let error = Array::try_from(vec![vec![1, 2, 3], vec![4, 5]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "[array] row 1 has 2 elements and row 0 has 3; all rows must be equally long"
        );
        let good = Array::try_from(vec![vec![1, 2], vec![3, 4], vec![5, 6]]).unwrap();
        assert_eq!(good.shape(), [3, 2]);
        assert_eq!(good.to_vec::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(Array::try_from(Vec::<Vec<f32>>::new()).unwrap().shape(), [0, 0]);
    }

    #[test]
    fn a_wrong_element_count_is_an_error_with_the_numbers() {
        let error = Array::from_slice(&[1.0f32; 5], [2, 3]).check().unwrap_err();
        assert_eq!(error.root().to_string(), "[from_slice] 5 elements given, but shape [2, 3] has 6");
        let error = Array::from_slice(&[1.0f32; 5], [usize::MAX, usize::MAX]).check().unwrap_err();
        assert!(matches!(error.root(), Error::Shape { .. }), "{error}");
    }

    #[test]
    fn bools_are_stored_as_zero_and_one() {
        let a: Array = [true, false, true].into_iter().collect();
        assert_eq!(a.dtype(), Dtype::Bool);
        assert_eq!(a.to_bytes().unwrap(), [1, 0, 1]);
    }

    #[test]
    fn the_call_site_is_the_users_line() {
        let line = line!();
        let arrays = [Array::from([1]), Array::from(vec![1]), Array::from_slice(&[1], 1)];
        for array in &arrays {
            assert_eq!((array.call_site().file(), array.call_site().line()), (file!(), line + 1));
        }
    }
}
