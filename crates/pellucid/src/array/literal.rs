//! The macro [`array!`](crate::array!): arrays as they are written.

use half::{bf16, f16};
use num_complex::Complex32;

use super::{Array, Element, Shape};

/// An array of the numbers between the brackets, nested as they are. Real numbers give `float32`, integers `int32`,
/// unless they have a type of their own; [`Array::from`] keeps `f64`.
///
/// ```
/// use pellucid::{Dtype, array};
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!((a.shape(), a.dtype()), (&[2, 2][..], Dtype::Float32));
/// assert_eq!(array![1, 2, 3].dtype(), Dtype::Int32);
/// assert_eq!(array![1u8, 2].dtype(), Dtype::Uint8);
/// assert_eq!(array![0.5; 3].shape(), [3]);
/// assert_eq!(array![7.0].shape(), [1]); // a number without axes: Array::scalar(7.0)
/// ```
#[macro_export]
macro_rules! array {
    ($value:expr; $count:expr) => {
        $crate::array::literal([$value; $count])
    };
    ($($value:expr),* $(,)?) => {
        $crate::array::literal([$($value),*])
    };
}

/// What can stand between the brackets of [`array!`](crate::array!): a number, or arrays of them.
pub trait Literal {
    #[doc(hidden)]
    type Element: Element;
    #[doc(hidden)]
    fn sizes(shape: &mut Vec<usize>);
    #[doc(hidden)]
    fn push(self, elements: &mut Vec<Self::Element>);
}

macro_rules! numbers {
    ($($ty:ty => $element:ty),*) => {
        $(impl Literal for $ty {
            type Element = $element;
            fn sizes(_: &mut Vec<usize>) {}
            fn push(self, elements: &mut Vec<$element>) {
                elements.push(self as $element);
            }
        })*
    };
}
numbers!(i8 => i8, i16 => i16, i32 => i32, i64 => i64, u8 => u8, u16 => u16, u32 => u32, u64 => u64, f32 => f32,
    f64 => f32, isize => i64, usize => i64, bool => bool, f16 => f16, bf16 => bf16, Complex32 => Complex32);

impl<T: Literal, const N: usize> Literal for [T; N] {
    type Element = T::Element;

    fn sizes(shape: &mut Vec<usize>) {
        shape.push(N);
        T::sizes(shape);
    }

    fn push(self, elements: &mut Vec<T::Element>) {
        self.into_iter().for_each(|part| part.push(elements));
    }
}

/// The array that [`array!`](crate::array!) makes.
#[track_caller]
pub fn literal<L: Literal>(value: L) -> Array {
    let (mut shape, mut elements) = (Vec::new(), Vec::new());
    L::sizes(&mut shape);
    value.push(&mut elements);
    Array::from_slice(&elements, Shape::from(shape))
}
