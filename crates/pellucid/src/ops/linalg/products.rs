//! The cross product.

use crate::array::{Array, Shape, ok, resolve_axis};
use crate::error::Error;
use crate::ops::assemble::concatenate;
use crate::ops::elementwise::{multiply, negative, subtract};
use crate::ops::shape::broadcast_to;
use crate::ops::{cast, slice_axis, zeros};

/// The cross product of vectors of three elements along an axis; the third element of vectors of two is zero.
///
/// ```
/// use pellucid::{Array, linalg};
/// # fn main() -> pellucid::Result<()> {
/// let (a, b) = (Array::from([1, 2, 3]), Array::from([4, 5, 6]));
/// assert_eq!(linalg::cross(&a, &b, -1).to_vec::<i32>()?, [-3, 6, -3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Axis`] if the axis does not exist, [`Error::Shape`] if it has neither two nor three elements or the shapes do
/// not fit.
#[track_caller]
pub fn cross(a: &Array, b: &Array, axis: i64) -> Array {
    let name = "cross";
    ok!(a, b);
    let ndim = a.ndim().max(b.ndim());
    let at = ok!(resolve_axis(name, axis, ndim));
    let dtype = a.dtype().promote(b.dtype());
    let aligned = |x: &Array| -> Result<(Array, Shape), Error> {
        let missing = ndim - x.ndim();
        let size = at.checked_sub(missing).map(|axis| x.shape()[axis]);
        if !matches!(size, Some(2 | 3)) {
            let message = format!("axis {axis} must have two or three elements (shape {})", x.shape_ref());
            return Err(Error::shape(name, message));
        }
        let lead = (0..ndim).map(|i| if i < missing { 1 } else { x.shape()[i - missing] });
        let others = lead.enumerate().map(|(i, d)| if i == at { 1 } else { d }).collect();
        Ok((cast(x, dtype), others))
    };
    let ((a, a_shape), (b, b_shape)) = (ok!(aligned(a)), ok!(aligned(b)));
    let shape = ok!(a_shape.broadcast_for(name, &b_shape));
    let parts = |x: &Array| {
        let axis = at - (ndim - x.ndim());
        let part = |i: usize| broadcast_to(&slice_axis(x, axis, i, 1, 1), shape.clone());
        (part(0), part(1), (x.shape()[axis] == 3).then(|| part(2)))
    };
    let ((a0, a1, a2), (b0, b1, b2)) = (parts(&a), parts(&b));
    // Products with a third element that is not there are zero.
    let difference = |p: Option<Array>, q: Option<Array>| match (p, q) {
        (Some(p), Some(q)) => subtract(&p, &q),
        (Some(p), None) => p,
        (None, Some(q)) => negative(&q),
        (None, None) => zeros(shape.clone(), dtype),
    };
    let times = |x: &Array, y: &Option<Array>| y.as_ref().map(|y| multiply(x, y));
    let first = difference(times(&a1, &b2), times(&b1, &a2));
    let second = difference(times(&b0, &a2), times(&a0, &b2));
    let third = subtract(&multiply(&a0, &b1), &multiply(&a1, &b0));
    concatenate(&[&first, &second, &third], at as i64)
}
