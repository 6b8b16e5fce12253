//! Shapes, element types, values and errors of the functions. Expected values are those of the published `mlx`.

use super::*;
use crate::array::Axes;
use crate::idx;

fn ones_of(dtype: Dtype) -> Array {
    ones([4], dtype)
}

fn numbers(shape: &[i64]) -> Array {
    let n: i64 = shape.iter().product();
    reshape(&arange(0, n, 1, None), shape)
}

fn ints(a: &Array) -> Vec<i32> {
    a.to_vec().unwrap()
}

fn message(result: Array) -> String {
    result.check().unwrap_err().root().to_string()
}

#[test]
fn a_real_number_becomes_an_integer_by_the_rules_of_a_cast() {
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e20, -1e20, 300.7, -3.7] {
        for dtype in [Dtype::Uint8, Dtype::Int8, Dtype::Int32, Dtype::Uint32, Dtype::Int64, Dtype::Uint64] {
            let real = full(1, value, Dtype::Float64);
            let wide = |a: &Array| astype(a, Dtype::Float64).to_vec::<f64>().unwrap();
            let cast = wide(&astype(&real, dtype));
            assert_eq!(wide(&full(1, value, dtype)), cast, "full of {value} in {dtype}");
            let zeros = zeros(1, dtype);
            let assigned = slice_update(&zeros, value, &crate::idx![0]);
            assert_eq!(wide(&assigned), cast, "{value} assigned to {dtype}");
        }
    }
}

#[test]
fn a_linspace_of_no_or_one_number_takes_every_start() {
    assert_eq!(linspace(300.0, 1.0, 0, true, Dtype::Uint8).shape(), &[0]);
    assert_eq!(linspace(f64::NAN, 1.0, 0, true, Dtype::Int32).shape(), &[0]);
    assert_eq!(linspace(3.9, 1.0, 1, true, Dtype::Int32).to_vec::<i32>().unwrap(), [3]);
}

#[test]
fn transcendental_functions_turn_integers_into_float32() {
    for f in [sin, exp, log, sqrt, sigmoid, erf, arctanh, rsqrt, expm1, degrees, reciprocal] {
        for dtype in Dtype::ALL.into_iter().filter(|d| !d.is_inexact()) {
            assert_eq!(f(&ones_of(dtype)).dtype(), Dtype::Float32);
        }
        assert_eq!(f(&ones_of(Dtype::Float16)).dtype(), Dtype::Float16);
    }
}

#[test]
fn functions_refuse_the_types_they_are_not_defined_for() {
    for f in [ceil, floor, trunc, erf, erfinv, expm1, sigmoid] {
        assert!(matches!(f(&ones_of(Dtype::Complex64)).check().unwrap_err().root(), Error::Dtype { .. }));
    }
    assert_eq!(message(negative(&ones_of(Dtype::Bool))), "[negative] does not take bool; use logical_not");
    let half = ones_of(Dtype::Float16);
    assert!(matches!(bitwise_and(&half, 1).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(matches!(bitwise_invert(&half).check().unwrap_err().root(), Error::Dtype { .. }));
    let complex = ones_of(Dtype::Complex64);
    assert!(matches!(remainder(&complex, &complex).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(matches!(arctan2(&complex, 1).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(matches!(divmod(&complex, 1).0.check().unwrap_err().root(), Error::Dtype { .. }));
}

#[test]
fn shifts_of_bool_are_computed_as_uint8() {
    assert_eq!(left_shift(ones_of(Dtype::Bool), true).dtype(), Dtype::Uint8);
    assert_eq!(right_shift(ones_of(Dtype::Int16), 1).dtype(), Dtype::Int16);
}

#[test]
fn a_number_takes_the_type_of_the_array_it_meets() {
    let table = [
        (Dtype::Bool, [Dtype::Bool, Dtype::Int32, Dtype::Float32]),
        (Dtype::Uint8, [Dtype::Uint8, Dtype::Uint8, Dtype::Float32]),
        (Dtype::Int64, [Dtype::Int64, Dtype::Int64, Dtype::Float32]),
        (Dtype::Bfloat16, [Dtype::Bfloat16; 3]),
        (Dtype::Float64, [Dtype::Float64; 3]),
    ];
    for (dtype, expected) in table {
        let a = ones_of(dtype);
        let got = [add(&a, true), add(1, &a), add(&a, 1.5)].map(|r| r.dtype());
        assert_eq!(got, expected, "{dtype}");
    }
    assert_eq!(add(1, 2.5).item::<f32>().unwrap(), 3.5);
}

#[test]
fn an_integer_that_does_not_fit_is_an_error_with_the_range() {
    let text = message(add(ones_of(Dtype::Uint8), 300));
    assert_eq!(text, "[add] the number 300 does not fit uint8 (0 to 255)");
    assert!(multiply(ones_of(Dtype::Uint16), -1).check().is_err());
    assert!(multiply(ones_of(Dtype::Uint64), -1).check().is_ok());
    assert!(full([2], 3_000_000_000u32, Dtype::Int32).check().is_err());
}

#[test]
fn shapes_that_do_not_broadcast_are_an_error_with_both_shapes() {
    let (a, b) = (zeros([2, 3], Dtype::Float32), zeros([4], Dtype::Float32));
    let text = message(add(&a, &b));
    assert!(text.starts_with("[add] shapes [2, 3] and [4] do not broadcast"), "{text}");
}

#[test]
fn rounding_keeps_the_type_and_ties_go_to_even() {
    let a = Array::from([1.25f32, -2.35]);
    assert_eq!(round(&a, 1).to_vec::<f32>().unwrap(), [1.2, -2.4]);
    assert_eq!(ints(&round(&Array::from([125, -235]), -1)), [120, -240]);
    assert_eq!(ints(&round(&Array::from([125, -235]), 1)), [125, -235]);
    assert!(matches!(round(&a, i32::MAX).check().unwrap_err().root(), Error::Argument { .. }));
}

#[test]
fn divmod_rounds_down() {
    let (q, r) = divmod(Array::from([-7, 7]), Array::from([2, -2]));
    assert_eq!((ints(&q), ints(&r)), (vec![-4, -4], vec![1, -1]));
}

#[test]
fn nan_and_infinities_are_replaced() {
    let a = Array::from([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    let b = nan_to_num(&a, 7.0, None, Some(-1.0));
    assert_eq!(b.to_vec::<f32>().unwrap(), [7.0, f32::MAX, -1.0, 1.0]);
    let half = nan_to_num(&astype(&a, Dtype::Float16), 0.0, None, None);
    assert_eq!(half.get(1).item::<half::f16>().unwrap(), half::f16::MAX);
}

#[test]
fn closeness_treats_infinities_nan_and_unsigned_numbers_right() {
    let a = Array::from([f32::INFINITY, f32::NAN, 1.0, f32::INFINITY]);
    let b = Array::from([f32::INFINITY, f32::NAN, 1.1, 1.0]);
    let close = |nan| isclose(&a, &b, 1e-5, 1e-8, nan).to_vec::<bool>().unwrap();
    assert_eq!(close(false), [true, false, false, false]);
    assert_eq!(close(true), [true, true, false, false]);
    let (x, y) = (Array::from([1u8]), Array::from([2u8]));
    assert!(isclose(&x, &y, 0.0, 1.0, false).item::<bool>().unwrap());
    assert!(!allclose(&x, &y, 0.0, 0.5, false).item::<bool>().unwrap());
}

#[test]
fn arrays_of_different_shapes_are_not_equal() {
    let a = Array::from([1, 2]);
    assert!(!array_equal(&a, Array::from([[1, 2]]), false).item::<bool>().unwrap());
    assert!(array_equal(&a, Array::from([1.0f32, 2.0]), false).item::<bool>().unwrap());
    let nan = Array::from([f32::NAN]);
    assert!(array_equal(&nan, &nan, true).item::<bool>().unwrap());
}

#[test]
fn clip_takes_numbers_arrays_and_nothing() {
    let a = Array::from([1, 2, 3]);
    assert_eq!(ints(&clip(&a, 2, None)), [2, 2, 3]);
    let high = Array::from([2.5f32]);
    assert_eq!(clip(&a, 1.5, &high).to_vec::<f32>().unwrap(), [1.5, 2.0, 2.5]);
    assert!(matches!(clip(&a, None, None).check().unwrap_err().root(), Error::Argument { .. }));
}

#[test]
fn ranges_have_the_length_and_type_of_mlx() {
    let floats = arange(0.0, 3.0, 0.7, None);
    assert_eq!((floats.size(), floats.dtype()), (5, Dtype::Float32));
    assert_eq!(ints(&arange(10, 0, -3, None)), [10, 7, 4, 1]);
    assert_eq!(arange(10, 0, 1, None).size(), 0);
    let wide = arange(3_000_000_000i64, 3_000_000_003i64, 1, None);
    assert_eq!(wide.to_vec::<i64>().unwrap(), [3_000_000_000, 3_000_000_001, 3_000_000_002]);
    assert_eq!(ints(&arange(0, 3, 0.5, Dtype::Int32)), [0; 6]);
    // The first two values are rounded, not the step: as MLX and NumPy.
    assert_eq!(ints(&arange(0.5, 5, 1.5, Dtype::Int32)), [0, 2, 4]);
    assert_eq!(ints(&arange(5, 0, -0.5, Dtype::Int32)), [5, 4, 3, 2, 1, 0, -1, -2, -3, -4]);
    assert_eq!(ints(&arange(-2.5, 2.5, 0.75, Dtype::Int32)), [-2, -1, 0, 1, 2, 3, 4]);
    assert_eq!(arange(0, 1, f64::INFINITY, None).to_vec::<f32>().unwrap(), [0.0]);
}

#[test]
fn impossible_ranges_are_errors() {
    assert!(matches!(arange(0, 1, 0, None).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(arange(0.0, f64::NAN, 1, None).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(
        arange(0.0, f64::INFINITY, 1, None).check().unwrap_err().root(),
        Error::Argument { .. }
    ));
    assert!(matches!(arange(0.0, 1e300, 1, None).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(arange(i64::MIN, i64::MAX, 1, None).check().is_err());
    assert!(matches!(arange(0, 2, 1, Dtype::Bool).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(zeros([usize::MAX, 2], Dtype::Float32).check().is_err());
}

#[test]
fn linspace_ends_where_it_should() {
    let values = |n, end| linspace(0.0, 10.0, n, end, Dtype::Float32).to_vec::<f32>().unwrap();
    assert_eq!(values(4, false), [0.0, 2.5, 5.0, 7.5]);
    assert_eq!(values(1, true), [0.0]);
    assert_eq!(values(0, true), [0.0; 0]);
    assert_eq!(ints(&linspace(0.0, 10.0, 4, true, Dtype::Int32)), [0, 3, 6, 10]);
}

#[test]
fn diagonals_and_triangles() {
    assert_eq!(ints(&eye(2, 3, 1, Dtype::Int32)), [0, 1, 0, 0, 0, 1]);
    assert_eq!(ints(&eye(2, 2, i64::MIN, Dtype::Int32)), [0; 4]);
    assert_eq!(ints(&diag(&Array::from([1, 2]), 1)), [0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(ints(&diag(&Array::from([1, 2]), -1)), [0, 0, 0, 1, 0, 0, 0, 2, 0]);
    let a = numbers(&[3, 4]);
    assert_eq!(ints(&diagonal(&a, 1, 0, 1)), [1, 6, 11]);
    assert_eq!(ints(&diagonal(&a, -1, 0, 1)), [4, 9]);
    assert_eq!(diagonal(&a, 9, 0, 1).size(), 0);
    assert_eq!(diagonal(&a, i64::MIN, 0, 1).size(), 0);
    let b = diagonal(&numbers(&[2, 3, 2]), 0, 0, 2);
    assert_eq!((b.shape(), ints(&b)), (&[3, 2][..], vec![0, 7, 2, 9, 4, 11]));
    assert_eq!(ints(&tril(&numbers(&[2, 3]), 0)), [0, 0, 0, 3, 4, 0]);
    assert_eq!(ints(&triu(&numbers(&[2, 3]), 1)), [0, 1, 2, 0, 0, 5]);
    assert_eq!(trace(&numbers(&[2, 2]), 0, 0, 1, None).item::<i32>().unwrap(), 3);
    assert!(matches!(diagonal(&a, 0, 0, -2).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(diag(&Array::from([1]), i64::MAX).check().is_err());
}

#[test]
fn meshgrid_orders_its_axes() {
    let (x, y) = (numbers(&[2]), numbers(&[3]));
    let grid = meshgrid(&[&x, &y], false, Indexing::Xy);
    assert_eq!((grid[0].shape(), ints(&grid[0])), (&[3, 2][..], vec![0, 1, 0, 1, 0, 1]));
    let sparse = meshgrid(&[&x, &y], true, Indexing::Ij);
    assert_eq!((sparse[0].shape(), sparse[1].shape()), (&[2, 1][..], &[1, 3][..]));
}

#[test]
fn reductions_have_the_types_of_mlx() {
    let dtype = |r: Array| r.dtype();
    for (from, to) in
        [(Dtype::Bool, Dtype::Int32), (Dtype::Uint8, Dtype::Uint32), (Dtype::Int64, Dtype::Int64)]
    {
        assert_eq!(dtype(sum(&ones_of(from), Axes::All, false)), to);
        assert_eq!(dtype(prod(&ones_of(from), Axes::All, false)), to);
        assert_eq!(dtype(mean(&ones_of(from), Axes::All, false)), Dtype::Float32);
        assert_eq!(dtype(median(&ones_of(from), Axes::All, false)), Dtype::Float32);
    }
    assert_eq!(dtype(var(&ones_of(Dtype::Complex64), Axes::All, false, 0)), Dtype::Float32);
    assert_eq!(dtype(cumsum(&ones_of(Dtype::Bool), None, false, true)), Dtype::Int32);
    assert_eq!(dtype(sum(&constant("t", Scalar::Int(1), Dtype::Int8), Axes::All, false)), Dtype::Int32);
}

#[test]
fn reductions_of_nothing_are_zero_nan_or_an_error() {
    let none = zeros([0, 3], Dtype::Float32);
    assert_eq!(sum(&none, Axes::All, false).item::<f32>().unwrap(), 0.0);
    assert!(mean(&none, Axes::All, false).item::<f32>().unwrap().is_nan());
    assert_eq!(max(&none, 1, false).shape(), &[0]);
    assert!(matches!(max(&none, 0, false).check().unwrap_err().root(), Error::Shape { .. }));
    assert!(matches!(argmax(&none, None, false).check().unwrap_err().root(), Error::Shape { .. }));
    assert!(matches!(logsumexp(&none, 0, false).check().unwrap_err().root(), Error::Shape { .. }));
    assert!(matches!(median(&none, 0, false).check().unwrap_err().root(), Error::Shape { .. }));
    assert_eq!(softmax(&none, 0, false).shape(), &[0, 3]);
}

#[test]
fn axes_out_of_range_and_given_twice_are_errors() {
    let a = numbers(&[2, 3]);
    assert!(matches!(sum(&a, 2, false).check().unwrap_err().root(), Error::Axis { axis: 2, ndim: 2, .. }));
    assert!(matches!(sum(&a, i64::MIN, false).check().unwrap_err().root(), Error::Axis { .. }));
    assert!(matches!(sum(&a, [0, -2], false).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(argmax(&a, 5, false).check().unwrap_err().root(), Error::Axis { .. }));
    assert!(matches!(cumsum(&a, 2, false, true).check().unwrap_err().root(), Error::Axis { .. }));
}

#[test]
fn statistics_have_the_values_of_mlx() {
    let a = Array::from([1.0f32, 2.0]);
    assert_eq!(var(&a, Axes::All, false, 0).item::<f32>().unwrap(), 0.25);
    assert_eq!(var(&a, Axes::All, false, 1).item::<f32>().unwrap(), 0.5);
    assert_eq!(var(&a, Axes::All, false, 2).item::<f32>().unwrap(), f32::INFINITY);
    assert_eq!(std(&a, Axes::All, true, 0).shape(), &[1]);
    let b = Array::from([[3, 1, 2, 4]]);
    assert_eq!(median(&b, 1, true).to_vec::<f32>().unwrap(), [2.5]);
    assert_eq!(argmax(&b, None, true).shape(), &[1, 1]);
    assert_eq!(mean(&Array::from([i32::MAX, i32::MAX]), 0, false).item::<f32>().unwrap(), 2147483648.0);
    assert_eq!(count_nonzero(&Array::from([0, 1, 2]), Axes::All, false).item::<i32>().unwrap(), 2);
    assert_eq!(
        softmax(&constant("t", Scalar::Int(3), Dtype::Int32), Axes::All, false).item::<f32>().unwrap(),
        1.0
    );
}

#[test]
fn scans_run_along_the_flat_array_without_an_axis() {
    let a = numbers(&[2, 2]);
    assert_eq!(ints(&cumsum(&a, None, false, true)), [0, 1, 3, 6]);
    assert_eq!(ints(&cumsum(&Array::from([1, 2, 3]), 0, true, false)), [5, 3, 0]);
    assert_eq!(ints(&cummax(&Array::from([1, 2, 3]), 0, false, false)), [i32::MIN, 1, 2]);
    assert_eq!(cumprod(&ones_of(Dtype::Bool), 0, false, true).to_vec::<bool>().unwrap(), [true; 4]);
    assert_eq!(diff(&a, 5, 0).shape(), &[0, 2]);
}

#[test]
fn reshape_finds_one_size() {
    let a = numbers(&[2, 3, 4]);
    assert_eq!(reshape(&a, [-1]).shape(), &[24]);
    let none = zeros([0], Dtype::Float32);
    assert_eq!(reshape(&none, [-1, 3]).shape(), &[0, 3]);
    for sizes in [&[-1, -1][..], &[5, -1], &[-2, -12], &[25], &[i64::MAX, i64::MAX, -1], &[0, -1]] {
        assert!(matches!(reshape(&a, sizes).check().unwrap_err().root(), Error::Shape { .. }), "{sizes:?}");
    }
    assert!(matches!(reshape(&none, [0, -1]).check().unwrap_err().root(), Error::Shape { .. }));
}

#[test]
fn axes_are_joined_divided_moved_and_removed() {
    let a = zeros([2, 3, 4], Dtype::Int8);
    let shape = |r: Array| r.shape().to_vec();
    assert_eq!(shape(flatten(&a, 1, -1)), [2, 12]);
    assert_eq!(shape(flatten(&a, -9, 9)), [24]);
    assert!(flatten(&a, 2, 1).check().is_err());
    assert_eq!(shape(unflatten(&a, 2, [2, -1])), [2, 3, 2, 2]);
    assert!(unflatten(&a, 2, [3, -1]).check().is_err() && unflatten(&a, 2, ()).check().is_err());
    assert_eq!(shape(transpose(&a, [2, 0, -2])), [4, 2, 3]);
    assert!(matches!(transpose(&a, [0, 0, 1]).check().unwrap_err().root(), Error::Argument { .. }));
    assert_eq!(shape(moveaxis(&a, 0, -1)), [3, 4, 2]);
    assert_eq!(shape(a.mT()), [2, 4, 3]);
    assert_eq!(shape(expand_dims(&a, [0, -1])), [1, 2, 3, 4, 1]);
    assert!(expand_dims(&a, [0, 0]).check().is_err() && expand_dims(&a, 4).check().is_err());
    let b = zeros([1, 2, 1], Dtype::Int8);
    assert_eq!(shape(squeeze(&b, Axes::All)), [2]);
    assert_eq!(shape(squeeze(&b, [0, -1])), [2]);
    assert!(matches!(squeeze(&b, 1).check().unwrap_err().root(), Error::Shape { .. }));
    assert_eq!(shape(atleast_3d(&Array::from([1, 2]))), [1, 2, 1]);
}

#[test]
fn broadcasting_only_grows() {
    assert_eq!(&*broadcast_shapes(&[&[3, 1][..], &[1, 4], &[4]]).unwrap(), &[3, 4]);
    assert!(broadcast_shapes::<&[usize]>(&[]).is_err());
    assert!(broadcast_to(&zeros([3, 1], Dtype::Int8), [1]).check().is_err());
    let both = broadcast_arrays(&[&numbers(&[3, 1]), &numbers(&[2])]);
    assert_eq!(ints(&both[1]), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn joining_promotes_and_checks_shapes() {
    let (a, b) = (Array::from([1, 2]), Array::from([0.5f32]));
    let joined = concatenate(&[&a, &b], 0);
    assert_eq!(joined.to_vec::<f32>().unwrap(), [1.0, 2.0, 0.5]);
    assert!(matches!(
        concatenate(Vec::<Array>::new(), 0).check().unwrap_err().root(),
        Error::Argument { .. }
    ));
    assert!(matches!(
        concatenate(&[&a, &numbers(&[2, 2])], 0).check().unwrap_err().root(),
        Error::Shape { .. }
    ));
    assert!(matches!(stack(&[&a, &b], 0).check().unwrap_err().root(), Error::Shape { .. }));
    assert_eq!(concatenate(&[&numbers(&[2, 2]), &a], None).shape(), &[6]);
    let layers = unstack(&numbers(&[2, 2]), 1);
    assert_eq!((layers.len(), ints(&layers[0])), (2, vec![0, 2]));
}

#[test]
fn splitting_cuts_where_numpy_does() {
    let a = numbers(&[6]);
    let sizes = |cuts: &[i64]| split(&a, cuts, 0).iter().map(Array::size).collect::<Vec<_>>();
    assert_eq!(sizes(&[2, 4]), [2, 2, 2]);
    assert_eq!(sizes(&[4, 2]), [4, 0, 4]);
    assert_eq!(sizes(&[-2]), [4, 2]);
    assert_eq!(sizes(&[9, i64::MIN]), [6, 0, 6]);
    for sections in [0, 4, usize::MAX] {
        assert!(matches!(split(&a, sections, 0)[0].check().unwrap_err().root(), Error::Argument { .. }));
    }
    assert!(split(&zeros([0], Dtype::Int8), usize::MAX, 0)[0].check().is_err());
}

#[test]
fn repeating_rolling_flipping() {
    let a = Array::from([1, 2]);
    assert_eq!(ints(&tile(&a, [2, 2])), [1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(tile(&numbers(&[2, 3]), [2]).shape(), &[2, 6]);
    assert!(tile(&a, [usize::MAX]).check().is_err() && repeat(&a, usize::MAX, 0).check().is_err());
    assert_eq!(ints(&repeat(&numbers(&[2, 2]), 2, 0)), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(ints(&repeat(&a, 2, None)), [1, 1, 2, 2]);
    let m = numbers(&[2, 3]);
    assert_eq!(ints(&roll(&m, &[1], Axes::All)), [5, 0, 1, 2, 3, 4]);
    assert_eq!(ints(&roll(&m, &[1, 2], [0, 1])), [4, 5, 3, 1, 2, 0]);
    assert_eq!(ints(&roll(&m, &[i64::MIN], 1)), ints(&roll(&m, &[1], 1)));
    assert_eq!(ints(&flip(&m, 1)), [2, 1, 0, 5, 4, 3]);
    assert!(roll(&m, &[1, 2, 3], [0, 1]).check().is_err() && roll(&m, (), [0, 1]).check().is_err());
    assert_eq!(ints(&roll(&m, (), Axes::List(Default::default()))), ints(&m));
}

#[test]
fn padding_has_the_modes_of_mlx() {
    let a = Array::from([1, 2, 3]);
    let padded = |w, mode| ints(&pad(&a, w, mode, 7.9));
    assert_eq!(padded((1, 2), PadMode::Constant), [7, 1, 2, 3, 7, 7]);
    assert_eq!(padded((1, 2), PadMode::Edge), [1, 1, 2, 3, 3, 3]);
    assert_eq!(padded((5, 0), PadMode::Reflect), [2, 1, 2, 3, 2, 1, 2, 3]);
    assert_eq!(padded((4, 0), PadMode::Symmetric), [3, 3, 2, 1, 1, 2, 3]);
    let m = pad(&numbers(&[2, 2]), [(0, 1), (1, 0)], PadMode::Edge, 0);
    assert_eq!(ints(&m), [0, 0, 1, 2, 2, 3, 2, 2, 3]);
    assert!(pad(&a, [(1, 1), (1, 1)], PadMode::Constant, 0).check().is_err());
    assert!(
        pad(&a, usize::MAX, PadMode::Constant, 0).check().is_err()
            && pad(&a, usize::MAX, PadMode::Edge, 0).check().is_err()
    );
    assert!(pad(&zeros([0], Dtype::Int8), 1, PadMode::Edge, 0).check().is_err());
}

#[test]
fn strided_views_stay_inside() {
    let a = numbers(&[6]);
    assert_eq!(ints(&as_strided(&a, [2, 2], Some(&[1, 2]), 1)), [1, 3, 2, 4]);
    assert!(matches!(
        as_strided(&a, [2, 2], Some(&[10, 10]), 0).check().unwrap_err().root(),
        Error::Argument { .. }
    ));
    assert_eq!(view(&a, Dtype::Int8).shape(), &[24]);
    assert!(view(&constant("t", Scalar::Int(1), Dtype::Int32), Dtype::Int8).check().is_err());
}

#[test]
fn basic_indexing_is_numpys() {
    let a = numbers(&[2, 3, 4]);
    let at = |indices: &[Index]| {
        let b = index(&a, indices);
        (b.shape().to_vec(), ints(&b))
    };
    assert_eq!(at(&idx![1, -1, 2]), (vec![], vec![22]));
    assert_eq!(at(&idx![.., 0, 1..3]), (vec![2, 2], vec![1, 2, 13, 14]));
    assert_eq!(at(&idx![0, 0, Index::step(None, None, -2)]), (vec![2], vec![3, 1]));
    assert_eq!(at(&idx![Index::Ellipsis, 0]).0, [2, 3]);
    assert_eq!(at(&idx![0, Index::NewAxis, Index::Ellipsis, ..=1]).0, [1, 3, 2]);
    assert_eq!(at(&idx![5..9]).0, [0, 3, 4]);
    assert_eq!(at(&idx![0, 0, Index::step(i64::MAX, i64::MIN, i64::MIN)]), (vec![1], vec![3]));
    assert_eq!(at(&idx![0, 0, 1..=usize::MAX]).1, [1, 2, 3]);
    assert_eq!(at(&[]).0, [2, 3, 4]);
}

#[test]
fn wrong_indices_are_errors_with_the_numbers() {
    let a = numbers(&[2, 3]);
    assert_eq!(message(index(&a, &idx![0, 3])), "[index] index 3 is out of range for axis 1 of size 3");
    assert!(matches!(index(&a, &idx![i64::MIN]).check().unwrap_err().root(), Error::Index { .. }));
    assert!(matches!(index(&a, &idx![0, 0, 0]).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(index(&a, &idx![Index::Ellipsis, Index::Ellipsis]).check().is_err());
    assert!(index(&a, &idx![Index::step(None, None, 0)]).check().is_err());
    assert!(matches!(
        index(&a, &idx![&ones_of(Dtype::Bool)]).check().unwrap_err().root(),
        Error::Dtype { .. }
    ));
    let two = Array::from([0, 1]);
    let error = index(&a, &idx![&two, &Array::from([0, 9])]).eval().unwrap_err();
    assert!(matches!(error.root(), Error::Index { index: 9, axis: 1, size: 3, .. }), "{error}");
}

#[test]
fn index_arrays_are_placed_as_numpy_places_them() {
    let (a, i) = (numbers(&[2, 3, 4]), Array::from([0, 1]));
    let at = |indices: &[Index]| {
        let b = index(&a, indices);
        (b.shape().to_vec(), ints(&b))
    };
    assert_eq!(at(&idx![&i, .., &i]), (vec![2, 3], vec![0, 4, 8, 13, 17, 21]));
    assert_eq!(at(&idx![0, .., &i]), (vec![2, 3], vec![0, 4, 8, 1, 5, 9]));
    assert_eq!(at(&idx![.., &i, &i]), (vec![2, 2], vec![0, 5, 12, 17]));
    assert_eq!(at(&idx![.., 0, &i]), (vec![2, 2], vec![0, 1, 12, 13]));
    assert_eq!(at(&idx![&i, Index::NewAxis, &i]).0, [2, 1, 4]);
    assert_eq!(at(&idx![Index::NewAxis, &i, 0]).0, [1, 2, 4]);
    assert_eq!(at(&idx![Index::Ellipsis, &i]).0, [2, 3, 2]);
    assert_eq!(at(&idx![&expand_dims(&i, 1), &i]).0, [2, 2, 4]);
    assert_eq!(at(&idx![&i, 0..2, 1]), (vec![2, 2], vec![1, 5, 13, 17]));
    assert_eq!(at(&idx![.., &Array::from([-1])]).1, [8, 9, 10, 11, 20, 21, 22, 23]);
}

#[test]
fn parts_are_replaced() {
    let a = numbers(&[2, 3]);
    let set = |update: Operand, indices: &[Index]| ints(&slice_update(&a, update, indices));
    assert_eq!(set(9.9.into(), &idx![0]), [9, 9, 9, 3, 4, 5]);
    assert_eq!(set((&Array::from([7, 8])).into(), &idx![.., 1]), [0, 7, 2, 3, 8, 5]);
    assert_eq!(set((&Array::from([7, 8])).into(), &idx![1, Index::step(None, None, -2)]), [0, 1, 2, 8, 4, 7]);
    assert_eq!(set(9.into(), &idx![&Array::from([1, 0]), &Array::from([0, -1])]), [0, 1, 9, 9, 4, 5]);
    assert!(matches!(
        slice_update(&a, numbers(&[4]), &idx![0]).check().unwrap_err().root(),
        Error::Shape { .. }
    ));
    assert!(matches!(slice_update(&a, 0, &idx![2]).check().unwrap_err().root(), Error::Index { .. }));
}

#[test]
fn taking_and_putting_along_an_axis() {
    let a = Array::from([[1, 2], [3, 4]]);
    let column = Array::from([[0], [1]]);
    assert_eq!(ints(&take_along_axis(&a, &column, 1)), [1, 4]);
    assert_eq!(ints(&take_along_axis(&a, &Array::from([[0]]), 1)), [1, 3]);
    assert_eq!(ints(&take_along_axis(&a, &Array::from([0, 3]), None)), [1, 4]);
    assert!(matches!(
        take_along_axis(&a, &Array::from([0]), 0).check().unwrap_err().root(),
        Error::Shape { .. }
    ));
    assert_eq!(ints(&put_along_axis(&a, &column, Array::from([9.5f32]), 1)), [9, 2, 3, 9]);
    assert_eq!(ints(&put_along_axis(&a, &Array::from([0]), 9, None)), [9, 2, 3, 4]);
    assert_eq!(ints(&take(&a, &Array::from([3, -4]), None)), [4, 1]);
    assert!(matches!(take(&a, &Array::from([1.0f32]), 0).check().unwrap_err().root(), Error::Dtype { .. }));
    let error = take(&a, &Array::from([2]), 1).eval().unwrap_err();
    assert!(matches!(error.root(), Error::Index { index: 2, axis: 1, size: 2, .. }), "{error}");
}

#[test]
fn sorting_takes_an_axis_or_all() {
    let a = Array::from([[3, 1], [2, 5]]);
    assert_eq!(ints(&sort(&a, None)), [1, 2, 3, 5]);
    assert_eq!(ints(&topk(&a, 2, None)), [3, 5]);
    assert_eq!(topk(&a, 0, 1).shape(), &[2, 0]);
    assert!(matches!(topk(&a, 3, 1).check().unwrap_err().root(), Error::Argument { .. }));
    assert!(matches!(partition(&a, 2, 1).check().unwrap_err().root(), Error::Index { .. }));
    assert!(matches!(argpartition(&a, i64::MIN, 1).check().unwrap_err().root(), Error::Index { .. }));
    let single = constant("t", Scalar::Int(1), Dtype::Int32);
    assert!(matches!(sort(&single, -1).check().unwrap_err().root(), Error::Axis { .. }));
}

#[test]
fn products_follow_numpys_rules_for_vectors() {
    let shape = |r: Array| r.shape().to_vec();
    let z = |s: &[usize]| zeros(s, Dtype::Float32);
    assert_eq!(shape(matmul(&z(&[3]), &z(&[3]))), [] as [usize; 0]);
    assert_eq!(shape(matmul(&z(&[4, 2, 3]), &z(&[3]))), [4, 2]);
    assert_eq!(shape(matmul(&z(&[3]), &z(&[5, 3, 2]))), [5, 2]);
    assert_eq!(shape(matmul(&z(&[2, 0]), &z(&[0, 2]))), [2, 2]);
    assert_eq!(shape(addmm(&z(&[]), &z(&[2]), &z(&[2]), 1.0, 1.0)), [] as [usize; 0]);
    assert_eq!(shape(addmm(&z(&[4]), &z(&[5, 4, 2]), &z(&[2]), 1.0, 1.0)), [5, 4]);
    assert!(addmm(&z(&[3, 3]), &z(&[2, 2]), &z(&[2, 3]), 1.0, 1.0).check().is_err());
    assert_eq!(shape(inner(&z(&[2, 3]), &z(&[4, 3]))), [2, 4]);
    assert_eq!(shape(tensordot(&z(&[2, 3]), &z(&[3, 4]), 0)), [2, 3, 3, 4]);
    assert_eq!(shape(tensordot(&z(&[2, 3]), &z(&[4, 2]), ([0], [1]))), [3, 4]);
    assert!(tensordot(&z(&[2, 3]), &z(&[3, 4]), 3).check().is_err());
    assert!(tensordot(&z(&[2, 3]), &z(&[3, 4]), ([1, 1], [0, 0])).check().is_err());
    let text = message(matmul(&z(&[2, 3]), &z(&[4, 5])));
    assert_eq!(
        text,
        "[matmul] the last axis of a is 3 and the second-to-last of b is 4; they must be equal (shapes [2, 3] and [4, 5])"
    );
    let i = numbers(&[2, 2]);
    assert!(matches!(matmul(&i, &i).check().unwrap_err().root(), Error::Dtype { .. }));
    assert!(matches!(matmul(&z(&[]), &z(&[1])).check().unwrap_err().root(), Error::Shape { .. }));
}

#[test]
fn products_have_the_right_values() {
    let (a, b) = (Array::from([[1.0f32, 2.0], [3.0, 4.0]]), Array::from([5.0f32, 6.0]));
    let floats = |r: Array| r.to_vec::<f32>().unwrap();
    assert_eq!(floats(matmul(&b, &a)), [23.0, 34.0]);
    assert_eq!(floats(addmm(&b, &a, &b, 2.0, 3.0)), [49.0, 96.0]);
    assert_eq!(floats(tensordot(&a, &a, 2)), [30.0]);
    assert_eq!(floats(inner(&a, &b)), [17.0, 39.0]);
    assert_eq!(ints(&outer(&numbers(&[3]), &numbers(&[2]))), [0, 0, 0, 1, 0, 2]);
    assert_eq!(ints(&kron(&Array::from([1, 2]), &Array::from([[1], [3]]))), [1, 2, 3, 6]);
    assert_eq!(vecdot(&numbers(&[3]), &numbers(&[3]), -1).item::<i32>().unwrap(), 5);
}

#[test]
fn operators_work_on_arrays_and_numbers() {
    let a = Array::from([1, 2, 3]);
    assert_eq!(ints(&(&a + 1)), [2, 3, 4]);
    assert_eq!(ints(&(10 - &a * &a)), [9, 6, 1]);
    assert_eq!(ints(&(-&a % 2)), [1, 0, 1]);
    assert_eq!(ints(&((&a << 1) | 1)), [3, 5, 7]);
    assert_eq!(ints(&!&a), [-2, -3, -4]);
    let mut b = a.clone();
    b += &a;
    b *= 2;
    assert_eq!(ints(&b), [4, 8, 12]);
    assert_eq!((&a / 2).to_vec::<f32>().unwrap(), [0.5, 1.0, 1.5]);
}

#[test]
fn operators_fail_with_the_message_of_the_function_and_the_line_they_stand_on() {
    let (line, mut sum) = (line!(), Array::from([1, 2]) + Array::from([1, 2, 3]));
    sum += 1;
    let text = (-sum).eval().unwrap_err().to_string();
    assert!(text.starts_with("[add] shapes [2] and [3] do not broadcast"), "{text}");
    assert!(text.ends_with(&format!("called at {}:{line}", file!())), "{text}");
}

#[test]
fn call_sites_are_lines_of_the_caller() {
    let a = numbers(&[2, 3]);
    let results = [
        std(&a, 0, false, 1),
        &a + 1,
        pad(&a, 1, PadMode::Reflect, 0),
        index(&a, &idx![&Array::from([0]), &Array::from([0])]),
        tril(&a, 0),
        a.mT(),
    ];
    for (i, result) in results.iter().enumerate() {
        assert_eq!(result.call_site().file(), file!(), "result {i}");
    }
}
