//! What stands between brackets in Python: `a.i((.., 1..3))` selects, `a.at(0).add(1)` gives a changed copy.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use smallvec::SmallVec;

use super::{Accumulate, Index, Operand, index, slice_accumulate, slice_update};
use crate::array::{Array, Integer};

/// A new axis of size one, in a list of indices.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(array![1, 2].i((NewAxis, ..)).shape(), [1, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// All axes that no other index names, in a list of indices.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(array![[1, 2], [3, 4]].i((Ellipsis, 0)).to_vec::<i32>().unwrap(), [1, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

impl From<NewAxis> for Index {
    fn from(_: NewAxis) -> Index {
        Index::NewAxis
    }
}

impl From<Ellipsis> for Index {
    fn from(_: Ellipsis) -> Index {
        Index::Ellipsis
    }
}

/// Ranges with steps.
pub trait Step: Into<Index> + Sized {
    /// Every `step`-th position of a range; a negative step runs backwards, from the end if the range has no start.
    ///
    /// ```
    /// use pellucid::prelude::*;
    /// let a = array![0, 1, 2, 3, 4];
    /// assert_eq!(a.i((1..).by(2)).to_vec::<i32>().unwrap(), [1, 3]);
    /// assert_eq!(a.i((..).by(-2)).to_vec::<i32>().unwrap(), [4, 2, 0]);
    /// ```
    fn by(self, step: impl Integer) -> Index {
        match self.into() {
            Index::Slice { start, stop, .. } => Index::Slice { start, stop, step: step.to_i64() },
            other => other,
        }
    }
}

impl Step for RangeFull {}

/// What [`Array::i`] and [`Array::at`] take: one index or a tuple of them, each an integer, a range, an array of
/// integers, [`NewAxis`], [`Ellipsis`] or an [`Index`]; or a list of [`Index`]es.
pub trait Indices {
    /// The list.
    fn indices(self) -> SmallVec<[Index; 4]>;
}

macro_rules! single {
    ($($ty:ty),*) => {
        $(impl Indices for $ty {
            fn indices(self) -> SmallVec<[Index; 4]> {
                smallvec::smallvec![self.into()]
            }
        })*
    };
}
single!(Array, &Array, RangeFull, NewAxis, Ellipsis, Index);

macro_rules! positions {
    ($($ty:ty),*) => {
        $(single!(
            $ty,
            Range<$ty>,
            RangeFrom<$ty>,
            RangeTo<$ty>,
            RangeInclusive<$ty>,
            RangeToInclusive<$ty>
        );
        impl Step for Range<$ty> {}
        impl Step for RangeFrom<$ty> {}
        impl Step for RangeTo<$ty> {}
        impl Step for RangeInclusive<$ty> {}
        impl Step for RangeToInclusive<$ty> {})*
    };
}
positions!(i32, i64, usize);

impl Indices for () {
    fn indices(self) -> SmallVec<[Index; 4]> {
        SmallVec::new()
    }
}

impl Indices for &[Index] {
    fn indices(self) -> SmallVec<[Index; 4]> {
        self.iter().cloned().collect()
    }
}

impl Indices for Vec<Index> {
    fn indices(self) -> SmallVec<[Index; 4]> {
        self.into_iter().collect()
    }
}

impl<const N: usize> Indices for [Index; N] {
    fn indices(self) -> SmallVec<[Index; 4]> {
        self.into_iter().collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {
        $(impl<$($name: Into<Index>),*> Indices for ($($name,)*) {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn indices(self) -> SmallVec<[Index; 4]> {
                let ($($name,)*) = self;
                [$($name.into()),*].into_iter().collect()
            }
        })*
    };
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

/// A part of an array that is to be changed; made by [`Array::at`].
#[derive(Clone, Debug)]
pub struct At<'a> {
    array: &'a Array,
    indices: SmallVec<[Index; 4]>,
}

macro_rules! changes {
    ($($name:ident $how:ident $doc:literal;)*) => {
        impl At<'_> {
            $(#[doc = $doc]
            #[doc = ""]
            /// All updates count where index arrays name a place more than once. See [`slice_accumulate`].
            #[track_caller]
            pub fn $name<'v>(&self, values: impl Into<Operand<'v>>) -> Array {
                slice_accumulate(self.array, values, &self.indices, Accumulate::$how)
            })*
        }
    };
}

changes! {
    add Add "A copy in which values are added to the part.";
    subtract Subtract "A copy in which values are subtracted from the part.";
    multiply Multiply "A copy in which the part is multiplied by values.";
    divide Divide "A copy in which the part is divided by values.";
    maximum Maximum "A copy in which the part is at least as large as values.";
    minimum Minimum "A copy in which the part is at most as large as values.";
}

impl At<'_> {
    /// A copy in which the part is replaced by values. See [`slice_update`].
    #[track_caller]
    pub fn set<'v>(&self, values: impl Into<Operand<'v>>) -> Array {
        slice_update(self.array, values, &self.indices)
    }

    /// The part itself.
    #[track_caller]
    pub fn get(&self) -> Array {
        index(self.array, &self.indices)
    }
}

impl Array {
    /// The part that indices select, as brackets do in Python.
    ///
    /// ```
    /// use pellucid::prelude::*;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(a.i(1).to_vec::<i32>()?, [4, 5, 6]);
    /// assert_eq!(a.i((.., 1..3)).shape(), [2, 2]);
    /// assert_eq!(a.i((0, -1)).item::<i32>()?, 3);
    /// assert_eq!(a.i((.., &array![2, 0])).to_vec::<i32>()?, [3, 1, 6, 4]);
    /// assert!(a.i(2).check().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The array fails as that of [`index`] does.
    #[track_caller]
    pub fn i(&self, indices: impl Indices) -> Array {
        index(self, &indices.indices())
    }

    /// A part that is to be changed: `set`, `add`, `multiply`, … give a changed copy.
    ///
    /// ```
    /// use pellucid::prelude::*;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = array![[1, 2], [3, 4]];
    /// assert_eq!(a.at((.., 0)).set(0).to_vec::<i32>()?, [0, 2, 0, 4]);
    /// assert_eq!(a.at(&array![1, 1]).add(10).to_vec::<i32>()?, [1, 2, 23, 24]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(&self, indices: impl Indices) -> At<'_> {
        At { array: self, indices: indices.indices() }
    }
}
