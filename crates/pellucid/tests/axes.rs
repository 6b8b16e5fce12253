//! The bound on axes holds at every door, and up to it everything works.

use pellucid::{Array, Axes, Dtype, Error, Result, Shape, ops};

const MOST: usize = Shape::MAX_AXES;

fn refused(array: Array) {
    let Err(error) = array.check() else { panic!("an array of {} axes was made", array.ndim()) };
    match error.root() {
        Error::Shape { message, .. } => assert!(message.contains("64 at most"), "{message}"),
        other => panic!("{other}"),
    }
}

#[test]
fn more_axes_than_there_can_be_are_refused_by_every_function_that_could_make_them() -> Result<()> {
    let a = ops::ones([1; MOST], Dtype::Float32);
    let many = vec![1usize; 100_000];
    refused(ops::zeros(many.clone(), Dtype::Float32));
    refused(ops::full(many.clone(), 1.0, Dtype::Float32));
    refused(Array::from_slice(&[1.0f32], many.clone()));
    refused(Array::from_raw(&[1], many.clone(), Dtype::Uint8));
    refused(ops::reshape(&a, vec![1i64; 5_000_000]));
    refused(ops::unflatten(&a, 0, vec![1i64; 100_000]));
    refused(ops::expand_dims(&a, 0));
    refused(ops::expand_dims(&a, vec![0; 5_000_000]));
    refused(ops::broadcast_to(&a, many.clone()));
    refused(ops::stack(&[&a, &a], 0));
    refused(ops::tile(&a, &many));
    refused(ops::sum(&a, vec![0; 5_000_000], false));
    refused(ops::squeeze(&a, vec![0; 5_000_000]));
    refused(ops::transpose(&a, Axes::from(vec![0; 5_000_000])));
    refused(ops::tensordot(&a, &a, (&vec![0; 100_000][..], &vec![0; 100_000][..])));
    refused(ops::roll(&a, &[1], vec![0; 100_000]));
    refused(ops::as_strided(&a, Shape::from(many.clone()), Some(&[0; 100_000]), 0));
    refused(pellucid::random::bits(many.clone(), 4, None));
    assert!(ops::meshgrid(&vec![&Array::from([1]); 65], false, ops::Indexing::Ij)[0].check().is_err());
    assert!(ops::broadcast_shapes(&[many]).is_err());
    Ok(())
}

#[test]
fn functions_that_need_more_axes_in_between_work_on_arrays_with_all_of_them() -> Result<()> {
    let mut shape = [1; MOST];
    (shape[0], shape[40], shape[63]) = (2, 3, 2);
    let numbers: Vec<i32> = (0..12).collect();
    let a = Array::from_slice(&numbers, shape);
    let plain = Array::from_slice(&numbers, [2, 3, 2]);
    let mut reps = [1; MOST];
    (reps[0], reps[40], reps[63]) = (2, 1, 3);
    let tiled = ops::tile(&a, reps);
    assert_eq!((tiled.ndim(), tiled.size()), (MOST, 72));
    assert_eq!(tiled.to_vec::<i32>()?, ops::tile(&plain, [2, 1, 3]).to_vec::<i32>()?);
    let repeated = ops::repeat(&a, 2, 40);
    assert_eq!((repeated.ndim(), repeated.shape()[40]), (MOST, 6));
    assert_eq!(repeated.to_vec::<i32>()?, ops::repeat(&plain, 2, 1).to_vec::<i32>()?);
    let product = ops::kron(&a, &a);
    assert_eq!((product.ndim(), product.size()), (MOST, 144));
    assert_eq!(product.to_vec::<i32>()?, ops::kron(&plain, &plain).to_vec::<i32>()?);
    assert_eq!(ops::sum(&a, Axes::All, false).item::<i32>()?, 66);
    assert_eq!(ops::squeeze(&a, Axes::All).shape(), [2, 3, 2]);
    assert_eq!(ops::transpose(&a, None).to_vec::<i32>()?, ops::transpose(&plain, None).to_vec::<i32>()?);
    Ok(())
}
