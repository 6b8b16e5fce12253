//! Each decomposition multiplied back, for both precisions and many sizes.

use num_complex::Complex32;

use super::{Failure, Field, LuOut, Real, Size, SvdOut, Triangle};

const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 8, 17, 40, 101];

/// Numbers between −1 and 1 that are far from any pattern a decomposition could profit from.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let cell = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
    (0..m * n).map(|at| cell(at / n, at % n)).collect()
}

fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|at| a[(at % m) * n + at / m]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect()
}

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    // Sums of large terms that cancel are as exact as the terms.
    let scale = b.iter().fold(1.0, |scale: f64, b| scale.max(b.abs()));
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max);
    assert!(worst <= tolerance, "differs by {worst}");
}

trait Number: Real + Into<f64> + Default {
    const TOLERANCE: f64;
    fn of(v: f64) -> Self;
}

impl Number for f32 {
    const TOLERANCE: f64 = 3e-4;
    fn of(v: f64) -> f32 {
        v as f32
    }
}

impl Number for f64 {
    const TOLERANCE: f64 = 1e-11;
    fn of(v: f64) -> f64 {
        v
    }
}

fn narrow<T: Number>(a: &[f64]) -> Vec<T> {
    a.iter().map(|&v| T::of(v)).collect()
}

fn widen<T: Number>(a: &[T]) -> Vec<f64> {
    a.iter().map(|&v| v.into()).collect()
}

fn zeros<T: Number>(count: usize) -> Vec<T> {
    vec![T::default(); count]
}

/// A matrix far from singular.
fn regular(n: usize) -> Vec<f64> {
    let mut a = noise(n * n, n as u64 + 1);
    (0..n).for_each(|i| a[i * n + i] += 3.0 * (n as f64).sqrt());
    a
}

fn square_matrices<T: Number>(n: usize) {
    let a = regular(n);
    let near = |got: &[T], wanted: &[f64]| assert_close(&widen(got), wanted, T::TOLERANCE);
    let (input, mut out) = (narrow::<T>(&a), zeros::<T>(n * n));

    T::inverse(&input, n, &mut out).unwrap();
    near(&narrow(&product(&a, &widen(&out), n, n, n)), &identity(n));

    let b = noise(n * 3, 7);
    let mut x = zeros::<T>(n * 3);
    T::solve(&input, n, &narrow::<T>(&b), 3, &mut x).unwrap();
    near(&narrow(&product(&a, &widen(&x), n, n, 3)), &b);

    for triangle in [Triangle::Lower, Triangle::Upper] {
        let kept = |at: usize| match triangle {
            Triangle::Lower => at / n >= at % n,
            Triangle::Upper => at / n <= at % n,
        };
        let t: Vec<f64> = (0..n * n).map(|at| if kept(at) { a[at] } else { 0.0 }).collect();
        T::triangular_solve(&input, n, triangle, &narrow::<T>(&b), 3, &mut x).unwrap();
        near(&narrow(&product(&t, &widen(&x), n, n, 3)), &b);
        T::triangular_inverse(&input, n, triangle, &mut out).unwrap();
        near(&narrow(&product(&t, &widen(&out), n, n, n)), &identity(n));
        assert!((0..n * n).all(|at| kept(at) || out[at].into() == 0.0));
    }

    let mut positive = product(&a, &transposed(&a, n, n), n, n, n);
    T::cholesky(&narrow::<T>(&positive), n, &mut out).unwrap();
    let l = widen(&out);
    near(&narrow(&product(&l, &transposed(&l, n, n), n, n, n)), &positive);
    assert!((0..n * n).all(|at| at / n >= at % n || l[at] == 0.0));

    // Only the triangle that is asked for is read.
    (0..n * n).filter(|at| at / n < at % n).for_each(|at| positive[at] = f64::NAN);
    let mut values = zeros::<T>(n);
    T::eigh(&narrow::<T>(&positive), n, Triangle::Lower, &mut values, Some(&mut out)).unwrap();
    let (w, v) = (widen(&values), widen(&out));
    assert!(w.is_sorted());
    let scaled: Vec<f64> = (0..n * n).map(|at| v[at] * w[at % n]).collect();
    near(
        &narrow(&product(&scaled, &transposed(&v, n, n), n, n, n)),
        &product(&l, &transposed(&l, n, n), n, n, n),
    );
    T::eigh(&narrow::<T>(&positive), n, Triangle::Lower, &mut values, None).unwrap();
    near(&values, &w);
}

#[test]
fn square_matrices_are_inverted_solved_and_decomposed() {
    for n in SIZES {
        square_matrices::<f32>(n);
        square_matrices::<f64>(n);
    }
}

fn any_matrix<T: Number>(m: usize, n: usize) {
    let (size, k) = (Size { rows: m, cols: n }, m.min(n));
    let a = noise(m * n, (m * 1000 + n) as u64);
    let input = narrow::<T>(&a);
    let near = |got: &[f64], wanted: &[f64]| assert_close(got, wanted, T::TOLERANCE);

    let (mut q, mut r) = (zeros::<T>(m * k), zeros::<T>(k * n));
    T::qr(&input, size, &mut q, &mut r);
    near(&product(&widen(&q), &widen(&r), m, k, n), &a);
    near(&product(&transposed(&widen(&q), m, k), &widen(&q), k, m, k), &identity(k));
    assert!((0..k * n).all(|at| at / n <= at % n || r[at].into() == 0.0));

    let mut packed = zeros::<T>(m * n);
    let (mut pivots, mut rows) = (vec![0; k], vec![0; m]);
    T::lu(&input, size, LuOut { packed: &mut packed, pivots: &mut pivots, rows: &mut rows });
    let lu = widen(&packed);
    let cell = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
    let l: Vec<f64> = (0..m * k)
        .map(|at| if at / k > at % k { lu[at / k * n + at % k] } else { cell(at / k, at % k) })
        .collect();
    let u: Vec<f64> = (0..k * n).map(|at| if at / n <= at % n { lu[at] } else { 0.0 }).collect();
    let rebuilt = product(&l, &u, m, k, n);
    let from_rows: Vec<f64> =
        rows.iter().flat_map(|&p| rebuilt[p as usize * n..(p as usize + 1) * n].to_vec()).collect();
    near(&from_rows, &a);
    let mut swapped = a.clone();
    for (i, &p) in pivots.iter().enumerate() {
        (0..n).for_each(|j| swapped.swap(i * n + j, p as usize * n + j));
    }
    near(&rebuilt, &swapped);

    for (left, right) in [(k, k), (m, n)] {
        let (mut s, mut u, mut v) = (zeros::<T>(k), zeros::<T>(m * left), zeros::<T>(right * n));
        T::svd(&input, size, SvdOut { values: &mut s, vectors: Some((&mut u, &mut v)) }).unwrap();
        let (s, u, v) = (widen(&s), widen(&u), widen(&v));
        assert!(s.iter().rev().is_sorted());
        near(&product(&transposed(&u, m, left), &u, left, m, left), &identity(left));
        near(&product(&v, &transposed(&v, right, n), right, n, right), &identity(right));
        let scaled: Vec<f64> = (0..m * k).map(|at| u[at / k * left + at % k] * s[at % k]).collect();
        near(&product(&scaled, &v[..k * n], m, k, n), &a);
        let mut alone = zeros::<T>(k);
        T::svd(&input, size, SvdOut { values: &mut alone, vectors: None }).unwrap();
        near(&widen(&alone), &s);
    }
}

#[test]
fn matrices_of_any_shape_are_the_product_of_their_parts() {
    for m in [0, 1, 2, 3, 7, 20, 65] {
        for n in [0, 1, 2, 4, 7, 33] {
            any_matrix::<f32>(m, n);
            any_matrix::<f64>(m, n);
        }
    }
}

#[test]
fn general_eigenvectors_satisfy_their_equation_and_have_length_one() {
    for n in [0, 1, 2, 3, 10, 33] {
        let input: Vec<f32> = noise(n * n, 3).iter().map(|&v| v as f32).collect();
        let complex: Vec<Complex32> =
            noise(2 * n * n, 5).chunks(2).map(|v| Complex32::new(v[0] as f32, v[1] as f32)).collect();
        let whole: Vec<Complex32> = input.iter().map(|&v| Complex32::new(v, 0.0)).collect();
        let (mut w, mut v) = (vec![Complex32::default(); n], vec![Complex32::default(); n * n]);
        let check = |a: &[Complex32], w: &[Complex32], v: &[Complex32]| {
            for j in 0..n {
                let length: f32 = (0..n).map(|i| v[i * n + j].norm_sqr()).sum();
                assert!((length - 1.0).abs() < 1e-4);
                for i in 0..n {
                    let left: Complex32 = (0..n).map(|k| a[i * n + k] * v[k * n + j]).sum();
                    assert!((left - w[j] * v[i * n + j]).norm() < 1e-3);
                }
            }
        };
        f32::eig(&input, n, &mut w, Some(&mut v)).unwrap();
        check(&whole, &w, &v);
        Complex32::eig(&complex, n, &mut w, Some(&mut v)).unwrap();
        check(&complex, &w, &v);
        let mut alone = w.clone();
        Complex32::eig(&complex, n, &mut alone, None).unwrap();
        let sum = |w: &[Complex32]| w.iter().sum::<Complex32>();
        assert!((sum(&alone) - sum(&w)).norm() < 1e-3);
    }
}

#[test]
fn complex_matrices_have_singular_values_and_hermitian_ones_real_eigenvalues() {
    let (m, n) = (5, 3);
    let a: Vec<Complex32> =
        noise(2 * m * n, 9).chunks(2).map(|v| Complex32::new(v[0] as f32, v[1] as f32)).collect();
    let (mut s, mut u, mut v) =
        (vec![0.0; n], vec![Complex32::default(); m * n], vec![Complex32::default(); n * n]);
    let out = SvdOut { values: &mut s, vectors: Some((&mut u, &mut v)) };
    Complex32::svd(&a, Size { rows: m, cols: n }, out).unwrap();
    for at in 0..m * n {
        let rebuilt: Complex32 = (0..n).map(|k| u[at / n * n + k] * s[k] * v[k * n + at % n]).sum();
        assert!((rebuilt - a[at]).norm() < 1e-4);
    }
    let h: Vec<Complex32> = (0..n * n)
        .map(|at| (0..m).map(|i| a[i * n + at / n].conj() * a[i * n + at % n]).sum::<Complex32>())
        .collect();
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let mut w = vec![0.0; n];
        Complex32::eigh(&h, n, triangle, &mut w, Some(&mut v)).unwrap();
        for j in 0..n {
            assert!((w[j] - s[n - 1 - j] * s[n - 1 - j]).abs() < 1e-3);
            for i in 0..n {
                let left: Complex32 = (0..n).map(|k| h[i * n + k] * v[k * n + j]).sum();
                assert!((left - v[i * n + j] * w[j]).norm() < 1e-3);
            }
        }
    }
}

#[test]
fn what_has_no_answer_says_why() {
    let singular = [1.0f32, 2.0, 2.0, 4.0];
    let mut out = [0.0; 4];
    assert_eq!(f32::inverse(&singular, 2, &mut out), Err(Failure::Singular(1)));
    assert_eq!(f32::solve(&[0.0; 4], 2, &[1.0, 1.0], 1, &mut [0.0; 2]), Err(Failure::Singular(0)));
    assert_eq!(
        f32::triangular_inverse(&[1.0, 0.0, 1.0, 0.0], 2, Triangle::Lower, &mut out),
        Err(Failure::Singular(1))
    );
    assert_eq!(f32::cholesky(&[1.0, 2.0, 2.0, 1.0], 2, &mut out), Err(Failure::NotPositiveDefinite(1)));
    let bad = [1.0, f32::NAN, 0.0, 1.0];
    let values = SvdOut { values: &mut out[..2], vectors: None };
    assert_eq!(f32::svd(&bad, Size::square(2), values), Err(Failure::NotFinite));
    assert_eq!(f32::eig(&bad, 2, &mut [Complex32::default(); 2], None), Err(Failure::NotFinite));
}

#[test]
fn singular_matrices_have_factors_with_zeros_on_the_diagonal() {
    let of = |a: &[f32], n: usize| {
        let (mut packed, mut pivots, mut rows) = (vec![0.0; n * n], vec![0; n], vec![0; n]);
        let out = LuOut { packed: &mut packed, pivots: &mut pivots, rows: &mut rows };
        f32::lu(a, Size::square(n), out);
        (packed, pivots, rows)
    };
    assert_eq!(of(&[0.0; 9], 3), (vec![0.0; 9], vec![0, 1, 2], vec![0, 1, 2]));
    let (packed, pivots, rows) = of(&[0.0, 1.0, 2.0, 0.0, 2.0, 2.0, 0.0, 4.0, 4.0], 3);
    assert_eq!(packed, [0.0, 1.0, 2.0, 0.0, 4.0, 4.0, 0.0, 0.5, 0.0]);
    assert_eq!((pivots, rows), (vec![0, 2, 2], vec![0, 2, 1]));
}

#[test]
fn nan_comes_out_where_nothing_iterates() {
    let bad = [f64::NAN; 4];
    let mut out = [0.0; 4];
    f64::cholesky(&bad, 2, &mut out).unwrap();
    assert!(out[0].is_nan() && out[1] == 0.0 && out[3].is_nan());
    f64::inverse(&bad, 2, &mut out).unwrap();
    assert!(out.iter().all(|v| v.is_nan()));
    let mut w = [0.0; 2];
    f64::eigh(&bad, 2, Triangle::Lower, &mut w, None).unwrap();
    assert!(w.iter().all(|v| v.is_nan()));
}
