//! Padding at the ends of axes.

use smallvec::smallvec;

use super::elementwise::{clip, minimum, remainder, subtract};
use super::index::take;
use super::operand::Operand;
use super::{cast, counting};
use crate::array::{Array, Dtype, Inputs, Shape, fail, ok};
use crate::error::Error;
use crate::op::{Dims, Op};

/// What [`pad`] puts at the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PadMode {
    /// One value.
    #[default]
    Constant,
    /// The element at the edge.
    Edge,
    /// The elements mirrored at the edge, which is not repeated.
    Reflect,
    /// The elements mirrored at the edge, which is repeated.
    Symmetric,
}

/// How many elements [`pad`] adds before and after each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PadWidth {
    /// As many before and after every axis.
    Same(usize, usize),
    /// For each axis, before and after.
    Each(Vec<(usize, usize)>),
}

impl From<usize> for PadWidth {
    fn from(both: usize) -> PadWidth {
        PadWidth::Same(both, both)
    }
}

impl From<(usize, usize)> for PadWidth {
    fn from((before, after): (usize, usize)) -> PadWidth {
        PadWidth::Same(before, after)
    }
}

impl From<&[(usize, usize)]> for PadWidth {
    fn from(each: &[(usize, usize)]) -> PadWidth {
        PadWidth::Each(each.to_vec())
    }
}

impl<const N: usize> From<[(usize, usize); N]> for PadWidth {
    fn from(each: [(usize, usize); N]) -> PadWidth {
        PadWidth::Each(each.to_vec())
    }
}

impl From<Vec<(usize, usize)>> for PadWidth {
    fn from(each: Vec<(usize, usize)>) -> PadWidth {
        PadWidth::Each(each)
    }
}

/// Elements added at the ends of axes. `value` is used by [`PadMode::Constant`] only, in the array's type.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([1, 2]);
/// assert_eq!(ops::pad(&a, (1, 2), ops::PadMode::Constant, 0).to_vec::<i32>()?, [0, 1, 2, 0, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if there is not one width for each axis, [`Error::Shape`] if the value is not a single element,
/// there is nothing to repeat, or the result does not fit 64-bit addresses.
#[track_caller]
pub fn pad<'v>(a: &Array, width: impl Into<PadWidth>, mode: PadMode, value: impl Into<Operand<'v>>) -> Array {
    let value = value.into();
    ok!(a);
    ok!(&value);
    let widths = match width.into() {
        PadWidth::Same(before, after) => vec![(before, after); a.ndim()],
        // One pair stands for all axes.
        PadWidth::Each(each) if each.len() == 1 => vec![each[0]; a.ndim()],
        PadWidth::Each(each) => each,
    };
    if widths.len() != a.ndim() {
        let message =
            format!("{} widths given for the {} axes of shape {}", widths.len(), a.ndim(), a.shape_ref());
        return fail(Error::argument("pad", message));
    }
    if mode == PadMode::Constant {
        if !value.shape().is_empty() {
            let message = format!("the value must be a single element, not of shape {}", value.shape());
            return fail(Error::shape("pad", message));
        }
        let value = super::full((), value, a.dtype());
        let (low, high): (Dims, Dims) = widths.into_iter().unzip();
        let inputs: Inputs = smallvec![a.clone(), value];
        return Array::from_op(Op::Pad { low, high }, inputs);
    }
    let mut result = a.clone();
    for (axis, (before, after)) in widths.into_iter().enumerate() {
        if (before, after) != (0, 0) {
            let places = places(mode, a, axis, before, after);
            result = take(&result, &places, axis as i64);
        }
    }
    result
}

/// For each position of the padded axis, the position of the element it repeats.
#[track_caller]
fn places(mode: PadMode, a: &Array, axis: usize, before: usize, after: usize) -> Array {
    ok!(a);
    let size = a.shape()[axis];
    if size == 0 {
        let message = format!("axis {axis} of shape {} has no elements to repeat", a.shape_ref());
        return fail(Error::shape("pad", message));
    }
    let len = size.saturating_add(before).saturating_add(after);
    ok!(Shape::from(len).check("pad", 2 * a.itemsize().max(8)));
    let dtype = if i32::try_from(2 * len).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
    let at = subtract(&cast(&counting(len), dtype), before);
    match mode {
        PadMode::Constant | PadMode::Edge => clip(&at, 0, size - 1),
        PadMode::Reflect => {
            let period = (2 * size - 2).max(1);
            let place = remainder(&at, period);
            minimum(&place, subtract(period, &place))
        }
        PadMode::Symmetric => {
            let place = remainder(&at, 2 * size);
            minimum(&place, subtract(2 * size - 1, &place))
        }
    }
}
