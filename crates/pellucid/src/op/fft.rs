//! Fourier transforms as data: one axis, one length, one factor.

use serde::{Deserialize, Serialize};

use super::infer::Input;
use super::scalar::Float;
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// Which transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FftKind {
    /// Complex samples to frequencies.
    Forward,
    /// Complex frequencies to samples.
    Inverse,
    /// Real samples to the frequencies that are not negative.
    Real,
    /// The frequencies that are not negative to real samples.
    Hermitian,
}

/// A transform along one axis, times a factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FftSpec {
    /// Which transform.
    pub kind: FftKind,
    /// The axis.
    pub axis: usize,
    /// The number of samples.
    pub n: usize,
    /// The factor; the transforms themselves are sums without one.
    pub scale: Float,
}

impl FftSpec {
    /// The operation's name, as graphs, labels and traces show it.
    pub fn name(&self) -> &'static str {
        match self.kind {
            FftKind::Forward => "fft",
            FftKind::Inverse => "ifft",
            FftKind::Real => "rfft",
            FftKind::Hermitian => "irfft",
        }
    }

    pub(super) fn rule(&self, (shape, dtype): Input) -> Result<(Shape, Dtype)> {
        let name = self.name();
        let (takes, gives, from, to) = match self.kind {
            FftKind::Forward | FftKind::Inverse => (Dtype::Complex64, Dtype::Complex64, self.n, self.n),
            FftKind::Real => (Dtype::Float32, Dtype::Complex64, self.n, self.n / 2 + 1),
            FftKind::Hermitian => (Dtype::Complex64, Dtype::Float32, self.n / 2 + 1, self.n),
        };
        if dtype != takes {
            return Err(Error::dtype(name, format!("needs {takes}, not {dtype}")));
        }
        let Some(&size) = shape.get(self.axis) else {
            return Err(Error::Axis { function: name, axis: self.axis as i64, ndim: shape.len() });
        };
        if self.n == 0 || size != from {
            let message = format!(
                "a transform of {} samples needs {from} elements along axis {}, but shape {shape} has {size}",
                self.n, self.axis
            );
            return Err(Error::shape(name, message));
        }
        let mut shape = shape.clone();
        shape.as_mut_slice()[self.axis] = to;
        Ok((shape, gives))
    }

    /// Arithmetic operations: five for each element and each halving, half of that where one side is real.
    pub(super) fn flops(&self, input: &Shape) -> u64 {
        let size = input.get(self.axis).copied().unwrap_or(1).max(1);
        let runs = (input.elements() / size) as u64;
        let one = (5.0 * self.n as f64 * (self.n.max(2) as f64).log2()) as u64;
        let half = matches!(self.kind, FftKind::Real | FftKind::Hermitian);
        runs.saturating_mul(if half { one / 2 } else { one })
    }
}
