//! Radix sort of unsigned integers, least significant digit first: stable, and linear in the length.
//!
//! With several cores each takes a piece of the items, counts its digits, learns where its own items of each digit go
//! (after those of smaller digits and of earlier pieces), and moves them. The result is the same for any number.

use std::ops::Range;

use rayon::prelude::*;

use super::super::layout::Shared;

/// Runs shorter than this compare: counting digits does not pay.
const COMPARE: usize = 256;

/// Runs longer than this are worth several cores.
pub(super) const PARALLEL: usize = 1 << 16;

/// Bits of a digit. A digit's buckets are written to all at once, and 256 of them fit the first-level cache and its
/// page table.
const DIGIT: u32 = 8;
const BUCKETS: usize = 1 << DIGIT;

/// An unsigned integer.
pub(super) trait Item: Copy + Ord + Default + Send + Sync {
    fn digit(self, shift: u32) -> usize;
}

macro_rules! item {
    ($($ty:ident),*) => {
        $(impl Item for $ty {
            #[inline(always)]
            fn digit(self, shift: u32) -> usize {
                (self >> shift) as usize & (BUCKETS - 1)
            }
        })*
    };
}

item!(u8, u16, u32, u64, u128);

/// The pieces of `0..n` for this many cores.
fn pieces(n: usize, cores: usize) -> impl IndexedParallelIterator<Item = (usize, Range<usize>)> {
    let piece = n.div_ceil(cores).max(1);
    (0..n.div_ceil(piece)).into_par_iter().map(move |i| (i, i * piece..((i + 1) * piece).min(n)))
}

/// Fills several runs of `n` items, one after the other in `items`, with `item(position, run)`.
pub(super) fn fill<I: Item>(
    items: &mut [I],
    n: usize,
    cores: usize,
    item: impl Fn(usize, usize) -> I + Sync,
) {
    let runs = items.len() / n.max(1);
    let shared = Shared::new(items);
    let part = |range: Range<usize>| {
        for i in range {
            for k in 0..runs {
                // SAFETY: positions of `items`; ranges do not overlap.
                unsafe { *shared.at((k * n + i) as isize) = item(i, k) };
            }
        }
    };
    if cores == 1 || n < PARALLEL { part(0..n) } else { pieces(n, cores).for_each(|(_, range)| part(range)) }
}

/// Calls `take` with every position and item.
pub(super) fn drain<I: Item>(items: &[I], cores: usize, take: impl Fn(usize, I) + Sync) {
    let part = |range: Range<usize>| {
        for i in range {
            take(i, items[i]);
        }
    };
    if cores == 1 || items.len() < PARALLEL {
        part(0..items.len())
    } else {
        pieces(items.len(), cores).for_each(|(_, range)| part(range))
    }
}

/// Sorts by the given bits; bits below them must ascend already or be the same, bits above them must be zero. The
/// result is in one of the two slices, which are of one length.
pub(super) fn sort<'a, I: Item>(
    items: &'a mut [I],
    spare: &'a mut [I],
    bits: Range<u32>,
    cores: usize,
) -> &'a [I] {
    if items.len() <= COMPARE {
        items.sort_unstable();
        return items;
    }
    let cores = if items.len() < PARALLEL { 1 } else { cores };
    let (mut from, mut to) = (items, spare);
    for shift in bits.step_by(DIGIT as usize) {
        if pass(from, to, shift, cores) {
            std::mem::swap(&mut from, &mut to);
        }
    }
    from
}

type Counts = [u32; BUCKETS];

/// Moves items from one slice to the other in the order of one digit. Does nothing and returns false if they all have
/// the same.
fn pass<I: Item>(from: &[I], to: &mut [I], shift: u32, cores: usize) -> bool {
    let n = from.len();
    if cores == 1 {
        let mut places = count(from, shift);
        if !start_places(std::slice::from_mut(&mut places), n) {
            return false;
        }
        // SAFETY: places start where each digit's items belong, and there are as many as were counted.
        unsafe { scatter(from, Shared::new(to), shift, &mut places) };
        return true;
    }
    let mut places = vec![[0; BUCKETS]; cores];
    pieces(n, cores).zip(&mut places).for_each(|((_, range), counts)| *counts = count(&from[range], shift));
    if !start_places(&mut places, n) {
        return false;
    }
    let to = Shared::new(to);
    // SAFETY: as above, and pieces have places of their own.
    pieces(n, cores).zip(&mut places).for_each(|((_, range), places)| unsafe {
        scatter(&from[range], to, shift, places);
    });
    true
}

fn count<I: Item>(items: &[I], shift: u32) -> Counts {
    // Four counters for each digit: equal neighbours do not wait for one another's increment.
    let mut counts = [[0u32; BUCKETS]; 4];
    let (chunks, rest) = items.as_chunks::<4>();
    for chunk in chunks {
        for (counts, item) in counts.iter_mut().zip(chunk) {
            counts[item.digit(shift)] += 1;
        }
    }
    for item in rest {
        counts[0][item.digit(shift)] += 1;
    }
    std::array::from_fn(|d| counts.iter().map(|c| c[d]).sum())
}

/// Turns the counts of each piece into the places where its items of each digit start. False if one digit has all.
fn start_places(pieces: &mut [Counts], n: usize) -> bool {
    let mut place = 0;
    for digit in 0..BUCKETS {
        let before = place;
        for counts in pieces.iter_mut() {
            place += std::mem::replace(&mut counts[digit], place);
        }
        if (place - before) as usize == n {
            return false;
        }
    }
    true
}

/// # Safety
/// `places` must give each item a position of the target that no other item gets.
unsafe fn scatter<I: Item>(items: &[I], target: Shared<I>, shift: u32, places: &mut Counts) {
    for &item in items {
        let place = &mut places[item.digit(shift)];
        // SAFETY: passed on to the caller.
        unsafe { *target.at(*place as isize) = item };
        *place += 1;
    }
}
