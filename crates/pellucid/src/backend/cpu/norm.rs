//! Layer and root-mean-square normalisation of the last axis, and the gradient for its input.
//!
//! A row is read from memory once: its mean and its spread are sums over cached data, and the result is written in the
//! same visit. Sums are in `f32` or wider whatever the element type.

use super::parallel;
use super::real::{Real, Rows, all, put, sum_of, widest, with_real};
use super::tensor::{In, Out};
use crate::error::Result;
use crate::op::NormKind;

/// `(x − mean) · r · weight + bias` with `r = 1/√(variance + eps)`; without the mean for [`NormKind::Rms`].
pub(crate) fn norm(
    kind: NormKind,
    x: &In,
    weight: Option<&In>,
    bias: Option<&In>,
    eps: f64,
    out: &mut Out,
) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    with_real!(kind.name(), out.dtype, A => {
        let weight = weight.map(|w| all::<A>(kind.name(), w)).transpose()?;
        let bias = bias.map(|b| all::<A>(kind.name(), b)).transpose()?;
        forward::<A>(kind, x, weight.as_deref(), bias.as_deref(), A::from_f64(eps), out);
        Ok(())
    })
}

fn forward<A: Real>(kind: NormKind, x: &In, weight: Option<&[A]>, bias: Option<&[A]>, eps: A, out: &Out) {
    let rows = Rows::new(x);
    let len = rows.len();
    parallel::ranges(rows.count(), 1, len * 2 * x.dtype.size(), |range| {
        let (mut buf, mut result) = (Vec::new(), vec![A::ZERO; len]);
        for row in range {
            let x = rows.get::<A>(row, &mut buf);
            let (mean, r) = statistics(kind, x, eps);
            let y = &mut result[..];
            widest(|| {
                for i in 0..len {
                    y[i] = (x[i] - mean) * r;
                }
            });
            if let Some(w) = weight {
                widest(|| y.iter_mut().zip(w).for_each(|(y, &w)| *y = *y * w));
            }
            if let Some(b) = bias {
                widest(|| y.iter_mut().zip(b).for_each(|(y, &b)| *y += b));
            }
            // SAFETY: this row of the output belongs to this range alone.
            unsafe { put(out, row * len, y) };
        }
    });
}

/// The mean (zero for root mean square) and the reciprocal spread of a row.
fn statistics<A: Real>(kind: NormKind, x: &[A], eps: A) -> (A, A) {
    let scale = A::ONE / A::from_f64(x.len() as f64);
    let mean = match kind {
        NormKind::Layer => sum_of(x, x, |x, _| x) * scale,
        NormKind::Rms => A::ZERO,
    };
    let squares = sum_of(x, x, |x, _| (x - mean) * (x - mean));
    (mean, A::ONE / (squares * scale + eps).sqrt())
}

/// The gradient of a normalisation for its input, for a cotangent `g`. The normalised rows are computed anew, which
/// costs less than to keep them.
pub(crate) fn norm_backward(
    kind: NormKind,
    x: &In,
    weight: Option<&In>,
    g: &In,
    eps: f64,
    out: &mut Out,
) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    with_real!(kind.name(), out.dtype, A => {
        let weight = weight.map(|w| all::<A>(kind.name(), w)).transpose()?;
        backward::<A>(kind, x, weight.as_deref(), g, A::from_f64(eps), out);
        Ok(())
    })
}

fn backward<A: Real>(kind: NormKind, x: &In, weight: Option<&[A]>, g: &In, eps: A, out: &Out) {
    let (x_rows, g_rows) = (Rows::new(x), Rows::new(g));
    let len = x_rows.len();
    let scale = A::ONE / A::from_f64(len as f64);
    parallel::ranges(x_rows.count(), 1, len * 3 * x.dtype.size(), |range| {
        let (mut x_buf, mut g_buf, mut result) = (Vec::new(), Vec::new(), vec![A::ZERO; len]);
        for row in range {
            let x = x_rows.get::<A>(row, &mut x_buf);
            let g = g_rows.get::<A>(row, &mut g_buf);
            let (mean, r) = statistics(kind, x, eps);
            let y = &mut result[..];
            match weight {
                Some(w) => widest(|| (0..len).for_each(|i| y[i] = g[i] * w[i])),
                None => y.copy_from_slice(g),
            }
            let along = sum_of(y, x, |g, x| g * ((x - mean) * r)) * scale;
            let level = match kind {
                NormKind::Layer => sum_of(y, y, |g, _| g) * scale,
                NormKind::Rms => A::ZERO,
            };
            widest(|| (0..len).for_each(|i| y[i] = r * (y[i] - level - (x[i] - mean) * r * along)));
            // SAFETY: this row of the output belongs to this range alone.
            unsafe { put(out, row * len, y) };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;
    use crate::array::Dtype;

    fn close(a: &[f64], b: &[f64], tolerance: f64) {
        assert_eq!(a.len(), b.len());
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "element {i}: {a} is not {b}");
        }
    }

    fn reference(kind: NormKind, x: &[f64], len: usize, w: &[f64], b: &[f64], eps: f64) -> Vec<f64> {
        let row = |x: &[f64]| -> Vec<f64> {
            let mean = if kind == NormKind::Layer { x.iter().sum::<f64>() / len as f64 } else { 0.0 };
            let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / len as f64;
            (0..len).map(|i| (x[i] - mean) / (var + eps).sqrt() * w[i] + b[i]).collect()
        };
        x.chunks(len).flat_map(row).collect()
    }

    #[test]
    fn rows_are_normalised_whatever_their_layout_and_type() {
        for kind in [NormKind::Layer, NormKind::Rms] {
            for dtype in [Dtype::Float32, Dtype::Float16, Dtype::Bfloat16, Dtype::Float64] {
                for (name, x) in Tensor::views(dtype) {
                    let Some(&len) = x.shape.last().filter(|_| !x.values().is_empty()) else { continue };
                    let w = Tensor::new(dtype, &[len], (0..).map(|i| f64::from(i % 5) * 0.5));
                    let b = Tensor::new(dtype, &[len], (0..).map(|i| f64::from(i % 3)));
                    let mut out = Tensor::zeros(dtype, &x.shape);
                    norm(kind, &x.as_in(), Some(&w.as_in()), Some(&b.as_in()), 1e-5, &mut out.as_out())
                        .unwrap();
                    let expected = reference(kind, &x.values(), len, &w.values(), &b.values(), 1e-5);
                    let tolerance = match dtype {
                        Dtype::Float64 => 1e-12,
                        Dtype::Float32 => 1e-5,
                        Dtype::Float16 => 2e-3,
                        _ => 2e-2,
                    };
                    eprintln!("{kind:?} {name} {dtype}");
                    close(&out.values(), &expected, tolerance);
                }
            }
        }
    }

    #[test]
    fn gradients_agree_with_differences_of_the_forward_pass() {
        let (rows, len, eps, h) = (150, 7, 1e-5, 1e-6);
        let wave = |f: f64| move |i: usize| (i as f64 * f).sin();
        for kind in [NormKind::Layer, NormKind::Rms] {
            let x: Vec<f64> = (0..rows * len).map(wave(0.7)).collect();
            let w: Vec<f64> = (0..len).map(wave(1.3)).collect();
            let g: Vec<f64> = (0..rows * len).map(wave(0.31)).collect();
            let b = vec![0.25; len];
            let loss = |x: &[f64]| -> f64 {
                reference(kind, x, len, &w, &b, eps).iter().zip(&g).map(|(y, g)| y * g).sum()
            };
            let t = |shape: &[usize], v: &[f64]| Tensor::new(Dtype::Float64, shape, v.iter().copied());
            let (xt, wt, gt) = (t(&[rows, len], &x), t(&[len], &w), t(&[rows, len], &g));
            let mut xg = Tensor::zeros(Dtype::Float64, &[rows, len]);
            norm_backward(kind, &xt.as_in(), Some(&wt.as_in()), &gt.as_in(), eps, &mut xg.as_out()).unwrap();
            let slope = |v: &[f64], i: usize, f: &dyn Fn(&[f64]) -> f64| {
                let (mut up, mut down) = (v.to_vec(), v.to_vec());
                up[i] += h;
                down[i] -= h;
                (f(&up) - f(&down)) / (2.0 * h)
            };
            let dx: Vec<f64> = (0..50).map(|i| slope(&x, i, &loss)).collect();
            close(&xg.values()[..50], &dx, 1e-6);
        }
    }
}
