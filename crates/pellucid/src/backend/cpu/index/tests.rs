use super::*;
use crate::array::Element;

/// Row-major data seen through strides, for tests.
struct Data<T: Element> {
    data: Vec<T::Stored>,
    first: usize,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl<T: Element> Data<T> {
    fn new(data: Vec<T::Stored>, shape: &[usize]) -> Data<T> {
        Data { data, first: 0, shape: shape.to_vec(), strides: row_major(shape).to_vec() }
    }

    fn strided(data: Vec<T::Stored>, first: usize, shape: &[usize], strides: &[isize]) -> Data<T> {
        Data { data, first, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    fn input(&self) -> In<'_> {
        // SAFETY: the tests choose shapes and strides inside the data; `at` reads all of them with checks.
        unsafe { In::new(self.data.as_ptr().add(self.first).cast(), T::DTYPE, &self.shape, &self.strides) }
    }

    fn at(&self, index: &[usize]) -> T::Stored {
        let offset: isize = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum();
        self.data[(self.first as isize + offset) as usize]
    }
}

fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &d in shape {
        all = all.iter().flat_map(|p| (0..d).map(move |i| [p.as_slice(), &[i]].concat())).collect();
    }
    all
}

fn run(shape: &[usize], call: impl FnOnce(&mut Out) -> Result<()>) -> Result<Vec<i32>> {
    let mut data = vec![-1i32; shape.iter().product()];
    // SAFETY: as many elements as the shape has.
    let mut out = unsafe { Out::new(data.as_mut_ptr().cast(), Dtype::Int32, shape) };
    call(&mut out).map(|()| data)
}

fn resolve(index: i64, size: usize) -> usize {
    (if index < 0 { index + size as i64 } else { index }) as usize
}

fn check_take(x: &Data<i32>, indices: &Data<i64>, axis: usize) {
    let shape = [&x.shape[..axis], &indices.shape, &x.shape[axis + 1..]].concat();
    let got = run(&shape, |out| take(&x.input(), &indices.input(), axis, out)).expect("indices are valid");
    let rank = indices.shape.len();
    for (got, p) in got.iter().zip(positions(&shape)) {
        let index = resolve(indices.at(&p[axis..axis + rank]), x.shape[axis]);
        assert_eq!(*got, x.at(&[&p[..axis], &[index], &p[axis + rank..]].concat()), "position {p:?}");
    }
}

#[test]
fn take_agrees_with_its_definition_for_every_axis_and_layout() {
    let plain = Data::<i32>::new((0..120).collect(), &[4, 5, 6]);
    let transposed = Data::<i32>::strided((0..120).collect(), 0, &[4, 5, 6], &[1, 4, 20]);
    let backwards = Data::<i32>::strided((0..120).collect(), 119, &[4, 5, 6], &[-30, -6, -1]);
    let repeated = Data::<i32>::strided((0..6).collect(), 0, &[4, 5, 6], &[0, 0, 1]);
    let list = Data::<i64>::new(vec![3, -1, 0, 2, 2, -4], &[2, 3]);
    let strided = Data::<i64>::strided(vec![3, 9, -1, 9, 0, 9, 2, 9], 0, &[2, 2], &[2, 4]);
    let single = Data::<i64>::new(vec![1], &[]);
    for x in [&plain, &transposed, &backwards, &repeated] {
        for axis in 0..3 {
            check_take(x, &list, axis);
            check_take(x, &strided, axis);
            check_take(x, &single, axis);
        }
    }
    check_take(&Data::new(vec![7], &[1]), &Data::new(vec![0, -1, 0], &[3]), 0);
}

#[test]
fn take_of_many_indices_splits_the_work_without_changing_the_result() {
    let many = |size: i64| (0..5000).map(|i| (i * 7919) % (2 * size) - size).collect::<Vec<i64>>();
    check_take(&Data::new((0..1000).collect(), &[1000]), &Data::new(many(1000), &[50, 100]), 0);
    check_take(&Data::new((0..30_000).collect(), &[1000, 30]), &Data::new(many(1000), &[5000]), 0);
    check_take(&Data::new((0..3000).collect(), &[30, 100]), &Data::new(many(100), &[5000]), 1);
    check_take(&Data::new((0..60_000).collect(), &[20_000, 3]), &Data::new(vec![2, 0, -1], &[3]), 1);
    let turned = Data::<i64>::strided(many(50), 0, &[50, 100], &[1, 50]);
    check_take(&Data::new((0..100).collect(), &[50, 2]), &turned, 0);
}

#[test]
fn every_integer_type_is_an_index() {
    fn check<T: Element>(indices: [T::Stored; 3], want: [i32; 3]) {
        let x = Data::<i32>::new(vec![10, 11, 12, 13], &[4]);
        let indices = Data::<T>::new(indices.to_vec(), &[3]);
        assert_eq!(run(&[3], |out| take(&x.input(), &indices.input(), 0, out)).expect("valid"), want);
    }
    check::<u8>([3, 0, 2], [13, 10, 12]);
    check::<u16>([3, 0, 2], [13, 10, 12]);
    check::<u32>([3, 0, 2], [13, 10, 12]);
    check::<u64>([3, 0, 2], [13, 10, 12]);
    check::<i8>([-1, 0, -4], [13, 10, 10]);
    check::<i16>([-1, 0, -4], [13, 10, 10]);
    check::<i32>([-1, 0, -4], [13, 10, 10]);
    check::<i64>([-1, 0, -4], [13, 10, 10]);
}

#[test]
fn the_first_index_out_of_range_is_reported() {
    fn check<T: Element>(indices: Vec<T::Stored>, size: usize, want: i64) {
        let x = Data::<i32>::new((0..2 * size as i32).collect(), &[2, size]);
        let (n, shape) = (indices.len(), [2, indices.len()]);
        let list = Data::<T>::new(indices.clone(), &[n]);
        let pairs = Data::<T>::new([indices.clone(), indices].concat(), &[2, n]);
        let values = Data::<i32>::new(vec![0; 2 * n], &[2, n]);
        let errors = [
            ("take", run(&shape, |out| take(&x.input(), &list.input(), 1, out))),
            ("take_along_axis", run(&shape, |out| take_along_axis(&x.input(), &pairs.input(), 1, out))),
            (
                "put_along_axis",
                run(&[2, size], |out| put_along_axis(&x.input(), &pairs.input(), &values.input(), 1, out)),
            ),
        ];
        for (name, result) in errors {
            match result {
                Err(Error::Index { function, index, axis, size: s }) => {
                    assert_eq!((function, index, axis, s), (name, want, 1, size));
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    check::<i32>(vec![0, 4, -5], 4, 4);
    check::<i32>(vec![0, -5, 4], 4, -5);
    check::<u8>(vec![255], 4, 255);
    check::<u64>(vec![0, u64::MAX], 4, i64::MAX);
    check::<i64>(vec![i64::MIN], 4, i64::MIN);
    check::<i64>(vec![0], 0, 0);
    // Many blocks, two of them bad.
    let mut many = vec![0i16; 100_000];
    (many[60_000], many[90_001]) = (9, -9);
    check::<i16>(many, 4, 9);
}

#[test]
fn indices_are_checked_even_if_the_result_is_empty() {
    let x = Data::<i32>::new(vec![], &[3, 0]);
    let indices = Data::<i32>::new(vec![3], &[1]);
    assert!(run(&[1, 0], |out| take(&x.input(), &indices.input(), 0, out)).is_err());
    let none = Data::<i32>::new(vec![], &[0]);
    assert_eq!(run(&[0, 0], |out| take(&x.input(), &none.input(), 0, out)).expect("no indices"), [0i32; 0]);
}

fn check_along(x: &Data<i32>, indices: &Data<i64>, values: &Data<i32>, axis: usize) {
    let got = run(&indices.shape, |out| take_along_axis(&x.input(), &indices.input(), axis, out));
    let source = |p: &[usize]| {
        let mut q = p.to_vec();
        q[axis] = resolve(indices.at(p), x.shape[axis]);
        q
    };
    for (got, p) in got.expect("indices are valid").iter().zip(positions(&indices.shape)) {
        assert_eq!(*got, x.at(&source(&p)), "position {p:?}");
    }

    let got = run(&x.shape, |out| put_along_axis(&x.input(), &indices.input(), &values.input(), axis, out));
    let mut want: Vec<i32> = positions(&x.shape).iter().map(|p| x.at(p)).collect();
    let strides = row_major(&x.shape);
    for p in positions(&indices.shape) {
        let at: isize = source(&p).iter().zip(&strides).map(|(&i, &s)| i as isize * s).sum();
        want[at as usize] = values.at(&p);
    }
    assert!(got.expect("indices are valid") == want, "put along {axis} of {:?}", x.shape);
}

#[test]
fn along_axis_agrees_with_its_definition_for_every_axis_and_layout() {
    for axis in 0..3 {
        let mut shape = [4, 5, 6];
        let size = shape[axis] as i64;
        shape[axis] = 7;
        let n: usize = shape.iter().product();
        let list: Vec<i64> = (0..n as i64).map(|i| (i * 31) % (2 * size) - size).collect();
        let indices = Data::<i64>::new(list.clone(), &shape);
        let turned =
            Data::<i64>::strided(list, 0, &shape, &[1, shape[0] as isize, (shape[0] * shape[1]) as isize]);
        let one = Data::<i64>::strided(vec![-1], 0, &shape, &[0, 0, 0]);
        let values = Data::<i32>::new((1000..1000 + n as i32).collect(), &shape);
        let same = Data::<i32>::strided(vec![5], 0, &shape, &[0, 0, 0]);
        for x in [
            Data::<i32>::new((0..120).collect(), &[4, 5, 6]),
            Data::<i32>::strided((0..120).collect(), 0, &[4, 5, 6], &[1, 4, 20]),
            Data::<i32>::strided((0..120).collect(), 119, &[4, 5, 6], &[-30, -6, -1]),
            Data::<i32>::strided((0..6).collect(), 0, &[4, 5, 6], &[0, 0, 1]),
        ] {
            for indices in [&indices, &turned, &one] {
                check_along(&x, indices, &values, axis);
                check_along(&x, indices, &same, axis);
            }
        }
    }
}

#[test]
fn along_axis_of_large_arrays_keeps_the_last_of_several_values() {
    for (shape, axis) in [([300, 500], 0), ([300, 500], 1), ([3, 50_000], 1), ([3, 50_000], 0)] {
        let size = [40, 40];
        let mut x_shape = shape;
        x_shape[axis] = size[axis];
        let n = shape[0] * shape[1];
        let x = Data::<i32>::new((0..(x_shape[0] * x_shape[1]) as i32).collect(), &x_shape);
        let indices = Data::<i64>::new((0..n as i64).map(|i| (i * 7919) % 80 - 40).collect(), &shape);
        let values = Data::<i32>::new((0..n as i32).map(|i| -i).collect(), &shape);
        check_along(&x, &indices, &values, axis);
    }
}
