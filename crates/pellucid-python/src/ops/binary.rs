//! Functions of two arrays or numbers, element by element, with broadcasting. Operators come from the same table.

use pellucid::ops::Operand;
use pellucid::{Array, ops};
use pyo3::prelude::*;

use crate::args::{Input, pair};
use crate::array::PyArray;
use crate::call::build;
use crate::device::StreamArg;

/// A function of two inputs.
pub type Binary = fn(Operand<'static>, Operand<'static>) -> Array;

pub fn apply(
    py: Python<'_>,
    function: Binary,
    a: &Input,
    b: &Input,
    stream: Option<StreamArg>,
) -> PyResult<PyArray> {
    build(py, stream, || {
        let (a, b) = pair(a, b);
        function(a, b)
    })
}

macro_rules! binary {
    ($($signature:tt $types:literal { $($name:ident $doc:literal;)* })*) => {
        $($(
            #[doc = concat!(stringify!($name), $types, "\n\n", $doc)]
            #[pyfunction]
            #[pyo3(signature = $signature)]
            fn $name(py: Python<'_>, a: Input, b: Input, stream: Option<StreamArg>) -> PyResult<PyArray> {
                apply(py, ops::$name, &a, &b, stream)
            }
        )*)*

        pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
            $(crate::add_functions!(m: $($name),*);)*
            crate::add_functions!(m: divmod);
            Ok(())
        }
    };
}

binary! {
    (a, b, stream = None) "(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array" {
        add "Sum.";
        bitwise_and "Bits set in both.";
        bitwise_left_shift "a * 2**b, bits moved left.";
        bitwise_or "Bits set in either.";
        bitwise_right_shift "a / 2**b, bits moved right.";
        bitwise_xor "Bits set in exactly one.";
        divide "Quotient; integers give float32.";
        equal "True where equal.";
        floor_divide "Quotient rounded down.";
        greater "True where a > b.";
        greater_equal "True where a >= b.";
        left_shift "a * 2**b, bits moved left.";
        less "True where a < b.";
        less_equal "True where a <= b.";
        multiply "Product.";
        not_equal "True where different.";
        remainder "Remainder, with the sign of the divisor.";
        right_shift "a / 2**b, bits moved right.";
        subtract "Difference.";
    }
    (a, b, /, *, stream = None) "(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array" {
        arctan2 "Angle of the point (b, a).";
        atan2 "Angle of the point (b, a).";
        logaddexp "log(exp(a) + exp(b)) without overflow.";
        logical_and "True where both are not zero.";
        logical_or "True where one is not zero.";
        logical_xor "True where exactly one is not zero.";
        maximum "The larger; NaN wins.";
        minimum "The smaller; NaN wins.";
        pow "a to the power of b.";
        power "a to the power of b.";
    }
}

/// divmod(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> list[array]
///
/// Quotient rounded down, and the remainder with the sign of the divisor.
#[pyfunction]
#[pyo3(signature = (a, b, stream = None))]
fn divmod(py: Python<'_>, a: Input, b: Input, stream: Option<StreamArg>) -> PyResult<Vec<PyArray>> {
    build(py, stream, || {
        let (a, b) = pair(&a, &b);
        let (quotient, rest) = ops::divmod(a, b);
        vec![quotient, rest]
    })
}
