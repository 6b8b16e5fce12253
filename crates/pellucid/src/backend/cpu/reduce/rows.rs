//! Reductions in which each output comes from a run of elements of its own.

use std::mem::MaybeUninit;

use super::super::accumulator::Acc;
use super::super::layout::{BLOCK, Layout, Shared, count, gather, is_run, offset};
use super::super::parallel;
use super::super::tensor::{In, Out};
use super::fold::{Combine, fold, fold_four, pairwise};
use crate::error::Result;
use crate::memory::{PerThread, Scratch};

/// Elements of a block that is reduced where it lies, or where it was made.
const LONG_BLOCK: usize = 4 * BLOCK;

/// What is reduced: for each output a run of values, as many for each.
pub(crate) trait Runs<A>: Sync {
    fn outputs(&self) -> usize;

    /// The length of a run.
    fn elements(&self) -> usize;

    /// Bytes that are moved for a value, or as much time as it takes otherwise.
    fn cost(&self) -> usize;

    /// Values taken at a time.
    fn block(&self) -> usize;

    /// Whether its values lie nowhere, so that they need room.
    fn needs_room(&self) -> bool;

    /// `len` values of a run that needs no room, from `start` on.
    fn in_place(&self, run: usize, start: usize, len: usize) -> &[A] {
        self.values(run, start, len, &mut [])
    }

    /// `len` values of a run, from `start` on; in `room`, which holds a block if it is needed.
    fn values<'a>(&'a self, run: usize, start: usize, len: usize, room: &'a mut [A]) -> &'a [A];
}

/// Runs that lie in memory.
pub(super) struct InMemory<'a> {
    pub x: &'a In<'a>,
    pub layout: &'a Layout,
    block: usize,
    in_place: bool,
}

impl<'a> InMemory<'a> {
    pub fn new<A: Acc>(x: &'a In<'a>, layout: &'a Layout) -> InMemory<'a> {
        // What is reduced where it lies needs no room for a copy, so that its blocks may be longer.
        let in_place = is_run::<A>(x.dtype, &layout.reduced);
        InMemory { x, layout, block: if in_place { LONG_BLOCK } else { BLOCK }, in_place }
    }
}

impl<A: Acc> Runs<A> for InMemory<'_> {
    fn outputs(&self) -> usize {
        count(&self.layout.kept)
    }

    fn elements(&self) -> usize {
        count(&self.layout.reduced)
    }

    fn cost(&self) -> usize {
        self.x.dtype.size()
    }

    fn block(&self) -> usize {
        self.block
    }

    fn needs_room(&self) -> bool {
        !self.in_place
    }

    fn values<'a>(&'a self, run: usize, start: usize, len: usize, room: &'a mut [A]) -> &'a [A] {
        let (from, _) = offset(&self.layout.kept, run);
        let size = self.x.dtype.size() as isize;
        // SAFETY: `from` is a position of the input, and its run is that long.
        unsafe {
            let first = self.x.ptr().offset((self.layout.base + from) * size);
            gather(self.x.dtype, first, &self.layout.reduced, start, len, room)
        }
    }
}

/// Runs of values that are computed as they are needed: of `elements` each, one after the other.
pub(super) struct Computed<'a> {
    pub chain: &'a dyn super::Chain,
    pub outputs: usize,
    pub elements: usize,
}

impl<A: Acc> Runs<A> for Computed<'_> {
    fn outputs(&self) -> usize {
        self.outputs
    }

    fn elements(&self) -> usize {
        self.elements
    }

    fn cost(&self) -> usize {
        self.chain.cost()
    }

    fn block(&self) -> usize {
        LONG_BLOCK
    }

    fn needs_room(&self) -> bool {
        true
    }

    fn values<'a>(&'a self, run: usize, start: usize, len: usize, room: &'a mut [A]) -> &'a [A] {
        let first = run * self.elements + start;
        let room = &mut room[..len];
        // SAFETY: room for `len` elements of the chain's type, which is the one that is computed in.
        unsafe { self.chain.compute(first..first + len, room.as_mut_ptr().cast()) };
        room
    }
}

/// Room for a short block, which is given out uninitialised: clearing it would cost more than a small reduction.
struct Room<A>([MaybeUninit<A>; BLOCK]);

impl<A: Acc> Room<A> {
    fn new() -> Room<A> {
        Room([const { MaybeUninit::uninit() }; BLOCK])
    }

    /// A block whose values are written before they are read.
    fn block(&mut self) -> &mut [A] {
        // SAFETY: numbers of any bits; what fills a block writes as many as it then reads.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), BLOCK) }
    }
}

/// Reduces each output's run, block by block; outputs are row-major in the order of the runs.
pub(super) fn rows<A: Acc, O: Combine<A>>(runs: &impl Runs<A>, out: &mut Out) -> Result<()> {
    let (outputs, elements) = (runs.outputs(), runs.elements());
    let (dtype, size) = (out.dtype, out.dtype.size());
    let identity = O::identity(dtype);
    if elements == 0 {
        // An input without elements has no positions, and none may be computed from its strides.
        for i in 0..outputs {
            // SAFETY: a position of the output.
            unsafe { A::write(dtype, out.ptr().add(i * size), 1, &[identity]) };
        }
        return Ok(());
    }
    if elements <= BLOCK {
        let out = &*out;
        parallel::ranges(outputs, 1, elements * runs.cost(), |range| {
            let mut room = Room::<A>::new();
            let (mut i, end) = (range.start, range.end);
            while !runs.needs_room() && i + 4 <= end {
                let four = [i, i + 1, i + 2, i + 3].map(|i| runs.in_place(i, 0, elements));
                let totals = fold_four::<A, O>(four, identity);
                // SAFETY: these outputs belong to this range alone.
                unsafe { A::write(dtype, out.ptr().add(i * size), 1, &totals) };
                i += 4;
            }
            for i in i..end {
                let total = fold::<A, O>(runs.values(i, 0, elements, room.block()), identity);
                // SAFETY: as above.
                unsafe { A::write(dtype, out.ptr().add(i * size), 1, &[total]) };
            }
        });
        return Ok(());
    }
    let blocks = elements.div_ceil(runs.block());
    if blocks > MOST_RESULTS {
        for i in 0..outputs {
            let total = long_run::<A, O>(runs, i, identity)?;
            // SAFETY: a position of the output.
            unsafe { A::write(dtype, out.ptr().add(i * size), 1, &[total]) };
        }
        return Ok(());
    }
    block_results::<A, O>(runs, identity, |first, results| {
        for (i, blocks) in results.chunks(blocks).enumerate() {
            let total = pairwise::<A, O>(blocks);
            // SAFETY: a position of the output.
            unsafe { A::write(dtype, out.ptr().add((first + i) * size), 1, &[total]) };
        }
    })
}

/// Reduces a run whose results of blocks would take much memory: so many of them at a time, and the totals in pairs,
/// pairs of pairs, and so on, as they come.
fn long_run<A: Acc, O: Combine<A>>(runs: &impl Runs<A>, run: usize, identity: A) -> Result<A> {
    // Totals of twice, four times, eight times … as many blocks, each of which waits for its equal.
    let mut waiting = [None; usize::BITS as usize];
    let blocks = runs.elements().div_ceil(runs.block());
    let mut results = Scratch::filled("reduce", MOST_RESULTS, identity)?;
    let rooms = rooms(runs, runs.block(), MOST_RESULTS)?;
    for first in (0..blocks).step_by(MOST_RESULTS) {
        let results = &mut results[..MOST_RESULTS.min(blocks - first)];
        fold_blocks::<A, O>(runs, run * blocks + first, results, identity, &rooms);
        let mut total = pairwise::<A, O>(results);
        for place in &mut waiting {
            match place.take() {
                Some(before) => total = O::combine(before, total),
                None => {
                    *place = Some(total);
                    break;
                }
            }
        }
    }
    let totals = waiting.into_iter().flatten();
    Ok(totals.reduce(|later, earlier| O::combine(earlier, later)).unwrap_or(identity))
}

/// The results of every [`BLOCK`] reduced elements of an input: for each kept position, one per block. `body` is given
/// the first of some positions and the results of all of them.
pub(crate) fn short_block_results<A: Acc, O: Combine<A>>(
    x: &In,
    layout: &Layout,
    identity: A,
    body: impl FnMut(usize, &[A]),
) -> Result<()> {
    block_results::<A, O>(&InMemory { block: BLOCK, ..InMemory::new::<A>(x, layout) }, identity, body)
}

/// Results of blocks that are kept at a time, unless a single run has more.
const MOST_RESULTS: usize = 1 << 16;

/// Room for a block for each thread, where the values need it.
type Rooms<A> = PerThread<A>;

fn rooms<A: Acc>(runs: &impl Runs<A>, len: usize, count: usize) -> Result<Rooms<A>> {
    let threads = parallel::threads(count, 1, len * runs.cost());
    PerThread::filled("reduce", threads, if runs.needs_room() { len } else { 0 }, A::ZERO)
}

fn block_results<A: Acc, O: Combine<A>>(
    runs: &impl Runs<A>,
    identity: A,
    mut body: impl FnMut(usize, &[A]),
) -> Result<()> {
    let blocks = runs.elements().div_ceil(runs.block());
    let together = (MOST_RESULTS / blocks).clamp(1, runs.outputs().max(1));
    let mut results = Scratch::filled("reduce", together * blocks, identity)?;
    let rooms = rooms(runs, runs.block(), together * blocks)?;
    for first in (0..runs.outputs()).step_by(together) {
        let results = &mut results[..together.min(runs.outputs() - first) * blocks];
        fold_blocks::<A, O>(runs, first * blocks, results, identity, &rooms);
        body(first, results);
    }
    Ok(())
}

/// Reduces blocks from `first` on, counted over all runs, a result for each.
fn fold_blocks<A: Acc, O: Combine<A>>(
    runs: &impl Runs<A>,
    first: usize,
    results: &mut [A],
    identity: A,
    rooms: &Rooms<A>,
) {
    let (elements, block) = (runs.elements(), runs.block());
    let blocks = elements.div_ceil(block);
    let shared = Shared::new(results);
    parallel::ranges(results.len(), 1, block * runs.cost(), |range| {
        // SAFETY: ranges do not overlap.
        let results = unsafe { shared.slice(range.start, range.len()) };
        let place = |i: usize| {
            let at = first + range.start + i;
            let start = at % blocks * block;
            (at / blocks, start, block.min(elements - start))
        };
        let quarter = if runs.needs_room() { 0 } else { range.len() / 4 };
        for i in 0..quarter {
            // Far apart: memory is fetched ahead in four places.
            let at = [i, quarter + i, 2 * quarter + i, 3 * quarter + i];
            let [a, b, c, d] = at.map(|i| {
                let (run, start, len) = place(i);
                runs.in_place(run, start, len)
            });
            let four = fold_four::<A, O>([a, b, c, d], identity);
            for (i, result) in at.into_iter().zip(four) {
                results[i] = result;
            }
        }
        rooms.with(|room| {
            for (i, result) in results.iter_mut().enumerate().skip(4 * quarter) {
                let (run, start, len) = place(i);
                *result = fold::<A, O>(runs.values(run, start, len, room), identity);
            }
        });
    });
}
