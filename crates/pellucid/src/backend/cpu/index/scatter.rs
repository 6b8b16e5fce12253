//! Several index arrays at once: elements gathered from the places they name, and updates combined into them.
//!
//! A scatter sorts its updates by place, stably, and then goes from place to place. So each place is written by one
//! thread, its updates meet it in the order in which they were given, and the result does not depend on how many
//! threads there are; 16-bit floats are added in `float32` and rounded once.

use std::marker::PhantomData;
use std::ops::Range;

use super::super::accumulator::{Acc, with_acc};
use super::super::assemble::copy_unless_same;
use super::super::reduce::{Combine, Max, Min, Prod, Sum};
use super::super::simd::{Kernel, dispatch};
use super::super::strided::{Grid, PerAxis, Shared, row_major};
use super::super::{In, Out, bypass, parallel};
use super::{BLOCK, Decoder, Row, Target};
use crate::array::Dtype;
use crate::error::Result;
use crate::memory::Scratch;
use crate::op::ScatterOp;

/// Elements of a place that are combined at a time.
const TILE: usize = 256;

fn others<T: Copy>(values: &[T], axes: &[usize]) -> PerAxis<T> {
    values.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, &v)| v).collect()
}

/// Index arrays of one shape that name a place together, each along its axis.
struct Places<'a> {
    decoders: Vec<Decoder<'a>>,
    count: usize,
}

impl<'a> Places<'a> {
    fn new(indices: &[In<'a>], axes: &[usize], targets: impl Fn(usize) -> Target) -> Result<Places<'a>> {
        let decoder = |(k, index): (usize, &In<'a>)| Decoder::for_axis(index, axes[k], targets(k));
        let decoders = indices.iter().enumerate().map(decoder).collect::<Result<_>>()?;
        Ok(Places { decoders, count: indices.first().map_or(1, |i| i.elements()) })
    }

    /// The distances of the places from number `first` on. False if one does not exist.
    fn decode(&self, first: usize, offsets: &mut [isize]) -> bool {
        let mut good = true;
        let mut own = [0isize; BLOCK];
        offsets.fill(0);
        for decoder in &self.decoders {
            let own = &mut own[..offsets.len()];
            good &= decoder.decode_flat(first, own);
            offsets.iter_mut().zip(own).for_each(|(all, one)| *all = all.wrapping_add(*one));
        }
        good
    }

    fn finish(&self, function: &'static str) -> Result<()> {
        self.decoders.iter().try_for_each(|decoder| decoder.finish(function))
    }
}

/// Elements of `x` at the places that `indices` name along `axes`, each with all other axes of `x`.
///
/// # Errors
/// [`Error::Index`](crate::Error::Index) for the first index outside its axis.
pub(crate) fn gather(x: &In, indices: &[In], axes: &[usize], out: &mut Out) -> Result<()> {
    let item = out.dtype.size();
    let places =
        Places::new(indices, axes, |k| Target { size: x.shape[axes[k]], stride: x.strides[axes[k]] })?;
    let (shape, strides) = (others(x.shape, axes), others(x.strides, axes));
    let run = shape.iter().product::<usize>();
    let row =
        Row { shape: &shape, strides: &strides, run, item, bypass: bypass::pays(out.elements() * item) };
    let (src, dst) = (Shared(x.ptr().cast_mut()), Shared(out.ptr()));
    let work = BLOCK.min(places.count).saturating_mul(run.saturating_mul(2 * item) + 8 * axes.len());
    parallel::ranges(places.count.div_ceil(BLOCK), 1, work, |blocks| {
        let mut buffer = [0isize; BLOCK];
        for block in blocks {
            let first = block * BLOCK;
            let offsets = &mut buffer[..BLOCK.min(places.count - first)];
            if places.decode(first, offsets) && run > 0 {
                // SAFETY: the decoders checked the places, and these rows of the output belong to this block.
                unsafe { row.gather(src.get(), offsets, dst.get().wrapping_add(first * run * item)) };
            }
        }
    });
    places.finish("gather")
}

/// A copy of `x` in which the places that `indices` name along `axes` are combined with `updates`, whose axes are those
/// of the indices and then all other axes of `x`.
///
/// # Errors
/// [`Error::Index`](crate::Error::Index) for the first index outside its axis, and
/// [`Error::Memory`](crate::Error::Memory) if there is no room for the order of the updates.
pub(crate) fn scatter(
    x: &In,
    indices: &[In],
    updates: &In,
    axes: &[usize],
    how: ScatterOp,
    out: &mut Out,
) -> Result<()> {
    // Places are numbered as the elements of the indexed axes alone.
    let sizes: PerAxis<usize> = axes.iter().map(|&a| x.shape[a]).collect();
    let numbers = row_major(&sizes);
    let places = Places::new(indices, axes, |k| Target { size: sizes[k], stride: numbers[k] })?;
    let mut named = Scratch::filled("scatter", places.count, 0isize)?;
    let all = Shared(named.as_mut_ptr());
    parallel::ranges(places.count.div_ceil(BLOCK), 1, BLOCK * 16, |blocks| {
        for block in blocks {
            let first = block * BLOCK;
            let count = BLOCK.min(places.count - first);
            // SAFETY: blocks are disjoint parts of `named`.
            let part = unsafe { std::slice::from_raw_parts_mut(all.get().add(first), count) };
            places.decode(first, part);
        }
    });
    places.finish(how.name())?;
    copy_unless_same(x, out);
    if places.count == 0 || out.elements() == 0 {
        return Ok(());
    }
    let order = by_place(&named, sizes.iter().product())?;
    let strides = row_major(out.shape);
    let split = updates.shape.len() - (x.shape.len() - axes.len());
    let job = Job {
        order: &order,
        named: &named,
        places: Grid::new(&sizes, [&axes.iter().map(|&a| strides[a]).collect::<PerAxis<_>>()]),
        updates: Grid::new(&updates.shape[..split], [&updates.strides[..split]]),
        inner: Grid::new(&others(out.shape, axes), [&others(&strides, axes), &updates.strides[split..]]),
        from: Shared(updates.ptr().cast_mut()),
        to: Shared(out.ptr()),
        dtype: out.dtype,
    };
    match how {
        ScatterOp::Replace => replace(&job, out.dtype.size()),
        ScatterOp::Sum => with_acc!(out.dtype, A => job.combine::<A, Sum>()),
        ScatterOp::Prod => with_acc!(out.dtype, A => job.combine::<A, Prod>()),
        ScatterOp::Max => with_acc!(out.dtype, A => job.combine::<A, Max>()),
        ScatterOp::Min => with_acc!(out.dtype, A => job.combine::<A, Min>()),
    }
    Ok(())
}

/// The numbers of the updates in ascending order of their places, and in their own order where those are equal.
fn by_place(named: &[isize], places: usize) -> Result<Scratch<usize>> {
    let mut order = Scratch::filled("scatter", named.len(), 0usize)?;
    if places > named.len().saturating_mul(4) {
        // Few updates of many places: a list of all places would be longer than the work.
        order.iter_mut().enumerate().for_each(|(i, place)| *place = i);
        order.sort_unstable_by_key(|&i| (named[i], i));
        return Ok(order);
    }
    let mut starts = Scratch::filled("scatter", places + 1, 0usize)?;
    for &place in named {
        starts[place as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    for (i, &place) in named.iter().enumerate() {
        let start = &mut starts[place as usize];
        order[*start] = i;
        *start += 1;
    }
    Ok(order)
}

/// Updates in the order of their places, and where everything lies.
struct Job<'a> {
    order: &'a [usize],
    /// The place of each update.
    named: &'a [isize],
    /// From the number of a place to its distance in the output.
    places: Grid<1>,
    /// From the number of an update to its distance in the updates.
    updates: Grid<1>,
    /// The elements of one place: distances in the output and in the updates.
    inner: Grid<2>,
    from: Shared<u8>,
    to: Shared<u8>,
    dtype: Dtype,
}

impl Job<'_> {
    fn place_of(&self, at: usize) -> isize {
        self.named[self.order[at]]
    }

    fn offset(grid: &Grid<1>, number: usize) -> isize {
        match (&grid.shape[..], &grid.strides[0][..]) {
            ([], _) => 0,
            ([_], [stride]) => number as isize * stride,
            _ => grid.walk(number).offsets[0],
        }
    }

    /// Calls `each` for every place with the distance of its elements and its updates, on several threads, each of which
    /// has its own room for intermediate results.
    fn for_each_place<S>(&self, room: impl Fn() -> S + Sync, each: impl Fn(&mut S, isize, &[usize]) + Sync) {
        let (count, item) = (self.order.len(), self.dtype.size());
        let work = self.inner.elements().saturating_mul(3 * item) + 32;
        parallel::ranges(count, 64, work, |range: Range<usize>| {
            // A place belongs to whoever has the first of its updates.
            let begins = |at: usize| at == 0 || self.place_of(at) != self.place_of(at - 1);
            let Some(mut at) = range.clone().find(|&at| begins(at)) else { return };
            let mut room = room();
            while at < range.end {
                let place = self.place_of(at);
                let same = self.order[at..].iter().take_while(|&&u| self.named[u] == place).count();
                each(&mut room, Job::offset(&self.places, place as usize), &self.order[at..at + same]);
                at += same;
            }
        });
    }

    fn combine<A: Acc, O: Combine<A>>(&self) {
        let (item, dtype) = (self.dtype.size() as isize, self.dtype);
        let mut rows = self.inner.clone();
        let (run, [to_step, from_step]) = rows.pop();
        let room = || ([A::ZERO; TILE], [A::ZERO; TILE]);
        self.for_each_place(room, |(totals, values), place, updates| {
            let mut walk = rows.walk(0);
            for _ in 0..rows.elements() {
                let [to, from] = walk.offsets;
                for first in (0..run).step_by(TILE) {
                    let count = TILE.min(run - first);
                    let (totals, values) = (&mut totals[..count], &mut values[..count]);
                    let to = self.to.get().wrapping_offset((place + to + first as isize * to_step) * item);
                    // SAFETY: the place was checked and is this thread's alone; the grid stays inside it.
                    unsafe { A::read(dtype, to, to_step, totals) };
                    for &update in updates {
                        let at = Job::offset(&self.updates, update) + from + first as isize * from_step;
                        let from = self.from.get().wrapping_offset(at * item);
                        // SAFETY: the update is one of the input's, and the grid stays inside it.
                        unsafe { A::read(dtype, from, from_step, values) };
                        dispatch(Add::<A, O> { totals, values, op: PhantomData });
                    }
                    // SAFETY: as for reading.
                    unsafe { A::write(dtype, to, to_step, totals) };
                }
                walk.step();
            }
        });
    }
}

/// Combines values with totals, one by one.
struct Add<'a, A, O> {
    totals: &'a mut [A],
    values: &'a [A],
    op: PhantomData<O>,
}

impl<A: Acc, O: Combine<A>> Kernel for Add<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (total, &value) in self.totals.iter_mut().zip(self.values) {
            *total = O::combine(*total, value);
        }
    }
}

/// Of the updates of a place the last stays.
fn replace(job: &Job, item: usize) {
    match item {
        1 => replace_elements::<u8>(job),
        2 => replace_elements::<u16>(job),
        4 => replace_elements::<u32>(job),
        _ => replace_elements::<u64>(job),
    }
}

fn replace_elements<T: Copy>(job: &Job) {
    let mut rows = job.inner.clone();
    let (run, [to_step, from_step]) = rows.pop();
    let (src, dst) = (Shared(job.from.get().cast::<T>()), Shared(job.to.get().cast::<T>()));
    job.for_each_place(
        || (),
        |(), place, updates| {
            let Some(&last) = updates.last() else { return };
            let update = Job::offset(&job.updates, last);
            let mut walk = rows.walk(0);
            for _ in 0..rows.elements() {
                let to = dst.get().wrapping_offset(place + walk.offsets[0]);
                let from = src.get().cast_const().wrapping_offset(update + walk.offsets[1]);
                for i in 0..run as isize {
                    // SAFETY: the place was checked and is this thread's alone; the grid stays inside both arrays.
                    unsafe { *to.offset(i * to_step) = *from.offset(i * from_step) };
                }
                walk.step();
            }
        },
    );
}
