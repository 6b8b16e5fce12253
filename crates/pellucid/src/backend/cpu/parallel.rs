//! Splitting one kernel's work over the cores.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use crate::error::Result;

/// Below this many bytes of traffic a kernel finishes sooner than the other cores wake up.
pub(crate) const SERIAL_BYTES: usize = 256 * 1024;

/// Calls `body` with consecutive ranges that cover `0..count`, on several cores if `bytes_per_item · count` is worth
/// it. Ranges start at multiples of `grain`.
pub(crate) fn ranges(count: usize, grain: usize, bytes_per_item: usize, body: impl Fn(Range<usize>) + Sync) {
    let grain = grain.max(1);
    let cores = rayon::current_num_threads();
    if cores == 1 || count <= grain || count.saturating_mul(bytes_per_item) < SERIAL_BYTES {
        if count > 0 {
            body(0..count);
        }
        return;
    }
    // A few pieces per core, so that a core that started late or was interrupted does not hold up the others.
    pieces(count, count.div_ceil(cores * 4).next_multiple_of(grain), &|_, range| body(range));
}

/// Calls `body` on several cores with the number of each piece of `0..count` and its range. Not generic: the machinery
/// behind it is compiled once, not for every kernel.
pub(crate) fn pieces(count: usize, piece: usize, body: &(dyn Fn(usize, Range<usize>) + Sync)) {
    let piece = piece.max(1);
    (0..count.div_ceil(piece)).into_par_iter().for_each(|i| body(i, i * piece..((i + 1) * piece).min(count)));
}

/// As [`ranges`], for work that can fail; the first error is returned.
pub(crate) fn try_ranges(
    count: usize,
    grain: usize,
    bytes_per_item: usize,
    body: impl Fn(Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    let failure = OnceLock::new();
    ranges(count, grain, bytes_per_item, |range| {
        if let Err(e) = body(range) {
            // A second error says nothing more than the first.
            let _ = failure.set(e);
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}
