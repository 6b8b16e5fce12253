use num_complex::Complex32;

use super::super::testing::Tensor;
use super::*;

fn sorted(x: &Tensor, axis: usize) -> Tensor {
    let mut out = Tensor::zeros(x.dtype, &x.shape);
    sort(&x.as_in(), axis, &mut out.as_out()).unwrap();
    out
}

fn order(x: &Tensor, axis: usize) -> Tensor {
    let mut out = Tensor::zeros(Dtype::Uint32, &x.shape);
    argsort(&x.as_in(), axis, &mut out.as_out()).unwrap();
    out
}

/// NaN last.
fn compare(a: &f64, b: &f64) -> std::cmp::Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn check(what: &str, x: &Tensor, axis: usize) {
    let (values, positions) = (sorted(x, axis), order(x, axis));
    let mut starts = x.shape.clone();
    starts[axis] = starts[axis].min(1);
    for start in Tensor::positions(&starts) {
        let run = |t: &Tensor| -> Vec<f64> {
            let mut p = start.clone();
            let at = |k| {
                p[axis] = k;
                t.at(&p)
            };
            (0..x.shape[axis]).map(at).collect()
        };
        let input = run(x);
        let mut want: Vec<usize> = (0..input.len()).collect();
        want.sort_by(|&a, &b| compare(&input[a], &input[b]));
        for (k, (&place, (value, position))) in
            want.iter().zip(run(&values).iter().zip(run(&positions))).enumerate()
        {
            assert_eq!(position as usize, place, "position {k} of {what} along {axis}");
            let same = compare(value, &input[place]).is_eq();
            assert!(same, "value {k} of {what} along {axis}: {value} is not {}", input[place]);
        }
    }
}

#[test]
fn both_sorts_agree_with_the_standard_library_over_types_shapes_and_strides() {
    for dtype in Dtype::ALL {
        for (name, x) in Tensor::views(dtype) {
            for axis in 0..x.shape.len() {
                check(&format!("{dtype} {name}"), &x, axis);
            }
        }
    }
}

fn noise(n: usize) -> impl Iterator<Item = f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f64::from((state >> 33) as u32) - f64::from(1u32 << 30)
    })
    .take(n)
}

#[test]
fn long_runs_are_sorted_by_every_digit() {
    for dtype in Dtype::ALL {
        let scale = 2f64.powi(31 - (dtype.size().min(4) * 8) as i32);
        let shift = if dtype.is_unsigned_integer() { f64::from(1u32 << 30) } else { 0.0 };
        let wide = if dtype.size() == 8 && dtype.is_integer() { 1e9 } else { 1.0 };
        for n in [257, 5000, 200_000] {
            let x = Tensor::new(dtype, &[n], noise(n).map(|v| (v + shift) / scale * wide));
            check(&format!("{n} of {dtype}"), &x, 0);
        }
    }
}

#[test]
fn many_runs_across_memory_are_sorted_together() {
    let x = Tensor::new(Dtype::Float32, &[700, 300], noise(210_000));
    check("matrix", &x, 0);
    check("matrix", &x, 1);
    check("transposed", &x.clone().transposed(&[1, 0]), 1);
    check("long transposed", &Tensor::new(Dtype::Float32, &[100_000, 3], noise(300_000)), 0);
}

#[test]
fn nan_is_last_whatever_its_sign() {
    let nan = f64::NAN;
    for dtype in [Dtype::Float16, Dtype::Bfloat16, Dtype::Float32, Dtype::Float64] {
        let x = Tensor::new(dtype, &[7], [nan, 1.0, -nan, f64::INFINITY, -f64::INFINITY, nan, 0.0]);
        check("nan", &x, 0);
        assert_eq!(order(&x, 0).values(), [4.0, 6.0, 1.0, 3.0, 0.0, 2.0, 5.0], "{dtype}");
    }
}

#[test]
fn zeros_of_either_sign_keep_their_order() {
    for n in [5, 1000] {
        let x = Tensor::new(Dtype::Float32, &[n], (0..n).map(|i| if i % 2 == 0 { 0.0 } else { -0.0 }));
        assert_eq!(order(&x, 0).values(), (0..n).map(|i| i as f64).collect::<Vec<_>>());
    }
}

#[test]
fn complex_numbers_sort_by_real_then_imaginary_part_with_nan_last() {
    let nan = f32::NAN;
    let parts = [(nan, 1.0), (3.0, -1.0), (1.0, nan), (3.0, -2.0), (0.0, 5.0), (nan, nan), (1.0, 2.0)];
    let mut x = Tensor::zeros(Dtype::Complex64, &[7]);
    x.slice_mut::<Complex32>().copy_from_slice(&parts.map(|(re, im)| Complex32::new(re, im)));
    assert_eq!(order(&x, 0).values(), [4.0, 6.0, 3.0, 1.0, 2.0, 0.0, 5.0]);
    let mut out = sorted(&x, 0);
    let out: Vec<String> = out.slice_mut::<Complex32>().iter().map(|c| c.to_string()).collect();
    assert_eq!(out, ["0+5i", "1+2i", "3-2i", "3-1i", "1+NaNi", "NaN+1i", "NaN+NaNi"]);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let x = Tensor::new(Dtype::Float32, &[150_000], noise(150_000).map(|v| (v / 1e6).round()));
    let orders = [1, 2, 5].map(|threads| parallel::with_cores(threads, || order(&x, 0).values()));
    assert_eq!(orders[0], orders[1]);
    assert_eq!(orders[0], orders[2]);
}
