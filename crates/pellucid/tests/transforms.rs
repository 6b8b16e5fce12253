//! Derivatives of every operation against finite differences, both directions against each other, and batches against
//! loops.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::fast::{self, Rope};
use pellucid::linalg::{self, Order, Triangle};
use pellucid::op::Op;
use pellucid::ops::{self, Accumulate, Conv, Index};
use pellucid::transform::{Derivatives, Graph, Trace, check_grad, grad, vmap_axes};
use pellucid::{Array, Axes, Dtype, random};

type Function = fn(&[Array]) -> Array;

/// One function of arrays with random elements between two limits.
struct Case {
    name: &'static str,
    f: Function,
    shapes: &'static [&'static [i64]],
    low: f64,
    high: f64,
    /// Whether second derivatives are smooth enough to be compared with differences.
    smooth: bool,
}

const fn case(name: &'static str, f: Function, shapes: &'static [&'static [i64]]) -> Case {
    Case { name, f, shapes, low: 0.3, high: 0.9, smooth: true }
}

const fn rough(name: &'static str, f: Function, shapes: &'static [&'static [i64]]) -> Case {
    Case { smooth: false, ..case(name, f, shapes) }
}

fn places() -> [Index; 3] {
    [Index::from(i32s(&[2, 0, 2])), Index::step(None, None, 1), Index::from(i32s(&[1, -1, 1]))]
}

fn combine(x: &[Array], how: Accumulate) -> Array {
    ops::slice_accumulate(&x[0], &x[1], &places(), how)
}

fn i32s(values: &[i32]) -> Array {
    Array::from(values.to_vec())
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("sin", |x| ops::sin(&x[0]), &[&[2, 3]]),
    case("cos", |x| ops::cos(&x[0]), &[&[2, 3]]),
    case("tan", |x| ops::tan(&x[0]), &[&[2, 3]]),
    case("arcsin", |x| ops::arcsin(&x[0]), &[&[2, 3]]),
    case("arccos", |x| ops::arccos(&x[0]), &[&[2, 3]]),
    case("arctan", |x| ops::arctan(&x[0]), &[&[2, 3]]),
    case("sinh", |x| ops::sinh(&x[0]), &[&[2, 3]]),
    case("cosh", |x| ops::cosh(&x[0]), &[&[2, 3]]),
    case("tanh", |x| ops::tanh(&x[0]), &[&[2, 3]]),
    case("arcsinh", |x| ops::arcsinh(&x[0]), &[&[2, 3]]),
    case("arccosh", |x| ops::arccosh(&ops::add(&x[0], 1.0)), &[&[2, 3]]),
    case("arctanh", |x| ops::arctanh(&x[0]), &[&[2, 3]]),
    case("erf", |x| ops::erf(&x[0]), &[&[2, 3]]),
    case("erfinv", |x| ops::erfinv(&x[0]), &[&[2, 3]]),
    case("exp", |x| ops::exp(&x[0]), &[&[2, 3]]),
    case("expm1", |x| ops::expm1(&x[0]), &[&[2, 3]]),
    case("log", |x| ops::log(&x[0]), &[&[2, 3]]),
    case("log2", |x| ops::log2(&x[0]), &[&[2, 3]]),
    case("log10", |x| ops::log10(&x[0]), &[&[2, 3]]),
    case("log1p", |x| ops::log1p(&x[0]), &[&[2, 3]]),
    case("negative", |x| ops::negative(&x[0]), &[&[2, 3]]),
    case("abs", |x| ops::abs(&ops::subtract(&x[0], 1.0)), &[&[2, 3]]),
    case("sqrt", |x| ops::sqrt(&x[0]), &[&[2, 3]]),
    case("rsqrt", |x| ops::rsqrt(&x[0]), &[&[2, 3]]),
    case("sigmoid", |x| ops::sigmoid(&x[0]), &[&[2, 3]]),
    case("square", |x| ops::square(&x[0]), &[&[2, 3]]),
    case("real", |x| ops::real(&x[0]), &[&[2, 3]]),
    case("conjugate", |x| ops::conjugate(&x[0]), &[&[2, 3]]),
    case("add", |x| ops::add(&x[0], &x[1]), &[&[2, 3], &[3]]),
    case("subtract", |x| ops::subtract(&x[0], &x[1]), &[&[1, 3], &[2, 1]]),
    case("multiply", |x| ops::multiply(&x[0], &x[1]), &[&[2, 3], &[2, 1]]),
    case("divide", |x| ops::divide(&x[0], &x[1]), &[&[2, 3], &[3]]),
    case("power", |x| ops::power(&x[0], &x[1]), &[&[2, 3], &[3]]),
    rough("maximum", |x| ops::maximum(&x[0], &x[1]), &[&[2, 3], &[3]]),
    rough("minimum", |x| ops::minimum(&x[0], &x[1]), &[&[2, 3], &[3]]),
    case("arctan2", |x| ops::arctan2(&x[0], &x[1]), &[&[2, 3], &[3]]),
    case("logaddexp", |x| ops::logaddexp(&x[0], &x[1]), &[&[2, 3], &[3]]),
    rough("remainder", |x| ops::remainder(&ops::add(&x[0], 2.0), &x[1]), &[&[2, 3], &[3]]),
    rough("where", |x| ops::where_(&ops::greater(&x[0], 0.6), &x[0], &x[1]), &[&[2, 3], &[3]]),
    case("astype", |x| ops::astype(&x[0], Dtype::Float64), &[&[2, 3]]),
    case("reshape", |x| ops::reshape(&x[0], [3, 2]), &[&[2, 3]]),
    case("transpose", |x| ops::transpose(&x[0], Axes::from([2, 0, 1])), &[&[2, 3, 4]]),
    case("broadcast", |x| ops::broadcast_to(&x[0], [4, 2, 3]), &[&[2, 1]]),
    case("slice", |x| ops::index(&x[0], &[Index::step(3, -5, -2), Index::step(1, 3, 1)]), &[&[4, 3]]),
    case("as_strided", |x| ops::as_strided(&x[0], [3, 2], Some(&[1, 2][..]), 1), &[&[6]]),
    case("contiguous", |x| ops::contiguous(&x[0]), &[&[2, 3]]),
    case("depends", |x| pellucid::depends(&[&x[0]], &[&x[1]]).remove(0), &[&[2, 3], &[3]]),
    case("concatenate", |x| ops::concatenate(&[&x[0], &x[1]], 1), &[&[2, 3], &[2, 2]]),
    case("pad", |x| ops::pad(&x[0], [(1, 2), (0, 1)], ops::PadMode::Constant, &ops::mean(&x[1], Axes::All, false)), &[&[2, 3], &[2]]),
    case("slice_update", |x| ops::slice_update(&x[0], &x[1], &[Index::step(0, 3, 2), Index::step(1, 3, 1)]), &[&[4, 3], &[2, 2]]),
    case("take", |x| ops::take(&x[0], &i32s(&[1, 1, -1, 0]), 1), &[&[2, 3, 2]]),
    case("take_along_axis", |x| ops::take_along_axis(&x[0], &ops::reshape(&i32s(&[1, 1, -1, 0]), [2, 2]), 1), &[&[2, 3]]),
    case("put_along_axis", |x| ops::put_along_axis(&x[0], &ops::reshape(&i32s(&[1, 2, -1, 0]), [2, 2]), &x[1], 1), &[&[2, 3], &[2, 2]]),
    case("gather", |x| ops::index(&x[0], &places()), &[&[3, 2, 4]]),
    case("scatter", |x| ops::slice_update(&x[0], &x[1], &[Index::from(i32s(&[2, 0])), Index::from(i32s(&[1, -1]))]), &[&[3, 2], &[1]]),
    case("scatter_add", |x| combine(x, Accumulate::Add), &[&[3, 2, 4], &[3, 2]]),
    case("scatter_prod", |x| combine(x, Accumulate::Multiply), &[&[3, 2, 4], &[3, 2]]),
    rough("scatter_max", |x| combine(x, Accumulate::Maximum), &[&[3, 2, 4], &[3, 2]]),
    rough("scatter_min", |x| combine(x, Accumulate::Minimum), &[&[3, 2, 4], &[3, 2]]),
    rough("divmod", |x| ops::divmod(&ops::add(&x[0], 2.0), &x[1]).1, &[&[2, 3], &[3]]),
    case("sum", |x| ops::sum(&x[0], 1, false), &[&[2, 3, 2]]),
    case("prod", |x| ops::prod(&x[0], [0, 2], false), &[&[2, 3, 2]]),
    rough("max", |x| ops::max(&x[0], 1, true), &[&[2, 3]]),
    rough("min", |x| ops::min(&x[0], Axes::All, false), &[&[2, 3]]),
    case("logsumexp", |x| ops::logsumexp(&x[0], [0, 1], false), &[&[2, 3, 2]]),
    case("mean", |x| ops::mean(&x[0], 1, false), &[&[2, 3, 2]]),
    case("var", |x| ops::var(&x[0], 1, false, 1), &[&[2, 3, 2]]),
    case("std", |x| ops::std(&x[0], 1, false, 0), &[&[2, 3]]),
    case("cumsum", |x| ops::cumsum(&x[0], 1, true, false), &[&[2, 3]]),
    case("cumprod", |x| ops::cumprod(&x[0], 0, false, true), &[&[3, 2]]),
    case("cumprod_reverse_exclusive", |x| ops::cumprod(&x[0], 1, true, false), &[&[2, 4]]),
    rough("cummax", |x| ops::cummax(&x[0], 1, false, true), &[&[2, 4]]),
    rough("cummax_exclusive", |x| ops::cummax(&x[0], 1, true, true), &[&[2, 4]]),
    rough("cummin", |x| ops::cummin(&x[0], 0, true, true), &[&[4, 2]]),
    case("logcumsumexp", |x| ops::logcumsumexp(&x[0], 1, false, true), &[&[2, 4]]),
    case("softmax", |x| ops::softmax(&x[0], 1, false), &[&[2, 3, 2]]),
    case("softmax_of_two_axes", |x| ops::softmax(&x[0], [0, 1], true), &[&[2, 3]]),
    rough("sort", |x| ops::sort(&x[0], 1), &[&[2, 4]]),
    rough("topk", |x| ops::topk(&x[0], 2, 1), &[&[2, 4]]),
    rough("median", |x| ops::median(&x[0], 1, false), &[&[2, 5]]),
    case("matmul", |x| ops::matmul(&x[0], &x[1]), &[&[2, 3], &[3, 4]]),
    case("matmul_of_batches", |x| ops::matmul(&x[0], &x[1]), &[&[5, 1, 2, 3], &[2, 3, 4]]),
    case("matmul_of_a_batch_and_a_matrix", |x| ops::matmul(&x[0], &x[1]), &[&[5, 2, 3], &[3, 4]]),
    case("matmul_of_vectors", |x| ops::matmul(&x[0], &x[1]), &[&[3], &[3, 4]]),
    case("addmm", |x| ops::addmm(&x[0], &x[1], &x[2], 0.5, 2.0), &[&[4], &[2, 3], &[3, 4]]),
    case("conv", |x| ops::conv2d(&x[0], &x[1], &Conv::new()), &[&[1, 4, 4, 2], &[3, 2, 2, 2]]),
    case("conv_general", |x| ops::conv_general(&x[0], &x[1], &Conv::new().stride(2).padding(1)), &[&[2, 5, 2], &[3, 3, 2]]),
    case("layer_norm", |x| fast::layer_norm(&x[0], Some(&x[1]), Some(&x[2]), 1e-5), &[&[2, 4], &[4], &[4]]),
    case("rms_norm", |x| fast::rms_norm(&x[0], Some(&x[1]), 1e-5), &[&[2, 4], &[4]]),
    case("rope", |x| fast::rope(&x[0], &Rope::new(4).offset(3)), &[&[1, 2, 3, 4]]),
    case("cross_entropy", |x| Array::apply(Op::CrossEntropy, &[x[0].clone(), i32s(&[1, 0])]), &[&[2, 3]]),
    case("inv", |x| linalg::inv(&regular(&x[0])), &[&[3, 3]]),
    case("inv of a batch", |x| linalg::inv(&regular(&x[0])), &[&[2, 3, 3]]),
    case("tri_inv", |x| linalg::tri_inv(&regular(&x[0]), Triangle::Upper), &[&[3, 3]]),
    case("cholesky", |x| linalg::cholesky(&positive(&x[0]), Triangle::Lower), &[&[3, 3]]),
    case("cholesky of the upper triangle", |x| linalg::cholesky(&positive(&x[0]), Triangle::Upper), &[&[3, 3]]),
    case("cholesky_inv", |x| linalg::cholesky_inv(&regular(&x[0]), Triangle::Lower), &[&[3, 3]]),
    case("solve", |x| linalg::solve(&regular(&x[0]), &x[1]), &[&[3, 3], &[3, 2]]),
    case("solve for a vector", |x| linalg::solve(&regular(&x[0]), &x[1]), &[&[3, 3], &[3]]),
    case("solve_triangular", |x| linalg::solve_triangular(&regular(&x[0]), &x[1], Triangle::Lower), &[&[3, 3], &[3, 2]]),
    case("q of qr", |x| linalg::qr(&regular(&x[0])).0, &[&[3, 3]]),
    case("r of a tall qr", |x| linalg::qr(&x[0]).1, &[&[4, 2]]),
    case("lu_factor", |x| linalg::lu_factor(&regular(&x[0])).0, &[&[3, 3]]),
    case("eigvalsh", |x| linalg::eigvalsh(&spread(&x[0]), Triangle::Lower), &[&[3, 3]]),
    rough("a function of a symmetric matrix", |x| {
        let (w, v) = linalg::eigh(&spread(&x[0]), Triangle::Upper);
        ops::matmul(&ops::multiply(&v, &ops::expand_dims(&ops::exp(&w), -2)), &ops::swapaxes(&v, -1, -2))
    }, &[&[3, 3]]),
    case("singular values", |x| linalg::singular_values(&x[0]), &[&[3, 2]]),
    rough("the polar factor by svd", |x| {
        let (u, _, v) = linalg::svd(&regular(&x[0]));
        ops::matmul(&u, &v)
    }, &[&[3, 3]]),
    case("pinv of a tall matrix", |x| linalg::pinv(&x[0]), &[&[3, 2]]),
    case("det of three rows", |x| linalg::det(&x[0]), &[&[3, 3]]),
    case("det of four rows", |x| linalg::det(&regular(&x[0])), &[&[4, 4]]),
    case("slogdet", |x| linalg::slogdet(&regular(&x[0])).1, &[&[4, 4]]),
    case("norm", |x| linalg::norm(&x[0], None, 1, false), &[&[2, 3]]),
    case("nuclear norm", |x| linalg::norm(&x[0], Order::Nuclear, Axes::All, false), &[&[3, 2]]),
    case("cross", |x| linalg::cross(&x[0], &x[1], -1), &[&[2, 3], &[3]]),
    case("einsum", |x| ops::einsum("ij,jk,k->i", &[&x[0], &x[1], &x[2]]), &[&[2, 3], &[3, 4], &[4]]),
    case("gather_mm", |x| ops::gather_mm(&x[0], &x[1], None, Some(&i32s(&[1, 0, 1]))), &[&[3, 1, 2], &[2, 2, 2]]),
];

/// A matrix far from singular.
fn regular(x: &Array) -> Array {
    ops::add(x, &ops::multiply(&ops::identity(x.shape()[x.ndim() - 1], x.dtype()), 3.0))
}

fn positive(x: &Array) -> Array {
    ops::add(&ops::matmul(x, &ops::swapaxes(x, -1, -2)), &ops::identity(x.shape()[x.ndim() - 1], x.dtype()))
}

/// A symmetric matrix whose eigenvalues are far apart.
fn spread(x: &Array) -> Array {
    let n = x.shape()[x.ndim() - 1];
    let diagonal = ops::diag(&ops::multiply(&ops::linspace(0.0, 1.0, n, true, x.dtype()), 9.0), 0);
    ops::add(&ops::add(x, &ops::swapaxes(x, -1, -2)), &diagonal)
}

fn inputs(case: &Case, seed: u64) -> Vec<Array> {
    let key = random::key(seed);
    let keys = random::split(&key, case.shapes.len());
    let one = |(i, shape): (usize, &&[i64])| {
        let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
        let key = ops::index(&keys, &[Index::Int(i as i64)]);
        let x = random::uniform(case.low, case.high, shape, Dtype::Float32, Some(&key));
        ops::astype(&x, Dtype::Float64)
    };
    case.shapes.iter().enumerate().map(one).collect()
}

fn like(x: &Array, seed: u64) -> Array {
    let key = random::key(seed);
    let made = random::normal(x.shape().to_vec(), Dtype::Float32, 0.0, 1.0, Some(&key));
    ops::astype(&made, x.dtype())
}

fn dot(a: &Array, b: &Array) -> f64 {
    ops::sum(&ops::multiply(a, b), Axes::All, false).item::<f64>().unwrap()
}

fn gradients(f: Function, x: &[Array], w: &Array) -> Vec<Array> {
    let derivatives = Derivatives::begin(x);
    let y = f(derivatives.variables());
    derivatives.pull_back(&[(y, w.clone())]).unwrap()
}

fn tangent(f: Function, x: &[Array], t: &[Array]) -> Array {
    let derivatives = Derivatives::begin(x);
    let y = f(derivatives.variables());
    derivatives.push_forward(t, &[y]).unwrap().remove(0)
}

fn moved(x: &[Array], t: &[Array], by: f64) -> Vec<Array> {
    x.iter().zip(t).map(|(x, t)| ops::add(x, &ops::multiply(t, by))).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn gradients_are_the_limits_of_differences() {
    let mut wrong = Vec::new();
    for case in CASES {
        let x = inputs(case, 1);
        let w = like(&(case.f)(&x), 2);
        let t: Vec<Array> = x.iter().enumerate().map(|(i, x)| like(x, 3 + i as u64)).collect();
        let expected =
            (dot(&w, &(case.f)(&moved(&x, &t, 1e-6))) - dot(&w, &(case.f)(&moved(&x, &t, -1e-6)))) / 2e-6;
        let found: f64 = gradients(case.f, &x, &w).iter().zip(&t).map(|(g, t)| dot(g, t)).sum();
        if !close(expected, found, 1e-6) {
            wrong.push(format!("{}: {found} instead of {expected}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_directions_are_transposes_of_each_other() {
    let mut wrong = Vec::new();
    for case in CASES {
        let x = inputs(case, 11);
        let w = like(&(case.f)(&x), 12);
        let t: Vec<Array> = x.iter().enumerate().map(|(i, x)| like(x, 13 + i as u64)).collect();
        let forward = dot(&w, &tangent(case.f, &x, &t));
        let reverse: f64 = gradients(case.f, &x, &w).iter().zip(&t).map(|(g, t)| dot(g, t)).sum();
        if !close(forward, reverse, 1e-10) {
            wrong.push(format!("{}: {forward} forwards, {reverse} backwards", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A cotangent that does not depend on anything, so that a gradient is a function of the inputs alone.
fn weighted(case: &Case, x: &[Array]) -> Array {
    let y = (case.f)(x);
    let w = ops::reshape(
        &ops::linspace(0.5, 1.5, y.size(), true, Dtype::Float64),
        y.shape().iter().map(|&d| d as i64).collect::<Vec<_>>(),
    );
    ops::sum(&ops::multiply(&y, &w), Axes::All, false)
}

#[test]
fn second_derivatives_are_the_limits_of_differences() {
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.smooth) {
        let x = inputs(case, 21);
        let t: Vec<Array> = x.iter().enumerate().map(|(i, x)| like(x, 23 + i as u64)).collect();
        let slope = |x: &Vec<Array>| -> Array {
            let gradient = grad(|x: &Vec<Array>| weighted(case, x))(x).unwrap();
            gradient
                .iter()
                .zip(&t)
                .map(|(g, t)| ops::sum(&ops::multiply(g, t), Axes::All, false))
                .reduce(|a, b| ops::add(&a, &b))
                .unwrap()
        };
        let second = grad(slope)(&x).unwrap();
        let found: f64 = second.iter().zip(&t).map(|(g, t)| dot(g, t)).sum();
        let at = |by: f64| slope(&moved(&x, &t, by)).item::<f64>().unwrap();
        let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
        if !close(expected, found, 1e-5) {
            wrong.push(format!("{}: {found} instead of {expected}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn stacked(lanes: &[Array], axis: i64) -> Array {
    ops::stack(&lanes.iter().collect::<Vec<_>>(), axis)
}

fn same(a: &Array, b: &Array) -> bool {
    a.shape() == b.shape() && ops::allclose(a, b, 1e-12, 1e-12, true).item::<bool>().unwrap()
}

/// Every combination of mapped and unmapped inputs.
fn combinations(count: usize) -> Vec<Vec<bool>> {
    (1..1usize << count).map(|bits| (0..count).map(|i| bits >> i & 1 == 1).collect()).collect()
}

#[test]
fn batches_are_loops_over_their_lanes() {
    let mut wrong = Vec::new();
    for case in CASES {
        let lanes: Vec<Vec<Array>> = (0..3).map(|lane| inputs(case, 31 + lane)).collect();
        for mapped in combinations(case.shapes.len()) {
            for axis in [0, -1] {
                let x: Vec<Array> = mapped
                    .iter()
                    .enumerate()
                    .map(|(i, &mapped)| {
                        if mapped {
                            stacked(&lanes.iter().map(|l| l[i].clone()).collect::<Vec<_>>(), axis)
                        } else {
                            lanes[0][i].clone()
                        }
                    })
                    .collect();
                let axes: Vec<Option<i64>> = mapped.iter().map(|&mapped| mapped.then_some(axis)).collect();
                let found = vmap_axes(|x: &Vec<Array>| (case.f)(x), axes.clone(), vec![Some(0)])(&x).unwrap();
                let lane = |lane: usize| -> Vec<Array> {
                    mapped
                        .iter()
                        .enumerate()
                        .map(|(i, &mapped)| lanes[if mapped { lane } else { 0 }][i].clone())
                        .collect()
                };
                let expected = stacked(&(0..3).map(|l| (case.f)(&lane(l))).collect::<Vec<_>>(), 0);
                if !same(&found, &expected) {
                    wrong
                        .push(format!("{} {mapped:?} axis {axis}: {found} instead of {expected}", case.name));
                }
                let found = vmap_axes(
                    |x: &Vec<Array>| grad(|x: &Vec<Array>| weighted(case, x))(x).unwrap(),
                    axes,
                    vec![Some(0); mapped.len()],
                )(&x)
                .unwrap();
                for (i, found) in found.iter().enumerate() {
                    let one =
                        |l: usize| grad(|x: &Vec<Array>| weighted(case, x))(&lane(l)).unwrap()[i].clone();
                    let expected = stacked(&(0..3).map(one).collect::<Vec<_>>(), 0);
                    if !same(found, &expected) {
                        wrong.push(format!(
                            "gradient of {} by {i} {mapped:?} axis {axis}: {found} instead of {expected}",
                            case.name
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The variant of an operation, as files write it.
fn variant(op: &Op) -> String {
    match serde_json::to_value(op).unwrap() {
        serde_json::Value::String(name) => name,
        serde_json::Value::Object(fields) => fields.keys().next().unwrap().clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn every_operation_is_among_the_cases() {
    // What has no input with a derivative, passes everything on, or is checked in tests of its own.
    let elsewhere = [
        "full",
        "arange",
        "load",
        "random_bits",
        "stop_gradient",
        "depends",
        "view",
        "search_sorted",
        "custom",
        "arg_reduce",
        "argsort",
        "fft",
        "quantize",
        "dequantize",
        "quantized_matmul",
        // Has no derivative, as in MLX.
        "segmented_mm",
        // Computed in float32, in which differences say little: compared with mlx and with what they stand for.
        "attention",
        "gated_delta",
        // What rules make, for which second derivatives speak.
        "norm_backward",
        "cross_entropy_backward",
        "attention_backward",
    ];
    // A text that names no operation is answered with a list of all.
    let answer = serde_json::from_str::<Op>("\"none\"").unwrap_err().to_string();
    let all = answer.split('`').skip(3).step_by(2).map(str::to_owned);
    let mut seen: std::collections::BTreeSet<String> = elsewhere.map(str::to_owned).into();
    for case in CASES {
        let x = inputs(case, 1);
        let trace = Trace::of_whole();
        let variables: Vec<Array> =
            x.iter().map(|x| trace.placeholder(x.shape().into(), x.dtype()).unwrap()).collect();
        let y = (case.f)(&variables);
        let graph = Graph::from_trace(trace, &variables, &[y]).unwrap();
        seen.extend(graph.calls().map(|call| variant(call.op)));
    }
    let missing: Vec<String> = all.filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn every_case_passes_the_check_that_users_have() {
    let mut wrong = Vec::new();
    for case in CASES {
        let check = check_grad(|x: &Vec<Array>| (case.f)(x), &inputs(case, 41)).unwrap();
        if !check.is_right() || check.compared == 0 {
            wrong.push(format!("{}: {check}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
