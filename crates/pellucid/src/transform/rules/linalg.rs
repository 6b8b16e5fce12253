//! Decompositions, inverses and solutions. Adjoints are written with solutions of systems, not with inverses.

use smallvec::SmallVec;

use super::build::*;
use super::{Batched, Call};
use crate::array::{Array, Results};
use crate::error::Result;
use crate::linalg::{Triangle, solve, solve_triangular};
use crate::op::{LinalgOp, Op, SvdVectors};
use crate::ops::{equal, expand_dims, eye, reciprocal, square, take_along_axis, tril, triu, where_};

#[track_caller]
fn adjoint(a: &Array) -> Array {
    matrix_transpose(&conj(a))
}

/// `a` with its columns multiplied by the elements of vectors.
#[track_caller]
fn scaled(a: &Array, by: &Array) -> Array {
    mul(a, &cast(&expand_dims(by, -2), a.dtype()))
}

#[track_caller]
fn symmetric(a: &Array) -> Array {
    mul(&add(a, &adjoint(a)), &number(0.5, a.dtype()))
}

/// The part of a cotangent that belongs to a triangle that is read.
#[track_caller]
fn triangle(a: &Array, upper: bool) -> Array {
    if upper { triu(a, 0) } else { tril(a, 0) }
}

fn side(upper: bool) -> Triangle {
    if upper { Triangle::Upper } else { Triangle::Lower }
}

/// The cotangent of input `of`, from those of the results.
#[track_caller]
pub(super) fn vjp(
    op: LinalgOp,
    call: &Call,
    of: usize,
    cotangents: &[Option<Array>],
) -> Result<Option<Array>> {
    if cotangents.iter().all(Option::is_none) {
        return Ok(None);
    }
    let (a, out) = (&call.inputs[0], call.outputs);
    let given = |i: usize| cotangents[i].clone().unwrap_or_else(|| zeros_like(&out[i]));
    let (m, n) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    Ok(Some(match op {
        LinalgOp::Inverse => inverse(&out[0], &given(0)),
        LinalgOp::TriangularInverse { upper } => triangle(&inverse(&out[0], &given(0)), upper),
        LinalgOp::Cholesky => cholesky(&out[0], &given(0)),
        LinalgOp::Solve => {
            let b = solve(&adjoint(a), &given(0));
            if of == 1 { b } else { neg(&matmul(&b, &adjoint(&out[0]))) }
        }
        LinalgOp::TriangularSolve { upper } => {
            let b = solve_triangular(&adjoint(a), &given(0), side(!upper));
            if of == 1 { b } else { triangle(&neg(&matmul(&b, &adjoint(&out[0]))), upper) }
        }
        LinalgOp::Qr if m >= n => qr(&out[0], &out[1], &given(0), &given(1)),
        LinalgOp::Lu if m == n => match &cotangents[0] {
            Some(g) => lu(&out[0], &out[2], g),
            None => return Ok(None),
        },
        LinalgOp::Svd { vectors: SvdVectors::None } => {
            let (u, v) = vectors_of(LinalgOp::Svd { vectors: SvdVectors::Thin }, a, 0, 2);
            matmul(&scaled(&u, &given(0)), &v)
        }
        LinalgOp::Svd { vectors } if vectors == SvdVectors::Thin || m == n => {
            svd(out, &given(0), &given(1), &given(2))
        }
        LinalgOp::Eigh { upper, vectors: false } => {
            let (_, v) = vectors_of(LinalgOp::Eigh { upper, vectors: true }, a, 0, 1);
            symmetric(&matmul(&scaled(&v, &given(0)), &adjoint(&v)))
        }
        LinalgOp::Eigh { .. } => eigh(&out[0], &out[1], &given(0), &given(1)),
        LinalgOp::Qr | LinalgOp::Lu | LinalgOp::Svd { .. } | LinalgOp::Eig { .. } => {
            return Err(call.no_rule("vjp"));
        }
    }))
}

/// Two of the results of a decomposition that is made for the derivative of one with fewer.
#[track_caller]
fn vectors_of(op: LinalgOp, a: &Array, first: usize, second: usize) -> (Array, Array) {
    let made = many(op, std::slice::from_ref(a));
    (made[first].clone(), made[second].clone())
}

#[track_caller]
fn many(op: LinalgOp, inputs: &[Array]) -> Results {
    Array::from_op_many(Op::Linalg(op), inputs)
}

/// −Bᴴ g Bᴴ.
#[track_caller]
fn inverse(b: &Array, g: &Array) -> Array {
    let b = adjoint(b);
    neg(&matmul(&matmul(&b, g), &b))
}

/// L⁻ᴴ P L⁻¹, symmetric, with P the lower triangle of Lᴴ g, its diagonal halved.
#[track_caller]
fn cholesky(l: &Array, g: &Array) -> Array {
    let p = tril(&matmul(&adjoint(l), g), 0);
    let half = mul(&p, &number(0.5, p.dtype()));
    let p = add(&tril(&p, -1), &sub(&half, &tril(&half, -1)));
    let upper = adjoint(l);
    let left = solve_triangular(&upper, &p, Triangle::Upper);
    symmetric(&adjoint(&solve_triangular(&upper, &adjoint(&left), Triangle::Upper)))
}

/// (Q̄ + Q c(R R̄ᴴ − Q̄ᴴ Q)) R⁻ᴴ, where c mirrors the strict lower triangle.
#[track_caller]
fn qr(q: &Array, r: &Array, q_bar: &Array, r_bar: &Array) -> Array {
    let m = sub(&matmul(r, &adjoint(r_bar)), &matmul(&adjoint(q_bar), q));
    let mirrored = add(&tril(&m, 0), &adjoint(&tril(&m, -1)));
    let right = add(q_bar, &matmul(q, &mirrored));
    // X R⁻ᴴ is the adjoint of R⁻¹ Xᴴ.
    adjoint(&solve_triangular(r, &adjoint(&right), Triangle::Upper))
}

/// Rows of L⁻ᴴ (tril(Lᴴ L̄, −1) + triu(Ū Uᴴ)) U⁻ᴴ.
#[track_caller]
fn lu(packed: &Array, rows: &Array, g: &Array) -> Array {
    let n = packed.shape()[packed.ndim() - 1];
    let l = add(&tril(packed, -1), &eye(n, None, 0, packed.dtype()));
    let u = triu(packed, 0);
    let lower = tril(&matmul(&adjoint(&l), &tril(g, -1)), -1);
    let upper = triu(&matmul(&triu(g, 0), &adjoint(&u)), 0);
    let left = solve_triangular(&adjoint(&l), &add(&lower, &upper), Triangle::Upper);
    // X U⁻ᴴ is the adjoint of U⁻¹ Xᴴ.
    let whole = adjoint(&solve_triangular(&u, &adjoint(&left), Triangle::Upper));
    // Which row is where does not change with the elements.
    let rows = apply(Op::StopGradient, &[rows]);
    take_along_axis(&whole, &broadcast(&expand_dims(&rows, -1), whole.shape()), -2)
}

/// 1 / (b − a) for each pair of values, 0 for equal ones: there the derivative of the vectors is not defined, and what
/// depends on their span alone does not need it.
#[track_caller]
fn gaps(values: &Array) -> Array {
    let difference = sub(&expand_dims(values, -2), &expand_dims(values, -1));
    let equal = equal(&difference, 0);
    where_(&equal, 0, reciprocal(&where_(&equal, 1, &difference)))
}

#[track_caller]
fn on_diagonal(values: &Array) -> Array {
    let n = values.shape()[values.ndim() - 1];
    mul(&expand_dims(values, -1), &eye(n, None, 0, values.dtype()))
}

/// V (diag(w̄) + F ∘ Vᴴ V̄) Vᴴ, symmetric.
#[track_caller]
fn eigh(w: &Array, v: &Array, w_bar: &Array, v_bar: &Array) -> Array {
    let turned = mul(&cast(&gaps(w), v.dtype()), &matmul(&adjoint(v), v_bar));
    let inner = add(&cast(&on_diagonal(w_bar), v.dtype()), &turned);
    symmetric(&matmul(&matmul(v, &inner), &adjoint(v)))
}

/// The adjoint of the thin decomposition: what the values move, what the vectors turn inside their span, and what they
/// leave it by.
#[track_caller]
fn svd(out: &[Array], u_bar: &Array, s_bar: &Array, v_bar: &Array) -> Array {
    let (u, s, vt) = (&out[0], &out[1], &out[2]);
    let v = adjoint(vt);
    let f = cast(&gaps(&square(s)), u.dtype());
    let j = mul(&f, &matmul(&adjoint(u), u_bar));
    let k = mul(&f, &matmul(vt, &adjoint(v_bar)));
    let sigma = cast(s, u.dtype());
    let rows = |x: &Array| mul(x, &expand_dims(&sigma, -1));
    let inner = add(&scaled(&add(&j, &adjoint(&j)), s), &rows(&add(&k, &adjoint(&k))));
    let inner = add(&inner, &cast(&on_diagonal(s_bar), u.dtype()));
    let inside = matmul(&matmul(u, &inner), vt);
    let inverse = where_(&equal(s, 0), 0, reciprocal(&where_(&equal(s, 0), 1, s)));
    let (m, n, least) = (u.shape()[u.ndim() - 2], v.shape()[v.ndim() - 2], s.shape()[s.ndim() - 1]);
    let mut whole = inside;
    if m > least {
        let outside = sub(u_bar, &matmul(u, &matmul(&adjoint(u), u_bar)));
        whole = add(&whole, &matmul(&scaled(&outside, &inverse), vt));
    }
    if n > least {
        let outside = sub(v_bar, &matmul(&matmul(v_bar, &v), vt));
        whole = add(&whole, &matmul(&scaled(u, &inverse), &outside));
    }
    whole
}

/// The batch is one more leading axis.
#[track_caller]
pub(super) fn vmap(op: LinalgOp, inputs: &[Batched], size: usize) -> SmallVec<[Array; 2]> {
    let spread: Vec<Array> = inputs.iter().map(|x| x.spread(size)).collect();
    many(op, &spread).into_iter().collect()
}
