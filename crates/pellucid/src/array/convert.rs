//! Arrays and the types of Rust's own: sums of iterators, vectors, numbers, slices, and what is written with serde.

use std::iter::Sum;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Array, Dtype, Element, HostMemory, Shape, Sizes};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::op::Scalar;
use crate::ops;

// What a panic interrupts leaves no array half made: nodes are written as a whole, and states behind a lock that a
// panic releases.
impl UnwindSafe for Array {}
impl RefUnwindSafe for Array {}

macro_rules! constructors {
    ($($name:ident $doc:literal;)*) => {
        $(#[doc = $doc]
        ///
        /// ```
        #[doc = concat!("let a = pellucid::Array::", stringify!($name), "((2, 3));")]
        /// assert_eq!((a.shape(), a.dtype()), (&[2, 3][..], pellucid::Dtype::Float32));
        /// ```
        #[track_caller]
        pub fn $name(shape: impl Into<Sizes>) -> Array {
            ops::$name(shape, Dtype::Float32)
        })*
    };
}

impl Array {
    constructors! {
        zeros "Zeros of `float32`; [`zeros`] takes the type.";
        ones "Ones of `float32`; [`ones`] takes the type.";
    }

    /// A number everywhere, of the type it has on its own; see [`ops::full`].
    ///
    /// ```
    /// use pellucid::Array;
    /// assert_eq!(Array::full([2], 7).to_vec::<i32>().unwrap(), [7, 7]);
    /// ```
    #[track_caller]
    pub fn full<'v>(shape: impl Into<Sizes>, value: impl Into<ops::Operand<'v>>) -> Array {
        ops::full(shape, value, None)
    }

    /// `0, 1, …` up to but not including `stop`; see [`ops::arange`] for other starts and steps.
    ///
    /// ```
    /// use pellucid::Array;
    /// assert_eq!(Array::arange(3).to_vec::<i32>().unwrap(), [0, 1, 2]);
    /// assert_eq!(Array::arange(2.0).to_vec::<f32>().unwrap(), [0.0, 1.0]);
    /// ```
    #[track_caller]
    pub fn arange(stop: impl Into<Scalar>) -> Array {
        let stop = stop.into();
        match stop {
            Scalar::Float(_) => ops::arange(0.0, stop, 1.0, None),
            _ => ops::arange(0, stop, 1, None),
        }
    }

    /// `num` numbers from `start` to `stop`, evenly spaced, as `float32`; see [`ops::linspace`].
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, num: usize) -> Array {
        ops::linspace(start, stop, num, true, Dtype::Float32)
    }

    /// The square array of `float32` with ones on the diagonal; see [`ops::eye`].
    #[track_caller]
    pub fn eye(n: usize) -> Array {
        ops::identity(n, Dtype::Float32)
    }

    /// The device it is computed on.
    ///
    /// ```
    /// use pellucid::{Array, default_device};
    /// assert_eq!(Array::zeros([2]).device(), default_device());
    /// ```
    pub fn device(&self) -> Device {
        self.stream().device()
    }

    /// The size of an axis, counted from the end if negative; 0 if there is no such axis.
    ///
    /// ```
    /// use pellucid::Array;
    /// let a = Array::zeros([2, 3]);
    /// assert_eq!((a.dim(0), a.dim(-1), a.dim(5)), (2, 3, 0));
    /// ```
    pub fn dim(&self, axis: impl super::Integer) -> usize {
        let axis = axis.to_i64();
        let place = if axis < 0 { axis.saturating_add(self.ndim() as i64) } else { axis };
        usize::try_from(place).ok().and_then(|place| self.shape().get(place).copied()).unwrap_or(0)
    }

    /// The rows of a matrix, evaluated if they are not yet.
    ///
    /// ```
    /// use pellucid::array;
    /// # fn main() -> pellucid::Result<()> {
    /// assert_eq!(array![[1, 2], [3, 4]].to_vec2::<i32>()?, [[1, 2], [3, 4]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not two axes; as [`to_vec`](Array::to_vec).
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        self.check()?;
        let &[rows, columns] = self.shape() else {
            let message = format!("needs two axes, not those of shape {}; use to_vec", self.shape_ref());
            return Err(Error::shape("to_vec2", message));
        };
        let elements = self.to_vec::<T>()?;
        Ok((0..rows).map(|row| elements[row * columns..(row + 1) * columns].to_vec()).collect())
    }

    /// The elements as a slice, without a copy, evaluated if they are not yet. Arrays that are not row-major in host
    /// memory are made so first.
    ///
    /// ```
    /// use pellucid::array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = array![3.0, 1.0, 2.0];
    /// assert_eq!(a.as_slice::<f32>()?.iter().sum::<f32>(), 6.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Dtype`] if `T` is not the array's type, or is `bool`, which is stored as a byte (read `u8` of a view);
    /// what made the evaluation impossible.
    pub fn as_slice<T: Element>(&self) -> Result<HostSlice<T>> {
        self.check()?;
        if T::DTYPE != self.dtype() || T::DTYPE == Dtype::Bool {
            let message = format!("the array holds {}, not {}, as plain numbers", self.dtype(), T::DTYPE);
            return Err(Error::dtype("as_slice", message));
        }
        let memory = self.host_memory()?;
        let memory = match memory.contiguous() {
            Some(_) => memory,
            None => ops::contiguous(self).host_memory()?,
        };
        let (elements, wanted) = (self.size(), self.nbytes());
        match memory.contiguous() {
            Some(bytes) if bytes.len() == wanted => {
                Ok(HostSlice { memory, elements, of: std::marker::PhantomData })
            }
            _ => Err(Error::internal("as_slice", format!("{self:?} is not in one piece"))),
        }
    }
}

/// The elements of an array as a slice; made by [`Array::as_slice`]. They stay as long as this lives.
pub struct HostSlice<T> {
    memory: HostMemory,
    elements: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Element> Deref for HostSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.elements == 0 {
            return &[];
        }
        // SAFETY: row-major elements of this very type, which is plain numbers (`Element` is sealed, and `bool` is
        // refused); memory of arrays is aligned for all of them, and is kept alive and unchanged by `memory`.
        unsafe { std::slice::from_raw_parts(self.memory.ptr().cast::<T>(), self.elements) }
    }
}

/// Zeros of a Rust type.
///
/// ```
/// use pellucid::{Dtype, zeros};
/// assert_eq!(zeros::<i32>([2, 2]).dtype(), Dtype::Int32);
/// ```
#[track_caller]
pub fn zeros<T: Element>(shape: impl Into<Sizes>) -> Array {
    ops::zeros(shape, T::DTYPE)
}

/// Ones of a Rust type.
///
/// ```
/// use pellucid::ones;
/// assert_eq!(ones::<f32>(3).to_vec::<f32>().unwrap(), [1.0; 3]);
/// ```
#[track_caller]
pub fn ones<T: Element>(shape: impl Into<Sizes>) -> Array {
    ops::ones(shape, T::DTYPE)
}

impl Sum for Array {
    /// The sum of the arrays, broadcast with each other; of none, a zero.
    #[track_caller]
    fn sum<I: Iterator<Item = Array>>(mut arrays: I) -> Array {
        let Some(mut total) = arrays.next() else { return ops::zeros((), Dtype::Float32) };
        for array in arrays {
            total = ops::add(&total, &array);
        }
        total
    }
}

impl<'a> Sum<&'a Array> for Array {
    #[track_caller]
    fn sum<I: Iterator<Item = &'a Array>>(arrays: I) -> Array {
        arrays.cloned().sum()
    }
}

impl<T: Element> TryFrom<&Array> for Vec<T> {
    type Error = Error;

    /// [`Array::to_vec`].
    fn try_from(array: &Array) -> Result<Vec<T>> {
        array.to_vec()
    }
}

impl<T: Element> TryFrom<Array> for Vec<T> {
    type Error = Error;

    /// [`Array::to_vec`].
    fn try_from(array: Array) -> Result<Vec<T>> {
        array.to_vec()
    }
}

macro_rules! single_elements {
    ($($ty:ty),*) => {
        $(impl TryFrom<&Array> for $ty {
            type Error = Error;

            /// [`Array::item`].
            fn try_from(array: &Array) -> Result<$ty> {
                array.item()
            }
        }
        impl TryFrom<Array> for $ty {
            type Error = Error;

            /// [`Array::item`].
            fn try_from(array: Array) -> Result<$ty> {
                array.item()
            }
        })*
    };
}
single_elements!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64,
    half::f16,
    half::bf16,
    num_complex::Complex32
);

#[derive(Serialize, Deserialize)]
struct Written {
    dtype: Dtype,
    shape: Shape,
    bytes: Vec<u8>,
}

impl Serialize for Array {
    /// Type, shape and bytes in the machine's order; evaluated if they are not yet.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes().map_err(serde::ser::Error::custom)?;
        Written { dtype: self.dtype(), shape: self.shape_ref().clone(), bytes }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Array, D::Error> {
        let Written { dtype, shape, bytes } = Written::deserialize(deserializer)?;
        let array = Array::from_raw(&bytes, shape, dtype);
        array.check().map_err(serde::de::Error::custom)?;
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_become_numbers_vectors_and_sums() -> Result<()> {
        assert_eq!(f32::try_from(crate::array![2.5])?, 2.5);
        assert_eq!(Vec::<i32>::try_from(&crate::array![1, 2])?, [1, 2]);
        assert!(i32::try_from(crate::array![1, 2]).is_err());
        let total: Array = (0..3).map(|i| crate::array![i, 1]).sum();
        assert_eq!(total.to_vec::<i32>()?, [3, 3]);
        assert_eq!(Vec::<Array>::new().iter().sum::<Array>().item::<f32>()?, 0.0);
        Ok(())
    }

    #[test]
    fn slices_are_where_the_elements_are_and_of_their_type() -> Result<()> {
        let a = crate::array![[1, 2, 3], [4, 5, 6]];
        assert_eq!(a.as_slice::<i32>()?.as_ptr().cast(), a.host_memory()?.ptr());
        assert_eq!(*a.t().as_slice::<i32>()?, [1, 4, 2, 5, 3, 6]);
        assert_eq!(a.i((.., 1..1)).as_slice::<i32>()?.len(), 0);
        assert!(a.as_slice::<f32>().is_err());
        assert!(crate::array![true].as_slice::<bool>().is_err());
        assert!(a.reshape([5]).as_slice::<i32>().is_err());
        Ok(())
    }

    #[test]
    fn what_is_written_with_serde_is_read_again() -> Result<(), serde_json::Error> {
        let a = crate::array![[1.5, f32::NEG_INFINITY], [0.0, -1.0]].t();
        let read: Array = serde_json::from_str(&serde_json::to_string(&a)?)?;
        assert_eq!(
            (read.shape(), read.dtype(), read.to_bytes().ok()),
            (a.shape(), a.dtype(), a.to_bytes().ok())
        );
        assert!(serde_json::to_string(&a.reshape([3])).is_err());
        assert!(serde_json::from_str::<Array>(r#"{"dtype":"float32","shape":[2],"bytes":[1]}"#).is_err());
        Ok(())
    }
}
