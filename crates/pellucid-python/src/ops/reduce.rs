//! Reductions over axes, running reductions, and order along an axis.

use pellucid::{Array, ops};
use pyo3::prelude::*;

use crate::args::{Arr, Count, Int, Ints, axes, axis};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;
use crate::dtype::PyDtype;

macro_rules! reductions {
    ($($name:ident $($method:ident)? $doc:literal;)*) => {
        $(
            #[doc = concat!(
                stringify!($name),
                "(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, ",
                "stream: StreamOrDevice = None) -> array\n\n",
                $doc
            )]
            #[pyfunction]
            #[pyo3(signature = (a, /, axis = None, keepdims = false, *, stream = None))]
            fn $name(
                py: Python<'_>,
                a: Arr,
                axis: Option<Ints>,
                keepdims: bool,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                build(py, stream, || ops::$name(&a, axes(axis), keepdims))
            }
            $(reductions!(@$method $name $doc);)?
        )*

        fn register_reductions(m: &Bound<'_, PyModule>) -> PyResult<()> {
            crate::add_functions!(m: $($name),*);
            Ok(())
        }
    };
    (@method $name:ident $doc:literal) => {
        #[pymethods]
        impl PyArray {
            #[doc = concat!(
                stringify!($name),
                "(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, ",
                "stream: StreamOrDevice = None) -> array\n\n",
                $doc
            )]
            #[pyo3(signature = (axis = None, keepdims = false, *, stream = None))]
            fn $name(
                &self,
                py: Python<'_>,
                axis: Option<Ints>,
                keepdims: bool,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                build(py, stream, || ops::$name(&self.array(), axes(axis), keepdims))
            }
        }
    };
}

reductions! {
    all method "True if all elements are not zero.";
    any method "True if one element is not zero.";
    logsumexp method "Logarithm of the sum of exponentials, without overflow.";
    max method "The largest element; NaN wins.";
    mean method "The mean.";
    median "The median.";
    min method "The smallest element; NaN wins.";
    prod method "The product.";
    sum method "The sum.";
}

/// Positions of extreme elements along one axis.
macro_rules! arg_reductions {
    ($($name:ident $doc:literal;)*) => {
        $(
            #[doc = concat!(
                stringify!($name),
                "(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) ",
                "-> array\n\n",
                $doc
            )]
            #[pyfunction]
            #[pyo3(signature = (a, /, axis = None, keepdims = false, *, stream = None))]
            fn $name(
                py: Python<'_>,
                a: Arr,
                axis: Option<Int>,
                keepdims: bool,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                build(py, stream, || ops::$name(&a, axis.map(|axis| axis.0), keepdims))
            }

            #[pymethods]
            impl PyArray {
                #[doc = concat!(
                    stringify!($name),
                    "(self, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) ",
                    "-> array\n\n",
                    $doc
                )]
                #[pyo3(signature = (axis = None, keepdims = false, *, stream = None))]
                fn $name(
                    &self,
                    py: Python<'_>,
                    axis: Option<Int>,
                    keepdims: bool,
                    stream: Option<StreamArg>,
                ) -> PyResult<PyArray> {
                    build(py, stream, || ops::$name(&self.array(), axis.map(|axis| axis.0), keepdims))
                }
            }
        )*

        fn register_arg_reductions(m: &Bound<'_, PyModule>) -> PyResult<()> {
            crate::add_functions!(m: $($name),*);
            Ok(())
        }
    };
}

arg_reductions! {
    argmax "Position of the first largest element, as uint32.";
    argmin "Position of the first smallest element, as uint32.";
}

/// Variance and standard deviation.
macro_rules! deviations {
    ($($function:ident = $name:ident $text:literal $doc:literal;)*) => {
        $(
            #[doc = concat!(
                stringify!($name),
                "(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, ",
                "correction: int | None = None, stream: StreamOrDevice = None) -> array\n\n",
                $doc
            )]
            #[pyfunction(name = $text)]
            #[pyo3(signature = (a, /, axis = None, keepdims = false, ddof = Count(0), *, correction = None, stream = None))]
            #[pyo3(text_signature = "(a, /, axis=None, keepdims=False, ddof=0, *, correction=None, stream=None)")]
            fn $function(
                py: Python<'_>,
                a: Arr,
                axis: Option<Ints>,
                keepdims: bool,
                ddof: Count,
                correction: Option<Count>,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                build(py, stream, || ops::$name(&a, axes(axis), keepdims, correction.unwrap_or(ddof).0))
            }

            #[pymethods]
            impl PyArray {
                #[doc = concat!(
                    stringify!($name),
                    "(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, ",
                    "correction: int | None = None, stream: StreamOrDevice = None) -> array\n\n",
                    $doc
                )]
                #[pyo3(signature = (axis = None, keepdims = false, ddof = Count(0), *, correction = None, stream = None))]
                #[pyo3(text_signature = "($self, axis=None, keepdims=False, ddof=0, *, correction=None, stream=None)")]
                fn $name(
                    &self,
                    py: Python<'_>,
                    axis: Option<Ints>,
                    keepdims: bool,
                    ddof: Count,
                    correction: Option<Count>,
                    stream: Option<StreamArg>,
                ) -> PyResult<PyArray> {
                    let degrees = correction.unwrap_or(ddof).0;
                    build(py, stream, || ops::$name(&self.array(), axes(axis), keepdims, degrees))
                }
            }
        )*

        fn register_deviations(m: &Bound<'_, PyModule>) -> PyResult<()> {
            crate::add_functions!(m: $($function),*);
            Ok(())
        }
    };
}

// `std` is a crate's name, which a function of Rust cannot have here.
deviations! {
    deviation = std "std" "Standard deviation.";
    variance = var "var" "Variance.";
}

/// Running reductions along one axis, or through the flat array.
macro_rules! scans {
    ($($name:ident = $op:ident $($method:ident)? $doc:literal;)*) => {
        $(
            #[doc = concat!(
                stringify!($name),
                "(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, ",
                "dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array\n\n",
                $doc
            )]
            #[pyfunction]
            #[pyo3(signature = (a, /, axis = None, *, reverse = false, inclusive = true, dtype = None, stream = None))]
            fn $name(
                py: Python<'_>,
                a: Arr,
                axis: Option<Int>,
                reverse: bool,
                inclusive: bool,
                dtype: Option<PyDtype>,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                let axis = self::axis(axis);
                build(py, stream, || ops::$op(&typed(&a, dtype), axis, reverse, inclusive))
            }
            $(scans!(@$method $name $doc);)?
        )*

        fn register_scans(m: &Bound<'_, PyModule>) -> PyResult<()> {
            crate::add_functions!(m: $($name),*);
            Ok(())
        }
    };
    (@method $name:ident $doc:literal) => {
        #[pymethods]
        impl PyArray {
            #[doc = concat!(
                stringify!($name),
                "(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, ",
                "stream: StreamOrDevice = None) -> array\n\n",
                $doc
            )]
            #[pyo3(signature = (axis = None, *, reverse = false, inclusive = true, stream = None))]
            fn $name(
                &self,
                py: Python<'_>,
                axis: Option<Int>,
                reverse: bool,
                inclusive: bool,
                stream: Option<StreamArg>,
            ) -> PyResult<PyArray> {
                let axis = self::axis(axis);
                build(py, stream, || ops::$name(&self.array(), axis, reverse, inclusive))
            }
        }
    };
}

scans! {
    cummax = cummax method "Running maximum.";
    cummin = cummin method "Running minimum.";
    cumprod = cumprod method "Running product.";
    cumsum = cumsum method "Running sum.";
    cumulative_prod = cumprod "Running product.";
    cumulative_sum = cumsum "Running sum.";
    logcumsumexp = logcumsumexp method "Running logarithm of the sum of exponentials.";
}

/// The array in the type that was asked for.
fn typed(a: &Array, dtype: Option<PyDtype>) -> Array {
    dtype.map_or_else(|| a.clone(), |dtype| ops::astype(a, dtype.0))
}

mod others {
    use super::*;

    crate::ops::functions! {
        minmax(a, /, axis = None, keepdims = false, *, stream = None) [a: Arr, axis: Option<Ints>, keepdims: bool]
            "(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None)" "tuple[array, array]"
            "The smallest and the largest element."
            => ops::minmax(&a, axes(axis), keepdims);
        count_nonzero(a, /, *, axis = None, keepdims = false, stream = None) [a: Arr, axis: Option<Ints>, keepdims: bool]
            "(a: array, /, *, axis: None | int | Sequence[int] = None, keepdims: bool = False, stream: StreamOrDevice = None)" "array"
            "How many elements are not zero."
            => ops::count_nonzero(&a, axes(axis), keepdims);
        softmax(a, /, axis = None, *, precise = false, stream = None) [a: Arr, axis: Option<Ints>, precise: bool]
            "(a: array, /, axis: None | int | Sequence[int] = None, *, precise: bool = False, stream: StreamOrDevice = None)" "array"
            "exp(x) divided by its sum, without overflow."
            => ops::softmax(&a, axes(axis), precise);
        sort(a, /, axis = Some(Int(-1)), *, stream = None) as "(a, /, axis=-1, *, stream=None)" [a: Arr, axis: Option<Int>]
            "(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None)" "array"
            "Elements in ascending order along an axis; NaN last."
            => ops::sort(&a, super::axis(axis));
        argsort(a, /, axis = Some(Int(-1)), *, stream = None) as "(a, /, axis=-1, *, stream=None)" [a: Arr, axis: Option<Int>]
            "(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None)" "array"
            "Positions that sort along an axis, as uint32."
            => ops::argsort(&a, super::axis(axis));
        partition(a, /, kth, axis = Some(Int(-1)), *, stream = None) as "(a, /, kth, axis=-1, *, stream=None)" [a: Arr, kth: Int, axis: Option<Int>]
            "(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None)" "array"
            "Smaller elements before, larger ones behind the one that sorting puts at position kth."
            => ops::partition(&a, kth.0, super::axis(axis));
        argpartition(a, /, kth, axis = Some(Int(-1)), *, stream = None) as "(a, /, kth, axis=-1, *, stream=None)" [a: Arr, kth: Int, axis: Option<Int>]
            "(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None)" "array"
            "Positions that partition along an axis, as uint32."
            => ops::argpartition(&a, kth.0, super::axis(axis));
        topk(a, /, k, axis = Some(Int(-1)), *, stream = None) as "(a, /, k, axis=-1, *, stream=None)" [a: Arr, k: Count, axis: Option<Int>]
            "(a: array, /, k: int, axis: None | int = -1, *, stream: StreamOrDevice = None)" "array"
            "The k largest elements along an axis."
            => ops::topk(&a, k.0, super::axis(axis));
        diff(a, /, n = Count(1), axis = Int(-1), *, stream = None) as "(a, /, n=1, axis=-1, *, stream=None)" [a: Arr, n: Count, axis: Int]
            "(a: array, /, n: int = 1, axis: int = -1, *, stream: StreamOrDevice = None)" "array"
            "Differences of neighbours along an axis, n times over."
            => ops::diff(&a, n.0, axis.0);
        trace(a, /, offset = 0, axis1 = 0, axis2 = 1, dtype = None, *, stream = None)
            [a: Arr, offset: i64, axis1: i64, axis2: i64, dtype: Option<PyDtype>]
            "(a: array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Dtype | None = None, *, stream: StreamOrDevice = None)" "array"
            "The sum of a diagonal."
            => ops::trace(&a, offset, axis1, axis2, dtype.map(|dtype| dtype.0));
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    register_reductions(m)?;
    register_arg_reductions(m)?;
    register_deviations(m)?;
    register_scans(m)?;
    others::register(m)
}
