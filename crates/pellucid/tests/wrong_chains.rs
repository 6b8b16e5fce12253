//! Chains of operations with mistakes in random places: nothing panics, and the first mistake is what comes out.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::idx;
use pellucid::prelude::*;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % sides
    }
}

/// One operation with arguments that are right or wrong as the dice fall.
fn step(dice: &mut Dice, a: &Array, other: &Array) -> Array {
    let axis = dice.roll(7) as i64 - 3;
    let size = dice.roll(5) as i64 - 1;
    match dice.roll(44) {
        0 => a + other,
        1 => a * 3,
        2 => a - 1e30,
        3 => a & other,
        4 => -a,
        5 => a.exp(),
        6 => a.reshape([size, -1]),
        7 => a.reshape([2, 3]),
        8 => a.sum(axis),
        9 => a.max_keepdims((axis, 0)),
        10 => a.matmul(other),
        11 => ops::concatenate([a, other], axis),
        12 => ops::stack((a, other), axis),
        13 => a.transpose([0, axis]),
        14 => a.swapaxes(axis, 1),
        15 => a.i(axis),
        16 => a.i((.., axis..)),
        17 => a.index(idx![&Array::from([0, 1]), axis]),
        18 => a.at(axis).set(other),
        19 => a.at((axis, &Array::from([0]))).add(1.5),
        20 => a.split(size, axis).pop().unwrap_or_else(|| a.clone()),
        21 => a.unstack(axis).pop().unwrap_or_else(|| a.clone()),
        22 => a.take(other, axis),
        23 => a.take_along_axis(other, axis),
        24 => a.put_along_axis(other, 1, axis),
        25 => a.sort(axis),
        26 => a.topk(dice.roll(4), axis),
        27 => a.cumsum(axis),
        28 => a.astype(Dtype::ALL[dice.roll(Dtype::ALL.len())]),
        29 => a.view(Dtype::ALL[dice.roll(Dtype::ALL.len())]),
        30 => a.diagonal(axis, 0, axis),
        31 => a.tril(axis),
        32 => a.pad(dice.roll(3)),
        33 => a.softmax(axis),
        34 => a.broadcast_to((2, size)),
        35 => a.expand_dims(axis),
        36 => a.squeeze(axis),
        37 => ops::tensordot(a, other, dice.roll(4)),
        38 => a.greater(0).where_(other, 300),
        39 => a.divmod(other).1,
        40 => a.median(axis),
        41 => ops::addmm(a, other, a, 1.0, 1.0),
        42 => a.diff(2, axis),
        _ => ops::bitwise_invert(a),
    }
}

fn source(dice: &mut Dice) -> Array {
    let dims: Vec<usize> = (0..dice.roll(4)).map(|_| dice.roll(4)).collect();
    ops::zeros(dims, Dtype::ALL[dice.roll(Dtype::ALL.len())])
}

/// A hundred thousand chains, none of which is evaluated: mistakes in a call are known at once.
#[test]
fn the_first_mistake_of_a_chain_comes_out_at_its_end() {
    let count = 100_000;
    let (mut wrong, mut dice) = (0, Dice(0x9E37_79B9_7F4A_7C15));
    for chain in 0..count {
        let (mut a, mut first) = (source(&mut dice), None);
        for _ in 0..1 + dice.roll(8) {
            let other = source(&mut dice);
            a = step(&mut dice, &a, &other);
            if a.size() > 10_000 {
                break;
            }
            match (a.check(), &first) {
                (Err(error), None) => {
                    let text = error.to_string();
                    assert!(text.starts_with('[') && text.contains("called at"), "chain {chain}: {text}");
                    assert!(!text.contains("internal error"), "chain {chain}: {text}");
                    first = Some(text);
                }
                (Err(error), Some(first)) => assert_eq!(error.to_string(), *first, "chain {chain}"),
                (Ok(()), Some(first)) => panic!("chain {chain}: {first} was lost"),
                (Ok(()), None) => {}
            }
        }
        if let Some(first) = first {
            wrong += 1;
            assert_eq!((a.shape(), a.dtype()), (&[0][..], Dtype::Float32));
            assert_eq!(a.eval().unwrap_err().to_string(), first);
            assert_eq!(a.item::<bool>().unwrap_err().to_string(), first);
            assert_eq!(a.to_string(), format!("<{first}>"));
        }
    }
    assert!(wrong > count / 4, "{wrong} of {count} chains had a mistake");
}
