use super::*;
use half::{bf16, f16};
use num_traits::{Num, ToPrimitive};

/// Row-major data seen through strides.
#[derive(Clone)]
struct Data<T> {
    data: Vec<T>,
    first: usize,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl<T: Element<Stored = T>> Data<T> {
    fn strided(data: Vec<T>, first: usize, shape: &[usize], strides: &[isize]) -> Data<T> {
        Data { data, first, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    fn input(&self) -> In<'_> {
        // SAFETY: the tests choose shapes and strides inside the data; `at` reads all of them with checks.
        unsafe {
            In::new(self.data.as_ptr().wrapping_add(self.first).cast(), T::DTYPE, &self.shape, &self.strides)
        }
    }

    /// The element at the end of an index that may have too many axes or run over axes of size one.
    fn at(&self, index: &[usize]) -> T {
        let index = &index[index.len() - self.shape.len()..];
        let offset: isize = (0..index.len())
            .map(|a| if self.shape[a] == 1 { 0 } else { index[a] as isize * self.strides[a] })
            .sum();
        self.data[(self.first as isize + offset) as usize]
    }
}

/// Small integers, so that sums are exact in every type.
fn numbers<T: From<i8>>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|i| T::from(((i * 7 + seed) * 31 % 11) as i8 - 5)).collect()
}

fn data<T: Element<Stored = T> + From<i8>>(shape: &[usize], seed: usize) -> Data<T> {
    Data::strided(numbers(shape.iter().product(), seed), 0, shape, &row_major(shape))
}

fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &d in shape {
        all = all.iter().flat_map(|p| (0..d).map(move |i| [p.as_slice(), &[i]].concat())).collect();
    }
    all
}

fn out_shape<T>(a: &Data<T>, b: &Data<T>) -> Vec<usize> {
    let (ra, rb) = (a.shape.len(), b.shape.len());
    let (sa, sb) = (crate::Shape::from(&a.shape[..ra - 2]), crate::Shape::from(&b.shape[..rb - 2]));
    let mut shape = sa.broadcast(&sb).expect("batches broadcast").to_vec();
    shape.extend([a.shape[ra - 2], b.shape[rb - 1]]);
    shape
}

/// By definition, summed in `Sum`, which the element type converts to and from.
fn naive<T: Element<Stored = T>, S: Num + Copy>(
    a: &Data<T>,
    b: &Data<T>,
    c: Option<(&Data<T>, S)>,
    alpha: S,
    wide: impl Fn(T) -> S,
) -> Vec<S> {
    let k = a.shape[a.shape.len() - 1];
    let mut want = Vec::new();
    for p in positions(&out_shape(a, b)) {
        let (batch, ends) = p.split_at(p.len() - 2);
        let mut sum = S::zero();
        let (mut x, mut y) = ([batch, &[ends[0], 0]].concat(), [batch, &[0, ends[1]]].concat());
        for i in 0..k {
            (x[batch.len() + 1], y[batch.len()]) = (i, i);
            sum = sum + wide(a.at(&x)) * wide(b.at(&y));
        }
        let start = c.map_or(S::zero(), |(c, beta)| beta * wide(c.at(&p)));
        want.push(alpha * sum + start);
    }
    want
}

fn call<T: Element<Stored = T>>(shape: &[usize], nan: T, f: impl FnOnce(&mut Out) -> Result<()>) -> Vec<T> {
    // Filled with NaN, so that reading the output before writing it shows.
    let mut data = vec![nan; shape.iter().product()];
    // SAFETY: as many elements as the shape has.
    let mut out = unsafe { Out::new(data.as_mut_ptr().cast(), T::DTYPE, shape) };
    f(&mut out).expect("shapes fit");
    data
}

fn check<T>(a: &Data<T>, b: &Data<T>)
where
    T: Element<Stored = T> + ToPrimitive + num_traits::FromPrimitive + std::ops::Neg<Output = T>,
{
    let nan = T::from_f64(f64::NAN).expect("a float");
    let shape = out_shape(a, b);
    let got = call(&shape, nan, |out| matmul(&a.input(), &b.input(), out));
    let want = naive(a, b, None, 1.0f64, |x| x.to_f64().expect("a float"));
    let got: Vec<f64> = got.iter().map(|x| x.to_f64().expect("a float")).collect();
    assert!(got == want, "{:?} {:?} @ {:?} {:?}", a.shape, a.strides, b.shape, b.strides);
}

/// Every layout of an `rows × cols` matrix: plain, transposed, backwards, with gaps, repeated.
fn layouts(rows: usize, cols: usize, seed: usize) -> Vec<Data<f32>> {
    let (r, c) = (rows as isize, cols as isize);
    let n = rows * cols;
    let last = n.saturating_sub(1);
    vec![
        Data::strided(numbers(n, seed), 0, &[rows, cols], &[c, 1]),
        Data::strided(numbers(n, seed), 0, &[rows, cols], &[1, r]),
        Data::strided(numbers(n, seed), last, &[rows, cols], &[-c, -1]),
        Data::strided(numbers(n, seed), last, &[rows, cols], &[-1, -r]),
        Data::strided(numbers(6 * n, seed), 0, &[rows, cols], &[3 * c, 2]),
        Data::strided(numbers(cols, seed), 0, &[rows, cols], &[0, 1]),
        Data::strided(numbers(rows, seed), 0, &[rows, cols], &[1, 0]),
        Data::strided(numbers(1, seed), 0, &[rows, cols], &[0, 0]),
    ]
}

#[test]
fn all_layouts_multiply_by_definition() {
    for (m, k, n) in [(1, 1, 1), (2, 3, 4), (7, 5, 3), (33, 20, 17), (64, 70, 65)] {
        for a in layouts(m, k, 1) {
            for b in layouts(k, n, 2) {
                check(&a, &b);
            }
        }
    }
}

#[test]
fn vectors_of_all_layouts_multiply_by_definition() {
    for (m, k, n) in [(1, 40, 1), (50, 37, 1), (1, 37, 50), (700, 9, 1), (1, 3, 700), (1, 70_000, 1)] {
        for a in layouts(m, k, 3) {
            for b in layouts(k, n, 4) {
                check(&a, &b);
            }
        }
    }
}

#[test]
fn large_products_split_over_cores_agree() {
    check::<f32>(&data(&[150, 130], 1), &data(&[130, 140], 2));
    check::<f32>(&data(&[1500, 1000], 1), &data(&[1000, 1], 2));
    check::<f32>(&data(&[1, 1000], 1), &data(&[1000, 1500], 2));
    check::<f32>(&data(&[2, 500_000], 1), &data(&[500_000, 1], 2));
}

#[test]
fn large_products_of_all_layouts_and_odd_sizes_multiply_by_definition() {
    // The layouts against each other once round, not all pairs: the definition is slow.
    for (a, b) in layouts(405, 501, 1).iter().zip(layouts(501, 303, 2).iter().rev()) {
        check(a, b);
    }
    check::<f64>(&data(&[405, 501], 1), &data(&[501, 303], 2));
    check::<f32>(&data(&[4100, 120], 1), &data(&[120, 130], 2));
    check::<f32>(&data(&[100, 140], 1), &data(&[140, 4110], 2));
}

#[test]
fn every_type_multiplies_exactly_what_it_can_hold() {
    for shapes in [([5, 7], [7, 6]), ([1, 7], [7, 6]), ([5, 7], [7, 1]), ([1, 1], [1, 1])] {
        check::<f64>(&data(&shapes.0, 1), &data(&shapes.1, 2));
        check::<f16>(&data(&shapes.0, 1), &data(&shapes.1, 2));
        check::<bf16>(&data(&shapes.0, 1), &data(&shapes.1, 2));
    }
    let turn = |d: Data<bf16>| Data { shape: vec![6, 7], strides: vec![1, 6], ..d };
    check::<bf16>(&turn(data(&[7, 6], 1)), &data(&[7, 3], 2));
}

#[test]
fn complex_matrices_multiply() {
    let complex = |shape: [usize; 2], seed| {
        let n = shape[0] * shape[1];
        let (re, im) = (numbers::<f32>(n, seed), numbers::<f32>(n, seed + 5));
        let data: Vec<_> = re.into_iter().zip(im).map(|(re, im)| Complex32::new(re, im)).collect();
        Data::strided(data, 0, &shape, &row_major(&shape))
    };
    for (m, k, n) in [(4, 5, 6), (1, 30, 7), (7, 30, 1), (40, 41, 42)] {
        let (a, b) = (complex([m, k], 1), complex([k, n], 2));
        let nan = Complex32::new(f32::NAN, f32::NAN);
        let got = call(&[m, n], nan, |out| matmul(&a.input(), &b.input(), out));
        assert_eq!(got, naive(&a, &b, None, Complex32::new(1.0, 0.0), |x| x));
    }
}

#[test]
fn half_precision_sums_are_rounded_only_once() {
    // 2048 + 1 is not a float16; summed in float16, the ones would be lost.
    let mut ones = vec![f16::ONE; 1001];
    ones[0] = f16::from_f32(2048.0);
    let a = Data::strided(ones, 0, &[1, 1001], &[1001, 1]);
    let b = Data::strided(vec![f16::ONE; 1001], 0, &[1001, 1], &[1, 1]);
    let got = call(&[1, 1], f16::NAN, |out| matmul(&a.input(), &b.input(), out));
    assert_eq!(got, [f16::from_f32(3048.0)]);
}

#[test]
fn leading_axes_broadcast() {
    check::<f32>(&data(&[4, 3, 5], 1), &data(&[5, 2], 2));
    check::<f32>(&data(&[3, 5], 1), &data(&[4, 5, 2], 2));
    check::<f32>(&data(&[4, 1, 3, 5], 1), &data(&[6, 5, 2], 2));
    check::<f32>(&data(&[1, 6, 3, 5], 1), &data(&[4, 1, 5, 2], 2));
    check::<f32>(&data(&[4, 6, 1, 5], 1), &data(&[5, 2], 2));
    check::<f32>(&data(&[4, 6, 5, 1], 1), &data(&[1, 1, 1, 2], 2));
    check::<f32>(&data(&[100, 20, 30], 1), &data(&[100, 30, 20], 2));
    check::<bf16>(&data(&[2, 1, 3, 5], 1), &data(&[4, 5, 2], 2));
    // A stack whose rows do not follow each other evenly, and one that is repeated.
    let a = Data::<f32>::strided(numbers(200, 1), 0, &[4, 3, 5], &[40, 5, 1]);
    check(&a, &data(&[5, 2], 2));
    let a = Data::<f32>::strided(numbers(15, 1), 0, &[4, 3, 5], &[0, 5, 1]);
    check(&a, &data(&[5, 2], 2));
    let a = Data::<f32>::strided(numbers(60, 1), 0, &[3, 4, 5], &[5, 15, 1]);
    check(&a, &data(&[3, 5, 2], 2));
}

#[test]
fn sums_of_nothing_are_zero_and_empty_results_are_fine() {
    check::<f32>(&data(&[3, 0], 1), &data(&[0, 2], 2));
    check::<f32>(&data(&[3, 0], 1), &data(&[0, 1], 2));
    check::<f32>(&data(&[1, 0], 1), &data(&[0, 4], 2));
    check::<f64>(&data(&[2, 3, 0], 1), &data(&[0, 2], 2));
    check::<bf16>(&data(&[3, 0], 1), &data(&[0, 2], 2));
    check::<f32>(&data(&[0, 3], 1), &data(&[3, 2], 2));
    check::<f32>(&data(&[0, 3, 3], 1), &data(&[3, 2], 2));
}

#[test]
fn addmm_scales_the_product_and_the_broadcast_addend() {
    fn check_add<T>(c: &Data<T>, a: &Data<T>, b: &Data<T>, alpha: f64, beta: f64)
    where
        T: Element<Stored = T> + ToPrimitive + num_traits::FromPrimitive,
    {
        let nan = T::from_f64(f64::NAN).expect("a float");
        let got =
            call(&out_shape(a, b), nan, |out| addmm(&c.input(), &a.input(), &b.input(), alpha, beta, out));
        let want = naive(a, b, Some((c, beta)), alpha, |x| x.to_f64().expect("a float"));
        let got: Vec<f64> = got.iter().map(|x| x.to_f64().expect("a float")).collect();
        assert_eq!(got, want, "c {:?}, a {:?}, b {:?}", c.shape, a.shape, b.shape);
    }
    for c in [&[4, 6][..], &[6], &[4, 1], &[1, 1], &[]] {
        check_add::<f32>(&data(c, 3), &data(&[4, 5], 1), &data(&[5, 6], 2), 2.0, -3.0);
        check_add::<f64>(&data(c, 3), &data(&[4, 5], 1), &data(&[5, 6], 2), 1.0, 1.0);
        check_add::<f16>(&data(c, 3), &data(&[4, 5], 1), &data(&[5, 6], 2), 0.5, 2.0);
        check_add::<f32>(&data(c, 3), &data(&[3, 4, 5], 1), &data(&[5, 6], 2), 2.0, 0.5);
        check_add::<f32>(&data(c, 3), &data(&[4, 0], 1), &data(&[0, 6], 2), 2.0, 0.5);
    }
    check_add::<f32>(&data(&[351], 3), &data(&[420, 400], 1), &data(&[400, 351], 2), 2.0, 0.5);
    check_add::<f64>(&data(&[420, 1], 3), &data(&[420, 400], 1), &data(&[400, 351], 2), 2.0, -0.5);
    check_add::<f32>(&data(&[4, 1], 3), &data(&[4, 50], 1), &data(&[50, 1], 2), 2.0, 0.5);
    check_add::<f32>(&data(&[6], 3), &data(&[1, 50], 1), &data(&[50, 6], 2), 2.0, 0.5);
}

#[test]
fn addmm_without_beta_does_not_read_the_addend() {
    let c = Data::strided(vec![f32::NAN], 0, &[], &[]);
    let (a, b) = (data::<f32>(&[2, 3], 1), data::<f32>(&[3, 2], 2));
    let got = call(&[2, 2], f32::NAN, |out| addmm(&c.input(), &a.input(), &b.input(), 1.0, 0.0, out));
    assert_eq!(got, call(&[2, 2], f32::NAN, |out| matmul(&a.input(), &b.input(), out)));
}

#[test]
fn nan_and_infinity_pass_through_zeros() {
    for (m, n) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
        let a = Data::strided(vec![0f32; m * 4], 0, &[m, 4], &[4, 1]);
        let mut b = Data::strided(vec![1f32; 4 * n], 0, &[4, n], &[n as isize, 1]);
        b.data[0] = f32::INFINITY;
        let got = call(&[m, n], 0f32, |out| matmul(&a.input(), &b.input(), out));
        assert!(
            got[0].is_nan() && got[1..].iter().enumerate().all(|(i, x)| x.is_nan() == ((i + 1) % n == 0))
        );
    }
}
