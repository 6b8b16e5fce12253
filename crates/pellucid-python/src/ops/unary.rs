//! Functions of one array, element by element.

use pellucid::{Array, ops};
use pyo3::prelude::*;

use crate::args::{Arr, Input};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;

fn apply(
    py: Python<'_>,
    function: fn(&Array) -> Array,
    a: Input,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    build(py, stream, || function(&a.single()))
}

macro_rules! unary {
    ($($signature:tt $input:ident $types:literal { $($name:ident $($method:ident)? $doc:literal;)* })*) => {
        $($(
            #[doc = concat!(stringify!($name), $types, "\n\n", $doc)]
            #[pyfunction]
            #[pyo3(signature = $signature)]
            fn $name(py: Python<'_>, a: $input, stream: Option<StreamArg>) -> PyResult<PyArray> {
                apply(py, ops::$name, a.into(), stream)
            }
            $(unary!(@$method $name $doc);)?
        )*)*

        pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
            $(crate::add_functions!(m: $($name),*);)*
            Ok(())
        }
    };
    (@method $name:ident $doc:literal) => {
        #[pymethods]
        impl PyArray {
            #[doc = concat!(stringify!($name), "(self, *, stream: StreamOrDevice = None) -> array\n\n", $doc)]
            #[pyo3(signature = (*, stream = None))]
            fn $name(&self, py: Python<'_>, stream: Option<StreamArg>) -> PyResult<PyArray> {
                apply(py, ops::$name, Input::Array(self.array()), stream)
            }
        }
    };
}

unary! {
    (a, /, *, stream = None) Input "(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array" {
        abs method "Absolute value; of a complex number its magnitude.";
        acos "Inverse cosine.";
        acosh "Inverse hyperbolic cosine.";
        arccos "Inverse cosine.";
        arccosh "Inverse hyperbolic cosine.";
        arcsin "Inverse sine.";
        arcsinh "Inverse hyperbolic sine.";
        arctan "Inverse tangent.";
        arctanh "Inverse hyperbolic tangent.";
        asin "Inverse sine.";
        asinh "Inverse hyperbolic sine.";
        atan "Inverse tangent.";
        atanh "Inverse hyperbolic tangent.";
        ceil "The next integer above, in the same dtype.";
        cos method "Cosine.";
        cosh "Hyperbolic cosine.";
        degrees "Radians to degrees.";
        erf "Error function.";
        erfinv "Inverse error function.";
        exp method "Exponential.";
        expm1 "exp(x) - 1 without cancellation near zero.";
        floor "The next integer below, in the same dtype.";
        imag "Imaginary part; zero for real numbers.";
        log method "Natural logarithm.";
        log10 method "Logarithm to base 10.";
        log1p method "log(1 + x) without cancellation near zero.";
        log2 method "Logarithm to base 2.";
        logical_not "True where the element is zero.";
        negative "The opposite sign.";
        radians "Degrees to radians.";
        real "Real part.";
        reciprocal method "One divided by each element.";
        rsqrt method "One over the square root.";
        sigmoid "1 / (1 + exp(-x)).";
        sign "-1, 0 or 1; of a complex number x / |x|.";
        sin method "Sine.";
        sinh "Hyperbolic sine.";
        sqrt method "Square root.";
        square method "x * x, in the same dtype.";
        tan "Tangent.";
        tanh "Hyperbolic tangent.";
    }
    (a, /, *, stream = None) Arr "(a: array, /, *, stream: StreamOrDevice = None) -> array" {
        positive "The array itself.";
        trunc "The integer part, in the same dtype.";
    }
    (a, *, stream = None) Input "(a: scalar | array, *, stream: StreamOrDevice = None) -> array" {
        conj method "Complex conjugate.";
        conjugate "Complex conjugate.";
    }
    (a, stream = None) Input "(a: scalar | array, stream: StreamOrDevice = None) -> array" {
        bitwise_invert "Every bit flipped; of a bool its opposite.";
        isfinite "True where neither infinite nor NaN.";
        isinf "True where infinite, of either sign.";
        isnan "True where not a number.";
        isneginf "True where negative infinity.";
        isposinf "True where positive infinity.";
    }
}
