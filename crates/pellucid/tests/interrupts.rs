//! Waiting that is given up: the caller goes on, and so does the work.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::Cell;

use pellucid::{
    Array, Device, Dtype, Error, eval, is_available, new_stream, ops, synchronize, with_device,
    with_interrupts, with_stream,
};

/// Work of some seconds: products of matrices whose entries stay what they are.
fn long(count: usize) -> Array {
    let x = ops::full([512, 512], 1.0f32 / 512.0, Dtype::Float32);
    (0..count).fold(x.clone(), |y, _| ops::matmul(&y, &x))
}

/// Many steps that are short, one after the other.
fn many() -> Array {
    let x = Array::from(vec![0.25f32; 4096]).reshape([64, 64]);
    (0..1500).fold(x, |y, _| ops::sort(&ops::softmax(&y, -1, false), 0))
}

fn assert_given_up(y: &Array) {
    let asked = Cell::new(0);
    let poll = || {
        asked.set(asked.get() + 1);
        asked.get() >= 2
    };
    let outcome = with_interrupts(&poll, || y.eval());
    assert!(matches!(outcome, Err(Error::Interrupted { .. })), "{outcome:?}");
    assert_eq!(asked.get(), 2, "it is not asked again");
    assert!(!y.is_available(), "it was not waited for");
}

#[test]
fn a_long_evaluation_is_given_up_and_goes_on_in_the_background() {
    let y = with_stream(new_stream(Device::cpu()).unwrap(), || long(40));
    assert_given_up(&y);
    y.eval().unwrap();
    assert!((y.to_vec::<f32>().unwrap()[5] * 512.0 - 1.0).abs() < 1e-3);
}

#[test]
fn an_evaluation_of_many_short_steps_is_given_up_too() {
    let y = with_stream(new_stream(Device::cpu()).unwrap(), many);
    assert_given_up(&y);
    // What depends on it can be built and evaluated meanwhile.
    let sum = ops::sum(&y, pellucid::Axes::All, false);
    assert!((sum.item::<f32>().unwrap() - 64.0).abs() < 1.0);
}

#[test]
fn an_evaluation_on_a_gpu_is_given_up_too() {
    if is_available(Device::gpu()) {
        let y = with_device(Device::gpu(), || long(20)).unwrap();
        assert_given_up(&y);
        y.eval().unwrap();
        assert!((y.to_vec::<f32>().unwrap()[5] * 512.0 - 1.0).abs() < 1e-3);
    } else {
        assert!(std::env::var_os("PELLUCID_REQUIRE_GPU").is_none(), "there is no GPU");
    }
}

#[test]
fn who_is_never_asked_to_give_up_gets_everything() {
    let (y, z) = (long(3), ops::add(&Array::from([1, 2]), 1));
    with_interrupts(&|| false, || {
        eval([&y, &z]).unwrap();
        synchronize(None).unwrap();
    });
    assert_eq!(z.to_vec::<i32>().unwrap(), [2, 3]);
    assert!(y.is_available());
}
