//! Transforms of one length, planned once and shared by all threads.
//!
//! Nothing is normalised: forward and back multiplies by the length.

use std::sync::{Arc, LazyLock};

use num_complex::Complex32;
use parking_lot::Mutex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftPlanner};

/// Planners keep the tables of every length they have seen; few programs use more than a handful.
static COMPLEX: LazyLock<Mutex<FftPlanner<f32>>> = LazyLock::new(|| Mutex::new(FftPlanner::new()));
static REAL: LazyLock<Mutex<RealFftPlanner<f32>>> = LazyLock::new(|| Mutex::new(RealFftPlanner::new()));

/// Which sign the exponent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From samples to frequencies: `exp(−2πi jk / n)`.
    Forward,
    /// From frequencies to samples: `exp(2πi jk / n)`.
    Inverse,
}

/// A transform of complex numbers, in place.
#[derive(Clone)]
pub struct Complex(Arc<dyn Fft<f32>>);

impl Complex {
    /// The transform of `n` numbers, which is at least one.
    pub fn new(n: usize, direction: Direction) -> Complex {
        let direction = match direction {
            Direction::Forward => FftDirection::Forward,
            Direction::Inverse => FftDirection::Inverse,
        };
        Complex(COMPLEX.lock().plan_fft(n, direction))
    }

    /// Room that [`run`](Complex::run) needs, in elements.
    pub fn scratch(&self) -> usize {
        self.0.get_inplace_scratch_len()
    }

    /// Transforms each run of `n` elements.
    ///
    /// # Panics
    /// If `data` is not made of whole runs, or `scratch` is shorter than asked for.
    pub fn run(&self, data: &mut [Complex32], scratch: &mut [Complex32]) {
        self.0.process_with_scratch(data, scratch);
    }
}

/// From `n` real samples to the `n / 2 + 1` frequencies that are not negative.
#[derive(Clone)]
pub struct Real(Arc<dyn RealToComplex<f32>>);

impl Real {
    /// The transform of `n` samples, which is at least one.
    pub fn new(n: usize) -> Real {
        Real(REAL.lock().plan_fft_forward(n))
    }

    /// Room that [`run`](Real::run) needs, in elements.
    pub fn scratch(&self) -> usize {
        self.0.get_scratch_len()
    }

    /// Transforms one run; `input` is overwritten.
    ///
    /// # Panics
    /// If a length is not the planned one.
    pub fn run(&self, input: &mut [f32], output: &mut [Complex32], scratch: &mut [Complex32]) {
        self.0.process_with_scratch(input, output, scratch).expect("lengths as planned");
    }
}

/// From `n / 2 + 1` frequencies to `n` real samples; the imaginary parts at the two ends count as zero.
#[derive(Clone)]
pub struct Hermitian(Arc<dyn ComplexToReal<f32>>);

impl Hermitian {
    /// The transform to `n` samples, which is at least one.
    pub fn new(n: usize) -> Hermitian {
        Hermitian(REAL.lock().plan_fft_inverse(n))
    }

    /// Room that [`run`](Hermitian::run) needs, in elements.
    pub fn scratch(&self) -> usize {
        self.0.get_scratch_len()
    }

    /// Transforms one run; `input` is overwritten.
    ///
    /// # Panics
    /// If a length is not the planned one.
    pub fn run(&self, input: &mut [Complex32], output: &mut [f32], scratch: &mut [Complex32]) {
        if let Some(first) = input.first_mut() {
            first.im = 0.0;
        }
        if output.len().is_multiple_of(2)
            && let Some(last) = input.last_mut()
        {
            last.im = 0.0;
        }
        self.0.process_with_scratch(input, output, scratch).expect("lengths as planned");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, in double precision.
    fn slow(x: &[Complex32], sign: f64) -> Vec<Complex32> {
        let n = x.len();
        let term = |j: usize, k: usize| {
            let angle = sign * 2.0 * std::f64::consts::PI * (j * k % n) as f64 / n as f64;
            num_complex::Complex64::new(f64::from(x[j].re), f64::from(x[j].im))
                * num_complex::Complex64::from_polar(1.0, angle)
        };
        (0..n)
            .map(|k| (0..n).map(|j| term(j, k)).sum::<num_complex::Complex64>())
            .map(|v| Complex32::new(v.re as f32, v.im as f32))
            .collect()
    }

    fn samples(n: usize) -> Vec<Complex32> {
        (0..n).map(|i| Complex32::new((i * 7 % 11) as f32 - 5.0, (i * 5 % 13) as f32 - 6.0)).collect()
    }

    fn close(a: &[Complex32], b: &[Complex32]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-4 * (1.0 + b.norm()) * 10.0)
    }

    #[test]
    fn complex_transforms_of_any_length_follow_the_definition() {
        for n in [1, 2, 3, 4, 5, 7, 8, 12, 17, 30, 64, 97, 100, 128] {
            for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
                let plan = Complex::new(n, direction);
                let mut data = samples(n);
                let mut scratch = vec![Complex32::default(); plan.scratch()];
                plan.run(&mut data, &mut scratch);
                assert!(close(&data, &slow(&samples(n), sign)), "{n} {direction:?}");
            }
        }
    }

    #[test]
    fn real_samples_go_to_half_the_frequencies_and_back() {
        for n in [1, 2, 3, 4, 5, 6, 9, 16, 31, 50] {
            let mut x: Vec<f32> = samples(n).iter().map(|v| v.re).collect();
            let (before, real) = (x.clone(), Real::new(n));
            let mut half = vec![Complex32::default(); n / 2 + 1];
            real.run(&mut x, &mut half, &mut vec![Complex32::default(); real.scratch()]);
            let whole: Vec<Complex32> = before.iter().map(|&v| Complex32::new(v, 0.0)).collect();
            assert!(close(&half, &slow(&whole, -1.0)[..n / 2 + 1]), "{n}");
            let back = Hermitian::new(n);
            back.run(&mut half, &mut x, &mut vec![Complex32::default(); back.scratch()]);
            assert!(x.iter().zip(&before).all(|(a, b)| (a / n as f32 - b).abs() < 1e-4), "{n}");
        }
    }

    #[test]
    fn imaginary_parts_at_the_ends_are_ignored() {
        let back = Hermitian::new(4);
        let run = |im: f32| {
            let mut half = [Complex32::new(1.0, im), Complex32::new(2.0, 3.0), Complex32::new(4.0, -im)];
            let mut x = [0.0; 4];
            back.run(&mut half, &mut x, &mut vec![Complex32::default(); back.scratch()]);
            x
        };
        assert_eq!(run(0.0), run(5.0));
    }
}
