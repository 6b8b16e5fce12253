//! Selecting parts of arrays, and replacing them.
//!
//! [`Index`] says what to select along an axis; a list of them is read as NumPy reads what stands between brackets.
//! Positions known now are checked now, those in arrays when they are used.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::sync::Arc;

use super::operand::Operand;
use crate::array::{Array, Dtype, Sound};
use crate::eval::Failure;

mod accumulate;
mod select;
mod take;

pub use accumulate::{Accumulate, slice_accumulate};
pub use select::{index, slice_update};
pub use take::{put_along_axis, take, take_along_axis};

/// What to select along one axis.
///
/// Integers, ranges and arrays of integers convert into it; the macro [`idx!`](crate::idx) makes a list.
///
/// ```
/// use pellucid::{Dtype, idx, ops, ops::Index};
/// # fn main() -> pellucid::Result<()> {
/// let a = ops::zeros([4, 5, 6], Dtype::Float32);
/// assert_eq!(a.index(idx![0]).shape(), &[5, 6]);
/// assert_eq!(a.index(idx![1..3, .., -1]).shape(), &[2, 5]);
/// assert_eq!(a.index(idx![Index::Ellipsis, Index::step(None, None, -2)]).shape(), &[4, 5, 3]);
/// assert_eq!(a.index(idx![Index::NewAxis, 2..]).shape(), &[1, 2, 5, 6]);
/// assert!(a.index(idx![4]).check().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Index {
    /// One position; the axis disappears. Negative ones count from the end.
    Int(i64),
    /// Positions from `start` to before `stop` in steps of `step`, as Python reads them: negative ones count from the
    /// end, and what is outside is left out.
    Slice {
        /// First position; the end the steps come from if not given.
        start: Option<i64>,
        /// The first position left out; the end the steps go to if not given.
        stop: Option<i64>,
        /// Distance between positions; negative runs backwards.
        step: i64,
    },
    /// A new axis of size one.
    NewAxis,
    /// All axes that no other index names.
    Ellipsis,
    /// The positions in an array of integers. Several are broadcast with each other.
    Array(Array),
}

impl Index {
    /// Positions from `start` to before `stop` in steps of `step`.
    pub fn step(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> Index {
        Index::Slice { start: start.into(), stop: stop.into(), step }
    }
}

/// A list of [`Index`]es, each written as an integer, a range, an array or an `Index`.
///
/// ```
/// use pellucid::{Array, idx};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(a.index(idx![.., 1]).to_vec::<i32>()?, [2, 5]);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! idx {
    ($($index:expr),* $(,)?) => {
        [$($crate::ops::Index::from($index)),*]
    };
}

impl From<&Array> for Index {
    fn from(a: &Array) -> Index {
        Index::Array(a.clone())
    }
}

impl From<Array> for Index {
    fn from(a: Array) -> Index {
        Index::Array(a)
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::step(None, None, 1)
    }
}

impl Sound for &[Index] {
    type Value = ();

    fn sound(self) -> Result<(), Arc<Failure>> {
        let failure = |index: &Index| match index {
            Index::Array(at) => at.known_failure(),
            _ => None,
        };
        self.iter().find_map(failure).map_or(Ok(()), Err)
    }
}

/// Positions too large for 63 bits are outside of every array, as the largest one is.
trait Position: Copy {
    fn position(self) -> i64;
    fn after(self) -> Option<i64>;
}

macro_rules! positions {
    ($($ty:ty),*) => {
        $(impl Position for $ty {
            fn position(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }

            /// The position behind it; −1 is the last one, so nothing is behind it.
            fn after(self) -> Option<i64> {
                self.position().checked_add(1).filter(|&p| p != 0)
            }
        }
        impl From<$ty> for Index {
            fn from(at: $ty) -> Index {
                Index::Int(at.position())
            }
        }
        impl From<Range<$ty>> for Index {
            fn from(r: Range<$ty>) -> Index {
                Index::step(r.start.position(), r.end.position(), 1)
            }
        }
        impl From<RangeFrom<$ty>> for Index {
            fn from(r: RangeFrom<$ty>) -> Index {
                Index::step(r.start.position(), None, 1)
            }
        }
        impl From<RangeTo<$ty>> for Index {
            fn from(r: RangeTo<$ty>) -> Index {
                Index::step(None, r.end.position(), 1)
            }
        }
        impl From<RangeInclusive<$ty>> for Index {
            fn from(r: RangeInclusive<$ty>) -> Index {
                Index::step(r.start().position(), r.end().after(), 1)
            }
        }
        impl From<RangeToInclusive<$ty>> for Index {
            fn from(r: RangeToInclusive<$ty>) -> Index {
                Index::step(None, r.end.after(), 1)
            }
        })*
    };
}
positions!(i32, i64, usize);

/// New values in the type of the array they go to; a real number loses its fraction in an integer array.
#[track_caller]
fn value(update: Operand, dtype: Dtype) -> Array {
    match update.number() {
        Some(_) => super::full((), update, dtype),
        None => update.to_array("slice_update", dtype),
    }
}
