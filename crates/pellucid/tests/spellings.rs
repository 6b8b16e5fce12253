//! What a newcomer writes at the first try: every line of it compiles and means what it says.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::useless_conversion, clippy::useless_vec, reason = "people write it so")]

use half::f16;
use num_complex::Complex32;
use pellucid::prelude::*;

/// Checks that each expression is an array of the given shape.
macro_rules! shapes {
    ($($array:expr => [$($size:expr),*];)*) => {
        $({
            let (array, shape): (Array, Vec<usize>) = ($array, vec![$($size),*]);
            array.eval().unwrap_or_else(|e| panic!("{}: {e}", stringify!($array)));
            assert_eq!(array.shape(), shape, "{}", stringify!($array));
        })*
    };
}

#[test]
fn arrays_are_made_from_what_is_at_hand() {
    let (n, m, k) = (2usize, 3i32, 4i64);
    let shape = Shape::from([2, 3]);
    shapes! {
        array![1.0, 2.0] => [2];
        array![1, 2, 3] => [3];
        array![[1.0, 2.0], [3.0, 4.0]] => [2, 2];
        array![[[1, 2]], [[3, 4]]] => [2, 1, 2];
        array![true, false] => [2];
        array![0.0; 5] => [5];
        array![1.5] => [1];
        array!(1.5) => [1];
        array![1.0, 2.0,] => [2];
        array![n, n] => [2];
        array![f16::ONE] => [1];
        Array::from(1.0) => [];
        Array::from([1.0f32, 2.0]) => [2];
        Array::from(vec![1, 2]) => [2];
        Array::from(&[1u8, 2][..]) => [2];
        Array::from_slice(&[1, 2, 3, 4], [2, 2]) => [2, 2];
        Array::from_slice(&[1, 2, 3, 4], (2, 2)) => [2, 2];
        Array::from_vec(vec![0.5f32; 6], (n, m)) => [2, 3];
        Array::from_vec(vec![0.5f32; 6], &shape) => [2, 3];
        Array::scalar(3) => [];
        (0..4).collect::<Array>() => [4];
        [1.0f32, 2.0].into_iter().collect::<Array>() => [2];
        Array::zeros([2, 3]) => [2, 3];
        Array::zeros((2, 3)) => [2, 3];
        Array::zeros(5) => [5];
        Array::zeros(()) => [];
        Array::zeros(n) => [2];
        Array::zeros(vec![2, 3]) => [2, 3];
        Array::zeros(&[2, 3]) => [2, 3];
        Array::zeros(&vec![2usize, 3]) => [2, 3];
        Array::zeros(&shape) => [2, 3];
        Array::zeros(shape.clone()) => [2, 3];
        Array::zeros((n, m, k)) => [2, 3, 4];
        Array::ones([2, 3]) => [2, 3];
        Array::full([2, 2], 7.0) => [2, 2];
        Array::arange(4) => [4];
        Array::linspace(0.0, 1.0, 5) => [5];
        Array::eye(3) => [3, 3];
        zeros::<f32>([2, 3]) => [2, 3];
        zeros::<i64>((n, n)) => [2, 2];
        ones::<f16>(3) => [3];
        ops::zeros([2, 3], Dtype::Float32) => [2, 3];
        ops::full((), 1.0, None) => [];
        ops::arange(0, 10, 2, None) => [5];
        random::key(1) => [2];
    }
    assert_eq!(array![1.0, 2.0].dtype(), Dtype::Float32);
    assert_eq!((array![1.0] * Array::from([1.0f32])).dtype(), Dtype::Float32);
    assert_eq!(array![n].dtype(), Dtype::Int64);
    assert_eq!(array![1.0f32, 2.0].dtype(), Dtype::Float32);
}

#[test]
fn shapes_and_axes_are_written_in_any_integer_type() {
    let a = Array::arange(24).reshape([2, 3, 4]);
    let (n, axis, last) = (2usize, 1i32, a.ndim() - 1);
    let b = Array::zeros([6, 4]);
    shapes! {
        a.reshape([6, 4]) => [6, 4];
        a.reshape((6, 4)) => [6, 4];
        a.reshape([-1]) => [24];
        a.reshape(-1) => [24];
        a.reshape((n, -1)) => [2, 12];
        a.reshape((-1, n)) => [12, 2];
        a.reshape(b.shape()) => [6, 4];
        a.reshape(b.shape_ref()) => [6, 4];
        a.reshape(vec![4, 6]) => [4, 6];
        a.reshape(&[4i64, 6]) => [4, 6];
        a.reshape(vec![24usize]) => [24];
        a.flatten() => [24];
        a.unflatten(0, (1, 2)) => [1, 2, 3, 4];
        a.unflatten(-1, [2, -1]) => [2, 3, 2, 2];
        a.broadcast_to((5, 2, 3, 4)) => [5, 2, 3, 4];
        array![1, 2].broadcast_to([3, 2]) => [3, 2];
        a.sum(..) => [];
        a.sum(0) => [3, 4];
        a.sum(-1) => [2, 3];
        a.sum(axis) => [2, 4];
        a.sum(last) => [2, 3];
        a.sum((0, 1)) => [4];
        a.sum([0, 2]) => [3];
        a.sum(vec![0, 1, 2]) => [];
        a.sum(&[0, 1]) => [4];
        a.sum(0..2) => [4];
        a.sum(None) => [];
        a.sum(Axes::All) => [];
        a.sum_keepdims(-1) => [2, 3, 1];
        a.sum_keepdims(..) => [1, 1, 1];
        a.mean(..) => [];
        a.mean_keepdims((1, 2)) => [2, 1, 1];
        a.max(0) => [3, 4];
        a.max_keepdims(0) => [1, 3, 4];
        a.min(1) => [2, 4];
        a.prod(-1) => [2, 3];
        a.all(..) => [];
        a.any(0) => [3, 4];
        a.var(..) => [];
        a.std(-1) => [2, 3];
        a.median(..) => [];
        a.logsumexp(-1) => [2, 3];
        a.softmax(-1) => [2, 3, 4];
        a.argmax(-1) => [2, 3];
        a.argmax(..) => [];
        a.argmin(last) => [2, 3];
        a.argmax_keepdims(1) => [2, 1, 4];
        a.sort(-1) => [2, 3, 4];
        a.sort(..) => [24];
        a.argsort(0) => [2, 3, 4];
        a.topk(2, -1) => [2, 3, 2];
        a.cumsum(0) => [2, 3, 4];
        a.cumsum(..) => [24];
        a.cumprod(-1) => [2, 3, 4];
        a.transpose(..) => [4, 3, 2];
        a.transpose((1, 0, 2)) => [3, 2, 4];
        a.transpose([2, 0, 1]) => [4, 2, 3];
        a.t() => [4, 3, 2];
        a.T() => [4, 3, 2];
        a.mT() => [2, 4, 3];
        a.swapaxes(0, -1) => [4, 3, 2];
        a.swapaxes(axis, last) => [2, 4, 3];
        a.moveaxis(0, 2) => [3, 4, 2];
        a.expand_dims(0) => [1, 2, 3, 4];
        a.expand_dims((0, -1)) => [1, 2, 3, 4, 1];
        a.expand_dims(0).squeeze(0) => [2, 3, 4];
        a.expand_dims(0).squeeze(..) => [2, 3, 4];
        a.flip(..) => [2, 3, 4];
        a.flip(0) => [2, 3, 4];
        a.roll(1, 0) => [2, 3, 4];
        a.roll((1, 2), (0, 1)) => [2, 3, 4];
        a.repeat(2, 0) => [4, 3, 4];
        a.tile((2, 1, 1)) => [4, 3, 4];
        a.tile(2) => [2, 3, 8];
        a.pad(1) => [4, 5, 6];
        a.pad((0, 1)) => [3, 4, 5];
        a.take(&array![0, 1], 1) => [2, 2, 4];
        a.diff(1, -1) => [2, 3, 3];
    }
}

#[test]
fn arithmetic_takes_arrays_and_numbers_of_any_type_on_either_side() {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![10.0, 20.0]);
    let n = 2usize;
    let mut c = a.clone();
    c += 1;
    c -= &b;
    c *= 2.0;
    c /= n;
    shapes! {
        c => [2, 2];
        &a + &b => [2, 2];
        a.clone() + b.clone() => [2, 2];
        &a + 1 => [2, 2];
        1 + &a => [2, 2];
        2.0 * &a => [2, 2];
        &a * 2.0f32 => [2, 2];
        &a / 3i64 => [2, 2];
        1u8 - &a => [2, 2];
        n * &a => [2, 2];
        &a * n => [2, 2];
        Complex32::new(0.0, 1.0) * &a => [2, 2];
        f16::ONE + &a => [2, 2];
        -&a => [2, 2];
        -a.clone() => [2, 2];
        !array![true] => [1];
        &a % 2 => [2, 2];
        array![1, 2] & 1 => [2];
        array![1, 2] << 1 => [2];
        (&a + 1.0) * (&b - 2) / 3 => [2, 2];
        a.add(&b) => [2, 2];
        a.add(1.0) => [2, 2];
        a.subtract(&b) => [2, 2];
        a.sub(1) => [2, 2];
        a.multiply(&b) => [2, 2];
        a.mul(&b) => [2, 2];
        a.divide(2) => [2, 2];
        a.div(&b) => [2, 2];
        a.power(2) => [2, 2];
        a.pow(0.5) => [2, 2];
        a.maximum(0) => [2, 2];
        a.minimum(&b) => [2, 2];
        a.remainder(2) => [2, 2];
        a.floor_divide(2) => [2, 2];
        a.less(&b) => [2, 2];
        a.greater(0) => [2, 2];
        a.equal(&b) => [2, 2];
        a.not_equal(1) => [2, 2];
        a.logical_and(&b) => [2, 2];
        a.arctan2(&b) => [2, 2];
        a.logaddexp(&b) => [2, 2];
        a.exp() => [2, 2];
        a.log() => [2, 2];
        a.sqrt() => [2, 2];
        a.rsqrt() => [2, 2];
        a.square() => [2, 2];
        a.abs() => [2, 2];
        a.sin().cos().tan() => [2, 2];
        a.tanh() => [2, 2];
        a.sigmoid() => [2, 2];
        a.erf() => [2, 2];
        a.relu() => [2, 2];
        a.negative() => [2, 2];
        a.sign().floor().ceil().round(1) => [2, 2];
        a.isnan() => [2, 2];
        a.isfinite() => [2, 2];
        a.reciprocal() => [2, 2];
        a.clip(0, 3) => [2, 2];
        a.clip(None, 3.0) => [2, 2];
        a.clip(&b, None) => [2, 2];
        a.greater(2).where_(&a, 0) => [2, 2];
        a.astype(Dtype::Int32) => [2, 2];
        a.matmul(&b) => [2];
        a.matmul(&a).add(&b).relu() => [2, 2];
        a.inner(&b) => [2];
        a.outer(&b) => [4, 2];
        a.zeros_like() => [2, 2];
        a.full_like(5) => [2, 2];
        a.tril(0) => [2, 2];
        a.diag(0) => [2];
        a.trace() => [];
        a.isclose(&a, 1e-5, 1e-8).all(..) => [];
        a.array_equal(&a) => [];
        a.divmod(2).0 => [2, 2];
        vec![a.clone(), a.clone()].iter().sum::<Array>() => [2, 2];
        [a.clone(), a.clone()].into_iter().sum::<Array>() => [2, 2];
    }
}

#[test]
fn parts_are_selected_and_changed_as_with_brackets() {
    let a = Array::arange(24).reshape((2, 3, 4));
    let (row, last, places) = (1usize, -1i64, array![2, 0]);
    shapes! {
        a.i(0) => [3, 4];
        a.i(row) => [3, 4];
        a.i(last) => [3, 4];
        a.i(..) => [2, 3, 4];
        a.i(1..) => [1, 3, 4];
        a.i(..1) => [1, 3, 4];
        a.i(0..2) => [2, 3, 4];
        a.i(0..=1) => [2, 3, 4];
        a.i((0, 1)) => [4];
        a.i((0, 1, 2)) => [];
        a.i((.., 1..3)) => [2, 2, 4];
        a.i((.., .., -1)) => [2, 3];
        a.i((.., 1..3, 0)) => [2, 2];
        a.i((Ellipsis, 0)) => [2, 3];
        a.i((NewAxis, ..)) => [1, 2, 3, 4];
        a.i((.., NewAxis, 0)) => [2, 1, 4];
        a.i((.., (..).by(2))) => [2, 2, 4];
        a.i((.., (1..).by(-1))) => [2, 2, 4];
        a.i((.., .., (0..4).by(3))) => [2, 3, 2];
        a.i(&array![1, 0, 1]) => [3, 3, 4];
        a.i((.., &places)) => [2, 2, 4];
        a.i((0, places.clone())) => [2, 4];
        a.i([Index::Ellipsis, Index::NewAxis]) => [2, 3, 4, 1];
        a.get(0) => [3, 4];
        a.get(1..) => [1, 3, 4];
        a.index(pellucid::idx![.., 1]) => [2, 4];
        a.at(0).set(1) => [2, 3, 4];
        a.at((.., 1)).add(10) => [2, 3, 4];
        a.at((.., 1..3)).multiply(2) => [2, 3, 4];
        a.at((.., &places)).maximum(5) => [2, 3, 4];
        a.at(1).subtract(a.i(0)) => [2, 3, 4];
        a.at(..).minimum(3) => [2, 3, 4];
    }
}

#[test]
fn lists_of_arrays_are_slices_arrays_vectors_and_tuples() {
    let (a, b) = (array![[1, 2]], array![[3, 4]]);
    let list = vec![a.clone(), b.clone()];
    let borrowed: Vec<&Array> = list.iter().collect();
    shapes! {
        ops::concatenate([&a, &b], 0) => [2, 2];
        ops::concatenate(&[&a, &b], 0) => [2, 2];
        ops::concatenate([a.clone(), b.clone()], 1) => [1, 4];
        ops::concatenate(&list, -1) => [1, 4];
        ops::concatenate(list.clone(), ..) => [4];
        ops::concatenate(&list[..], 0) => [2, 2];
        ops::concatenate(&borrowed, 0) => [2, 2];
        ops::concatenate((&a, &b), 0) => [2, 2];
        ops::concatenate((a.clone(), &b, &a), 0) => [3, 2];
        ops::stack([&a, &b], 0) => [2, 1, 2];
        ops::stack(&list, -1) => [1, 2, 2];
        ops::split(&a, 2, 1).remove(0) => [1, 1];
        a.split([1], 1).remove(1) => [1, 1];
        a.split(2usize, 1).remove(0) => [1, 1];
        a.unstack(0).remove(0) => [2];
        ops::broadcast_arrays((&a, &b)).remove(0) => [1, 2];
    }
    eval([&a, &b]).unwrap();
    eval(&list).unwrap();
}

#[test]
fn values_are_read_as_rust_types() -> Result<()> {
    let a = array![[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(a.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(a.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(a.sum(..).item::<f32>()?, 10.0);
    assert_eq!(f32::try_from(a.sum(..))?, 10.0);
    assert_eq!(Vec::<f32>::try_from(&a)?.len(), 4);
    assert_eq!(a.as_slice::<f32>()?[3], 4.0);
    assert_eq!((a.dim(0), a.dim(-1), a.ndim(), a.size()), (2, 2, 2, 4));
    assert_eq!(a.device(), pellucid::default_device());
    assert!(a.to_string().contains('4') && format!("{a:?}").contains("float32"));
    for row in &a {
        assert_eq!(row.shape(), [2]);
    }
    assert_eq!(a.rows().map(|row| row.sum(..).item::<f32>()).collect::<Result<Vec<_>>>()?, [3.0, 7.0]);
    std::panic::catch_unwind(|| a.sum(..)).unwrap();
    assert!(serde_json::to_string(&a).is_ok());
    Ok(())
}
