//! The functions that arrays also have as methods, as in MLX.

use super::{Cuts, Index};
use crate::array::{Array, Axes, Dtype};
use crate::ops;

macro_rules! methods {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty, $doc:literal;)*) => {
        impl Array {
            $(#[doc = $doc]
            #[doc = concat!("See [`ops::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// Those of the function.
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> $out {
                ops::$name(self $(, $arg)*)
            })*
        }
    };
}

methods! {
    abs() -> Array, "Absolute value.";
    all(axes: impl Into<Axes>, keepdims: bool) -> Array, "True if no element is zero.";
    any(axes: impl Into<Axes>, keepdims: bool) -> Array, "True if one element is not zero.";
    argmax(axis: impl Into<Option<i64>>, keepdims: bool) -> Array, "Position of the first largest element.";
    argmin(axis: impl Into<Option<i64>>, keepdims: bool) -> Array, "Position of the first smallest element.";
    astype(dtype: Dtype) -> Array, "The elements converted to another type.";
    conj() -> Array, "Complex conjugate.";
    cos() -> Array, "Cosine.";
    cummax(axis: impl Into<Option<i64>>, reverse: bool, inclusive: bool) -> Array, "Running maximum.";
    cummin(axis: impl Into<Option<i64>>, reverse: bool, inclusive: bool) -> Array, "Running minimum.";
    cumprod(axis: impl Into<Option<i64>>, reverse: bool, inclusive: bool) -> Array, "Running product.";
    cumsum(axis: impl Into<Option<i64>>, reverse: bool, inclusive: bool) -> Array, "Running sum.";
    diag(k: i64) -> Array, "A diagonal, or the square array with it.";
    diagonal(offset: i64, axis1: i64, axis2: i64) -> Array, "A diagonal of two axes.";
    exp() -> Array, "Exponential.";
    flatten(start_axis: i64, end_axis: i64) -> Array, "Neighbouring axes joined into one.";
    imag() -> Array, "Imaginary part.";
    log() -> Array, "Natural logarithm.";
    log10() -> Array, "Logarithm to base 10.";
    log1p() -> Array, "log(1 + x).";
    log2() -> Array, "Logarithm to base 2.";
    logcumsumexp(axis: impl Into<Option<i64>>, reverse: bool, inclusive: bool) -> Array, "Running log-sum-exp.";
    logsumexp(axes: impl Into<Axes>, keepdims: bool) -> Array, "Logarithm of the sum of exponentials.";
    max(axes: impl Into<Axes>, keepdims: bool) -> Array, "Largest element.";
    mean(axes: impl Into<Axes>, keepdims: bool) -> Array, "Mean.";
    min(axes: impl Into<Axes>, keepdims: bool) -> Array, "Smallest element.";
    moveaxis(source: i64, destination: i64) -> Array, "One axis moved to another place.";
    prod(axes: impl Into<Axes>, keepdims: bool) -> Array, "Product.";
    real() -> Array, "Real part.";
    reciprocal() -> Array, "One divided by each element.";
    reshape(shape: impl AsRef<[i64]>) -> Array, "Another shape; one size may be −1.";
    round(decimals: i32) -> Array, "The nearest number with this many decimal places.";
    rsqrt() -> Array, "One over the square root.";
    sin() -> Array, "Sine.";
    split(cuts: impl Into<Cuts>, axis: i64) -> Vec<Array>, "Parts along an axis.";
    sqrt() -> Array, "Square root.";
    square() -> Array, "x · x.";
    squeeze(axes: impl Into<Axes>) -> Array, "Axes of size one removed.";
    std(axes: impl Into<Axes>, keepdims: bool, ddof: usize) -> Array, "Standard deviation.";
    sum(axes: impl Into<Axes>, keepdims: bool) -> Array, "Sum.";
    swapaxes(axis1: i64, axis2: i64) -> Array, "Two axes exchanged.";
    transpose(axes: impl Into<Option<Axes>>) -> Array, "Axes in another order.";
    var(axes: impl Into<Axes>, keepdims: bool, ddof: usize) -> Array, "Variance.";
    view(dtype: Dtype) -> Array, "The same bytes read as another type.";
}

impl Array {
    /// The part that a list of indices selects; the macro [`idx!`](crate::idx) makes one. See [`ops::index`].
    ///
    /// # Errors
    /// Those of the function.
    #[track_caller]
    pub fn index(&self, indices: impl AsRef<[Index]>) -> Array {
        ops::index(self, indices.as_ref())
    }

    /// What one index selects along the first axis: a position, a range, or an array of positions.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(a.get(-1)?.to_vec::<i32>()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`ops::index`].
    #[track_caller]
    pub fn get(&self, index: impl Into<Index>) -> Array {
        ops::index(self, &[index.into()])
    }

    /// The axes in reverse order. See [`ops::transpose`].
    ///
    /// # Errors
    /// None that depends on the array.
    #[allow(non_snake_case, reason = "the name in MLX and NumPy")]
    #[track_caller]
    pub fn T(&self) -> Array {
        ops::transpose(self, None)
    }

    /// The last two axes exchanged. See [`ops::matrix_transpose`].
    ///
    /// # Errors
    /// Those of the function.
    #[allow(non_snake_case, reason = "the name in MLX and NumPy")]
    #[track_caller]
    pub fn mT(&self) -> Array {
        ops::matrix_transpose(self)
    }
}
