//! Elements where they lie, for readers that understand shapes and strides themselves.

use super::{Array, Dtype, HostView, Strides};
use crate::error::Result;
use crate::op::Scalar;

/// The elements of an evaluated array in host memory, without a copy. They stay there, unchanged, as long as this
/// lives; see [`Array::host_memory`].
pub struct HostMemory {
    view: HostView,
    ptr: *const u8,
    strides: Strides,
    writable: bool,
}

// SAFETY: the memory is only read, and kept alive by the view.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Address of the first element. Elements may be read; see [`is_writable`](HostMemory::is_writable).
    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }

    /// True if writing to the elements would change the array: they are no copy of a GPU's, none of them stands for
    /// several, and whoever owns the memory allows it. Whoever writes has to see to it that nobody reads meanwhile.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Sizes of the axes.
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// Distances between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.view.dtype()
    }

    /// The element at this distance from the first one, in elements: for each axis an index times its stride, summed.
    ///
    /// # Panics
    /// If no element lies there.
    pub fn element(&self, distance: isize) -> Scalar {
        let (mut low, mut high) = (0, 0);
        for (&size, &stride) in self.shape().iter().zip(&self.strides) {
            let reach = (size.max(1) - 1) as isize * stride;
            (low, high) = (low + reach.min(0), high + reach.max(0));
        }
        assert!(!self.shape().contains(&0) && (low..=high).contains(&distance), "no element at {distance}");
        self.view.element_at(distance)
    }

    /// All elements in row-major order, if they lie in one piece.
    pub fn contiguous(&self) -> Option<&[u8]> {
        self.view.contiguous()
    }
}

impl Array {
    /// The elements where they lie in host memory, evaluated if they are not yet. Elements of a GPU are copied to the
    /// host once; all others are not copied.
    ///
    /// ```
    /// use pellucid::{Array, ops};
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1u8, 2, 3], [4, 5, 6]]);
    /// let turned = ops::transpose(&a, None).host_memory()?;
    /// assert_eq!((turned.shape(), turned.strides()), (&[3, 2][..], &[1, 3][..]));
    /// assert_eq!(turned.ptr(), a.host_memory()?.ptr());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What made the evaluation or the copy from a GPU impossible.
    pub fn host_memory(&self) -> Result<HostMemory> {
        let value = self.evaluated()?;
        let view = HostView::of(&value, self.shape_ref(), self.dtype())?;
        let repeats = view.strides().iter().zip(self.shape()).any(|(&stride, &size)| stride == 0 && size > 1);
        let writable = value.buffer().is_writable() && !value.has_mirror() && !repeats;
        Ok(HostMemory { ptr: view.ptr(), strides: view.strides().clone(), writable, view })
    }
}
