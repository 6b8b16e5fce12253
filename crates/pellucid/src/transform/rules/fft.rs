//! Fourier transforms. Each is linear, and the adjoint of one is another.

use super::Call;
use super::build::*;
use crate::array::Array;
use crate::op::{FftKind, FftSpec, Op};

/// Factors along the axis of the frequencies that are not negative: one where a frequency is its own negative, which are
/// the first and, of an even number of samples, the last; `others` elsewhere.
#[track_caller]
fn weights(spec: &FftSpec, rank: usize, others: f32) -> Array {
    let count = spec.n / 2 + 1;
    let own = |k: usize| k == 0 || 2 * k == spec.n;
    let values: Vec<f32> = (0..count).map(|k| if own(k) { 1.0 } else { others }).collect();
    let mut shape = vec![1; rank];
    shape[spec.axis] = count;
    Array::from_vec(values, shape)
}

#[track_caller]
pub(super) fn vjp(spec: &FftSpec, call: &Call, g: &Array) -> Array {
    let back = |kind, g: &Array| apply(Op::Fft(FftSpec { kind, ..spec.clone() }), &[g]);
    let weighted = |g: &Array, others| mul(g, &cast(&weights(spec, g.ndim(), others), g.dtype()));
    debug_assert_eq!(call.inputs.len(), 1);
    match spec.kind {
        FftKind::Forward => back(FftKind::Inverse, g),
        FftKind::Inverse => back(FftKind::Forward, g),
        // A frequency and its negative share what the sum over all of them gives.
        FftKind::Real => back(FftKind::Hermitian, &weighted(g, 0.5)),
        FftKind::Hermitian => weighted(&back(FftKind::Real, g), 2.0),
    }
}

/// The batch axis comes first.
#[track_caller]
pub(super) fn vmap(spec: &FftSpec, x: &Array) -> Array {
    apply(Op::Fft(FftSpec { axis: spec.axis + 1, ..spec.clone() }), &[x])
}
