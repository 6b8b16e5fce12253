//! The elementwise functions as tables: one line each says its name, what it takes and what it gives.

use serde::{Deserialize, Serialize};

use crate::array::Dtype;

/// Which element types a unary function computes in, and what it returns for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryRule {
    /// Integers become `float32` first; the result has the type it was computed in.
    Inexact,
    /// Like `Inexact`, but complex numbers are refused.
    Real,
    /// Every type, kept.
    Same,
    /// Every type but bool, kept.
    Number,
    /// Every type but complex, kept.
    Ordered,
    /// Bool and integers, kept.
    Integer,
    /// Every type; the result is bool.
    Predicate,
    /// Every type; complex numbers give `float32`, others are kept.
    Part,
}

/// Which element types a binary function computes in, and what it returns. Both inputs have the promoted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryRule {
    /// Every type, kept.
    Same,
    /// Integers become `float32` first.
    Inexact,
    /// Like `Inexact`, but complex numbers are refused.
    Real,
    /// Bool and integers, kept.
    Integer,
    /// Like `Integer`, but bool becomes `uint8` first.
    Shift,
    /// Every type but complex, kept.
    Ordered,
    /// Every type; the result is bool.
    Compare,
    /// Inputs become bool; the result is bool.
    Logical,
}

macro_rules! table {
    ($(#[$meta:meta])* $enum:ident, $rule:ident; $($variant:ident $name:literal $kind:ident $flops:literal $doc:literal;)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum $enum {
            $(#[doc = $doc] $variant,)*
        }

        impl $enum {
            /// Every function of the table.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            /// The function's name, as users call it.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),* }
            }

            pub(crate) const fn rule(self) -> $rule {
                match self { $($enum::$variant => $rule::$kind),* }
            }

            /// Floating-point operations per element, by the usual counting (a transcendental counts as 8).
            pub const fn flops(self) -> u64 {
                match self { $($enum::$variant => $flops),* }
            }
        }
    };
}

table! {
    /// Functions of one array, element by element.
    UnaryOp, UnaryRule;
    Abs "abs" Part 1 "Absolute value; of a complex number its magnitude.";
    Arccos "arccos" Inexact 8 "Inverse cosine.";
    Arccosh "arccosh" Inexact 8 "Inverse hyperbolic cosine.";
    Arcsin "arcsin" Inexact 8 "Inverse sine.";
    Arcsinh "arcsinh" Inexact 8 "Inverse hyperbolic sine.";
    Arctan "arctan" Inexact 8 "Inverse tangent.";
    Arctanh "arctanh" Inexact 8 "Inverse hyperbolic tangent.";
    BitwiseInvert "bitwise_invert" Integer 1 "Every bit flipped; of a bool its opposite.";
    Ceil "ceil" Ordered 1 "The next integer above.";
    Conjugate "conjugate" Same 1 "Complex conjugate.";
    Cos "cos" Inexact 8 "Cosine.";
    Cosh "cosh" Inexact 8 "Hyperbolic cosine.";
    Erf "erf" Real 8 "Error function.";
    Erfinv "erfinv" Real 8 "Inverse error function.";
    Exp "exp" Inexact 8 "Exponential.";
    Expm1 "expm1" Real 8 "exp(x) − 1 without cancellation near zero.";
    Floor "floor" Ordered 1 "The next integer below.";
    Imag "imag" Part 0 "Imaginary part.";
    Isfinite "isfinite" Predicate 1 "Neither infinite nor NaN.";
    Isinf "isinf" Predicate 1 "Infinite of either sign.";
    Isnan "isnan" Predicate 1 "Not a number.";
    Isneginf "isneginf" Predicate 1 "Negative infinity.";
    Isposinf "isposinf" Predicate 1 "Positive infinity.";
    Log "log" Inexact 8 "Natural logarithm.";
    Log10 "log10" Inexact 8 "Logarithm to base 10.";
    Log1p "log1p" Inexact 8 "log(1 + x) without cancellation near zero.";
    Log2 "log2" Inexact 8 "Logarithm to base 2.";
    LogicalNot "logical_not" Predicate 1 "True where the element is zero.";
    Negative "negative" Number 1 "The opposite sign.";
    Real "real" Part 0 "Real part.";
    Round "round" Same 1 "The nearest integer, ties to even.";
    Rsqrt "rsqrt" Inexact 2 "One over the square root.";
    Sigmoid "sigmoid" Real 8 "1 / (1 + exp(−x)).";
    Sign "sign" Same 1 "−1, 0 or 1; of a complex number x / |x|.";
    Sin "sin" Inexact 8 "Sine.";
    Sinh "sinh" Inexact 8 "Hyperbolic sine.";
    Sqrt "sqrt" Inexact 1 "Square root.";
    Square "square" Same 1 "x · x.";
    Tan "tan" Inexact 8 "Tangent.";
    Tanh "tanh" Inexact 8 "Hyperbolic tangent.";
    Trunc "trunc" Ordered 1 "The integer part.";
}

table! {
    /// Functions of two arrays of one type, element by element, with broadcasting.
    BinaryOp, BinaryRule;
    Add "add" Same 1 "Sum.";
    Arctan2 "arctan2" Real 8 "Angle of the point (b, a).";
    BitwiseAnd "bitwise_and" Integer 1 "Bits set in both.";
    BitwiseOr "bitwise_or" Integer 1 "Bits set in either.";
    BitwiseXor "bitwise_xor" Integer 1 "Bits set in one of the two.";
    Divide "divide" Inexact 1 "Quotient; integers give `float32`.";
    Equal "equal" Compare 1 "True where equal.";
    FloorDivide "floor_divide" Same 1 "Quotient rounded down.";
    Greater "greater" Compare 1 "True where a > b.";
    GreaterEqual "greater_equal" Compare 1 "True where a ≥ b.";
    LeftShift "left_shift" Shift 1 "a · 2^b, bits moved left.";
    Less "less" Compare 1 "True where a < b.";
    LessEqual "less_equal" Compare 1 "True where a ≤ b.";
    Logaddexp "logaddexp" Inexact 16 "log(exp(a) + exp(b)) without overflow.";
    LogicalAnd "logical_and" Logical 1 "True where both are not zero.";
    LogicalOr "logical_or" Logical 1 "True where one is not zero.";
    LogicalXor "logical_xor" Logical 1 "True where exactly one is not zero.";
    Maximum "maximum" Same 1 "The larger; NaN wins.";
    Minimum "minimum" Same 1 "The smaller; NaN wins.";
    Multiply "multiply" Same 1 "Product.";
    NotEqual "not_equal" Compare 1 "True where different.";
    Power "power" Same 8 "a to the power of b.";
    Remainder "remainder" Ordered 1 "Remainder with the sign of the divisor.";
    RightShift "right_shift" Shift 1 "a / 2^b, bits moved right.";
    Subtract "subtract" Same 1 "Difference.";
}

impl UnaryOp {
    /// The type this function computes in for an input of type `dtype`; `None` if it does not take it.
    pub(crate) fn compute_dtype(self, dtype: Dtype) -> Option<Dtype> {
        match self.rule() {
            UnaryRule::Inexact => Some(dtype.to_inexact()),
            UnaryRule::Real if dtype.is_complex() => None,
            UnaryRule::Real => Some(dtype.to_inexact()),
            UnaryRule::Number if dtype == Dtype::Bool => None,
            UnaryRule::Ordered if dtype.is_complex() => None,
            UnaryRule::Integer if dtype.is_inexact() => None,
            _ => Some(dtype),
        }
    }

    /// The type of the result when computing in `dtype`.
    pub(crate) fn result_dtype(self, dtype: Dtype) -> Dtype {
        match self.rule() {
            UnaryRule::Predicate => Dtype::Bool,
            UnaryRule::Part if dtype.is_complex() => Dtype::Float32,
            _ => dtype,
        }
    }
}

impl BinaryOp {
    /// The type this function computes in for inputs promoted to `dtype`; `None` if it does not take it.
    pub(crate) fn compute_dtype(self, dtype: Dtype) -> Option<Dtype> {
        match self.rule() {
            BinaryRule::Inexact => Some(dtype.to_inexact()),
            BinaryRule::Real if dtype.is_complex() => None,
            BinaryRule::Real => Some(dtype.to_inexact()),
            BinaryRule::Integer | BinaryRule::Shift if dtype.is_inexact() => None,
            BinaryRule::Shift if dtype == Dtype::Bool => Some(Dtype::Uint8),
            BinaryRule::Ordered if dtype.is_complex() => None,
            BinaryRule::Logical => Some(Dtype::Bool),
            _ => Some(dtype),
        }
    }

    /// The type of the result when computing in `dtype`.
    pub(crate) fn result_dtype(self, dtype: Dtype) -> Dtype {
        match self.rule() {
            BinaryRule::Compare | BinaryRule::Logical => Dtype::Bool,
            _ => dtype,
        }
    }
}
