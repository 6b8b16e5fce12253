//! Convolutions in which each channel has a kernel of its own: channels are the lanes of a vector, and the taps of an
//! output position are summed in registers.

use super::super::layout::Shared;
use super::super::parallel;
use super::super::real::{Real, put};
use super::super::simd::{Kernel, dispatch};
use super::super::tensor::Out;
use super::NAME;
use super::geometry::{Class, Geometry};
use crate::error::Result;
use crate::memory::Scratch;

/// Channels that are summed in registers at a time.
const LANES: usize = 32;

/// The outputs of one class.
pub(super) fn run<A: Real>(
    geometry: &Geometry,
    class: &Class,
    x: Shared<A>,
    weights: &[A],
    out: &Out,
) -> Result<()> {
    let channels = geometry.inputs;
    // Tap by tap, so that the weights of neighbouring channels are neighbours.
    let mut by_tap = Scratch::filled(NAME, class.taps.len() * channels, A::ZERO)?;
    for (to, &tap) in by_tap.chunks_mut(channels).zip(&class.taps) {
        to.iter_mut().enumerate().for_each(|(c, to)| *to = weights[c * geometry.taps + tap]);
    }
    let by_tap = &by_tap[..];
    let count = geometry.batch * class.positions();
    parallel::ranges(count, 1, channels * class.taps.len() * 8, |range| {
        let mut result = vec![A::ZERO; channels];
        let mut taps = Vec::with_capacity(class.taps.len());
        for row in range {
            let (image, position) = (row / class.positions(), row % class.positions());
            taps.clear();
            class.each_tap(position, |tap, element| {
                if element >= 0 {
                    taps.push((tap * channels, element as usize * channels));
                }
            });
            let start = Class::image_start(geometry, image);
            dispatch(Position { x, start, weights: by_tap, taps: &taps, result: &mut result });
            // SAFETY: this position belongs to this range alone.
            unsafe { put(out, class.output(geometry, image, position) * channels, &result) };
        }
    });
    Ok(())
}

/// One output position: where its taps lie in the weights and in the image that begins at `start`.
struct Position<'a, A> {
    x: Shared<A>,
    start: usize,
    weights: &'a [A],
    taps: &'a [(usize, usize)],
    result: &'a mut [A],
}

impl<A: Real> Kernel for Position<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (block, result) in self.result.chunks_mut(LANES).enumerate() {
            let mut sums = [A::ZERO; LANES];
            for &(w, x) in self.taps {
                let weights = &self.weights[w + block * LANES..][..result.len()];
                // SAFETY: channels of an element of the image.
                let x = unsafe { self.x.slice(self.start + x + block * LANES, result.len()) };
                if result.len() == LANES {
                    for i in 0..LANES {
                        sums[i] += weights[i] * x[i];
                    }
                } else {
                    for i in 0..result.len() {
                        sums[i] += weights[i] * x[i];
                    }
                }
            }
            result.copy_from_slice(&sums[..result.len()]);
        }
    }
}
