//! Arrays of elements that lie in memory of somebody else.

use std::ptr::NonNull;

use super::{Array, Dtype, NodeRef, Shape, State, Strides, Value, fail, ok};
use crate::call_site::CallSite;
use crate::error::{Error, Result};
use crate::memory::{Buffer, ForeignMemory, Request};
use crate::stream::current_stream;

/// Elements in memory of somebody else; see [`Array::from_foreign`].
pub struct Foreign {
    /// Address of the first element.
    pub start: *const u8,
    /// Sizes of the axes.
    pub shape: Shape,
    /// Distances between neighbours along each axis, in elements; they may be negative or zero.
    pub strides: Vec<isize>,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Whether readers of [`HostMemory`](super::HostMemory) may write to them.
    pub writable: bool,
    /// Keeps the memory; dropped when no array refers to it any more, on whatever thread that is.
    pub owner: Box<dyn Send + Sync>,
}

impl Foreign {
    /// Whether an array can have these elements where they are: not `bool`, whose bytes must be 0 or 1, which nobody
    /// can promise of foreign memory, and at an address that suits their type.
    pub fn fits(&self) -> bool {
        let align = if self.dtype == Dtype::Complex64 { 4 } else { self.dtype.size() };
        self.dtype != Dtype::Bool && self.start.addr().is_multiple_of(align)
    }

    /// The first and the last element that strides reach, counted from `start`.
    fn reach(&self) -> Option<(isize, isize)> {
        let (mut low, mut high) = (0isize, 0isize);
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            let last = isize::try_from(size.checked_sub(1)?).ok()?.checked_mul(stride)?;
            (low, high) = (low.checked_add(last.min(0))?, high.checked_add(last.max(0))?);
        }
        Some((low, high))
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::shape("from_foreign", message));
        self.shape.check("from_foreign", self.dtype.size())?;
        if self.strides.len() != self.shape.len() {
            let (axes, strides) = (self.shape.len(), self.strides.len());
            return wrong(format!("{strides} strides are given for {axes} axes"));
        }
        if self.fits() {
            return Ok(());
        }
        let (dtype, start) = (self.dtype, self.start);
        wrong(format!("{dtype} at address {start:?} cannot stay where it is; copy it with from_raw"))
    }
}

impl Array {
    /// An array of elements that stay where they are, in memory of somebody else. No operation writes to them. What
    /// their owner writes is seen by whatever is evaluated afterwards.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pellucid::{Array, Dtype, Shape, array::Foreign};
    /// # fn main() -> pellucid::Result<()> {
    /// let numbers = Arc::new([1.0f32, 2.0, 3.0, 4.0]);
    /// let column = Foreign {
    ///     start: numbers[1..].as_ptr().cast(),
    ///     shape: Shape::from([2]),
    ///     strides: vec![2],
    ///     dtype: Dtype::Float32,
    ///     writable: false,
    ///     owner: Box::new(numbers.clone()),
    /// };
    /// // SAFETY: both elements are in the list, which the array keeps alive.
    /// let a = unsafe { Array::from_foreign(column) };
    /// assert_eq!(a.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    /// All elements must be readable as long as the owner lives. Nobody may write to them while they are read, and
    /// `writable` may be true only if they can be written to.
    ///
    /// # Errors
    /// The array fails with [`Error::Shape`] if an array cannot have the elements where they are:
    /// see [`Foreign::fits`].
    #[track_caller]
    pub unsafe fn from_foreign(foreign: Foreign) -> Array {
        ok!(foreign.check());
        let (site, stream) = (CallSite::here(), ok!(current_stream()));
        if foreign.shape.contains(&0) {
            return Array::from_raw(&[], foreign.shape, foreign.dtype);
        }
        let size = foreign.dtype.size();
        let reach = foreign.reach().and_then(|(low, high)| {
            let bytes = high.checked_sub(low)?.checked_add(1)?.checked_mul(size as isize)?;
            Some((low, usize::try_from(bytes).ok()?))
        });
        let place = reach.and_then(|(low, bytes)| {
            // SAFETY: the first element is readable, and so is the lowest, by the caller's word.
            let start = unsafe { foreign.start.offset(low * size as isize) };
            Some((NonNull::new(start.cast_mut())?, low.unsigned_abs(), bytes))
        });
        let Some((start, offset, bytes)) = place else {
            let message = format!("strides {:?} reach beyond all memory", foreign.strides);
            return fail(Error::shape("from_foreign", message));
        };
        let Foreign { shape, strides, dtype, writable, owner, .. } = foreign;
        // SAFETY: the caller's word.
        let memory = unsafe { ForeignMemory::new(start, writable, owner) };
        let request = Request { function: "from_foreign", bytes, stream: stream.index() as u32, site };
        let buffer = Buffer::foreign(memory, &request);
        let value = Value::placed(buffer, &shape, offset, Strides::from_vec(strides));
        Array(NodeRef::new(shape, dtype, stream, site, State::Ready(value)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ops;

    /// An array of a part of a list that it shares.
    fn part(list: &Arc<Vec<i32>>, first: usize, shape: &[usize], strides: &[isize]) -> Array {
        let foreign = Foreign {
            start: list[first..].as_ptr().cast(),
            shape: Shape::from(shape),
            strides: strides.to_vec(),
            dtype: Dtype::Int32,
            writable: false,
            owner: Box::new(list.clone()),
        };
        // SAFETY: the tests give elements of the list, which the array keeps.
        unsafe { Array::from_foreign(foreign) }
    }

    #[test]
    fn elements_are_read_where_they_are_by_any_strides() {
        let list = Arc::new((0..12).collect::<Vec<i32>>());
        /// Where the elements begin, their sizes and strides, and what they are.
        type Case<'a> = (usize, &'a [usize], &'a [isize], Vec<i32>);
        let cases: [Case; 5] = [
            (0, &[3, 4], &[4, 1], (0..12).collect::<Vec<i32>>()),
            (0, &[4, 3], &[1, 4], vec![0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
            (11, &[4], &[-3], vec![11, 8, 5, 2]),
            (5, &[2, 2], &[0, 2], vec![5, 7, 5, 7]),
            (7, &[], &[], vec![7]),
        ];
        for (first, shape, strides, expected) in cases {
            let a = part(&list, first, shape, strides);
            assert_eq!(a.to_vec::<i32>().unwrap(), expected);
            assert_eq!(
                ops::add(&a, 1).to_vec::<i32>().unwrap(),
                expected.iter().map(|v| v + 1).collect::<Vec<_>>()
            );
            assert_eq!(a.host_memory().unwrap().ptr(), list[first..].as_ptr().cast());
        }
        assert!(part(&list, 0, &[0, 3], &[3, 1]).to_vec::<i32>().unwrap().is_empty());
    }

    #[test]
    fn no_operation_takes_the_memory_over_and_the_last_array_lets_it_go() {
        let list = Arc::new(vec![-1; 4096]);
        let a = part(&list, 0, &[4096], &[1]);
        let turned = ops::transpose(&a, None);
        let b = ops::abs(&ops::negative(&a));
        drop(a);
        assert_eq!(b.to_vec::<i32>().unwrap(), vec![1; 4096]);
        assert_eq!((Arc::strong_count(&list), list[0]), (2, -1));
        turned.eval().unwrap();
        assert!(!turned.host_memory().unwrap().is_writable());
        drop((turned, b));
        assert_eq!(Arc::strong_count(&list), 1);
    }

    #[test]
    fn what_cannot_stay_where_it_is_is_refused() {
        let list = Arc::new(vec![0u8; 16]);
        let at = |start: usize, dtype, strides: &[isize]| Foreign {
            start: list[start..].as_ptr(),
            shape: Shape::from([1]),
            strides: strides.to_vec(),
            dtype,
            writable: false,
            owner: Box::new(list.clone()),
        };
        let odd = usize::from(list.as_ptr().addr().is_multiple_of(2));
        for foreign in [at(0, Dtype::Bool, &[1]), at(odd, Dtype::Int16, &[1]), at(0, Dtype::Uint8, &[1, 1])] {
            // SAFETY: nothing is read, because it is refused.
            let error = unsafe { Array::from_foreign(foreign) }.check().unwrap_err();
            assert!(matches!(error.root(), Error::Shape { .. }), "{error}");
        }
        assert_eq!(Arc::strong_count(&list), 1);
    }
}
