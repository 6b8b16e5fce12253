//! What fused operations are in terms of others: the definition that higher derivatives and forward derivatives go through.

use super::build::{broadcast, reshape};
use crate::array::{Array, Axes, Dtype};
use crate::op::{AttentionSpec, NormKind, Op, RopeSpec};
use crate::ops;

/// The result of a fused operation, built from ordinary ones; `None` for operations that are not fused.
#[track_caller]
pub(super) fn composed(op: &Op, x: &[Array]) -> Option<Array> {
    Some(match op {
        Op::Norm { kind, weight, bias, eps } => norm(*kind, *weight, *bias, eps.0, x),
        Op::NormBackward { kind, weight, eps } => norm_backward(*kind, *weight, eps.0, x),
        Op::Rope(spec) => rope(spec, x),
        Op::CrossEntropy => cross_entropy(x),
        Op::CrossEntropyBackward => cross_entropy_backward(x),
        Op::Attention(spec) => attention(spec, x),
        Op::AttentionBackward { spec, mask_gradient } => attention_backward(spec, *mask_gradient, x),
        Op::GatedDelta { mask } => gated_delta(*mask, x),
        _ => return None,
    })
}

/// At least `float32`.
#[track_caller]
fn wide(x: &Array) -> Array {
    let dtype = if x.dtype() == Dtype::Float64 { Dtype::Float64 } else { Dtype::Float32 };
    ops::astype(x, dtype)
}

#[track_caller]
fn mean(x: &Array) -> Array {
    ops::mean(x, Axes::from(-1), true)
}

/// The normalised rows, and the reciprocal spread.
#[track_caller]
fn normalised(kind: NormKind, eps: f64, x: &Array) -> (Array, Array) {
    let x = wide(x);
    let centred = if kind == NormKind::Layer { ops::subtract(&x, mean(&x)) } else { x };
    let spread = ops::rsqrt(&ops::add(mean(&ops::square(&centred)), eps));
    (ops::multiply(&centred, &spread), spread)
}

#[track_caller]
fn norm(kind: NormKind, weight: bool, bias: bool, eps: f64, x: &[Array]) -> Array {
    let mut result = normalised(kind, eps, &x[0]).0;
    if weight {
        result = ops::multiply(&result, wide(&x[1]));
    }
    if bias {
        result = ops::add(&result, wide(&x[x.len() - 1]));
    }
    ops::astype(&result, x[0].dtype())
}

#[track_caller]
fn norm_backward(kind: NormKind, weight: bool, eps: f64, x: &[Array]) -> Array {
    let (rows, spread) = normalised(kind, eps, &x[0]);
    let mut g = wide(&x[x.len() - 1]);
    if weight {
        g = ops::multiply(&g, wide(&x[1]));
    }
    let along = ops::multiply(&rows, mean(&ops::multiply(&g, &rows)));
    let mut rest = ops::subtract(&g, along);
    if kind == NormKind::Layer {
        rest = ops::subtract(&rest, mean(&g));
    }
    ops::astype(&ops::multiply(&rest, &spread), x[0].dtype())
}

/// All but the last axis, and a part of that one.
#[track_caller]
fn columns(x: &Array, start: usize, size: usize) -> Array {
    ops::slice_axis(x, x.ndim() - 1, start, size, 1)
}

#[track_caller]
fn rope(spec: &RopeSpec, x: &[Array]) -> Array {
    let (a, offset) = (wide(&x[0]), &x[1]);
    let dtype = a.dtype();
    let n = a.ndim();
    let (length, features, half) = (a.shape()[n - 2], a.shape()[n - 1], spec.dims / 2);
    let count = |count: usize| ops::arange(0.0, count as f64, 1.0, Some(dtype));
    let frequencies = match spec.base {
        Some(base) => ops::exp(&ops::multiply(&count(half), -base.0.ln() / half as f64)),
        None => ops::reciprocal(&ops::astype(&x[2], dtype)),
    };
    let first = ops::astype(offset, dtype);
    let first = match offset.size() {
        1 => reshape(&first, &[1]),
        rows => reshape(&first, &[rows, 1]),
    };
    let positions = ops::multiply(&ops::add(&first, count(length)), spec.scale.0);
    let mut angles = ops::multiply(&ops::expand_dims(&positions, [-1]), &frequencies);
    if offset.size() != 1 {
        // Between the batch and the positions.
        let middle: Vec<i64> = (1..n as i64 - 2).collect();
        angles = ops::expand_dims(&angles, Axes::List(middle.into()));
    }
    let (cos, sin) = (ops::cos(&angles), ops::sin(&angles));
    let sin = if spec.inverse { ops::negative(&sin) } else { sin };
    let turned = columns(&a, 0, spec.dims);
    let (first, second) = if spec.traditional {
        let step = |start: usize| ops::slice_axis(&turned, n - 1, start, half, 2);
        (step(0), step(1))
    } else {
        (columns(&turned, 0, half), columns(&turned, half, half))
    };
    let x_part = ops::subtract(&ops::multiply(&first, &cos), &ops::multiply(&second, &sin));
    let y_part = ops::add(&ops::multiply(&first, &sin), &ops::multiply(&second, &cos));
    let turned = if spec.traditional {
        let pairs = ops::stack(&[&x_part, &y_part], -1);
        reshape(&pairs, turned.shape())
    } else {
        ops::concatenate(&[&x_part, &y_part], Some(-1))
    };
    let rest = columns(&a, spec.dims, features - spec.dims);
    ops::astype(&ops::concatenate(&[&turned, &rest], Some(-1)), x[0].dtype())
}

#[track_caller]
fn cross_entropy(x: &[Array]) -> Array {
    let logits = wide(&x[0]);
    let picked = ops::take_along_axis(&logits, &ops::expand_dims(&x[1], [-1]), -1);
    ops::subtract(&ops::logsumexp(&logits, Axes::from(-1), false), &ops::squeeze(&picked, Axes::from(-1)))
}

#[track_caller]
fn cross_entropy_backward(x: &[Array]) -> Array {
    let (logits, g) = (wide(&x[0]), ops::expand_dims(&wide(&x[2]), [-1]));
    let classes = ops::arange(0.0, logits.shape()[logits.ndim() - 1] as f64, 1.0, Some(Dtype::Int64));
    let target = ops::astype(
        &ops::equal(&ops::astype(&ops::expand_dims(&x[1], [-1]), Dtype::Int64), &classes),
        logits.dtype(),
    );
    let slope = ops::subtract(&ops::softmax(&logits, Axes::from(-1), true), &target);
    ops::astype(&ops::multiply(&slope, &g), x[0].dtype())
}

/// Keys or values repeated for each of the heads of queries that share them.
#[track_caller]
fn repeated(x: &Array, times: usize) -> Array {
    if times == 1 { x.clone() } else { ops::repeat(x, times, Some(1)) }
}

/// The weights of attention, and those of sinks in a last column where they are there.
#[track_caller]
fn weights(spec: &AttentionSpec, x: &[Array]) -> (Array, Array) {
    let (q, k) = (wide(&x[0]), wide(&x[1]));
    let (t, s) = (q.shape()[2], k.shape()[2]);
    let k = repeated(&k, q.shape()[1] / k.shape()[1].max(1));
    let mut scores = ops::matmul(&ops::multiply(&q, spec.scale.0), &ops::swapaxes(&k, -1, -2));
    let lowest = if q.dtype() == Dtype::Float64 { f64::MIN } else { f64::from(f32::MIN) };
    if spec.causal {
        let seen = ops::tri(t, Some(s), s as i64 - t as i64, Dtype::Bool);
        scores = ops::where_(&seen, &scores, lowest);
    }
    if spec.mask {
        scores = match x[3].dtype() {
            Dtype::Bool => ops::where_(&x[3], &scores, lowest),
            _ => ops::add(&scores, &wide(&x[3])),
        };
    }
    if spec.sinks {
        let sinks = wide(&x[3 + usize::from(spec.mask)]);
        let heads = q.shape()[1];
        let column = broadcast(&reshape(&sinks, &[1, heads, 1, 1]), &[q.shape()[0], heads, t, 1]);
        scores = ops::concatenate(&[&scores, &column], Some(-1));
    }
    let sums = ops::logsumexp(&scores, Axes::from(-1), true);
    (ops::softmax(&scores, Axes::from(-1), true), sums)
}

#[track_caller]
fn attention(spec: &AttentionSpec, x: &[Array]) -> Array {
    let (p, sums) = weights(spec, x);
    let v = repeated(&wide(&x[2]), x[0].shape()[1] / x[2].shape()[1].max(1));
    let seen = columns(&p, 0, v.shape()[2]);
    let result = ops::matmul(&seen, &v);
    ops::concatenate(&[&result, &sums], None)
}

#[track_caller]
fn attention_backward(spec: &AttentionSpec, mask_gradient: bool, x: &[Array]) -> Array {
    let forward = x.len() - 2;
    let (q, k, v, g) = (wide(&x[0]), wide(&x[1]), wide(&x[2]), wide(&x[forward + 1]));
    let group = q.shape()[1] / k.shape()[1].max(1);
    let (p, _) = weights(spec, &x[..forward]);
    let s = k.shape()[2];
    let seen = columns(&p, 0, s);
    let (all_k, all_v) = (repeated(&k, group), repeated(&v, group));
    let slopes = ops::matmul(&g, &ops::swapaxes(&all_v, -1, -2));
    let level = ops::sum(&ops::multiply(&seen, &slopes), Axes::from(-1), true);
    let mut scores = ops::multiply(&seen, &ops::subtract(&slopes, &level));
    if spec.mask && x[3].dtype() == Dtype::Bool {
        scores = ops::where_(&x[3], &scores, 0.0);
    }
    let shared = |x: &Array, like: &Array| {
        let shape = like.shape();
        let split = reshape(x, &[shape[0], shape[1], group, shape[2], shape[3]]);
        ops::sum(&split, Axes::from(2), false)
    };
    let for_q = ops::multiply(&ops::matmul(&scores, &all_k), spec.scale.0);
    let for_k = ops::multiply(&ops::matmul(&ops::swapaxes(&scores, -1, -2), &q), spec.scale.0);
    let for_v = ops::matmul(&ops::swapaxes(&seen, -1, -2), &g);
    let mut parts = vec![for_q, shared(&for_k, &k), shared(&for_v, &v)];
    if mask_gradient {
        parts.push(scores);
    }
    if spec.sinks {
        let by_sink = ops::multiply(&columns(&p, s, 1), &level);
        let axes = Axes::from([0, 2, 3]);
        parts.push(ops::negative(&ops::sum(&by_sink, axes, false)));
    }
    ops::concatenate(&parts.iter().collect::<Vec<_>>(), None)
}

#[track_caller]
fn gated_delta(mask: bool, x: &[Array]) -> Array {
    let [q, k, v, gamma, beta] = [0, 1, 2, 3, 4].map(|i| wide(&x[i]));
    let heads = v.shape()[2];
    let group = heads / k.shape()[2].max(1);
    let step = |x: &Array, t: usize| ops::squeeze(&ops::slice_axis(x, 1, t, 1, 1), Axes::from(1));
    let mut state = wide(&x[5]);
    let mut readings = Vec::new();
    for t in 0..v.shape()[1] {
        // [B, Hv, 1, Dk] for keys and queries, [B, Hv, Dv] for values.
        let [q, k] = [&q, &k].map(|x| ops::expand_dims(&repeated(&step(x, t), group), [-2]));
        let decay = step(&gamma, t);
        let decay = match gamma.ndim() {
            4 => ops::expand_dims(&decay, [-2]),
            _ => ops::expand_dims(&decay, [-1, -2]),
        };
        let faded = ops::multiply(&state, &decay);
        let known = ops::sum(&ops::multiply(&faded, &k), Axes::from(-1), false);
        let rate = ops::expand_dims(&step(&beta, t), [-1]);
        let delta = ops::multiply(&ops::subtract(&step(&v, t), &known), &rate);
        let next = ops::add(&faded, &ops::multiply(&ops::expand_dims(&delta, [-1]), &k));
        let read = ops::sum(&ops::multiply(&next, &q), Axes::from(-1), false);
        if mask {
            let seen = reshape(&step(&x[6], t), &[v.shape()[0], 1, 1]);
            readings.push(ops::where_(&seen, &read, 0.0));
            state = ops::where_(&ops::expand_dims(&seen, [-1]), &next, &state);
        } else {
            readings.push(read);
            state = next;
        }
    }
    let readings = match readings.is_empty() {
        true => v.clone(),
        false => ops::stack(&readings.iter().collect::<Vec<_>>(), 1),
    };
    ops::concatenate(&[&readings, &state], None)
}
