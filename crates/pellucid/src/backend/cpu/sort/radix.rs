//! Radix sort of unsigned integers, least significant digit first: stable, and linear in the length.
//!
//! With several cores each takes a piece of the items, counts its digits, learns where its own items of each digit go
//! (after those of smaller digits and of earlier pieces), and moves them. The result is the same for any number.

use std::ops::Range;

use super::super::layout::Shared;
use super::super::parallel;

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

/// Calls `body` with the number and the range of each core's piece of `0..n`.
fn pieces(n: usize, cores: usize, body: &(dyn Fn(usize, Range<usize>) + Sync)) {
    if cores == 1 || n < PARALLEL { body(0, 0..n) } else { parallel::pieces(n, n.div_ceil(cores), body) }
}

/// Fills `items` with `item(position)` of every position.
pub(super) fn fill<I: Item>(items: &mut [I], cores: usize, item: impl Fn(usize) -> I + Sync) {
    let (shared, n) = (Shared::new(items), items.len());
    pieces(n, cores, &|_, range| {
        // SAFETY: ranges do not overlap.
        let items = unsafe { shared.slice(range.start, range.len()) };
        for (place, i) in items.iter_mut().zip(range) {
            *place = item(i);
        }
    });
}

/// Calls `take` with every position and item.
pub(super) fn drain<I: Item>(items: &[I], cores: usize, take: impl Fn(usize, I) + Sync) {
    pieces(items.len(), cores, &|_, range| {
        for (i, &item) in range.clone().zip(&items[range]) {
            take(i, item);
        }
    });
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
    let mut counts = [[0; BUCKETS]; 1];
    let mut more;
    let places = if cores == 1 {
        &mut counts[..]
    } else {
        more = vec![[0; BUCKETS]; cores];
        &mut more[..]
    };
    let (shared, to) = (Shared::new(places), Shared::new(to));
    // SAFETY: each piece has counters of its own.
    pieces(n, cores, &|i, range| unsafe { *shared.at(i as isize) = count(&from[range], shift) });
    if !start_places(places, n) {
        return false;
    }
    let shared = Shared::new(places);
    // SAFETY: places start where each piece's items of each digit belong, and there are as many as were counted.
    pieces(n, cores, &|i, range| unsafe { scatter(&from[range], to, shift, &mut *shared.at(i as isize)) });
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
