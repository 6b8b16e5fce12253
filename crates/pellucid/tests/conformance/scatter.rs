//! Reading and writing at places that several index arrays name: duplicates, negative ones, none, very many.

use pellucid::ops::{self, Accumulate, Index};
use pellucid::{Array, Dtype, idx};

use crate::conformance;

const ALL: [Accumulate; 4] =
    [Accumulate::Add, Accumulate::Multiply, Accumulate::Maximum, Accumulate::Minimum];

fn combined(how: Accumulate, a: f32, b: f32) -> f32 {
    match how {
        Accumulate::Add => a + b,
        Accumulate::Multiply => a * b,
        Accumulate::Maximum => a.max(b),
        _ => a.min(b),
    }
}

/// Numbers that follow no pattern but are small integers, so that every order of a sum is exact.
fn mixed(count: usize, below: usize) -> Vec<usize> {
    let mut state = 12345u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    (0..count).map(|_| next()).collect()
}

conformance! {
    fn several_index_arrays_select_places_together() {
        let a = ops::reshape(&ops::arange(0, 24, 1, Dtype::Int32), [2, 3, 4]);
        let (i, j) = (Array::from([[0], [-1]]), Array::from([3, 0, -2]));
        let out = a.index(idx![&i, .., &j]);
        assert_eq!(out.shape(), &[2, 3, 3]);
        let expected: Vec<i32> = [0, 1].iter().flat_map(|&i| [3, 0, 2].map(move |j| (i, j)))
            .flat_map(|(i, j)| [0, 1, 2].map(move |k| i * 12 + k * 4 + j)).collect();
        assert_eq!(out.to_vec::<i32>().unwrap(), expected);
        let next = a.index(idx![1, &j, &j.index(idx![..1])]);
        assert!(next.eval().is_err(), "position 3 of an axis of 3");
    }

    fn the_last_of_several_values_for_a_place_stays() {
        let (rows, columns) = (Array::from([0, 1, 0, -2]), Array::from([1, 0, 1, 1]));
        let values = Array::from([1, 2, 3, 4]);
        let out = ops::slice_update(&ops::zeros([2, 2], Dtype::Int32), &values, &idx![&rows, &columns]);
        assert_eq!(out.to_vec::<i32>().unwrap(), [0, 4, 2, 0]);
    }

    fn every_update_counts_between_slices_too() {
        let shape = [4, 3, 5];
        let (at, other) = ([1usize, 3, 1, 0], [2usize, 2, 2, 4]);
        let start: Vec<f32> = (0..60).map(|i| (i % 7) as f32 - 3.0).collect();
        let update: Vec<f32> = (0..8).map(|i| (i % 5) as f32 - 2.0).collect();
        let index = |p: &[usize]| Array::from_slice(&p.iter().map(|&v| v as i32).collect::<Vec<_>>(), [4]);
        for how in ALL {
            let mut expected = start.clone();
            for (n, (&i, &k)) in at.iter().zip(&other).enumerate() {
                for (m, j) in [0usize, 2].into_iter().enumerate() {
                    let place = &mut expected[(i * 3 + j) * 5 + k];
                    *place = combined(how, *place, update[n * 2 + m]);
                }
            }
            let a = Array::from_slice(&start, shape);
            let by = Array::from_slice(&update, [4, 2]);
            let indices = [Index::from(&index(&at)), Index::step(None, None, 2), Index::from(&index(&other))];
            let out = ops::slice_accumulate(&a, &by, &indices, how);
            assert_eq!(out.to_vec::<f32>().unwrap(), expected, "{how:?}");
            assert_eq!(a.to_vec::<f32>().unwrap(), start, "what was there is not touched");
        }
    }

    fn sixteen_bit_sums_are_rounded_once() {
        for dtype in [Dtype::Float16, Dtype::Bfloat16] {
            let ones = ops::ones([4096], dtype);
            let places = ops::zeros([4096], Dtype::Int32);
            let sum = ops::slice_accumulate(&ops::zeros([2], dtype), &ones, &idx![&places], Accumulate::Add);
            assert_eq!(ops::astype(&sum, Dtype::Float32).to_vec::<f32>().unwrap(), [4096.0, 0.0], "{dtype}");
        }
    }

    fn no_places_and_no_elements_are_no_work() {
        let a = Array::from([[1, 2], [3, 4]]);
        let none = ops::zeros([0], Dtype::Int32);
        let same = ops::slice_accumulate(&a, 5, &idx![&none, &none], Accumulate::Add);
        assert_eq!(same.to_vec::<i32>().unwrap(), [1, 2, 3, 4]);
        assert_eq!(a.index(idx![&none, &none]).shape(), &[0]);
        let empty = ops::zeros([3, 0], Dtype::Float32);
        let rows = Array::from([2, 0]);
        let still = ops::slice_accumulate(&empty, 1, &idx![&rows], Accumulate::Add);
        assert_eq!(still.shape(), &[3, 0]);
        still.eval().unwrap();
    }

    fn a_place_outside_is_an_error_of_the_result_that_names_axis_and_size() {
        let a = ops::zeros([3, 4], Dtype::Float32);
        let (good, bad) = (Array::from([0, 1]), Array::from([0, -5]));
        let message = |array: Array| array.eval().unwrap_err().to_string();
        let read = message(a.index(idx![&good, &bad]));
        assert!(read.contains("index -5") && read.contains("axis 1") && read.contains("size 4"), "{read}");
        let written = message(ops::slice_accumulate(&a, 1, &idx![&good, &bad], Accumulate::Add));
        assert!(written.contains("index -5") && written.contains("size 4"), "{written}");
        assert!(ops::slice_update(&a, 1, &idx![&bad, &good]).eval().is_err());
    }

    fn many_updates_give_the_same_bits_on_every_run() {
        let (count, places, width) = (20_000, 1_000, 8);
        let at = mixed(count, places);
        let update: Vec<f32> = mixed(count * width, 1_000).iter().map(|&v| v as f32 * 0.37).collect();
        let index = Array::from_slice(&at.iter().map(|&v| v as i32).collect::<Vec<_>>(), [count]);
        let update = Array::from_slice(&update, [count, width]);
        let run = || {
            let into = ops::ones([places, width], Dtype::Float32);
            ops::slice_accumulate(&into, &update, &idx![&index], Accumulate::Add).to_vec::<f32>().unwrap()
        };
        let (first, mut totals) = (run(), vec![1.0f64; places * width]);
        let values = update.to_vec::<f32>().unwrap();
        for (n, &place) in at.iter().enumerate() {
            for k in 0..width {
                totals[place * width + k] += f64::from(values[n * width + k]);
            }
        }
        assert!(first.iter().zip(&totals).all(|(&a, &b)| (f64::from(a) - b).abs() < 1e-4 * b));
        for _ in 0..3 {
            let again = run();
            assert!(first.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
