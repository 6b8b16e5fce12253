//! Functions of single elements: one line per function; what it accepts and returns is in the table of
//! [`UnaryOp`] and [`BinaryOp`].

use smallvec::smallvec;

use super::operand::{Limit, Operand};
use super::shape::view;
use super::{all, apply, apply2, cast, constant};
use crate::array::{Array, Axes, Dtype, Inputs, fail, ok};
use crate::error::Error;
use crate::op::{BinaryOp, Op, Scalar, UnaryOp};

/// A function of the table applied to one array.
#[track_caller]
pub(super) fn unary(op: UnaryOp, a: &Array) -> Array {
    ok!(a);
    match op.compute_dtype(a.dtype()) {
        Some(dtype) => apply(Op::Unary(op), &cast(a, dtype)),
        None => fail(Error::dtype(op.name(), format!("does not take {}{}", a.dtype(), advice(op.name())))),
    }
}

/// A function of the table applied to two inputs.
#[track_caller]
pub(super) fn binary(op: BinaryOp, a: &Operand, b: &Operand) -> Array {
    // Most operations meet arrays of the type they compute in.
    if let (Some(a), Some(b)) = (a.array(), b.array())
        && a.dtype() == b.dtype()
        && op.compute_dtype(a.dtype()) == Some(a.dtype())
    {
        return apply2(Op::Binary(op), a.clone(), b.clone());
    }
    ok!(a, b);
    let name = op.name();
    let Some(dtype) = op.compute_dtype(a.promote(b)) else {
        let message = format!("does not take {} and {}{}", a.dtype(), b.dtype(), advice(name));
        return fail(Error::dtype(name, message));
    };
    apply2(Op::Binary(op), a.to_array(name, dtype), b.to_array(name, dtype))
}

fn advice(name: &str) -> &'static str {
    match name {
        "negative" => "; use logical_not",
        "bitwise_invert" | "bitwise_and" | "bitwise_or" | "bitwise_xor" | "left_shift" | "right_shift" => {
            "; it works on bool and integers"
        }
        _ => "; use real numbers",
    }
}

macro_rules! unary_functions {
    ($($name:ident $op:ident $doc:literal $ty:ident $x:literal $y:literal;)*) => {
        $(#[doc = $doc]
        ///
        /// ```
        /// use pellucid::prelude::*;
        #[doc = concat!("assert_eq!(ops::", stringify!($name), "(&array!", $x, ").to_vec::<", stringify!($ty), ">().unwrap(), ", $y, ");")]
        /// ```
        ///
        /// # Errors
        /// [`Error::Dtype`] if the function is not defined for the element type.
        #[track_caller]
        pub fn $name(a: &Array) -> Array {
            unary(UnaryOp::$op, a)
        })*

        impl Array {
            $(#[doc = $doc]
            ///
            #[doc = concat!("The same as [`ops::", stringify!($name), "`](crate::ops::", stringify!($name), ").")]
            #[track_caller]
            pub fn $name(&self) -> Array {
                unary(UnaryOp::$op, self)
            })*
        }
    };
}

unary_functions! {
    abs Abs "Absolute value; of a complex number its magnitude." f32 "[-1.5]" "[1.5]";
    acos Arccos "Inverse cosine; the same as [`arccos`]." f32 "[1.0]" "[0.0]";
    acosh Arccosh "Inverse hyperbolic cosine; the same as [`arccosh`]." f32 "[1.0]" "[0.0]";
    arccos Arccos "Inverse cosine." f32 "[1.0]" "[0.0]";
    arccosh Arccosh "Inverse hyperbolic cosine." f32 "[1.0]" "[0.0]";
    arcsin Arcsin "Inverse sine." f32 "[0.0]" "[0.0]";
    arcsinh Arcsinh "Inverse hyperbolic sine." f32 "[0.0]" "[0.0]";
    arctan Arctan "Inverse tangent." f32 "[0.0]" "[0.0]";
    arctanh Arctanh "Inverse hyperbolic tangent." f32 "[0.0]" "[0.0]";
    asin Arcsin "Inverse sine; the same as [`arcsin`]." f32 "[0.0]" "[0.0]";
    asinh Arcsinh "Inverse hyperbolic sine; the same as [`arcsinh`]." f32 "[0.0]" "[0.0]";
    atan Arctan "Inverse tangent; the same as [`arctan`]." f32 "[0.0]" "[0.0]";
    atanh Arctanh "Inverse hyperbolic tangent; the same as [`arctanh`]." f32 "[0.0]" "[0.0]";
    bitwise_invert BitwiseInvert "Every bit flipped; of a bool its opposite." i32 "[5]" "[-6]";
    ceil Ceil "The next integer above, in the same element type." f32 "[1.2]" "[2.0]";
    conj Conjugate "Complex conjugate; the same as [`conjugate`]." f32 "[1.5]" "[1.5]";
    conjugate Conjugate "Complex conjugate." f32 "[1.5]" "[1.5]";
    cos Cos "Cosine." f32 "[0.0]" "[1.0]";
    cosh Cosh "Hyperbolic cosine." f32 "[0.0]" "[1.0]";
    erf Erf "Error function." f32 "[0.0]" "[0.0]";
    erfinv Erfinv "Inverse error function." f32 "[0.0]" "[0.0]";
    exp Exp "Exponential." f32 "[0.0]" "[1.0]";
    expm1 Expm1 "exp(x) − 1 without cancellation near zero." f32 "[0.0]" "[0.0]";
    floor Floor "The next integer below, in the same element type." f32 "[1.8]" "[1.0]";
    imag Imag "Imaginary part; zero for real numbers." f32 "[1.5]" "[0.0]";
    isfinite Isfinite "True where neither infinite nor NaN." bool "[1.0, f32::NAN]" "[true, false]";
    isinf Isinf "True where infinite, of either sign." bool "[1.0, f32::INFINITY]" "[false, true]";
    isnan Isnan "True where not a number." bool "[1.0, f32::NAN]" "[false, true]";
    isneginf Isneginf "True where negative infinity." bool "[1.0, f32::NEG_INFINITY]" "[false, true]";
    isposinf Isposinf "True where positive infinity." bool "[1.0, f32::INFINITY]" "[false, true]";
    log Log "Natural logarithm." f32 "[1.0]" "[0.0]";
    log10 Log10 "Logarithm to base 10." f32 "[100.0]" "[2.0]";
    log1p Log1p "log(1 + x) without cancellation near zero." f32 "[0.0]" "[0.0]";
    log2 Log2 "Logarithm to base 2." f32 "[8.0]" "[3.0]";
    logical_not LogicalNot "True where the element is zero." bool "[0, 7]" "[true, false]";
    negative Negative "The opposite sign; not for bool." i32 "[1, -2]" "[-1, 2]";
    real Real "Real part." f32 "[1.5]" "[1.5]";
    rsqrt Rsqrt "One over the square root." f32 "[4.0]" "[0.5]";
    sigmoid Sigmoid "1 / (1 + exp(−x))." f32 "[0.0]" "[0.5]";
    sign Sign "−1, 0 or 1; of a complex number x / |x|." f32 "[-3.0, 0.0]" "[-1.0, 0.0]";
    sin Sin "Sine." f32 "[0.0]" "[0.0]";
    sinh Sinh "Hyperbolic sine." f32 "[0.0]" "[0.0]";
    sqrt Sqrt "Square root." f32 "[9.0]" "[3.0]";
    square Square "x · x, in the same element type." f32 "[3.0]" "[9.0]";
    tan Tan "Tangent." f32 "[0.0]" "[0.0]";
    tanh Tanh "Hyperbolic tangent." f32 "[0.0]" "[0.0]";
    trunc Trunc "The integer part, in the same element type." f32 "[-1.7]" "[-1.0]";
}

macro_rules! binary_functions {
    ($($name:ident $op:ident $doc:literal $ty:ident $x:literal $b:literal $y:literal;)*) => {
        $(#[doc = $doc]
        ///
        /// ```
        /// use pellucid::prelude::*;
        #[doc = concat!("assert_eq!(ops::", stringify!($name), "(&array!", $x, ", ", $b, ").to_vec::<", stringify!($ty), ">().unwrap(), ", $y, ");")]
        /// ```
        ///
        /// # Errors
        /// [`Error::Shape`] if the shapes do not broadcast, [`Error::Dtype`] if the function is not defined for the
        /// promoted element type, [`Error::Argument`] if a number does not fit it.
        #[track_caller]
        pub fn $name<'a, 'b>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'b>>) -> Array {
            binary(BinaryOp::$op, &a.into(), &b.into())
        })*

        impl Array {
            $(#[doc = $doc]
            ///
            #[doc = concat!("The same as [`ops::", stringify!($name), "`](crate::ops::", stringify!($name), ").")]
            #[track_caller]
            pub fn $name<'b>(&self, b: impl Into<Operand<'b>>) -> Array {
                binary(BinaryOp::$op, &self.into(), &b.into())
            })*
        }
    };
}

binary_functions! {
    add Add "Sum." i32 "[1, 2]" "3" "[4, 5]";
    arctan2 Arctan2 "Angle of the point (b, a)." f32 "[0.0]" "1.0" "[0.0]";
    atan2 Arctan2 "Angle of the point (b, a); the same as [`arctan2`]." f32 "[0.0]" "1.0" "[0.0]";
    bitwise_and BitwiseAnd "Bits set in both." i32 "[6]" "3" "[2]";
    bitwise_left_shift LeftShift "a · 2^b, bits moved left; the same as [`left_shift`]." i32 "[3]" "2" "[12]";
    bitwise_or BitwiseOr "Bits set in either." i32 "[6]" "3" "[7]";
    bitwise_right_shift RightShift "a / 2^b, bits moved right; the same as [`right_shift`]." i32 "[12]" "2" "[3]";
    bitwise_xor BitwiseXor "Bits set in exactly one." i32 "[6]" "3" "[5]";
    divide Divide "Quotient; integers give `float32`." f32 "[3, 6]" "2" "[1.5, 3.0]";
    equal Equal "True where equal." bool "[1, 2]" "2" "[false, true]";
    floor_divide FloorDivide "Quotient rounded down." i32 "[7, -7]" "2" "[3, -4]";
    greater Greater "True where a > b." bool "[1, 2]" "1" "[false, true]";
    greater_equal GreaterEqual "True where a ≥ b." bool "[1, 2]" "2" "[false, true]";
    left_shift LeftShift "a · 2^b, bits moved left." i32 "[3]" "2" "[12]";
    less Less "True where a < b." bool "[1, 2]" "2" "[true, false]";
    less_equal LessEqual "True where a ≤ b." bool "[1, 3]" "2" "[true, false]";
    logaddexp Logaddexp "log(exp(a) + exp(b)) without overflow." f32 "[f32::NEG_INFINITY]" "1.0" "[1.0]";
    logical_and LogicalAnd "True where both are not zero." bool "[0, 7]" "1" "[false, true]";
    logical_or LogicalOr "True where one is not zero." bool "[0, 7]" "0" "[false, true]";
    logical_xor LogicalXor "True where exactly one is not zero." bool "[0, 7]" "1" "[true, false]";
    maximum Maximum "The larger; NaN wins." i32 "[1, 5]" "3" "[3, 5]";
    minimum Minimum "The smaller; NaN wins." i32 "[1, 5]" "3" "[1, 3]";
    multiply Multiply "Product." i32 "[1, 2]" "3" "[3, 6]";
    not_equal NotEqual "True where different." bool "[1, 2]" "2" "[true, false]";
    pow Power "a to the power of b; the same as [`power`]." f32 "[2.0, 3.0]" "2.0" "[4.0, 9.0]";
    power Power "a to the power of b." f32 "[2.0, 3.0]" "2.0" "[4.0, 9.0]";
    remainder Remainder "Remainder, with the sign of the divisor." i32 "[7, -7]" "3" "[1, 2]";
    right_shift RightShift "a / 2^b, bits moved right." i32 "[12]" "2" "[3]";
    subtract Subtract "Difference." i32 "[5, 6]" "3" "[2, 3]";
}

/// The array itself.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::positive(&array![-1]).to_vec::<i32>().unwrap(), [-1]);
/// ```
///
/// # Errors
/// None.
pub fn positive(a: &Array) -> Array {
    a.clone()
}

/// The element where it is positive, else zero.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::relu(&array![-1.0, 2.0]).to_vec::<f32>().unwrap(), [0.0, 2.0]);
/// ```
///
/// # Errors
/// [`Error::Dtype`] for complex numbers.
#[track_caller]
pub fn relu(a: &Array) -> Array {
    maximum(a, 0)
}

/// One divided by each element; integers give `float32`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::reciprocal(&array![2.0, 4.0]).to_vec::<f32>().unwrap(), [0.5, 0.25]);
/// ```
///
/// # Errors
/// None that depends on the element type.
#[track_caller]
pub fn reciprocal(a: &Array) -> Array {
    divide(1, a)
}

/// Radians to degrees.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::degrees(&array![0.0]).to_vec::<f32>().unwrap(), [0.0]);
/// ```
///
/// # Errors
/// None that depends on the element type.
#[track_caller]
pub fn degrees(a: &Array) -> Array {
    ok!(a);
    multiply(&cast(a, a.dtype().to_inexact()), 180.0 / std::f64::consts::PI)
}

/// Degrees to radians.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::radians(&array![0.0]).to_vec::<f32>().unwrap(), [0.0]);
/// ```
///
/// # Errors
/// None that depends on the element type.
#[track_caller]
pub fn radians(a: &Array) -> Array {
    ok!(a);
    multiply(&cast(a, a.dtype().to_inexact()), std::f64::consts::PI / 180.0)
}

/// The nearest number with this many decimal places, ties to even, in the same element type. Negative numbers round
/// to tens, hundreds, ….
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([1.25f32, 2.5, 126.0]);
/// assert_eq!(ops::round(&a, 0).to_vec::<f32>()?, [1.0, 2.0, 126.0]);
/// assert_eq!(ops::round(&a, -1).to_vec::<f32>()?, [0.0, 0.0, 130.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if 10 to the power of `decimals` is not a `float32`.
#[track_caller]
pub fn round(a: &Array, decimals: i32) -> Array {
    ok!(a);
    let whole = !a.dtype().is_inexact();
    if decimals == 0 || (whole && decimals > 0) {
        return if whole { a.clone() } else { unary(UnaryOp::Round, a) };
    }
    let scale = 10f32.powi(decimals);
    if scale == 0.0 || !scale.is_finite() {
        return fail(Error::argument("round", format!("decimals must lie in -38 to 38, not {decimals}")));
    }
    let scaled = multiply(&cast(a, a.dtype().to_inexact()), scale);
    cast(&multiply(unary(UnaryOp::Round, &scaled), 1.0 / scale), a.dtype())
}

/// Quotient rounded down, and the remainder with the sign of the divisor.
///
/// ```
/// use pellucid::prelude::*;
/// let (quotient, rest) = ops::divmod(&array![7, -7], 3);
/// assert_eq!((quotient.to_vec::<i32>().unwrap(), rest.to_vec::<i32>().unwrap()), (vec![2, -3], vec![1, 2]));
/// ```
///
/// # Errors
/// As for [`floor_divide`] and [`remainder`].
#[track_caller]
pub fn divmod<'a, 'b>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'b>>) -> (Array, Array) {
    let (name, a, b) = ("divmod", a.into(), b.into());
    ok!(&a, &b);
    // Of the two, the remainder refuses more.
    let Some(dtype) = BinaryOp::Remainder.compute_dtype(a.promote(&b)) else {
        let message = format!("does not take {} and {}{}", a.dtype(), b.dtype(), advice(name));
        return fail(Error::dtype(name, message));
    };
    let inputs = Inputs::from_buf([a.to_array(name, dtype), b.to_array(name, dtype)]);
    let mut parts = Array::from_op_many(Op::Divmod, inputs).into_iter();
    match (parts.next(), parts.next()) {
        (Some(quotient), Some(remainder)) => (quotient, remainder),
        _ => fail(Error::internal(name, "made fewer than two arrays")),
    }
}

/// `x` where the condition holds, else `y`, with broadcasting. A condition that is not bool holds where it is not zero.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([-1.0f32, 2.0]);
/// assert_eq!(ops::where_(&ops::less(&a, 0), 0, &a).to_vec::<f32>()?, [0.0, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not broadcast, [`Error::Argument`] if a number does not fit the type of the result.
#[track_caller]
pub fn where_<'a, 'b>(condition: &Array, x: impl Into<Operand<'a>>, y: impl Into<Operand<'b>>) -> Array {
    let (x, y) = (x.into(), y.into());
    ok!(condition);
    ok!(&x, &y);
    let dtype = x.promote(&y);
    let (x, y) = (x.to_array("where", dtype), y.to_array("where", dtype));
    let inputs: Inputs = smallvec![cast(condition, Dtype::Bool), x, y];
    Array::from_op(Op::Select, inputs)
}

/// Elements below `low` become `low`, those above `high` become `high`. One of the limits may be `None`.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([-1.0f32, 0.5, 2.0]);
/// assert_eq!(ops::clip(&a, 0, 1).to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// assert_eq!(ops::clip(&a, None, 1).to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if both limits are missing, [`Error::Shape`] if the shapes do not broadcast.
#[track_caller]
pub fn clip<'a, 'b>(a: &Array, low: impl Into<Limit<'a>>, high: impl Into<Limit<'b>>) -> Array {
    ok!(a);
    let (low, high) = (low.into().0, high.into().0);
    match (&low, &high) {
        (None, None) => fail(Error::argument("clip", "needs a lower or an upper limit")),
        (Some(low), None) => binary(BinaryOp::Maximum, &a.into(), low),
        (None, Some(high)) => binary(BinaryOp::Minimum, &a.into(), high),
        (Some(low), Some(high)) => {
            ok!(high);
            let raised = binary(BinaryOp::Maximum, &a.into(), low);
            binary(BinaryOp::Minimum, &raised.into(), high)
        }
    }
}

/// NaN becomes `nan`, infinities become `posinf` and `neginf`, which are the largest finite numbers of the type
/// unless given.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::nan_to_num(&array![f32::NAN, 1.0], 0.0, None, None).to_vec::<f32>().unwrap(), [0.0, 1.0]);
/// ```
///
/// # Errors
/// [`Error::Dtype`] for complex numbers.
#[track_caller]
pub fn nan_to_num(a: &Array, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Array {
    ok!(a);
    let dtype = a.dtype();
    let largest = match dtype {
        Dtype::Float16 => half::f16::MAX.to_f64(),
        Dtype::Bfloat16 => half::bf16::MAX.to_f64(),
        Dtype::Float32 => f64::from(f32::MAX),
        Dtype::Float64 => f64::MAX,
        Dtype::Complex64 => {
            return fail(Error::dtype("nan_to_num", "does not take complex64; use real and imag"));
        }
        _ => return a.clone(),
    };
    let a = where_(&isnan(a), nan, a);
    let a = where_(&isposinf(&a), posinf.unwrap_or(largest), &a);
    where_(&isneginf(&a), neginf.unwrap_or(-largest), &a)
}

/// True where |a − b| ≤ atol + rtol · |b|; infinities must be equal, NaN is equal to NaN only if `equal_nan`.
///
/// ```
/// use pellucid::prelude::*;
/// assert_eq!(ops::isclose(&array![1.0, 2.0], 1.0, 1e-5, 1e-8, false).to_vec::<bool>().unwrap(), [true, false]);
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not broadcast.
#[track_caller]
pub fn isclose<'a, 'b>(
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'b>>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> Array {
    let (a, b) = (a.into(), b.into());
    ok!(&a, &b);
    let dtype = match a.promote(&b) {
        Dtype::Bool => Dtype::Int32,
        other => other,
    };
    let (a, b) = (a.to_array("isclose", dtype), b.to_array("isclose", dtype));
    // The distance of two integers always fits the unsigned type of their size; the size of the lowest one of a
    // signed type does not fit that, so it is taken of the product.
    let distance = if dtype.is_integer() {
        view(&subtract(maximum(&a, &b), minimum(&a, &b)), unsigned(dtype))
    } else {
        abs(&subtract(&a, &b))
    };
    let close = less_equal(distance, add(abs(&multiply(&b, rtol)), atol));
    if dtype.is_integer() {
        return close;
    }
    let finite = logical_and(isfinite(&a), isfinite(&b));
    let close = logical_or(logical_and(close, finite), equal(&a, &b));
    if equal_nan { logical_or(close, logical_and(isnan(&a), isnan(&b))) } else { close }
}

fn unsigned(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Int8 => Dtype::Uint8,
        Dtype::Int16 => Dtype::Uint16,
        Dtype::Int32 => Dtype::Uint32,
        Dtype::Int64 => Dtype::Uint64,
        other => other,
    }
}

/// True if [`isclose`] holds everywhere.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(ops::allclose(&array![1.0, 1.0], 1.0, 1e-5, 1e-8, false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Shape`] if the shapes do not broadcast.
#[track_caller]
pub fn allclose<'a, 'b>(
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'b>>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> Array {
    all(&isclose(a, b, rtol, atol, equal_nan), Axes::All, false)
}

/// True if shapes and all elements are equal; NaN is equal to NaN only if `equal_nan`.
///
/// ```
/// use pellucid::prelude::*;
/// assert!(!ops::array_equal(&array![1, 2], &array![1, 3], false).item::<bool>().unwrap());
/// ```
///
/// # Errors
/// [`Error::Argument`] if a number does not fit the type it meets.
#[track_caller]
pub fn array_equal<'a, 'b>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'b>>, equal_nan: bool) -> Array {
    let (a, b) = (a.into(), b.into());
    ok!(&a, &b);
    if a.shape() != b.shape() {
        return constant("array_equal", Scalar::Bool(false), Dtype::Bool);
    }
    let dtype = a.promote(&b);
    let (a, b) = (a.to_array("array_equal", dtype), b.to_array("array_equal", dtype));
    let mut same = equal(&a, &b);
    if equal_nan && dtype.is_inexact() {
        same = logical_or(same, logical_and(isnan(&a), isnan(&b)));
    }
    all(&same, Axes::All, false)
}
