//! What the examples share: the digits, and bars on a terminal.
#![allow(dead_code, reason = "not every example uses everything")]

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use pellucid_nn::prelude::*;

/// The first part of the digits is for training, the rest for testing.
const TRAINING: usize = 1437;

/// Images `[N, 8, 8]` from 0 to 1 with their labels: for training, and for testing.
pub fn digits() -> Result<[(Array, Array); 2]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/digits.safetensors");
    let (arrays, _) = pellucid::io::load_safetensors(path)?;
    let (images, labels) = (&arrays["images"], &arrays["labels"]);
    let images = images.astype(Dtype::Float32) / 16.0;
    let labels = labels.astype(Dtype::Int32);
    let part = |from: usize, to: usize| (images.i(from..to), labels.i(from..to));
    let parts = [part(0, TRAINING), part(TRAINING, labels.size())];
    for (images, labels) in &parts {
        eval([images, labels])?;
    }
    Ok(parts)
}

/// The share of samples whose largest score is that of their label.
pub fn accuracy(scores: &Array, labels: &Array) -> Result<f32> {
    scores.argmax(-1).equal(labels).mean(..).item::<f32>()
}

/// A bar for training, which shows only on a terminal.
pub fn bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} steps, {per_sec}, {msg}, {eta} left");
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
