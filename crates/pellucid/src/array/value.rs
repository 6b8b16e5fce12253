//! Where an evaluated array's elements lie: a buffer, and how to walk it.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::{Dtype, Shape};
use crate::backend::cpu::is_row_major;
use crate::backend::gpu::{self, Checks};
use crate::error::Result;
use crate::eval::Failure;
use crate::memory::Buffer;
use crate::op::{Op, SliceSpec};

/// Distances between neighbours along each axis, in elements.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// The same bytes on the other side: a GPU's copy of host memory, or the host's of a GPU's. Elements never change, so a
/// copy stays good as long as they live.
pub(crate) type Mirror = Arc<OnceLock<Buffer>>;

/// An evaluated array's elements. Row-major from the buffer's start, unless a view says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    buffer: Buffer,
    /// Where the copy on the other side goes, shared by all views; `None` until somebody asks for it.
    mirror: Option<Mirror>,
    /// Index checks of a GPU that it depends on; `None` for elements that are known to be good.
    checks: Option<Checks>,
    view: Option<Box<View>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    /// First element, counted in elements from the buffer's start.
    offset: usize,
    strides: Strides,
}

impl Value {
    /// Row-major elements from the buffer's start.
    pub fn whole(buffer: Buffer) -> Value {
        Value { buffer, mirror: None, checks: None, view: None }
    }

    /// Elements that begin at this one of a buffer's.
    pub fn placed(buffer: Buffer, shape: &Shape, offset: usize, strides: Strides) -> Value {
        Value::whole(buffer).strided(shape, offset, strides)
    }

    fn strided(&self, shape: &Shape, offset: usize, strides: Strides) -> Value {
        let plain = offset == 0 && is_row_major(shape, &strides);
        let view = if plain { None } else { Some(Box::new(View { offset, strides })) };
        Value { buffer: self.buffer.clone(), mirror: self.mirror.clone(), checks: self.checks.clone(), view }
    }

    /// The same elements, which are good only if all checks are.
    pub fn checked(self, checks: Option<Checks>) -> Value {
        Value { checks, ..self }
    }

    pub fn checks(&self) -> Option<&Checks> {
        self.checks.as_ref()
    }

    /// Why the elements are not good, if a GPU has found that out.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.checks.iter().flat_map(|checks| checks.iter()).find_map(|check| check.failure())
    }

    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// True if the elements are row-major from the buffer's start.
    pub fn is_whole(&self) -> bool {
        self.view.is_none()
    }

    pub fn offset(&self) -> usize {
        self.view.as_ref().map_or(0, |v| v.offset)
    }

    pub fn strides(&self, shape: &Shape) -> Strides {
        self.view.as_ref().map_or_else(|| shape.row_major(), |v| v.strides.clone())
    }

    pub fn is_row_major(&self, shape: &Shape) -> bool {
        self.view.as_ref().is_none_or(|v| is_row_major(shape, &v.strides))
    }

    /// Prepares for a copy on the other side, so that views taken from now on share it.
    pub fn mirrored(&mut self) -> &Mirror {
        self.mirror.get_or_insert_with(Mirror::default)
    }

    /// True if there is a copy on the other side, which would go stale if the elements were overwritten.
    pub fn has_mirror(&self) -> bool {
        self.mirror.as_ref().is_some_and(|mirror| mirror.get().is_some())
    }

    /// Memory the host can read: the buffer, or a copy of it, made if there is none. Waits for the GPU that writes it.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) and [`Error::Device`](crate::Error::Device) if the copy cannot be made.
    pub fn host(&self) -> Result<Buffer> {
        if self.buffer.is_host() {
            return Ok(self.buffer.clone());
        }
        gpu::mirror(self.mirror.as_ref(), || gpu::download(&self.buffer))
    }

    /// Memory of the GPU with this index: the buffer, or a copy of it, made if there is none.
    ///
    /// # Errors
    /// As [`Value::host`].
    #[cfg(feature = "gpu")]
    pub fn gpu(&self, index: usize) -> Result<Buffer> {
        if !self.buffer.is_host() {
            return Ok(self.buffer.clone());
        }
        // Whoever owns foreign memory may have changed it since it was copied.
        let mirror = self.mirror.as_ref().filter(|_| !self.buffer.is_foreign());
        gpu::mirror(mirror, || gpu::upload(&self.buffer, index))
    }

    /// The same elements in host memory.
    ///
    /// # Errors
    /// As [`Value::host`].
    pub fn on_host(&self) -> Result<Value> {
        Ok(Value { buffer: self.host()?, mirror: None, checks: None, view: self.view.clone() })
    }

    /// Address of the first element, which is in host memory.
    pub fn ptr(&self, dtype: Dtype) -> *mut u8 {
        debug_assert!(self.buffer.is_host(), "{self:?}");
        // SAFETY: the offset lies inside the buffer; for arrays without elements it may point one past its end.
        unsafe { self.buffer.ptr().add(self.offset() * dtype.size()) }
    }

    /// The result of a layout operation without moving data, or `None` if this memory does not allow it. `shape` is the
    /// input's, `out` the result's.
    pub fn view_as(&self, op: &Op, shape: &Shape, dtype: Dtype, out: &Shape) -> Option<Value> {
        let make = |offset, strides| Some(self.strided(out, offset, strides));
        match op {
            Op::Depends | Op::StopGradient => Some(self.clone()),
            Op::Contiguous => self.is_row_major(shape).then(|| self.clone()),
            Op::Transpose { axes } => {
                let strides = self.strides(shape);
                make(self.offset(), axes.iter().map(|&a| strides[a]).collect())
            }
            Op::Broadcast { .. } => make(self.offset(), broadcast_strides(shape, &self.strides(shape), out)),
            Op::Slice(spec) => {
                let (offset, strides) = sliced(spec, self.offset(), &self.strides(shape));
                make(offset, strides)
            }
            Op::Reshape { .. } => make(self.offset(), reshape_strides(shape, &self.strides(shape), out)?),
            Op::AsStrided(spec) if self.is_row_major(shape) => {
                make(self.offset() + spec.offset, spec.strides.clone())
            }
            Op::View { dtype: to } => {
                let (from, to) = (dtype.size(), to.size());
                if from == to {
                    return Some(self.clone());
                }
                let start = self.offset() * from;
                if !self.is_row_major(shape) || !start.is_multiple_of(to) {
                    return None;
                }
                make(start / to, out.row_major())
            }
            Op::AsStrided(_) => None,
            other => {
                debug_assert!(!other.is_layout(), "{other:?} has no view");
                None
            }
        }
    }
}

/// Strides that repeat an array along new and size-one axes.
pub(crate) fn broadcast_strides(shape: &[usize], strides: &[isize], out: &[usize]) -> Strides {
    let missing = out.len() - shape.len();
    let stride = |axis: usize| match axis.checked_sub(missing) {
        Some(i) if shape[i] == out[axis] => strides[i],
        _ => 0,
    };
    (0..out.len()).map(stride).collect()
}

fn sliced(spec: &SliceSpec, offset: usize, strides: &[isize]) -> (usize, Strides) {
    let empty = spec.size.contains(&0);
    let moved: isize = spec.start.iter().zip(strides).map(|(&s, &d)| s as isize * d).sum();
    let strides = spec.step.iter().zip(strides).map(|(&step, &d)| step.saturating_mul(d)).collect();
    (if empty { offset } else { offset.wrapping_add_signed(moved) }, strides)
}

/// Strides of another shape over the same memory, if there are any: groups of axes are matched by their sizes, and
/// each group must lie in one piece.
fn reshape_strides(shape: &[usize], strides: &[isize], out: &[usize]) -> Option<Strides> {
    if shape.contains(&0) {
        return Some(Shape::from(out).row_major());
    }
    // Size-one axes have no neighbours and fit anywhere.
    let axes: SmallVec<[(usize, isize); 4]> =
        shape.iter().zip(strides).filter(|&(&d, _)| d != 1).map(|(&d, &s)| (d, s)).collect();
    let mut result: Strides = SmallVec::from_elem(0, out.len());
    let (mut i, mut j) = (0, 0);
    while i < axes.len() {
        let (first_in, mut size_in) = (i, axes[i].0);
        i += 1;
        let (first_out, mut size_out) = (j, 1);
        while size_out != size_in {
            if size_out < size_in {
                size_out *= *out.get(j)?;
                j += 1;
            } else {
                let (&(size, stride), (_, before)) = (axes.get(i)?, axes[i - 1]);
                if before != stride * size as isize {
                    return None;
                }
                size_in *= size;
                i += 1;
            }
        }
        debug_assert!(first_in < i);
        let mut step = axes[i - 1].1;
        for k in (first_out..j).rev() {
            result[k] = step;
            step *= out[k] as isize;
        }
    }
    Some(result)
}
