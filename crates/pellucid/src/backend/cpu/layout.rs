//! Which elements belong together: an input's axes split into those that stay and those that are reduced, with
//! neighbouring axes merged where memory allows, and blocks gathered from the reduced ones.

use smallvec::SmallVec;

use super::accumulator::Acc;
use super::tensor::In;
use crate::array::Dtype;

/// Elements that are converted, reduced or scanned in one go: small enough for the first-level cache, large enough to
/// hide the cost of starting. Float results depend on it, so it is the same on every machine.
pub(crate) const BLOCK: usize = 2048;

/// Runs shorter than this are too short to fill a vector's time.
pub(crate) const SHORTEST_RUN: usize = 32;

/// One axis: its size and the distance of neighbours in the input and in the output, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub size: usize,
    pub x: isize,
    pub out: isize,
}

pub(crate) type AxisList = SmallVec<[Axis; 6]>;

/// The axes of an input in two groups. Merged, without axes of size one.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Offset of the first element from the input's pointer, in elements.
    pub base: isize,
    pub kept: AxisList,
    pub reduced: AxisList,
}

impl Layout {
    /// For reductions: the output holds the axes that are not in `axes`, row-major. Reduced axes are put in the order
    /// of memory, since their elements may come in any order.
    pub fn reduction(x: &In, axes: &[usize]) -> Layout {
        let mut layout = Layout { base: 0, kept: AxisList::new(), reduced: AxisList::new() };
        let mut step = 1;
        for i in (0..x.shape.len()).rev() {
            let size = x.shape[i];
            if axes.contains(&i) {
                let mut stride = x.strides[i];
                if stride < 0 && size > 0 {
                    layout.base += stride * (size as isize - 1);
                    stride = -stride;
                }
                layout.reduced.push(Axis { size, x: stride, out: 0 });
            } else {
                layout.kept.push(Axis { size, x: x.strides[i], out: step });
                step *= size as isize;
            }
        }
        layout.kept.reverse();
        merge(&mut layout.kept);
        // A broadcast axis goes outermost: its elements are read again rather than gathered one by one.
        layout.reduced.sort_by_key(|a| if a.x == 0 { isize::MIN } else { -a.x });
        merge(&mut layout.reduced);
        layout
    }

    /// For positions along one axis: as [`Layout::reduction`], but the axis is walked as it is.
    pub fn forward_reduction(x: &In, axis: usize) -> Layout {
        let mut layout = Layout::reduction(x, &[axis]);
        if let (Some(reduced), Some(&stride)) = (layout.reduced.first_mut(), x.strides.get(axis)) {
            reduced.x = stride;
        }
        layout.base = 0;
        layout
    }

    /// For functions that keep the shape: the output has the input's shape, row-major, and the axes in `axes` depend
    /// on one another.
    pub fn same_shape(x: &In, axes: &[usize]) -> Layout {
        let mut layout = Layout { base: 0, kept: AxisList::new(), reduced: AxisList::new() };
        let mut step = 1;
        for i in (0..x.shape.len()).rev() {
            let axis = Axis { size: x.shape[i], x: x.strides[i], out: step };
            step *= axis.size as isize;
            if axes.contains(&i) { layout.reduced.push(axis) } else { layout.kept.push(axis) }
        }
        layout.kept.reverse();
        layout.reduced.reverse();
        merge(&mut layout.kept);
        merge(&mut layout.reduced);
        layout
    }

    /// Takes the kept axis out whose neighbours lie closest in the input; a vector runs along it.
    pub fn take_vector_axis(&mut self) -> Axis {
        let closest = (0..self.kept.len()).rev().min_by_key(|&i| match self.kept[i].x.unsigned_abs() {
            0 => usize::MAX,
            distance => distance,
        });
        closest.map_or(Axis { size: 1, x: 1, out: 1 }, |i| self.kept.remove(i))
    }

    /// True if reduced elements lie closer together than kept ones, or are too few to fill a vector's time, so that
    /// each output is better computed from a run of its own than beside its neighbours.
    pub fn prefers_rows(&self) -> bool {
        let distance = |axes: &[Axis]| {
            let distances = axes.iter().map(|a| a.x.unsigned_abs()).filter(|&d| d != 0);
            distances.min().unwrap_or(usize::MAX)
        };
        let (outputs, elements) = (count(&self.kept), count(&self.reduced));
        let widest = self.kept.iter().map(|a| a.size).max().unwrap_or(1);
        if elements == 0 || outputs == 1 {
            return true;
        }
        if distance(&self.reduced) < distance(&self.kept) {
            elements >= SHORTEST_RUN || widest < SHORTEST_RUN
        } else {
            widest < 16 && elements > 16
        }
    }
}

/// Drops axes of size one and joins neighbours that are one longer axis in the input and in the output.
fn merge(axes: &mut AxisList) {
    let mut merged = AxisList::new();
    for &axis in axes.iter().filter(|a| a.size != 1) {
        match merged.last_mut() {
            Some(last)
                if last.x == axis.x * axis.size as isize && last.out == axis.out * axis.size as isize =>
            {
                *last = Axis { size: last.size * axis.size, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    *axes = merged;
}

/// The number of positions on these axes together.
pub(crate) fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|a| a.size).product()
}

/// Where the `flat`-th position lies in the input and in the output, in elements.
#[inline]
pub(crate) fn offset(axes: &[Axis], mut flat: usize) -> (isize, isize) {
    let (mut x, mut out) = (0, 0);
    for axis in axes.iter().rev() {
        let position = if flat < axis.size { flat } else { flat % axis.size };
        flat /= axis.size;
        x += position as isize * axis.x;
        out += position as isize * axis.out;
    }
    (x, out)
}

/// Calls `body` with each run of equally spaced elements among positions `start..start + len`: its offsets from the
/// first position, its strides (input, output) and where it lies in `0..len`.
#[inline]
fn runs(
    axes: &[Axis],
    start: usize,
    len: usize,
    mut body: impl FnMut((isize, isize), (isize, isize), std::ops::Range<usize>),
) {
    let Some(inner) = axes.last() else {
        if len > 0 {
            body((0, 0), (1, 1), 0..len);
        }
        return;
    };
    let mut done = 0;
    while done < len {
        let flat = start + done;
        let run = (inner.size - flat % inner.size).min(len - done);
        body(offset(axes, flat), (inner.x, inner.out), done..done + run);
        done += run;
    }
}

/// Whether elements along these axes of the input lie side by side, as the type that is computed in.
pub(crate) fn is_run<A: Acc>(dtype: Dtype, axes: &[Axis]) -> bool {
    dtype == A::DTYPE && (axes.is_empty() || axes.len() == 1 && axes[0].x == 1)
}

/// `len` elements from position `start` of the given axes on: in place if they lie side by side as `A`, else
/// converted into `buf`.
///
/// # Safety
/// `ptr` must be the first element of a valid input with these axes, and `buf` no shorter than `len`.
#[inline]
pub(crate) unsafe fn gather<'a, A: Acc>(
    dtype: Dtype,
    ptr: *const u8,
    axes: &[Axis],
    start: usize,
    len: usize,
    buf: &'a mut [A],
) -> &'a [A] {
    if is_run::<A>(dtype, axes) {
        // SAFETY: one run of `len` elements of type `A`, by the contract.
        return unsafe { std::slice::from_raw_parts(ptr.cast::<A>().add(start), len) };
    }
    let size = dtype.size() as isize;
    runs(axes, start, len, |(x, _), (stride, _), range| {
        // SAFETY: the run lies in the input by the contract.
        unsafe { A::read(dtype, ptr.offset(x * size), stride, &mut buf[range]) };
    });
    &buf[..len]
}

/// Writes values at positions from `start` on of the given axes of the output.
///
/// # Safety
/// `ptr` must be the position zero of an output with these axes, and no other thread may write there.
pub(crate) unsafe fn scatter<A: Acc>(dtype: Dtype, ptr: *mut u8, axes: &[Axis], start: usize, values: &[A]) {
    let size = dtype.size() as isize;
    runs(axes, start, values.len(), |(_, out), (_, stride), range| {
        // SAFETY: the run lies in the output by the contract.
        unsafe { A::write(dtype, ptr.offset(out * size), stride, &values[range]) };
    });
}

/// A pointer that several threads write through, each at places of its own.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(*mut T);

// SAFETY: every use promises that no two threads touch the same element.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(slice: &mut [T]) -> Shared<T> {
        Shared(slice.as_mut_ptr())
    }

    pub fn from_ptr(ptr: *mut T) -> Shared<T> {
        Shared(ptr)
    }

    /// # Safety
    /// The place must lie in the array the pointer is for.
    pub unsafe fn at(&self, offset: isize) -> *mut T {
        // SAFETY: passed on to the caller.
        unsafe { self.0.offset(offset) }
    }

    /// # Safety
    /// The range must lie in the slice, and nobody else may use it meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice(&self, start: usize, len: usize) -> &mut [T] {
        // SAFETY: passed on to the caller.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), len) }
    }
}
