use super::super::testing::Tensor;
use super::*;
use crate::array::Dtype;
use crate::op::Float;

fn wave(dtype: Dtype, shape: &[usize], f: f64) -> Tensor {
    Tensor::new(dtype, shape, (0..).map(|i: usize| (i as f64 * f).sin()))
}

/// The result by the definition.
struct Reference {
    out: Vec<f64>,
}

struct Case {
    spec: AttentionSpec,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Option<Tensor>,
    sinks: Option<Tensor>,
}

impl Case {
    fn new(dims: [usize; 7], kind: &str) -> Case {
        let [b, heads, shared, t, s, d, e] = dims;
        let mask = match kind {
            "bool" => Some(Tensor::new(
                Dtype::Bool,
                &[b, 1, t, s],
                (0..).map(|i: usize| f64::from(!i.is_multiple_of(3) && i % (t * s) >= s)),
            )),
            "additive" => Some(wave(Dtype::Float64, &[b, 1, t, s], 2.1)),
            _ => None,
        };
        let sinks = (kind == "sinks").then(|| wave(Dtype::Float64, &[heads], 1.1));
        Case {
            spec: AttentionSpec {
                scale: Float(0.4),
                causal: kind == "causal",
                mask: mask.is_some(),
                sinks: sinks.is_some(),
            },
            q: wave(Dtype::Float64, &[b, heads, t, d], 0.71),
            // Heads and positions lie the other way round in memory.
            k: wave(Dtype::Float64, &[b, s, shared, d], 0.37).transposed(&[0, 2, 1, 3]),
            v: wave(Dtype::Float64, &[b, shared, s, e], 0.53),
            mask: mask.map(|m| m.repeated(1, heads)),
            sinks,
        }
    }

    fn reference(&self) -> Reference {
        let (heads, shared, t, s) = (self.q.shape[1], self.k.shape[1], self.q.shape[2], self.k.shape[2]);
        let (d, e) = (self.q.shape[3], self.v.shape[3]);
        let mut out = Vec::new();
        for b in 0..self.q.shape[0] {
            for h in 0..heads {
                let kv = h / (heads / shared);
                for i in 0..t {
                    let score = |j: usize| {
                        let dot: f64 =
                            (0..d).map(|c| self.q.at(&[b, h, i, c]) * self.k.at(&[b, kv, j, c])).sum();
                        let mut score = dot * self.spec.scale.0;
                        if self.spec.causal && j + t > i + s {
                            score = f64::MIN;
                        }
                        match &self.mask {
                            Some(m) if m.dtype == Dtype::Bool && m.at(&[b, h, i, j]) == 0.0 => f64::MIN,
                            Some(m) if m.dtype != Dtype::Bool => score + m.at(&[b, h, i, j]),
                            _ => score,
                        }
                    };
                    let scores: Vec<f64> = (0..s).map(score).collect();
                    let sink = self.sinks.as_ref().map(|sinks| sinks.at(&[h]));
                    let max = scores.iter().copied().chain(sink).fold(f64::NEG_INFINITY, f64::max);
                    let weights: Vec<f64> = scores.iter().map(|x| (x - max).exp()).collect();
                    let total = weights.iter().sum::<f64>() + sink.map_or(0.0, |x| (x - max).exp());
                    out.extend((0..e).map(|c| {
                        (0..s).map(|j| weights[j] / total * self.v.at(&[b, kv, j, c])).sum::<f64>()
                    }));
                }
            }
        }
        Reference { out }
    }

    fn inputs(&self) -> Vec<In<'_>> {
        let all = [Some(&self.q), Some(&self.k), Some(&self.v), self.mask.as_ref(), self.sinks.as_ref()];
        all.into_iter().flatten().map(Tensor::as_in).collect()
    }

    fn result_shape(&self) -> [usize; 4] {
        [self.q.shape[0], self.q.shape[1], self.q.shape[2], self.v.shape[3]]
    }

    fn run(&self, dtype: Dtype) -> Tensor {
        let [b, n, t, e] = self.result_shape();
        let mut out = Tensor::zeros(dtype, &[b * n * t * (e + 1)]);
        attention(&self.spec, &self.inputs(), &mut out.as_out()).unwrap();
        out
    }
}

fn close(name: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{name}: element {i} is {a}, not {b}");
    }
}

const KINDS: [&str; 5] = ["none", "causal", "bool", "additive", "sinks"];

#[test]
fn every_mask_and_shape_agrees_with_the_definition() {
    for dims in
        [[2, 4, 2, 5, 7, 8, 6], [1, 2, 2, 150, 300, 16, 16], [1, 6, 1, 9, 4, 3, 5], [2, 2, 1, 1, 260, 8, 8]]
    {
        for kind in KINDS {
            let case = Case::new(dims, kind);
            let expected = case.reference().out;
            let made = case.run(Dtype::Float64).values();
            close(&format!("{kind} {dims:?}"), &made[..expected.len()], &expected, 1e-12);
        }
    }
}

#[test]
fn gradients_agree_with_differences_of_the_definition() {
    for dims in [[2, 4, 2, 5, 7, 4, 3], [1, 2, 1, 9, 4, 3, 5]] {
        for kind in KINDS {
            let mut case = Case::new(dims, kind);
            let made = case.run(Dtype::Float64);
            let g = wave(Dtype::Float64, &case.result_shape(), 0.23);
            let additive = case.mask.as_ref().filter(|m| m.dtype != Dtype::Bool).cloned();
            let wanted =
                [Some(&case.q), Some(&case.k), Some(&case.v), additive.as_ref(), case.sinks.as_ref()];
            let shapes: Vec<Vec<usize>> = wanted.iter().flatten().map(|x| x.shape.clone()).collect();
            let elements = |shape: &[usize]| shape.iter().product::<usize>();
            let mut out = Tensor::zeros(Dtype::Float64, &[shapes.iter().map(|s| elements(s)).sum()]);
            let mut inputs = case.inputs();
            inputs.extend([made.as_in(), g.as_in()]);
            attention_backward(&case.spec, additive.is_some(), &inputs, &mut out.as_out()).unwrap();
            drop(inputs);
            let gradients = out.values();
            let mut start = 0;
            let loss = |case: &Case| -> f64 {
                case.reference().out.iter().zip(g.values()).map(|(o, g)| o * g).sum()
            };
            let h = 1e-5;
            for (which, shape) in shapes.iter().enumerate() {
                let mut slopes = Vec::new();
                let values = match which {
                    0 => case.q.values(),
                    1 => case.k.values(),
                    2 => case.v.values(),
                    _ => additive.as_ref().or(case.sinks.as_ref()).unwrap().values(),
                };
                for i in 0..values.len() {
                    let mut at = |by: f64| {
                        let mut moved = values.clone();
                        moved[i] += by;
                        let moved = Tensor::new(Dtype::Float64, shape, moved);
                        match which {
                            0 => case.q = moved,
                            1 => case.k = moved,
                            2 => case.v = moved,
                            _ if additive.is_some() => case.mask = Some(moved),
                            _ => case.sinks = Some(moved),
                        }
                        loss(&case)
                    };
                    slopes.push((at(h) - at(-h)) / (2.0 * h));
                    at(0.0);
                }
                let part = &gradients[start..start + slopes.len()];
                close(&format!("{kind} {dims:?} input {which}"), part, &slopes, 1e-7);
                start += slopes.len();
            }
        }
    }
}

#[test]
fn half_precision_is_computed_in_single() {
    let mut case = Case::new([1, 2, 1, 40, 140, 16, 16], "causal");
    let expected = case.reference().out;
    let narrow = |t: &Tensor| Tensor::new(Dtype::Float16, &t.shape, t.values());
    (case.q, case.k, case.v) = (narrow(&case.q), narrow(&case.k), narrow(&case.v));
    close("half", &case.run(Dtype::Float32).values()[..expected.len()], &expected, 2e-3);
}
