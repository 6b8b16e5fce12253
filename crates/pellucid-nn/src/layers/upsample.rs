//! Changes of the spatial size of `[N, spatial…, C]` by a factor, one axis after the other.
//!
//! Each position of the result is a sum of a few elements of the input, its taps, with weights. Which ones, and how much
//! they count, depends only on the sizes; it is computed here and then applied with operations on arrays.

use pellucid::{Array, ops};

use crate::{Layer, Module, Visit, VisitMut, error};

/// How elements between those of the input are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpsampleMode {
    /// The nearest element.
    Nearest,
    /// On the line between two.
    Linear,
    /// On a cubic curve of four.
    Cubic,
}

impl Module for UpsampleMode {
    fn visit(&self, at: &mut Visit<'_>) {
        at.constant(&[*self as u8]);
    }

    fn visit_mut(&mut self, _: &mut VisitMut<'_>) {}
}

/// Elements and weights of each position.
type Taps = Vec<Vec<(usize, f64)>>;

/// Scales the spatial axes by a factor, or by one for each axis.
///
/// ```
/// use pellucid_nn::prelude::*;
/// let up = Upsample::new(2.0, UpsampleMode::Linear);
/// assert_eq!(up.forward(&ones::<f32>([1, 4, 4, 3])).shape(), [1, 8, 8, 3]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Upsample {
    scale: Vec<f64>,
    mode: UpsampleMode,
    align_corners: bool,
    antialias: bool,
}

impl Upsample {
    /// All spatial axes by one factor.
    pub fn new(scale: f64, mode: UpsampleMode) -> Upsample {
        Upsample { scale: vec![scale], mode, align_corners: false, antialias: false }
    }

    /// Each spatial axis by a factor of its own.
    pub fn each(scales: &[f64], mode: UpsampleMode) -> Upsample {
        Upsample { scale: scales.to_vec(), ..Upsample::new(1.0, mode) }
    }

    /// The first and last elements of input and result lie on each other.
    #[must_use]
    pub fn align_corners(self) -> Upsample {
        Upsample { align_corners: true, ..self }
    }

    /// A result that is smaller is made of all elements of the input.
    #[must_use]
    pub fn antialias(self) -> Upsample {
        Upsample { antialias: true, ..self }
    }

    fn taps(&self, size: usize, scale: f64) -> Taps {
        match (self.mode, self.antialias) {
            (UpsampleMode::Nearest, _) => nearest(size, scale),
            (UpsampleMode::Linear, true) => smooth(size, scale, |d| (1.0 - d.abs()).max(0.0), 1.0),
            (UpsampleMode::Cubic, true) => smooth(size, scale, |d| cubic(-0.5, d), 2.0),
            (UpsampleMode::Linear, false) => linear_taps(size, scale, self.align_corners),
            (UpsampleMode::Cubic, false) => cubic_taps(size, scale, self.align_corners),
        }
    }

    fn problem(&self, x: &Array) -> Option<String> {
        let axes = x.ndim().saturating_sub(2);
        if axes == 0 {
            return Some(format!(
                "the input needs at least one spatial axis, but has shape {}",
                x.shape_ref()
            ));
        }
        if self.scale.len() != 1 && self.scale.len() != axes {
            return Some(format!("{} factors for {axes} spatial axes", self.scale.len()));
        }
        if let Some(scale) = self.scale.iter().find(|scale| !scale.is_finite() || **scale <= 0.0) {
            return Some(format!("a factor must be positive, not {scale}"));
        }
        if self.antialias && self.mode == UpsampleMode::Nearest {
            return Some("the nearest element is not smoothed; use another mode for antialias".to_owned());
        }
        if self.antialias && self.align_corners {
            return Some("antialias works without align_corners only".to_owned());
        }
        None
    }
}

impl Layer for Upsample {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        if x.check().is_err() {
            return x.clone();
        }
        if let Some(message) = self.problem(x) {
            return error::argument("Upsample", message);
        }
        let mut y = x.clone();
        for axis in 1..x.ndim() - 1 {
            let scale = if self.scale.len() == 1 { self.scale[0] } else { self.scale[axis - 1] };
            y = apply(&y, axis, &self.taps(x.shape()[axis], scale), self.mode != UpsampleMode::Nearest);
        }
        y
    }
}

/// Where each position of the result lies in the input.
fn positions(size: usize, scale: f64, align_corners: bool) -> Vec<f64> {
    let count = (scale * size as f64) as usize;
    let last = size as f64 - 1.0;
    let place = |i: usize| {
        if align_corners {
            return if count > 1 { i as f64 * (last / (count as f64 - 1.0)) } else { 0.0 };
        }
        // The middle of the result lies on the middle of the input, whatever was cut off to a whole number.
        (i as f64 - (count as f64 - 1.0) / 2.0) / scale + last / 2.0
    };
    (0..count).map(place).collect()
}

/// An element of the input that is there, for a position that may be outside.
fn inside(position: f64, size: usize) -> usize {
    position.clamp(0.0, size.saturating_sub(1) as f64) as usize
}

/// The closest element when the input grows, the first it covers when it shrinks.
fn nearest(size: usize, scale: f64) -> Taps {
    let count = (scale * size as f64) as usize;
    let place = |i: usize| {
        if count < size {
            return i * size / count;
        }
        inside(((i as f64 + 0.5) * size as f64 / count as f64 - 0.5).round_ties_even(), size)
    };
    (0..count).map(|i| vec![(place(i), 1.0)]).collect()
}

fn cubic(a: f64, distance: f64) -> f64 {
    let t = distance.abs();
    if t <= 1.0 {
        return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
    }
    if t < 2.0 { ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a } else { 0.0 }
}

fn linear_taps(size: usize, scale: f64, align_corners: bool) -> Taps {
    let taps = |position: f64| {
        let position = position.clamp(0.0, size.saturating_sub(1) as f64);
        let share = position - position.floor();
        vec![(inside(position.floor(), size), 1.0 - share), (inside(position.floor() + 1.0, size), share)]
    };
    positions(size, scale, align_corners).into_iter().map(taps).collect()
}

fn cubic_taps(size: usize, scale: f64, align_corners: bool) -> Taps {
    let taps = |position: f64| {
        let near = (-1..3).map(|i| position.floor() + f64::from(i));
        near.map(|i| (inside(i, size), cubic(-0.75, position - i))).collect()
    };
    positions(size, scale, align_corners).into_iter().map(taps).collect()
}

/// The kernel as wide as the step between positions, so that nothing is skipped when the input shrinks.
fn smooth(size: usize, scale: f64, kernel: impl Fn(f64) -> f64, reach: f64) -> Taps {
    let shrink = scale.min(1.0);
    let taps = |position: f64| {
        let first = inside((position - reach / shrink).floor(), size);
        let last = inside((position + reach / shrink).ceil(), size);
        let weights: Vec<(usize, f64)> =
            (first..=last).map(|i| (i, kernel((i as f64 - position) * shrink))).collect();
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        weights.into_iter().map(|(i, weight)| (i, weight / total)).collect::<Vec<_>>()
    };
    let mut all: Taps = positions(size, scale, false).into_iter().map(taps).collect();
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    all.iter_mut().for_each(|taps| taps.resize(most, (0, 0.0)));
    all
}

#[track_caller]
fn apply(x: &Array, axis: usize, taps: &Taps, weighted: bool) -> Array {
    let mut shape = vec![1; x.ndim()];
    shape[axis] = taps.len();
    let each = taps.first().map_or(1, Vec::len);
    let part = |tap: usize| {
        if taps.is_empty() {
            return ops::take(x, &Array::from(&[0u32; 0][..]), axis);
        }
        let indices: Array = taps.iter().map(|taps| taps[tap].0 as u32).collect();
        let picked = ops::take(x, &indices, axis);
        if !weighted {
            return picked;
        }
        let weights: Array = taps.iter().map(|taps| taps[tap].1 as f32).collect();
        picked * weights.reshape(shape.clone())
    };
    let mut sum = part(0);
    for tap in 1..each {
        sum += part(tap);
    }
    sum
}
