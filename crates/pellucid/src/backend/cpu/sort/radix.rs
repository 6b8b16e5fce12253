//! Radix sort of unsigned integers, least significant digit first: stable, and linear in the length.
//!
//! With several cores each takes a piece of the items, counts its digits, learns where its own items of each digit go
//! (after those of smaller digits and of earlier pieces), and moves them. The result is the same for any number.

use std::ops::Range;

use super::super::layout::Shared;
use super::super::parallel;
use super::super::simd::{Kernel, dispatch};

/// Runs shorter than this compare: counting digits does not pay.
const COMPARE: usize = 256;

/// Runs longer than this are worth several cores.
pub(super) const PARALLEL: usize = 1 << 16;

/// Runs longer than this are worth long digits.
const LONG: usize = 2048;

/// An unsigned integer.
pub(super) trait Item: bytemuck::Pod + Ord + Send + Sync {
    /// One of `BUCKETS` (a power of two) values of the bits from `shift` on.
    fn digit<const BUCKETS: usize>(self, shift: u32) -> usize;

    /// Sorts whole items in a way that is faster than by digits; false if there is none.
    fn sort_whole(_items: &mut [Self], _cores: usize) -> bool {
        false
    }
}

macro_rules! item {
    ($($ty:ident $({ $($more:tt)* })?),*) => {
        $(impl Item for $ty {
            $($($more)*)?

            #[inline(always)]
            fn digit<const BUCKETS: usize>(self, shift: u32) -> usize {
                (self >> shift) as usize & (BUCKETS - 1)
            }
        })*
    };
}

item!(
    u8,
    u16,
    u32 {
        #[cfg(target_arch = "x86_64")]
        fn sort_whole(items: &mut [u32], cores: usize) -> bool {
            super::quick::sort(items, cores)
        }
    },
    u64,
    u128
);

/// Calls `body` with the number and the range of each core's piece of `0..n`.
fn pieces(n: usize, cores: usize, body: &(dyn Fn(usize, Range<usize>) + Sync)) {
    if cores == 1 || n < PARALLEL { body(0, 0..n) } else { parallel::pieces(n, n.div_ceil(cores), body) }
}

/// Writes what `encode` makes of each value and its position.
struct Encode<'a, T, I, F> {
    values: &'a [T],
    first: usize,
    items: &'a mut [I],
    encode: &'a F,
}

impl<T: Copy, I, F: Fn(T, u32) -> I> Kernel for Encode<'_, T, I, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (i, (item, &value)) in self.items.iter_mut().zip(self.values).enumerate() {
            *item = (self.encode)(value, (self.first + i) as u32);
        }
    }
}

/// Fills `items` with what `encode` makes of values side by side.
pub(super) fn encode<T: Copy + Sync, I: Item>(
    values: &[T],
    items: &mut [I],
    cores: usize,
    encode: &(impl Fn(T, u32) -> I + Sync),
) {
    let shared = Shared::new(items);
    pieces(values.len(), cores, &|_, range| {
        // SAFETY: ranges do not overlap.
        let items = unsafe { shared.slice(range.start, range.len()) };
        dispatch(Encode { values: &values[range.clone()], first: range.start, items, encode });
    });
}

struct Decode<'a, I, F> {
    items: &'a mut [I],
    decode: &'a F,
}

impl<I: Item, R, F: Fn(I) -> R> Kernel for Decode<'_, I, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for item in self.items {
            // SAFETY: the sizes are the same, by the contract of `decode`; an integer may have any bits.
            *item = unsafe { std::mem::transmute_copy::<R, I>(&(self.decode)(*item)) };
        }
    }
}

/// Turns each item into a result, where it lies.
///
/// # Safety
/// Items and results must be of one size.
pub(super) unsafe fn decode<I: Item, R>(items: &mut [I], cores: usize, decode: &(impl Fn(I) -> R + Sync)) {
    let (shared, n) = (Shared::new(items), items.len());
    pieces(n, cores, &|_, range| {
        // SAFETY: ranges do not overlap.
        dispatch(Decode { items: unsafe { shared.slice(range.start, range.len()) }, decode });
    });
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
        for i in range {
            take(i, items[i]);
        }
    });
}

/// Sorts by the given bits; bits below them must ascend already or be the same, bits above them must be zero. The
/// result is in one of the two slices, which are of one length.
///
/// Places are 32-bit: the slices must be shorter than 2³².
pub(super) fn sort<'a, I: Item>(
    items: &'a mut [I],
    spare: &'a mut [I],
    bits: Range<u32>,
    cores: usize,
) -> &'a [I] {
    if bits.len() == 8 * size_of::<I>() && I::sort_whole(items, cores) {
        return items;
    }
    if items.len() <= COMPARE {
        items.sort_unstable();
        return items;
    }
    // Moving the items costs most, so fewer passes win, as long as they really get fewer.
    if items.len() > LONG && bits.len() > 16 {
        passes::<I, 2048>(items, spare, bits, cores)
    } else {
        passes::<I, 256>(items, spare, bits, cores)
    }
}

fn passes<'a, I: Item, const BUCKETS: usize>(
    mut from: &'a mut [I],
    mut to: &'a mut [I],
    bits: Range<u32>,
    cores: usize,
) -> &'a [I] {
    for shift in bits.step_by(BUCKETS.ilog2() as usize) {
        if pass::<I, BUCKETS>(from, to, shift, cores) {
            std::mem::swap(&mut from, &mut to);
        }
    }
    from
}

/// Moves items from one slice to the other in the order of one digit. Does nothing and returns false if they all have
/// the same.
fn pass<I: Item, const BUCKETS: usize>(from: &[I], to: &mut [I], shift: u32, cores: usize) -> bool {
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

fn count<I: Item, const BUCKETS: usize>(items: &[I], shift: u32) -> [u32; BUCKETS] {
    // Two counters for each digit: equal neighbours do not wait for one another's increment.
    let mut counts = [[0u32; BUCKETS]; 2];
    let (chunks, rest) = items.as_chunks::<2>();
    for chunk in chunks {
        for (counts, item) in counts.iter_mut().zip(chunk) {
            counts[item.digit::<BUCKETS>(shift)] += 1;
        }
    }
    for item in rest {
        counts[0][item.digit::<BUCKETS>(shift)] += 1;
    }
    std::array::from_fn(|d| counts.iter().map(|c| c[d]).sum())
}

/// Turns the counts of each piece into the places where its items of each digit start. False if one digit has all.
fn start_places<const BUCKETS: usize>(pieces: &mut [[u32; BUCKETS]], n: usize) -> bool {
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
unsafe fn scatter<I: Item, const BUCKETS: usize>(
    items: &[I],
    target: Shared<I>,
    shift: u32,
    places: &mut [u32; BUCKETS],
) {
    for &item in items {
        let place = &mut places[item.digit::<BUCKETS>(shift)];
        // SAFETY: passed on to the caller.
        unsafe { *target.at(*place as isize) = item };
        *place += 1;
    }
}
