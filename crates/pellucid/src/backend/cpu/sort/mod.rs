//! Sorting along one axis.
//!
//! Elements become unsigned keys whose order is the wanted one ([`keys`]): integers with the sign bit turned, floats by
//! their bits with NaN last. 32-bit keys go through a vectorised quicksort where the machine has one (`quick`), others
//! through the standard library's sort if they are few, and a radix sort ([`radix`]) if they are many. Many runs are
//! shared out to the cores; a single long one is sorted by all of them together.

mod keys;
#[cfg(target_arch = "x86_64")]
mod quick;
mod radix;

use std::ops::Range;

use half::{bf16, f16};
use num_complex::Complex32;

use self::keys::{Key, PAIR_SHIFT, SortKey};
use self::radix::Item;
use super::layout::{Axis, Layout, Shared, count, offset};
use super::parallel;
use super::tensor::{In, Out};
use crate::array::Dtype;
use crate::error::{Error, Result};
use crate::memory::PerThread;

/// Runs gathered together where neighbouring elements of a run lie far apart: as many as share a cache line.
const TOGETHER: usize = 16;

macro_rules! with_key {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            Dtype::Bool | Dtype::Uint8 => with_key!(@ $t = u8, $body),
            Dtype::Uint16 => with_key!(@ $t = u16, $body),
            Dtype::Uint32 => with_key!(@ $t = u32, $body),
            Dtype::Uint64 => with_key!(@ $t = u64, $body),
            Dtype::Int8 => with_key!(@ $t = i8, $body),
            Dtype::Int16 => with_key!(@ $t = i16, $body),
            Dtype::Int32 => with_key!(@ $t = i32, $body),
            Dtype::Int64 => with_key!(@ $t = i64, $body),
            Dtype::Float16 => with_key!(@ $t = f16, $body),
            Dtype::Bfloat16 => with_key!(@ $t = bf16, $body),
            Dtype::Float32 => with_key!(@ $t = f32, $body),
            Dtype::Float64 => with_key!(@ $t = f64, $body),
            Dtype::Complex64 => with_key!(@ $t = Complex32, $body),
        }
    };
    (@ $t:ident = $ty:ty, $body:expr) => {{
        type $t = $ty;
        $body
    }};
}

/// Sorts `axis` in ascending order, NaN last, complex numbers by real and then imaginary part. Negative zero comes
/// before zero.
pub(crate) fn sort(x: &In, axis: usize, out: &mut Out) -> Result<()> {
    if out.dtype != x.dtype {
        return Err(Error::internal("sort", format!("{} into {}", x.dtype, out.dtype)));
    }
    let job = Job { function: "sort", x, out, layout: Layout::same_shape(x, &[axis]) };
    with_key!(x.dtype, T => job.run(
        0..<T as SortKey>::Key::USED,
        |value: T, _| value.key(),
        |key: <T as SortKey>::Key| T::from_key(key),
    ))
}

/// Positions that sort `axis` as [`sort`] does; equal elements keep their order, and zeros of either sign are equal.
/// `out` is `uint32`.
pub(crate) fn argsort(x: &In, axis: usize, out: &mut Out) -> Result<()> {
    let size = x.shape.get(axis).copied().unwrap_or(1);
    if out.dtype != Dtype::Uint32 || size > u32::MAX as usize {
        return Err(Error::argument("argsort", format!("positions below {size} do not fit {}", out.dtype)));
    }
    let job = Job { function: "argsort", x, out, layout: Layout::same_shape(x, &[axis]) };
    with_key!(x.dtype, T => job.run(
        PAIR_SHIFT..PAIR_SHIFT + <T as SortKey>::Key::USED,
        |value: T, position| <T as SortKey>::Key::pair(value.equal_key(), position),
        <T as SortKey>::Key::position,
    ))
}

struct Job<'a> {
    function: &'static str,
    x: &'a In<'a>,
    out: &'a Out<'a>,
    layout: Layout,
}

impl Job<'_> {
    /// Makes an item of each element and its position, sorts items by the given bits, and writes what `decode` makes of them.
    fn run<T: SortKey, I: Item, R: Copy + Send>(
        &self,
        bits: Range<u32>,
        encode: impl Fn(T, u32) -> I + Sync,
        decode: impl Fn(I) -> R + Sync,
    ) -> Result<()> {
        debug_assert_eq!(size_of::<R>(), self.out.dtype.size());
        let longest = self.x.shape.iter().copied().max().unwrap_or(1);
        if longest > u32::MAX as usize {
            let message =
                format!("an axis of {longest} elements is too long; at most {} can be sorted", u32::MAX);
            return Err(Error::argument(self.function, message));
        }
        if self.out.elements() == 0 {
            return Ok(());
        }
        // An axis of size one has been dropped.
        let along = self.layout.reduced.first().copied().unwrap_or(Axis { size: 1, x: 1, out: 1 });
        let (n, kept) = (along.size, &self.layout.kept);
        let (x, out) = (
            Shared::from_ptr(self.x.ptr().cast_mut().cast::<T>()),
            Shared::from_ptr(self.out.ptr().cast::<R>()),
        );
        // Equal neighbours in memory are in one cache line: fetch it once for all of them.
        let together = match kept.last() {
            Some(last) if along.x.unsigned_abs() > last.x.unsigned_abs() => TOGETHER.min(last.size),
            _ => 1,
        };
        let in_place = together == 1
            && along.out == 1
            && size_of::<I>() == size_of::<R>()
            && align_of::<I>() <= align_of::<R>();
        let own = if in_place { 0 } else { n * together };
        let runs = count(kept);
        let groups = runs.div_ceil(together);
        let group = |group: usize, items: &mut [I], spare: &mut [I], cores: usize| {
            let first = group * together;
            let width = together.min(runs - first);
            let (mut places, mut sorted) = ([(0, 0); TOGETHER], [&[][..]; TOGETHER]);
            for (k, place) in places[..width].iter_mut().enumerate() {
                *place = offset(kept, first + k);
            }
            // SAFETY: positions of the input; and of the output, in runs that belong to this group alone.
            let (read, write) = unsafe {
                (
                    |place: isize, i: usize| encode(*x.at(place + i as isize * along.x), i as u32),
                    |place: isize, i: usize, item: I| *out.at(place + i as isize * along.out) = decode(item),
                )
            };
            if width == 1 {
                let (from, to) = places[0];
                // The output itself holds items while they are sorted, where it can: less memory to fetch.
                let items = match in_place {
                    // SAFETY: `n` elements of the same size side by side, of this run alone.
                    true => unsafe { std::slice::from_raw_parts_mut(out.at(to).cast::<I>(), n) },
                    false => &mut items[..n],
                };
                match along.x {
                    1 => {
                        // SAFETY: `n` elements of the input side by side.
                        let values = unsafe { std::slice::from_raw_parts(x.at(from), n) };
                        radix::encode(values, items, cores, &encode);
                    }
                    _ => radix::fill(items, cores, |i| read(from, i)),
                }
                let start = items.as_ptr();
                let sorted = radix::sort(items, &mut spare[..n], bits.clone(), cores);
                let in_output = in_place && sorted.as_ptr() == start;
                // SAFETY: as above; items in the output are of its elements' size.
                unsafe {
                    if in_output {
                        let items = std::slice::from_raw_parts_mut(out.at(to).cast::<I>(), n);
                        radix::decode(items, cores, &decode);
                    } else {
                        radix::drain(sorted, cores, |i, item| write(to, i, item));
                    }
                }
                return;
            }
            for i in 0..n {
                for (k, place) in places[..width].iter().enumerate() {
                    items[k * n + i] = read(place.0, i);
                }
            }
            let halves = items.chunks_mut(n).zip(spare.chunks_mut(n));
            for (sorted, (items, spare)) in sorted[..width].iter_mut().zip(halves) {
                *sorted = radix::sort(items, spare, bits.clone(), cores);
            }
            for i in 0..n {
                for (place, sorted) in places.iter().zip(&sorted[..width]) {
                    write(place.1, i, sorted[i]);
                }
            }
        };
        let cores = if runs > 1 && n * runs < radix::PARALLEL * 4 || groups >= parallel::cores() {
            1
        } else {
            parallel::cores()
        };
        // Sorting costs as much as moving each element through memory many times.
        let work = n * together * size_of::<I>() * 16;
        let threads = if cores > 1 { 1 } else { parallel::threads(groups, 1, work) };
        let rooms = PerThread::plain(self.function, threads, own + n * together)?;
        let of_range = |range: Range<usize>, cores: usize| {
            rooms.with(|room| {
                let (items, spare) = room.split_at_mut(own);
                range.for_each(|i| group(i, items, spare, cores));
            });
        };
        match cores {
            1 => parallel::ranges(groups, 1, work, |range| of_range(range, 1)),
            _ => of_range(0..groups, cores),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
