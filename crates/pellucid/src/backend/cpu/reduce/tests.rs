use super::super::testing::Tensor;
use super::reduce;
use crate::array::Dtype;
use crate::op::ReduceOp;

const ALL: [ReduceOp; 7] = [
    ReduceOp::Sum,
    ReduceOp::Prod,
    ReduceOp::Max,
    ReduceOp::Min,
    ReduceOp::All,
    ReduceOp::Any,
    ReduceOp::Logsumexp,
];

fn out_dtype(op: ReduceOp, dtype: Dtype) -> Dtype {
    match op {
        ReduceOp::All | ReduceOp::Any => Dtype::Bool,
        ReduceOp::Sum | ReduceOp::Prod => match dtype {
            Dtype::Bool | Dtype::Int8 | Dtype::Int16 => Dtype::Int32,
            Dtype::Uint8 | Dtype::Uint16 => Dtype::Uint32,
            other => other,
        },
        _ => dtype,
    }
}

fn run(op: ReduceOp, x: &Tensor, axes: &[usize]) -> Tensor {
    let shape: Vec<usize> = (0..x.shape.len()).filter(|i| !axes.contains(i)).map(|i| x.shape[i]).collect();
    let mut out = Tensor::zeros(out_dtype(op, x.dtype), &shape);
    reduce(op, &x.as_in(), axes, &mut out.as_out()).unwrap();
    out
}

fn naive(op: ReduceOp, x: &Tensor, axes: &[usize]) -> Vec<f64> {
    let kept: Vec<usize> = (0..x.shape.len()).filter(|i| !axes.contains(i)).collect();
    let shape: Vec<usize> = kept.iter().map(|&i| x.shape[i]).collect();
    let mut groups = vec![Vec::new(); shape.iter().product()];
    for position in Tensor::positions(&x.shape) {
        let flat = kept.iter().fold(0, |flat, &i| flat * x.shape[i] + position[i]);
        groups[flat].push(x.at(&position));
    }
    groups.iter().map(|g| of_group(op, x.dtype, g)).collect()
}

fn of_group(op: ReduceOp, dtype: Dtype, group: &[f64]) -> f64 {
    let (lowest, highest) = match dtype {
        Dtype::Bool => (0.0, 1.0),
        d if d.is_inexact() => (f64::NEG_INFINITY, f64::INFINITY),
        d => {
            let values = 2f64.powi(d.size() as i32 * 8);
            if d.is_signed_integer() { (-values / 2.0, values / 2.0 - 1.0) } else { (0.0, values - 1.0) }
        }
    };
    let values = group.iter().copied();
    match op {
        ReduceOp::Sum => values.sum(),
        ReduceOp::Prod => values.product(),
        ReduceOp::Max => values.fold(lowest, f64::max),
        ReduceOp::Min => values.fold(highest, f64::min),
        ReduceOp::All => f64::from(u8::from(group.iter().all(|&v| v != 0.0))),
        ReduceOp::Any => f64::from(u8::from(group.iter().any(|&v| v != 0.0))),
        ReduceOp::Logsumexp => values.map(f64::exp).sum::<f64>().ln(),
    }
}

#[test]
fn every_reduction_agrees_with_a_naive_one_over_types_shapes_strides_and_axes() {
    for dtype in Dtype::ALL {
        for (name, x) in Tensor::views(dtype) {
            for axes in x.axis_sets() {
                for op in ALL {
                    if op == ReduceOp::Logsumexp && !dtype.is_inexact() {
                        continue;
                    }
                    let (got, want) = (run(op, &x, &axes).values(), naive(op, &x, &axes));
                    // Whole numbers sum exactly; 16-bit floats round the result.
                    let tolerance = match (op, dtype) {
                        (_, Dtype::Bfloat16) => 1e-2,
                        (_, Dtype::Float16) => 1e-3,
                        (ReduceOp::Logsumexp, _) => 1e-6,
                        _ => 0.0,
                    };
                    for (g, w) in got.iter().zip(&want) {
                        // A product can leave a type's range, where the exact reference cannot follow.
                        if op == ReduceOp::Prod && (w.abs() > 60000.0 || *g == 0.0 && *w == 0.0) {
                            continue;
                        }
                        let close = (g - w).abs() <= tolerance * (1.0 + w.abs());
                        assert!(g == w || close, "{op:?} of {dtype} {name} over {axes:?}: {g} is not {w}");
                    }
                    assert_eq!(got.len(), want.len());
                }
            }
        }
    }
}

#[test]
fn reducing_nothing_gives_the_identity() {
    let x = Tensor::zeros(Dtype::Float32, &[2, 0]);
    let identities = [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, 1.0, 0.0, f64::NEG_INFINITY];
    for (op, identity) in ALL.into_iter().zip(identities) {
        assert_eq!(run(op, &x, &[1]).values(), [identity; 2], "{op:?}");
    }
}

#[test]
fn nan_wins_in_max_and_min_wherever_it_stands() {
    for n in [3, 40, 3000] {
        for place in [0, n / 2, n - 1] {
            for dtype in [Dtype::Float16, Dtype::Bfloat16, Dtype::Float32, Dtype::Float64, Dtype::Complex64] {
                let x =
                    Tensor::new(dtype, &[n], (0..n).map(|i| if i == place { f64::NAN } else { i as f64 }));
                for op in [ReduceOp::Max, ReduceOp::Min] {
                    assert!(run(op, &x, &[0]).values()[0].is_nan(), "{op:?} {dtype} {n} {place}");
                }
            }
        }
    }
    let x = Tensor::new(
        Dtype::Float32,
        &[100, 2],
        (0..200).map(|i| if i == 86 { f64::NAN } else { f64::from(i) }),
    );
    let max = run(ReduceOp::Max, &x, &[0]).values();
    assert!(max[0].is_nan());
    assert_eq!(max[1], 199.0);
}

#[test]
fn complex_extremes_compare_the_real_part_first() {
    use num_complex::Complex32;
    let mut x = Tensor::zeros(Dtype::Complex64, &[4]);
    let values = [(1.0, 2.0), (3.0, -1.0), (3.0, -2.0), (0.0, 5.0)].map(|(re, im)| Complex32::new(re, im));
    x.slice_mut::<Complex32>().copy_from_slice(&values);
    assert_eq!(run(ReduceOp::Max, &x, &[0]).slice_mut::<Complex32>()[0], Complex32::new(3.0, -1.0));
    assert_eq!(run(ReduceOp::Min, &x, &[0]).slice_mut::<Complex32>()[0], Complex32::new(0.0, 5.0));
    let sum: Complex32 = values.iter().map(|v| v.exp()).sum();
    let got = run(ReduceOp::Logsumexp, &x, &[0]).slice_mut::<Complex32>()[0];
    assert!((got - sum.ln()).norm() < 1e-5, "{got}");
}

#[test]
fn reducing_no_axes_keeps_every_bit() {
    let x = Tensor::new(Dtype::Float32, &[3], [-0.0, f64::NAN, 2.5]);
    let mut out = run(ReduceOp::Sum, &x, &[]);
    let out = out.slice_mut::<f32>();
    assert_eq!(out[0].to_bits(), (-0.0f32).to_bits());
    assert!(out[1].is_nan());
    assert_eq!(out[2], 2.5);
}

#[test]
fn integers_wrap() {
    let x = Tensor::new(Dtype::Int32, &[4], [1073741824.0; 4]);
    assert_eq!(run(ReduceOp::Sum, &x, &[0]).values(), [0.0]);
}

#[test]
fn a_long_float_sum_keeps_its_precision_in_rows_and_in_columns() {
    let n = 1 << 20;
    let x = Tensor::new(Dtype::Float32, &[n, 32], (0..n * 32).map(|_| 0.1));
    let (column, exact) = (run(ReduceOp::Sum, &x, &[0]).values()[7], f64::from(0.1f32) * n as f64);
    assert!((column / exact - 1.0).abs() < 1e-6, "{column} {exact}");
    let (all, exact) = (run(ReduceOp::Sum, &x, &[0, 1]).values()[0], exact * 32.0);
    assert!((all / exact - 1.0).abs() < 1e-6, "{all} {exact}");
}

#[test]
fn tall_matrices_of_few_columns_reduce_long_rows_and_what_is_left_of_them() {
    for (rows, columns) in [(513, 1), (1000, 3), (5003, 7), (600, 127), (70_001, 2)] {
        for dtype in [Dtype::Bool, Dtype::Int8, Dtype::Float32, Dtype::Int64] {
            let x = Tensor::counting(dtype, &[rows, columns]);
            for x in [x.clone(), x.flipped(0)] {
                for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any] {
                    let what = format!("{op:?} {dtype} {rows} {columns}");
                    assert_eq!(run(op, &x, &[0]).values(), naive(op, &x, &[0]), "{what}");
                }
            }
        }
    }
    let ones = Tensor::new(Dtype::Float32, &[1024, 4], (0..4096).map(|_| 2.5));
    assert_eq!(run(ReduceOp::All, &ones, &[0]).values(), [1.0; 4]);
}

#[test]
fn columns_with_infinities_and_nan_decide_logsumexp_for_themselves() {
    let inf = f64::INFINITY;
    let (rows, columns) = (100, 40);
    let at = |i: usize| match (i / columns, i % columns) {
        (50, 0) | (51, 0) => inf,
        (_, 1) => -inf,
        (99, 2) => f64::NAN,
        (r, 3) if r < 60 => -inf,
        _ => 1.0,
    };
    let x = Tensor::new(Dtype::Float32, &[rows, columns], (0..rows * columns).map(at));
    let got = run(ReduceOp::Logsumexp, &x, &[0]).values();
    assert_eq!(got[..2], [inf, -inf]);
    assert!(got[2].is_nan());
    assert!((got[3] - (1.0 + 40f64.ln())).abs() < 1e-6);
    assert!((got[4] - (1.0 + 100f64.ln())).abs() < 1e-6);
}

#[test]
fn a_float_sum_does_not_depend_on_the_number_of_threads() {
    let x = Tensor::new(
        Dtype::Float32,
        &[600, 3000],
        (0..).map(|i: u32| f64::from(i.wrapping_mul(2654435761)) * 1e-7),
    );
    for axes in [&[0][..], &[1], &[0, 1]] {
        let sums = [1, 2, 5].map(|threads| {
            crate::backend::cpu::parallel::with_cores(threads, || run(ReduceOp::Sum, &x, axes).values())
        });
        assert_eq!(sums[0], sums[1], "{axes:?}");
        assert_eq!(sums[0], sums[2], "{axes:?}");
    }
}

#[test]
fn infinities_decide_logsumexp() {
    let lse = |values: &[f64]| {
        let x = Tensor::new(Dtype::Float32, &[values.len()], values.iter().copied());
        run(ReduceOp::Logsumexp, &x, &[0]).values()[0]
    };
    let inf = f64::INFINITY;
    assert_eq!(lse(&[-inf, -inf]), -inf);
    assert_eq!(lse(&[inf, 1.0]), inf);
    assert_eq!(lse(&[inf, -inf]), inf);
    assert!(lse(&[f64::NAN, inf]).is_nan());
    assert!((lse(&[1000.0, 1000.0]) - 1000.693147).abs() < 1e-3);
    let mut long = vec![-inf; 5000];
    assert_eq!(lse(&long), -inf);
    long[4000] = 3.0;
    assert_eq!(lse(&long), 3.0);
    long[3] = inf;
    assert_eq!(lse(&long), inf);
}
