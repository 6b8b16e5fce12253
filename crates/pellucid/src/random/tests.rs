//! For the same key, the numbers of the published `mlx`.

use super::*;
use crate::array::{Array, Dtype, Shape};
use crate::error::Error;
use crate::ops;

fn seven() -> Array {
    key(7)
}

/// Equal but for the last bits, in which the error functions of two libraries differ.
fn close(a: &Array, expected: &[f32]) {
    let got = a.to_vec::<f32>().unwrap();
    let near = |(g, e): (&f32, &f32)| (g - e).abs() <= 8.0 * f32::EPSILON * e.abs().max(0.25);
    assert!(got.len() == expected.len() && got.iter().zip(expected).all(near), "{got:?} is not {expected:?}");
}

#[test]
fn a_seed_starts_the_sequence_of_mlx() {
    seed(0);
    let draw = || uniform(0, 1, [3], Dtype::Float32, None).to_vec::<f32>().unwrap();
    assert_eq!(draw(), [0.872_414_35, 0.111_051_56, 0.277_080_54]);
    assert_eq!(draw(), [0.473_660_08, 0.566_222_8, 0.880_602_36]);
    seed(0);
    assert_eq!(draw()[0], 0.872_414_35);
}

#[test]
fn threads_without_a_seed_differ() {
    let draw = || bits([2], 4, None).to_vec::<u32>().unwrap();
    let other = std::thread::spawn(draw).join().unwrap();
    assert_ne!(std::thread::spawn(draw).join().unwrap(), other);
}

#[test]
fn keys_and_bits_are_those_of_mlx() {
    assert_eq!(key((1 << 40) + 3).to_vec::<u32>().unwrap(), [256, 3]);
    let expected = [276534068, 861967409, 1905761346, 1641862660, 2900896126, 1402713516];
    assert_eq!(split(&seven(), 3).to_vec::<u32>().unwrap(), expected);
    assert_eq!(split(&seven(), 0).shape(), &[0, 2]);
}

#[test]
fn uniform_integers_bernoulli_and_permutations_are_those_of_mlx() {
    let k = seven();
    let u = uniform(-2, 3, [5], Dtype::Float32, Some(&k));
    assert_eq!(
        u.to_vec::<f32>().unwrap(),
        [-1.678_072, -0.996_537_8, 1.252_296_2, -0.088_620_305, 1.377_087_4]
    );
    let half = uniform(0, 1, [3], Dtype::Float16, Some(&k));
    close(&ops::astype(&half, Dtype::Float32), &[0.224_975_59, 0.426_269_53, 0.453_613_28]);
    let n = randint(-5, 7, [8], Dtype::Int32, Some(&k));
    assert_eq!(n.to_vec::<i32>().unwrap(), [-5, -1, -1, -4, 3, 6, 5, 5]);
    let (low, high) = (Array::from([-3.7f32, 0.5]), Array::from([0.5f32, 3.7]));
    let n = randint(&low, &high, [4, 2], Dtype::Int32, Some(&k));
    assert_eq!(n.to_vec::<i32>().unwrap(), [-3, 1, -3, 0, -1, 2, -1, 2]);
    let b = bernoulli(Array::from([0.2f32, 0.4, 0.6, 0.8]), None, Some(&k));
    assert_eq!(b.to_vec::<bool>().unwrap(), [false, true, true, true]);
    let p = permutation(9, Some(&k));
    assert_eq!(p.to_vec::<u32>().unwrap(), [6, 1, 2, 5, 4, 7, 8, 3, 0]);
}

#[test]
fn other_distributions_are_those_of_mlx_to_the_last_bits() {
    let k = seven();
    let f32 = Dtype::Float32;
    close(&normal([4], f32, 1, 2, Some(&k)), &[-0.510_932_45, -0.475_474_72, 0.766_905_3, -0.371_329_43]);
    let complex = normal([2], Dtype::Complex64, 0, 1, Some(&k));
    let parts = ops::view(&complex, f32);
    close(&parts, &[-0.534_195_3, -0.521_659_1, -0.082_411_42, -0.484_838_2]);
    let t = truncated_normal(-1, Array::from([0.5f32, 2.0]), None, f32, Some(&k));
    close(&t, &[-0.904_551_74, 1.497_642_8]);
    close(&gumbel([3], f32, Some(&k)), &[-0.399_931_94, 0.159_066_75, 0.235_065_67]);
    close(&laplace([3], f32, 1.0, 2.0, Some(&k)), &[2.597_151_8, 1.319_584_4, 1.194_743_4]);
}

#[test]
fn categories_are_those_of_mlx() {
    let k = seven();
    let logits = Array::from([[0.1f32, 2.0, -1.0], [1.0, 0.0, 0.5]]);
    let draw = |axis, samples| categorical(&logits, axis, samples, Some(&k)).to_vec::<u32>().unwrap();
    assert_eq!(draw(-1, Samples::One), [1, 0]);
    assert_eq!(draw(-1, Samples::Count(4)), [0, 1, 1, 1, 2, 1, 0, 0]);
    assert_eq!(draw(0, Samples::One), [1, 0, 1]);
    assert_eq!(draw(-1, Samples::Shape(Shape::from([3, 2]))), [1, 2, 1, 1, 1, 2]);
}

#[test]
fn samples_of_a_single_distribution_are_those_of_mlx() {
    let k = seven();
    let logits = Array::from([0.1f32, 2.0, -1.0]);
    let draw = |logits: &Array, samples| categorical(logits, -1, samples, Some(&k));
    assert_eq!(draw(&logits, Samples::Count(8)).to_vec::<u32>().unwrap(), [0, 1, 1, 0, 1, 2, 1, 1]);
    let row = ops::expand_dims(&logits, 0);
    let drawn = draw(&row, Samples::Count(5));
    assert_eq!((drawn.shape(), drawn.to_vec::<u32>().unwrap()), (&[1, 5][..], vec![0, 1, 1, 1, 1]));
    let drawn = draw(&logits, Samples::Shape(Shape::from([2, 3])));
    assert_eq!((drawn.shape(), drawn.to_vec::<u32>().unwrap()), (&[2, 3][..], vec![0, 1, 1, 1, 1, 1]));
    assert_eq!(draw(&logits, Samples::Count(1)).to_vec::<u32>().unwrap(), [1]);
    assert_eq!(draw(&logits, Samples::One).to_vec::<u32>().unwrap(), [1]);
}

#[test]
fn empty_intervals_give_the_lower_end() {
    let n = randint(5, 3, [4], Dtype::Int32, None);
    assert_eq!(n.to_vec::<i32>().unwrap(), [5; 4]);
    let p = permutation_of(&ops::zeros([2, 0], Dtype::Int8), 1, None);
    assert_eq!(p.shape(), &[2, 0]);
}

#[test]
fn wrong_arguments_are_errors() {
    let not_a_key = ops::zeros([3], Dtype::Uint32);
    assert!(matches!(bits([1], 4, Some(&not_a_key)).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(bits([1], 3, None).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(
        uniform(0, 1, [1], Dtype::Int32, None).check().unwrap_err().root(),
        Error::Dtype { .. }
    ));
    assert!(matches!(
        uniform(ops::zeros([3], Dtype::Float32), 1, [2], Dtype::Float32, None).check().unwrap_err().root(),
        Error::Shape { .. }
    ));
    assert!(matches!(
        randint(0, 1, [1], Dtype::Float32, None).check().unwrap_err().root(),
        Error::Dtype { .. }
    ));
    assert!(matches!(bernoulli(1, None, None).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(matches!(
        categorical(&not_a_key, 1, Samples::One, None).check().unwrap_err().root(),
        Error::Axis { .. }
    ));
    assert!(bits([usize::MAX, 2], 4, None).check().is_err());
}
