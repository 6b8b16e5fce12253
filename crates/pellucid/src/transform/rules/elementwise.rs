//! Functions of single elements. Each says once by what its derivative multiplies; both directions use it.

use smallvec::SmallVec;

use super::build::*;
use super::{Batched, Call};
use crate::array::{Array, Dtype, Inputs};
use crate::op::{BinaryOp, Op, Scalar, UnaryOp};

/// What a derivative does to a cotangent or a tangent.
enum Part {
    /// Nothing flows.
    Zero,
    /// It passes.
    Same,
    /// It passes with the opposite sign.
    Opposite,
    /// It is multiplied by the derivative.
    Times(Array),
    /// As [`Part::Times`], but what is exactly zero stays zero: the derivative may be infinite there.
    Guarded(Array),
    /// It passes where this holds.
    Where(Array),
}

impl Part {
    /// What arrives in the reverse direction: a complex derivative is conjugated.
    #[track_caller]
    fn pull(&self, g: &Array) -> Option<Array> {
        match self {
            Part::Times(factor) => Some(mul(g, &conj(factor))),
            Part::Guarded(factor) => Some(guarded(g, &mul(g, &conj(factor)))),
            _ => self.push(g),
        }
    }

    #[track_caller]
    fn push(&self, t: &Array) -> Option<Array> {
        match self {
            Part::Zero => None,
            Part::Same => Some(t.clone()),
            Part::Opposite => Some(neg(t)),
            Part::Times(factor) => Some(mul(t, factor)),
            Part::Guarded(factor) => Some(guarded(t, &mul(t, factor))),
            Part::Where(condition) => Some(masked(condition, t)),
        }
    }
}

/// Zero where `g` is exactly zero, else the product: `0 · ∞` would be NaN, the classic trap of `where(x > 0, sqrt(x), 0)`.
#[track_caller]
fn guarded(g: &Array, product: &Array) -> Array {
    let none = equal(g, &zero(g.dtype()));
    select(&none, &zero(product.dtype()), product)
}

#[track_caller]
fn scaled(a: &Array, factor: f64) -> Array {
    mul(a, &number(factor, a.dtype()))
}

#[track_caller]
fn one_plus(a: &Array) -> Array {
    add(a, &number(1i64, a.dtype()))
}

#[track_caller]
fn one_minus(a: &Array) -> Array {
    sub(&number(1i64, a.dtype()), a)
}

#[track_caller]
fn rsqrt(a: &Array) -> Array {
    unary(UnaryOp::Rsqrt, a)
}

/// The derivative of a function of one element, where it is a factor.
#[track_caller]
fn unary_part(op: UnaryOp, x: &Array, y: &Array) -> Part {
    use std::f64::consts::{LN_2, LN_10, PI};
    let reciprocal = |a: &Array| div(&number(1i64, a.dtype()), a);
    match op {
        UnaryOp::Abs => Part::Times(unary(UnaryOp::Sign, x)),
        UnaryOp::Arccos => Part::Guarded(neg(&rsqrt(&one_minus(&square(x))))),
        UnaryOp::Arcsin => Part::Guarded(rsqrt(&one_minus(&square(x)))),
        UnaryOp::Arccosh => {
            // Two roots: one root of the product would lie on the wrong branch for complex numbers.
            let minus = sub(x, &number(1i64, x.dtype()));
            Part::Guarded(mul(&rsqrt(&minus), &rsqrt(&one_plus(x))))
        }
        UnaryOp::Arcsinh => Part::Guarded(rsqrt(&one_plus(&square(x)))),
        UnaryOp::Arctan => Part::Guarded(reciprocal(&one_plus(&square(x)))),
        UnaryOp::Arctanh => Part::Guarded(reciprocal(&one_minus(&square(x)))),
        UnaryOp::Cos => Part::Times(neg(&unary(UnaryOp::Sin, x))),
        UnaryOp::Sin => Part::Times(unary(UnaryOp::Cos, x)),
        UnaryOp::Cosh => Part::Guarded(unary(UnaryOp::Sinh, x)),
        UnaryOp::Sinh => Part::Guarded(unary(UnaryOp::Cosh, x)),
        UnaryOp::Erf => Part::Times(scaled(&exp(&neg(&square(x))), 2.0 / PI.sqrt())),
        UnaryOp::Erfinv => Part::Guarded(scaled(&exp(&square(y)), PI.sqrt() / 2.0)),
        UnaryOp::Exp => Part::Guarded(y.clone()),
        UnaryOp::Expm1 => Part::Guarded(one_plus(y)),
        UnaryOp::Log => Part::Guarded(reciprocal(x)),
        UnaryOp::Log2 => Part::Guarded(scaled(&reciprocal(x), 1.0 / LN_2)),
        UnaryOp::Log10 => Part::Guarded(scaled(&reciprocal(x), 1.0 / LN_10)),
        UnaryOp::Log1p => Part::Guarded(reciprocal(&one_plus(x))),
        UnaryOp::Negative => Part::Opposite,
        UnaryOp::Rsqrt => Part::Guarded(scaled(&div(y, x), -0.5)),
        // 1 − y would lose all digits for large x.
        UnaryOp::Sigmoid => Part::Times(mul(y, &sigmoid(&neg(x)))),
        UnaryOp::Sqrt => Part::Guarded(div(&number(0.5, y.dtype()), y)),
        UnaryOp::Square => Part::Times(add(x, x)),
        UnaryOp::Tan => Part::Guarded(one_plus(&square(y))),
        UnaryOp::Tanh => Part::Times(mul(&one_minus(y), &one_plus(y))),
        // Of real numbers; complex ones are not a matter of factors.
        UnaryOp::Conjugate | UnaryOp::Real => Part::Same,
        UnaryOp::Imag
        | UnaryOp::BitwiseInvert
        | UnaryOp::LogicalNot
        | UnaryOp::Isfinite
        | UnaryOp::Isinf
        | UnaryOp::Isnan
        | UnaryOp::Isneginf
        | UnaryOp::Isposinf
        | UnaryOp::Ceil
        | UnaryOp::Floor
        | UnaryOp::Round
        | UnaryOp::Trunc
        | UnaryOp::Sign => Part::Zero,
    }
}

/// The part of `v` that turns a complex number of sign `s` without making it longer, divided by its length.
#[track_caller]
fn turning(v: &Array, z: &Array, s: &Array) -> Array {
    let along = unary(UnaryOp::Real, &mul(&conj(s), v));
    let rest = sub(v, &mul(s, &cast(&along, v.dtype())));
    let length = unary(UnaryOp::Abs, z);
    let nowhere = equal(&length, &zero(length.dtype()));
    let turned = div(&rest, &cast(&length, v.dtype()));
    select(&nowhere, &zero(v.dtype()), &turned)
}

/// Parts of complex numbers, which are no factors. `None` for all other functions.
#[track_caller]
fn complex_vjp(op: UnaryOp, x: &Array, y: &Array, g: &Array) -> Option<Array> {
    let complex = || cast(g, Dtype::Complex64);
    match op {
        UnaryOp::Abs => Some(mul(&complex(), &unary(UnaryOp::Sign, x))),
        UnaryOp::Real => Some(complex()),
        UnaryOp::Imag => Some(mul(&complex(), &number(Scalar::Complex(0.0, 1.0), Dtype::Complex64))),
        UnaryOp::Conjugate => Some(conj(g)),
        UnaryOp::Sign => Some(turning(g, x, y)),
        _ => None,
    }
}

#[track_caller]
fn complex_jvp(op: UnaryOp, x: &Array, y: &Array, t: &Array) -> Option<Array> {
    match op {
        UnaryOp::Abs => Some(unary(UnaryOp::Real, &mul(&conj(&unary(UnaryOp::Sign, x)), t))),
        UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conjugate => Some(unary(op, t)),
        UnaryOp::Sign => Some(turning(t, x, y)),
        _ => None,
    }
}

#[track_caller]
pub(super) fn unary_vjp(op: UnaryOp, call: &Call, g: &Array) -> Option<Array> {
    let (x, y) = (&call.inputs[0], &call.outputs[0]);
    if x.dtype().is_complex()
        && let Some(special) = complex_vjp(op, x, y, g)
    {
        return Some(special);
    }
    unary_part(op, x, y).pull(g)
}

#[track_caller]
pub(super) fn unary_jvp(op: UnaryOp, call: &Call, t: &Array) -> Option<Array> {
    let (x, y) = (&call.inputs[0], &call.outputs[0]);
    if x.dtype().is_complex()
        && let Some(special) = complex_jvp(op, x, y, t)
    {
        return Some(special);
    }
    unary_part(op, x, y).push(t)
}

/// The derivative by the first (`of = 0`) or the second input.
#[track_caller]
fn binary_part(op: BinaryOp, of: usize, a: &Array, b: &Array, y: &Array) -> Part {
    let first = of == 0;
    match op {
        BinaryOp::Add => Part::Same,
        BinaryOp::Subtract if first => Part::Same,
        BinaryOp::Subtract => Part::Opposite,
        BinaryOp::Multiply if first => Part::Times(b.clone()),
        BinaryOp::Multiply => Part::Times(a.clone()),
        BinaryOp::Divide if first => Part::Guarded(div(&number(1i64, b.dtype()), b)),
        BinaryOp::Divide => Part::Guarded(neg(&div(y, b))),
        BinaryOp::Power if first => Part::Guarded(power_by_base(a, b)),
        BinaryOp::Power if y.dtype().is_inexact() => Part::Guarded(power_by_exponent(a, b, y)),
        BinaryOp::Maximum if first => Part::Where(greater(a, b)),
        BinaryOp::Maximum => Part::Where(less_equal(a, b)),
        BinaryOp::Minimum if first => Part::Where(less(a, b)),
        BinaryOp::Minimum => Part::Where(greater_equal(a, b)),
        BinaryOp::Arctan2 => {
            let squared = add(&square(a), &square(b));
            Part::Guarded(div(&if first { b.clone() } else { neg(a) }, &squared))
        }
        BinaryOp::Logaddexp => Part::Times(share(if first { a } else { b }, if first { b } else { a }, y)),
        BinaryOp::Remainder if first => Part::Same,
        BinaryOp::Remainder => Part::Times(neg(&binary(BinaryOp::FloorDivide, a, b))),
        BinaryOp::Power
        | BinaryOp::FloorDivide
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr
        | BinaryOp::LogicalXor
        | BinaryOp::BitwiseAnd
        | BinaryOp::BitwiseOr
        | BinaryOp::BitwiseXor
        | BinaryOp::LeftShift
        | BinaryOp::RightShift => Part::Zero,
    }
}

/// `b · a^(b − 1)`, and 0 for `b = 0` whatever `a` is.
#[track_caller]
fn power_by_base(a: &Array, b: &Array) -> Array {
    let none = equal(b, &zero(b.dtype()));
    let less = sub(b, &number(1i64, b.dtype()));
    mul(b, &binary(BinaryOp::Power, a, &select(&none, b, &less)))
}

/// `y · ln a`, and 0 where `0` is raised to something that is not negative.
#[track_caller]
fn power_by_exponent(a: &Array, b: &Array, y: &Array) -> Array {
    let none = zero(a.dtype());
    let zero_base = equal(a, &none);
    let flat = match a.dtype().is_complex() {
        true => zero_base,
        false => binary(BinaryOp::LogicalAnd, &zero_base, &greater_equal(b, &none)),
    };
    select(&flat, &none, &mul(y, &log(a)))
}

/// The share that `a` has in `log(exp(a) + exp(b))`; half where both are the same infinity.
#[track_caller]
fn share(a: &Array, b: &Array, y: &Array) -> Array {
    if a.dtype().is_complex() {
        return exp(&sub(a, y));
    }
    select(&equal(a, b), &number(0.5, a.dtype()), &sigmoid(&sub(a, b)))
}

#[track_caller]
pub(super) fn binary_vjp(op: BinaryOp, call: &Call, of: usize, g: &Array) -> Option<Array> {
    let (a, b) = (&call.inputs[0], &call.inputs[1]);
    let whole = binary_part(op, of, a, b, &call.outputs[0]).pull(g)?;
    Some(unbroadcast(&whole, &call.inputs[of]))
}

#[track_caller]
pub(super) fn binary_jvp(op: BinaryOp, call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    let (a, b, y) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let compares = y.dtype() == Dtype::Bool && a.dtype() != Dtype::Bool;
    if compares && let Some(t) = tangents.iter().flatten().next() {
        // Flat everywhere, in the type that tangents have.
        return Some(full_like(0i64, y, t.dtype()));
    }
    let part = |of: usize| tangents[of].as_ref().and_then(|t| binary_part(op, of, a, b, y).push(t));
    let sum = match (part(0), part(1)) {
        (Some(a), Some(b)) => add(&a, &b),
        (one, other) => one.or(other)?,
    };
    Some(broadcast_like(&sum, y))
}

#[track_caller]
pub(super) fn select_vjp(call: &Call, of: usize, g: &Array) -> Option<Array> {
    let condition = &call.inputs[0];
    let none = zero(g.dtype());
    let whole = match of {
        1 => select(condition, g, &none),
        2 => select(condition, &none, g),
        _ => return None,
    };
    Some(unbroadcast(&whole, &call.inputs[of]))
}

#[track_caller]
pub(super) fn select_jvp(call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    let y = &call.outputs[0];
    if tangents[1].is_none() && tangents[2].is_none() {
        return None;
    }
    let or_zero = |t: &Option<Array>| t.clone().unwrap_or_else(|| zero(y.dtype()));
    let chosen = select(&call.inputs[0], &or_zero(&tangents[1]), &or_zero(&tangents[2]));
    Some(broadcast_like(&chosen, y))
}

/// The same function, with lanes of lower rank widened so that the batch axis meets the batch axis.
#[track_caller]
pub(super) fn vmap(call: &Call, inputs: &[Batched]) -> SmallVec<[Array; 2]> {
    let rank = call.outputs[0].ndim();
    let aligned: Inputs = inputs.iter().map(|x| x.aligned(rank)).collect();
    Array::from_op_many(call.op.clone(), aligned).into_iter().collect()
}

#[track_caller]
pub(super) fn cast_vjp(call: &Call, g: &Array) -> Array {
    let dtype = call.inputs[0].dtype();
    if g.dtype().is_complex() && !dtype.is_complex() {
        return cast(&unary(UnaryOp::Real, g), dtype);
    }
    cast(g, dtype)
}

#[track_caller]
pub(super) fn cast_jvp(op: &Op, t: &Array) -> Array {
    apply(op.clone(), &[t])
}
