//! What a CPU kernel sees of its inputs and its output: a pointer, a type, a shape and strides.

use std::marker::PhantomData;

use super::strided::Grid;
use crate::array::{Dtype, Element};
use crate::op::Dims;

/// An input: elements at `ptr + strides · index`, strides in elements. Reading is valid for every index below `shape`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<'a> {
    ptr: *const u8,
    pub dtype: Dtype,
    pub shape: &'a [usize],
    pub strides: &'a [isize],
    _buffer: PhantomData<&'a [u8]>,
}

/// The output: row-major, not yet written, and to be written completely. It may be the memory of an elementwise
/// input with the same layout, which is then read no later than it is overwritten.
#[derive(Debug)]
pub(crate) struct Out<'a> {
    ptr: *mut u8,
    pub dtype: Dtype,
    pub shape: &'a [usize],
    _buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: an `In` only reads memory that nobody writes while it lives, from any thread.
unsafe impl Send for In<'_> {}
// SAFETY: as above.
unsafe impl Sync for In<'_> {}
// SAFETY: an `Out` is the only writer of its memory; moving it to another thread moves that right.
unsafe impl Send for Out<'_> {}
// SAFETY: kernels hand disjoint parts of an `Out` to several threads.
unsafe impl Sync for Out<'_> {}

impl<'a> In<'a> {
    /// # Safety
    /// For every index below `shape`, `ptr + strides · index` must be a valid element of `dtype` that nobody writes
    /// during `'a`, except the kernel itself through an `Out` on the same memory (see [`Out`]).
    pub unsafe fn new(ptr: *const u8, dtype: Dtype, shape: &'a [usize], strides: &'a [isize]) -> In<'a> {
        debug_assert_eq!(shape.len(), strides.len());
        In { ptr, dtype, shape, strides, _buffer: PhantomData }
    }

    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }

    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The integer (or truth value) `offset` elements from the first one.
    ///
    /// # Panics
    /// If the elements are no integers: a defect of the calling kernel.
    pub fn integer(&self, offset: isize) -> i64 {
        macro_rules! read {
            ($ty:ty) => {
                // SAFETY: an element of the input, by the contract of `new` and the caller's strides.
                i64::try_from(unsafe { *self.ptr.cast::<$ty>().offset(offset) }).unwrap_or(i64::MAX)
            };
        }
        match self.dtype {
            Dtype::Bool | Dtype::Uint8 => read!(u8),
            Dtype::Uint16 => read!(u16),
            Dtype::Uint32 => read!(u32),
            Dtype::Uint64 => read!(u64),
            Dtype::Int8 => read!(i8),
            Dtype::Int16 => read!(i16),
            Dtype::Int32 => read!(i32),
            Dtype::Int64 => read!(i64),
            other => panic!("integer of {other}"),
        }
    }

    /// All integers in row-major order.
    pub fn integers(&self) -> Vec<i64> {
        let grid = Grid::new(self.shape, [self.strides]);
        let mut walk = grid.walk(0);
        let mut values = Vec::with_capacity(self.elements());
        for _ in 0..self.elements() {
            values.push(self.integer(walk.offsets[0]));
            walk.step();
        }
        values
    }

    /// True if the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        is_row_major(self.shape, self.strides)
    }
}

impl<'a> Out<'a> {
    /// # Safety
    /// `ptr` must be valid for writing the row-major elements of `shape`, and nobody else may touch them during `'a`.
    pub unsafe fn new(ptr: *mut u8, dtype: Dtype, shape: &'a [usize]) -> Out<'a> {
        Out { ptr, dtype, shape, _buffer: PhantomData }
    }

    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The output as several, one after the other, of its own type and the given shapes.
    ///
    /// # Panics
    /// If they are not exactly its elements: a defect of the calling kernel.
    pub fn parts<'b, const N: usize>(&'b mut self, shapes: &'b [Dims; N]) -> [Out<'b>; N] {
        let mut start = 0;
        let parts = std::array::from_fn(|i| {
            // SAFETY: parts of the output that do not overlap, borrowed from it.
            let part = unsafe { Out::new(self.ptr.add(start * self.dtype.size()), self.dtype, &shapes[i]) };
            start += part.elements();
            part
        });
        assert!(start == self.elements(), "parts {shapes:?} of {self:?}");
        parts
    }

    /// All elements in row-major order, to be overwritten.
    ///
    /// # Panics
    /// If the output is not of type `T`: a defect of the calling kernel.
    pub fn as_mut_slice<T: Element>(&mut self) -> &mut [T::Stored] {
        assert!(T::DTYPE == self.dtype, "as_mut_slice::<{}> on {self:?}", T::DTYPE);
        // SAFETY: `Stored` is plain data, any bytes are a value, and the memory is ours by the contract of `new`.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.cast(), self.elements()) }
    }
}

/// True if strides are row-major for this shape; axes of size one may have any stride.
pub(crate) fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let mut step = 1isize;
    for (&d, &s) in shape.iter().zip(strides).rev() {
        if d == 0 {
            return true;
        }
        if d != 1 {
            if s != step {
                return false;
            }
            step *= d as isize;
        }
    }
    true
}
