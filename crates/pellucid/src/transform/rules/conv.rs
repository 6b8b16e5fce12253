//! Convolutions: both gradients are convolutions themselves.

use smallvec::SmallVec;

use super::build::*;
use super::{Batched, Call};
use crate::array::Array;
use crate::op::{ConvSpec, Dims, Op};

/// Sizes with zeros between the elements, as far as the first and the last of them.
fn spread(size: usize, by: usize) -> i64 {
    1 + by as i64 * (size as i64 - 1)
}

#[track_caller]
fn convolved(x: &Array, w: &Array, spec: ConvSpec) -> Array {
    apply(Op::Conv(Box::new(spec)), &[x, w])
}

/// The gradient for the input (`of` zero) or the weights.
#[track_caller]
pub(super) fn vjp(spec: &ConvSpec, call: &Call, of: usize, g: &Array) -> Array {
    let (x, w) = (&call.inputs[0], &call.inputs[1]);
    if x.size() == 0 || w.size() == 0 || g.size() == 0 {
        return zeros_like(&call.inputs[of]);
    }
    if of == 0 { for_input(spec, x, w, g) } else { for_weights(spec, x, w, g) }
}

#[track_caller]
fn for_input(spec: &ConvSpec, x: &Array, w: &Array, g: &Array) -> Array {
    let n = spec.stride.len();
    let (outputs, inputs) = (w.shape()[0] / spec.groups, w.shape()[n + 1]);
    // Input and output channels of each group exchanged.
    let mut split = vec![spec.groups, outputs];
    split.extend(&w.shape()[1..]);
    let mut order: Vec<usize> = vec![0, n + 2];
    order.extend(2..n + 2);
    order.push(1);
    let mut joined = vec![spec.groups * inputs];
    joined.extend(&w.shape()[1..=n]);
    joined.push(outputs);
    let w_swapped = reshape(&transpose(&reshape(w, &split), &order), &joined);
    let axis = |i: usize| {
        let k = spread(w.shape()[i + 1], spec.kernel_dilation[i]);
        let (input, output) =
            (spread(x.shape()[i + 1], spec.input_dilation[i]), spread(g.shape()[i + 1], spec.stride[i]));
        (k - 1 - spec.low[i], input - output + spec.low[i])
    };
    let back = ConvSpec {
        stride: spec.input_dilation.clone(),
        low: (0..n).map(|i| axis(i).0).collect(),
        high: (0..n).map(|i| axis(i).1).collect(),
        kernel_dilation: spec.kernel_dilation.clone(),
        input_dilation: spec.stride.clone(),
        groups: spec.groups,
        flip: !spec.flip,
    };
    convolved(g, &w_swapped, back)
}

#[track_caller]
fn for_weights(spec: &ConvSpec, x: &Array, w: &Array, g: &Array) -> Array {
    let n = spec.stride.len();
    let (batch, inputs) = (x.shape()[0], w.shape()[n + 1]);
    // Channels as the batch; the batch of each group as channels.
    let mut split = x.shape()[..=n].to_vec();
    split.extend([spec.groups, inputs]);
    let mut order: Vec<usize> = vec![n + 2];
    order.extend(1..=n);
    order.extend([n + 1, 0]);
    let mut joined = vec![inputs];
    joined.extend(&x.shape()[1..=n]);
    joined.push(spec.groups * batch);
    let x_turned = reshape(&transpose(&reshape(x, &split), &order), &joined);
    let mut order: Vec<usize> = vec![n + 1];
    order.extend(1..=n);
    order.push(0);
    let g_turned = transpose(g, &order);
    let high: SmallVec<[i64; 4]> = (0..n)
        .map(|i| {
            let k = spread(w.shape()[i + 1], spec.kernel_dilation[i]);
            let (input, output) =
                (spread(x.shape()[i + 1], spec.input_dilation[i]), spread(g.shape()[i + 1], spec.stride[i]));
            output - input + k - 1 - spec.low[i]
        })
        .collect();
    let back = ConvSpec {
        stride: spec.kernel_dilation.clone(),
        low: spec.low.clone(),
        high,
        kernel_dilation: spec.stride.clone(),
        input_dilation: spec.input_dilation.clone(),
        groups: spec.groups,
        flip: false,
    };
    // [inputs, taps…, outputs] to [outputs, taps…, inputs].
    let made = transpose(&convolved(&x_turned, &g_turned, back), &order);
    if !spec.flip {
        return made;
    }
    let mut backwards = crate::op::SliceSpec {
        start: SmallVec::from_elem(0, n + 2),
        size: made.shape().iter().copied().collect(),
        step: SmallVec::from_elem(1, n + 2),
    };
    for axis in 1..=n {
        backwards.start[axis] = made.shape()[axis] - 1;
        backwards.step[axis] = -1;
    }
    apply(Op::Slice(Box::new(backwards)), &[&made])
}

#[track_caller]
pub(super) fn jvp(call: &Call, tangents: &[Option<Array>]) -> Option<Array> {
    let by_x = tangents[0].as_ref().map(|t| apply(call.op.clone(), &[t, &call.inputs[1]]));
    let by_w = tangents[1].as_ref().map(|t| apply(call.op.clone(), &[&call.inputs[0], t]));
    match (by_x, by_w) {
        (Some(a), Some(b)) => Some(add(&a, &b)),
        (one, other) => one.or(other),
    }
}

/// A batch of inputs joins the batch; with a batch of weights, lanes become groups.
#[track_caller]
pub(super) fn vmap(spec: &ConvSpec, call: &Call, inputs: &[Batched], size: usize) -> Array {
    let n = spec.stride.len();
    let out = call.outputs[0].shape();
    if !inputs[1].mapped {
        let x = &inputs[0].array;
        let mut folded = vec![size * x.shape()[1]];
        folded.extend(&x.shape()[2..]);
        let made = apply(call.op.clone(), &[&reshape(x, &folded), &inputs[1].array]);
        let mut shape = vec![size];
        shape.extend(out);
        return reshape(&made, &shape);
    }
    let (x, w) = (inputs[0].spread(size), &inputs[1].array);
    // [lanes, N, spatial…, C] to [N, spatial…, lanes · C].
    let mut order: Dims = (1..n + 2).collect();
    order.extend([0, n + 2]);
    let mut joined = x.shape()[1..n + 2].to_vec();
    joined.push(size * x.shape()[n + 2]);
    let x = reshape(&transpose(&x, &order), &joined);
    let mut folded = vec![size * w.shape()[1]];
    folded.extend(&w.shape()[2..]);
    let spec = ConvSpec { groups: spec.groups * size, ..spec.clone() };
    let made = convolved(&x, &reshape(w, &folded), spec);
    // [N, spatial…, lanes · O] to [lanes, N, spatial…, O].
    let mut split = out[..=n].to_vec();
    split.extend([size, out[n + 1]]);
    let mut order: Vec<usize> = vec![n + 1];
    order.extend(0..=n);
    order.push(n + 2);
    transpose(&reshape(&made, &split), &order)
}
