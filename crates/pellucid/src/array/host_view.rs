//! Walks over evaluated elements in row-major order, whatever the layout: what reading, printing and saving stand on.

use smallvec::SmallVec;

use super::{Array, Dtype, Element, Shape, Strides, Value};
use crate::backend::cpu::parallel;
use crate::error::Result;
use crate::op::Scalar;

/// An evaluated array as the host reads it. It keeps the memory alive and unchanged.
pub(crate) struct HostView {
    value: Value,
    shape: Shape,
    dtype: Dtype,
    strides: Strides,
    /// Axes longer than one, neighbours that lie in one piece joined: what a walk has to visit.
    walk: Strided,
}

type Strided = SmallVec<[(usize, isize); 4]>;

impl HostView {
    /// Evaluates the array.
    pub fn new(array: &Array) -> Result<HostView> {
        HostView::of(&array.evaluated()?, array.shape_ref(), array.dtype())
    }

    /// Elements of an array that are known, though the array may not be marked as ready yet.
    ///
    /// # Errors
    /// Those of the copy from a GPU's memory.
    pub fn of(value: &Value, shape: &Shape, dtype: Dtype) -> Result<HostView> {
        let (value, shape) = (value.on_host()?, shape.clone());
        let strides = value.strides(&shape);
        let walk = joined(&shape, &strides);
        Ok(HostView { value, shape, dtype, strides, walk })
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    /// Address of the first element.
    pub fn ptr(&self) -> *const u8 {
        self.value.ptr(self.dtype).cast_const()
    }

    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }

    /// All elements, if they lie in one piece.
    pub fn contiguous(&self) -> Option<&[u8]> {
        if !self.value.is_row_major(&self.shape) {
            return None;
        }
        // SAFETY: row-major, so all elements lie in one piece inside the buffer, which `self` keeps alive; a buffer
        // with more than one holder is not written to.
        Some(unsafe { std::slice::from_raw_parts(self.value.ptr(self.dtype), self.bytes()) })
    }

    /// Copies the elements from row-major position `start` on to `out`, as many as fit it.
    ///
    /// # Panics
    /// If there are not that many: a defect of the caller.
    pub fn read(&self, start: usize, out: &mut [u8]) {
        let count = out.len() / self.dtype.size();
        assert!(start <= self.shape.elements() && count <= self.shape.elements() - start);
        // SAFETY: `out` has room for `count` elements.
        unsafe { self.read_raw(start, out.as_mut_ptr(), count) }
    }

    /// # Safety
    /// The positions must exist, and `out` must have room for `count` elements.
    unsafe fn read_raw(&self, start: usize, out: *mut u8, count: usize) {
        if count == 0 {
            return;
        }
        let from = self.value.ptr(self.dtype).cast_const();
        // SAFETY: an evaluated array's elements are all inside its buffer; the rest is passed on to the caller.
        unsafe {
            match self.dtype.size() {
                1 => gather::<1>(from, &self.walk, start, out, count),
                2 => gather::<2>(from, &self.walk, start, out, count),
                4 => gather::<4>(from, &self.walk, start, out, count),
                _ => gather::<8>(from, &self.walk, start, out, count),
            }
        }
    }

    /// All elements into memory of their size, on several cores if it is worth it.
    ///
    /// # Safety
    /// `out` must have room for all elements, and nobody else may touch it.
    pub unsafe fn read_all(&self, out: *mut u8) {
        struct Target(*mut u8);
        // SAFETY: each thread writes its own range.
        unsafe impl Sync for Target {}
        impl Target {
            fn at(&self, bytes: usize) -> *mut u8 {
                // SAFETY: only called with positions below the element count.
                unsafe { self.0.add(bytes) }
            }
        }
        let (target, size) = (Target(out), self.dtype.size());
        // Copies of one piece gain little from more cores; walks gain much.
        parallel::ranges(self.shape.elements(), 1, 2 * size, |range| {
            // SAFETY: the range is below the element count, and `out` has room for all.
            unsafe { self.read_raw(range.start, target.at(range.start * size), range.len()) }
        });
    }

    /// The element at an index, one position per axis, each below the axis' size.
    pub fn element(&self, index: &[usize]) -> Scalar {
        self.element_at(index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum())
    }

    /// The element at a distance from the first one, in elements: that of an index, by the strides.
    pub fn element_at(&self, moved: isize) -> Scalar {
        // SAFETY: every index below the shape is a valid element.
        let ptr = unsafe { self.value.ptr(self.dtype).offset(moved * self.dtype.size() as isize) };
        // SAFETY: as above, and of this type.
        unsafe { read_scalar(self.dtype, ptr) }
    }
}

/// # Safety
/// `ptr` must point to an element of this type.
unsafe fn read_scalar(dtype: Dtype, ptr: *const u8) -> Scalar {
    use half::{bf16, f16};
    /// # Safety
    /// As `read_scalar`.
    unsafe fn get<T: Element>(ptr: *const u8) -> Scalar {
        // SAFETY: passed on to the caller.
        T::from_stored(unsafe { ptr.cast::<T::Stored>().read_unaligned() }).into()
    }
    // SAFETY: the types match by the caller's word.
    unsafe {
        match dtype {
            Dtype::Bool => get::<bool>(ptr),
            Dtype::Uint8 => get::<u8>(ptr),
            Dtype::Uint16 => get::<u16>(ptr),
            Dtype::Uint32 => get::<u32>(ptr),
            Dtype::Uint64 => get::<u64>(ptr),
            Dtype::Int8 => get::<i8>(ptr),
            Dtype::Int16 => get::<i16>(ptr),
            Dtype::Int32 => get::<i32>(ptr),
            Dtype::Int64 => get::<i64>(ptr),
            Dtype::Float16 => get::<f16>(ptr),
            Dtype::Bfloat16 => get::<bf16>(ptr),
            Dtype::Float32 => get::<f32>(ptr),
            Dtype::Float64 => get::<f64>(ptr),
            Dtype::Complex64 => get::<num_complex::Complex32>(ptr),
        }
    }
}

/// Axes longer than one; an axis whose step is the whole next axis becomes one with it.
fn joined(shape: &[usize], strides: &[isize]) -> Strided {
    let mut axes = Strided::new();
    for (&size, &stride) in shape.iter().zip(strides).filter(|&(&size, _)| size != 1) {
        match axes.last_mut() {
            Some((outer, step)) if *step == stride.saturating_mul(size as isize) => {
                *outer = outer.saturating_mul(size);
                *step = stride;
            }
            _ => axes.push((size, stride)),
        }
    }
    axes
}

/// Copies `count` elements of `SIZE` bytes from row-major position `start` on.
///
/// # Safety
/// Positions `start` to `start + count` must exist in `axes` over `from`, and `out` must have room for them.
unsafe fn gather<const SIZE: usize>(
    from: *const u8,
    axes: &[(usize, isize)],
    start: usize,
    out: *mut u8,
    count: usize,
) {
    // Arrays of bytes have no alignment, so the target may be any memory.
    let from = from.cast::<[u8; SIZE]>();
    let mut out = out.cast::<[u8; SIZE]>();
    let Some((&(length, step), outer)) = axes.split_last() else {
        // SAFETY: a single element.
        unsafe { out.write(from.read()) };
        return;
    };
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
    let mut rest = start / length;
    for (i, &(size, _)) in index.iter_mut().zip(outer).rev() {
        *i = rest % size;
        rest /= size;
    }
    let mut row: isize = index.iter().zip(outer).map(|(&i, &(_, step))| i as isize * step).sum();
    let (mut column, mut left) = (start % length, count);
    while left > 0 {
        let run = (length - column).min(left);
        // SAFETY: the run lies inside the row, and `left` elements of `out` are still to be written.
        unsafe {
            let first = from.offset(row + column as isize * step);
            match step {
                1 => std::ptr::copy_nonoverlapping(first, out, run),
                0 => std::slice::from_raw_parts_mut(out.cast::<std::mem::MaybeUninit<[u8; SIZE]>>(), run)
                    .fill(std::mem::MaybeUninit::new(first.read())),
                _ => (0..run).for_each(|i| out.add(i).write(first.offset(i as isize * step).read())),
            }
            out = out.add(run);
        }
        (left, column) = (left - run, 0);
        for (i, &(size, step)) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            row += step;
            if *i < size {
                break;
            }
            row -= step * size as isize;
            *i = 0;
        }
    }
}
