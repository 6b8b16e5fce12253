//! What fused operations accept and return; a part of [`Op::infer`](super::Op::infer).

use super::{AttentionSpec, NormKind, QuantMode, QuantPart, QuantSpec, RopeSpec};
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

type Input<'a> = (&'a Shape, Dtype);
type Output = (Shape, Dtype);

fn count(name: &'static str, inputs: &[Input], wanted: usize) -> Result<()> {
    if inputs.len() == wanted {
        return Ok(());
    }
    Err(Error::argument(name, format!("takes {wanted} arrays, not {}", inputs.len())))
}

fn floating(name: &'static str, dtype: Dtype) -> Result<()> {
    if dtype.is_floating() {
        Ok(())
    } else {
        Err(Error::dtype(name, format!("needs a floating type, not {dtype}")))
    }
}

fn same(name: &'static str, what: &str, found: Input, shape: &Shape, dtype: Dtype) -> Result<()> {
    if *found.0 == *shape && found.1 == dtype {
        return Ok(());
    }
    let message = format!("{what} must be {dtype} of shape {shape}, not {} of shape {}", found.1, found.0);
    Err(Error::shape(name, message))
}

/// Inputs: x, then the weight and the bias where they are there.
pub(super) fn norm(kind: NormKind, weight: bool, bias: bool, inputs: &[Input]) -> Result<Output> {
    let name = kind.name();
    count(name, inputs, 1 + usize::from(weight) + usize::from(bias))?;
    let (x, dtype) = inputs[0];
    floating(name, dtype)?;
    let Some(&last) = x.last() else {
        return Err(Error::shape(name, "needs one or more axes, not a single element"));
    };
    for (input, what) in inputs[1..].iter().zip(if weight { ["weight", "bias"] } else { ["bias", ""] }) {
        same(name, what, *input, &Shape::from(last), dtype)?;
    }
    Ok((x.clone(), dtype))
}

/// Inputs: x, the weight where it is there, and the cotangent.
pub(super) fn norm_backward(kind: NormKind, weight: bool, inputs: &[Input]) -> Result<Output> {
    let name = kind.name();
    count(name, inputs, 2 + usize::from(weight))?;
    let (x, dtype) = norm(kind, weight, false, &inputs[..inputs.len() - 1])?;
    same(name, "the cotangent", inputs[inputs.len() - 1], &x, dtype)?;
    Ok((x, dtype))
}

/// Inputs: x, the offset, and the periods unless there is a base.
pub(super) fn rope(spec: &RopeSpec, inputs: &[Input]) -> Result<Output> {
    let name = "rope";
    count(name, inputs, 2 + usize::from(spec.base.is_none()))?;
    let ((x, dtype), (offset, offset_dtype)) = (inputs[0], inputs[1]);
    floating(name, dtype)?;
    if x.len() < 3 {
        return Err(Error::shape(name, format!("needs three or more axes, not shape {x}")));
    }
    let features = x[x.len() - 1];
    if spec.dims == 0 || !spec.dims.is_multiple_of(2) || spec.dims > features {
        let message =
            format!("dims must be even, positive and at most {features}, the last axis, not {}", spec.dims);
        return Err(Error::argument(name, message));
    }
    if !offset_dtype.is_integer() {
        return Err(Error::dtype(name, format!("the offset must be an integer, not {offset_dtype}")));
    }
    if offset.len() > 1 || !(offset.elements() == 1 || offset.elements() == x[0]) {
        let message = format!("the offset must be one number or {} of them, not of shape {offset}", x[0]);
        return Err(Error::shape(name, message));
    }
    if let Some(&freqs) = inputs.get(2) {
        floating(name, freqs.1)?;
        same(name, "freqs", freqs, &Shape::from(spec.dims / 2), freqs.1)?;
    }
    Ok((x.clone(), dtype))
}

/// Inputs: logits and targets; `backward` adds the cotangent and returns the gradient of the logits.
pub(super) fn cross_entropy(backward: bool, inputs: &[Input]) -> Result<Output> {
    let name = "cross_entropy";
    count(name, inputs, 2 + usize::from(backward))?;
    let ((logits, dtype), (targets, target_dtype)) = (inputs[0], inputs[1]);
    floating(name, dtype)?;
    if !target_dtype.is_integer() {
        return Err(Error::dtype(name, format!("targets must be integers, not {target_dtype}")));
    }
    if logits.is_empty() || logits[..logits.len() - 1] != targets[..] {
        let message =
            format!("targets of shape {targets} must be logits of shape {logits} without the last axis");
        return Err(Error::shape(name, message));
    }
    let loss = if dtype == Dtype::Float64 { dtype } else { Dtype::Float32 };
    if backward {
        same(name, "the cotangent", inputs[2], targets, loss)?;
        return Ok((logits.clone(), dtype));
    }
    Ok((targets.clone(), loss))
}

/// The type of results that hold more than one array: what kernels compute in.
fn wide(dtype: Dtype) -> Dtype {
    if dtype == Dtype::Float64 { dtype } else { Dtype::Float32 }
}

/// Inputs: q, k, v, then a mask and sinks where they are there. The result is flat: the attention `[B, N, T, E]`, then
/// the logarithms of the sums `[B, N, T]`.
pub(super) fn attention(spec: &AttentionSpec, inputs: &[Input]) -> Result<Output> {
    let name = "scaled_dot_product_attention";
    count(name, inputs, 3 + usize::from(spec.mask) + usize::from(spec.sinks))?;
    let [(q, dtype), (k, k_dtype), (v, v_dtype)] = [inputs[0], inputs[1], inputs[2]];
    floating(name, dtype)?;
    if k_dtype != dtype || v_dtype != dtype {
        return Err(Error::dtype(name, format!("needs one type, not {dtype}, {k_dtype} and {v_dtype}")));
    }
    let fits = [q, k, v].iter().all(|x| x.len() == 4)
        && q[0] == k[0]
        && q[0] == v[0]
        && k[1] == v[1]
        && k[2] == v[2]
        && q[3] == k[3]
        && (k[1] != 0 && q[1].is_multiple_of(k[1]) || q[1] == 0 && k[1] == 0);
    if !fits {
        let message = format!(
            "queries [B, N, T, D] need keys [B, M, S, D] and values [B, M, S, E] with N a multiple of M, not {q}, {k} and {v}"
        );
        return Err(Error::shape(name, message));
    }
    if spec.mask {
        let (mask, mask_dtype) = inputs[3];
        let whole = Shape::from([q[0], q[1], q[2], k[2]]);
        if mask_dtype != Dtype::Bool && mask_dtype != dtype {
            return Err(Error::dtype(name, format!("the mask must be bool or {dtype}, not {mask_dtype}")));
        }
        same(name, "the mask", (mask, mask_dtype), &whole, mask_dtype)?;
    }
    if spec.sinks {
        same(name, "the sinks", inputs[inputs.len() - 1], &Shape::from(q[1]), dtype)?;
    }
    let rows = Shape::from([q[0], q[1], q[2], v[3].saturating_add(1)]);
    rows.check(name, 8)?;
    Ok((Shape::from(rows.elements()), wide(dtype)))
}

/// Inputs: those of attention, its result, and the cotangent of the attention. The result is flat: gradients of q, k and
/// v, of an additive mask if asked for, and of sinks where they are there.
pub(super) fn attention_backward(spec: &AttentionSpec, mask: bool, inputs: &[Input]) -> Result<Output> {
    let name = "scaled_dot_product_attention";
    let forward = inputs.len().saturating_sub(2);
    let (flat, wide) = attention(spec, &inputs[..forward])?;
    same(name, "the result", inputs[forward], &flat, wide)?;
    let [q, v] = [inputs[0].0, inputs[2].0];
    same(name, "the cotangent", inputs[forward + 1], &Shape::from([q[0], q[1], q[2], v[3]]), wide)?;
    if mask && (!spec.mask || inputs[3].1 == Dtype::Bool) {
        return Err(Error::argument(name, "only an additive mask has a gradient"));
    }
    let mut elements: usize =
        inputs[..3].iter().map(|(shape, _)| shape.elements()).fold(0, usize::saturating_add);
    if mask {
        elements = elements.saturating_add(inputs[3].0.elements());
    }
    if spec.sinks {
        elements = elements.saturating_add(q[1]);
    }
    Ok((Shape::from(elements), wide))
}

/// Inputs: q, k, v, gamma, beta, the state, and a mask where there is one. The result is flat: the readings, then the
/// last state.
pub(super) fn gated_delta(mask: bool, inputs: &[Input]) -> Result<Output> {
    let name = "gated_delta_update";
    count(name, inputs, 6 + usize::from(mask))?;
    let [(q, _), (k, _), (v, _), (gamma, _), (beta, _), (state, state_dtype)] =
        [0, 1, 2, 3, 4, 5].map(|i| inputs[i]);
    for (shape, dtype) in &inputs[..6] {
        floating(name, *dtype)?;
        if *dtype == Dtype::Float64 {
            return Err(Error::dtype(
                name,
                format!("computes in float32; {dtype} of shape {shape} has no kernel"),
            ));
        }
    }
    let fits = q.len() == 4
        && q == k
        && v.len() == 4
        && v[..2] == k[..2]
        && (k[2] != 0 && v[2].is_multiple_of(k[2]) || v[2] == 0 && k[2] == 0)
        && beta[..] == v[..3]
        && (gamma[..] == v[..3] || gamma.len() == 4 && gamma[..3] == v[..3] && gamma[3] == k[3]);
    if !fits {
        let message = format!(
            "needs q and k [B, T, Hk, Dk], v [B, T, Hv, Dv] with Hv a multiple of Hk, gamma [B, T, Hv] or \
             [B, T, Hv, Dk] and beta [B, T, Hv], not {q}, {k}, {v}, {gamma} and {beta}"
        );
        return Err(Error::shape(name, message));
    }
    let whole = Shape::from([v[0], v[2], v[3], k[3]]);
    same(name, "the state", (state, state_dtype), &whole, Dtype::Float32)?;
    if mask {
        same(name, "the mask", inputs[6], &Shape::from([v[0], v[1]]), Dtype::Bool)?;
    }
    whole.check(name, 4)?;
    Ok((Shape::from(v.elements().saturating_add(whole.elements())), Dtype::Float32))
}

impl QuantSpec {
    /// Checks the mode, the bits and the size of groups against each other.
    pub(crate) fn check(&self, name: &'static str) -> Result<()> {
        let (group, bits) = self.mode.defaults();
        let (groups, widths): (&[usize], &[u8]) = match self.mode {
            QuantMode::Affine => (&[32, 64, 128], &[1, 2, 3, 4, 5, 6, 8]),
            _ => (&[group], &[bits]),
        };
        if groups.contains(&self.group) && widths.contains(&self.bits) {
            return Ok(());
        }
        let message = format!(
            "mode {} takes groups of {groups:?} and {widths:?} bits, not groups of {} and {} bits",
            self.mode.name(),
            self.group,
            self.bits
        );
        Err(Error::argument(name, message))
    }

    /// How many numbers a last axis of packed words stands for.
    pub(crate) fn numbers(&self, words: usize) -> usize {
        words * 32 / self.bits as usize
    }

    /// Checks packed words against their scales and biases, and returns the shape of the numbers.
    pub(crate) fn unpacked(&self, name: &'static str, parts: &[Input]) -> Result<Shape> {
        self.check(name)?;
        let affine = self.mode == QuantMode::Affine;
        if parts.len() != 2 + usize::from(affine) {
            let message = match affine {
                true => "mode affine needs scales and biases".to_owned(),
                false => format!("mode {} has scales and no biases", self.mode.name()),
            };
            return Err(Error::argument(name, message));
        }
        let ((w, w_dtype), (scales, scale_dtype)) = (parts[0], parts[1]);
        if w_dtype != Dtype::Uint32 || w.len() < 2 {
            return Err(Error::dtype(
                name,
                format!("packed numbers are uint32 with two or more axes, not {w_dtype} of shape {w}"),
            ));
        }
        let scales_fit = if affine { scale_dtype.is_floating() } else { scale_dtype == Dtype::Uint8 };
        if !scales_fit {
            let wanted = if affine { "a floating type" } else { "uint8" };
            return Err(Error::dtype(
                name,
                format!("scales of mode {} are {wanted}, not {scale_dtype}", self.mode.name()),
            ));
        }
        let last = w.len() - 1;
        let numbers = self.numbers(w[last]);
        let fits = scales.len() == w.len()
            && scales[..last] == w[..last]
            && numbers * self.bits as usize == w[last] * 32
            && scales[last] * self.group == numbers;
        if !fits {
            let message = format!(
                "{w} packed words of {} bits are {numbers} numbers in groups of {}, for which scales of shape {scales} do not fit",
                self.bits, self.group
            );
            return Err(Error::shape(name, message));
        }
        if affine {
            same(name, "biases", parts[2], scales, scale_dtype)?;
        }
        let mut shape = w.clone();
        shape.as_mut_slice()[last] = numbers;
        Ok(shape)
    }

    fn parts(&self) -> usize {
        if self.mode == QuantMode::Affine { 3 } else { 2 }
    }

    fn check_global(&self, name: &'static str, global: Option<&Input>) -> Result<()> {
        let Some(&global) = global else { return Ok(()) };
        if self.mode != QuantMode::Nvfp4 {
            return Err(Error::argument(name, "a global scale belongs to mode nvfp4 alone"));
        }
        same(name, "the global scale", global, &Shape::default(), Dtype::Float32)
    }
}

/// Inputs: w, and the global scale where there is one.
pub(super) fn quantize(spec: &QuantSpec, part: QuantPart, inputs: &[Input]) -> Result<Output> {
    let name = "quantize";
    spec.check(name)?;
    let (w, dtype) = inputs[0];
    if !dtype.is_floating() || dtype == Dtype::Float64 {
        return Err(Error::dtype(name, format!("packs float32, float16 and bfloat16, not {dtype}")));
    }
    if w.len() < 2 || !w[w.len() - 1].is_multiple_of(spec.group) {
        let message = format!("needs two or more axes, the last a multiple of {}, not shape {w}", spec.group);
        return Err(Error::shape(name, message));
    }
    spec.check_global(name, inputs.get(1))?;
    let last = w.len() - 1;
    let with = |size: usize| {
        let mut shape = w.clone();
        shape.as_mut_slice()[last] = size;
        shape
    };
    let affine = spec.mode == QuantMode::Affine;
    Ok(match part {
        QuantPart::Words => (with(w[last] * spec.bits as usize / 32), Dtype::Uint32),
        QuantPart::Scales => (with(w[last] / spec.group), if affine { dtype } else { Dtype::Uint8 }),
        QuantPart::Biases if affine => (with(w[last] / spec.group), dtype),
        QuantPart::Biases => {
            return Err(Error::argument(name, format!("mode {} has no biases", spec.mode.name())));
        }
    })
}

/// Inputs: codes, scales, biases in mode affine, and the global scale where there is one.
pub(super) fn dequantize(spec: &QuantSpec, dtype: Dtype, inputs: &[Input]) -> Result<Output> {
    let name = "dequantize";
    floating(name, dtype)?;
    let parts = spec.parts().min(inputs.len());
    let shape = spec.unpacked(name, &inputs[..parts])?;
    spec.check_global(name, inputs.get(parts))?;
    Ok((shape, dtype))
}

/// Inputs: x, codes, scales, biases in mode affine; with `gather`, the numbers of matrices of x and of w besides.
pub(super) fn quantized_matmul(
    spec: &QuantSpec,
    transpose: bool,
    gather: bool,
    inputs: &[Input],
) -> Result<Output> {
    let name = if gather { "gather_qmm" } else { "quantized_matmul" };
    let parts = spec.parts();
    count(name, inputs, 1 + parts + if gather { 2 } else { 0 })?;
    let (x, dtype) = inputs[0];
    floating(name, dtype)?;
    let w = spec.unpacked(name, &inputs[1..=parts])?;
    if x.len() < 2 {
        return Err(Error::shape(name, format!("needs two or more axes on the left, not shape {x}")));
    }
    let (rows, columns) = (w[w.len() - 2], w[w.len() - 1]);
    let (depth, width) = if transpose { (columns, rows) } else { (rows, columns) };
    if x[x.len() - 1] != depth {
        let message = format!(
            "the last axis of x is {} and the packed matrix of {rows} × {columns} is summed over {depth} (transpose is {transpose})",
            x[x.len() - 1]
        );
        return Err(Error::shape(name, message));
    }
    let (x_batch, w_batch) = (Shape::from(&x[..x.len() - 2]), Shape::from(&w[..w.len() - 2]));
    let mut shape = if gather {
        let [(left, left_dtype), (right, right_dtype)] = [inputs[1 + parts], inputs[2 + parts]];
        for dtype in [left_dtype, right_dtype] {
            if !dtype.is_integer() {
                return Err(Error::dtype(name, format!("indices must be integers, not {dtype}")));
            }
        }
        same(name, "rhs_indices", (right, right_dtype), left, right_dtype)?;
        if left.elements() != 0 && (x_batch.elements() == 0 || w_batch.elements() == 0) {
            return Err(Error::shape(name, format!("no matrix to choose from in {x_batch} and {w_batch}")));
        }
        left.clone()
    } else if w_batch.is_empty() {
        x_batch
    } else {
        x_batch.broadcast_for(name, &w_batch)?
    };
    shape.push(x[x.len() - 2]);
    shape.push(width);
    Ok((shape, dtype))
}
