//! A chain of elementwise operations and the reduction at its end run as one, and give the bits they give one by one.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::{Array, Axes, Device, Dtype, capture, ops, random, set_default_device, set_fusion};

type Reduction = fn(&Array, Axes, bool) -> Array;

const REDUCTIONS: [(&str, Reduction); 6] = [
    ("sum", |x, axes, keep| ops::sum(x, axes, keep)),
    ("prod", |x, axes, keep| ops::prod(x, axes, keep)),
    ("max", |x, axes, keep| ops::max(x, axes, keep)),
    ("min", |x, axes, keep| ops::min(x, axes, keep)),
    ("mean", |x, axes, keep| ops::mean(x, axes, keep)),
    ("var", |x, axes, keep| ops::var(x, axes, keep, 0)),
];

/// Bytes of the result, and how many launches it took.
fn run(fused: bool, make: impl Fn() -> Array) -> (Vec<u8>, u64) {
    let before = set_fusion(fused);
    let folder = tempfile::tempdir().unwrap();
    let array = make();
    capture::start(folder.path().join("run.pltrace")).unwrap();
    let result = array.eval();
    let launches = capture::stop().unwrap().launches;
    set_fusion(before);
    result.unwrap();
    (array.to_bytes().unwrap(), launches)
}

fn numbers(shape: &[usize], seed: u64, dtype: Dtype) -> Array {
    let key = random::key(seed);
    let numbers = random::normal(shape, Dtype::Float32, 0.5, 2.0, Some(&key));
    let numbers = numbers.astype(dtype);
    numbers.eval().unwrap();
    numbers
}

/// One test, because fusion and captures are the whole process's.
#[test]
fn a_fused_reduction_gives_the_bits_of_one_that_is_not() {
    set_default_device(Device::cpu()).unwrap();
    let shapes: [(&[usize], &[i64]); 8] = [
        (&[0, 40], &[1]),
        (&[5, 32], &[1]),
        (&[3, 700], &[1]),
        (&[2, 3, 4097], &[2]),
        (&[4, 40, 50], &[1, 2]),
        (&[70_001], &[0]),
        (&[6, 5, 9], &[1]),
        (&[200, 7], &[0]),
    ];
    for (shape, axes) in shapes {
        for dtype in [Dtype::Float32, Dtype::Float64, Dtype::Int32, Dtype::Bfloat16] {
            let (x, y) = (numbers(shape, 1, dtype), numbers(shape, 2, dtype));
            let backwards: Vec<usize> = shape.iter().rev().copied().collect();
            let (row, turned) = (numbers(&shape[shape.len() - 1..], 3, dtype), numbers(&backwards, 4, dtype));
            for (name, reduce) in REDUCTIONS {
                let make = || {
                    let sum = ops::add(ops::multiply(&x, &y), &row);
                    let chain = ops::maximum(ops::subtract(&sum, &turned.T()), &x);
                    reduce(&chain, axes.to_vec().into(), false)
                };
                let ((fused, fewer), (plain, more)) = (run(true, make), run(false, make));
                assert_eq!(fused, plain, "{name} of {shape:?} over {axes:?}, {dtype}");
                assert!(
                    fewer < more || shape.contains(&0),
                    "{name} of {shape:?}: {fewer} and {more} launches"
                );
            }
        }
    }
    // All of it in one launch, also if the result is used again, and with a cast before and after.
    let (x, y) = (numbers(&[64, 512], 5, Dtype::Float32), numbers(&[64, 512], 6, Dtype::Bfloat16));
    let loss = || ops::sum(&ops::square(&ops::subtract(&x, y.astype(Dtype::Float32))), 1, false);
    assert_eq!(run(true, loss).1, 1);
    assert_eq!(run(true, || ops::sqrt(&loss())).1, 2);
    // What somebody else holds is computed as a whole.
    let held = ops::multiply(&x, &x);
    assert_eq!(run(true, || ops::sum(&held, 1, false)).1, 2);
    assert!(held.is_available());
    // The elements of the inputs stay as they were, though the chain is their last reader.
    let before = x.to_bytes().unwrap();
    run(true, || ops::sum(&ops::negative(&x), 1, true));
    assert_eq!(x.to_bytes().unwrap(), before);
}
