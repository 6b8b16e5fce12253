//! Convolutions of any number of spatial axes, channels last, as products of tiles: the patches of some hundred output
//! positions are laid side by side in the cache and multiplied by the weights, so that no array of all patches exists.
//!
//! Between the elements of a dilated input lie zeros. Which taps of the kernel meet elements and which zeros depends only
//! on an output position's remainder, so that positions are sorted into classes that share their taps, and zeros are
//! never multiplied.

mod depthwise;
mod geometry;

use super::real::{Real, View, all, put, tile_product, with_real};
use super::tensor::{In, Out};
use super::{layout::Shared, parallel};
use crate::error::Result;
use crate::memory::Scratch;
use crate::op::ConvSpec;
use geometry::{Class, Geometry};

const NAME: &str = "conv_general";

/// Elements of a tile of patches: half of a second-level cache.
const TILE: usize = 48 * 1024;

/// Convolves `x [N, spatial…, C]` with `w [O, spatial…, C / groups]`.
pub(crate) fn conv(spec: &ConvSpec, x: &In, w: &In, out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    with_real!(NAME, out.dtype, A => run::<A>(spec, x, w, out))
}

fn run<A: Real>(spec: &ConvSpec, x: &In, w: &In, out: &Out) -> Result<()> {
    let geometry = Geometry::new(spec, x.shape, w.shape, out.shape);
    let direct = x.is_contiguous() && x.dtype == A::DTYPE;
    let copy = if direct { None } else { Some(all::<A>(NAME, x)?) };
    let source = copy.as_ref().map_or(x.ptr().cast::<A>(), |copy| copy.as_ptr());
    let weights = all::<A>(NAME, w)?;
    let source = Shared::from_ptr(source.cast_mut());
    for class in geometry.classes() {
        if geometry.is_depthwise() {
            depthwise::run(&geometry, &class, source, &weights, out)?;
        } else {
            products(&geometry, &class, source, &weights, out)?;
        }
    }
    Ok(())
}

/// The outputs of one class, tile by tile.
fn products<A: Real>(
    geometry: &Geometry,
    class: &Class,
    x: Shared<A>,
    weights: &[A],
    out: &Out,
) -> Result<()> {
    let (inputs, outputs) = (geometry.inputs_per_group(), geometry.outputs_per_group());
    let depth = class.taps.len() * inputs;
    let count = geometry.batch * class.positions();
    let by_depth = &class_weights(geometry, class, weights)?[..];
    let rows = (TILE / depth.max(1)).clamp(32, 512).min(count.div_ceil(parallel::cores())).max(1);
    parallel::ranges(count.div_ceil(rows), 1, rows * depth * outputs, |range| {
        // Tiles, bounded whatever the arrays.
        let (mut patches, mut result) = (vec![A::ZERO; rows * depth], vec![A::ZERO; rows * outputs]);
        let mut places = Vec::with_capacity(rows);
        for tile in range {
            let first = tile * rows;
            let many = rows.min(count - first);
            for group in 0..geometry.groups {
                places.clear();
                for (i, row) in (first..first + many).enumerate() {
                    let (image, position) = (row / class.positions(), row % class.positions());
                    let patch = &mut patches[i * depth..][..depth];
                    // SAFETY: taps that lie in the image, of which `x` has `batch`.
                    unsafe { class.gather(geometry, x, image, position, group, patch) };
                    places.push(class.output(geometry, image, position));
                }
                if depth == 0 {
                    // No tap meets an element.
                    result.fill(A::ZERO);
                } else {
                    // SAFETY: `many` patches, this group's weights, and room for as many results.
                    unsafe {
                        let a = View::rows(patches.as_ptr(), depth);
                        let b = View::rows(by_depth[group * depth * outputs..].as_ptr(), outputs);
                        let to = View::rows_mut(&mut result, outputs);
                        tile_product((many, outputs, depth), a, b, to, A::ONE, A::ZERO);
                    }
                }
                for (&place, values) in places.iter().zip(result.chunks(outputs)) {
                    // SAFETY: this group's channels of this position belong to this tile alone.
                    unsafe { put(out, place * geometry.outputs + group * outputs, values) };
                }
            }
        }
    });
    Ok(())
}

/// The weights of a class's taps as matrices of `taps · inputs × outputs`, one for each group.
fn class_weights<A: Real>(geometry: &Geometry, class: &Class, weights: &[A]) -> Result<Scratch<A>> {
    let (inputs, outputs) = (geometry.inputs_per_group(), geometry.outputs_per_group());
    let depth = class.taps.len() * inputs;
    let mut by_depth = Scratch::filled(NAME, geometry.groups * depth * outputs, A::ZERO)?;
    for (row, to) in by_depth.chunks_mut(outputs.max(1)).enumerate() {
        let (group, tap, input) = (row / depth, class.taps[row % depth / inputs], row % inputs);
        for (output, to) in to.iter_mut().enumerate() {
            *to = weights[((group * outputs + output) * geometry.taps + tap) * inputs + input];
        }
    }
    Ok(by_depth)
}

#[cfg(test)]
mod tests;
