//! The gated delta rule: a matrix for each head that decays, is corrected towards new values and is read by queries,
//! step after step. Rows of the matrix do not depend on each other, so that heads and rows are what cores share.

use super::real::{all, put, sum_of, widest};
use super::tensor::{In, Out};
use super::{layout::Shared, parallel};
use crate::error::Result;

const NAME: &str = "gated_delta_update";

/// Rows of a state that one core works on at a time.
const ROWS: usize = 16;

/// Inputs: q and k `[B, T, Hk, Dk]`, v `[B, T, Hv, Dv]`, gamma `[B, T, Hv]` or `[B, T, Hv, Dk]`, beta `[B, T, Hv]`, the
/// state `[B, Hv, Dv, Dk]`, and a mask `[B, T]` where there is one. The output is `[B, T, Hv, Dv]`, then the last state.
pub(crate) fn gated_delta(inputs: &[In], out: &mut Out) -> Result<()> {
    let [q, k, v, gamma, beta, state] = [0, 1, 2, 3, 4, 5].map(|i| &inputs[i]);
    let (batch, steps, key_heads, dk) = (k.shape[0], k.shape[1], k.shape[2], k.shape[3]);
    let (heads, dv) = (v.shape[2], v.shape[3]);
    let per_feature = gamma.shape.len() == 4;
    let [q, k, v] = [all::<f32>(NAME, q)?, all::<f32>(NAME, k)?, all::<f32>(NAME, v)?];
    let [gamma, beta] = [all::<f32>(NAME, gamma)?, all::<f32>(NAME, beta)?];
    let mut states = all::<f32>(NAME, state)?;
    let keep: Option<Vec<bool>> = inputs.get(6).map(|m| m.integers().iter().map(|&m| m != 0).collect());
    let mut result = vec![0.0f32; batch * steps * heads * dv];
    let (shared, results) = (Shared::new(&mut states), Shared::new(&mut result));
    let blocks = dv.div_ceil(ROWS);
    parallel::ranges(batch * heads * blocks, 1, steps * ROWS * dk * 16, |range| {
        for item in range {
            let (head, block) = (item / blocks, item % blocks);
            let (b, h) = (head / heads, head % heads);
            let key_head = h / (heads / key_heads);
            let rows = block * ROWS..((block + 1) * ROWS).min(dv);
            // SAFETY: these rows of this head's state, and these elements of each step's result, belong to one item.
            let state = unsafe { shared.slice((head * dv + rows.start) * dk, rows.len() * dk) };
            for t in 0..steps {
                let step = b * steps + t;
                if keep.as_ref().is_some_and(|keep| !keep[step]) {
                    continue;
                }
                let at = (step * key_heads + key_head) * dk;
                let (q, k) = (&q[at..at + dk], &k[at..at + dk]);
                let at = step * heads + h;
                // SAFETY: as above.
                let to = unsafe { results.slice(at * dv + rows.start, rows.len()) };
                let decay = if per_feature { &gamma[at * dk..(at + 1) * dk] } else { &gamma[at..at + 1] };
                for (i, row) in state.chunks_mut(dk.max(1)).enumerate() {
                    match decay {
                        [decay] if !per_feature => widest(|| row.iter_mut().for_each(|s| *s *= decay)),
                        _ => widest(|| row.iter_mut().zip(decay).for_each(|(s, d)| *s *= d)),
                    }
                    let known = sum_of(row, k, |s, k| s * k);
                    let delta = (v[at * dv + rows.start + i] - known) * beta[at];
                    widest(|| row.iter_mut().zip(k).for_each(|(s, k)| *s += delta * k));
                    to[i] = sum_of(row, q, |s, q| s * q);
                }
            }
        }
    });
    // SAFETY: the output has as many elements.
    unsafe {
        put(out, 0, &result);
        put(out, result.len(), &states);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tensor;
    use super::*;
    use crate::array::Dtype;

    #[test]
    fn a_key_that_was_stored_with_beta_one_is_read_back_as_its_value() {
        let f = |shape: &[usize], v: &[f64]| Tensor::new(Dtype::Float32, shape, v.iter().copied());
        // One head, two steps: store v under k, then skip a masked step.
        let k = f(&[1, 2, 1, 2], &[0.6, 0.8, 1.0, 0.0]);
        let v = f(&[1, 2, 1, 3], &[1.0, 2.0, 3.0, 9.0, 9.0, 9.0]);
        let ones = f(&[1, 2, 1], &[1.0, 1.0]);
        let state = f(&[1, 1, 3, 2], &[0.0; 6]);
        let mask = Tensor::new(Dtype::Bool, &[1, 2], [1.0, 0.0]);
        let mut out = Tensor::zeros(Dtype::Float32, &[12]);
        let inputs = [&k, &k, &v, &ones, &ones, &state, &mask].map(Tensor::as_in);
        gated_delta(&inputs, &mut out.as_out()).unwrap();
        let (readings, last) = (&out.values()[..6], &out.values()[6..]);
        let expected = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0];
        assert!(readings.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{readings:?}");
        assert!((last[0] - 0.6).abs() < 1e-6 && (last[5] - 2.4).abs() < 1e-6);
    }
}
