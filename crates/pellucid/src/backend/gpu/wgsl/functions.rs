//! Elementwise functions as WGSL expressions.
//!
//! `None` means that there is no expression that keeps the function's meaning; the operation then runs on the CPU.

use super::scalar;
use crate::array::Dtype;
use crate::op::{BinaryOp, UnaryOp};

/// What an element type computes as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Class {
    Bool,
    Unsigned,
    Signed,
    Float,
    Complex,
}

pub(in super::super) fn class(dtype: Dtype) -> Class {
    match dtype {
        Dtype::Bool => Class::Bool,
        Dtype::Complex64 => Class::Complex,
        d if d.is_unsigned_integer() => Class::Unsigned,
        d if d.is_signed_integer() => Class::Signed,
        _ => Class::Float,
    }
}

/// A literal of an integer type.
fn literal(dtype: Dtype, value: u32) -> String {
    match scalar(dtype) {
        "i32" => format!("{value}"),
        "i64" => format!("{value}li"),
        "u64" => format!("{value}lu"),
        _ => format!("{value}u"),
    }
}

/// A value as its type can hold it: narrow integers wrap, 16-bit floats round.
pub(in super::super) fn rounded(dtype: Dtype, value: &str) -> String {
    match dtype {
        Dtype::Uint8 => format!("(({value}) & 0xffu)"),
        Dtype::Uint16 => format!("(({value}) & 0xffffu)"),
        Dtype::Int8 => format!("((({value}) << 24u) >> 24u)"),
        Dtype::Int16 => format!("((({value}) << 16u) >> 16u)"),
        Dtype::Float16 => format!("r16_({value})"),
        Dtype::Bfloat16 => format!("rbf_({value})"),
        _ => value.to_owned(),
    }
}

/// A function of `x`, an expression of type `dtype` without side effects.
pub(in super::super) fn unary(op: UnaryOp, dtype: Dtype, x: &str) -> Option<String> {
    let text = match class(dtype) {
        Class::Float => float_unary(op, x)?,
        Class::Complex => complex_unary(op, x)?,
        Class::Bool => bool_unary(op, x)?,
        Class::Signed | Class::Unsigned => integer_unary(op, dtype, x)?,
    };
    Some(rounded(op.result_dtype(dtype), &text))
}

/// A function of `a` and `b`, expressions of type `dtype` without side effects.
pub(in super::super) fn binary(op: BinaryOp, dtype: Dtype, a: &str, b: &str) -> Option<String> {
    let text = match class(dtype) {
        Class::Float => float_binary(op, a, b)?,
        Class::Complex => complex_binary(op, a, b)?,
        Class::Bool => bool_binary(op, a, b)?,
        Class::Signed | Class::Unsigned => integer_binary(op, dtype, a, b)?,
    };
    Some(rounded(op.result_dtype(dtype), &text))
}

fn float_unary(op: UnaryOp, x: &str) -> Option<String> {
    use UnaryOp::*;
    let name = match op {
        Abs => "abs",
        Arccos => "acos_",
        Arccosh => "acosh_",
        Arcsin => "asin_",
        Arcsinh => "asinh_",
        Arctan => "atan_",
        Arctanh => "atanh_",
        Ceil => "ceil",
        Cos => "cos_",
        Cosh => "cosh_",
        Erf => "erf_",
        Erfinv => "erfinv_",
        Exp => "exp_",
        Expm1 => "expm1_",
        Floor => "floor",
        Isfinite => "isfin_",
        Isinf => "isinf_",
        Isnan => "isnan_",
        Log => "log_",
        Log10 => "log10_",
        Log1p => "log1p_",
        Log2 => "log2_",
        Round => "round",
        Sigmoid => "sigmoid_",
        Sign => "sign_",
        Sin => "sin_",
        Sinh => "sinh_",
        Sqrt => "sqrt",
        Tan => "tan_",
        Tanh => "tanh_",
        Trunc => "trunc",
        Conjugate | Real => return Some(x.to_owned()),
        Imag => return Some("0.0".to_owned()),
        Isneginf => return Some(format!("(bitcast<u32>({x}) == 0xff800000u)")),
        Isposinf => return Some(format!("(bitcast<u32>({x}) == 0x7f800000u)")),
        LogicalNot => return Some(format!("({x} == 0.0)")),
        Negative => return Some(format!("(-({x}))")),
        Rsqrt => return Some(format!("(1.0 / sqrt({x}))")),
        Square => return Some(format!("({x} * {x})")),
        BitwiseInvert => return None,
    };
    Some(format!("{name}({x})"))
}

fn float_binary(op: BinaryOp, a: &str, b: &str) -> Option<String> {
    use BinaryOp::*;
    let infix = match op {
        Add => "+",
        Subtract => "-",
        Multiply => "*",
        Divide => "/",
        Equal => "==",
        Greater => ">",
        GreaterEqual => ">=",
        Less => "<",
        LessEqual => "<=",
        // Drivers take `!=` as false where one side is NaN.
        NotEqual => return Some(format!("(!({a} == {b}))")),
        FloorDivide => return Some(format!("floor({a} / {b})")),
        Arctan2 => return Some(format!("atan2_({a}, {b})")),
        Logaddexp => return Some(format!("logaddexp_({a}, {b})")),
        Maximum => return Some(format!("max_({a}, {b})")),
        Minimum => return Some(format!("min_({a}, {b})")),
        Power => return Some(format!("pow_({a}, {b})")),
        Remainder => return Some(format!("rem_({a}, {b})")),
        _ => return None,
    };
    Some(format!("({a} {infix} {b})"))
}

/// Functions of complex numbers that need no more than `f32` to be right; the others are computed in `f64` on the CPU.
fn complex_unary(op: UnaryOp, x: &str) -> Option<String> {
    use UnaryOp::*;
    let each = |name: &str| Some(format!("{name}({x})"));
    match op {
        Abs => each("cabs_"),
        Ceil => each("ceil"),
        Floor => each("floor"),
        Round => each("round"),
        Trunc => each("trunc"),
        Isnan => each("cnan_"),
        Conjugate => Some(format!("vec2<f32>(({x}).x, -(({x}).y))")),
        Imag => Some(format!("({x}).y")),
        Real => Some(format!("({x}).x")),
        Isfinite => Some(format!("(isfin_(({x}).x) && isfin_(({x}).y))")),
        Isinf => Some(format!("(isinf_(({x}).x) || isinf_(({x}).y))")),
        LogicalNot => Some(format!("(({x}).x == 0.0 && ({x}).y == 0.0)")),
        Negative => Some(format!("(-({x}))")),
        Square => Some(format!("cmul_({x}, {x})")),
        _ => None,
    }
}

fn complex_binary(op: BinaryOp, a: &str, b: &str) -> Option<String> {
    use BinaryOp::*;
    Some(match op {
        Add => format!("({a} + {b})"),
        Subtract => format!("({a} - {b})"),
        Multiply => format!("cmul_({a}, {b})"),
        Equal => format!("all({a} == {b})"),
        NotEqual => format!("(!all({a} == {b}))"),
        Less => format!("cless_({a}, {b})"),
        Greater => format!("cless_({b}, {a})"),
        LessEqual => format!("(cless_({a}, {b}) || all({a} == {b}))"),
        GreaterEqual => format!("(cless_({b}, {a}) || all({a} == {b}))"),
        Maximum => format!("cmax_({a}, {b})"),
        Minimum => format!("cmin_({a}, {b})"),
        _ => return None,
    })
}

fn bool_unary(op: UnaryOp, x: &str) -> Option<String> {
    use UnaryOp::*;
    Some(match op {
        Abs | Ceil | Conjugate | Floor | Real | Round | Sign | Square | Trunc => x.to_owned(),
        BitwiseInvert | LogicalNot => format!("(!{x})"),
        Imag | Isinf | Isnan | Isneginf | Isposinf => "false".to_owned(),
        Isfinite => "true".to_owned(),
        _ => return None,
    })
}

/// The result is that of the integers 0 and 1, taken as a truth value.
fn bool_binary(op: BinaryOp, a: &str, b: &str) -> Option<String> {
    use BinaryOp::*;
    Some(match op {
        Add | BitwiseOr | LogicalOr | Maximum => format!("({a} || {b})"),
        BitwiseAnd | FloorDivide | LogicalAnd | Minimum | Multiply => format!("({a} && {b})"),
        BitwiseXor | LogicalXor | NotEqual | Subtract => format!("({a} != {b})"),
        Equal => format!("({a} == {b})"),
        Greater | Remainder | RightShift => format!("({a} && !{b})"),
        GreaterEqual | Power => format!("({a} || !{b})"),
        LeftShift => a.to_owned(),
        Less => format!("(!{a} && {b})"),
        LessEqual => format!("(!{a} || {b})"),
        _ => return None,
    })
}

fn integer_unary(op: UnaryOp, dtype: Dtype, x: &str) -> Option<String> {
    use UnaryOp::*;
    let (zero, one) = (literal(dtype, 0), literal(dtype, 1));
    let signed = class(dtype) == Class::Signed;
    Some(match op {
        Ceil | Conjugate | Floor | Real | Round | Trunc => x.to_owned(),
        Abs if !signed => x.to_owned(),
        Abs => format!("select({x}, {zero} - {x}, {x} < {zero})"),
        BitwiseInvert => format!("(~({x}))"),
        Imag => zero,
        Isinf | Isnan | Isneginf | Isposinf => "false".to_owned(),
        Isfinite => "true".to_owned(),
        LogicalNot => format!("({x} == {zero})"),
        Negative => format!("({zero} - {x})"),
        Sign if signed => {
            format!("(select({zero}, {one}, {x} > {zero}) - select({zero}, {one}, {x} < {zero}))")
        }
        Sign => format!("select({zero}, {one}, {x} != {zero})"),
        Square => format!("({x} * {x})"),
        _ => return None,
    })
}

fn integer_binary(op: BinaryOp, dtype: Dtype, a: &str, b: &str) -> Option<String> {
    use BinaryOp::*;
    let (zero, one) = (literal(dtype, 0), literal(dtype, 1));
    let bits = if dtype.size() == 8 { 63 } else { 31 };
    let infix = match op {
        Add => "+",
        Subtract => "-",
        Multiply => "*",
        BitwiseAnd => "&",
        BitwiseOr => "|",
        BitwiseXor => "^",
        Equal => "==",
        NotEqual => "!=",
        Greater => ">",
        GreaterEqual => ">=",
        Less => "<",
        LessEqual => "<=",
        LeftShift => return Some(format!("({a} << (u32({b}) & {bits}u))")),
        RightShift => return Some(format!("({a} >> (u32({b}) & {bits}u))")),
        Maximum => return Some(format!("max({a}, {b})")),
        Minimum => return Some(format!("min({a}, {b})")),
        FloorDivide | Power | Remainder => {
            let name = format!("{}_{}", op.name(), scalar(dtype));
            return Some(format!("{name}({a}, {b}, {zero}, {one})"));
        }
        _ => return None,
    };
    Some(format!("({a} {infix} {b})"))
}

/// Division, remainder and power of integers, which need statements; `T` is the type, `Z` and `O` its zero and one.
/// Division by zero gives zero, a remainder by zero the dividend, a negative exponent zero.
pub(super) fn integer_helper(name: &str, ty: &str) -> String {
    let signed = ty.starts_with('i');
    let body = match (name, signed) {
        ("floor_divide", false) => "if (b == z) { return z; }\n    return a / b;".to_owned(),
        ("floor_divide", true) => "if (b == z) { return z; }
    if (b == z - o) { return z - a; }
    let q = a / b;
    if ((a < z) != (b < z) && q * b != a) { return q - o; }
    return q;"
            .to_owned(),
        ("remainder", false) => "if (b == z) { return a; }\n    return a % b;".to_owned(),
        ("remainder", true) => "if (b == z) { return a; }
    if (b == z - o) { return z; }
    let r = a - (a / b) * b;
    if (r != z && (r < z) != (b < z)) { return r + b; }
    return r;"
            .to_owned(),
        (_, signed) => {
            let negative = if signed { "if (b < z) { return z; }\n    " } else { "" };
            format!(
                "{negative}var base = a;
    var left = b;
    var result = o;
    while (left != z) {{
        if ((left & o) != z) {{ result = result * base; }}
        base = base * base;
        left = left >> 1u;
    }}
    return result;"
            )
        }
    };
    format!("fn {name}_{ty}(a: {ty}, b: {ty}, z: {ty}, o: {ty}) -> {ty} {{\n    {body}\n}}\n")
}

/// The conversion of an expression without side effects from one type to another, by value.
pub(in super::super) fn cast(from: Dtype, to: Dtype, x: &str) -> String {
    if from == to {
        return x.to_owned();
    }
    let (source, target) = (class(from), class(to));
    match (source, target) {
        (Class::Complex, Class::Complex) => x.to_owned(),
        (Class::Complex, Class::Bool) => format!("(!all({x} == vec2<f32>(0.0, 0.0)))"),
        (Class::Complex, _) => cast(Dtype::Float32, to, &format!("({x}).x")),
        (_, Class::Complex) => format!("vec2<f32>({}, 0.0)", cast(from, Dtype::Float32, x)),
        (Class::Float, Class::Bool) => format!("(!({x} == 0.0))"),
        (_, Class::Bool) => format!("({x} != {})", literal(from, 0)),
        (Class::Bool, Class::Float) => format!("select(0.0, 1.0, {x})"),
        (Class::Bool, _) => format!("select({}, {}, {x})", literal(to, 0), literal(to, 1)),
        (Class::Float, Class::Float) => rounded(to, x),
        (Class::Float, _) => match to {
            Dtype::Uint8 => format!("f_to_u({x}, 255u)"),
            Dtype::Uint16 => format!("f_to_u({x}, 65535u)"),
            Dtype::Uint32 => format!("f_to_u({x}, 4294967295u)"),
            Dtype::Int8 => format!("f_to_i({x}, -128, 127)"),
            Dtype::Int16 => format!("f_to_i({x}, -32768, 32767)"),
            Dtype::Int32 => format!("f_to_i({x}, -2147483647 - 1, 2147483647)"),
            Dtype::Int64 => format!("f_to_i64({x})"),
            _ => format!("f_to_u64({x})"),
        },
        (_, Class::Float) => rounded(to, &format!("f32({x})")),
        // A wider type of the other sign: extended by the source's sign first.
        (Class::Signed, Class::Unsigned) if to == Dtype::Uint64 => format!("u64(i64({x}))"),
        (Class::Unsigned, Class::Signed) if to == Dtype::Int64 => format!("i64(u64({x}))"),
        // Integers wrap.
        _ => rounded(to, &format!("{}({x})", scalar(to))),
    }
}
