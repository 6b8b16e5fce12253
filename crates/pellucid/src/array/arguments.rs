//! Arguments as people write them: sizes, axes and lists of arrays from whatever Rust type is at hand.

use std::ops::{Range, RangeFull};

use smallvec::SmallVec;

use super::{Array, Axes, Shape};
use crate::error::{Error, Result};
use crate::eval::AsArray;

/// An integer of any type, as a size, a position or an axis. What does not fit 63 bits counts as the largest number
/// that does, which is outside of every array.
pub trait Integer: Copy + private::Sealed {
    /// The number.
    fn to_i64(self) -> i64;

    #[doc(hidden)]
    fn to_i128(self) -> i128;
}

mod private {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($ty:ty),*) => {
        $(impl private::Sealed for $ty {}
        impl Integer for $ty {
            #[inline]
            #[allow(clippy::unnecessary_fallible_conversions, reason = "one body for all types")]
            fn to_i64(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }

            #[inline]
            fn to_i128(self) -> i128 {
                self as i128
            }
        })*
    };
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// The sizes of axes as they are written: an integer, a tuple, an array, a slice, a `Vec` or a [`Shape`], of any integer
/// type. `()` has no axes. Where a function says so, one size may be −1.
///
/// ```
/// use pellucid::ops;
/// use pellucid::Dtype::Float32;
/// let n = 2usize;
/// let a = ops::zeros((n, 6), Float32);
/// assert_eq!(ops::reshape(&a, (n, 2, -1)).shape(), [2, 2, 3]);
/// assert_eq!(ops::reshape(&a, a.shape()).shape(), a.shape());
/// assert_eq!(ops::zeros((), Float32).shape(), [0usize; 0]);
/// assert!(ops::zeros([2, -1], Float32).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(SmallVec<[i128; 4]>);

impl Sizes {
    /// The numbers, for functions to which some of them may mean something else than a size.
    pub(crate) fn numbers(&self) -> SmallVec<[i64; 4]> {
        self.0.iter().map(|&size| saturated(size)).collect()
    }

    /// The sizes, none of which may be negative.
    pub(crate) fn shape(&self, function: &'static str) -> Result<Shape> {
        let size = |&size: &i128| {
            let wrong = || format!("sizes must not be negative, but {size} is in {:?}", &*self.0);
            usize::try_from(size).map_err(|_| Error::shape(function, wrong()))
        };
        self.0.iter().map(size).collect()
    }
}

fn saturated(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

impl From<()> for Sizes {
    fn from((): ()) -> Sizes {
        Sizes(SmallVec::new())
    }
}

impl From<Shape> for Sizes {
    fn from(shape: Shape) -> Sizes {
        Sizes::from(&*shape)
    }
}

impl From<&Shape> for Sizes {
    fn from(shape: &Shape) -> Sizes {
        Sizes::from(&**shape)
    }
}

/// One axis, or none: `..` or `None` stand for the flat array.
///
/// ```
/// use pellucid::{array, ops};
/// let a = array![[3, 1], [2, 4]];
/// assert_eq!(ops::sort(&a, 1).shape(), [2, 2]);
/// assert_eq!(ops::sort(&a, ..).shape(), [4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis(pub(crate) Option<i64>);

impl From<RangeFull> for Axis {
    fn from(_: RangeFull) -> Axis {
        Axis(None)
    }
}

impl From<Option<i64>> for Axis {
    fn from(axis: Option<i64>) -> Axis {
        Axis(axis)
    }
}

impl<T: Integer> From<T> for Axis {
    fn from(axis: T) -> Axis {
        Axis(Some(axis.to_i64()))
    }
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Axes {
        Axes::All
    }
}

impl From<Option<i64>> for Axes {
    fn from(axis: Option<i64>) -> Axes {
        axis.map_or(Axes::All, Axes::from)
    }
}

impl<T: Integer> From<Range<T>> for Axes {
    /// The axes from the first up to but not including the last.
    fn from(range: Range<T>) -> Axes {
        // More than there can be axes are refused when they are used.
        Axes::List((range.start.to_i64()..range.end.to_i64()).take(Shape::MAX_AXES + 1).collect())
    }
}

/// What is made from a list of integers.
trait FromIntegers {
    fn from_integers(list: impl Iterator<Item = i128>) -> Self;
}

impl FromIntegers for Sizes {
    fn from_integers(list: impl Iterator<Item = i128>) -> Sizes {
        Sizes(list.collect())
    }
}

impl FromIntegers for Axes {
    fn from_integers(list: impl Iterator<Item = i128>) -> Axes {
        Axes::List(list.map(saturated).collect())
    }
}

macro_rules! lists {
    ($($target:ty),*) => {
        $(impl<T: Integer> From<T> for $target {
            fn from(one: T) -> Self {
                Self::from(&[one][..])
            }
        }
        impl<T: Integer> From<&[T]> for $target {
            fn from(list: &[T]) -> Self {
                Self::from_integers(list.iter().map(|i| i.to_i128()))
            }
        }
        impl<T: Integer, const N: usize> From<[T; N]> for $target {
            fn from(list: [T; N]) -> Self {
                Self::from(&list[..])
            }
        }
        impl<T: Integer, const N: usize> From<&[T; N]> for $target {
            fn from(list: &[T; N]) -> Self {
                Self::from(&list[..])
            }
        }
        impl<T: Integer> From<Vec<T>> for $target {
            fn from(list: Vec<T>) -> Self {
                Self::from(&list[..])
            }
        }
        impl<T: Integer> From<&Vec<T>> for $target {
            fn from(list: &Vec<T>) -> Self {
                Self::from(&list[..])
            }
        }
        tuples!($target: A);
        tuples!($target: A B);
        tuples!($target: A B C);
        tuples!($target: A B C D);
        tuples!($target: A B C D E);
        tuples!($target: A B C D E F);)*
    };
}

macro_rules! tuples {
    ($target:ty: $($name:ident)*) => {
        impl<$($name: Integer),*> From<($($name,)*)> for $target {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Self::from_integers([$($name.to_i128()),*].into_iter())
            }
        }
    };
}

lists!(Sizes, Axes);

/// A list of arrays: a slice, an array, a `Vec` or a tuple, of arrays or references to them.
///
/// ```
/// use pellucid::{array, ops};
/// let (a, b) = (array![1, 2], array![3]);
/// assert_eq!(ops::concatenate([&a, &b], 0).shape(), [3]);
/// assert_eq!(ops::concatenate((&a, &b, &a), 0).shape(), [5]);
/// assert_eq!(ops::stack(vec![a.clone(), a], 0).shape(), [2, 2]);
/// ```
pub trait ArrayList {
    /// Handles of the arrays.
    fn arrays(self) -> SmallVec<[Array; 4]>;
}

impl<A: AsArray> ArrayList for &[A] {
    fn arrays(self) -> SmallVec<[Array; 4]> {
        self.iter().map(|a| a.as_array().clone()).collect()
    }
}

impl<A: AsArray, const N: usize> ArrayList for &[A; N] {
    fn arrays(self) -> SmallVec<[Array; 4]> {
        self[..].arrays()
    }
}

impl<A: AsArray, const N: usize> ArrayList for [A; N] {
    fn arrays(self) -> SmallVec<[Array; 4]> {
        self[..].arrays()
    }
}

impl<A: AsArray> ArrayList for Vec<A> {
    fn arrays(self) -> SmallVec<[Array; 4]> {
        self[..].arrays()
    }
}

impl<A: AsArray> ArrayList for &Vec<A> {
    fn arrays(self) -> SmallVec<[Array; 4]> {
        self[..].arrays()
    }
}

/// A list of shapes: a slice, an array or a `Vec` of anything that [`Sizes`] are made from, or a tuple, whose parts may be
/// of different types.
///
/// ```
/// # use pellucid::gpu::ShapeList;
/// assert_eq!([[2, 3], [4, 5]].shapes().len(), 2);
/// assert_eq!(([2, 3], (), 7).shapes().len(), 3);
/// ```
pub trait ShapeList {
    /// The sizes of each.
    fn shapes(self) -> Vec<Sizes>;
}

impl<S: Clone + Into<Sizes>> ShapeList for &[S] {
    fn shapes(self) -> Vec<Sizes> {
        self.iter().map(|shape| shape.clone().into()).collect()
    }
}

impl<S: Clone + Into<Sizes>, const N: usize> ShapeList for &[S; N] {
    fn shapes(self) -> Vec<Sizes> {
        self[..].shapes()
    }
}

impl<S: Into<Sizes>, const N: usize> ShapeList for [S; N] {
    fn shapes(self) -> Vec<Sizes> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<S: Clone + Into<Sizes>> ShapeList for &Vec<S> {
    fn shapes(self) -> Vec<Sizes> {
        self[..].shapes()
    }
}

impl<S: Into<Sizes>> ShapeList for Vec<S> {
    fn shapes(self) -> Vec<Sizes> {
        self.into_iter().map(Into::into).collect()
    }
}

macro_rules! array_tuples {
    ($($($name:ident)*;)*) => {
        $(impl<$($name: AsArray),*> ArrayList for ($($name,)*) {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn arrays(self) -> SmallVec<[Array; 4]> {
                let ($($name,)*) = &self;
                [$($name.as_array()),*].into_iter().cloned().collect()
            }
        }
        impl<$($name: Into<Sizes>),*> ShapeList for ($($name,)*) {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn shapes(self) -> Vec<Sizes> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        })*
    };
}
array_tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}
