//! What captures cost: while none runs, while one runs, and in memory. `cargo xtask bench-capture` runs it, also built
//! with the feature `uninstrumented`, which leaves the observer out.
//!
//! `capture_cost small` prints nanoseconds per tiny operation; `capture_cost block` milliseconds of a transformer-like
//! block without and within a capture; `capture_cost million` the peak of resident memory of a capture of 1,000,000
//! launches. Each prints one line of JSON.

use std::time::Instant;

use pellucid::capture::{self, Mode, Options};
use pellucid::{Array, Dtype, Result, eval, ops, random, set_fusion};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    match std::env::args().nth(1).as_deref() {
        Some("small") => println!("{{\"ns_per_op\": {:.3}}}", small()?),
        Some("block") => {
            let block = Block::new()?;
            let (mut bare, mut captured) = (f64::MAX, f64::MAX);
            block.run(3)?;
            for round in 0..9 {
                bare = bare.min(timed(|| block.run(5))?);
                let options = Options::default().mode(Mode::Timeline);
                capture::start_with(path(&format!("{round}.pltrace")), options)?;
                captured = captured.min(timed(|| block.run(5))?);
                capture::stop()?;
            }
            println!("{{\"bare_ms\": {:.4}, \"captured_ms\": {:.4}}}", bare / 5.0, captured / 5.0);
        }
        Some("million") => {
            // One launch for each operation.
            set_fusion(false);
            let before = resident("VmRSS");
            capture::start_with(path("million.pltrace"), Options::default().mode(Mode::Timeline))?;
            let (x, one) = (ops::ones([16], Dtype::Float32), ops::ones([16], Dtype::Float32));
            let time = timed(|| {
                for _ in 0..1_000 {
                    let mut y = x.clone();
                    for _ in 0..1_000 {
                        y = ops::add(&y, &one);
                    }
                    y.eval()?;
                }
                Ok(())
            })?;
            let summary = capture::stop()?;
            println!(
                "{{\"launches\": {}, \"seconds\": {:.2}, \"file_mb\": {:.1}, \"resident_before_mb\": {before:.1}, \
                 \"peak_resident_mb\": {:.1}}}",
                summary.launches,
                time / 1e3,
                summary.bytes as f64 / 1e6,
                resident("VmHWM")
            );
        }
        _ => return Err("say small, block or million".into()),
    }
    Ok(())
}

/// Nanoseconds of each of 100,000 operations on 16 elements, evaluated one by one; the best of several rounds.
fn small() -> Result<f64> {
    let (a, b) = (ops::ones([16], Dtype::Float32), ops::ones([16], Dtype::Float32));
    eval([&a, &b])?;
    let mut best = f64::MAX;
    for _ in 0..12 {
        let time = timed(|| {
            for _ in 0..100_000 {
                ops::add(&a, &b).eval()?;
            }
            Ok(())
        })?;
        best = best.min(time * 1e6 / 1e5);
    }
    Ok(best)
}

/// Milliseconds.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// A line of `/proc/self/status`, in megabytes; 0 where there is none.
fn resident(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found =
        status.lines().find_map(|l| l.strip_prefix(line)?.split_whitespace().nth(1)?.parse::<f64>().ok());
    found.unwrap_or(0.0) * 1024.0 / 1e6
}

/// Attention and a two-layer network, batch 4, 64 tokens, width 256, 4 heads.
struct Block {
    x: Array,
    weights: Vec<Array>,
}

impl Block {
    fn new() -> Result<Block> {
        let normal = |shape: &[usize]| random::normal(shape, Dtype::Float32, 0.0, 0.05, None);
        let x = normal(&[4, 64, 256]);
        let mut weights = (0..4).map(|_| normal(&[256, 256])).collect::<Vec<_>>();
        weights.extend([normal(&[256, 1024]), normal(&[1024, 256])]);
        eval(weights.iter().chain([&x]))?;
        Ok(Block { x, weights })
    }

    fn run(&self, times: usize) -> Result<()> {
        (0..times).try_for_each(|_| self.forward().eval())
    }

    fn forward(&self) -> Array {
        let heads = |w: &Array| {
            let y = ops::reshape(&ops::matmul(&self.x, w), [4, 64, 4, 64]);
            ops::swapaxes(&y, 1, 2)
        };
        let (q, k, v) = (heads(&self.weights[0]), heads(&self.weights[1]), heads(&self.weights[2]));
        let scores = ops::multiply(ops::matmul(&q, &ops::swapaxes(&k, -1, -2)), 0.125);
        let mixed = ops::matmul(&ops::softmax(&scores, -1, false), &v);
        let joined = ops::reshape(&ops::swapaxes(&mixed, 1, 2), [4, 64, 256]);
        let x = norm(&ops::add(&self.x, &ops::matmul(&joined, &self.weights[3])));
        let hidden = ops::matmul(&x, &self.weights[4]);
        let active = ops::multiply(&hidden, &ops::sigmoid(&hidden));
        norm(&ops::add(&x, &ops::matmul(&active, &self.weights[5])))
    }
}

fn norm(x: &Array) -> Array {
    let centred = ops::subtract(x, &ops::mean(x, -1, true));
    let spread = ops::add(ops::var(x, -1, true, 0), 1e-5);
    ops::multiply(&centred, &ops::rsqrt(&spread))
}
