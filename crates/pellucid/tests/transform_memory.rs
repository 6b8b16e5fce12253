//! What the way back keeps in memory.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::transform::{checkpoint, value_and_grad};
use pellucid::{Array, Axes, Dtype, eval, memory, ops};

const SIZE: usize = 1 << 16;

/// Arrays of `SIZE` that are alive at once in the evaluation of a loss and its gradients, asked for in this order.
fn peak(blocks: usize, kept: bool) -> usize {
    let block = |(x, w): &(Array, Array)| (0..4).fold(x.clone(), |y, _| ops::sin(&ops::multiply(&y, w)));
    let weights: Vec<Array> =
        (0..blocks).map(|i| ops::full([SIZE], 1.0 + i as f64 / 100.0, Dtype::Float32)).collect();
    let start = ops::ones([SIZE], Dtype::Float32);
    eval(weights.iter().chain([&start])).unwrap();
    let loss = |weights: &Vec<Array>| {
        let step = |y: Array, w: &Array| match kept {
            true => block(&(y, w.clone())),
            false => checkpoint(block)(&(y, w.clone())),
        };
        ops::sum(&weights.iter().fold(start.clone(), step), Axes::All, false)
    };
    let (value, gradients) = value_and_grad(loss)(&weights).unwrap();
    memory::reset_peak_memory();
    let before = memory::get_active_memory();
    eval([&value].into_iter().chain(&gradients)).unwrap();
    (memory::get_peak_memory() - before) as usize / (SIZE * 4)
}

#[test]
fn a_checkpointed_chain_keeps_a_block_and_the_ends_of_the_others() {
    let (kept, again) = (peak(32, true), peak(32, false));
    assert!(kept > 200, "{kept}");
    assert!(again <= 42, "{again}");
}
