//! Shapes: sizes per axis, element counts that cannot overflow, broadcasting and axis arguments.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The sizes of an array's axes. `[]` is a single element. An array has [`Shape::MAX_AXES`] axes at most; a longer shape
/// is refused where an array is made of it.
///
/// ```
/// use pellucid::Shape;
/// let shape = Shape::from([2, 3]);
/// assert_eq!(shape.elements(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// ```
#[derive(Default, Eq, Hash, Serialize, Deserialize)]
#[allow(
    clippy::derived_hash_with_manual_eq,
    reason = "equal shapes have equal numbers, which is what is hashed"
)]
#[serde(transparent)]
pub struct Shape(SmallVec<[usize; 4]>);

impl PartialEq for Shape {
    /// Every operation compares shapes, which are short: a call to compare memory would cost more than this.
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}

impl Shape {
    /// The most axes an array can have, as in NumPy. Sizes other than one could not be many more anyway: 64 axes of two
    /// do not fit 64-bit addresses.
    ///
    /// ```
    /// use pellucid::{Dtype, Shape, ops};
    /// assert!(ops::zeros([1; Shape::MAX_AXES], Dtype::Float32).check().is_ok());
    /// assert!(ops::zeros([1; Shape::MAX_AXES + 1], Dtype::Float32).check().is_err());
    /// ```
    pub const MAX_AXES: usize = 64;

    /// The number of elements, saturating; arrays are only made where it fits.
    pub fn elements(&self) -> usize {
        if self.contains(&0) { 0 } else { self.iter().fold(1, |n: usize, &d| n.saturating_mul(d)) }
    }

    /// Fails if an array of this shape would have too many axes, or its bytes do not fit the address space.
    pub(crate) fn check(&self, function: &'static str, item_size: usize) -> Result<()> {
        check_axis_count(function, self.len())?;
        let mut bytes = Some(item_size);
        for &d in self.iter().filter(|&&d| d != 0) {
            bytes = bytes.and_then(|n| n.checked_mul(d)).filter(|&n| n <= isize::MAX as usize);
        }
        match bytes {
            Some(_) => Ok(()),
            None => Err(Error::shape(
                function,
                format!(
                    "an array of shape {self} with {item_size}-byte elements does not fit 64-bit addresses"
                ),
            )),
        }
    }

    /// Row-major strides in elements.
    pub(crate) fn row_major(&self) -> SmallVec<[isize; 4]> {
        let mut strides = SmallVec::from_elem(0, self.len());
        let mut step = 1isize;
        for (stride, &d) in strides.iter_mut().zip(self.iter()).rev() {
            *stride = step;
            step = step.saturating_mul(d.max(1) as isize);
        }
        strides
    }

    pub(crate) fn push(&mut self, size: usize) {
        self.0.push(size);
    }

    pub(crate) fn insert(&mut self, axis: usize, size: usize) {
        self.0.insert(axis, size);
    }

    pub(crate) fn remove(&mut self, axis: usize) -> usize {
        self.0.remove(axis)
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [usize] {
        &mut self.0
    }

    /// The shape both broadcast to: sizes match from the right, a size of one or a missing axis stretches.
    ///
    /// # Errors
    /// [`Error::Shape`] if two sizes differ and neither is one.
    pub fn broadcast(&self, other: &Shape) -> Result<Shape> {
        self.broadcast_for("broadcast_shapes", other)
    }

    pub(crate) fn broadcast_for(&self, function: &'static str, other: &Shape) -> Result<Shape> {
        if self == other {
            return Ok(self.clone());
        }
        let (long, short) = if self.len() >= other.len() { (self, other) } else { (other, self) };
        let mut shape = long.clone();
        for (d, &s) in shape.0.iter_mut().rev().zip(short.iter().rev()) {
            if *d == 1 {
                *d = s;
            } else if s != 1 && s != *d {
                return Err(Error::shape(
                    function,
                    format!(
                        "shapes {self} and {other} do not broadcast: {d} and {s} differ and neither is 1"
                    ),
                ));
            }
        }
        Ok(shape)
    }
}

impl Clone for Shape {
    /// Every array made clones a shape, so that it pays to copy a short one as it is.
    #[inline]
    fn clone(&self) -> Shape {
        if self.0.spilled() {
            return Shape(SmallVec::from_slice(&self.0));
        }
        // SAFETY: a vector that has not spilled is plain numbers and owns nothing.
        unsafe { std::ptr::read(self) }
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Shape {
        Shape(SmallVec::from_slice(dims))
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Shape {
        Shape::from(dims.as_slice())
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(dims: &[usize; N]) -> Shape {
        Shape::from(dims.as_slice())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Shape {
        Shape(SmallVec::from_vec(dims))
    }
}

impl From<usize> for Shape {
    fn from(size: usize) -> Shape {
        Shape::from([size])
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Shape {
        Shape(iter.into_iter().collect())
    }
}

/// The axes a function works on: all, or a list in which negative numbers count from the end.
///
/// ```
/// use pellucid::{Array, Axes, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(ops::sum(&a, Axes::All, false).item::<f32>()?, 10.0);
/// assert_eq!(ops::sum(&a, -1, false).to_vec::<f32>()?, [3.0, 7.0]);
/// assert_eq!(ops::sum(&a, [0, 1], true).shape(), &[1, 1]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Every axis.
    All,
    /// These axes.
    List(SmallVec<[i64; 4]>),
}

impl Axes {
    /// The axes as ascending positions below `ndim`.
    pub(crate) fn resolve(&self, function: &'static str, ndim: usize) -> Result<SmallVec<[usize; 4]>> {
        match self {
            Axes::All => Ok((0..ndim).collect()),
            Axes::List(list) => {
                check_axis_count(function, list.len())?;
                let mut axes: SmallVec<[usize; 4]> =
                    list.iter().map(|&a| resolve_axis(function, a, ndim)).collect::<Result<_>>()?;
                axes.sort_unstable();
                if let Some(pair) = axes.windows(2).find(|w| w[0] == w[1]) {
                    return Err(Error::argument(
                        function,
                        format!("axis {} is given twice in {list:?}", pair[0]),
                    ));
                }
                Ok(axes)
            }
        }
    }
}

/// Fails if there are more axes than an array can have. Lists of axes and sizes pass it before anything is done for each.
pub(crate) fn check_axis_count(function: &'static str, axes: usize) -> Result<()> {
    if axes <= Shape::MAX_AXES {
        return Ok(());
    }
    Err(Error::shape(
        function,
        format!("{axes} axes are given, and an array has {} at most", Shape::MAX_AXES),
    ))
}

/// A possibly negative axis as a position below `ndim`.
pub(crate) fn resolve_axis(function: &'static str, axis: i64, ndim: usize) -> Result<usize> {
    let resolved = if axis < 0 { axis + ndim as i64 } else { axis };
    if (0..ndim as i64).contains(&resolved) {
        Ok(resolved as usize)
    } else {
        Err(Error::Axis { function, axis, ndim })
    }
}
