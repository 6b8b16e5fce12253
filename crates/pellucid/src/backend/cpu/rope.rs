//! Rotary position encoding: pairs of features of the last axis turned by an angle that grows with the position.
//!
//! The angles of all positions are computed once for all heads; the rotation then is one pass over the input.

use super::real::{Real, Rows, all, put, widest, with_real};
use super::tensor::{In, Out};
use super::{layout::Shared, parallel};
use crate::error::Result;
use crate::op::RopeSpec;

/// Rotates `x` of shape `[batch, …, positions, features]`. `offset` has one integer, or one for each batch row; `freqs`,
/// if given, has one period for each pair.
pub(crate) fn rope(spec: &RopeSpec, x: &In, offset: &In, freqs: Option<&In>, out: &mut Out) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    with_real!("rope", out.dtype, A => rotate::<A>(spec, x, offset, freqs, out))
}

fn rotate<A: Real>(spec: &RopeSpec, x: &In, offset: &In, freqs: Option<&In>, out: &Out) -> Result<()> {
    let n = x.shape.len();
    let (batch, positions, features, half) = (x.shape[0], x.shape[n - 2], x.shape[n - 1], spec.dims / 2);
    let offsets = offset.integers();
    let frequencies: Vec<A> = match (freqs, spec.base) {
        (Some(freqs), _) => all::<A>("rope", freqs)?.iter().map(|&f| A::ONE / f).collect(),
        (None, base) => {
            // In the type of the computation, so that long contexts turn as far as they do elsewhere.
            let step = A::from_f64(base.map_or(1.0, |base| base.0).ln()) / A::from_f64(half as f64);
            (0..half).map(|i| A::from_f64((-(A::from_f64(i as f64) * step)).to_f64().exp())).collect()
        }
    };
    let table = angles(spec, &frequencies, &offsets, positions);
    let rows_per_batch = out.elements() / features / batch;
    let rows = Rows::new(x);
    parallel::ranges(rows.count(), 1, features * 2 * x.dtype.size(), |range| {
        let (mut buf, mut result) = (Vec::new(), vec![A::ZERO; features]);
        for row in range {
            let x = rows.get::<A>(row, &mut buf);
            let which = if offsets.len() == 1 { 0 } else { row / rows_per_batch };
            let at = (which * positions + row % positions) * spec.dims;
            let (cos, sin) = table[at..at + spec.dims].split_at(half);
            let y = &mut result[..];
            y[spec.dims..].copy_from_slice(&x[spec.dims..]);
            if spec.traditional {
                for i in 0..half {
                    let (a, b) = (x[2 * i], x[2 * i + 1]);
                    y[2 * i] = a * cos[i] - b * sin[i];
                    y[2 * i + 1] = a * sin[i] + b * cos[i];
                }
            } else {
                let (a, b) = x[..spec.dims].split_at(half);
                let (first, second) = y[..spec.dims].split_at_mut(half);
                widest(|| {
                    for i in 0..half {
                        first[i] = a[i] * cos[i] - b[i] * sin[i];
                        second[i] = a[i] * sin[i] + b[i] * cos[i];
                    }
                });
            }
            // SAFETY: this row of the output belongs to this range alone.
            unsafe { put(out, row * features, y) };
        }
    });
    Ok(())
}

/// For each offset and position, the cosines of all pairs and then their sines.
fn angles<A: Real>(spec: &RopeSpec, frequencies: &[A], offsets: &[i64], positions: usize) -> Vec<A> {
    let half = frequencies.len();
    let (scale, sign) = (A::from_f64(spec.scale.0), if spec.inverse { -1.0 } else { 1.0 });
    let mut table = vec![A::ZERO; offsets.len() * positions * 2 * half];
    let shared = Shared::new(&mut table);
    // A sine and a cosine cost as much as some hundred bytes of traffic.
    parallel::ranges(offsets.len() * positions, 1, half * 256, |range| {
        for row in range {
            let position = A::from_f64((offsets[row / positions] + (row % positions) as i64) as f64) * scale;
            // SAFETY: one place for each row.
            let (cos, sin) = unsafe { shared.slice(row * 2 * half, 2 * half) }.split_at_mut(half);
            for i in 0..half {
                let (s, c) = (position * frequencies[i]).to_f64().sin_cos();
                (cos[i], sin[i]) = (A::from_f64(c), A::from_f64(s * sign));
            }
        }
    });
    table
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;
    use crate::array::Dtype;
    use crate::op::Float;

    fn spec(dims: usize, traditional: bool) -> RopeSpec {
        RopeSpec { dims, traditional, base: Some(Float(10000.0)), scale: Float(0.5), inverse: false }
    }

    #[test]
    fn pairs_are_turned_by_their_position_and_the_rest_passes() {
        let x = Tensor::counting(Dtype::Float64, &[2, 3, 4, 10]);
        let offset = Tensor::new(Dtype::Int32, &[2], [5.0, 70.0]);
        for traditional in [false, true] {
            let mut out = Tensor::zeros(Dtype::Float64, &x.shape);
            rope(&spec(6, traditional), &x.as_in(), &offset.as_in(), None, &mut out.as_out()).unwrap();
            for index in Tensor::positions(&x.shape) {
                let (b, h, t, d) = (index[0], index[1], index[2], index[3]);
                let expected = if d >= 6 {
                    x.at(&index)
                } else {
                    let (pair, second) = if traditional { (d / 2, d % 2 == 1) } else { (d % 3, d >= 3) };
                    let at = |second: bool| match traditional {
                        true => x.at(&[b, h, t, 2 * pair + usize::from(second)]),
                        false => x.at(&[b, h, t, pair + 3 * usize::from(second)]),
                    };
                    let position = (t as f64 + [5.0, 70.0][b]) * 0.5;
                    let (s, c) = (position * 10000f64.powf(-(pair as f64) / 3.0)).sin_cos();
                    if second { at(false) * s + at(true) * c } else { at(false) * c - at(true) * s }
                };
                assert!((out.at(&index) - expected).abs() < 1e-12, "{index:?}");
            }
        }
    }

    #[test]
    fn the_inverse_undoes_the_rotation() {
        let x = Tensor::counting(Dtype::Float32, &[1, 5, 8]).transposed(&[0, 1, 2]);
        let offset = Tensor::new(Dtype::Int32, &[], [3.0]);
        let freqs = Tensor::new(Dtype::Float32, &[4], [1.0, 2.0, 4.0, 8.0]);
        let mut there = Tensor::zeros(Dtype::Float32, &x.shape);
        let mut back = Tensor::zeros(Dtype::Float32, &x.shape);
        let mut spec = spec(8, false);
        spec.base = None;
        rope(&spec, &x.as_in(), &offset.as_in(), Some(&freqs.as_in()), &mut there.as_out()).unwrap();
        spec.inverse = true;
        rope(&spec, &there.as_in(), &offset.as_in(), Some(&freqs.as_in()), &mut back.as_out()).unwrap();
        assert_ne!(there.values(), x.values());
        assert!(back.values().iter().zip(x.values()).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
